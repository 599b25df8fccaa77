"""One connection of a client, and the requests that came over it. All of it happens in the thread of the server."""

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, SettingsAcknowledged, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame, SettingsFrame

if TYPE_CHECKING:
    from .server import ProviderFake

LIMIT = SettingCodes.MAX_CONCURRENT_STREAMS
# What a frame holds, unless the other side allows more.
FRAME = 16_384
# Seconds within which what is under way may still arrive after we said something.
GRACE = 1.0
# Seconds for which a server that said goodbye still reads.
LINGER = 1.0


@dataclass(eq=False)
class Request:
    """`at` and `answered_at` are of the monotonic clock; `status` is None while nothing was decided, and 0 when it was given up."""

    number: int
    connection: "Connection"
    stream: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    status: int | None = None
    answer: bytes = b""
    answered_at: float | None = None

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def taken(self) -> bool:
        return self.status == 200

    @property
    def answer_may_be_lost(self) -> bool:
        """Whether the other side may not have read the answer, or not have written down what it read, when the connection ended."""
        ended = self.connection.ended_at
        return self.answered_at is None or ended is not None and ended - self.answered_at < GRACE / 2

    def __repr__(self) -> str:
        return f"<{self.number}: {self.method} {self.path[-20:]} on {self.connection.number}/{self.stream} -> {self.status} {self.answer[:80]!r}>"


class Connection(asyncio.Protocol):
    """One connection of a client. It accepts more streams than it announced only to refuse them in the end."""

    def __init__(self, fake: "ProviderFake"):
        self.fake, self.number, self.deaf, self.flushing, self.last_kept, self.hasty = fake, 0, False, False, None, False
        self.started_at, self.ended_at = time.monotonic(), None
        self.open: dict[int, tuple[dict, bytearray]] = {}
        self.unanswered: set[int] = set()
        self.last_stream, self.limits, self.acknowledged = 0, [], False
        self.transport, self.h2 = None, None
        # What the fake remembers of this connection, such as the credentials that came over it.
        self.memory: dict = {}

    # What asyncio calls

    def connection_made(self, transport) -> None:
        self.transport = transport
        spoken = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        if spoken != "h2":
            self.fake.violate(f"a client speaks {spoken} instead of h2")
            return transport.abort()
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        first = self.fake.first_limit
        self.h2.local_settings = Settings(client=False, initial_values={LIMIT: first, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(1 << 24)
        # The library would end the connection at one stream too many; which one that is, we know better.
        del self.h2.local_settings[LIMIT]
        self.limits.append(first)
        self.fake.opened(self)
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.deaf or self.h2 is None:
            return
        try:
            for event in self.h2.receive_data(data):
                self.happened(event)
        except ProtocolError as error:
            self.fake.violate(f"a client broke HTTP/2: {error!r}")
            self.end()
        self.flush()

    def connection_lost(self, error) -> None:
        if self.h2 is not None:
            self.fake.ended(self)

    # What clients say

    def happened(self, event) -> None:
        match event:
            case RequestReceived():
                self.began(event.stream_id, event.headers)
            case DataReceived():
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self.open:
                    self.open[event.stream_id][1].extend(event.data)
            case StreamEnded():
                if event.stream_id in self.open:
                    self.fake.received(self, event.stream_id, *self.open.pop(event.stream_id))
            case StreamReset():
                self.open.pop(event.stream_id, None)
                self.unanswered.discard(event.stream_id)
            case SettingsAcknowledged():
                # The first is for the first, which went before all.
                if self.acknowledged and len(self.limits) > 1:
                    self.limits.pop(0)
                self.acknowledged = True
            case ConnectionTerminated():
                if event.error_code != ErrorCodes.NO_ERROR:
                    self.fake.violate(f"a client says GOAWAY {event.error_code}: {event.additional_data!r}")

    def began(self, stream: int, headers: list) -> None:
        if self.last_kept is not None and stream > self.last_kept:
            return  # as was said: not processed
        if len(self.unanswered) >= self.limits[-1]:
            # Until it has acknowledged a limit it may not know.
            if self.acknowledged and len(self.unanswered) >= max(self.limits):
                self.fake.violate(f"stream {stream} is one too many: {len(self.unanswered)} are open, {self.limits} allowed")
            self.fake.refused_streams += 1
            return self.reset(stream, ErrorCodes.REFUSED_STREAM)
        names = [name for name, _ in headers]
        if len(names) != len(set(names)):
            self.fake.violate(f"headers come twice: {names}")
        self.last_stream = stream
        self.unanswered.add(stream)
        self.open[stream] = (dict(headers), bytearray())

    # What we say

    def flush(self) -> None:
        """All that is said in one turn of the loop goes out in one piece: many answers in a record of TLS, as from a server under load."""
        if not self.flushing:
            self.flushing = True
            asyncio.get_running_loop().call_soon(self.flush_now)

    def flush_now(self) -> None:
        self.flushing = False
        data = self.h2.data_to_send()
        if data and not self.deaf:
            self.transport.write(data)

    def write(self, frame) -> None:
        """A frame as it is: of what we mean by it the library knows nothing."""
        self.flush_now()
        if not self.deaf:
            self.transport.write(frame.serialize())

    def answer(self, request: Request, status: int, headers: dict[str, str], body: bytes) -> None:
        request.answer = body
        if request.stream not in self.unanswered or self.deaf or self.ended_at is not None:
            request.status = status if status == 200 else 0
            return  # nobody waits for it any more, but what it took it took
        self.unanswered.discard(request.stream)
        fields = [(":status", str(status)), *headers.items(), *([("content-type", "application/json")] if body else [])]
        try:
            self.h2.send_headers(request.stream, fields, end_stream=not body)
            for start in range(0, len(body), FRAME):
                self.h2.send_data(request.stream, body[start:start + FRAME], end_stream=start + FRAME >= len(body))
        except ProtocolError:
            request.status = status if status == 200 else 0
            return
        self.flush()
        self.fake.answered(request, status)
        if self.last_kept is not None and not self.unanswered:
            self.leave()

    def reset(self, stream: int, code: ErrorCodes) -> None:
        self.unanswered.discard(stream)
        with contextlib.suppress(ProtocolError):  # it may be closed already
            self.h2.reset_stream(stream, code)
        self.flush()

    def end(self) -> None:
        """An orderly end, but not for those who do not say their share of it."""
        self.flush_now()
        self.transport.close()
        asyncio.get_running_loop().call_later(0.2, self.transport.abort)

    def abort(self) -> None:
        self.transport.abort()

    def leave(self) -> None:
        """After a GOAWAY, when nothing is left to answer. A server lingers: one that closes at once resets the connection
        under a client that is still writing, which may then never read the last answers. The `hasty` do just that."""
        if self.hasty:
            self.end()
        else:
            asyncio.get_running_loop().call_later(LINGER, self.end)

    def go_away(self, keeping: bool, hasty: bool = False, code: ErrorCodes = ErrorCodes.NO_ERROR, reason: str = "") -> None:
        """With `keeping`, all that came so far is processed and answered; otherwise nothing that has no answer yet."""
        if self.last_kept is not None:
            return
        self.hasty = hasty
        self.last_kept = self.last_stream if keeping else min(self.unanswered, default=self.last_stream + 2) - 2
        debug = json.dumps({"reason": reason}).encode() if reason else b""
        self.write(GoAwayFrame(0, last_stream_id=self.last_kept, error_code=code, additional_data=debug))
        self.unanswered = {stream for stream in self.unanswered if stream <= self.last_kept}
        if not self.unanswered:
            self.leave()

    def announce(self, limit: int) -> None:
        """A new limit of streams."""
        if limit != self.limits[-1]:
            self.limits.append(limit)
            self.write(SettingsFrame(0, settings={LIMIT: limit}))
