"""The users of a fleet: REST callers and subscribers.

    fleet.admin(), fleet.driver("42"), fleet.customer(bookings=[…])   callers, each with a token
    fleet.listen(caller, "driver-42", …)                              a Pusher connection, authorized by /pusher/auth
"""

import json
import re
import time
import uuid
from collections.abc import Callable

from .api import Api, Response
from .apps import TIMEOUT
from .client import Client
from .gateway import Gateway
from .tokens import HS256, SECRET, claims

JWT = {"algorithm": "HS256", "secret": SECRET}
SECTIONS = {"auth": {"jwt": JWT}}
# The SETTINGS of a module that uses the `fleet` fixture.
SETTINGS = {"sections": SECTIONS}

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

ORDER_FIELDS = {"bookingId": "b-1", "bookingReference": "r-1", "customerName": "Ann Öz",
                "pickupAddress": "1 High St", "dropoffAddress": "2 Low Rd",
                "scheduledAt": "2026-03-01T09:30:00Z", "totalGBP": 42.5}


class AnyTimestamp:
    """Equals any timestamp in one of the gateway's formats."""

    def __init__(self, pattern: re.Pattern = TIMESTAMP):
        self.pattern = pattern

    def __eq__(self, other) -> bool:
        return isinstance(other, str) and bool(self.pattern.fullmatch(other))

    def __repr__(self) -> str:
        return "<a time>"


ANY_TIME = AnyTimestamp()
ANY_SECOND = AnyTimestamp(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"))


def unique_id(prefix: str = "") -> str:
    """Returns an id that no other test uses."""
    return f"{prefix}{uuid.uuid4().hex[:10]}"


def token(role: str, subject: str, **more) -> str:
    return HS256().token(claims(role, subject, **more))


def error_message(path: str, response: Response) -> str:
    """Returns the error message. The response must use the envelope of its path's group."""
    assert response.headers.get("content-type", "").startswith("application/json"), response
    body = response.json()
    if path.startswith("/api/auth/"):
        assert (body.keys() == {"message", "data", "error"} and body["data"] is None
                and body["message"] and body["error"]), body
        return json.dumps(body["error"])
    if path.startswith(("/api/admin/", "/api/driver/", "/api/customer/", "/app-")):
        assert body.keys() == {"success", "error"} and body["success"] is False, body
    else:
        assert body.keys() == {"error"}, body
    assert isinstance(body["error"], str) and body["error"], body
    return body["error"]


class Caller(Api):
    """A REST caller with or without a token, on one kept-alive connection."""

    def __init__(self, gateway: Gateway, role: str | None = None, subject: str = "",
                 bearer: str | None = None, **more):
        super().__init__(gateway)
        self.role, self.subject = role, subject
        self.bearer = (bearer if bearer is not None else token(role, subject, **more) if role
                       else None)

    def request(self, method: str, path: str, body=None, headers: dict | None = None,
                key: str | None = None) -> Response:
        """Makes a request. `body` is sent as JSON unless it is bytes; `key` is the Idempotency-Key.
        Every response must have a correlation id.
        """
        sent = {"Authorization": f"Bearer {self.bearer}"} if self.bearer is not None else {}
        if body is not None:
            sent["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        elif method in ("POST", "PUT", "DELETE"):
            body = b""
        if key is not None:
            sent["Idempotency-Key"] = key
        response = self.call(method, path, body, sent | (headers or {}))
        assert response.headers.get("x-correlation-id"), response
        return response

    def post(self, path: str, body=None, **more) -> Response:
        return self.request("POST", path, body, **more)

    def put(self, path: str, body=None, **more) -> Response:
        return self.request("PUT", path, body, **more)

    def expect_ok(self, method: str, path: str, body=None, **more) -> dict:
        """Makes a request that must succeed. Returns the response's JSON."""
        response = self.request(method, path, body, **more)
        assert response.status == 200, (method, path, response)
        received = response.json()
        if path.startswith(("/api/admin/", "/api/driver/", "/api/customer/")):
            assert received["success"] is True, received
        return received

    def expect_error(self, status: int, method: str, path: str, body=None, **more) -> str:
        """Makes a request that must fail with this status. Returns the error message."""
        response = self.request(method, path, body, **more)
        assert response.status == status, (method, path, response)
        return error_message(path, response)

    # Dispatcher actions

    def order(self, code: str, action: str, _body: dict | None = None, **fields) -> dict:
        """Performs an action on an order: `order(code, "assign-driver", driverId="42")`."""
        return self.expect_ok("POST", f"/api/admin/orders/{code}/{action}", (_body or {}) | fields)

    def assign(self, code: str, driver: str, **fields) -> dict:
        return self.order(code, "assign-driver", driverId=driver, **fields)

    def route(self, route: str, action: str, **fields) -> dict:
        return self.expect_ok("POST", f"/api/admin/routes/{route}/{action}", fields)

    def get_order(self, code: str) -> dict:
        """Returns the order's current state."""
        return self.expect_ok("GET", f"/api/admin/orders/{code}")["data"]["order"]

    def get_route(self, route: str) -> dict:
        return self.expect_ok("GET", f"/api/admin/routes/{route}")["data"]["route"]

    # Driver actions

    def accept(self, job: str, **more) -> dict:
        return self.expect_ok("POST", f"/api/driver/jobs/{job}/accept", **more)

    def progress(self, job: str, step: str, **fields) -> dict:
        return self.expect_ok("PUT", f"/api/driver/jobs/{job}/progress", {"step": step} | fields)

    # Authorization of subscriptions

    def channel_auth(self, socket_id: str, channel: str) -> Response:
        return self.post("/pusher/auth", {"socket_id": socket_id, "channel_name": channel})

    def user_auth(self, socket_id: str) -> Response:
        return self.post("/pusher/user-auth", {"socket_id": socket_id})


def report(caller: Caller, notification: str, event: str = "received", kind: str = "new_job",
           entity: str | None = "e1") -> None:
    """Reports a step of a notification, as apps do."""
    body = {"notificationId": notification, "type": kind, "event": event,
            "timestamp": "2026-03-01T10:00:00.000Z"}
    if entity is not None:
        body["entityId"] = entity
    assert caller.expect_ok("POST", f"/api/{caller.role}/notifications/log",
                            body) == {"success": True}


class Fleet:
    """Creates callers and subscribers, and closes them when the test ends."""

    def __init__(self, gateway: Gateway, closing: Callable):
        self.gateway, self.closing = gateway, closing

    def caller(self, role: str | None = None, subject: str = "", bearer: str | None = None,
               **more) -> Caller:
        return self.closing(Caller(self.gateway, role, subject, bearer, **more))

    def admin(self, subject: str = "ada", **more) -> Caller:
        return self.caller("admin", subject, **more)

    def driver(self, subject: str | None = None, **more) -> Caller:
        return self.caller("driver", subject or unique_id("d"), **more)

    def customer(self, subject: str | None = None, **more) -> Caller:
        return self.caller("customer", subject or unique_id("c"), **more)

    def ops(self) -> Caller:
        return self.caller("ops", "oz")

    def listen(self, caller: Caller, *channels: str) -> Client:
        """Returns a connection of the caller, subscribed to the private channels of these plain
        names.
        """
        client = self.closing(Client.connect(self.gateway))
        for channel in channels:
            join(client, caller, f"private-{channel}")
        return client

    def signed_in(self, caller: Caller, *channels: str) -> Client:
        """Returns a connection of the caller, signed in and subscribed to these
        channel names as given (`listen` adds `private-`)."""
        client = self.closing(Client.connect(self.gateway))
        sign_in(client, caller)
        for channel in channels:
            client.subscribe(channel)
        return client


def join(client: Client, caller: Caller, channel: str) -> None:
    """Subscribes like a Pusher SDK: requests a signature from the auth endpoint and sends it on."""
    response = caller.channel_auth(client.socket_id, channel)
    assert response.status == 200, (channel, response)
    client.subscribe(channel, **response.json())


def sign_in(client: Client, caller: Caller) -> dict:
    response = caller.user_auth(client.socket_id)
    assert response.status == 200, response
    client.send("pusher:signin", response.json())
    return json.loads(client.expect_data("pusher:signin_success")["user_data"])


def expect_event(client: Client, channel: str, event: str, **data) -> dict:
    """Expects the next message to be this event with exactly these fields
        and the ids of the notification and the request. Returns
    all of its data.
    """
    received = client.expect_data(event, channel=channel)
    assert ULID.fullmatch(received["notificationId"]), received
    assert received["correlationId"], received
    assert without_ids(received) == data, received
    return received


def without_ids(received: dict) -> dict:
    return {name: value for name, value in received.items()
            if name not in ("notificationId", "correlationId")}


def expect_no_events(api: Api, *clients: Client) -> None:
    """Expects no event on any connection: publishes a marker, which must be the next message of
    each.
    """
    channel = unique_id("marker-")
    for client in clients:
        client.subscribe(channel)
    api.publish(channel, "marker")
    for client in clients:
        client.expect("marker", channel=channel)
        client.send("pusher:unsubscribe", {"channel": channel})


def wait_until(condition: Callable[[], bool], what: str, seconds: float = TIMEOUT) -> None:
    """Polls until the condition holds: for effects that no response or event announces."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
