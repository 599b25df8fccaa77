"""One connection of a client and its requests. Everything runs on the server's thread."""

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (ConnectionTerminated, DataReceived, RequestReceived, SettingsAcknowledged,
                       StreamEnded, StreamReset)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame, SettingsFrame

if TYPE_CHECKING:
    from .server import ProviderFake

LIMIT = SettingCodes.MAX_CONCURRENT_STREAMS
# Maximum frame size, unless the client allows more.
FRAME = 16_384
# Seconds within which frames that were in flight may still arrive after a change was announced.
GRACE = 1.0
# Seconds for which a server still reads after GOAWAY.
LINGER = 1.0


@dataclass(eq=False)
class Request:
    """A request. `at` and `responded_at` are monotonic times; `status` is None while undecided, and
    0 if the response could not be sent.
    """

    number: int
    connection: "Connection"
    stream: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    status: int | None = None
    response_body: bytes = b""
    responded_at: float | None = None

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def accepted(self) -> bool:
        return self.status == 200

    @property
    def response_may_be_lost(self) -> bool:
        """Returns whether the connection may have ended before the client read or recorded the
        response.
        """
        ended = self.connection.ended_at
        return (self.responded_at is None or ended is not None
                and ended - self.responded_at < GRACE / 2)

    def __repr__(self) -> str:
        return (f"<{self.number}: {self.method} {self.path[-20:]} on "
                f"{self.connection.number}/{self.stream} -> {self.status} "
                f"{self.response_body[:80]!r}>")


class Connection(asyncio.Protocol):
    """One connection of a client. Accepts more streams than announced, in order to reject them
    itself.
    """

    def __init__(self, fake: "ProviderFake"):
        self.fake, self.number = fake, 0
        self.blackholed = self.flushing = self.close_at_once = False
        # After a GOAWAY: the last stream that is still processed.
        self.last_kept: int | None = None
        self.started_at, self.ended_at = time.monotonic(), None
        self.open: dict[int, tuple[dict, bytearray]] = {}
        self.awaiting_response: set[int] = set()
        # `limits` are the stream limits that the client may still apply: the last acknowledged one
        # and those announced since.
        self.last_stream, self.limits, self.acknowledged = 0, [], False
        self.transport, self.h2 = None, None
        # What the fake stores per connection, for example the credentials seen on it.
        self.memory: dict = {}

    # Called by asyncio

    def connection_made(self, transport) -> None:
        self.transport = transport
        protocol = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        if protocol != "h2":
            self.fake.report_violation(f"a client negotiated {protocol} instead of h2")
            return transport.abort()
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        first = self.fake.first_limit
        self.h2.local_settings = Settings(client=False,
                                          initial_values={
            LIMIT: first, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(1 << 24)
        # h2 would end the connection at the first stream over the limit. Check the limit
        # here instead, because only this class knows which limit the client has acknowledged.
        del self.h2.local_settings[LIMIT]
        self.limits.append(first)
        self.fake.on_connection_opened(self)
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.blackholed or self.h2 is None:
            return
        try:
            for event in self.h2.receive_data(data):
                self.on_event(event)
        except ProtocolError as error:
            self.fake.report_violation(f"a client broke HTTP/2: {error!r}")
            self.end()
        self.flush()

    def connection_lost(self, error) -> None:
        if self.h2 is not None:
            self.fake.on_connection_ended(self)

    # Received frames

    def on_event(self, event) -> None:
        match event:
            case RequestReceived():
                self.on_headers(event.stream_id, event.headers)
            case DataReceived():
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if event.stream_id in self.open:
                    self.open[event.stream_id][1].extend(event.data)
            case StreamEnded():
                if event.stream_id in self.open:
                    self.fake.on_request(self, event.stream_id, *self.open.pop(event.stream_id))
            case StreamReset():
                self.open.pop(event.stream_id, None)
                self.awaiting_response.discard(event.stream_id)
            case SettingsAcknowledged():
                # The first acknowledgement is for the initial settings, which preceded all limits.
                if self.acknowledged and len(self.limits) > 1:
                    self.limits.pop(0)
                self.acknowledged = True
            case ConnectionTerminated():
                if event.error_code != ErrorCodes.NO_ERROR:
                    self.fake.report_violation(
                        f"a client sent GOAWAY {event.error_code}: {event.additional_data!r}")

    def on_headers(self, stream: int, headers: list) -> None:
        if self.last_kept is not None and stream > self.last_kept:
            return  # not processed, as the GOAWAY announced
        if len(self.awaiting_response) >= self.limits[-1]:
            # Until the client acknowledges a lower limit, it may not know it.
            if self.acknowledged and len(self.awaiting_response) >= max(self.limits):
                self.fake.report_violation(
                    f"stream {stream} exceeds the limit: {len(self.awaiting_response)} are open, "
                    f"{self.limits} allowed")
            self.fake.refused_streams += 1
            return self.reset(stream, ErrorCodes.REFUSED_STREAM)
        names = [name for name, _ in headers]
        if len(names) != len(set(names)):
            self.fake.report_violation(f"duplicate headers: {names}")
        self.last_stream = stream
        self.awaiting_response.add(stream)
        self.open[stream] = (dict(headers), bytearray())

    # Sent frames

    def flush(self) -> None:
        """Sends everything written in one turn of the loop at once: several responses in one TLS
        record, like a server under load.
        """
        if not self.flushing:
            self.flushing = True
            asyncio.get_running_loop().call_soon(self.flush_now)

    def flush_now(self) -> None:
        self.flushing = False
        data = self.h2.data_to_send()
        if data and not self.blackholed:
            self.transport.write(data)

    def write(self, frame) -> None:
        """Sends a frame directly, bypassing the state of h2."""
        self.flush_now()
        if not self.blackholed:
            self.transport.write(frame.serialize())

    def respond(self, request: Request, status: int, headers: dict[str, str], body: bytes) -> None:
        request.response_body = body
        if (request.stream not in self.awaiting_response or self.blackholed
                or self.ended_at is not None):
            request.status = status if status == 200 else 0
            return  # the client no longer waits, but an accepted push stays accepted
        self.awaiting_response.discard(request.stream)
        fields = [(":status", str(status)), *headers.items(),
                  *([("content-type", "application/json")] if body else [])]
        try:
            self.h2.send_headers(request.stream, fields, end_stream=not body)
            for start in range(0, len(body), FRAME):
                self.h2.send_data(request.stream, body[start:start + FRAME],
                                  end_stream=start + FRAME >= len(body))
        except ProtocolError:
            request.status = status if status == 200 else 0
            return
        self.flush()
        self.fake.on_response(request, status)
        if self.last_kept is not None and not self.awaiting_response:
            self.close_after_goaway()

    def reset(self, stream: int, code: ErrorCodes) -> None:
        self.awaiting_response.discard(stream)
        with contextlib.suppress(ProtocolError):  # the stream may be closed already
            self.h2.reset_stream(stream, code)
        self.flush()

    def end(self) -> None:
        """Closes in an orderly way; aborts if the client does not close."""
        self.flush_now()
        self.transport.close()
        asyncio.get_running_loop().call_later(0.2, self.transport.abort)

    def abort(self) -> None:
        self.transport.abort()

    def close_after_goaway(self) -> None:
        """Closes after a GOAWAY, when all responses are sent. A server lingers: closing at once
        would reset the connection while the client still writes, and the client might never read
        the last responses. With `close_at_once` it does exactly that.
        """
        if self.close_at_once:
            self.end()
        else:
            asyncio.get_running_loop().call_later(LINGER, self.end)

    def send_goaway(self, process_open: bool, close_at_once: bool = False,
                    code: ErrorCodes = ErrorCodes.NO_ERROR, reason: str = "") -> None:
        """Sends GOAWAY. With `process_open`, all requests received so far are processed and
        answered; otherwise none without a response.
        """
        if self.last_kept is not None:
            return
        self.close_at_once = close_at_once
        self.last_kept = (self.last_stream if process_open
                          else min(self.awaiting_response, default=self.last_stream + 2) - 2)
        debug = json.dumps({"reason": reason}).encode() if reason else b""
        self.write(
            GoAwayFrame(0, last_stream_id=self.last_kept, error_code=code, additional_data=debug))
        self.awaiting_response = {stream for stream in self.awaiting_response
                                  if stream <= self.last_kept}
        if not self.awaiting_response:
            self.close_after_goaway()

    def announce_limit(self, limit: int) -> None:
        """Announces a new limit of concurrent streams."""
        if limit != self.limits[-1]:
            self.limits.append(limit)
            self.write(SettingsFrame(0, settings={LIMIT: limit}))
