"""A proxy that stops forwarding without closing anything: like a network that swallows all packets."""

import contextlib
import select
import socket
import threading

from .gateway import Gateway


class BlackHole:
    """Forwards the first connection to the gateway, and back, until `open`. It has what clients need of a
    gateway: an address.
    """

    def __init__(self, gateway: Gateway):
        self.host, self.tls, self.listener = gateway.host, None, socket.create_server((gateway.host, 0))
        self.address = self.listener.getsockname()
        self.wake, self.woken = socket.socketpair()
        self.gateway_side = socket.create_connection(gateway.address)
        self.thread = threading.Thread(target=self.forward)
        self.thread.start()

    def forward(self) -> None:
        with contextlib.suppress(OSError):
            if self.listener not in select.select([self.listener, self.woken], [], [])[0]:
                return
            self.client_side, _ = self.listener.accept()
            other = {self.client_side: self.gateway_side, self.gateway_side: self.client_side}
            while self.woken not in (ready := select.select([*other, self.woken], [], [])[0]):
                for each in ready:
                    if not (data := each.recv(65536)):
                        return
                    other[each].sendall(data)

    def open(self) -> None:
        """Forwards nothing from now on, and reads nothing, so that the gateway gets no answer."""
        self.wake.send(b"x")
        self.thread.join()

    def swallowed(self) -> bytes:
        """Returns what the gateway has written since `open`. Waits until the gateway ends the connection."""
        data = b""
        self.gateway_side.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while more := self.gateway_side.recv(65536):
                data += more
        return data

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.wake.send(b"x")
        self.thread.join()
        for each in (self.listener, self.gateway_side, getattr(self, "client_side", None), self.wake, self.woken):
            if each:
                each.close()
