"""Kills the gateway at random instants, and stops it, under a thousand connected drivers, and checks that
each gets every notification: the second part of `make crash`.

Each round continues with the database and the drivers of the previous ones. Dispatchers assign jobs to
drivers and announce things to some or to all, while drivers answer all pings, some or none, leave and come
back, or are away. At a random instant the process gets SIGKILL, sometimes again during the next start; then
all drivers come back. Each must have got all notifications in the log, those of actions that were answered
200 among them, in order, and on each connection without a gap. A notification may be repeated unless the
driver confirmed it before, and nothing is left out that the driver did not confirm. A confirmation that was
a second old survives a kill, and each that the gateway had read survives a SIGTERM.
"""

import argparse
import contextlib
import random
import sqlite3
import sys
import tempfile
import threading
import time
from http.client import HTTPException
from pathlib import Path

from harness.crowd.crowd import CrowdProcess
from harness.crowd.judge import Ended, Judge, Violation
from harness.fleet import SECTIONS, Caller
from harness.gateway import Gateway

DISPATCHERS, SOME = 3, 20
# The load lasts for such a time, in some rounds long enough for confirmations to become older than a second.
INSTANTS, LATE_INSTANTS, LATE_SHARE = (0.005, 0.25), (1.0, 2.5), 0.2
# The time in which all drivers must have everything after a start.
SECONDS = 20


class Dispatcher(threading.Thread):
    """Acts until the process ends. Keeps the ids of the notifications of each action answered 200."""

    def __init__(self, gateway: Gateway, name: str, drivers: int, dice: random.Random):
        super().__init__()
        self.gateway, self.label, self.drivers, self.dice = gateway, name, drivers, dice
        self.answered: list[str] = []
        self.actions = 0
        self.failure = ""
        self.start()

    def run(self) -> None:
        with contextlib.suppress(HTTPException, OSError):
            with contextlib.closing(Caller(self.gateway, "admin", self.label)) as caller:
                while True:
                    response = caller.post(*self.action())
                    if response.status != 200:
                        if response.status != 503 or "stopping" not in response.text:
                            self.failure = f"an action was rejected: {response}"
                        return
                    self.actions += 1
                    self.answered += response.json()["data"]["notificationIds"]

    def action(self) -> tuple[str, dict]:
        kind = self.dice.random()
        some = [f"c{number}" for number in self.dice.sample(range(self.drivers), min(SOME, self.drivers))]
        if kind < 0.5:
            return f"/api/admin/orders/{self.label}-{self.actions}/assign-driver", {"driverId": some[0]}
        to = {"all": True} if kind > 0.97 else {"drivers": some}
        return "/api/admin/notifications", {"type": "NEW_BATCH_AVAILABLE", "to": to, "data": {"n": self.actions}}


class Run:
    def __init__(self, folder: Path, options: argparse.Namespace, dice: random.Random):
        self.folder, self.dice, self.judge = folder, dice, Judge()
        self.connected, self.away = options.drivers, options.drivers // 10
        self.crowd = CrowdProcess(self.connected + self.away, dice.randrange(2**32))
        self.gateway: Gateway | None = None
        # The number of the process, and of all actions that were answered 200.
        self.process, self.actions = -1, 0
        self.last: dict[str, int] = {}
        self.newest = ""

    def start(self) -> None:
        self.gateway = Gateway(self.folder, loops=2, server={"drain_seconds": 1}, sections=SECTIONS)
        self.process += 1
        self.crowd.call("use", self.gateway.port, self.process)

    def end(self, kills: bool) -> None:
        self.judge.ends[self.process] = Ended(time.monotonic(), kills)
        if kills:
            self.gateway.kill()
        else:
            self.gateway.stop()
        self.crowd.call("lose")

    def round(self, number: int, kills: bool) -> None:
        self.crowd.call("begin", self.away)
        dispatchers = [Dispatcher(self.gateway, f"w{number}-{each}", self.connected + self.away,
                                  random.Random(self.dice.random())) for each in range(DISPATCHERS)]
        # The pause draws the instant of the end; it does not wait for an effect.
        time.sleep(self.dice.uniform(*(LATE_INSTANTS if self.dice.random() < LATE_SHARE else INSTANTS)))
        self.end(kills)
        for each in dispatchers:
            each.join()
            if each.failure:
                raise Violation(each.failure)
        while kills and self.dice.random() < 0.25:
            # Kill again while drivers connect and get their replays.
            self.start()
            time.sleep(self.dice.uniform(0.005, 0.5))
            self.end(kills)
        self.start()
        self.actions += sum(each.actions for each in dispatchers)
        self.settle({each for dispatcher in dispatchers for each in dispatcher.answered})

    def settle(self, answered: set[str]) -> None:
        """Lets all drivers come, and waits until each has everything; then judges what they got."""
        logged = self.read_log()
        if lost := answered - self.judge.sequences.keys():
            raise Violation(f"{len(lost)} notifications of actions answered 200 are not in the log")
        self.crowd.call("gather")
        self.crowd.call("expect", logged)
        deadline = time.monotonic() + SECONDS
        while ((missing := self.crowd.call("missing")) or not self.is_complete()) and time.monotonic() < deadline:
            time.sleep(0.02)
        if missing:
            raise Violation(f"{len(missing)} drivers do not get everything: {list(missing.items())[:5]}")
        if not self.is_complete():
            raise Violation(f"only {self.crowd.call('connected')} drivers could subscribe")
        sessions, surprises = self.crowd.call("report")
        if surprises:
            raise Violation(f"{len(surprises)} surprises: {surprises[:3]}")
        self.judge.judge(sessions, self.last)

    def is_complete(self) -> bool:
        return self.crowd.call("connected") == self.connected + self.away

    def read_log(self) -> dict[str, list[str]]:
        """Reads the new notifications. Returns the ids of those of drivers, by channel."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/var/fleetwire.db?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT id, channel, sequence FROM notifications WHERE id > ? ORDER BY id",
                                    (self.newest,)).fetchall()
        found: dict[str, list[str]] = {}
        for each, channel, sequence in rows:
            self.judge.sequences[each] = sequence
            if channel.startswith("driver"):
                found.setdefault(channel, []).append(each)
                self.last[channel] = max(sequence, self.last.get(channel, 0))
        self.newest = rows[-1][0] if rows else self.newest
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--stops", type=int, default=20, help="further rounds, with SIGTERM")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--drivers", type=int, default=1_000, help="connected; a tenth as many more are away")
    options = parser.parse_args()
    started, longest, number = time.monotonic(), 0.0, -1
    with tempfile.TemporaryDirectory(prefix="fleetwire-crash-") as name:
        run = Run(Path(name), options, random.Random(options.seed))
        try:
            run.start()
            run.settle(set())
            for number in range(options.rounds + options.stops):
                begin = time.monotonic()
                run.round(number, kills=number < options.rounds)
                longest = max(longest, time.monotonic() - begin)
            run.gateway.stop()
        except (Violation, AssertionError) as failure:
            print(f"crash: round {number} of seed {options.seed}, with drivers: {failure}", file=sys.stderr)
            print(f"End of the gateway's log:\n{run.gateway.log()[-2000:]}", file=sys.stderr)
            return 1
        finally:
            if run.gateway and not run.gateway.stopped:
                run.gateway.kill()
            run.crowd.close()
    judge = run.judge
    print(f"crash: {options.rounds} kills, {options.stops} stops under {options.drivers} connected drivers, "
          f"{run.actions} actions answered 200; all of their notifications arrived, {judge.deliveries} deliveries in all, "
          f"in order; {judge.repeated} repeated because their pong was lost, sent at most "
          f"{judge.oldest_lost[True]:.2f} s before a kill or {judge.oldest_lost[False]:.2f} s before a stop. "
          f"{time.monotonic() - started:.0f} s, the longest round {longest:.1f} s, "
          f"seed {options.seed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
