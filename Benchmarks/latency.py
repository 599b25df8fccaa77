"""Prints the table of latencies of `fleetwire bench`, which operators run on their own machines.

Usage: latency.py BINARY. Each load runs on a newly started gateway with the development
configuration and an empty store. Exits with 1 if a load does not pass: nothing may be lost,
duplicated or out of order. Latencies have no bound, because they are the machine's as well.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from client import cpu_seconds, gateway

BINARY = pathlib.Path(sys.argv[1]).resolve()
CONFIGURATION = pathlib.Path(__file__).resolve().parent.parent / "config"
FANOUT = "fanout: {} subscribers of one channel, {} events per second"
FLEET = "fleet: {} drivers, {} assignments per second, confirmed and accepted"
LOADS = [(FANOUT, ["--connections", "1000"], ["--rate", "20"]),
         (FANOUT, ["--connections", "5000"], ["--rate", "20"]),
         (FLEET, ["--scenario", "fleet", "--connections", "1000"], ["--rate", "200"]),
         (FLEET, ["--scenario", "fleet", "--connections", "1000"], ["--rate", "500"])]


def run(*options: str) -> tuple[dict, float]:
    """Returns the report of a load, and the CPU time of the gateway in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(CONFIGURATION, f"{folder}/config")
        configuration = ["--config", f"{folder}/config/fleetwire.yaml"]
        with gateway(BINARY, *configuration, "--port", "0") as (pid, port):
            before = cpu_seconds(pid)
            bench = subprocess.run([BINARY, "bench", *configuration, "--json", "--url",
                                    f"ws://127.0.0.1:{port}", *options], stdout=subprocess.PIPE)
            return json.loads(bench.stdout), cpu_seconds(pid) - before


def milliseconds(report: dict) -> str:
    latency = report["deliveries"]["latency"]
    return " | ".join(f"{latency[name] / 1_000:.1f} ms" for name in ("p50", "p99", "max"))


def main() -> int:
    passed = True
    print("| load | deliveries per second | p50 | p99 | max | CPU time per delivery | passed |")
    print("|---|---|---|---|---|---|---|")
    for text, connections, rate in LOADS:
        report, seconds = run(*connections, *rate, "--duration", "20s")
        deliveries = report["deliveries"]
        passed &= report["pass"]
        name = text.format(*(f"{int(options[-1]):,}" for options in (connections, rate)))
        print(f"| {name} | {deliveries['perSecond']:,} | {milliseconds(report)} "
              f"| {seconds / max(1, deliveries['received']) * 1e6:,.1f} µs "
              f"| {'yes' if report['pass'] else '**no**: ' + '; '.join(report['problems'])} |",
              flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
