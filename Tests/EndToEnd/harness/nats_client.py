"""A client of NATS's text protocol that sends what a test wants, and reads what others send."""

import json
import re
import socket

from .nats import TIMEOUT, Nats


class NatsClient:
    """One connection, which has had the server's INFO."""

    def __init__(self, server: Nats):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
        self.messages: list[tuple[str, bytes]] = []
        self.reader = self.socket.makefile("rb")
        assert self.reader.readline().startswith(b"INFO ")
        self._send(b"CONNECT " + json.dumps({"verbose": False, "echo": False}).encode() + b"\r\n")
        self.flush()

    def publish(self, subject: str, payload: bytes) -> None:
        self._send(f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\n")

    def flush(self) -> None:
        """Waits until the server has handled everything sent before."""
        self._send(b"PING\r\n")
        while (line := self.reader.readline()) != b"PONG\r\n":
            self._handle(line)

    def subscribe(self, subject: str) -> None:
        self._send(f"SUB {subject} 1\r\n".encode())
        self.flush()

    def receive(self) -> tuple[str, bytes]:
        """Returns the subject and the payload of the next message."""
        while not self.messages:
            self._handle(self.reader.readline())
        return self.messages.pop(0)

    def _handle(self, line: bytes) -> None:
        if line == b"PING\r\n":
            self._send(b"PONG\r\n")
        elif not line.startswith(b"INFO "):
            found = re.fullmatch(rb"MSG (\S+) \S+ (\d+)\r\n", line)
            assert found, line
            self.messages.append((found[1].decode(), self.reader.read(int(found[2]))))
            self.reader.read(2)

    def _send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def close(self) -> None:
        self.reader.close()
        self.socket.close()
