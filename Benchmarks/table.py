"""The speed table, from the load generator's reports: medians over the runs, each against its bound."""

import json
import pathlib
import statistics
import sys

folder, runs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
failed = False


def reports(load, server="fleetwire"):
    return [json.loads((folder / f"{load}.{server}.{run}.json").read_text()) for run in range(1, runs + 1)]


def per_cpu_second(report):
    """CPU time comes in clock ticks of 10 ms, so it is taken over the whole load."""
    return report["delivered"] / report["server"]["cpu_publish_s"]


def ratio(load):
    """Ours to the reference, run by run: what shares a moment shares its noise."""
    pairs = zip(reports(load), reports(load, "reference"))
    return statistics.median(per_cpu_second(ours) / per_cpu_second(theirs) for ours, theirs in pairs)


def median(load, value, server="fleetwire"):
    return statistics.median(value(report) for report in reports(load, server))


def row(load, figure, bound, holds):
    global failed
    failed |= not holds
    print(f"| {load} | {figure} | {bound} | {'yes' if holds else '**no**'} |")


def p99(load, server="fleetwire"):
    return median(load, lambda report: report["lat_ms"]["p99"], server)


print("| load | measured | must | holds |\n|---|---|---|---|")
fanout, cost = ratio("fanout"), 1 / ratio("open")
row("fanout: deliveries per CPU-second against the reference",
    f"{fanout:.2f} ({median('fanout', per_cpu_second) / 1e6:.2f}M, p99 {p99('fanout'):.0f} ms)", "≥ 0.50", fanout >= 0.50)
row("fanout-open: CPU per delivery against the reference",
    f"{cost:.2f} (p99 {p99('open'):.1f} ms, reference {p99('open', 'reference'):.1f} ms)", "≤ 1.30", cost <= 1.30)
direct = median("direct", lambda report: report["server"]["posts_per_cpu_s"])
row("direct: signed publishes per CPU-second", f"{direct:,.0f} (p99 {p99('direct'):.1f} ms)", "≥ 35,000", direct >= 35_000)
idle = median("idle", lambda report: report["server"]["rss_per_conn"])
row("idle: bytes of RSS per subscribed connection, 10,000 connections", f"{idle:,.0f}", "≤ 3,000", idle <= 3_000)
if (folder / "actions.fleetwire.1.json").exists():  # an older gateway has none, and is compared by the rest
    speed, p99_ms = (median("actions", lambda report: report[key]) for key in ("per_second", "p99_ms"))
    cpu = median("actions", lambda report: report["cpu_us"])
    row("actions: assignments a second from 64 admins, durability full", f"{speed:,.0f} ({cpu:.0f} µs of CPU each)", "≥ 2,000",
        speed >= 2_000)
    p50_ms = median("actions", lambda report: report["p50_ms"])
    row("actions: from request to event at 500 a second, p99", f"{p99_ms:.1f} ms (p50 {p50_ms:.1f} ms)", "≤ 50 ms", p99_ms <= 50)
wrong = sum(report[kind] for load in ("fanout", "open", "direct", "idle") for report in reports(load)
            for kind in ("lost", "duplicated", "reordered"))
row("lost, duplicated, reordered, all loads and runs", wrong, "0", wrong == 0)
sys.exit(failed)
