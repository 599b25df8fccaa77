"""A proxy before the gateway that loses, repeats or reorders what the gateway sends to clients."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from .gateway import Gateway

# Gets each text message of one connection in turn, and returns what the client gets instead.
Tamper = Callable[[bytes], list[bytes]]


class TamperingProxy:
    """Forwards all connections. Text messages of WebSockets pass through a function, which
    `tamper` creates for each connection.
    """

    def __init__(self, gateway: Gateway, tamper: Callable[[], Tamper]):
        self.gateway, self.tamper = gateway, tamper
        self.listener = socket.create_server((gateway.host, 0), backlog=128)
        self.url = f"ws://{gateway.host}:{self.listener.getsockname()[1]}"
        self.sockets: list[socket.socket] = []
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.gateway.address)
                self.sockets += [client, server]
                for forward in (self._forward, self._forward_tampered):
                    thread = threading.Thread(target=forward, args=(client, server))
                    self.threads.append(thread)
                    thread.start()

    @staticmethod
    def _forward(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _forward_tampered(self, client: socket.socket, server: socket.socket) -> None:
        tamper = self.tamper()
        with contextlib.suppress(OSError, EOFError):
            reader = server.makefile("rb")
            first = reader.readline()
            client.sendall(first)
            if first.startswith(b"HTTP/1.1 101"):
                while (line := reader.readline()).strip():
                    client.sendall(line)
                client.sendall(line)
                for opcode, payload in frames(reader):
                    for message in tamper(payload) if opcode == 1 else [payload]:
                        client.sendall(frame(opcode, message))
            else:
                while data := reader.read1(65536):
                    client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        # The first thread adds to both lists, so it is joined before they are read.
        self.threads[0].join()
        for each in self.sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for each in self.sockets:
            each.close()


def frames(reader) -> Iterator[tuple[int, bytes]]:
    """Yields opcode and payload of a server's frames, which are neither masked nor fragmented."""
    def read(count: int) -> bytes:
        data = reader.read(count)
        if len(data) < count:
            raise EOFError
        return data

    while True:
        first, length = read(2)
        if length == 126:
            length = int.from_bytes(read(2))
        elif length == 127:
            length = int.from_bytes(read(8))
        yield first & 15, read(length)


def frame(opcode: int, payload: bytes) -> bytes:
    """Encodes a server's frame."""
    if len(payload) < 126:
        return bytes([0x80 | opcode, len(payload)]) + payload
    return bytes([0x80 | opcode, 126]) + len(payload).to_bytes(2) + payload
