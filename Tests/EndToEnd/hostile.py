"""Attacks the gateway with everything that strangers and registered clients may do, and checks that a
well-behaved bystander on the same loop does not notice: `make hostile`.

First, many clients do something at one moment, each burst at a gateway of its own: the longest wait of
a bystander is printed in loop time, with its bound. Then each attack is performed alone, with the same
measurement, and the bound that it names is checked. Then each part of a run is a gateway of its own,
alternately without and with TLS, with the next seed. In each round of a part, two attackers perform all
attacks in random order. The bystander's process also observes a reference server, to tell which delays
are the machine's.
"""

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from harness import certificates
from harness.fleet import Caller
from harness.gateway import Gateway
from harness.hostile.alone import ALONE, perform_each
from harness.hostile.attacks import ATTACKS, attack
from harness.hostile.bursts import BURSTS, allow_many_connections, perform_all
from harness.hostile.bystander import (Bystander, Floor, Observation, descriptors, resident_bytes,
                                       unexcused, wait_for_descriptors)
from harness.tokens import SECRET

ATTACKERS, PART_MINUTES = 2, 5
# The bounds: milliseconds of p99.9 of the bystander, of p99 of a dispatcher's actions, and how much resident memory may grow after the first round, as
# a share and in bytes. The allocator keeps what the highest peak needed, and peaks differ.
P999, DISPATCH_P99, GROWTH, SLACK = 20.0, 100.0, 1.25, 32 << 20
# The attacks that need most memory begin the first round, side by side: no later peak is higher.
HEAVIEST = ["silent_connections", "tls_half_hello"]


@dataclass
class Performed:
    """An attack that has ended; times of the monotonic clock in nanoseconds."""

    name: str
    begin: int
    end: int
    error: str


def become_attacker(gateway: SimpleNamespace) -> None:
    """Prepares a process. Its priority is low, because real attackers use other machines."""
    global target
    target = gateway
    allow_many_connections()
    os.nice(10)


def perform(job: tuple[str, str, float]) -> Performed:
    begin, error = time.monotonic_ns(), ""
    try:
        attack(target, *job)
    except Exception:
        error = traceback.format_exc()
    return Performed(job[0], begin, time.monotonic_ns(), error)


class Dispatcher(threading.Thread):
    """Assigns orders one after the other, and measures how long each takes. Their drivers are not attacked."""

    def __init__(self, gateway: Gateway):
        super().__init__()
        self.caller, self.ended = Caller(gateway, "admin", "ada"), threading.Event()
        self.seconds: list[float] = []
        self.refused: Counter = Counter()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            begin = time.monotonic()
            response = self.caller.post(f"/api/admin/orders/o{len(self.seconds)}/assign-driver", {"driverId": "calm"})
            self.seconds.append(time.monotonic() - begin)
            if response.status != 200:
                self.refused[response.status] += 1

    def stop(self) -> None:
        self.ended.set()
        self.join()
        self.caller.close()

    def quantile(self, share: float) -> float:
        """Returns a quantile of the actions' times in milliseconds."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))] * 1e3


@dataclass
class Part:
    """A gateway under attack, and what came of it."""

    title: str
    gateway: Gateway
    rounds: int = 0
    performed: list[Performed] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # after the first and the last round
    descriptors: list[int] = field(default_factory=list)  # before the first round, after the last
    seen: dict[str, Observation] = field(default_factory=dict)
    dispatcher: Dispatcher | None = None  # a soak has none
    problems: list[str] = field(default_factory=list)

    def attack(self, names: list[str], seed: int, seconds: float) -> None:
        """Performs rounds for so long, at least two."""
        gateway = SimpleNamespace(address=self.gateway.address, host=self.gateway.host, port=self.gateway.port,
                                  tls=self.gateway.tls)
        dice, end = random.Random(seed), time.monotonic() + seconds
        each = min(3.0, max(0.3, seconds * ATTACKERS / len(names) / 3))
        with multiprocessing.get_context("fork").Pool(ATTACKERS, become_attacker, (gateway,)) as pool:
            self.descriptors = [descriptors(self.gateway)]
            while self.rounds < 2 or time.monotonic() < end:
                dice.shuffle(names)
                if not self.rounds:
                    names.sort(key=lambda name: name not in HEAVIEST)
                jobs = [(name, f"{seed}-{self.rounds}-{name}", each) for name in names]
                self.performed += pool.imap_unordered(perform, jobs)
                self.rounds += 1
                self.gateway.assert_alive()
                left = wait_for_descriptors(self.gateway, self.descriptors[0])
                self.memory[1:] = [resident_bytes(self.gateway)]
        self.descriptors.append(left)

    def active(self, begin: int, end: int) -> list[str]:
        """Names the attacks between these times, or the one that ended last before."""
        names = [each.name for each in self.performed if each.begin <= end and begin <= each.end]
        earlier = [each for each in self.performed if each.end < begin]
        return names or [f"after {max(earlier, key=lambda each: each.end).name}" for _ in earlier[:1]]

    def judge_delays(self) -> None:
        """Compares what the bystander measured with the bounds, and names the attacks at fault."""
        gateway, found = self.seen["gateway"], self.problems
        late = [(begin, begin + latency) for begin, latency in gateway.samples if latency > P999 * 1e6]
        if gateway.quantile(0.999) >= P999:
            blamed = Counter(name for span in late for name in self.active(*span)).most_common(12)
            found.append(f"p99.9 is {gateway.quantile(0.999):.1f} ms; late deliveries by attack: "
                         + ", ".join(f"{names} {count}" for names, count in blamed))
        for begin, end in unexcused(self.seen):
            found.append(f"a stall of {(end - begin) / 1e6:.0f} ms during {', '.join(self.active(begin, end))}")
        if self.dispatcher.quantile(0.99) >= DISPATCH_P99:
            found.append(f"p99 of a dispatcher's actions is {self.dispatcher.quantile(0.99):.0f} ms")

    def judge_state(self) -> None:
        """Checks what must be as it was after the first round, and that the bystander missed nothing."""
        found = self.problems
        if self.memory[1] > self.memory[0] * GROWTH + SLACK:
            found.append(f"memory grew from {self.memory[0] >> 20} to {self.memory[1] >> 20} MiB")
        if self.descriptors[0] != self.descriptors[1]:
            found.append(f"descriptors: {self.descriptors[0]} before, {self.descriptors[1]} after")
        found += [f"the bystander's {name}: {count}" for name, count in self.seen["gateway"].faults().items()]
        refused = self.dispatcher.refused if self.dispatcher else {}
        found += [f"{count} actions of the dispatcher got {status}" for status, count in refused.items()]
        found += [f"{each.name} failed:\n{each.error}" for each in self.performed if each.error]

    def row(self) -> str:
        gateway, floor = self.seen["gateway"], self.seen["floor"]
        return (f"| {self.title} | {self.rounds} | {gateway.sent} | {gateway.quantile(0.5):.2f} ({floor.quantile(0.5):.2f}) "
                f"| {gateway.quantile(0.999):.1f} ({floor.quantile(0.999):.1f}) "
                f"| {gateway.quantile(1):.0f} ({floor.quantile(1):.0f}) | {len(unexcused(self.seen))} "
                f"| {len(self.dispatcher.seconds)} | {self.dispatcher.quantile(0.5):.1f} | {self.dispatcher.quantile(0.99):.1f} "
                f"| {self.memory[0] >> 20} → {self.memory[1] >> 20} | {self.descriptors[0]} → {self.descriptors[1]} "
                f"| {sum(gateway.faults().values())} | {'no' if self.problems else 'yes'} |")


def start(folder: Path, tls: bool, loops: int) -> Gateway:
    folder.mkdir()
    # The allocator keeps what outboxes needed, which would hide what grows: so they get no more than the slack.
    server = {"connections": 16_000, "outgoing_bytes": SLACK} | ({"tls": certificates.make(folder)} if tls else {})
    return Gateway(folder, loops=loops, server=server, first={"client_events": True},
                   sections={"auth": {"jwt": {"secret": SECRET}}})


def run_part(folder: Path, floor: Floor, tls: bool, names: list[str], seed: int, seconds: float) -> Part:
    gateway = start(folder, tls, loops=1)
    part = Part(f"{'TLS' if tls else 'plain'}, seed {seed}", gateway)
    try:
        bystander, part.dispatcher = Bystander(folder, gateway, floor), Dispatcher(gateway)
        part.dispatcher.start()
        try:
            part.attack(list(names), seed, seconds)
        finally:
            part.dispatcher.stop()
            part.seen = bystander.stop()
        part.judge_delays()
        part.judge_state()
        gateway.stop()
    except (AssertionError, OSError) as failure:  # the gateway is not alive, or does not exit with 0
        part.problems.append(str(failure))
    finally:
        if not gateway.stopped:
            gateway.kill()
    return part


def perform_parts(attacks: list[str], minutes: float, parts: int, seed: int, folder: Path) -> list[str]:
    """Performs the attacks and prints a line for each part. Returns what is above its bound."""
    print("\nMilliseconds of the gateway's bystander (of the reference server's), and of a dispatcher's actions:\n\n"
          "| part | rounds | events | p50 | p99.9 | longest | stalls | actions | p50 | p99 | MiB | descriptors | faults | met |\n"
          + "|---" * 14 + "|", flush=True)
    problems, floor = [], Floor()
    try:
        for index in range(parts):
            part = run_part(folder / str(index), floor, index % 2 == 1, attacks, seed + index, minutes * 60 / parts)
            print(part.row() if len(part.memory) == 2 else f"| {part.title} | no result |", flush=True)
            problems += [f"{part.title}: {problem}" for problem in part.problems]
            print("".join(f"{problem}\n" for problem in part.problems), end="", file=sys.stderr, flush=True)
    finally:
        floor.close()
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"default all: {', '.join([*BURSTS, *ALONE])}")
    parser.add_argument("--seconds", type=float, default=4, help="of each attack alone")
    options = parser.parse_args()
    chosen = options.attacks or [*BURSTS, *ALONE]
    bursts, attacks = [name for name in chosen if name in BURSTS], [name for name in chosen if name in ATTACKS]
    parts = max(2, round(options.minutes / PART_MINUTES / 2) * 2) if attacks else 0
    print(f"hostile: {len(bursts)} bursts, {parts} parts, seed {options.seed}", flush=True)
    problems = []
    with tempfile.TemporaryDirectory(prefix="fleetwire-hostile-") as name:
        if bursts:
            allow_many_connections()
            problems += perform_all(Path(name), bursts)
        if alone := [name for name in chosen if name in ALONE]:
            allow_many_connections()
            problems += perform_each(Path(name), alone, options.seconds, options.seed)
        if attacks and options.minutes:
            problems += perform_parts(attacks, options.minutes, parts, options.seed, Path(name))
    print("\n" + ("\n".join(problems) or "hostile: all bounds are met"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
