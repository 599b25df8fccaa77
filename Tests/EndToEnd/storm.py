"""All drivers come back at once while notifications wait for each of them: `make storm`.

Each driver must get exactly those that wait, in order, and within ten seconds of the subscription; the
gateway's memory is bounded. Then all come back once more, while one new notification waits: what they have
confirmed is not repeated.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.fleet import SECTIONS, Caller
from harness.gateway import Gateway
from harness.hostile.bystander import compile_c, descriptors, resident_bytes, wait_for_descriptors

# Drivers per announcement: its body has at most 256 KiB.
SHARE = 1_000
# The bounds: seconds from a driver's subscription to the last of its notifications, and bytes of resident
# memory per driver while all are connected.
SERVED, MEMORY = 10.0, 32_768


class Storm:
    def __init__(self, program: Path, gateway: Gateway, drivers: int):
        self.program, self.gateway, self.drivers = program, gateway, drivers
        self.announced = 0
        self.problems: list[str] = []

    def announce(self) -> None:
        """Notifies each driver."""
        # A new connection, because the gateway closes one that says nothing for long.
        with contextlib.closing(Caller(self.gateway, "admin", "storm")) as admin:
            for first in range(0, self.drivers, SHARE):
                drivers = [f"s{number}" for number in range(first, min(first + SHARE, self.drivers))]
                admin.expect_ok("POST", "/api/admin/notifications", {
                    "type": "NEW_BATCH_AVAILABLE", "to": {"drivers": drivers}, "data": {"n": self.announced}})
        self.announced += 1

    def connect(self, waiting: int) -> None:
        """Connects all. Each must get the last `waiting` notifications. Prints a row of the table."""
        before = descriptors(self.gateway)
        start, peak = time.monotonic(), Path(f"/proc/{self.gateway.process.pid}/clear_refs")
        peak.write_text("5")  # the peak of the resident memory starts again
        process = subprocess.Popen(
            [self.program, str(self.gateway.port), str(self.drivers), str(self.announced - waiting), str(waiting)],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            line = process.stdout.readline().split()
            if len(line) != 4:
                return self.problems.append(f"with {waiting} waiting: the drivers were not served")
            total, *served = map(float, line)
            memory, most = resident_bytes(self.gateway), self.peak_bytes()
            stored = self.wait_for_confirmations(start) if waiting else total
            process.communicate()
            if process.returncode:
                self.problems.append(f"with {waiting} waiting: a driver got something else")
        finally:
            process.kill()
            process.wait()
        print(f"| {waiting} | {total:.2f} | {served[0]:.2f} | {served[1]:.2f} | {served[2]:.2f} | {stored:.2f} "
              f"| {memory / 2**20:.1f} | {most / 2**20:.1f} |", flush=True)
        if served[2] > SERVED:
            self.problems.append(f"with {waiting} waiting: a driver was served after {served[2]:.1f} s")
        if most > self.drivers * MEMORY + (64 << 20):
            self.problems.append(f"with {waiting} waiting: {most >> 20} MiB")
        if (left := wait_for_descriptors(self.gateway, before)) > before:
            self.problems.append(f"{before} descriptors before, {left} after")

    def peak_bytes(self) -> int:
        lines = Path(f"/proc/{self.gateway.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

    def wait_for_confirmations(self, start: float) -> float:
        """Waits until the store has the confirmations of all. Returns the seconds since `start`."""
        deadline = time.monotonic() + 30
        while (count := self.gateway.query("SELECT COUNT(*) FROM cursors WHERE sequence = ?", self.announced)[0][0]) < self.drivers:
            if time.monotonic() > deadline:
                self.problems.append(f"only {count} drivers have confirmed all")
                break
            time.sleep(0.02)
        return time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drivers", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleetwire-storm-") as name:
        folder = Path(name)
        program = compile_c(Path(__file__).parent / "harness/crowd/storm.c", folder / "storm", "-Wall", "-Wextra", "-Werror")
        gateway = Gateway(folder, loops=2, sections=SECTIONS)
        try:
            storm = Storm(program, gateway, options.drivers)
            print(f"{options.drivers} drivers come back at once; seconds:\n\n"
                  "| waiting | all served | a driver: median | p99 | longest | all confirmed | MiB | peak |\n" + "|---" * 8 + "|",
                  flush=True)
            storm.connect(waiting=0)
            for _ in range(3):
                storm.announce()
            storm.connect(waiting=3)
            storm.announce()
            storm.connect(waiting=1)
            gateway.stop()
        finally:
            if not gateway.stopped:
                gateway.kill()
    print("\n" + ("\n".join(storm.problems) or "storm: all bounds are met"))
    return 1 if storm.problems else 0


if __name__ == "__main__":
    sys.exit(main())
