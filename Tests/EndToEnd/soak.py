"""Loads the gateway for long, and checks that it neither grows nor loses anything: `make soak`.

First, churn, publishes and misuse for minutes, while well-behaved clients check that they receive every
event, in order. Then, storms: thousands of clients connect within seconds and leave all at once.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.gateway import Gateway
from harness.hostile.attacks import ATTACKS
from harness.hostile.bystander import (Bystander, Floor, compile_c, descriptors, resident_bytes,
                                       wait_for_descriptors)
from hostile import Part, start

# Seconds in which a storm must have connected, and how much resident memory may grow from the second
# storm to the last.
CONNECT, GROWTH = 5.0, 1.05
# Performed several times in a round: what goes on all day at a real gateway.
COMMON = ["connection_churn", "mass_close", "publish_flood", "presence_and_client_events"] * 3


def mixed(folder: Path, minutes: float, seed: int) -> list[str]:
    """Returns the problems."""
    gateway, floor = start(folder, tls=False, loops=2), Floor()
    part = Part("mixed", gateway)
    try:
        bystander = Bystander(folder, gateway, floor, rate=100, subscribers=50)
        try:
            part.attack([*ATTACKS, *COMMON], seed, minutes * 60)
        finally:
            part.seen = bystander.stop()
        part.judge_state()
        gateway.stop()
    finally:
        floor.close()
        if not gateway.stopped:
            gateway.kill()
    seen = part.seen["gateway"]
    print(f"soak: {part.rounds} rounds of churn, publishes and misuse in {minutes:g} min; "
          f"{seen.sent} events to 50 clients, {seen.lost} lost, {seen.disordered} disordered; "
          f"{part.memory[0] >> 20} → {part.memory[1] >> 20} MiB", flush=True)
    return part.problems


def storm(program: Path, gateway: Gateway, clients: int, way: str) -> tuple[float, int]:
    """Connects and disconnects all. Returns the seconds to connect, and the memory meanwhile."""
    process = subprocess.Popen([program, str(gateway.port), str(clients)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        seconds, connected = float(process.stdout.readline() or "nan"), resident_bytes(gateway)
        if way == "kill":
            process.kill()
        process.communicate(None if way == "kill" else f"{way}\n")
    finally:
        process.kill()
        process.wait()
    return seconds, connected


def storms(folder: Path, clients: int, rounds: int) -> list[str]:
    """Returns the problems."""
    gateway, floor = start(folder, tls=False, loops=2), Floor()
    program = compile_c(Path(__file__).parent / "harness/hostile/storm.c", folder / "storm",
                        "-Wall", "-Wextra", "-Werror")
    memory, problems = [], []
    print(f"\n| storm of {clients} | ended by | connected in s | MiB connected | MiB after | descriptors |\n"
          + "|---" * 6 + "|", flush=True)
    try:
        bystander = Bystander(folder, gateway, floor, rate=100)
        before = descriptors(gateway)
        for number in range(1, rounds + 1):
            way = ["reset", "close", "kill"][number % 3]
            seconds, connected = storm(program, gateway, clients, way)
            left = wait_for_descriptors(gateway, before)
            memory.append(resident_bytes(gateway))
            print(f"| {number} | {way} | {seconds:.2f} | {connected / 2**20:.1f} | {memory[-1] / 2**20:.1f} "
                  f"| {before} → {left} |", flush=True)
            if not seconds <= CONNECT:
                problems.append(f"storm {number} took {seconds:.1f} s to connect")
            if left != before:
                problems.append(f"storm {number}: {before} descriptors before, {left} after")
        both = bystander.stop()
        seen, floor_seen = both["gateway"], both["floor"]
        problems += [f"the bystander's {name}: {count}" for name, count in seen.faults().items()]
        print("\nThe bystander's latency (the reference server's): "
              + ", ".join(f"{name} {seen.quantile(share):.1f} ms ({floor_seen.quantile(share):.1f})"
                          for name, share in (("p50", 0.5), ("p99", 0.99), ("longest", 1))))
        gateway.stop()
    finally:
        floor.close()
        if not gateway.stopped:
            gateway.kill()
    if rounds > 2 and memory[-1] > memory[1] * GROWTH:
        problems.append(f"memory grew from {memory[1] >> 20} MiB after storm 2 to {memory[-1] >> 20} MiB")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30, help="0: only the storms")
    parser.add_argument("--clients", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"soak: seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fleetwire-soak-") as name:
        problems = []
        if options.minutes:
            problems += mixed(Path(name) / "mixed", options.minutes, options.seed)
        problems += storms(Path(name) / "storms", options.clients, options.rounds)
    print("\n" + ("\n".join(problems) or "soak: all bounds are met"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
