"""Dispatchers who act at all nodes of a cluster while its parts fail, and a judge of what was stored and delivered."""

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise

from websockets.exceptions import ConnectionClosed

from .client import Client
from .cluster import Cluster
from .fleet import Caller, Fleet, unique_id, wait_until
from .gateway import Gateway
from .packing import unpacked_data

DRIVERS = ["d0", "d1", "d2"]
# What the assignment of a new order makes.
NOTIFICATIONS = 3


class Listener:
    """A connection that is subscribed to the private channel of this name, and keeps all it receives."""

    def __init__(self, node: Gateway, channel: str, client: Client, known: int):
        self.node, self.channel, self.client = node, channel, client
        # The number of notifications that the channel had at most when the subscription began.
        self.known = known
        self.ids: list[str] = []
        self.has_ended = False
        self.is_stopping = False
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        while not self.is_stopping:
            try:
                message = json.loads(self.client.socket.recv(timeout=0.5))
            except TimeoutError:
                continue
            except ConnectionClosed:
                break
            if message["event"].startswith("pusher:") or message["event"] == "delivery-updated":
                continue
            self.ids.append(json.loads(message["data"])["notificationId"])
        self.has_ended = True

    def close(self) -> None:
        self.is_stopping = True
        self.thread.join()


class Load:
    """Assigns new orders from a thread each at nodes of the cluster.

    Each request has an Idempotency-Key. One that gets 503 or whose connection ends is repeated with its key at another
    node, until it gets 200.
    """

    def __init__(self, cluster: Cluster, closing: Callable, threads: int = 6):
        self.cluster, self.closing = cluster, closing
        self.stop = threading.Event()
        # By order: the answered notification ids.
        self.done: dict[str, list[str]] = {}
        self.statuses: Counter = Counter()
        self.problems: list[str] = []
        self.listeners: list[Listener] = []
        self.threads = [threading.Thread(target=self._act, args=(number,), daemon=True) for number in range(threads)]

    def listen(self, node: Gateway) -> None:
        """Adds listeners at this node: of the dispatchers' channel, and of the drivers' own."""
        fleet = Fleet(node, self.closing)
        callers = {"admin-channel": fleet.admin()} | {f"driver-{name}": fleet.driver(name) for name in DRIVERS}
        clients = {channel: fleet.listen(caller, channel) for channel, caller in callers.items()}
        rows = self.cluster.postgres.query("SELECT channel, last FROM channel_sequences")
        known = {channel: int(last) for channel, last in (row.split("|") for row in rows)}
        for channel, client in clients.items():
            self.listeners.append(self.closing(Listener(node, channel, client, known.get(channel, 0))))

    @contextmanager
    def running(self):
        for thread in self.threads:
            thread.start()
        try:
            yield
        finally:
            self.stop.set()
            for thread in self.threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads), "a request has no end"

    def wait_for_more(self, count: int = 30, seconds: float = 30) -> None:
        """Waits until so many further actions are done."""
        before = len(self.done)
        wait_until(lambda: self.problems or len(self.done) >= before + count, f"{count} more actions are done", seconds)
        assert not self.problems, self.problems

    def wait_for_refusals(self, seconds: float = 20) -> None:
        """Waits until a further action is answered 503."""
        before = self.statuses[503]
        wait_until(lambda: self.problems or self.statuses[503] > before, "an action is refused", seconds)

    def _act(self, number: int) -> None:
        dice, caller = random.Random(number), None
        try:
            while not self.stop.is_set():
                code, key, driver = unique_id("O"), unique_id("k"), dice.choice(DRIVERS)
                while code not in self.done:
                    try:
                        caller = caller or Caller(dice.choice(self.cluster.live), "admin", f"a{number}")
                        response = caller.post(
                            f"/api/admin/orders/{code}/assign-driver", {"driverId": driver}, key=key)
                    except (OSError, http.client.HTTPException):
                        self.statuses["lost"] += 1
                        caller = None
                        continue
                    self.statuses[response.status] += 1
                    if response.status == 200:
                        self.done[code] = response.json()["data"]["notificationIds"]
                        continue
                    if response.status != 503 or "retry-after" not in response.headers:
                        raise AssertionError(f"{code}: {response}")
                    # At another node: the answer must be that of the same action.
                    caller.close()
                    caller = None
        except Exception as problem:  # noqa: BLE001 - a thread's failure is the test's
            self.problems.append(repr(problem))
        finally:
            if caller:
                caller.close()

    # The judge

    def check(self, seconds: float = 15) -> None:
        """Checks what is stored, then that the listeners get all of it: each once, in the order of the sequences."""
        assert not self.problems, self.problems
        self._check_store()
        by_channel = self._notifications()
        for listener in self.listeners:
            everything = by_channel[listener.channel]
            wait_until(lambda: listener.has_ended or listener.ids[-1:] == everything[-1:],  # noqa: B023
                       f"{listener.channel} at {listener.node.config.parent.name} has the last event", seconds)
            ids = listener.ids
            # What was committed while it subscribed may have come or not.
            first = everything.index(ids[0]) if ids else len(everything)
            wanted = everything[first:]
            assert ids == wanted[:len(ids)] and (listener.has_ended or first <= listener.known and ids == wanted), (
                f"{listener.channel} at {listener.node.config.parent.name}: {self._difference(ids, wanted)}")

    def _notifications(self) -> dict[str, list[str]]:
        """Returns the ids of all notifications, by channel, in the order of their sequences."""
        found: dict[str, list[str]] = {}
        for row in self.cluster.postgres.query("SELECT channel, sequence, id FROM notifications ORDER BY channel, sequence"):
            channel, sequence, identifier = row.split("|")
            found.setdefault(channel, []).append(identifier)
            assert int(sequence) == len(found[channel]), f"a hole in the sequence of {channel}: {row}"
        return found

    def _check_store(self) -> None:
        query = self.cluster.postgres.query
        versions = dict(row.split("|") for row in query("SELECT code, version FROM orders"))
        assert set(versions.values()) <= {"1"}, f"executed twice: {[code for code in versions if versions[code] != '1']}"
        # Each action was repeated until it got 200.
        assert versions.keys() == self.done.keys(), versions.keys() ^ self.done.keys()
        made = Counter()
        for row in query("SELECT id, ENCODE(data, 'hex'), ENCODE(correlation_id, 'hex') FROM notifications"):
            id, data, correlation = row.split("|")
            made[json.loads(unpacked_data(bytes.fromhex(data), id, bytes.fromhex(correlation)))["bookingId"]] += 1
        assert set(made.values()) == {NOTIFICATIONS} and made.keys() == self.done.keys(), made
        stored = set(query("SELECT id FROM notifications"))
        assert {each for ids in self.done.values() for each in ids} <= stored, "an answered notification is not in the log"
        audited = Counter(query("SELECT order_code FROM audit WHERE order_code IS NOT NULL"))
        assert set(audited.values()) <= {1}, audited.most_common(3)

    @staticmethod
    def _difference(got: list[str], wanted: list[str]) -> str:
        places = {each: number for number, each in enumerate(wanted)}
        doubled = [places.get(each) for each, count in Counter(got).items() if count > 1]
        missing = [places[each] for each in wanted if each not in set(got)]
        pairs = [(places.get(one, 0), places.get(other, 0)) for one, other in pairwise(got)]
        return (f"{len(got)} of {len(wanted)}; twice {doubled[:5]}, missing {missing[:5]}, "
                f"out of order {[pair for pair in pairs if pair[0] > pair[1]][:5]}")
