"""The key endpoint of a token issuer: a small HTTP server whose responses a test controls."""

import contextlib
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class KeyServer:
    """Serves `documents` by path; other paths are 404. `requests` counts requests by path."""

    def __init__(self, **documents: dict):
        self.documents: dict[str, object] = {f"/{name}": document
                                             for name, document in documents.items()}
        self.requests: Counter = Counter()
        self.headers = {"Cache-Control": "public, max-age=3600"}
        self.status = 200
        # While cleared, every response waits.
        self.may_respond = threading.Event()
        self.may_respond.set()
        self.requested = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                outer.requests[path] += 1
                outer.requested.set()
                outer.may_respond.wait(30)
                document = outer.documents.get(path)
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(404 if document is None else outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                # One connection per request, so that an outage takes effect at once.
                self.send_header("Connection", "close")
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # the gateway waits for a limited time
                    self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()
        self.running = True

    def close(self) -> None:
        """Starts an outage: the server stops listening."""
        if self.running:
            self.running = False
            self.may_respond.set()
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()


def key_set(*keys: dict) -> dict:
    return {"keys": list(keys)}
