"""Each attack alone, on a gateway of its own: what a bystander on its only loop waits, and the bound that the attack names."""

import contextlib
import multiprocessing
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from .attacks import ATTACKS, perform
from .bounds import BOUNDS, Unreached
from .bursts import allow_many_connections, bystander
from .bystander import descriptors, resident_bytes, wait_for_descriptors
from .outside_attacks import OUTSIDE_ATTACKS
from .scene import Scene

ALONE = ATTACKS | {attack.__name__: attack for attack in OUTSIDE_ATTACKS}
# How long a bystander may wait, in ms of loop time; how much memory may grow, in bytes: that of the connections and of what
# is kept for them stays with the allocator.
WAIT, GROWTH = 50.0, 160 << 20
# Those that the gateway itself may have opened meanwhile, to providers and to the webhooks' backend.
OWN_CONNECTIONS = 16
# An attack that has not reached the bound that it names gets more time: the machine may be slow.
FACTORS = (1, 3, 9)


@dataclass
class Result:
    """What came of an attack: the bystander's longest wait, and the longest turn by the loop's metrics, in ms."""

    wait: float
    turn: float
    problems: list[str] = field(default_factory=list)


def _attack(target: SimpleNamespace, name: str, seconds: float, seed: str) -> None:
    """Performs the attack. Its priority is low, because real attackers use other machines."""
    allow_many_connections()
    os.nice(10)
    perform(ALONE[name], target, seed, seconds)


def perform_alone(folder: Path, name: str, seconds: float, seed: str) -> Result:
    with contextlib.ExitStack() as stack:
        scene = Scene(folder, stack)
        gateway, bound, stopped = scene.gateway, BOUNDS.get(name), False
        stack.callback(lambda: stopped or gateway.kill())
        if bound:
            bound.prepare(scene)
        open_before = descriptors(gateway)
        target = SimpleNamespace(address=gateway.address, host=gateway.host, port=gateway.port, tls=None)
        attacker = multiprocessing.get_context("fork").Process(target=_attack, args=(target, name, seconds, seed), daemon=True)
        with bystander(gateway) as waits, scene.sampling():
            attacker.start()
            attacker.join()
        gateway.assert_alive()
        result = Result(max(waits) / 1e6, scene.largest("turn_seconds") * 1e3)
        if result.wait > WAIT:
            result.problems.append(f"a bystander waited for {result.wait:.0f} ms of loop time")
        if attacker.exitcode:
            result.problems.append(f"the attack ended with {attacker.exitcode}")
        left = wait_for_descriptors(gateway, open_before + OWN_CONNECTIONS) - open_before
        if left > OWN_CONNECTIONS:
            result.problems.append(f"{left} descriptors are left")
        grown = resident_bytes(gateway) - scene.memory
        if grown > GROWTH:
            result.problems.append(f"memory grew by {grown >> 20} MiB")
        if bound:
            result.problems += bound.judge(scene)
        gateway.stop()
        stopped = True
    return result


def perform_each(folder: Path, names: list[str], seconds: float, seed: int) -> list[str]:
    """Performs attacks one after the other, and prints a line for each. Returns what is above its bound."""
    print("\n| attack, alone | longest wait, ms of loop time | bound | longest turn, at most ms | its own bound | met |\n"
          + "|---" * 6 + "|", flush=True)
    problems = []
    for name in names:
        try:
            for factor in FACTORS:
                result = perform_alone(folder / f"alone-{name}-{factor}", name, seconds * factor, f"{seed}-{name}")
                if not result.problems or not all(isinstance(problem, Unreached) for problem in result.problems):
                    break
                print(f"{name}: in {seconds * factor:g} s {result.problems[0]}", file=sys.stderr)
        except (AssertionError, OSError) as failure:
            problems.append(f"{name}: {failure}")
            print(f"| {name} | no result |", flush=True)
            continue
        own = BOUNDS[name].text if name in BOUNDS else ""
        print(f"| {name} | {result.wait:.1f} | {WAIT:g} | {result.turn:g} | {own} | {'no' if result.problems else 'yes'} |",
              flush=True)
        problems += [f"{name}: {problem}" for problem in result.problems]
    return problems
