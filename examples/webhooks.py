"""Receives webhooks: checks the signature, answers at once, and handles each request once.

    python3 examples/webhooks.py

The gateway sends them if its configuration names the address, in apps[].webhooks:

    - {url: "http://127.0.0.1:6002/", allow_private: true}
"""

import argparse
import contextlib
import hashlib
import hmac
import json
import os
import queue
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ.get("APP_SECRET", "secret1")  # the first secret of the app
BODY_BYTES_MAX = 1 << 20
received = queue.Queue(maxsize=10_000)


def is_signed(body, signature):
    """Compares in constant time: else a stranger could find the signature out, byte by byte."""
    expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


class Webhooks(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not is_signed(body, self.headers.get("X-Pusher-Signature", "")):
            return self.answer(401)
        try:
            # Yours writes to a database: the gateway does not repeat what got 200.
            received.put_nowait(body)
        except queue.Full:
            return self.answer(503)
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def handle():
    """Handles what has been received. A repetition has the same bytes, and comes within five minutes."""
    seen = deque(maxlen=10_000)
    while True:
        body = received.get()
        digest = hashlib.sha256(body).digest()
        if digest in seen:
            continue
        seen.append(digest)
        for event in json.loads(body)["events"]:
            print(event["name"], event.get("channel", ""), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=6002, help="where it listens on 127.0.0.1; 0: any free port")
    server = ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Webhooks)
    threading.Thread(target=handle, daemon=True).start()
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
