"""A backend that takes webhooks: a small HTTP server that checks what it gets and answers what a test decides."""

import json
import queue
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .apps import FIRST, PATIENCE, SECOND


def webhook(url: str, **more) -> dict:
    """An entry of `webhooks` that reaches a receiver here."""
    return {"url": url, "allow_private": True} | more


@dataclass(frozen=True)
class Post:
    """One request, as it came."""
    path: str
    headers: dict[str, str]
    body: bytes
    came: float = field(default_factory=time.monotonic)

    @property
    def events(self) -> list[dict]:
        return json.loads(self.body)["events"]

    def check(self) -> None:
        """V2, V3: whose it is, that it is genuine, and the frame of its body."""
        app = {app.key: app for app in (FIRST, SECOND)}[self.headers["x-pusher-key"]]
        assert self.headers["x-pusher-signature"] == app.sign(self.body.decode()), self
        assert self.headers["content-type"] == "application/json", self
        body = json.loads(self.body)
        assert body.keys() == {"time_ms", "events"} and body["events"], body
        assert type(body["time_ms"]) is int and abs(body["time_ms"] / 1000 - time.time()) < 60, body


class Receiver:
    """Every path is an endpoint of its own. What comes to it is kept whole in `posts`, and its events by channel.

    `answers[path]` are statuses for the next requests, each used once, then it is 200. A path in `closed` lets its requests
    wait until it is opened.
    """

    def __init__(self, port: int = 0):
        self.posts: dict[str, queue.Queue] = defaultdict(queue.Queue)
        self.history: dict[str, list[Post]] = defaultdict(list)
        self.events: dict[tuple[str, str | None], queue.Queue] = defaultdict(queue.Queue)
        self.answers: dict[str, list[int]] = defaultdict(list)
        self.closed: dict[str, threading.Event] = {}
        self.location = "/elsewhere"
        self.problems: list[str] = []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer._take(Post(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                status = outer._answer(self.path)
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", outer.url + outer.location)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # it did not wait for the answer

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            allow_reuse_address = True
            request_queue_size = 128  # five by default: on a busy machine more come at once, and are asked to come again in seconds
            daemon_threads = True

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def _take(self, post: Post) -> None:
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

    def _answer(self, path: str) -> int:
        if gate := self.closed.get(path):
            gate.wait(60)
        with self.lock:
            return self.answers[path].pop(0) if self.answers[path] else 200

    # For tests

    def hear(self, path: str, channel: str | None, name: str, **more) -> dict:
        """The next event of the channel at this endpoint is exactly this one."""
        event = self._next(self.events[path, channel], f"an event of {channel} at {path}")
        assert event == ({"name": name} | ({} if channel is None else {"channel": channel}) | more), event
        return event

    def post(self, path: str) -> Post:
        """The next request to this endpoint."""
        return self._next(self.posts[path], f"a request to {path}")

    def _next(self, waiting: queue.Queue, what: str):
        try:
            return waiting.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"not within {PATIENCE} s: {what}; problems: {self.problems}") from None

    def silent(self, path: str, channel: str | None) -> bool:
        """Whether nothing more of the channel has come; send first what must come after it."""
        return self.events[path, channel].empty()

    def shut(self, path: str) -> None:
        """Requests to it are taken, and answered when it is opened."""
        self.closed[path] = threading.Event()

    def open(self, path: str) -> None:
        self.closed.pop(path).set()

    def close(self) -> None:
        for gate in list(self.closed.values()):
            gate.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        assert not self.problems, self.problems


def unused_port() -> int:
    """A port at which nobody listens, for now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
