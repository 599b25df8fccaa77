"""What a provider does with a request: the right thing, something else, or nothing."""

import json
from dataclasses import dataclass, field

from h2.errors import ErrorCodes


@dataclass
class Conduct:
    """`after` is how many seconds pass first."""

    after: float = field(default=0.0, kw_only=True)

    def perform(self, connection, request) -> None:
        raise NotImplementedError


@dataclass
class Say(Conduct):
    """An answer. Whether the push was taken, its status says."""

    status: int
    body: dict | bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def perform(self, connection, request) -> None:
        body = b"" if self.body is None else self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        connection.answer(request, self.status, self.headers, body)


@dataclass
class Proceed(Conduct):
    """What it would have done anyway: for a delay, or to let some pass before the next rule."""

    def perform(self, connection, request) -> None:
        connection.fake.usual(request).perform(connection, request)


@dataclass
class Hang(Conduct):
    """Never any answer to this one; the others get theirs."""

    def perform(self, connection, request) -> None:
        pass


@dataclass
class Reset(Conduct):
    """RST_STREAM. What was refused was not processed; of anything else nobody can say."""

    code: ErrorCodes = ErrorCodes.INTERNAL_ERROR

    def perform(self, connection, request) -> None:
        connection.reset(request.stream, self.code)


@dataclass
class Abort(Conduct):
    """The connection ends with a RST, in the middle of everything. `taken`: it had processed this request."""

    taken: bool = False

    def perform(self, connection, request) -> None:
        if self.taken:
            request.status = 200
        connection.abort()


@dataclass
class GoDeaf(Conduct):
    """The connection stays open, and nothing is heard on it nor said ever again, as behind a router that forgot it."""

    def perform(self, connection, request) -> None:
        connection.deaf = True


@dataclass
class GoAway(Conduct):
    """GOAWAY. `keeping` what came so far, which is answered; or nothing that waits for its answer, which was not processed then.
    The `hasty` close the door behind the last answer, whatever is still on its way in."""

    keeping: bool = True
    hasty: bool = field(default=False, kw_only=True)
    code: ErrorCodes = ErrorCodes.NO_ERROR
    reason: str = ""

    def perform(self, connection, request) -> None:
        connection.go_away(self.keeping, self.hasty, self.code, self.reason)
        if self.keeping:
            connection.fake.usual(request).perform(connection, request)
