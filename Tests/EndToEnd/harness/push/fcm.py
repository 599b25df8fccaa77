"""A fake of Firebase Cloud Messaging, HTTP v1, and of its OAuth server: Firebase's reference of
the FCM v1 API ("projects.messages"), Google's "Using OAuth 2.0 for Server to Server Applications".
"""

import base64
import json
import re
import time
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from ..tokens import RS256
from .apns import UUID, unique, unpadded
from .behavior import Behavior, Respond
from .connection import Request
from .schema import APS, RESERVED, contract, members, number, one_of, strings, text
from .server import ProviderFake

PROJECT, CLIENT, KEY_ID = ("fleet-project", "push@fleet-project.iam.gserviceaccount.com",
                           "0123456789abcdef")
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SEND, OAUTH = f"/v1/projects/{PROJECT}/messages:send", "/token"
HEADERS = {":method", ":scheme", ":authority", ":path", "authorization", "content-type",
           "content-length", "accept", "user-agent"}
FCM_ERROR, BAD_REQUEST = ("type.googleapis.com/google.firebase.fcm.v1.FcmError",
                          "type.googleapis.com/google.rpc.BadRequest")

SHOWN = members({"title": text(), "body": text()})
ANDROID = members(
    {"priority": one_of("HIGH", "NORMAL", "high", "normal"), "ttl": text(r"\d{1,7}(\.\d{1,9})?s"),
     "notification": members({"tag": text(max_bytes=64)}, channel_id=text(), sound=text(),
                             notification_count=number(1, 1_000_000), title=text(), body=text())},
    collapse_key=text(max_bytes=64))
APNS = members(
    {"headers": members(
        {"apns-priority": text("5|10"), "apns-expiration": text(r"[1-9]\d{9}"),
         "apns-collapse-id": text(max_bytes=64)},
        apns__push__type=text("alert"), apns__id=text(UUID)),
     "payload": members({"aps": APS})})
MESSAGE = members(
    {"message": members(
        {"token": text(max_bytes=4_096), "notification": SHOWN, "data": strings(RESERVED),
         "android": ANDROID, "apns": APNS})})


def error(status: int, word: str, code: str | None = None, field: str | None = None,
          headers: dict | None = None, after: float = 0.0, message: str = "no") -> Respond:
    """Responds with an error like Google. `code` is FcmError's, `field` the one in BadRequest."""
    details = ([{"@type": FCM_ERROR, "errorCode": code}] if code else []) + (
        [{"@type": BAD_REQUEST, "fieldViolations": [{"field": field, "description": "no"}]}]
        if field else [])
    body = {"error": {"code": status, "message": message, "status": word}
            | ({"details": details} if details else {})}
    return Respond(status, body, headers or {}, after=after)


def to(token: str):
    """For scripts: matches requests to one device."""
    return lambda request: request.path == SEND and request.json["message"]["token"] == token


def is_send_request(request: Request) -> bool:
    return request.path == SEND


def is_token_request(request: Request) -> bool:
    return request.path == OAUTH


class FCMFake(ProviderFake):
    """`token_lifetime` is how many seconds access tokens are valid."""

    host = "127.0.0.1"
    # Connections to the OAuth server count as well.
    max_connections = 6

    def __init__(self, tls: dict[str, str], key: RS256):
        self.key, self.token_lifetime = key, 3_599
        self.valid_until: dict[str, float] = {}
        self.collapse_keys: set[str] = set()
        super().__init__(tls)

    @property
    def base_url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def write_account(self, path: Path, **changes) -> Path:
        """Writes the service account file; None removes a member."""
        pem = self.key.key.private_bytes(serialization.Encoding.PEM,
                                         serialization.PrivateFormat.PKCS8,
                                         serialization.NoEncryption()).decode()
        account = {"type": "service_account", "project_id": PROJECT, "private_key_id": KEY_ID,
                   "private_key": pem, "client_email": CLIENT, "client_id": "1",
                   "token_uri": f"{self.base_url}{OAUTH}",
                   "universe_domain": "googleapis.com"} | changes
        path.write_text(
            json.dumps({name: value for name, value in account.items() if value is not None}))
        return path

    # For tests

    @property
    def send_requests(self) -> list[Request]:
        return [request for request in self.requests if request.path == SEND]

    @property
    def token_requests(self) -> list[Request]:
        return [request for request in self.requests if request.path == OAUTH]

    def sent_to(self, token: str) -> list[Request]:
        return [request for request in self.requests if to(token)(request)]

    def accepted(self) -> dict[tuple[str, str], list[Request]]:
        """Returns the accepted requests by device and notification."""
        found: dict = {}
        for request in self.send_requests:
            if request.accepted:
                message = request.json["message"]
                found.setdefault((message["token"], message["data"]["notificationId"]),
                                 []).append(request)
        return found

    def expire_access_tokens(self) -> None:
        """Invalidates every access token."""
        self.valid_until.clear()

    # Checks

    def check(self, request: Request) -> Behavior | None:
        if unknown := request.headers.keys() - HEADERS:
            self.report_violation(f"headers {unknown}")
        if request.headers.get(
                ":authority") != f"{self.host}:{self.port}" or request.method != "POST":
            self.report_violation(f"{request.method} {request.headers.get(':authority')}")
        if request.path == OAUTH:
            return self.check_token_request(request)
        if request.path != SEND:
            self.report_violation(f"no such path: {request.path}")
            return error(404, "NOT_FOUND")
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not bearer:
            self.report_violation(f"no access token: {request.headers.get('authorization')!r}")
        if self.valid_until.get(bearer, 0) < time.monotonic():
            return error(401, "UNAUTHENTICATED",
                         message="Request had invalid authentication credentials.")
        return self.check_message(request)

    def check_message(self, request: Request) -> Behavior | None:
        try:
            whole = json.loads(request.body.decode("utf-8"), object_pairs_hook=unique)
            errors = MESSAGE("", whole) or self.message_errors(whole["message"])
        except ValueError as problem:
            errors = [f"not a JSON object: {problem!r}"]
        if not re.fullmatch("application/json(; ?charset=utf-8)?",
                            request.headers.get("content-type", ""), re.IGNORECASE):
            errors.append(f"content-type: {request.headers.get('content-type')!r}")
        if errors:
            self.report_violation(
                f"INVALID_ARGUMENT: {'; '.join(errors)}; {request} {request.body[:400]!r}")
            return error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT",
                         field=errors[0].partition(":")[0])
        token = whole["message"]["token"]
        if self.must_know_invalid(token, request):
            self.report_violation(f"sent to an invalid token: {request}")
        return None

    def message_errors(self, message: dict) -> list[str]:
        """Returns violations of rules that relate several members."""
        data, shown, android, apple = (message["data"], message["notification"], message["android"],
                                       message["apns"])
        aps, headers = apple["payload"]["aps"], apple["headers"]
        errors = contract("data", data)
        size = sum(len(name.encode()) + len(value.encode()) for part in (data, shown)
                   for name, value in part.items())
        whole_apple = len(
            json.dumps(apple["payload"] | data, ensure_ascii=False, separators=(",", ":")).encode())
        ttl = float(android["ttl"][:-1])
        self.collapse_keys |= {android["collapse_key"]} if "collapse_key" in android else set()
        for holds, what in [
                (size <= 4_096, f"{size} bytes of data and notification"),
                (whole_apple <= 4_096, f"{whole_apple} bytes for APNs"),
                (aps["alert"] == shown, "the two alerts differ"),
                (android["notification"]["tag"] == headers["apns-collapse-id"],
                 "tag and apns-collapse-id differ"),
                (ttl <= 2_419_200, "ttl"),
                (abs(float(headers["apns-expiration"]) - time.time() - ttl) < 5,
                 "ttl and apns-expiration differ"),
                (android["notification"].get("notification_count", aps["badge"]) == aps["badge"],
                 "count and badge differ"),
                ((android["priority"].upper() == "HIGH") == (headers["apns-priority"] == "10"),
                 "the two priorities differ"),
                (len(self.collapse_keys) <= 4,
                 f"more than four collapse keys: {self.collapse_keys}")]:
            if not holds:
                errors.append(f"message: {what}")
        return errors

    def check_token_request(self, request: Request) -> Behavior | None:
        try:
            assert request.headers.get(
                "content-type") == "application/x-www-form-urlencoded", request.headers
            assert "authorization" not in request.headers
            form = parse_qs(request.body.decode(), strict_parsing=True)
            assert (form.keys() == {"grant_type", "assertion"}
                    and form["grant_type"] == [GRANT]), form
            head, payload, signature = form["assertion"][0].split(".")
            header, claims = json.loads(unpadded(head)), json.loads(unpadded(payload))
            assert header == {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}, header
            assert claims.keys() == {"iss", "scope", "aud", "iat", "exp"}, claims
            assert (claims["iss"], claims["scope"],
                    claims["aud"]) == (CLIENT, SCOPE, f"{self.base_url}{OAUTH}"), claims
            assert (abs(claims["iat"] - time.time()) < 60
                    and claims["iat"] < claims["exp"] <= claims["iat"] + 3_600), claims
            self.key.key.public_key().verify(unpadded(signature), f"{head}.{payload}".encode(),
                                             padding.PKCS1v15(), hashes.SHA256())
        except (ValueError, AssertionError, InvalidSignature) as problem:
            self.report_violation(f"a bad assertion: {problem!r}")
            return Respond(400, {"error": "invalid_grant", "error_description": "Bad assertion"})
        return None

    def default_behavior(self, request: Request) -> Behavior:
        if request.path == OAUTH:
            bearer = "ya29." + base64.urlsafe_b64encode(
                f"token {time.monotonic_ns()}".encode()).decode()
            self.valid_until[bearer] = time.monotonic() + self.token_lifetime
            return Respond(
                200, {"access_token": bearer, "expires_in": self.token_lifetime,
                      "token_type": "Bearer"})
        return Respond(
            200, {"name": f"projects/{PROJECT}/messages/0:{request.number}%{request.stream}"})

    def after_response(self, request: Request) -> None:
        if request.path == SEND and (b'"UNREGISTERED"' in request.response_body
                                     or b'"SENDER_ID_MISMATCH"' in request.response_body):
            self.invalid_tokens[request.json["message"]["token"]] = request
