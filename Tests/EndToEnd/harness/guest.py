"""A light connection for crowds: it has no thread, and it can be cut off."""

import json

from .apps import FIRST, App
from .gateway import Gateway
from .wire import CLOSE, PING, PONG, TEXT, Wire, frame


class Guest(Wire):
    """Greeted when made. Its messages wait in the kernel until somebody asks for them."""

    def __init__(self, gateway: Gateway, app: App = FIRST):
        super().__init__(gateway)
        self.app = app
        self.socket_id = self.open(f"/app/{app.key}?protocol=7")["socket_id"]

    def message(self) -> dict:
        """The next message; pings of the gateway are answered on the way."""
        while True:
            got = self.next_frame()
            assert got, "the connection ended"
            opcode, payload = got
            if opcode == TEXT:
                return json.loads(payload)
            assert opcode in (PING, PONG), got
            if opcode == PING:
                self.send(frame(PONG, payload))

    def until_pong(self) -> list[dict]:
        self.say("pusher:ping")
        return self.until("pusher:pong")[:-1]

    def until(self, event: str) -> list[dict]:
        """The messages up to the first one of this name, which is the last of the answer."""
        messages = [self.message()]
        while messages[-1]["event"] != event:
            messages.append(self.message())
        return messages

    def ask_to_join(self, channel: str, user_id: str | int, **more) -> None:
        channel_data = json.dumps({"user_id": user_id} | more)
        auth = self.app.auth(self.socket_id, channel, channel_data)
        self.say("pusher:subscribe", {"channel": channel, "auth": auth, "channel_data": channel_data})

    def join(self, channel: str, user_id: str | int, **more) -> set[str]:
        """Subscribes to a presence channel; answers who is there."""
        self.ask_to_join(channel, user_id, **more)
        message = self.until("pusher_internal:subscription_succeeded")[-1]
        presence = json.loads(message["data"])["presence"]
        assert len(presence["ids"]) == len(set(presence["ids"])) == presence["count"] == len(presence["hash"]), presence
        return set(presence["ids"])

    def sign_in(self, user_id: str) -> None:
        user_data = json.dumps({"id": user_id})
        self.say("pusher:signin", {"auth": self.app.user_auth(self.socket_id, user_data), "user_data": user_data})
        self.until("pusher:signin_success")

    def leave(self, channel: str) -> list[dict]:
        """Returns once the gateway has done it; answers what came before."""
        self.say("pusher:unsubscribe", {"channel": channel})
        return self.until_pong()

    def say_goodbye(self) -> None:
        """A proper close, and the answer to it."""
        self.send(frame(CLOSE, b"\x03\xe8"))
        while (got := self.next_frame()) and got[0] != CLOSE:
            pass
        self.close()
