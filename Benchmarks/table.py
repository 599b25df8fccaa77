"""Prints the speed table from the loads' reports: medians of the runs, with their bounds and aims.

Usage: table.py FOLDER RUNS. Exits with 1 if a bound is not met.
"""

import json
import pathlib
import statistics
import sys

folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
failed = False


def reports(name):
    """The reports of a load by run; none if it was not chosen."""
    paths = [folder / f"{name}.{run}.json" for run in range(1, runs + 1)]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def median(name, value):
    return statistics.median(value(report) for report in reports(name))


def ratio(name, other, value):
    """The median of the ratios within each run: noise that both loads share cancels out."""
    return statistics.median(
        value(left) / value(right) for left, right in zip(reports(name), reports(other)))


def row(load, measured, is_met, bound, aim=""):
    global failed
    failed |= not is_met
    print(f"| {load} | {measured} | {bound} | {aim} | {'yes' if is_met else '**no**'} |")


def bounded(load, value, sign, bound, aim=None, form="{:.2f}", note=""):
    """A row of a value that must be at least (sign ≥) or at most (≤) its bound."""
    row(load, form.format(value) + note, value >= bound if sign == "≥" else value <= bound,
        f"{sign} " + form.format(bound), form.format(aim) if aim else "")


def deliveries(report):
    return report["delivered"] / report["server"]["cpu_publish_s"]


def publishes(report):
    return report["acked_requests"] / report["server"]["cpu_publish_s"]


def joins(report):
    return report["subscribed"] / report["server"]["cpu_connect_s"]


def p99(report):
    return report["lat_ms"]["p99"]


COMPARED = [
    # load, what is counted, count per CPU second, bound, aim
    ("fanout", "deliveries per CPU second", deliveries, 0.50, None),
    ("fanout-1", "deliveries per CPU second, one publisher", deliveries, 0.92, 0.97),
    ("fanout-open", "deliveries per CPU second, 100 events per second", deliveries, 0.90, 0.97),
    ("direct", "signed publishes per CPU second", publishes, 0.60, 0.75),
    ("fleet", "signed publishes per CPU second, 10,000 private channels", publishes, 0.60, 0.75),
    ("storm", "connects with a signed subscription per CPU second", joins, 0.75, 0.85),
]

print("| load | measured | bound | aim | met |\n|---|---|---|---|---|")
for load, counted, count, bound, aim in COMPARED:
    own, reference = f"{load}.fleetwire", f"{load}.reference"
    if not reports(own):
        continue
    note = f"{median(own, count):,.0f}"
    if count is not joins:
        note += f", p99 {median(own, p99):.1f} ms, reference {median(reference, p99):.1f} ms"
    bounded(f"{load}: {counted}, relative to the reference",
            ratio(own, reference, count), "≥", bound, aim, note=f" ({note})")
if reports("direct.fleetwire"):
    bounded("direct: signed publishes per CPU second", median("direct.fleetwire", publishes), "≥",
            35_000, form="{:,.0f}")
if reports("tls.fleetwire") and reports("fanout-1.fleetwire"):
    bounded("tls: fanout-1 over TLS, relative to fanout-1",
            ratio("tls.fleetwire", "fanout-1.fleetwire", deliveries), "≥", 0.75, 0.85,
            note=f" ({median('tls.fleetwire', deliveries):,.0f})")
if reports("idle.fleetwire"):
    bounded("idle: resident bytes per subscribed connection, 10,000 connections",
            median("idle.fleetwire", lambda report: report["server"]["rss_per_conn"]), "≤", 1_700,
            1_500, "{:,.0f}")
if reports("silent.fleetwire"):
    bounded("silent: CPU time per publish beside 9,000 silent TCP connections, relative to none",
            1 / ratio("silent.fleetwire", "silent.alone", publishes), "≤", 1.2, 1.05)
if reports("stall.fleetwire"):
    bounded("stall: longest latency of a bystander's event, beside events to 15,000 subscribers",
            median("stall.fleetwire", lambda report: report["lat_ms"]["max"]), "≤", 15, 8,
            "{:.1f} ms", f" (p99 {median('stall.fleetwire', p99):.1f} ms)")
if reports("actions"):
    speed, cpu, p50_ms, p99_ms = (median("actions", lambda report: report[key])
                                  for key in ("per_second", "cpu_us", "p50_ms", "p99_ms"))
    bounded("actions: assignments per second by 64 admins, durability full", speed, "≥", 2_000,
            form="{:,.0f}", note=f" ({cpu:.0f} µs of CPU time each)")
    bounded("actions: p99 latency from request to event at 500 per second", p99_ms, "≤", 50,
            form="{:.1f} ms", note=f" (p50 {p50_ms:.1f} ms)")
if reports("confirmed.fleetwire"):
    cost = statistics.median(
        1e6 / deliveries(confirmed) - 1e6 / deliveries(unconfirmed) for confirmed, unconfirmed in
        zip(reports("confirmed.fleetwire"), reports("unconfirmed.fleetwire")))
    bounded("confirmed: CPU time of a confirmed notification beyond an unconfirmed one", cost, "≤", 60,
            form="{:.0f} µs")
    bounded("confirmed: notifications per second to 1,000 drivers, durability full",
            median("confirmed.fleetwire", lambda report: report["delivered"] / report["publish_s"]),
            "≥", 5_000, form="{:,.0f}")
    bounded("confirmed: p99 latency from request to receipt at 500 per second",
            median("confirmed-open.fleetwire", p99), "≤", 10, form="{:.1f} ms")
    least = min(count / report["delivered"] for count, report in
                zip(reports("confirmations"), reports("confirmed.fleetwire")))
    row("confirmed: least part of the delivered notifications that was confirmed",
        f"{least:.2%}", least == 1, "100 %")
if reports("trips-polls"):
    bounded("trips: p99 of fanout-open beside 2,000 positions a second, relative to 2,000 of /healthz",
            ratio("trips-positions.fleetwire", "trips-healthz.fleetwire", p99), "≤", 1.2,
            note=f" ({median('trips-positions.fleetwire', p99):.1f} ms)")
    least = min(report["per_second"] for name in ("positions", "healthz")
                for report in reports(f"trips-{name}-rate"))
    bounded("trips: least rate of these requests", least, "≥", 1_990, form="{:,.0f}")
    bounded("trips: polls of the trip status per second by 64 customers",
            median("trips-polls", lambda report: report["per_second"]), "≥", 1_000, form="{:,.0f}",
            note=f" ({median('trips-polls', lambda report: report['cpu_us']):.0f} µs of CPU time each)")
    bounded("trips: resident bytes per followed trip, one position in 10 s",
            median("trips-memory", lambda report: report["bytes"]), "≤", 2_048, form="{:,.0f}")
for load, counted, count in (("fanout-1", "CPU time per delivery", deliveries),
                             ("direct", "CPU time per publish", publishes),
                             ("fleet", "CPU time per publish", publishes)):
    if reports(f"{load}.base"):
        bounded(f"{load}: {counted}, relative to the version before",
                ratio(f"{load}.base", f"{load}.present", count), "≤", 1.05)
if reports("actions.base"):
    bounded("actions: CPU time per assignment, relative to the version before",
            ratio("actions.present", "actions.base", lambda report: report["cpu_us"]), "≤", 1.05)
if reports("idle.base"):
    more = statistics.median(
        present["server"]["rss_per_conn"] - base["server"]["rss_per_conn"]
        for present, base in zip(reports("idle.present"), reports("idle.base")))
    bounded("idle: resident bytes per connection more than the version before", more, "≤", 100,
            form="{:.0f}")
KINDS = ("lost", "duplicated", "reordered", "connect_failed", "subscribe_errors", "http_errors")
wrong = sum(json.loads(path.read_text())[kind] for path in folder.glob("*.fleetwire.*.json")
            for kind in KINDS)
row("lost, duplicated, reordered, rejected; all loads and runs", wrong, wrong == 0, "0")
sys.exit(failed)
