"""The well-behaved clients beside an attack, and what they noticed."""

import os
import select
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ..apps import TIMEOUT
from ..gateway import Gateway

# A delivery that takes longer is a stall; nanoseconds.
STALL = 200_000_000


def compile_c(source: Path, program: Path, *flags: str) -> Path:
    subprocess.run(["gcc", "-O2", "-std=gnu11", *flags, "-o", program, source, "-lssl", "-lcrypto"], check=True)
    return program


def benchmark_program(name: str) -> Path:
    """Returns a program of Benchmarks/, compiled."""
    script = Path(__file__).parents[4] / "Benchmarks/compile"
    return Path(subprocess.run([script, name], stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


class Floor:
    """The reference server: what this machine allows at a moment."""

    def __init__(self):
        self.process = subprocess.Popen([benchmark_program("floor")], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rpartition(":")[2])  # "floor listening on 127.0.0.1:PORT"

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass
class Observation:
    """What one server's clients saw. `samples` are pairs of a time and a latency, in nanoseconds."""

    sent: int
    lost: int
    disordered: int
    closed: int
    rejected: int
    samples: list[tuple[int, int]]

    def quantile(self, share: float) -> float:
        """Returns a quantile of the latencies in milliseconds."""
        ordered = sorted(latency for _, latency in self.samples)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1e6

    def stalls(self, least: int = STALL) -> list[tuple[int, int]]:
        """Returns the begin and the end of each time in which deliveries were late, in nanoseconds."""
        spans: list[tuple[int, int]] = []
        for begin, latency in self.samples:
            if latency < least:
                continue
            if spans and begin <= spans[-1][1]:
                spans[-1] = spans[-1][0], max(spans[-1][1], begin + latency)
            else:
                spans.append((begin, begin + latency))
        return spans

    def faults(self) -> dict[str, int]:
        return {name: count for name in ("lost", "disordered", "closed", "rejected") if (count := getattr(self, name))}


class Bystander:
    """Publishes to and receives from a gateway and the reference server, in a process of its own."""

    def __init__(self, folder: Path, gateway: Gateway, floor: Floor, rate: int = 200, subscribers: int = 4):
        source, program = Path(__file__).with_name("bystander.c"), folder / "bystander"
        if not program.exists():
            compile_c(source, program, "-Wall", "-Wextra", "-Werror")
        self.samples = folder / "samples"
        self.process = subprocess.Popen(
            [program, self.samples, str(rate), str(subscribers),
             f"gateway:{gateway.port}:{'tls' if gateway.tls else 'plain'}", f"floor:{floor.port}:plain"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        assert ready and self.process.stdout.readline() == "ready\n", "the bystander could not subscribe"

    def stop(self) -> dict[str, Observation]:
        """Waits until everything published is delivered. Returns the observations by server."""
        totals, _ = self.process.communicate(timeout=TIMEOUT * 4)
        samples: dict[str, list[tuple[int, int]]] = {"gateway": [], "floor": []}
        for line in self.samples.read_text().splitlines():
            server, begin, latency = line.split()
            samples[server].append((int(begin), int(latency)))
        return {name: Observation(*map(int, counts), samples[name])
                for name, *counts in map(str.split, totals.splitlines())}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def unexcused(observations: dict[str, Observation]) -> list[tuple[int, int]]:
    """Returns the gateway's stalls at whose time the reference server had none of half their length."""
    floor = observations["floor"].samples
    return [(begin, end) for begin, end in observations["gateway"].stalls()
            if not any(begin <= time + latency and time <= end and latency * 2 >= end - begin
                       for time, latency in floor)]


def resident_bytes(gateway: Gateway) -> int:
    pages = Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def descriptors(gateway: Gateway) -> int:
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def wait_for_descriptors(gateway: Gateway, count: int) -> int:
    """Waits until no more than `count` descriptors are open. Returns how many are."""
    deadline = time.monotonic() + 2 * TIMEOUT
    while (now := descriptors(gateway)) > count and time.monotonic() < deadline:
        time.sleep(0.1)
    return now
