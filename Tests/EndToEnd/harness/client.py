"""A Pusher client that says exactly what it is told and expects exactly what it is told."""

import json
from contextlib import ExitStack
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .apps import FIRST, PATIENCE, App
from .gateway import Gateway

# The data that stands for "leave the field out".
ABSENT = object()


class Client:
    """One connection. `expect` and its kin look at the very next message: nothing is skipped."""

    def __init__(self, gateway: Gateway, target: str, headers: dict | None = None):
        self.socket_id = None
        self.gateway = gateway
        self.stack = ExitStack()
        # The library reads and writes in two threads, which the TLS of Python before 3.13 does not bear: a `Guest` speaks it.
        assert not gateway.tls
        self.socket = self.stack.enter_context(connect(
            f"ws://{gateway.host}:{gateway.port}{target}", additional_headers=headers, proxy=None, compression=None, ping_interval=None,
            open_timeout=PATIENCE, close_timeout=PATIENCE, max_size=None, max_queue=None))

    @classmethod
    def dial(cls, gateway: Gateway, key: str = FIRST.key, headers: dict | None = None, **query) -> "Client":
        """Opens the WebSocket and reads nothing yet. A parameter given as None is left out."""
        query = {"protocol": 7, "client": "tests", "version": "1.0"} | query
        query = {name: value for name, value in query.items() if value is not None}
        return cls(gateway, f"/app/{key}?{urlencode(query)}", headers)

    @classmethod
    def connect(cls, gateway: Gateway, app: App = FIRST, **query) -> "Client":
        client = cls.dial(gateway, app.key, **query)
        client.greet()
        return client

    def greet(self) -> dict:
        """Takes the greeting and answers its data, decoded."""
        message = self.expect("pusher:connection_established")
        assert isinstance(message["data"], str), "data of connection_established must be a JSON string"
        data = json.loads(message["data"])
        self.socket_id = data["socket_id"]
        return data

    # Saying

    def send(self, event: str, data=ABSENT, **fields) -> None:
        message = {"event": event} | fields | ({} if data is ABSENT else {"data": data})
        self.send_text(json.dumps(message))

    def send_text(self, text: str) -> None:
        self.socket.send(text)

    def ask_for(self, channel: str, **data) -> None:
        self.send("pusher:subscribe", {"channel": channel} | data)

    def subscribe(self, channel: str, **data) -> None:
        self.ask_for(channel, **data)
        message = self.expect("pusher_internal:subscription_succeeded", channel=channel)
        assert message["data"] == "{}"

    def subscribe_private(self, channel: str, app: App = FIRST) -> None:
        self.subscribe(channel, auth=app.auth(self.socket_id, channel))

    def ask_to_join(self, channel: str, channel_data: str, app: App = FIRST) -> None:
        self.ask_for(channel, auth=app.auth(self.socket_id, channel, channel_data), channel_data=channel_data)

    def join(self, channel: str, user_id: str | int, user_info=ABSENT, app: App = FIRST) -> dict:
        """Subscribes to a presence channel; answers the `presence` of the reply."""
        self.ask_to_join(channel, json.dumps({"user_id": user_id} | ({} if user_info is ABSENT else {"user_info": user_info})), app)
        return self.joined(channel)

    def joined(self, channel: str) -> dict:
        """Takes the reply to a presence subscription; answers its `presence`, which must agree with itself [R1]."""
        data = self.expect_data("pusher_internal:subscription_succeeded", channel=channel)
        assert data.keys() == {"presence"} and data["presence"].keys() == {"ids", "hash", "count"}, data
        presence = data["presence"]
        assert all(isinstance(user, str) for user in presence["ids"]), presence
        assert sorted(presence["ids"]) == sorted(presence["hash"]) and presence["count"] == len(presence["ids"]), presence
        return presence

    def ask_to_sign_in(self, user_data: str, app: App = FIRST) -> None:
        self.send("pusher:signin", {"auth": app.user_auth(self.socket_id, user_data), "user_data": user_data})

    def sign_in(self, user_id: str, app: App = FIRST, **more) -> None:
        user_data = json.dumps({"id": user_id} | more)
        self.ask_to_sign_in(user_data, app)
        assert self.expect_data("pusher:signin_success") == {"user_data": user_data}

    def unsubscribe(self, channel: str) -> None:
        """Returns once the gateway has done it; nothing else may arrive meanwhile."""
        self.send("pusher:unsubscribe", {"channel": channel})
        self.expect_nothing()

    # Hearing

    def receive(self) -> dict:
        try:
            text = self.socket.recv(timeout=PATIENCE)
        except TimeoutError:
            raise AssertionError(f"no message within {PATIENCE} s") from None
        except ConnectionClosed as closed:
            raise AssertionError(f"the connection ended instead: {closed}") from None
        assert isinstance(text, str), f"a binary frame: {text!r}"
        message = json.loads(text)
        assert isinstance(message, dict) and isinstance(message.get("event"), str), f"not a Pusher message: {text!r}"
        return message

    def expect(self, event: str, **fields) -> dict:
        message = self.receive()
        assert message["event"] == event, f"expected {event}, got {message}"
        for name, value in fields.items():
            assert message.get(name) == value, f"expected {name} {value!r}, got {message}"
        return message

    def expect_data(self, event: str, **fields):
        """The data of the next message, decoded: it must be a JSON string."""
        data = self.expect(event, **fields)["data"]
        assert isinstance(data, str), f"data of {event} must be a JSON string: {data!r}"
        return json.loads(data)

    def expect_added(self, channel: str, user_id: str, user_info=ABSENT) -> None:
        data = self.expect_data("pusher_internal:member_added", channel=channel)
        info = data.pop("user_info", None)
        assert data == {"user_id": user_id}, data
        assert info == user_info if user_info is not ABSENT else not info, info

    def expect_removed(self, channel: str, user_id: str) -> None:
        assert self.expect_data("pusher_internal:member_removed", channel=channel) == {"user_id": user_id}

    def expect_count(self, channel: str, count: int) -> None:
        data = self.expect_data("pusher_internal:subscription_count", channel=channel)
        assert data == {"subscription_count": count}, data

    def expect_code(self, code: int) -> None:
        """A `pusher:error` with this code; the connection goes on."""
        error = self.expect_error()
        assert error["code"] == code, error

    def expect_error(self, text: str | None = None) -> dict:
        """A `pusher:error`: its data is an object of a text and a code or null [M3]."""
        data = self.expect("pusher:error")["data"]
        assert isinstance(data, dict), f"data of pusher:error must be an object: {data!r}"
        assert isinstance(data.get("message"), str) and data["message"]
        assert "code" in data and (data["code"] is None or type(data["code"]) is int)
        assert text is None or data["message"] == text
        return data

    def expect_refusal(self, channel: str) -> None:
        """An error event for a subscription: `pusher:error`, or `pusher:subscription_error` for the channel [S11]."""
        message = self.receive()
        assert message["event"] in ("pusher:error", "pusher:subscription_error"), message
        assert isinstance(message["data"], dict), message
        assert message["event"] == "pusher:error" or message["channel"] == channel, message

    def until_pong(self) -> list[dict]:
        """Asks for a pong and answers what came before it: whatever was said before the ping has been dealt with."""
        self.send("pusher:ping", {})
        messages = []
        while (message := self.receive())["event"] != "pusher:pong":
            messages.append(message)
        return messages

    def expect_nothing(self) -> None:
        assert self.until_pong() == []

    def closed(self) -> tuple[int, str]:
        """The code and reason of the close that comes next (1006 when there was none)."""
        try:
            message = self.socket.recv(timeout=PATIENCE)
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
        except TimeoutError:
            raise AssertionError(f"still open after {PATIENCE} s") from None
        raise AssertionError(f"expected the connection to close, got {message!r}")

    def close(self) -> None:
        self.stack.close()
