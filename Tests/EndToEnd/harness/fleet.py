"""The people of a fleet: who calls, who listens, and what they are to hear.

    fleet.admin(), fleet.driver("42"), fleet.customer(bookings=[…])   callers with tokens of their own
    fleet.listen(caller, "driver-42", …)                              a Pusher connection, let in by /pusher/auth
"""

import json
import re
import time
import uuid
from collections.abc import Callable

from .api import Answer, Api
from .apps import PATIENCE
from .client import Client
from .gateway import Gateway
from .tokens import HS256, SECRET, claims

JWT = {"algorithm": "HS256", "secret": SECRET}
SECTIONS = {"auth": {"jwt": JWT}}
# What a module's SETTINGS need for the fleet to have people.
SETTINGS = {"sections": SECTIONS}

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

ORDER_FIELDS = {"bookingId": "b-1", "bookingReference": "r-1", "customerName": "Ann Öz", "pickupAddress": "1 High St", "dropoffAddress": "2 Low Rd",
                "scheduledAt": "2026-03-01T09:30:00Z", "totalGBP": 42.5}


class Moment:
    """Equal to any time as the gateway writes them."""

    def __eq__(self, other) -> bool:
        return isinstance(other, str) and bool(MOMENT.fullmatch(other))

    def __repr__(self) -> str:
        return "<a time>"


NOW = Moment()


def fresh(prefix: str = "") -> str:
    """A name nobody else uses."""
    return f"{prefix}{uuid.uuid4().hex[:10]}"


def token(role: str, subject: str, **more) -> str:
    return HS256().token(claims(role, subject, **more))


def error_of(path: str, answer: Answer) -> str:
    """The text of a refusal, which must come in the envelope of its path's group."""
    assert answer.headers.get("content-type", "").startswith("application/json"), answer
    body = answer.json()
    if path.startswith("/api/auth/"):
        assert body.keys() == {"message", "data", "error"} and body["data"] is None and body["error"], body
        return json.dumps(body["error"])
    if path.startswith(("/api/admin/", "/api/driver/", "/api/customer/", "/app-")):
        assert body.keys() == {"success", "error"} and body["success"] is False, body
    else:
        assert body.keys() == {"error"}, body
    assert isinstance(body["error"], str) and body["error"], body
    return body["error"]


class Caller(Api):
    """Somebody with a token, or without one, on one kept-alive connection."""

    def __init__(self, gateway: Gateway, role: str | None = None, subject: str = "", bearer: str | None = None, **more):
        super().__init__(gateway)
        self.role, self.subject = role, subject
        self.bearer = bearer if bearer is not None else token(role, subject, **more) if role else None

    def ask(self, method: str, path: str, body=None, headers: dict | None = None, key: str | None = None) -> Answer:
        """`body` is sent as JSON unless it is bytes; `key` is the Idempotency-Key. Every answer has a correlation id."""
        sent = {"Authorization": f"Bearer {self.bearer}"} if self.bearer is not None else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        elif method in ("POST", "PUT", "DELETE"):
            body = b""
        if key is not None:
            sent["Idempotency-Key"] = key
        answer = self.call(method, path, body, sent | (headers or {}))
        assert answer.headers.get("x-correlation-id"), answer
        return answer

    def post(self, path: str, body=None, **more) -> Answer:
        return self.ask("POST", path, body, **more)

    def put(self, path: str, body=None, **more) -> Answer:
        return self.ask("PUT", path, body, **more)

    def done(self, method: str, path: str, body=None, **more) -> dict:
        """What is answered to something that must succeed."""
        answer = self.ask(method, path, body, **more)
        assert answer.status == 200, (method, path, answer)
        said = answer.json()
        if path.startswith(("/api/admin/", "/api/driver/", "/api/customer/")):
            assert said["success"] is True, said
        return said

    def refused(self, status: int, method: str, path: str, body=None, **more) -> str:
        """The error of something that must not succeed."""
        answer = self.ask(method, path, body, **more)
        assert answer.status == status, (method, path, answer)
        return error_of(path, answer)

    # What dispatchers do

    def order(self, code: str, deed: str, _body: dict | None = None, **fields) -> dict:
        """Does something to an order: `order(code, "assign-driver", driverId="42")`."""
        return self.done("POST", f"/api/admin/orders/{code}/{deed}", (_body or {}) | fields)

    def assign(self, code: str, driver: str, **fields) -> dict:
        return self.order(code, "assign-driver", driverId=driver, **fields)

    def route(self, route: str, deed: str, **fields) -> dict:
        return self.done("POST", f"/api/admin/routes/{route}/{deed}", fields)

    def seen(self, code: str) -> dict:
        """The order as it stands."""
        return self.done("GET", f"/api/admin/orders/{code}")["data"]["order"]

    def seen_route(self, route: str) -> dict:
        return self.done("GET", f"/api/admin/routes/{route}")["data"]["route"]

    # What drivers do

    def accept(self, job: str, **more) -> dict:
        return self.done("POST", f"/api/driver/jobs/{job}/accept", **more)

    def progress(self, job: str, step: str, **fields) -> dict:
        return self.done("PUT", f"/api/driver/jobs/{job}/progress", {"step": step} | fields)

    # What clients do before they subscribe

    def channel_auth(self, socket_id: str, channel: str) -> Answer:
        return self.post("/pusher/auth", {"socket_id": socket_id, "channel_name": channel})

    def user_auth(self, socket_id: str) -> Answer:
        return self.post("/pusher/user-auth", {"socket_id": socket_id})


class Fleet:
    """Makes callers and listeners, and closes them with the test."""

    def __init__(self, gateway: Gateway, closing: Callable):
        self.gateway, self.closing = gateway, closing

    def caller(self, role: str | None = None, subject: str = "", bearer: str | None = None, **more) -> Caller:
        return self.closing(Caller(self.gateway, role, subject, bearer, **more))

    def admin(self, subject: str = "ada", **more) -> Caller:
        return self.caller("admin", subject, **more)

    def driver(self, subject: str | None = None, **more) -> Caller:
        return self.caller("driver", subject or fresh("d"), **more)

    def customer(self, subject: str | None = None, **more) -> Caller:
        return self.caller("customer", subject or fresh("c"), **more)

    def ops(self) -> Caller:
        return self.caller("ops", "oz")

    def listen(self, caller: Caller, *channels: str) -> Client:
        """A connection of the caller's, subscribed to the private channels of these plain names."""
        client = self.closing(Client.connect(self.gateway))
        for channel in channels:
            join(client, caller, f"private-{channel}")
        return client

    def signed_in(self, caller: Caller, *channels: str) -> Client:
        """A connection of the caller's, signed in and subscribed to these names as they are."""
        client = self.closing(Client.connect(self.gateway))
        sign_in(client, caller)
        for channel in channels:
            client.subscribe(channel)
        return client


def join(client: Client, caller: Caller, channel: str) -> None:
    """Subscribes as a Pusher SDK does: asks the auth endpoint, and hands on what it says."""
    answer = caller.channel_auth(client.socket_id, channel)
    assert answer.status == 200, (channel, answer)
    client.subscribe(channel, **answer.json())


def sign_in(client: Client, caller: Caller) -> dict:
    answer = caller.user_auth(client.socket_id)
    assert answer.status == 200, answer
    client.send("pusher:signin", answer.json())
    return json.loads(client.expect_data("pusher:signin_success")["user_data"])


def hear(client: Client, channel: str, event: str, **data) -> dict:
    """The next message is this event with exactly these fields, and the two ids; answers all of it."""
    said = client.expect_data(event, channel=channel)
    assert ULID.fullmatch(said["notificationId"]), said
    assert said["correlationId"], said
    assert without_ids(said) == data, said
    return said


def without_ids(said: dict) -> dict:
    return {name: value for name, value in said.items() if name not in ("notificationId", "correlationId")}


def hear_nothing(api: Api, *clients: Client) -> None:
    """What is published now is the very next message of each, wherever it is connected."""
    channel = fresh("marker-")
    for client in clients:
        client.subscribe(channel)
    api.publish(channel, "marker")
    for client in clients:
        client.expect("marker", channel=channel)
        client.send("pusher:unsubscribe", {"channel": channel})


def eventually(holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """For what happens behind the scenes."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
