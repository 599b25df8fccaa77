"""Prints the table of latencies of `fleetwire bench`, which operators run on their own machines.

Usage: latency.py BINARY. Each load runs on a newly started gateway with the development
configuration and an empty store. Exits with 1 if a load does not pass: nothing may be lost,
duplicated or out of order. Latencies have no bound, because they are the machine's as well.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BINARY = pathlib.Path(sys.argv[1]).resolve()
CONFIGURATION = pathlib.Path(__file__).resolve().parent.parent / "config"
FANOUT = "fanout: {} subscribers of one channel, {} events per second"
FLEET = "fleet: {} drivers, {} assignments per second, confirmed and accepted"
LOADS = [(FANOUT, ["--connections", "1000"], ["--rate", "20"]),
         (FANOUT, ["--connections", "5000"], ["--rate", "20"]),
         (FLEET, ["--scenario", "fleet", "--connections", "1000"], ["--rate", "200"]),
         (FLEET, ["--scenario", "fleet", "--connections", "1000"], ["--rate", "500"])]


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*options: str) -> tuple[dict, float]:
    """Returns the report of a load, and the CPU time of the gateway in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(CONFIGURATION, f"{folder}/config")
        configuration = ["--config", f"{folder}/config/fleetwire.yaml"]
        gateway = subprocess.Popen([BINARY, "serve", *configuration, "--port", "0"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            port = next(found[1] for line in gateway.stdout
                        if (found := re.search(r"listening on .*:(\d+)", line)))
            before = cpu_seconds(gateway.pid)
            bench = subprocess.run([BINARY, "bench", *configuration, "--json", "--url",
                                    f"ws://127.0.0.1:{port}", *options], stdout=subprocess.PIPE)
            return json.loads(bench.stdout), cpu_seconds(gateway.pid) - before
        finally:
            gateway.terminate()
            gateway.wait()


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
