"""A plain socket, for bytes that well-behaved libraries refuse to send."""

import json
import os
import select
import socket
import struct

from .api import Response
from .apps import FIRST, TIMEOUT
from .gateway import Gateway

TEXT, BINARY, CLOSE, PING, PONG, CONTINUATION = 1, 2, 8, 9, 10, 0


def request(method: str, target: str, body: bytes = b"", headers: list[str] | None = None,
            length: bool = True) -> bytes:
    """Builds an HTTP/1.1 request; `headers` are whole lines."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost"] + (headers or [])
    if length and (body or method == "POST"):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines + ["", ""]).encode() + body


def upgrade(target: str = f"/app/{FIRST.key}?protocol=7", method: str = "GET", omit: str = "",
            **replaced: str) -> bytes:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    headers |= {name.replace("_", "-"): value for name, value in replaced.items()}
    return request(method, target,
                   headers=[f"{name}: {value}" for name, value in headers.items() if name != omit])


def frame(opcode: int, payload: bytes = b"", first: int = 0x80, masked: bool = True,
          length: int | None = None) -> bytes:
    """Builds a frame; `first` holds FIN and the reserved bits, `length` may be wrong on purpose."""
    length = len(payload) if length is None else length
    mask_bit = 0x80 if masked else 0
    if length < 126:
        head = struct.pack("!BB", first | opcode, mask_bit | length)
    elif length < 65536:
        head = struct.pack("!BBH", first | opcode, mask_bit | 126, length)
    else:
        head = struct.pack("!BBQ", first | opcode, mask_bit | 127, length)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    pad = mask * (len(payload) // 4 + 1)
    return head + mask + bytes(byte ^ key for byte, key in zip(payload, pad))


class Wire:
    """A socket. Reads return None at the end of the stream, however it ended, and fail after
    TIMEOUT.
    """

    def __init__(self, gateway: Gateway, receive_buffer: int | None = None, tls: bool = True,
                 source: str | None = None):
        self.socket = socket.socket()
        if source:
            self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(gateway.address)
        if gateway.tls and tls:
            self.socket = gateway.tls.wrap_socket(self.socket, server_hostname=gateway.host)
        self.buffer = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_ignoring_reset(self, data: bytes) -> None:
        """Like `send`, for data that the gateway may reject by closing the connection."""
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass

    def close_write(self) -> None:
        """Closes this side for writing; the gateway may still send."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the gateway closed first

    def reset(self) -> None:
        """Ends the connection with a RST, like a crashed client."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        self.socket.close()

    def readable(self, seconds: float = 0) -> bool:
        return bool(self.buffer) or bool(select.select([self.socket], [], [], seconds)[0])

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return False
        except TimeoutError:
            raise AssertionError(
                f"nothing within {TIMEOUT} s; so far {self.buffer[:200]!r}") from None
        self.buffer += data
        return bool(data)

    def read_exactly(self, count: int) -> bytes | None:
        while len(self.buffer) < count:
            if not self._more():
                return None
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_to_end(self) -> bytes:
        """Returns everything up to the end of the stream."""
        while self._more():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def at_end(self) -> bool:
        """Returns True if the stream ends here, False if more bytes arrive."""
        return not self.buffer and not self._more()

    # HTTP

    def read_response(self, head: bool = False) -> Response | None:
        """Returns the next HTTP response; None if the stream ends before it is complete."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        header, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = header.decode("latin-1").split("\r\n")
        version, status = first.split(" ")[:2]
        assert version in ("HTTP/1.1", "HTTP/1.0"), first
        headers = {name.lower(): value.strip()
                   for name, _, value in (line.partition(":") for line in lines)}
        status = int(status)
        if head or status < 200 or status in (204, 304):
            return Response(status, headers, b"")
        if "content-length" not in headers:
            return Response(status, headers, self.read_to_end())
        body = self.read_exactly(int(headers["content-length"]))
        return None if body is None else Response(status, headers, body)

    # WebSocket

    def open(self, target: str = f"/app/{FIRST.key}?protocol=7") -> dict:
        """Upgrades and receives `pusher:connection_established`. Returns its data."""
        self.send(upgrade(target))
        return self.expect_established()

    def expect_established(self) -> dict:
        response = self.read_response()
        assert response and response.status == 101, response
        return json.loads(self.expect("pusher:connection_established")["data"])

    def send_event(self, event: str, data=None) -> None:
        self.send(frame(TEXT, json.dumps({"event": event, "data": data}).encode()))

    def subscribe(self, channel: str) -> None:
        self.send_event("pusher:subscribe", {"channel": channel})
        assert self.expect("pusher_internal:subscription_succeeded")["channel"] == channel

    def next_frame(self) -> tuple[int, bytes] | None:
        """Returns the next frame's opcode and payload. The gateway neither masks nor fragments
        frames.
        """
        head = self.read_exactly(2)
        if head is None:
            return None
        assert head[0] & 0x70 == 0, f"reserved bits are set: {head!r}"
        assert head[0] & 0x80 and not head[1] & 0x80, f"fragmented or masked: {head!r}"
        length = head[1]
        if length > 125:
            extended = self.read_exactly(2 if length == 126 else 8)
            if extended is None:
                return None
            length = int.from_bytes(extended, "big")
        payload = self.read_exactly(length)
        return None if payload is None else (head[0] & 0x0F, payload)

    def expect(self, event: str) -> dict:
        got = self.next_frame()
        assert got and got[0] == TEXT, got
        message = json.loads(got[1])
        assert message["event"] == event, message
        return message

    def close_code(self) -> int:
        """Returns the code of the close frame that comes next; 1006 if the stream ends without one.
        """
        got = self.next_frame()
        if got is None:
            return 1006
        opcode, payload = got
        assert opcode == CLOSE, f"expected a close frame, got {opcode}: {payload!r}"
        return int.from_bytes(payload[:2], "big") if payload else 1005
