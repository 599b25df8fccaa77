"""A Pusher client that sends exactly what a test specifies and checks every message it receives."""

import json
from contextlib import ExitStack
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .apps import FIRST, TIMEOUT, App
from .gateway import Gateway

# Marks `data` as absent: the field is left out.
ABSENT = object()


class Client:
    """One connection. The `expect…` methods check the very next message. None is skipped but
    `delivery-updated`, which tells dispatchers at any time how far notifications have come.
    """

    def __init__(self, gateway: Gateway, target: str, headers: dict | None = None):
        self.socket_id = None
        self.skips_delivery_updates = True
        self.gateway = gateway
        self.stack = ExitStack()
        # `websockets` reads and writes in two threads, which TLS in Python before 3.13 does not
        # support. Use `RawClient` for TLS.
        assert not gateway.tls
        self.socket = self.stack.enter_context(connect(
            f"ws://{gateway.host}:{gateway.port}{target}", additional_headers=headers, proxy=None,
            compression=None, ping_interval=None,
            open_timeout=TIMEOUT, close_timeout=TIMEOUT, max_size=None, max_queue=None))

    @classmethod
    def dial(cls, gateway: Gateway, key: str = FIRST.key, headers: dict | None = None,
             **query) -> "Client":
        """Opens the WebSocket and reads nothing. A parameter given as None is left out."""
        query = {"protocol": 7, "client": "tests", "version": "1.0"} | query
        query = {name: value for name, value in query.items() if value is not None}
        return cls(gateway, f"/app/{key}?{urlencode(query)}", headers)

    @classmethod
    def connect(cls, gateway: Gateway, app: App = FIRST, **query) -> "Client":
        client = cls.dial(gateway, app.key, **query)
        client.expect_established()
        return client

    def expect_established(self) -> dict:
        """Receives `pusher:connection_established` and returns its decoded data."""
        message = self.expect("pusher:connection_established")
        assert isinstance(message["data"], str), (
            "data of connection_established must be a JSON string")
        data = json.loads(message["data"])
        self.socket_id = data["socket_id"]
        return data

    # Sending

    def send(self, event: str, data=ABSENT, **fields) -> None:
        message = {"event": event} | fields | ({} if data is ABSENT else {"data": data})
        self.send_text(json.dumps(message))

    def send_text(self, text: str) -> None:
        self.socket.send(text)

    def send_subscribe(self, channel: str, **data) -> None:
        self.send("pusher:subscribe", {"channel": channel} | data)

    def subscribe(self, channel: str, **data) -> None:
        self.send_subscribe(channel, **data)
        message = self.expect("pusher_internal:subscription_succeeded", channel=channel)
        assert message["data"] == "{}"

    def subscribe_private(self, channel: str, app: App = FIRST) -> None:
        self.subscribe(channel, auth=app.auth(self.socket_id, channel))

    def subscribe_authorized(self, channel: str, user_id: str = "1", app: App = FIRST) -> None:
        """Subscribes to a channel of any kind, signed if it is private or presence; `user_id` is the
        presence member.
        """
        if channel.startswith("presence-"):
            self.join(channel, user_id, app=app)
        elif channel.startswith("private-"):
            self.subscribe_private(channel, app)
        else:
            self.subscribe(channel)

    def send_presence_subscribe(self, channel: str, channel_data: str, app: App = FIRST) -> None:
        self.send_subscribe(channel, auth=app.auth(self.socket_id, channel, channel_data),
                            channel_data=channel_data)

    def join(self, channel: str, user_id: str | int, user_info=ABSENT, app: App = FIRST) -> dict:
        """Subscribes to a presence channel. Returns the `presence` of the response."""
        self.send_presence_subscribe(channel,
                                     json.dumps({"user_id": user_id}
                                                | ({} if user_info is ABSENT
                                                   else {"user_info": user_info})),
                                     app)
        return self.expect_joined(channel)

    def expect_joined(self, channel: str) -> dict:
        """Receives the response to a presence subscription. Returns its `presence`, which must be
        consistent [R1].
        """
        data = self.expect_data("pusher_internal:subscription_succeeded", channel=channel)
        assert (data.keys() == {"presence"}
                and data["presence"].keys() == {"ids", "hash", "count"}), data
        presence = data["presence"]
        assert all(isinstance(user, str) for user in presence["ids"]), presence
        assert (sorted(presence["ids"]) == sorted(presence["hash"])
                and presence["count"] == len(presence["ids"])), presence
        return presence

    def send_sign_in(self, user_data: str, app: App = FIRST) -> None:
        self.send("pusher:signin",
                  {"auth": app.user_auth(self.socket_id, user_data), "user_data": user_data})

    def sign_in(self, user_id: str, app: App = FIRST, **more) -> None:
        user_data = json.dumps({"id": user_id} | more)
        self.send_sign_in(user_data, app)
        assert self.expect_data("pusher:signin_success") == {"user_data": user_data}

    def unsubscribe(self, channel: str) -> None:
        """Unsubscribes. Returns once the gateway has processed it; no other message may arrive
        meanwhile.
        """
        self.send("pusher:unsubscribe", {"channel": channel})
        self.expect_nothing()

    # Receiving

    def receive(self) -> dict:
        while True:
            message = self.receive_any()
            if not self.skips_delivery_updates or message["event"] != "delivery-updated":
                return message

    def receive_any(self) -> dict:
        try:
            text = self.socket.recv(timeout=TIMEOUT)
        except TimeoutError:
            raise AssertionError(f"no message within {TIMEOUT} s") from None
        except ConnectionClosed as closed:
            raise AssertionError(f"the connection ended instead: {closed}") from None
        assert isinstance(text, str), f"a binary frame: {text!r}"
        message = json.loads(text)
        assert (isinstance(message, dict)
                and isinstance(message.get("event"), str)), f"not a Pusher message: {text!r}"
        return message

    def expect(self, event: str, **fields) -> dict:
        message = self.receive()
        assert message["event"] == event, f"expected {event}, got {message}"
        for name, value in fields.items():
            assert message.get(name) == value, f"expected {name} {value!r}, got {message}"
        return message

    def expect_data(self, event: str, **fields):
        """Returns the decoded data of the next message; it must be a JSON string."""
        data = self.expect(event, **fields)["data"]
        assert isinstance(data, str), f"data of {event} must be a JSON string: {data!r}"
        return json.loads(data)

    def expect_member_added(self, channel: str, user_id: str, user_info=ABSENT) -> None:
        data = self.expect_data("pusher_internal:member_added", channel=channel)
        info = data.pop("user_info", None)
        assert data == {"user_id": user_id}, data
        assert info == user_info if user_info is not ABSENT else not info, info

    def expect_member_removed(self, channel: str, user_id: str) -> None:
        assert self.expect_data("pusher_internal:member_removed",
                                channel=channel) == {"user_id": user_id}

    def expect_count(self, channel: str, count: int) -> None:
        data = self.expect_data("pusher_internal:subscription_count", channel=channel)
        assert data == {"subscription_count": count}, data

    def expect_error_code(self, code: int) -> None:
        """Expects a `pusher:error` with this code; the connection stays open."""
        error = self.expect_error()
        assert error["code"] == code, error

    def expect_error(self, text: str | None = None) -> dict:
        """Expects a `pusher:error`: its data is an object with a message and a code or null [M3].
        """
        data = self.expect("pusher:error")["data"]
        assert isinstance(data, dict), f"data of pusher:error must be an object: {data!r}"
        assert isinstance(data.get("message"), str) and data["message"]
        assert "code" in data and (data["code"] is None or type(data["code"]) is int)
        assert text is None or data["message"] == text
        return data

    def expect_rejection(self, channel: str) -> None:
        """Expects a failed subscription: `pusher:error`, or `pusher:subscription_error` of the
        channel [S11].
        """
        message = self.receive()
        assert message["event"] in ("pusher:error", "pusher:subscription_error"), message
        assert isinstance(message["data"], dict), message
        assert message["event"] == "pusher:error" or message["channel"] == channel, message

    def receive_until_pong(self) -> list[dict]:
        """Sends a ping and returns the messages received before the pong. By then the gateway has
        processed everything sent before the ping.
        """
        self.send("pusher:ping", {})
        messages = []
        while (message := self.receive())["event"] != "pusher:pong":
            messages.append(message)
        return messages

    def expect_nothing(self) -> None:
        assert self.receive_until_pong() == []

    def expect_close(self) -> tuple[int, str]:
        """Returns code and reason of the close that comes next (1006 without a close frame)."""
        try:
            message = self.socket.recv(timeout=TIMEOUT)
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
        except TimeoutError:
            raise AssertionError(f"still open after {TIMEOUT} s") from None
        raise AssertionError(f"expected the connection to close, got {message!r}")

    def close(self) -> None:
        self.stack.close()
