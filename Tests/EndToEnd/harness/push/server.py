"""An HTTP/2 server in a thread of its own that records what it is sent and does what it is told.

Everything about a connection happens in that thread; tests read the records, and wait for them with `until`.
"""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..apps import PATIENCE
from .conduct import Conduct, Proceed
from .connection import GRACE, Connection, Request


@dataclass(eq=False)
class Rule:
    """`times` None: always. `matches` None: every request."""

    conduct: Conduct
    matches: Callable[[Request], bool] | None
    times: int | None
    until: float | None

    def applies(self, request: Request) -> bool:
        if self.times == 0 or self.until is not None and time.monotonic() > self.until:
            return False
        return self.matches is None or self.matches(request)


class ProviderFake:
    """What APNs and FCM have in common. `delay` is how many seconds every answer takes, or says so when called."""

    host = "localhost"
    first_limit = 100
    # More at once look like an attack.
    connections_most = 4

    def __init__(self, tls: dict[str, str]):
        self.certificate = tls["certificate"]
        # Bytes that the kernel takes in of what is not read; None: as many as it likes. For connections after the next `listen`.
        self.receive_buffer: int | None = None
        self.changed = threading.Condition()
        self.requests: list[Request] = []
        self.connections: list[Connection] = []
        self.violations: list[str] = []
        self.rules: list[Rule] = []
        # Tokens that are dead, and the request that was told so.
        self.dead: dict[str, Request] = {}
        self.limit = 1_000
        self.delay: float | Callable[[], float] = 0.0
        self.most_open = self.refused_streams = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.load_cert_chain(tls["certificate"], tls["key"])
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        # It keeps the port while nobody listens: then connections are refused.
        self.holder = self.bind(0)
        self.port = self.holder.getsockname()[1]
        self.server = None
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self.went_wrong)
        self.thread = threading.Thread(target=self.loop.run_forever, name=type(self).__name__, daemon=True)
        self.thread.start()
        self.listen()

    def bind(self, port: int) -> socket.socket:
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if self.receive_buffer:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        bound.bind(("127.0.0.1", port))
        return bound

    def went_wrong(self, loop, context: dict) -> None:
        """Handshakes may fail and peers may vanish; mistakes of our own may not happen."""
        error = context.get("exception")
        if not isinstance(error, OSError):
            self.violate(f"the fake itself: {context.get('message')} {error!r}")

    # What tests say; any thread

    def run(self, coroutine):
        """Does something in the server's thread, and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def listen(self) -> None:
        async def start() -> None:
            self.server = await self.loop.create_server(lambda: Connection(self), sock=self.bind(self.port), ssl=self.context, backlog=1_000)

        if self.server is None:
            self.run(start())

    def refuse(self) -> None:
        """Nobody is there: connections are refused, and those that there were end."""
        async def stop() -> None:
            self.server.close()
            for connection in self.open_connections:
                connection.transport.abort()

        if self.server is not None:
            self.run(stop())
            self.server = None

    def script(self, conduct: Conduct, matches: Callable[[Request], bool] | None = None, times: int | None = None, seconds: float | None = None) -> Rule:
        """From now on, `times` times or for so long, in place of the usual. Earlier rules go first; what the strict checks refuse never gets here."""
        rule = Rule(conduct, matches, times, None if seconds is None else time.monotonic() + seconds)
        self.rules.append(rule)
        return rule

    def skip(self, times: int, matches: Callable[[Request], bool] | None = None) -> None:
        self.script(Proceed(), matches, times)

    def revive(self, token: str) -> None:
        """Its app has registered it again."""
        self.dead.pop(token, None)

    def forget(self) -> None:
        """All requests so far, when there have been many and they are accounted for."""
        with self.changed:
            self.requests = []

    def behave(self) -> None:
        """The end of all rules."""
        self.rules.clear()

    def set_limit(self, limit: int) -> None:
        """How many streams it allows on a connection it knows."""
        async def tell() -> None:
            self.limit = limit
            for connection in self.open_connections:
                if connection.limits[-1] > 1 or self.first_limit > 1:
                    connection.announce(limit)

        self.run(tell())

    def all_go_away(self, keeping: bool = True, hasty: bool = False) -> None:
        """GOAWAY on every connection, whatever is under way on it."""
        async def tell() -> None:
            for connection in self.open_connections:
                connection.go_away(keeping, hasty)

        self.run(tell())

    def until(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE):
        """Waits for something in the records; answers what `holds` did."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not (found := holds()):
                left = deadline - time.monotonic()
                assert left > 0, f"not within {seconds} s: {what}; the last of {len(self.requests)} requests: {self.requests[-5:]}"
                self.changed.wait(min(left, 0.1))
            return found

    def read(self, reads: bool) -> None:
        """Stops reading, or goes on, on every connection: then its buffers fill, and those of the other side."""
        async def tell() -> None:
            for connection in self.open_connections:
                (connection.transport.resume_reading if reads else connection.transport.pause_reading)()

        self.run(tell())

    def close(self) -> None:
        self.refuse()

        async def stop() -> None:
            for connection in self.open_connections:
                connection.transport.abort()
            await asyncio.sleep(0)

        self.run(stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.holder.close()

    def assert_content(self) -> None:
        """Nobody did what the provider would mind."""
        assert self.violations == [], "\n".join(self.violations[:10])
        assert self.most_open <= self.connections_most, f"{self.most_open} connections at once"

    @property
    def open_connections(self) -> list[Connection]:
        return [connection for connection in self.connections if connection.ended_at is None]

    # What connections say; the server's thread

    def violate(self, what: str) -> None:
        with self.changed:
            self.violations.append(what)
            self.changed.notify_all()

    def opened(self, connection: Connection) -> None:
        with self.changed:
            connection.number = len(self.connections)
            self.connections.append(connection)
            self.most_open = max(self.most_open, sum(not each.deaf and each.last_kept is None for each in self.open_connections))
            self.changed.notify_all()

    def ended(self, connection: Connection) -> None:
        with self.changed:
            connection.ended_at = time.monotonic()
            self.changed.notify_all()

    def received(self, connection: Connection, stream: int, headers: dict[str, str], body: bytearray) -> None:
        request = Request(len(self.requests), connection, stream, headers.get(":method", ""), headers.get(":path", ""), headers, bytes(body), time.monotonic())
        self.note(request)
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        conduct = self.conduct_for(request)
        wait = conduct.after or (self.delay() if callable(self.delay) else self.delay)
        if wait:
            self.loop.call_later(wait, self.perform, conduct, connection, request)
        else:
            self.perform(conduct, connection, request)

    def perform(self, conduct: Conduct, connection: Connection, request: Request) -> None:
        if connection.ended_at is None and not connection.deaf:
            conduct.perform(connection, request)

    def conduct_for(self, request: Request) -> Conduct:
        refusal = self.judge(request)
        if refusal is not None:
            return refusal
        for rule in self.rules:
            if rule.applies(request):
                if rule.times is not None:
                    rule.times -= 1
                return rule.conduct
        return self.usual(request)

    def answered(self, request: Request, status: int) -> None:
        with self.changed:
            request.status, request.answered_at = status, time.monotonic()
            self.changed.notify_all()
        self.after_answer(request)

    def knows_dead(self, token: str, request: Request) -> bool:
        """Whether who sends this must have heard, some time ago, that the token is dead."""
        told = self.dead.get(token)
        return told is not None and not told.answer_may_be_lost and request.at > told.answered_at + GRACE

    # What each provider decides

    def note(self, request: Request) -> None:
        """Before it is judged."""

    def judge(self, request: Request) -> Conduct | None:
        """The refusal of what is wrong; what should never have been sent is a violation besides."""
        raise NotImplementedError

    def usual(self, request: Request) -> Conduct:
        """What becomes of what is right."""
        raise NotImplementedError

    def after_answer(self, request: Request) -> None:
        """Once it is answered."""
