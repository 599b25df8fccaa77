"""Prints the speed table from the load generator's reports: medians of the runs, with their bounds."""

import json
import pathlib
import statistics
import sys

folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
failed = False


def reports(load, server="fleetwire"):
    return [json.loads((folder / f"{load}.{server}.{run}.json").read_text())
            for run in range(1, runs + 1)]


def per_cpu_second(report):
    """Deliveries per second of CPU time, over the whole load: CPU time has a resolution of 10 ms."""
    return report["delivered"] / report["server"]["cpu_publish_s"]


def ratio(load):
    """Fleetwire relative to the reference, median of the runs. Compares within a run: noise that both
    share cancels out."""
    pairs = zip(reports(load), reports(load, "reference"))
    return statistics.median(per_cpu_second(fleetwire) / per_cpu_second(reference)
                             for fleetwire, reference in pairs)


def median(load, value, server="fleetwire"):
    return statistics.median(value(report) for report in reports(load, server))


def row(load, measured, bound, is_met):
    global failed
    failed |= not is_met
    print(f"| {load} | {measured} | {bound} | {'yes' if is_met else '**no**'} |")


def p99(load, server="fleetwire"):
    return median(load, lambda report: report["lat_ms"]["p99"], server)


print("| load | measured | bound | met |\n|---|---|---|---|")
fanout, cost = ratio("fanout"), 1 / ratio("open")
row("fanout: deliveries per CPU second, relative to the reference",
    f"{fanout:.2f} ({median('fanout', per_cpu_second) / 1e6:.2f}M, p99 {p99('fanout'):.0f} ms)",
    "≥ 0.50", fanout >= 0.50)
row("fanout-open: CPU time per delivery, relative to the reference",
    f"{cost:.2f} (p99 {p99('open'):.1f} ms, reference {p99('open', 'reference'):.1f} ms)", "≤ 1.30",
    cost <= 1.30)
direct = median("direct", lambda report: report["server"]["posts_per_cpu_s"])
row("direct: signed publishes per CPU second", f"{direct:,.0f} (p99 {p99('direct'):.1f} ms)",
    "≥ 35,000", direct >= 35_000)
idle = median("idle", lambda report: report["server"]["rss_per_conn"])
row("idle: resident bytes per subscribed connection, 10,000 connections", f"{idle:,.0f}", "≤ 3,000",
    idle <= 3_000)
# An older gateway without fleet actions is compared by the other loads only.
if (folder / "actions.fleetwire.1.json").exists():
    speed, p99_ms = (median("actions", lambda report: report[key])
                     for key in ("per_second", "p99_ms"))
    cpu = median("actions", lambda report: report["cpu_us"])
    row("actions: assignments per second by 64 admins, durability full",
        f"{speed:,.0f} ({cpu:.0f} µs of CPU time each)", "≥ 2,000", speed >= 2_000)
    p50_ms = median("actions", lambda report: report["p50_ms"])
    row("actions: p99 latency from request to event at 500 per second",
        f"{p99_ms:.1f} ms (p50 {p50_ms:.1f} ms)", "≤ 50 ms", p99_ms <= 50)
wrong = sum(report[kind] for load in ("fanout", "open", "direct", "idle")
            for report in reports(load) for kind in ("lost", "duplicated", "reordered"))
row("lost, duplicated, reordered, all loads and runs", wrong, "0", wrong == 0)
sys.exit(failed)
