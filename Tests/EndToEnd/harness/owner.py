"""The owner of a durable channel: a connection that confirms notifications, or does not."""

import json

from .fleet import Caller
from .gateway import Gateway
from .raw_client import RawClient
from .wire import PING, PONG, TEXT, frame

SUCCEEDED = "pusher_internal:subscription_succeeded"


class Owner(RawClient):
    """The connection of a channel's owner. It keeps the gateway's pings, and answers them if it is not
    silent.
    """

    def __init__(self, gateway: Gateway, caller: Caller, device: str | None = None, silent: bool = False):
        super().__init__(gateway)
        self.caller, self.device, self.silent = caller, device, silent
        self.pings: list[bytes] = []

    def receive_frame(self) -> tuple[int, bytes]:
        opcode, payload = self.next_frame()
        if opcode == PING:
            self.pings.append(payload)
            if not self.silent:
                self.send(frame(PONG, payload))
        return opcode, payload

    def receive(self) -> dict:
        while True:
            opcode, payload = self.receive_frame()
            if opcode == TEXT:
                return json.loads(payload)

    def subscribe(self, channel: str) -> None:
        self.send_subscribe(channel)
        assert self.receive()["event"] == SUCCEEDED

    def send_subscribe(self, channel: str) -> None:
        form = {"socket_id": self.socket_id, "channel_name": channel}
        if self.device is not None:
            form["device_id"] = self.device
        response = self.caller.post("/pusher/auth", form)
        assert response.status == 200, response
        self.send_event("pusher:subscribe", {"channel": channel} | response.json())

    def expect_jobs(self, *codes: str) -> list[dict]:
        """Expects `job-assigned` of these jobs as the next events, in this order, and reads the ping behind
        them.
        """
        messages = [self.receive() for _ in codes]
        found = [json.loads(message["data"]).get("bookingId") for message in messages]
        assert found == list(codes), messages
        assert self.receive_until_pong() == []
        return messages

    def expect_ping(self) -> bytes:
        """Expects a ping as the next frame."""
        opcode, payload = self.receive_frame()
        assert opcode == PING, (opcode, payload)
        return payload
