"""What a provider does with a request: respond, fail, or nothing."""

import json
from dataclasses import dataclass, field

from h2.errors import ErrorCodes


@dataclass
class Behavior:
    """`after` is a delay in seconds."""

    after: float = field(default=0.0, kw_only=True)

    def perform(self, connection, request) -> None:
        raise NotImplementedError


@dataclass
class Respond(Behavior):
    """Sends a response. A push is accepted if the status is 200."""

    status: int
    body: dict | bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def perform(self, connection, request) -> None:
        body = (b"" if self.body is None else self.body if isinstance(self.body, bytes)
                else json.dumps(self.body).encode())
        connection.respond(request, self.status, self.headers, body)


@dataclass
class PassThrough(Behavior):
    """Does what the provider would have done: for a delay, or to let some requests pass before the
    next rule.
    """

    def perform(self, connection, request) -> None:
        connection.fake.default_behavior(request).perform(connection, request)


@dataclass
class Hang(Behavior):
    """Never responds to this request; others get their responses."""

    def perform(self, connection, request) -> None:
        pass


@dataclass
class Reset(Behavior):
    """Sends RST_STREAM. REFUSED_STREAM means not processed; with other codes the client cannot
    know.
    """

    code: ErrorCodes = ErrorCodes.INTERNAL_ERROR

    def perform(self, connection, request) -> None:
        connection.reset(request.stream, self.code)


@dataclass
class Abort(Behavior):
    """Resets the TCP connection. `accepted`: the provider had processed this request."""

    accepted: bool = False

    def perform(self, connection, request) -> None:
        if self.accepted:
            request.status = 200
        connection.abort()


@dataclass
class Blackhole(Behavior):
    """Keeps the connection open, but reads and sends nothing any more, like a router that lost its
    state.
    """

    def perform(self, connection, request) -> None:
        connection.blackholed = True


@dataclass
class GoAway(Behavior):
    """Sends GOAWAY. With `process_open`, requests received so far are processed and answered;
    otherwise none of the open ones. With `close_at_once`, closes after the last response and
    discards what is still in flight.
    """

    process_open: bool = True
    close_at_once: bool = field(default=False, kw_only=True)
    code: ErrorCodes = ErrorCodes.NO_ERROR
    reason: str = ""

    def perform(self, connection, request) -> None:
        connection.send_goaway(self.process_open, self.close_at_once, self.code, self.reason)
        if self.process_open:
            connection.fake.default_behavior(request).perform(connection, request)
