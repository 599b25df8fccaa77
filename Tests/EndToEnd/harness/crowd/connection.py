"""The connections of a crowd: WebSockets of drivers, and HTTP for their authorizations. They do not block."""

import json
import re
import socket
import struct
from collections import deque
from collections.abc import Callable

from ..apps import FIRST
from ..wire import CLOSE, PING, PONG, TEXT, upgrade

NOTIFICATION = re.compile(rb'"channel":"private-([^"]+)".*notificationId\\":\\"([0-9A-Z]{26})')
SOCKET_ID = re.compile(rb'socket_id\\":\\"([\d.]+)')
# Source addresses. A connection from the gateway's own address to a port that nobody listens on can
# connect to itself.
ADDRESSES = 8
# The code of a driver's close frame. The gateway echoes it; a close of its own has another one.
NORMAL = (1000).to_bytes(2, "big")


def unmasked(opcode: int, payload: bytes) -> bytes:
    """Builds a client's frame whose mask is 0, which costs no time."""
    size = len(payload)
    head = struct.pack("!BB", 0x80 | opcode, 0x80 | size) if size < 126 else struct.pack(
        "!BBH", 0x80 | opcode, 0xFE, size)
    return head + bytes(4) + payload


class Connection:
    """A socket that connects when it is created. `ended` is called once, when the other side ends it."""

    def __init__(self, port: int, ended: Callable[[], None]):
        self.ended, self.is_open, self.is_connected, self.buffer = ended, True, False, bytearray()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Linux's IP_BIND_ADDRESS_NO_PORT: the port is chosen when it connects.
        self.socket.setsockopt(socket.IPPROTO_IP, 24, 1)
        self.socket.bind((f"127.0.0.{2 + self.socket.fileno() % ADDRESSES}", 0))
        self.socket.connect_ex(("127.0.0.1", port))

    def connected(self) -> None:
        raise NotImplementedError

    def handle(self) -> None:
        """Handles what is in the buffer."""
        raise NotImplementedError

    def writable(self) -> None:
        self.is_connected = True
        self.connected()

    def readable(self) -> None:
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self.end()
        self.buffer += data
        self.handle()

    def send(self, data: bytes) -> bool:
        """Returns whether the kernel took all of it. If it does not, the connection ends."""
        try:
            is_sent = self.socket.send(data) == len(data)
        except OSError:
            is_sent = False
        if not is_sent:
            self.end()
        return is_sent

    def end(self) -> None:
        if self.is_open:
            self.close()
            self.ended()

    def close(self, reset: bool = False) -> None:
        if self.is_open:
            self.is_open = False
            if reset:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()


class Requester(Connection):
    """HTTP. Many requests may be under way; an answer gets the status and the body of the response."""

    def __init__(self, port: int, ended: Callable[[], None]):
        super().__init__(port, ended)
        self.waiting: deque[Callable[[int, bytes], None]] = deque()
        self.unsent = b""

    def request(self, method: str, path: str, bearer: str, body: dict | None, answer: Callable[[int, bytes], None],
                **headers: str) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "Host: crowd", f"Authorization: Bearer {bearer}",
                 "Content-Type: application/json", f"Content-Length: {len(content)}",
                 *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()), "", ""]
        self.waiting.append(answer)
        self.send("\r\n".join(lines).encode() + content)

    def send(self, data: bytes) -> bool:
        """Keeps what the kernel does not take until the next response."""
        self.unsent += data
        if self.is_connected and self.is_open:
            try:
                self.unsent = self.unsent[self.socket.send(self.unsent):]
            except BlockingIOError:
                pass
            except OSError:
                self.end()
        return True

    def connected(self) -> None:
        self.send(b"")

    def handle(self) -> None:
        while self.is_open and (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end]).lower()
            size = int(re.search(rb"content-length: (\d+)", head)[1])
            if len(self.buffer) < end + 4 + size:
                break
            body = bytes(self.buffer[end + 4:end + 4 + size])
            del self.buffer[:end + 4 + size]
            self.waiting.popleft()(int(head[9:12]), body)
        if self.unsent:
            self.send(b"")


class Authorizer(Requester):
    """Asks the gateway to authorize subscriptions."""

    def ask(self, bearer: str, form: dict, answer: Callable[[dict], None]) -> None:
        def answered(status: int, body: bytes) -> None:
            if status == 200:
                answer(json.loads(body))
        self.request("POST", "/pusher/auth", bearer, form, answered)


class Socket(Connection):
    """A WebSocket of the Pusher protocol. The methods without a body tell the driver what happens."""

    def __init__(self, port: int, ended: Callable[[], None]):
        super().__init__(port, ended)
        self.is_upgraded = False

    def established(self, socket_id: str) -> None: ...

    def subscribed(self, channel: str) -> None: ...

    def notified(self, channel: str, notification: str) -> None: ...

    def pinged(self, payload: bytes) -> None: ...

    def closing(self, payload: bytes) -> None: ...

    def surprised(self, message: bytes) -> None: ...

    def connected(self) -> None:
        self.send(upgrade(f"/app/{FIRST.key}?protocol=7"))

    def send_event(self, event: str, data: dict) -> None:
        self.send(unmasked(TEXT, json.dumps({"event": event, "data": data}).encode()))

    def send_pong(self, payload: bytes) -> bool:
        return self.send(unmasked(PONG, payload))

    def send_close(self) -> None:
        self.send(unmasked(CLOSE, NORMAL))

    def handle(self) -> None:
        if not self.is_upgraded:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not self.buffer.startswith(b"HTTP/1.1 101"):
                return self.end()
            del self.buffer[:end + 4]
            self.is_upgraded = True
        buffer, position = bytes(self.buffer), 0
        while self.is_open and len(buffer) >= position + 2:
            size, start = buffer[position + 1], position + 2
            if size > 125:
                length = 2 if size == 126 else 8
                if len(buffer) < start + length:
                    break
                size, start = int.from_bytes(buffer[start:start + length], "big"), start + length
            if len(buffer) < start + size:
                break
            opcode, position = buffer[position] & 0x0F, start + size
            self._handle(opcode, buffer[start:position])
        del self.buffer[:position]

    def _handle(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.pinged(payload)
        elif opcode == CLOSE:
            self.closing(payload)
        else:
            self.message(payload)

    def message(self, payload: bytes) -> None:
        if match := NOTIFICATION.search(payload):
            self.notified(match[1].decode(), match[2].decode())
        elif b'"pusher:connection_established"' in payload:
            self.established(SOCKET_ID.search(payload)[1].decode())
        elif b'"pusher_internal:subscription_succeeded"' in payload:
            self.subscribed(json.loads(payload)["channel"].removeprefix("private-"))
        elif b'"pusher:ping"' not in payload:
            self.surprised(payload)

