"""Kills the gateway at random instants under a load of actions, and stops it orderly under load, and
checks that nothing is lost or half done: `make crash`.

Each round continues with the database of the previous rounds. Four dispatchers act on separate
orders; every action has an Idempotency-Key and a correlation id. At a random instant the process
gets SIGKILL, and often again during the next start. Afterwards a new process must have every action
that was answered 200, completely, and each other action either completely or not at all. Every
driver has a device, and the providers respond with delays: in the end each push was accepted, once
unless a kill lost its response, or was superseded by a newer push of the same order. Every driver
also listens on his channel and connects again after each kill: he gets every notification of an
action that was answered 200. If the gateway is stopped, he gets them before it disconnects him.
"""

import argparse
import contextlib
import json
import os
import random
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from harness import certificates
from harness.concurrency import run_concurrently
from harness.fleet import Caller
from harness.gateway import Gateway
from harness.packing import shown
from harness.push.connection import Request
from harness.push.providers import Providers
from harness.raw_client import RawClient
from harness.wire import CLOSE, TEXT, frame

WORKERS = 4
# The actions on each order: the action, the driver it names, how many notifications it creates, and
# the recipients of those that are pushed.
ACTIONS = [("assign-driver", "a", 3, {0: "a"}), ("assign-driver", "b", 4, {0: "a", 1: "b"}),
           ("unassign", None, 4, {0: "b"}), ("assign-driver", "a", 3, {0: "a"}),
           ("cancel-enhanced", None, 5, {0: "a"})]
# The maximum response time of a provider, and how long before a kill a response may have arrived
# without being recorded, in seconds.
DELAY, LOST = 0.05, 0.2


class Violation(Exception):
    """An action or push was lost, duplicated or half done."""


@dataclass
class Action:
    round: int
    worker: int
    number: int
    # None: the process was killed before the response.
    response: dict | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The idempotency key and the correlation id."""
        return f"r{self.round}-{self.worker}-{self.number}"

    @property
    def code(self) -> str:
        return f"R{self.round}-{self.worker}-{self.number // len(ACTIONS)}"

    @property
    def index(self) -> int:
        """The index of the action in its order; the order's version is one more."""
        return self.number % len(ACTIONS)

    def driver(self, letter: str) -> str:
        return f"{letter}-{self.round}-{self.worker}"

    def perform(self, caller: Caller):
        action, driver, *_ = ACTIONS[self.index]
        body = {"customerName": self.name} | ({"driverId": self.driver(driver)} if driver
                                              else {"reason": "crash"})
        return caller.post(f"/api/admin/orders/{self.code}/{action}", body, key=self.name,
                           headers={"X-Correlation-ID": self.name})

    def check(self, condition: bool, what: str, *more) -> None:
        if not condition:
            raise Violation(f"{self.name} on {self.code}: {what} {' '.join(map(repr, more))}")


def act(gateway: Gateway, round_: int, worker: int, actions: list[Action], most: int) -> None:
    """Performs actions until the process is killed, or refuses them because it stops."""
    with contextlib.suppress(HTTPException, OSError):
        with contextlib.closing(Caller(gateway, "admin", f"w{worker}")) as caller:
            for number in range(most):
                action = Action(round_, worker, number)
                actions.append(action)
                response = action.perform(caller)
                if response.status == 503 and "stopping" in response.text:
                    return
                action.check(response.status == 200, "was rejected:", response)
                action.response = response.json()


class Listener:
    """A driver's connection, which listens on the driver's channel until it ends."""

    def __init__(self, gateway: Gateway, driver: str, received: set[str]):
        self.client, self.received, self.code = RawClient(gateway), received, None
        channel = f"private-driver-{driver}"
        auth = self.client.app.auth(self.client.socket_id, channel)
        self.client.send_event("pusher:subscribe", {"channel": channel, "auth": auth})
        self.client.receive_until("pusher_internal:subscription_succeeded")
        self.client.socket.settimeout(None)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self) -> None:
        with contextlib.suppress(OSError), contextlib.closing(self.client):
            while got := self.client.next_frame():
                opcode, payload = got
                if opcode == TEXT:
                    message = json.loads(payload)
                    self.received.add(json.loads(message["data"]).get("notificationId"))
                elif opcode == CLOSE:
                    self.code = int.from_bytes(payload[:2], "big")
                    self.client.send(frame(CLOSE, payload))

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.client.socket.shutdown(socket.SHUT_RDWR)


class Listeners:
    """What the drivers of a round have received, over all their connections."""

    def __init__(self, drivers: list[str]):
        self.received = {driver: set() for driver in drivers}
        self.connections: list[Listener] = []

    def connect(self, gateway: Gateway) -> None:
        # A gateway that is killed meanwhile ends some connections before they are subscribed.
        with contextlib.suppress(AssertionError, OSError):
            for driver, received in self.received.items():
                self.connections.append(Listener(gateway, driver, received))

    def join(self) -> list[int | None]:
        """Waits until the gateway has ended all connections. Returns the codes of its close frames."""
        for each in self.connections:
            each.thread.join()
        codes = [each.code for each in self.connections]
        self.connections.clear()
        return codes

    def check(self, database: sqlite3.Connection, actions: list[Action], seconds: float) -> int:
        """Checks that each driver has received every notification of the actions answered 200, or
        receives it within this time. Returns their number.
        """
        expected = defaultdict(set)
        for action in actions:
            if action.response is not None:
                for each, channel in rows(
                        database, "SELECT id, channel FROM notifications WHERE correlation_id = ?",
                        action.name):
                    expected[channel.removeprefix("driver-")].add(each)
        deadline = time.monotonic() + seconds
        for driver, received in self.received.items():
            while (missing := expected[driver] - received) and time.monotonic() < deadline:
                time.sleep(0.02)
            if missing:
                raise Violation(f"{driver} did not receive {sorted(missing)[:5]}, {len(missing)} in all")
        return sum(len(expected[driver]) for driver in self.received)


class Devices:
    """One device of each driver of a round: letter a has iOS, letter b Android devices."""

    def __init__(self, gateway: Gateway, providers: Providers, round_: int):
        self.providers, self.by_driver, self.kills, self.repeated = providers, {}, [], 0
        for worker in range(WORKERS):
            for letter, register in (("a", providers.ios), ("b", providers.android)):
                driver = f"{letter}-{round_}-{worker}"
                with contextlib.closing(Caller(gateway, "driver", driver)) as owner:
                    self.by_driver[driver] = register(owner).token

    def check(self, database: sqlite3.Connection, actions: list[Action],
              ids: dict[str, list[str]]) -> int:
        """Waits until no push is open, then checks that each was accepted, once if that can be
        known. Returns their number.
        """
        self.wait(database)
        accepted, superseded, count = (self.providers.apns.accepted()
                                       | self.providers.fcm.accepted(), self.superseded(database),
                                       0)
        for action in actions:
            for index, letter in ACTIONS[action.index][3].items():
                key = (self.by_driver[action.driver(letter)], ids[action.name][index])
                requests = accepted.pop(key, [])
                action.check(bool(requests) or key[1] in superseded, "has lost a push:", key)
                duplicates = [request for request in requests[:-1]
                              if not self.response_was_lost(request)]
                action.check(not duplicates, "was pushed again although its response arrived so many seconds before a kill:",
                             [(request, [kill - request.responded_at for kill in self.kills]) for request in duplicates])
                count += 1
                self.repeated += max(0, len(requests) - 1)
        if accepted:
            raise Violation(f"pushes without an action: {list(accepted)[:5]}")
        self.providers.assert_no_violations()
        for fake in self.providers.fakes:
            fake.clear_requests()
        return count

    def kill(self, gateway: Gateway) -> None:
        self.kills.append(time.monotonic())
        gateway.kill()

    def response_was_lost(self, request: Request) -> bool:
        """Returns whether a kill ended the connection before the response was recorded."""
        return any(request.connection.started_at <= kill <= request.responded_at + LOST
                   for kill in self.kills)

    def wait(self, database: sqlite3.Connection) -> None:
        deadline = time.monotonic() + 60
        while open_jobs := rows(database, "SELECT state, COUNT(*) FROM push_jobs WHERE settled_at IS NULL GROUP BY state"):
            if time.monotonic() > deadline:
                raise Violation(f"pushes that do not end: {open_jobs}")
            time.sleep(0.05)
        if wrong := rows(database, "SELECT state, reason, COUNT(*) FROM push_jobs WHERE state <> 'accepted' "
                         "AND (state <> 'cancelled' OR reason <> 'superseded') GROUP BY state, reason"):
            raise Violation(f"pushes ended otherwise: {wrong}")

    def superseded(self, database: sqlite3.Connection) -> set[str]:
        """Returns the ids of superseded pushes. Their recipient must have newer pushes of the same
        order, the newest accepted. One driver has one job per id.
        """
        found = rows(
            database, "SELECT notification_id, EXISTS (SELECT 1 FROM push_jobs AS newer "
            "WHERE newer.recipient = old.recipient AND newer.collapse_key = old.collapse_key "
            "AND newer.notification_id > old.notification_id AND newer.state = 'accepted') "
            "FROM push_jobs AS old WHERE reason = 'superseded'")
        if lost := [each for each, condition in found if not condition]:
            raise Violation(f"superseded without a newer push: {lost[:5]}")
        return {each for each, _ in found}


def load_and_end(gateway: Gateway, devices: Devices, round_: int, dice: random.Random,
                 most: int, kills: bool) -> list[list[Action]]:
    """Lets all workers act until a random instant, then kills the gateway or stops it. Returns the
    actions of each worker.
    """
    actions: list[list[Action]] = [[] for _ in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS) as pool:
        workers = [pool.submit(act, gateway, round_, worker, actions[worker], most)
                   for worker in range(WORKERS)]
        # The pause draws the instant of the kill; it does not wait for an effect.
        time.sleep(dice.uniform(0.005, 0.25))
        devices.kill(gateway) if kills else gateway.terminate()
    for worker in workers:
        worker.result()
    return actions


def rows(database: sqlite3.Connection, sql: str, *values) -> list[tuple]:
    return database.execute(sql, values).fetchall()


class Stored:
    """The stored rows of the round that started at this time, by the name of the action."""

    def __init__(self, database: sqlite3.Connection, started: int):
        self.database = database
        self.audit, self.notifications = defaultdict(list), defaultdict(list)
        for name, *entry in rows(
                database, "SELECT correlation_id, order_code, actor FROM audit WHERE at >= ?",
                started):
            self.audit[name].append(tuple(entry))
        for name, each in rows(
                database, "SELECT correlation_id, id FROM notifications WHERE created_at >= ? "
                "ORDER BY id", started):
            self.notifications[name].append(each)


def check_stored(store: Stored, action: Action) -> bool:
    """Checks that the action is stored completely or not at all. Returns whether it is stored."""
    audit, notifications, actor = (store.audit[action.name], store.notifications[action.name],
                                   f"admin:w{action.worker}")
    kept = rows(store.database,
                "SELECT status, body FROM idempotency WHERE subject = ? AND key = ?", actor,
                action.name)
    if not audit:
        action.check(not notifications and not kept, "is not in the audit log, but left",
                     notifications, kept)
        action.check(action.response is None, "was answered 200 and is lost")
        return False
    action.check(audit == [(action.code, actor)], "has a wrong audit entry:", audit)
    action.check(len(notifications) == ACTIONS[action.index][2], "has not all its notifications:",
                 notifications)
    action.check(len(kept) == 1 and kept[0][0] == 200, "has no stored response:", kept)
    stored = json.loads(kept[0][1])
    action.check(sorted(stored["data"]["notificationIds"]) == notifications,
                 "returned other notifications than it stored:", stored, notifications)
    action.check(action.response in (None, stored), "was answered differently:", action.response,
                 stored)
    return True


def check_orders(database: sqlite3.Connection, worker: list[Action], stored: list[Action]) -> None:
    """Checks that each order is in the state of its last stored action, and that no action is
    stored after a missing one.
    """
    if worker and stored != worker[:len(stored)]:
        raise Violation(
            f"after {worker[0].name} only these are stored: {[action.name for action in stored]}")
    for last in [action for action in stored if action.index == len(ACTIONS) - 1
                 or action is stored[-1]]:
        order = rows(database, "SELECT version, customer_name FROM orders WHERE code = ?",
                     last.code)
        last.check(order == [(last.index + 1, last.name)], "left the order at", order)


def check_sequences(database: sqlite3.Connection) -> None:
    """Checks that sequence numbers are dense per channel and match the counters."""
    for channel, count, first, last, counter in rows(
            database, "SELECT n.channel, COUNT(*), MIN(n.sequence), MAX(n.sequence), s.last FROM notifications n "
            "LEFT JOIN channel_sequences s ON s.channel = n.channel GROUP BY n.channel"):
        if (first, last, counter) != (1, count, count):
            raise Violation(f"{channel} has {count} notifications, numbered {first} to {last}; its counter is {counter}")


def check_over_http(gateway: Gateway, worker: list[Action]) -> None:
    """Checks that the API returns what was answered, and that every action can be repeated."""
    if not worker:
        return
    with contextlib.closing(Caller(gateway, "admin", f"w{worker[0].worker}")) as caller:
        for action in worker:
            if action.response is not None:
                order = caller.get_order(action.code)
                action.check(order["version"] >= action.index + 1, "is not in the order:", order)
                for notification in action.response["data"]["notificationIds"]:
                    path = f"/api/ops/notifications/{notification}"
                    received = caller.expect_ok("GET", path)["notification"]
                    action.check(received["correlationId"] == action.name,
                                 "has a notification of another action:", received)
            again = action.perform(caller)
            action.check(again.status == 200, "cannot be repeated:", again)
            if action.response is not None:
                action.check(again.headers.get("idempotency-replayed") == "true",
                             "was performed again")
                action.check(again.json() == action.response, "is answered differently now:", again,
                             action.response)


def serve(folder: Path, providers: Providers) -> Gateway:
    return Gateway(folder, loops=2, server={"drain_seconds": 1}, sections=providers.sections())


def run_round(folder: Path, providers: Providers, gateway: Gateway, round_: int,
              dice: random.Random, most: int, kills: bool) -> tuple[Gateway, dict[str, int]]:
    """Runs a round. Returns the gateway that runs afterwards; raises without one."""
    started = int(time.time() * 1000)
    devices = Devices(gateway, providers, round_)
    listeners = Listeners(list(devices.by_driver))
    listeners.connect(gateway)
    actions = load_and_end(gateway, devices, round_, dice, most, kills)
    everything = [action for worker in actions for action in worker]
    if kills:
        listeners.join()
    else:
        check_stop(folder, gateway, listeners, everything)
    while kills and dice.random() < 0.5:
        # Kill again while it sends the remaining pushes, and what it has not published.
        gateway = serve(folder, providers)
        connecting = threading.Thread(target=listeners.connect, args=(gateway,))
        connecting.start()
        time.sleep(dice.uniform(0.005, 0.4))
        devices.kill(gateway)
        connecting.join()
        listeners.join()
    gateway = serve(folder, providers)
    try:
        listeners.connect(gateway)
        stored, pushed, received = check_round(folder, gateway, devices, listeners, actions, started)
    except BaseException:
        gateway.kill()
        raise
    finally:
        for each in listeners.connections:
            each.end()
        listeners.join()
    answered = sum(action.response is not None for action in everything)
    return gateway, {"answered": answered, "stored": stored,
                     "in flight": len(everything) - answered, "pushed": pushed,
                     "repeated": devices.repeated, "received": received}


def check_stop(folder: Path, gateway: Gateway, listeners: Listeners, actions: list[Action]) -> None:
    """Checks that a stopped gateway has sent everything before it disconnected the drivers."""
    gateway.wait()
    codes = listeners.join()
    if set(codes) != {gateway.drain_code}:
        raise Violation(f"a stopped gateway closed with {codes}")
    with contextlib.closing(shown(sqlite3.connect(f"file:{folder}/var/fleetwire.db?mode=ro", uri=True))) as database:
        listeners.check(database, actions, seconds=0)
        if left := rows(database, "SELECT COUNT(*) FROM notifications WHERE id > (SELECT position FROM publication)")[0][0]:
            raise Violation(f"a stopped gateway left {left} notifications unpublished")


def check_round(folder: Path, gateway: Gateway, devices: Devices, listeners: Listeners,
                actions: list[list[Action]], started: int) -> tuple[int, int, int]:
    """Returns how many actions are stored, how many pushes they created, and how many notifications
    the drivers received.
    """
    with contextlib.closing(
            shown(sqlite3.connect(f"file:{folder}/var/fleetwire.db?mode=ro", uri=True))) as database:
        store, stored = Stored(database, started), 0
        received = listeners.check(database, [action for worker in actions for action in worker], seconds=20)
        for worker in actions:
            kept = [action for action in worker if check_stored(store, action)]
            check_orders(database, worker, kept)
            stored += len(kept)
        check_sequences(database)
        run_concurrently(lambda worker: check_over_http(gateway, worker), actions)
        # Every action has now been performed; the ids of an action are in the order of their
        # creation, as in the table of actions.
        everything = [action for worker in actions for action in worker]
        pushed = devices.check(database, everything, Stored(database, started).notifications)
    return stored, pushed, received


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--stops", type=int, default=20, help="further rounds, with SIGTERM")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--most", type=int, default=100,
                        help="actions of one dispatcher in a round")
    options = parser.parse_args()
    dice, started, longest = random.Random(options.seed), time.monotonic(), 0.0
    totals = dict.fromkeys(["answered", "stored", "in flight", "pushed", "repeated", "received"], 0)
    with tempfile.TemporaryDirectory(prefix="fleetwire-crash-") as name:
        folder = Path(name)
        providers = Providers(folder / "providers", certificates.make(folder))
        for fake in providers.fakes:
            fake.delay = lambda: random.uniform(0, DELAY)
        gateway = serve(folder, providers)
        try:
            for round_ in range(options.rounds + options.stops):
                start = time.monotonic()
                gateway, counts = run_round(folder, providers, gateway, round_, dice, options.most,
                                            kills=round_ < options.rounds)
                longest = max(longest, time.monotonic() - start)
                totals = {each: totals[each] + counts[each] for each in totals}
            gateway.stop()
        except BaseException as failure:
            print(f"crash: round {round_} of seed {options.seed}: {failure}", file=sys.stderr)
            print(f"End of the gateway's log:\n{gateway.log()[-2000:]}", file=sys.stderr)
            if not isinstance(failure, (Violation, AssertionError)):
                raise
            return 1
        finally:
            if not gateway.stopped:
                gateway.kill()
            providers.close()
        size = os.path.getsize(folder / "var/fleetwire.db")
    unanswered = totals["stored"] - totals["answered"]
    print(f"crash: {options.rounds} kills, {options.stops} stops, {totals['answered']} actions answered 200 and stored; "
          f"of {totals['in flight']} in flight {unanswered} were stored, whole; "
          f"drivers received {totals['received']} notifications of the former; "
          f"{totals['pushed']} pushes accepted, {totals['repeated']} repeated after a lost response; "
          f"nothing lost, duplicated or half done. {time.monotonic() - started:.0f} s, "
          f"the longest round {longest:.1f} s, {size // 1024} KB, seed {options.seed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
