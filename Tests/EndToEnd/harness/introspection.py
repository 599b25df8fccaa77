"""A backend that knows what opaque tokens are worth (RFC 7662): a small HTTP server whose answers a test controls."""

import base64
import contextlib
import json
import threading
import urllib.parse
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLIENT, PASSWORD = "fleet wire", "p@ss:word%"


class Backend:
    """Answers `answers[token]`, an object or bytes, and `{"active":false}` for other tokens. A token in `held` waits until
    `release`. `asked` counts questions by token.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.answers: dict[str, object] = {}
        self.asked: Counter = Counter()
        self.status = 200
        self.held: dict[str, threading.Event] = {}
        self.reached = threading.Event()
        self.problems: list[str] = []
        self.at_once = self.most_at_once = 0
        # False for tests of outages: a thread would go on answering on a connection that is kept.
        self.keeps_alive = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                token = outer._record(self.path, self.headers, body)
                try:
                    if gate := outer.held.get(token):
                        gate.wait(60)
                    answer = outer.answers.get(token, {"active": False})
                    payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                    with contextlib.suppress(OSError):  # the gateway waits for a limited time
                        self.send_response(outer.status)
                        if 300 <= outer.status < 400:
                            self.send_header("Location", outer.url + "/elsewhere")
                        self.send_header("Content-Type", "application/json")
                        self.send_header("Content-Length", str(len(payload)))
                        if not outer.keeps_alive:
                            self.send_header("Connection", "close")
                        self.end_headers()
                        self.wfile.write(payload)
                finally:
                    with outer.lock:
                        outer.at_once -= 1

            def do_GET(self) -> None:
                outer.problems.append(f"GET {self.path}: a redirect was followed")

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        self.is_running = True

    def _record(self, path: str, headers, body: bytes) -> str:
        form = urllib.parse.parse_qs(body.decode(), strict_parsing=True)
        name, _, word = base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode().partition(":")
        credentials = urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(word)
        with self.lock:
            if (path != "/introspect" or credentials != (CLIENT, PASSWORD) or form.keys() != {"token"}
                    or headers["Content-Type"] != "application/x-www-form-urlencoded"):
                self.problems.append(f"{path} {dict(headers)} {body!r}")
            token = form["token"][0]
            self.asked[token] += 1
            self.at_once += 1
            self.most_at_once = max(self.at_once, self.most_at_once)
        self.reached.set()
        return token

    def settings(self, **more) -> dict:
        """Returns the section `auth.introspection`."""
        return {"url": self.url + "/introspect", "client_id": CLIENT, "client_secret": PASSWORD} | more

    def hold(self, token: str) -> None:
        self.held[token] = threading.Event()

    def release(self, token: str) -> None:
        self.held.pop(token).set()

    def stop(self) -> None:
        """Starts an outage: nothing listens."""
        if self.is_running:
            self.is_running = False
            for gate in list(self.held.values()):
                gate.set()
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    def close(self) -> None:
        self.stop()
        assert not self.problems, self.problems
