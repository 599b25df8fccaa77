"""Dispatchers and drivers of a deployed cluster, all behind its nginx, and a judge of what the drivers got."""

import http.client
import itertools
import json
import threading
from collections import Counter
from contextlib import contextmanager

from .api import Api
from .deployed_cluster import DeployedCluster
from .fleet import Caller, unique_id, wait_until
from .raw_client import RawClient
from .wire import CLOSE, PING, PONG, TEXT, frame

# The pause of a client before it connects again, in seconds.
PAUSE = 0.2


class Driver:
    """A driver's app: it listens to its channel, confirms what it gets, and connects again when the connection ends."""

    def __init__(self, cluster: DeployedCluster):
        self.cluster, self.name = cluster, unique_id("d")
        self.token = cluster.nodes[0].token("driver", self.name)
        # The notifications, in the order in which each came first.
        self.ids: list[str] = []
        self.connections = 0
        self.problem: str | None = None
        self.is_subscribed, self.is_stopping = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def channel(self) -> str:
        return f"driver-{self.name}"

    def _run(self) -> None:
        while not self.is_stopping.is_set():
            try:
                connection = RawClient(self.cluster.nginx, self.cluster.app)
                try:
                    if self._subscribe(connection):
                        self._listen(connection)
                finally:
                    connection.close()
            except OSError:
                pass  # it ended while something was sent
            except AssertionError as problem:
                self.problem = repr(problem)
                return
            self.is_stopping.wait(PAUSE)

    def _subscribe(self, connection: RawClient) -> bool:
        """Sends the subscription. Returns whether it was authorized: the connection's node may be stopping."""
        self.connections += 1
        caller, channel = Caller(self.cluster.nginx, bearer=self.token), f"private-{self.channel}"
        try:
            response = caller.channel_auth(connection.socket_id, channel)
        except http.client.HTTPException:
            return False
        finally:
            caller.close()
        if response.status != 200:
            assert response.status in (502, 503), response
            return False
        connection.send_event("pusher:subscribe", {"channel": channel} | response.json())
        return True

    def _listen(self, connection: RawClient) -> None:
        while not self.is_stopping.is_set():
            if not connection.readable(0.2):
                continue
            opcode, payload = connection.next_frame() or (CLOSE, b"")
            if opcode == CLOSE:
                return
            if opcode == PING:
                connection.send(frame(PONG, payload))
            if opcode == TEXT:
                self._take(json.loads(payload))

    def _take(self, message: dict) -> None:
        if message["event"] == "pusher_internal:subscription_succeeded":
            self.is_subscribed.set()
        elif not message["event"].startswith("pusher:"):
            identifier = json.loads(message["data"])["notificationId"]
            if identifier not in self.ids:
                self.ids.append(identifier)

    def close(self) -> None:
        self.is_stopping.set()
        self.thread.join()


class DeployedLoad:
    """Assigns new orders to drivers, from a thread each. A request that gets 502 or 503, or whose connection ends, is
    repeated with its Idempotency-Key until it gets 200.
    """

    def __init__(self, cluster: DeployedCluster, drivers: int = 4, dispatchers: int = 3):
        self.cluster = cluster
        self.drivers = [Driver(cluster) for _ in range(drivers)]
        self.done: dict[str, list[str]] = {}
        self.statuses: Counter = Counter()
        self.problems: list[str] = []
        self.is_stopping = threading.Event()
        # The drivers in turn, whatever the dispatchers' pace: each gets orders.
        self.turns = itertools.cycle(self.drivers)
        self.headers = {"Authorization": f"Bearer {cluster.nodes[0].token('admin', 'ann')}"}
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(dispatchers)]

    @contextmanager
    def running(self):
        """Runs from the moment when all drivers are subscribed to the end of the block, in which they also end."""
        try:
            for driver in self.drivers:
                assert driver.is_subscribed.wait(30), f"a driver cannot subscribe: {driver.problem}"
            for thread in self.threads:
                thread.start()
            yield
            self._end()
            self._wait_for_drivers()
        finally:
            self._end()
            for driver in self.drivers:
                driver.close()

    def _end(self) -> None:
        self.is_stopping.set()
        for thread in self.threads:
            if thread.is_alive():
                thread.join(30)

    def wait_for_more(self, count: int = 30) -> None:
        """Waits until so many further orders are assigned."""
        before = len(self.done)
        wait_until(lambda: self.problems or len(self.done) >= before + count, f"{count} more assignments", 30)
        assert not self.problems, self.problems

    def _run(self) -> None:
        api = None
        try:
            while not self.is_stopping.is_set():
                code, key = unique_id("O"), unique_id("k")
                driver = next(self.turns)
                body = json.dumps({"driverId": driver.name}).encode()
                while code not in self.done:
                    try:
                        api = api or Api(self.cluster.nginx)
                        response = api.call("POST", f"/api/admin/orders/{code}/assign-driver", body,
                                            self.headers | {"Idempotency-Key": key})
                    except (OSError, http.client.HTTPException):
                        self.statuses["lost"] += 1
                        api = None
                        continue
                    self.statuses[response.status] += 1
                    if response.status == 200:
                        self.done[code] = response.json()["data"]["notificationIds"]
                    else:
                        assert response.status in (502, 503), response
        except Exception as problem:  # noqa: BLE001 - a thread's failure is the test's
            self.problems.append(repr(problem))
        finally:
            if api:
                api.close()

    # The judge

    def stored(self, driver: Driver) -> list[str]:
        """The notifications of a driver's channel, in the order of their sequences."""
        return self.cluster.postgres.query(
            f"SELECT id FROM notifications WHERE channel = '{driver.channel}' ORDER BY sequence")

    def _wait_for_drivers(self) -> None:
        for driver in self.drivers:
            wanted = self.stored(driver)
            wait_until(lambda: driver.problem or len(driver.ids) >= len(wanted),  # noqa: B023
                       f"{driver.name} has everything", 30)

    def check(self) -> None:
        """Checks that each order was assigned once, and that its driver got all notifications in their order."""
        assert not self.problems, self.problems
        query = self.cluster.postgres.query
        versions = dict(row.split("|") for row in query("SELECT code, version FROM orders"))
        assert {versions.get(code) for code in self.done} == {"1"}, "an order is lost, or was assigned twice"
        answered = {identifier for ids in self.done.values() for identifier in ids}
        assert answered <= set(query("SELECT id FROM notifications")), "an answered notification is lost"
        for driver in self.drivers:
            assert driver.problem is None, driver.problem
            wanted = self.stored(driver)
            missing = [each for each in wanted if each not in driver.ids]
            assert wanted and driver.ids == wanted, f"{driver.name}: {len(driver.ids)} of {len(wanted)}, missing {missing}"
        assert sum(len(driver.ids) for driver in self.drivers) == len(self.done), "one notification per assignment"
