"""A backend: gives its users tokens, lets them into its own channels, and publishes to them.

    pip install pusher
    python3 examples/backend.py
    curl -u 42:dana http://127.0.0.1:6003/token -d ''
    curl -u 42:dana http://127.0.0.1:6003/notice -d 'Gate 3 is closed'

Driver 42 has the password dana, and may subscribe to private-depot-north; the app's SDK asks at /auth.
"""

import argparse
import base64
import contextlib
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pusher

JWT_SECRET = os.environ.get("JWT_SECRET", "development-secret-change-me-0123456789")  # auth.jwt.secret
APP_SECRET = os.environ.get("APP_SECRET", "secret1")  # a secret of the app
BODY_BYTES_MAX = 65536
# Yours are in a database, with hashed passwords.
USERS = {"42": {"password": "dana", "name": "Dana", "depot": "north"},
         "43": {"password": "eric", "name": "Eric", "depot": "south"}}


def token(driver, name, seconds):
    """Returns a JWT that the gateway accepts (HS256)."""
    def encode(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    claims = {"sub": driver, "role": "driver", "name": name, "exp": int(time.time()) + seconds}
    text = b".".join(encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return (text + b"." + encode(hmac.digest(JWT_SECRET.encode(), text, hashlib.sha256))).decode()


class Backend(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        driver, user = self.user()
        length = self.headers.get("Content-Length", "0")
        if not user:
            return self.answer(401, "Expected the id and the password of a driver")
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            return self.answer(413, f"Expected a body of at most {BODY_BYTES_MAX} bytes")
        body, channel = self.rfile.read(int(length)).decode(errors="replace"), f"private-depot-{user['depot']}"
        match self.path:
            case "/token":
                self.answer(200, token(driver, user["name"], options.token_seconds))
            case "/auth":
                form = {name: values[0] for name, values in parse_qs(body).items()}
                if form.get("channel_name") != channel:
                    return self.answer(403, f"Driver {driver} may only subscribe to {channel}")
                try:
                    self.answer(200, json.dumps(fleetwire.authenticate(channel, form.get("socket_id", ""))))
                except ValueError as error:
                    self.answer(400, str(error))
            case "/notice":
                try:
                    fleetwire.trigger(channel, "notice", {"from": user["name"], "text": body})
                    self.answer(200, "published")
                except Exception as error:  # the SDK raises its own errors, and those of `requests`
                    self.answer(502, f"Not published: {error}")
            case path:
                self.answer(404, f"{path} does not exist")

    def user(self):
        """Returns who asks, from the id and the password that HTTP's Basic authentication sends."""
        try:
            text = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic "))
        except ValueError:
            text = b""
        driver, _, password = text.decode(errors="replace").partition(":")
        user = USERS.get(driver)
        is_right = user and hmac.compare_digest(user["password"].encode(), password.encode())
        return driver, user if is_right else None

    def do_OPTIONS(self):
        self.answer(204, "")

    def answer(self, status, text):
        self.send_response(status)
        # For pages from elsewhere, such as driver.html.
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "Authorization")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:6001", help="the gateway")
    parser.add_argument("--port", type=int, default=6003, help="where it listens on 127.0.0.1; 0: any free port")
    parser.add_argument("--token-seconds", type=int, default=3600, help="how long a token is valid")
    options = parser.parse_args()
    url = urlsplit(options.url)
    fleetwire = pusher.Pusher("1001", "key1", APP_SECRET, host=url.hostname, port=url.port, ssl=url.scheme == "https")
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Backend)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
