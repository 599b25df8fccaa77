"""A TLS client that decides when each byte leaves, and sees each record."""

import ctypes
import socket
import ssl

from .apps import TIMEOUT
from .gateway import Gateway
from .wire import Wire

OPENSSL = ctypes.CDLL("libssl.so.3")


class TLSWire(Wire):
    """A socket with TLS on top. Without `finish`, the handshake is left to the test."""

    def __init__(self, gateway: Gateway, context: ssl.SSLContext | None = None,
                 receive_buffer: int | None = None, finish: bool = True):
        super().__init__(gateway, receive_buffer, tls=False)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or gateway.tls).wrap_bio(self._incoming, self._outgoing,
                                                     server_hostname=gateway.host)
        # The sizes of the records received since the handshake.
        self.records: list[int] = []
        self._unparsed = b""
        # Whether the gateway has said that no more follows (close_notify), which TCP alone cannot prove.
        self.is_notified = False
        if finish:
            self.socket.sendall(self.last_flight())

    def hello(self) -> bytes:
        """Returns the ClientHello, unsent."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self._outgoing.read()

    def last_flight(self) -> bytes:
        """Performs the handshake, and returns the bytes that end it, unsent."""
        while True:
            try:
                self.tls.do_handshake()
                self.records.clear()
                return self._outgoing.read()
            except ssl.SSLWantReadError:
                self.socket.sendall(self._outgoing.read())
                assert self._receive(), "the gateway ended the handshake"

    def seal(self, data: bytes) -> bytes:
        """Returns the records that carry these bytes, unsent."""
        self.tls.write(data)
        return self._outgoing.read()

    def seal_end(self) -> bytes:
        """Returns close_notify, unsent: it says that no more bytes follow from this side."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass  # the gateway may still send
        return self._outgoing.read()

    def seal_key_update(self) -> bytes:
        """Returns a KeyUpdate that asks the gateway to update its keys, too (RFC 8446 section 4.6.3), unsent. Python
        has no function for it. CPython's `_ssl._SSLSocket` has OpenSSL's object behind its header and one pointer.
        """
        session = ctypes.c_void_p.from_address(id(self.tls._sslobj) + 3 * ctypes.sizeof(ctypes.c_void_p))
        assert OPENSSL.SSL_key_update(session, 1) == 1 and OPENSSL.SSL_do_handshake(session) == 1
        return self._outgoing.read()

    def send(self, data: bytes) -> None:
        self.socket.sendall(self.seal(data))

    def send_ignoring_reset(self, data: bytes) -> None:
        try:
            self.send(data)
        except (ConnectionResetError, BrokenPipeError):
            pass

    def _more(self) -> bool:
        while True:
            try:
                data = self.tls.read(65536)
            except ssl.SSLWantReadError:
                if not self._receive():
                    return False
                continue
            except ssl.SSLZeroReturnError:
                data = b""
            self.is_notified = not data
            self.buffer += data
            return bool(data)

    def _receive(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return False
        except socket.timeout:
            raise AssertionError(f"nothing within {TIMEOUT} s; so far {self.buffer[:200]!r}") from None
        self._incoming.write(data)
        self._unparsed += data
        while len(self._unparsed) >= 5:
            size = int.from_bytes(self._unparsed[3:5], "big")
            if len(self._unparsed) < 5 + size:
                break
            self.records.append(size)
            self._unparsed = self._unparsed[5 + size:]
        return bool(data)
