"""An app that somebody wrote from docs/apps.md and docs/protocol.md alone. It uses the public names of channels.

It shares nothing with the other clients of these tests: what the pages do not say, it does not know.
"""

import json
import threading
import time
import urllib.error
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from harness.apps import TIMEOUT
from harness.fleet import SECTIONS, Fleet, token, unique_id, wait_until


class PublicApp:
    """Signs in, subscribes to plain names, and connects again by what the close code says (docs/protocol.md, C)."""

    def __init__(self, url: str, bearer: str, *channels: str):
        self.url, self.bearer, self.channels = url, bearer, channels
        self.subscribed: list[str] = []
        self.events: list[tuple[str, str, dict]] = []
        self.errors: list[dict] = []
        self.closes: list[int] = []
        self.connections, self.is_over = 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def call(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {
            "Authorization": f"Bearer {self.bearer}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return json.load(response)

    def run(self) -> None:
        address = self.url.replace("http", "ws", 1) + "/app/key1?protocol=7&client=mine&version=1.0"
        while not self.is_over.is_set():
            try:
                with connect(address, proxy=None, open_timeout=TIMEOUT, close_timeout=1) as self.socket:
                    self.talk()
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                self.closes.append(code)
                if 4000 <= code < 4100:
                    return
                if 4200 <= code < 4300:
                    continue
            except OSError:
                pass
            self.is_over.wait(0.1)

    def talk(self) -> None:
        for text in self.socket:
            message = json.loads(text)
            data = message.get("data")
            data = json.loads(data) if isinstance(data, str) else data
            match message["event"]:
                case "pusher:connection_established":
                    self.connections += 1
                    self.send("pusher:signin", self.call("/pusher/user-auth", {"socket_id": data["socket_id"]}))
                case "pusher:signin_success":
                    for channel in self.channels:
                        self.send("pusher:subscribe", {"channel": channel})
                case "pusher_internal:subscription_succeeded":
                    self.subscribed.append(message["channel"])
                case "pusher:ping":
                    self.send("pusher:pong", {})
                case "pusher:error":
                    self.errors.append(data)
                case name if not name.startswith("pusher"):
                    self.events.append((message["channel"], name, data))

    def send(self, event: str, data: dict) -> None:
        self.socket.send(json.dumps({"event": event, "data": data}))

    def wait_for(self, *events: tuple[str, str]) -> list[dict]:
        """Waits for these events, by channel and name, in this order. Returns their data."""
        wait_until(lambda: len(self.events) >= len(events), f"{events}; got {self.events}, {self.errors}")
        assert [event[:2] for event in self.events[:len(events)]] == list(events)
        return [data for _, _, data in (self.events.pop(0) for _ in events)]

    def wait_for_subscriptions(self, times: int = 1) -> None:
        wait_until(lambda: len(self.subscribed) == times * len(self.channels), f"{self.channels}; errors {self.errors}")

    def close(self) -> None:
        self.is_over.set()
        self.socket.close()
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()


@pytest.fixture
def start(start_gateway, closing):
    """Starts a gateway with the database of the one before, and the dispatcher's part of the fleet."""
    def start(**more):
        gateway = start_gateway("kept", sections=SECTIONS | {"delivery": {"confirm_seconds": 1}}, **more)
        return gateway, Fleet(gateway, closing).admin()

    return start


def test_a_driver_listens_to_public_names(start, closing):
    gateway, admin = start()
    driver, order = unique_id("d"), unique_id("O")
    own = f"driver-{driver}"
    app = closing(PublicApp(gateway.url, token("driver", driver, name="Dana"), own, "drivers-channel"))
    app.wait_for_subscriptions()

    admin.assign(order, driver, customerName="Ann")
    [job] = app.wait_for((own, "job-assigned"))
    assert (job["bookingId"], job["customerName"]) == (order, "Ann")
    assert app.call("/api/driver/notifications/log", {
        "notificationId": job["notificationId"], "type": "new_job", "entityId": job["bookingId"], "event": "received",
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) == {"success": True}
    assert app.call(f"/api/driver/jobs/{order}/accept", {})["message"] == "Job accepted successfully"
    assert admin.get_order(order)["status"] == "accepted"

    admin.order(order, "cancel-enhanced", reason="rain")
    app.wait_for((own, "job-cancelled"), (own, "job-removed-from-list"), ("drivers-channel", "job-cancelled"))
    assert app.errors == [] and app.closes == []


def test_a_customer_listens_to_public_names(start, closing):
    gateway, admin = start()
    reference, order, driver = unique_id("R"), unique_id("O"), unique_id("d")
    booking, tracking = f"booking-{reference}", f"tracking-{reference}"
    app = closing(PublicApp(gateway.url, token("customer", "7", bookings=[reference]), booking, tracking, "customer-7"))
    app.wait_for_subscriptions()
    admin.assign(order, driver, bookingReference=reference)
    admin.order(order, "remove-driver", reason="late")
    [removed] = app.wait_for((booking, "driver-removed"))
    assert removed["message"] == "Your driver has been changed"
    admin.order(order, "cancel-enhanced")
    [stopped] = app.wait_for((tracking, "tracking-stopped"))
    assert stopped["reason"] == "booking_cancelled"


def test_the_app_gets_once_what_it_has_missed(start, closing):
    gateway, admin = start()
    driver, orders = unique_id("d"), [unique_id("O") for _ in range(3)]
    own = f"driver-{driver}"
    app = closing(PublicApp(gateway.url, token("driver", driver), own))
    app.wait_for_subscriptions()
    admin.assign(orders[0], driver)
    [first] = app.wait_for((own, "job-assigned"))
    steps = f"/api/ops/notifications/{first['notificationId']}"
    wait_until(lambda: "confirmed" in [step["step"] for step in admin.expect_ok("GET", steps)["steps"]], "it is confirmed")

    gateway.kill()
    gateway, admin = start(server={"port": gateway.port})
    admin.assign(orders[1], driver)
    [second] = app.wait_for((own, "job-assigned"))
    assert second["bookingId"] == orders[1]

    gateway.stop()
    gateway, admin = start(server={"port": gateway.port})
    admin.assign(orders[2], driver)
    received = []
    while not received or received[-1]["bookingId"] != orders[2]:
        received += app.wait_for((own, "job-assigned"))
    # The last before the end may not have been confirmed: then it comes again, with the same id.
    assert {job["notificationId"] for job in received[:-1]} <= {second["notificationId"]}
    assert all(code == 1006 or 4100 <= code < 4300 for code in app.closes), app.closes
    assert app.connections >= 3 and app.errors == []


@pytest.mark.parametrize("channel", ["driver-another", "customer-7", "admin-channel", "booking-another"])
def test_other_public_names_are_refused_and_the_rest_goes_on(start, closing, channel):
    gateway, admin = start()
    driver, order = unique_id("d"), unique_id("O")
    app = closing(PublicApp(gateway.url, token("driver", driver), channel, f"driver-{driver}"))
    wait_until(lambda: app.errors and app.subscribed, f"{channel} is refused, and the own one accepted")
    assert app.subscribed == [f"driver-{driver}"]
    [error] = app.errors
    assert error["code"] is None and channel in error["message"]
    admin.assign(order, driver)
    app.wait_for((f"driver-{driver}", "job-assigned"))
    assert app.closes == []
