"""A webhook endpoint: a small HTTP server that checks each request and returns the status that a
test sets.
"""

import json
import queue
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .apps import FIRST, SECOND, TIMEOUT


def webhook(url: str, **more) -> dict:
    """Returns an entry of `webhooks` that points to a receiver of the tests."""
    return {"url": url, "allow_private": True} | more


@dataclass(frozen=True)
class WebhookRequest:
    """One request as received."""
    path: str
    headers: dict[str, str]
    body: bytes
    received_at: float = field(default_factory=time.monotonic)

    @property
    def events(self) -> list[dict]:
        return json.loads(self.body)["events"]

    def check(self) -> None:
        """Checks V2 and V3: the key, the signature and the envelope of the body."""
        app = {app.key: app for app in (FIRST, SECOND)}[self.headers["x-pusher-key"]]
        assert self.headers["x-pusher-signature"] == app.sign(self.body.decode()), self
        assert self.headers["content-type"] == "application/json", self
        body = json.loads(self.body)
        assert body.keys() == {"time_ms", "events"} and body["events"], body
        assert type(body["time_ms"]) is int and abs(body["time_ms"] / 1000 - time.time()) < 60, body


class SharedDefaultDict(dict):
    """A `defaultdict` for several threads: all get the same value of a missing key.

    `defaultdict` may give each thread a value of its own, of which one is lost with all that was
    put into it.
    """

    def __init__(self, make: Callable[[], object]):
        super().__init__()
        self.make = make

    def __missing__(self, key):
        return self.setdefault(key, self.make())  # atomic, unlike an assignment after a lookup


class WebhookReceiver:
    """Each path is an independent endpoint. `posts` and `events` (by channel) are queues of what
    arrived; `history` keeps all requests of a path.

    `statuses[path]` are the response statuses of the next requests, each used once; then 200. A
    redirect points to `location`. Requests to a path in `held` wait until it is released. `answers[path]`
    is the length of the responses' bodies, `answered[path]` how much of the last one was sent, and `answered_most[path]` of
    any of them.
    """

    def __init__(self, port: int = 0):
        self.posts: dict[str, queue.Queue] = SharedDefaultDict(queue.Queue)
        self.history: dict[str, list[WebhookRequest]] = SharedDefaultDict(list)
        self.events: dict[tuple[str, str | None], queue.Queue] = SharedDefaultDict(queue.Queue)
        self.statuses: dict[str, list[int]] = SharedDefaultDict(list)
        self.held: dict[str, threading.Event] = {}
        self.answers: dict[str, int] = {}
        self.answered: dict[str, int] = SharedDefaultDict(int)
        self.answered_most: dict[str, int] = SharedDefaultDict(int)
        self.location = "/elsewhere"
        self.problems: list[str] = []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer._record(
                    WebhookRequest(self.path,
                                   {name.lower(): value for name, value in self.headers.items()},
                                   body))
                status = outer._next_status(self.path)
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", outer.url + outer.location)
                    length = outer.answers.get(self.path, 0)
                    self.send_header("Content-Length", str(length))
                    self.end_headers()
                    sent = outer.answered[self.path] = 0
                    while sent < length:
                        sent += self.wfile.write(bytes(16_384))
                        outer.answered[self.path] = sent
                        outer.answered_most[self.path] = max(outer.answered_most[self.path], sent)
                except OSError:
                    pass  # the sender did not wait for the response

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True
            # The default is 5: on a busy machine more connect at once, and the kernel retries the
            # rest only after seconds.
            request_queue_size = 128
            daemon_threads = True

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def _record(self, post: WebhookRequest) -> None:
        with self.lock:
            try:
                post.check()
                events = post.events
            except (AssertionError, KeyError, TypeError, ValueError) as problem:
                self.problems.append(repr(problem))
                return
            self.history[post.path].append(post)
            self.posts[post.path].put(post)
            for event in events:
                self.events[post.path, event.get("channel")].put(event)

    def _next_status(self, path: str) -> int:
        if gate := self.held.get(path):
            gate.wait(60)
        with self.lock:
            return self.statuses[path].pop(0) if self.statuses[path] else 200

    # For tests

    def expect_event(self, path: str, channel: str | None, name: str, **more) -> dict:
        """Expects the next event of the channel at this endpoint to be exactly this one."""
        event = self._next(self.events[path, channel], f"an event of {channel} at {path}")
        assert event == ({"name": name} | ({} if channel is None else {"channel": channel})
                         | more), event
        return event

    def post(self, path: str) -> WebhookRequest:
        """Returns the next request to this endpoint."""
        return self._next(self.posts[path], f"a request to {path}")

    def _next(self, waiting: queue.Queue, what: str):
        try:
            return waiting.get(timeout=TIMEOUT)
        except queue.Empty:
            raise AssertionError(
                f"not within {TIMEOUT} s: {what}; problems: {self.problems}") from None

    def has_no_events(self, path: str, channel: str | None) -> bool:
        """Returns whether no event of the channel is left; first send one that must arrive after
        it.
        """
        return self.events[path, channel].empty()

    def hold(self, path: str) -> None:
        """Accepts requests to this path, but responds only after `release`."""
        self.held[path] = threading.Event()

    def release(self, path: str) -> None:
        self.held.pop(path).set()

    def close(self) -> None:
        for gate in list(self.held.values()):
            gate.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        assert not self.problems, self.problems


def unused_port() -> int:
    """Returns a port on which nothing listens at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
