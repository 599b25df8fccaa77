"""Kills the gateway at random instants under a load of actions, and looks for what is lost or half done: `make crash`.

Each round works on the database that the rounds before it left. Four dispatchers act on orders of their own, every action with
an Idempotency-Key and a correlation id; somewhere in it the process gets SIGKILL, and often another on the way up. Afterwards a new one must know
every action that was answered 200, whole, and what was not answered either whole or not at all. Every driver has a phone, and the providers
answer with delays: in the end each push was accepted, and once, unless the answer to it was lost in a kill; or a newer one of
the same order has taken its place.
"""

import argparse
import contextlib
import json
import os
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from harness import certificates
from harness.fleet import Caller
from harness.gateway import Gateway
from harness.push.connection import Request
from harness.push.providers import Providers

WORKERS = 4
# What is done to each order in turn: the deed, whether it names a driver, how many notifications it makes, and which of them are pushed to whom.
DEEDS = [("assign-driver", "a", 3, {0: "a"}), ("assign-driver", "b", 4, {0: "a", 1: "b"}), ("unassign", None, 4, {0: "b"}),
         ("assign-driver", "a", 3, {0: "a"}), ("cancel-enhanced", None, 5, {0: "a"})]
# Seconds a provider takes to answer, at most; and how long before a kill an answer may have come that is not written down.
DELAY, LOST = 0.05, 0.2


class Violation(Exception):
    """Something was lost, doubled or half done."""


@dataclass
class Action:
    round: int
    worker: int
    number: int
    # None: the process was killed before it answered.
    answer: dict | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The idempotency key, and the correlation id."""
        return f"r{self.round}-{self.worker}-{self.number}"

    @property
    def code(self) -> str:
        return f"R{self.round}-{self.worker}-{self.number // len(DEEDS)}"

    @property
    def place(self) -> int:
        """Which of the order's deeds it is; the order's version is one more."""
        return self.number % len(DEEDS)

    def driver(self, letter: str) -> str:
        return f"{letter}-{self.round}-{self.worker}"

    def perform(self, caller: Caller):
        deed, driver, *_ = DEEDS[self.place]
        body = {"customerName": self.name} | ({"driverId": self.driver(driver)} if driver else {"reason": "crash"})
        return caller.post(f"/api/admin/orders/{self.code}/{deed}", body, key=self.name, headers={"X-Correlation-ID": self.name})

    def check(self, holds: bool, what: str, *more) -> None:
        if not holds:
            raise Violation(f"{self.name} on {self.code}: {what} {' '.join(map(repr, more))}")


def act(gateway: Gateway, round_: int, worker: int, actions: list[Action], most: int) -> None:
    """Until the process is gone."""
    with contextlib.suppress(HTTPException, OSError):
        with contextlib.closing(Caller(gateway, "admin", f"w{worker}")) as caller:
            for number in range(most):
                action = Action(round_, worker, number)
                actions.append(action)
                answer = action.perform(caller)
                action.check(answer.status == 200, "was refused:", answer)
                action.answer = answer.json()


class Phones:
    """A phone of each driver of a round: those of the first letter are Apple's."""

    def __init__(self, gateway: Gateway, providers: Providers, round_: int):
        self.providers, self.by_driver, self.kills, self.again = providers, {}, [], 0
        for worker in range(WORKERS):
            for letter, register in (("a", providers.ios), ("b", providers.android)):
                driver = f"{letter}-{round_}-{worker}"
                with contextlib.closing(Caller(gateway, "driver", driver)) as owner:
                    self.by_driver[driver] = register(owner).token

    def check(self, database: sqlite3.Connection, actions: list[Action], ids: dict[str, list[str]]) -> int:
        """Once nothing is under way any more: each push was accepted, and once if that can be known. Answers how many there were."""
        self.wait(database)
        taken, superseded, count = self.providers.apns.taken() | self.providers.fcm.taken(), self.superseded(database), 0
        for action in actions:
            for index, letter in DEEDS[action.place][3].items():
                about = (self.by_driver[action.driver(letter)], ids[action.name][index])
                requests = taken.pop(about, [])
                action.check(bool(requests) or about[1] in superseded, "has lost a push:", about)
                doubled = [request for request in requests[:-1] if not self.answer_was_lost(request)]
                action.check(not doubled, "was pushed again though its answer had come so many seconds before a kill:",
                             [(request, [kill - request.answered_at for kill in self.kills]) for request in doubled])
                count += 1
                self.again += max(0, len(requests) - 1)
        if taken:
            raise Violation(f"these pushes are of no action: {list(taken)[:5]}")
        self.providers.assert_content()
        for fake in self.providers.fakes:
            fake.forget()
        return count

    def kill(self, gateway: Gateway) -> None:
        self.kills.append(time.monotonic())
        gateway.kill()

    def answer_was_lost(self, request: Request) -> bool:
        """A kill ended its connection before the answer, or soon after."""
        return any(request.connection.started_at <= kill <= request.answered_at + LOST for kill in self.kills)

    def wait(self, database: sqlite3.Connection) -> None:
        deadline = time.monotonic() + 60
        while open_jobs := rows(database, "SELECT state, COUNT(*) FROM push_jobs WHERE settled_at IS NULL GROUP BY state"):
            if time.monotonic() > deadline:
                raise Violation(f"pushes that come to no end: {open_jobs}")
            time.sleep(0.05)
        if wrong := rows(database, "SELECT state, reason, COUNT(*) FROM push_jobs WHERE state <> 'accepted' "
                         "AND (state <> 'cancelled' OR reason <> 'superseded') GROUP BY state, reason"):
            raise Violation(f"pushes came to other ends: {wrong}")

    def superseded(self, database: sqlite3.Connection) -> set[str]:
        """Their recipient was told newer things of the same order, and the newest was accepted. Their ids: one driver has a job of each."""
        found = rows(database, "SELECT notification_id, EXISTS (SELECT 1 FROM push_jobs AS newer WHERE newer.recipient = old.recipient "
                     "AND newer.collapse_key = old.collapse_key AND newer.notification_id > old.notification_id AND newer.state = 'accepted') "
                     "FROM push_jobs AS old WHERE reason = 'superseded'")
        if lost := [each for each, holds in found if not holds]:
            raise Violation(f"pushes gave way to nothing: {lost[:5]}")
        return {each for each, _ in found}


def load_and_kill(gateway: Gateway, phones: Phones, round_: int, dice: random.Random, most: int) -> list[list[Action]]:
    actions: list[list[Action]] = [[] for _ in range(WORKERS)]
    failures: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            act(gateway, round_, worker, actions[worker], most)
        except BaseException as failure:
            failures.append(failure)

    workers = [threading.Thread(target=run, args=[worker]) for worker in range(WORKERS)]
    for worker in workers:
        worker.start()
    # The instant is what is drawn; nobody waits for anything here.
    time.sleep(dice.uniform(0.005, 0.25))
    phones.kill(gateway)
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return actions


def rows(database: sqlite3.Connection, sql: str, *values) -> list[tuple]:
    return database.execute(sql, values).fetchall()


class Stored:
    """What the store has of the round that began at this time, by the name of the action."""

    def __init__(self, database: sqlite3.Connection, began: int):
        self.database = database
        self.audit, self.told = defaultdict(list), defaultdict(list)
        for name, *entry in rows(database, "SELECT correlation_id, order_code, actor FROM audit WHERE at >= ?", began):
            self.audit[name].append(tuple(entry))
        for name, each in rows(database, "SELECT correlation_id, id FROM notifications WHERE created_at >= ? ORDER BY id", began):
            self.told[name].append(each)


def check_stored(store: Stored, action: Action) -> bool:
    """Whole, or not at all; answers which."""
    audit, told, actor = store.audit[action.name], store.told[action.name], f"admin:w{action.worker}"
    kept = rows(store.database, "SELECT status, body FROM idempotency WHERE subject = ? AND key = ?", actor, action.name)
    if not audit:
        action.check(not told and not kept, "is not in the audit, but left", told, kept)
        action.check(action.answer is None, "was answered 200 and is lost")
        return False
    action.check(audit == [(action.code, actor)], "has a wrong audit line:", audit)
    action.check(len(told) == DEEDS[action.place][2], "has not all its notifications:", told)
    action.check(len(kept) == 1 and kept[0][0] == 200, "has no stored answer:", kept)
    stored = json.loads(kept[0][1])
    action.check(sorted(stored["data"]["notificationIds"]) == told, "answers other notifications than it stored:", stored, told)
    action.check(action.answer in (None, stored), "was answered otherwise:", action.answer, stored)
    return True


def check_orders(database: sqlite3.Connection, worker: list[Action], stored: list[Action]) -> None:
    """Each order is where its last stored action left it, and nothing is stored behind a gap."""
    if worker and stored != worker[:len(stored)]:
        raise Violation(f"of {worker[0].name} and on, these are stored: {[action.name for action in stored]}")
    for last in [action for action in stored if action.place == len(DEEDS) - 1 or action is stored[-1]]:
        order = rows(database, "SELECT version, customer_name FROM orders WHERE code = ?", last.code)
        last.check(order == [(last.place + 1, last.name)], "left the order at", order)


def check_sequences(database: sqlite3.Connection) -> None:
    """Dense per channel, and the counters know the last."""
    for channel, count, first, last, counter in rows(
            database, "SELECT n.channel, COUNT(*), MIN(n.sequence), MAX(n.sequence), s.last FROM notifications n "
            "LEFT JOIN channel_sequences s ON s.channel = n.channel GROUP BY n.channel"):
        if (first, last, counter) != (1, count, count):
            raise Violation(f"{channel} has {count} notifications, numbered {first} to {last}; its counter says {counter}")


def check_over_HTTP(gateway: Gateway, worker: list[Action]) -> None:
    """What was answered is found by those who ask, and every action may be sent again."""
    if not worker:
        return
    with contextlib.closing(Caller(gateway, "admin", f"w{worker[0].worker}")) as caller:
        for action in worker:
            if action.answer is not None:
                order = caller.seen(action.code)
                action.check(order["version"] >= action.place + 1, "is not in the order:", order)
                for each in action.answer["data"]["notificationIds"]:
                    said = caller.done("GET", f"/api/ops/notifications/{each}")["notification"]
                    action.check(said["correlationId"] == action.name, "has a notification of another:", said)
            again = action.perform(caller)
            action.check(again.status == 200, "cannot be repeated:", again)
            if action.answer is not None:
                action.check(again.headers.get("idempotency-replayed") == "true", "was done again")
                action.check(again.json() == action.answer, "is answered otherwise now:", again, action.answer)


def in_parallel(work, lists: list) -> None:
    failures: list[BaseException] = []

    def run(each) -> None:
        try:
            work(each)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[each]) for each in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def serve(folder: Path, providers: Providers) -> Gateway:
    return Gateway(folder, loops=2, sections=providers.sections())


def run_round(folder: Path, providers: Providers, gateway: Gateway, round_: int, dice: random.Random, most: int) -> tuple[Gateway, dict[str, int]]:
    """Answers the gateway that runs afterwards; when it raises, none does."""
    began = int(time.time() * 1000)
    phones = Phones(gateway, providers, round_)
    actions = load_and_kill(gateway, phones, round_, dice, most)
    while dice.random() < 0.5:
        # Again, while it sends what was left.
        gateway = serve(folder, providers)
        time.sleep(dice.uniform(0.005, 0.4))
        phones.kill(gateway)
    gateway = serve(folder, providers)
    try:
        stored, pushed = check_round(folder, gateway, phones, actions, began)
    except BaseException:
        gateway.kill()
        raise
    everything = [action for worker in actions for action in worker]
    answered = sum(action.answer is not None for action in everything)
    return gateway, {"answered": answered, "stored": stored, "in flight": len(everything) - answered, "pushed": pushed, "again": phones.again}


def check_round(folder: Path, gateway: Gateway, phones: Phones, actions: list[list[Action]], began: int) -> tuple[int, int]:
    """Answers how many actions are stored, and how many pushes they made."""
    with contextlib.closing(sqlite3.connect(f"file:{folder}/var/fleetwire.db?mode=ro", uri=True)) as database:
        store, stored = Stored(database, began), 0
        for worker in actions:
            kept = [action for action in worker if check_stored(store, action)]
            check_orders(database, worker, kept)
            stored += len(kept)
        check_sequences(database)
        in_parallel(lambda worker: check_over_HTTP(gateway, worker), actions)
        # By now everything has been done, and the ids of an action are in the order of their making, which is the table's.
        everything = [action for worker in actions for action in worker]
        pushed = phones.check(database, everything, Stored(database, began).told)
    return stored, pushed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--most", type=int, default=100, help="actions of one dispatcher in a round")
    options = parser.parse_args()
    dice, totals, began, longest = random.Random(options.seed), dict.fromkeys(["answered", "stored", "in flight", "pushed", "again"], 0), time.monotonic(), 0.0
    with tempfile.TemporaryDirectory(prefix="fleetwire-crash-") as name:
        folder = Path(name)
        providers = Providers(folder / "providers", certificates.make(folder))
        for fake in providers.fakes:
            fake.delay = lambda: random.uniform(0, DELAY)
        gateway = serve(folder, providers)
        try:
            for round_ in range(options.rounds):
                start = time.monotonic()
                gateway, counts = run_round(folder, providers, gateway, round_, dice, options.most)
                longest = max(longest, time.monotonic() - start)
                totals = {each: totals[each] + counts[each] for each in totals}
            gateway.stop()
        except BaseException as failure:
            print(f"crash: round {round_} of seed {options.seed}: {failure}", file=sys.stderr)
            print(f"The gateway's last words:\n{gateway.log()[-2000:]}", file=sys.stderr)
            if not isinstance(failure, (Violation, AssertionError)):
                raise
            return 1
        finally:
            if not gateway.stopped:
                gateway.kill()
            providers.close()
        size = os.path.getsize(folder / "var/fleetwire.db")
    unanswered = totals["stored"] - totals["answered"]
    print(f"crash: {options.rounds} rounds, {totals['answered']} actions answered 200 and all there; of {totals['in flight']} in flight {unanswered} were stored, "
          f"whole; {totals['pushed']} pushes accepted, {totals['again']} again as their answers were lost; nothing lost, doubled or half done. {time.monotonic() - began:.0f} s, the longest round {longest:.1f} s, {size // 1024} KB, seed {options.seed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
