"""A client of NATS's text protocol that sends what a test wants, and reads what others send."""

import json
import re
import socket
import ssl

from .nats import TIMEOUT, Nats


class NatsClient:
    """One connection, which has had the server's INFO. With `tls`, it is encrypted, and `more` are fields of CONNECT."""

    def __init__(self, server: Nats, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, **more: str):
        self.socket = socket.create_connection((host, server.port), timeout=TIMEOUT)
        self.messages: list[tuple[str, bytes]] = []
        # What the server has refused.
        self.errors: list[str] = []
        assert self._read_unbuffered_line().startswith(b"INFO ")
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.reader = self.socket.makefile("rb")
        self._send(b"CONNECT " + json.dumps({"verbose": False, "echo": False} | more).encode() + b"\r\n")
        self.flush()

    def _read_unbuffered_line(self) -> bytes:
        """Returns the first line, and nothing of what follows it, which may be encrypted."""
        line = b""
        while not line.endswith(b"\n"):
            byte = self.socket.recv(1)
            assert byte, line
            line += byte
        return line

    def publish(self, subject: str, payload: bytes) -> None:
        self._send(f"PUB {subject} {len(payload)}\r\n".encode() + payload + b"\r\n")

    def flush(self) -> None:
        """Waits until the server has handled everything sent before."""
        self._send(b"PING\r\n")
        while (line := self.reader.readline()) != b"PONG\r\n":
            if not line:
                raise ConnectionResetError(self.errors)
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
        elif line.startswith(b"-ERR "):
            self.errors.append(line.decode().strip())
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
