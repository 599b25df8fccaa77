"""An HTTP/2 server on a separate thread that records its requests and follows a script.

All events of a connection run on that thread; tests read the records, and wait for them with
`wait_until`.
"""

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..apps import TIMEOUT
from .behavior import Behavior, PassThrough
from .connection import GRACE, Connection, Request


@dataclass(eq=False)
class Rule:
    """Applies `behavior` to requests that match (None: all), `times` times (None: always), until a
    monotonic time (None: forever).
    """

    behavior: Behavior
    matches: Callable[[Request], bool] | None
    times: int | None
    until: float | None

    def applies(self, request: Request) -> bool:
        if self.times == 0 or self.until is not None and time.monotonic() > self.until:
            return False
        return self.matches is None or self.matches(request)


class ProviderFake:
    """The common part of APNs and FCM. `delay` is the response time in seconds, or returns it when
    called.
    """

    host = "localhost"
    # How many streams a new connection may open.
    first_limit = 100
    # APNs treats more as an attack.
    max_connections = 4

    def __init__(self, tls: dict[str, str]):
        self.certificate = tls["certificate"]
        # The receive buffer in bytes; None: the kernel's default. Applies to connections after the
        # next `listen`.
        self.receive_buffer: int | None = None
        self.changed = threading.Condition()
        self.requests: list[Request] = []
        self.connections: list[Connection] = []
        self.violations: list[str] = []
        self.rules: list[Rule] = []
        # Invalid tokens, and the request whose response said so.
        self.invalid_tokens: dict[str, Request] = {}
        self.limit = 1_000
        self.delay: float | Callable[[], float] = 0.0
        self.peak_connections = self.refused_streams = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.load_cert_chain(tls["certificate"], tls["key"])
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        # Keeps the port while the server does not listen; connections are then refused.
        self.holder = self.bind(0)
        self.port = self.holder.getsockname()[1]
        self.server = None
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self.on_loop_error)
        self.thread = threading.Thread(target=self.loop.run_forever, name=type(self).__name__,
                                       daemon=True)
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

    def on_loop_error(self, loop, context: dict) -> None:
        """Handshakes may fail and clients may disappear; other errors are defects of the fake."""
        error = context.get("exception")
        if not isinstance(error, OSError):
            self.report_violation(f"defect of the fake: {context.get('message')} {error!r}")

    # For tests; any thread

    def run(self, coroutine):
        """Runs a coroutine on the server's thread and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(TIMEOUT)

    def listen(self) -> None:
        async def start() -> None:
            self.server = await self.loop.create_server(
                lambda: Connection(self), sock=self.bind(self.port), ssl=self.context,
                backlog=1_000)

        if self.server is None:
            self.run(start())

    def stop_listening(self) -> None:
        """Starts an outage: rejects connections and ends those that are open."""
        async def stop() -> None:
            self.server.close()
            for connection in self.open_connections:
                connection.transport.abort()

        if self.server is not None:
            self.run(stop())
            self.server = None

    def script(self, behavior: Behavior, matches: Callable[[Request], bool] | None = None,
               times: int | None = None, seconds: float | None = None) -> Rule:
        """Replaces the default behavior from now on, `times` times or for so many seconds. Earlier
        rules take precedence; requests that the checks reject reach no rule.
        """
        rule = Rule(behavior, matches, times,
                    None if seconds is None else time.monotonic() + seconds)
        self.rules.append(rule)
        return rule

    def skip(self, times: int, matches: Callable[[Request], bool] | None = None) -> None:
        self.script(PassThrough(), matches, times)

    def mark_valid(self, token: str) -> None:
        """Marks a token as valid: the app has registered it again."""
        self.invalid_tokens.pop(token, None)

    def clear_requests(self) -> None:
        """Discards all requests recorded so far, to save memory in long tests."""
        with self.changed:
            self.requests = []

    def clear_rules(self) -> None:
        """Removes all rules."""
        self.rules.clear()

    def set_stream_limit(self, limit: int) -> None:
        """Sets how many streams a connection with valid credentials may open."""
        async def apply() -> None:
            self.limit = limit
            for connection in self.open_connections:
                if connection.limits[-1] > 1 or self.first_limit > 1:
                    connection.announce_limit(limit)

        self.run(apply())

    def send_goaway(self, process_open: bool = True, close_at_once: bool = False) -> None:
        """Sends GOAWAY on every connection, with requests in flight."""
        async def apply() -> None:
            for connection in self.open_connections:
                connection.send_goaway(process_open, close_at_once)

        self.run(apply())

    def wait_until(self, condition: Callable[[], object], what: str, seconds: float = TIMEOUT):
        """Waits until the condition holds for the records. Returns its value."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not (found := condition()):
                left = deadline - time.monotonic()
                assert left > 0, (
                    f"not within {seconds} s: {what}; the last of {len(self.requests)} requests: "
                    f"{self.requests[-5:]}")
                self.changed.wait(min(left, 0.1))
            return found

    def set_reading(self, reads: bool) -> None:
        """Stops or resumes reading on every connection. While stopped, the buffers of both sides
        fill.
        """
        async def apply() -> None:
            for connection in self.open_connections:
                (connection.transport.resume_reading if reads
                 else connection.transport.pause_reading)()

        self.run(apply())

    def close(self) -> None:
        self.stop_listening()

        async def stop() -> None:
            for connection in self.open_connections:
                connection.transport.abort()
            await asyncio.sleep(0)

        self.run(stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.holder.close()

    def assert_no_violations(self) -> None:
        """Asserts that no request violated the provider's rules."""
        assert self.violations == [], "\n".join(self.violations[:10])
        assert self.peak_connections <= self.max_connections, (
            f"{self.peak_connections} connections at once")

    @property
    def open_connections(self) -> list[Connection]:
        return [connection for connection in self.connections if connection.ended_at is None]

    # Called by connections; the server's thread

    def report_violation(self, what: str) -> None:
        with self.changed:
            self.violations.append(what)
            self.changed.notify_all()

    def on_connection_opened(self, connection: Connection) -> None:
        with self.changed:
            connection.number = len(self.connections)
            self.connections.append(connection)
            self.peak_connections = max(self.peak_connections,
                                        sum(not each.blackholed and each.last_kept is None
                                            for each in self.open_connections))
            self.changed.notify_all()

    def on_connection_ended(self, connection: Connection) -> None:
        with self.changed:
            connection.ended_at = time.monotonic()
            self.changed.notify_all()

    def on_request(self, connection: Connection, stream: int, headers: dict[str, str],
                   body: bytearray) -> None:
        request = Request(len(self.requests), connection, stream, headers.get(":method", ""),
                          headers.get(":path", ""), headers, bytes(body), time.monotonic())
        self.record(request)
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()
        behavior = self.behavior_for(request)
        wait = behavior.after or (self.delay() if callable(self.delay) else self.delay)
        if wait:
            self.loop.call_later(wait, self.perform, behavior, connection, request)
        else:
            self.perform(behavior, connection, request)

    def perform(self, behavior: Behavior, connection: Connection, request: Request) -> None:
        if connection.ended_at is None and not connection.blackholed:
            behavior.perform(connection, request)

    def behavior_for(self, request: Request) -> Behavior:
        rejection = self.check(request)
        if rejection is not None:
            return rejection
        for rule in self.rules:
            if rule.applies(request):
                if rule.times is not None:
                    rule.times -= 1
                return rule.behavior
        return self.default_behavior(request)

    def on_response(self, request: Request, status: int) -> None:
        with self.changed:
            request.status, request.responded_at = status, time.monotonic()
            self.changed.notify_all()
        self.after_response(request)

    def must_know_invalid(self, token: str, request: Request) -> bool:
        """Returns whether the sender must have known for some time that the token is invalid."""
        rejected = self.invalid_tokens.get(token)
        return (rejected is not None and not rejected.response_may_be_lost
                and request.at > rejected.responded_at + GRACE)

    # Overridden by each provider

    def record(self, request: Request) -> None:
        """Records a request before it is checked."""

    def check(self, request: Request) -> Behavior | None:
        """Returns the rejection of an invalid request. A request that must never be sent is also
        reported as a violation.
        """
        raise NotImplementedError

    def default_behavior(self, request: Request) -> Behavior:
        """Returns the response to a valid request."""
        raise NotImplementedError

    def after_response(self, request: Request) -> None:
        """Called after the response was sent."""
