"""An operator's SMS adapter, which checks the signature of each request, and the phones that get its texts."""

import hashlib
import hmac
import json
import queue
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .api import Response
from .apps import TIMEOUT
from .fleet import Caller

SECRET = "the secret that adapter and gateway share"
PREFIX = "/api/mobile/v1"
LOGIN, RESEND = PREFIX + "/auth/login-or-register", PREFIX + "/auth/resend-otp"
VERIFY, REFRESH = PREFIX + "/auth/verify-otp", PREFIX + "/auth/refresh"
SESSION = PREFIX + "/auth/session"
DETAILS = PREFIX + "/user/registration/basic-details"
CARD = PREFIX + "/user/registration/credit-card"


class SMSAdapter:
    """Answers 200. `statuses[phone]` are the statuses of the next requests for this phone, each used once; 0 closes the
    connection. Requests for a phone in `held` wait until it is released.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.texts: dict[str, queue.Queue] = {}
        self.requests: list[dict] = []
        self.statuses: dict[str, list[int]] = {}
        self.held: dict[str, threading.Event] = {}
        self.problems: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                phone = outer._record(self.path, self.headers, body)
                if gate := outer.held.get(phone):
                    gate.wait(60)
                with outer.lock:
                    status = outer.statuses.get(phone, [])[:1]
                    del outer.statuses.get(phone, [])[:1]
                status = status[0] if status else 200
                if status == 0:
                    self.close_connection = True
                    return
                try:
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", outer.url + "/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # the gateway did not wait

            def do_GET(self) -> None:
                outer.problems.append(f"GET {self.path}: a redirect was followed")

            def log_message(self, *_) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def settings(self, **more) -> dict:
        """Returns the section `otp.sms`."""
        return {"url": self.url + "/send", "secret": SECRET} | more

    def _record(self, path: str, headers, body: bytes) -> str | None:
        expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        request = json.loads(body)
        with self.lock:
            if (path != "/send" or headers["X-Pusher-Signature"] != expected
                    or headers["Content-Type"] != "application/json"
                    or request.keys() != {"to", "text", "id"}):
                self.problems.append(f"{path} {dict(headers)} {body!r}")
            self.requests.append({"body": body} | request)
        self._texts(request["to"]).put(request["text"])
        return request["to"]

    def _texts(self, phone: str) -> queue.Queue:
        with self.lock:
            return self.texts.setdefault(phone, queue.Queue())

    def text(self, phone: str) -> str:
        """Returns the next text to a phone."""
        return self._texts(phone).get(timeout=TIMEOUT)

    def code(self, phone: str) -> str:
        """Returns the code in the next text to a phone."""
        return re.fullmatch(r"Your code is (\d{6})\. It is valid for 5 minutes\.", self.text(phone))[1]

    def count(self, phone: str) -> int:
        """Returns how many requests there were for a phone."""
        with self.lock:
            return sum(request["to"] == phone for request in self.requests)

    def hold(self, phone: str) -> None:
        self.held[phone] = threading.Event()

    def release(self, phone: str) -> None:
        self.held.pop(phone).set()

    def close(self) -> None:
        for gate in list(self.held.values()):
            gate.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        assert not self.problems, self.problems


class Phone(Caller):
    """A customer's app on a phone of its own. Each has an address of its own, which a proxy states."""

    def __init__(self, gateway, adapter: SMSAdapter | None = None, number: str | None = None,
                 address: str | None = None):
        self.adapter = adapter
        self.local = number or str(random.randrange(10 ** 9, 10 ** 10))
        self.number = "+1" + self.local
        self.address = address or f"2001:db8:{random.randrange(65536):x}:{random.randrange(65536):x}::1"
        self.session: str | None = None
        super().__init__(gateway)

    def request(self, method: str, path: str, body=None, headers: dict | None = None,
                key: str | None = None) -> Response:
        return super().request(method, path, body, {"X-Forwarded-For": self.address} | (headers or {}), key)

    def form(self, **changes) -> dict:
        form = {"phone_isd": "+1", "phone_country": "us", "phone": self.local,
                "user_type": "customer"} | changes
        return {name: value for name, value in form.items() if value is not None}

    def login(self, **changes) -> Response:
        response = self.post(LOGIN, self.form(**changes))
        if response.status == 200:
            self.session = response.json()["data"]["temp_user_id"]
        return response

    def resend(self) -> Response:
        return self.post(RESEND, {"temp_user_id": self.session})

    def verify(self, code: str) -> Response:
        return self.post(VERIFY, {"temp_user_id": self.session, "otp": code})

    def receive(self) -> str:
        """Asks for a code and returns it."""
        response = self.login()
        assert response.status == 200, response
        return self.adapter.code(self.number)

    def sign_in(self) -> dict:
        """Signs in, uses the token from now on, and returns the user."""
        response = self.verify(self.receive())
        assert response.status == 200, response
        data = response.json()["data"]
        self.bearer = data["token"]
        self.subject = str(data["user"]["id"])
        return data["user"]
