"""Firebase Cloud Messaging, HTTP v1, and the OAuth server beside it: PUSH.md section 2."""

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
from .conduct import Conduct, Say
from .connection import Request
from .schema import APS, RESERVED, contract, members, number, one_of, text, texts
from .server import ProviderFake

PROJECT, CLIENT, KEY_ID = "fleet-project", "push@fleet-project.iam.gserviceaccount.com", "0123456789abcdef"
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SEND, OAUTH = f"/v1/projects/{PROJECT}/messages:send", "/token"
HEADERS = {":method", ":scheme", ":authority", ":path", "authorization", "content-type", "content-length", "accept", "user-agent"}
FCM_ERROR, BAD_REQUEST = "type.googleapis.com/google.firebase.fcm.v1.FcmError", "type.googleapis.com/google.rpc.BadRequest"

SHOWN = members({"title": text(), "body": text()})
ANDROID = members(
    {"priority": one_of("HIGH", "NORMAL", "high", "normal"), "ttl": text(r"\d{1,7}(\.\d{1,9})?s"),
     "notification": members({"tag": text(most=64)}, channel_id=text(), sound=text(), notification_count=number(1, 1_000_000), title=text(), body=text())},
    collapse_key=text(most=64))
APNS = members(
    {"headers": members({"apns-priority": text("5|10"), "apns-expiration": text(r"[1-9]\d{9}"), "apns-collapse-id": text(most=64)},
                        apns__push__type=text("alert"), apns__id=text(UUID)),
     "payload": members({"aps": APS})})
MESSAGE = members({"message": members({"token": text(most=4_096), "notification": SHOWN, "data": texts(RESERVED), "android": ANDROID, "apns": APNS})})


def error(status: int, word: str, code: str | None = None, field: str | None = None, headers: dict | None = None, after: float = 0.0,
          message: str = "no") -> Say:
    """As Google words it. `code` is FcmError's, `field` the one that BadRequest blames."""
    details = ([{"@type": FCM_ERROR, "errorCode": code}] if code else []) + (
        [{"@type": BAD_REQUEST, "fieldViolations": [{"field": field, "description": "no"}]}] if field else [])
    body = {"error": {"code": status, "message": message, "status": word} | ({"details": details} if details else {})}
    return Say(status, body, headers or {}, after=after)


def to(token: str):
    """For scripts: what goes to one device."""
    return lambda request: request.path == SEND and request.json["message"]["token"] == token


def sends(request: Request) -> bool:
    return request.path == SEND


def logins(request: Request) -> bool:
    return request.path == OAUTH


class FCMFake(ProviderFake):
    """`life` is how many seconds the access tokens are good for."""

    host = "127.0.0.1"
    # Those to the OAuth server come on top.
    connections_most = 6

    def __init__(self, tls: dict[str, str], key: RS256):
        self.key, self.life = key, 3_599
        self.good_until: dict[str, float] = {}
        self.collapse_keys: set[str] = set()
        super().__init__(tls)

    @property
    def base_url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def write_account(self, path: Path, **changes) -> Path:
        """The service account's file; None takes a member away."""
        pem = self.key.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
        account = {"type": "service_account", "project_id": PROJECT, "private_key_id": KEY_ID, "private_key": pem, "client_email": CLIENT,
                   "client_id": "1", "token_uri": f"{self.base_url}{OAUTH}", "universe_domain": "googleapis.com"} | changes
        path.write_text(json.dumps({name: value for name, value in account.items() if value is not None}))
        return path

    # What tests ask

    @property
    def sends(self) -> list[Request]:
        return [request for request in self.requests if request.path == SEND]

    @property
    def logins(self) -> list[Request]:
        return [request for request in self.requests if request.path == OAUTH]

    def sent_to(self, token: str) -> list[Request]:
        return [request for request in self.requests if to(token)(request)]

    def taken(self) -> dict[tuple[str, str], list[Request]]:
        """What it accepted, by device and notification."""
        found: dict = {}
        for request in self.sends:
            if request.taken:
                message = request.json["message"]
                found.setdefault((message["token"], message["data"]["notificationId"]), []).append(request)
        return found

    def forget_logins(self) -> None:
        """Every access token is good no more."""
        self.good_until.clear()

    # What it checks

    def judge(self, request: Request) -> Conduct | None:
        if unknown := request.headers.keys() - HEADERS:
            self.violate(f"headers {unknown}")
        if request.headers.get(":authority") != f"{self.host}:{self.port}" or request.method != "POST":
            self.violate(f"{request.method} {request.headers.get(':authority')}")
        if request.path == OAUTH:
            return self.judge_login(request)
        if request.path != SEND:
            self.violate(f"no such path: {request.path}")
            return error(404, "NOT_FOUND")
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer" or not bearer:
            self.violate(f"no access token: {request.headers.get('authorization')!r}")
        if self.good_until.get(bearer, 0) < time.monotonic():
            return error(401, "UNAUTHENTICATED", message="Request had invalid authentication credentials.")
        return self.judge_message(request)

    def judge_message(self, request: Request) -> Conduct | None:
        try:
            whole = json.loads(request.body.decode("utf-8"), object_pairs_hook=unique)
            wrong = MESSAGE("", whole) or self.wrong_message(whole["message"])
        except ValueError as problem:
            wrong = [f"not a JSON object: {problem!r}"]
        if not re.fullmatch("application/json(; ?charset=utf-8)?", request.headers.get("content-type", ""), re.IGNORECASE):
            wrong.append(f"content-type: {request.headers.get('content-type')!r}")
        if wrong:
            self.violate(f"INVALID_ARGUMENT: {'; '.join(wrong)}; {request} {request.body[:400]!r}")
            return error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field=wrong[0].partition(":")[0])
        token = whole["message"]["token"]
        if self.knows_dead(token, request):
            self.violate(f"sent to a dead token: {request}")
        return None

    def wrong_message(self, message: dict) -> list[str]:
        """What the members must have to do with each other."""
        data, shown, android, apple = message["data"], message["notification"], message["android"], message["apns"]
        aps, headers = apple["payload"]["aps"], apple["headers"]
        wrong = contract("data", data)
        size = sum(len(name.encode()) + len(value.encode()) for part in (data, shown) for name, value in part.items())
        whole_apple = len(json.dumps(apple["payload"] | data, ensure_ascii=False, separators=(",", ":")).encode())
        ttl = float(android["ttl"][:-1])
        self.collapse_keys |= {android["collapse_key"]} if "collapse_key" in android else set()
        for holds, what in [
                (size <= 4_096, f"{size} bytes of data and notification"), (whole_apple <= 4_096, f"{whole_apple} bytes for APNs"),
                (aps["alert"] == shown, "the two alerts differ"), (android["notification"]["tag"] == headers["apns-collapse-id"], "tag and apns-collapse-id differ"),
                (ttl <= 2_419_200, "ttl"), (abs(float(headers["apns-expiration"]) - time.time() - ttl) < 5, "ttl and apns-expiration differ"),
                (android["notification"].get("notification_count", aps["badge"]) == aps["badge"], "count and badge differ"),
                ((android["priority"].upper() == "HIGH") == (headers["apns-priority"] == "10"), "the two priorities differ"),
                (len(self.collapse_keys) <= 4, f"more than four collapse keys: {self.collapse_keys}")]:
            if not holds:
                wrong.append(f"message: {what}")
        return wrong

    def judge_login(self, request: Request) -> Conduct | None:
        try:
            assert request.headers.get("content-type") == "application/x-www-form-urlencoded", request.headers
            assert "authorization" not in request.headers
            form = parse_qs(request.body.decode(), strict_parsing=True)
            assert form.keys() == {"grant_type", "assertion"} and form["grant_type"] == [GRANT], form
            head, said, signature = form["assertion"][0].split(".")
            header, claims = json.loads(unpadded(head)), json.loads(unpadded(said))
            assert header == {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}, header
            assert claims.keys() == {"iss", "scope", "aud", "iat", "exp"}, claims
            assert (claims["iss"], claims["scope"], claims["aud"]) == (CLIENT, SCOPE, f"{self.base_url}{OAUTH}"), claims
            assert abs(claims["iat"] - time.time()) < 60 and claims["iat"] < claims["exp"] <= claims["iat"] + 3_600, claims
            self.key.key.public_key().verify(unpadded(signature), f"{head}.{said}".encode(), padding.PKCS1v15(), hashes.SHA256())
        except (ValueError, AssertionError, InvalidSignature) as problem:
            self.violate(f"a bad assertion: {problem!r}")
            return Say(400, {"error": "invalid_grant", "error_description": "Bad assertion"})
        return None

    def usual(self, request: Request) -> Conduct:
        if request.path == OAUTH:
            bearer = "ya29." + base64.urlsafe_b64encode(f"token {time.monotonic_ns()}".encode()).decode()
            self.good_until[bearer] = time.monotonic() + self.life
            return Say(200, {"access_token": bearer, "expires_in": self.life, "token_type": "Bearer"})
        return Say(200, {"name": f"projects/{PROJECT}/messages/0:{request.number}%{request.stream}"})

    def after_answer(self, request: Request) -> None:
        if request.path == SEND and (b'"UNREGISTERED"' in request.answer or b'"SENDER_ID_MISMATCH"' in request.answer):
            self.dead[request.json["message"]["token"]] = request
