"""A lightweight connection for tests with many clients: no thread, and it can be cut off."""

import json

from .apps import FIRST, App
from .gateway import Gateway
from .wire import CLOSE, PING, PONG, TEXT, Wire, frame


class RawClient(Wire):
    """Connects when created. Its messages stay in the kernel's buffer until they are read."""

    def __init__(self, gateway: Gateway, app: App = FIRST):
        super().__init__(gateway)
        self.app = app
        self.socket_id = self.open(f"/app/{app.key}?protocol=7")["socket_id"]

    def receive(self) -> dict:
        """Returns the next message; answers the gateway's ping frames meanwhile."""
        while True:
            got = self.next_frame()
            assert got, "the connection ended"
            opcode, payload = got
            if opcode == TEXT:
                return json.loads(payload)
            assert opcode in (PING, PONG), got
            if opcode == PING:
                self.send(frame(PONG, payload))

    def receive_until_pong(self) -> list[dict]:
        self.send_event("pusher:ping")
        return self.receive_until("pusher:pong")[:-1]

    def receive_until(self, event: str) -> list[dict]:
        """Returns the messages up to and including the first with this event name."""
        messages = [self.receive()]
        while messages[-1]["event"] != event:
            messages.append(self.receive())
        return messages

    def send_presence_subscribe(self, channel: str, user_id: str | int, **more) -> None:
        channel_data = json.dumps({"user_id": user_id} | more)
        auth = self.app.auth(self.socket_id, channel, channel_data)
        self.send_event("pusher:subscribe",
                        {"channel": channel, "auth": auth, "channel_data": channel_data})

    def join(self, channel: str, user_id: str | int, **more) -> set[str]:
        """Subscribes to a presence channel. Returns the members' ids."""
        self.send_presence_subscribe(channel, user_id, **more)
        message = self.receive_until("pusher_internal:subscription_succeeded")[-1]
        presence = json.loads(message["data"])["presence"]
        assert len(presence["ids"]) == len(set(presence["ids"])) == presence["count"] == len(
            presence["hash"]), presence
        return set(presence["ids"])

    def sign_in(self, user_id: str) -> None:
        user_data = json.dumps({"id": user_id})
        self.send_event("pusher:signin",
                        {"auth": self.app.user_auth(self.socket_id, user_data),
                         "user_data": user_data})
        self.receive_until("pusher:signin_success")

    def unsubscribe(self, channel: str) -> list[dict]:
        """Unsubscribes. Returns the messages received before the gateway processed it."""
        self.send_event("pusher:unsubscribe", {"channel": channel})
        return self.receive_until_pong()

    def close_gracefully(self) -> None:
        """Closes with a close frame and reads the gateway's close frame."""
        self.send(frame(CLOSE, b"\x03\xe8"))
        while (got := self.next_frame()) and got[0] != CLOSE:
            pass
        self.close()


# How a client may end its connection: for `pytest.mark.parametrize("leave", …)`.
CLOSES = {"close frame": RawClient.close_gracefully, "end of stream": RawClient.close,
          "reset": RawClient.reset}
