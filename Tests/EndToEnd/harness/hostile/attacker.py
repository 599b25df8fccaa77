"""What the attacks are made of: connections, and bytes that are cut, changed or signed."""

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace

from ..api import event_body, signed_target
from ..apps import FIRST
from ..raw_client import RawClient
from ..wire import TEXT, Wire, frame, request

EVENTS = f"/apps/{FIRST.id}/events"


@dataclass
class Attacker:
    """Opens connections for one attack, at most until its time is up, and closes all of them."""

    gateway: SimpleNamespace  # address, host, port and tls, as a Gateway has them
    random: Random
    until: float
    wires: list[Wire] = field(default_factory=list)

    def going(self) -> bool:
        return time.monotonic() < self.until

    def repeat(self) -> Iterator[int]:
        """Counts until the time is up."""
        return itertools.takewhile(lambda _: self.going(), itertools.count())

    def wait(self) -> None:
        """Keeps all connections open until the time is up."""
        time.sleep(max(0.0, self.until - time.monotonic()))

    def _keep(self, wire: Wire) -> Wire:
        wire.socket.settimeout(1)
        self.wires.append(wire)
        return wire

    def wire(self, tls: bool = True, receive_buffer: int | None = None) -> Wire:
        return self._keep(Wire(self.gateway, tls=tls, receive_buffer=receive_buffer))

    def client(self) -> RawClient:
        return self._keep(RawClient(self.gateway))

    def up_to(self, count: int, connect: Callable[[], Wire]) -> list[Wire]:
        """Opens connections while there is time."""
        return [connect() for _ in itertools.takewhile(lambda _: self.going(), range(count))]

    def send(self, wire: Wire, data: bytes, pieces: int = 1) -> bool:
        """Sends data, cut at random places. Returns False if the gateway takes no more of it."""
        cuts = sorted(self.random.randrange(len(data) + 1) for _ in range(pieces - 1))
        try:
            for start, end in zip([0, *cuts], [*cuts, len(data)]):
                wire.send(data[start:end])
            return True
        except OSError:
            return False

    def end(self, wire: Wire) -> None:
        """Ends a connection in one of the ways in which connections end."""
        getattr(wire, self.random.choice(["close", "reset", "close_write"]))()

    def drain(self, wire: Wire) -> None:
        """Reads what has arrived."""
        with contextlib.suppress(OSError, ValueError):
            while wire.readable() and wire.socket.recv(1 << 20):
                pass

    def mutated(self, data: bytes) -> bytes:
        """Changes, repeats, removes or inserts bytes at some places."""
        for _ in range(self.random.randrange(1, 6)):
            at, size = self.random.randrange(len(data) + 1), self.random.randrange(1, 9)
            new = self.random.choice([self.random.randbytes(size), data[at:at + size] * 2, b"",
                                      b"\r\n", b"\0", b" ", b":", b"\xff" * size])
            data = data[:at] + new + data[at + self.random.choice([0, size]):]
        return data

    def close(self) -> None:
        for wire in self.wires:
            wire.close()
        self.wires.clear()


def publish(channel: str, data: str = "{}", **changes) -> bytes:
    """A signed publish; `changes` are applied to its query before it is signed."""
    body = event_body(channel, "hostile", data)
    return request("POST", signed_target(FIRST, "POST", EVENTS, body, changes), body)


def message(event: str, data) -> bytes:
    return frame(TEXT, json.dumps({"event": event, "data": data}).encode())
