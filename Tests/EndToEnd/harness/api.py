"""The HTTP API of one application, signed as Pusher's server SDKs sign."""

import hashlib
import http.client
import json
import time
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from .apps import FIRST, TIMEOUT, App
from .gateway import Gateway


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


def signed_params(app: App, method: str, path: str, body: bytes,
                  changes: dict | None = None) -> dict[str, str]:
    """Returns the query of a signed call. `changes` are applied before signing; None removes a
    parameter.
    """
    params = {"auth_key": app.key, "auth_timestamp": str(int(time.time())), "auth_version": "1.0"}
    if body:
        params["body_md5"] = hashlib.md5(body).hexdigest()
    params = {name: value for name, value in (params | (changes or {})).items()
              if value is not None}
    signature = app.sign(string_to_sign(method, path, params))
    return {"auth_signature": signature} | params


def string_to_sign(method: str, path: str, params: dict[str, str]) -> str:
    query = "&".join(f"{name}={value}"
                     for name, value in sorted((name.lower(), value)
                                               for name, value in params.items()))
    return f"{method}\n{path}\n{query}"


def signed_target(app: App, method: str, path: str, body: bytes,
                  changes: dict | None = None) -> str:
    return f"{path}?{urlencode(signed_params(app, method, path, body, changes), quote_via=quote)}"


def event_body(channel: str | list[str], name: str = "event", data: str = "{}", **more) -> bytes:
    where = {"channel": channel} if isinstance(channel, str) else {"channels": channel}
    return json.dumps({"name": name, "data": data} | where | more).encode()


class Api:
    """Makes all calls over one connection, which must stay open between calls."""

    def __init__(self, gateway: Gateway, app: App = FIRST):
        self.app = app
        self.events = f"/apps/{app.id}/events"
        if gateway.tls:
            self.connection = http.client.HTTPSConnection(
                gateway.host, gateway.port, timeout=TIMEOUT, context=gateway.tls)
        else:
            self.connection = http.client.HTTPConnection(
                gateway.host, gateway.port, timeout=TIMEOUT)
        self.connection.connect()
        # Do not reconnect: a lost connection must fail the test.
        self.connection.auto_open = 0

    def call(self, method: str, target: str, body: bytes | None = None,
             headers: dict | None = None) -> Response:
        self.connection.request(method, target, body, headers or {})
        response = self.connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, headers, response.read())

    def get(self, target: str) -> Response:
        return self.call("GET", target)

    def post(self, body: bytes, headers: dict | None = None, **changes) -> Response:
        """Makes a signed POST of this body to the events endpoint."""
        target = signed_target(self.app, "POST", self.events, body, changes)
        return self.call("POST", target, body,
                         {"Content-Type": "application/json"} | (headers or {}))

    def get_signed(self, path: str, headers: dict | None = None, **params) -> Response:
        """Makes a signed GET of `/apps/ID/path`; the parameters are signed too."""
        path = f"/apps/{self.app.id}/{path}"
        return self.call("GET", signed_target(self.app, "GET", path, b"", params), headers=headers)

    def post_signed(self, path: str, body: bytes | None = None,
                    headers: dict | None = None) -> Response:
        """Makes a signed POST of this body, or of none, to `/apps/ID/path`."""
        path = f"/apps/{self.app.id}/{path}"
        return self.call("POST", signed_target(self.app, "POST", path, body or b""), body, headers)

    def publish(self, channel: str | list[str], name: str = "event", data: str = "{}",
                **more) -> None:
        response = self.post(event_body(channel, name, data, **more))
        assert (response.status, response.body) == (200, b"{}"), response

    def close(self) -> None:
        self.connection.close()
