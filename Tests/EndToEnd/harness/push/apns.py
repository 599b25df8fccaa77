"""A fake of APNs, at least as strict as Apple's "Sending notification requests to APNs"."""

import base64
import json
import re
import time
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from ..tokens import ES256
from .behavior import Behavior, Respond
from .connection import Request
from .schema import APS, contract
from .server import ProviderFake

TEAM, KEY, TOPIC = "TEAM123456", "KEY1234567", "com.example.drivers"
UUID = r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
# The required form of each header, and Apple's error reason if it does not match.
HEADERS = {
    "apns-topic": (re.escape(TOPIC), "BadTopic"), "apns-push-type": ("alert", "InvalidPushType"),
    "apns-id": (UUID, "BadMessageId"),
    "apns-priority": ("5|10", "BadPriority"),
    "apns-expiration": (r"0|[1-9]\d{9}", "BadExpirationDate"),
    "apns-collapse-id": (r".{1,64}", "BadCollapseId"),
    "content-type": ("application/json(; ?charset=utf-8)?", "BadPath")}
OTHERS = {":method", ":scheme", ":authority", ":path", "authorization", "content-length", "accept",
          "user-agent"}
# Seconds within which a connection may use at most two provider tokens.
TOKENS_APART = 20 * 60


def refusal(status: int, reason: str, after: float = 0.0, **more) -> Respond:
    """Responds with an error like Apple: `refusal(410, "Unregistered", timestamp=…)`."""
    return Respond(status, {"reason": reason} | more,
                   {"apns-id": "eabeae54-14a8-11e5-b60b-1697f925ec7b"}, after=after)


def to(token: str):
    """For scripts: matches requests to one device."""
    return lambda request: request.path == f"/3/device/{token}"


def unpadded(text: str) -> bytes:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", text), f"not base64url: {text!r}"
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class APNsFake(ProviderFake):
    """Allows one stream per connection until a request with a valid token is accepted, then 1,000.
    """

    first_limit = 1

    def __init__(self, tls: dict[str, str], key: ES256):
        self.key = key
        # Provider tokens: the time of issue, or the error if invalid.
        self.known: dict[str, int | str] = {}
        self.ids: dict[str, tuple] = {}
        super().__init__(tls)

    @staticmethod
    def write_key(key: ES256, path: Path) -> Path:
        path.write_bytes(
            key.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                  serialization.NoEncryption()))
        return path

    # For tests

    def sent_to(self, token: str) -> list[Request]:
        return [request for request in self.requests if request.path == f"/3/device/{token}"]

    def accepted(self) -> dict[tuple[str, str], list[Request]]:
        """Returns the accepted requests by device and notification."""
        found: dict = {}
        for request in self.requests:
            if request.accepted:
                found.setdefault((request.path.rpartition("/")[2], request.json["notificationId"]),
                                 []).append(request)
        return found

    @property
    def provider_tokens(self) -> list[str]:
        """Provider tokens in the order of their first use."""
        return list(
            dict.fromkeys(request.headers.get("authorization", "") for request in self.requests))

    # Checks

    def record(self, request: Request) -> None:
        token, sent = request.path.rpartition("/")[2], request.headers.get("apns-id")
        if self.must_know_invalid(token, request):
            self.report_violation(f"sent to an invalid token: {request}")
        try:
            key = (token, request.json["notificationId"])
        except (ValueError, KeyError, TypeError):
            return
        if self.ids.setdefault(sent, key) != key or self.ids.setdefault(key, sent) != sent:
            self.report_violation(
                f"apns-id and notification do not match one to one for {key}: {request}")

    def check(self, request: Request) -> Behavior | None:
        wrong = self.wrong(request)
        if wrong is None:
            return self.check_provider_token(request)
        status, reason, what = wrong
        self.report_violation(
            f"{reason}: {what}; {request} {request.headers} {request.body[:300]!r}")
        return refusal(status, reason)

    def wrong(self, request: Request) -> tuple[int, str, str] | None:
        headers = request.headers
        if request.method != "POST":
            return 405, "MethodNotAllowed", request.method
        if not re.fullmatch(r"/3/device/([0-9a-f]{2}){8,200}", request.path):
            return 404, "BadPath", request.path
        if headers.get(":scheme") != "https" or headers.get(":authority") not in (
                f"{self.host}:{self.port}", self.host):
            return 400, "BadPath", "scheme or authority"
        if unknown := headers.keys() - HEADERS.keys() - OTHERS:
            return 400, "BadPath", f"headers {unknown}"
        for name, (form, reason) in HEADERS.items():
            if name not in headers:
                return 400, "MissingTopic" if name == "apns-topic" else reason, f"{name} is missing"
            if not re.fullmatch(form, headers[name]) or len(headers[name].encode()) > 300:
                return 400, reason, f"{name}: {headers[name]!r}"
        if len(headers["apns-collapse-id"].encode()) > 64:
            return 400, "BadCollapseId", headers["apns-collapse-id"]
        if int(headers["apns-expiration"]) > time.time() + 30 * 86_400:
            return 400, "BadExpirationDate", headers["apns-expiration"]
        return self.wrong_payload(request.body)

    def wrong_payload(self, body: bytes) -> tuple[int, str, str] | None:
        if not body:
            return 400, "PayloadEmpty", ""
        if len(body) > 4_096:
            return 413, "PayloadTooLarge", f"{len(body)} bytes"
        try:
            payload = json.loads(body.decode("utf-8"), object_pairs_hook=unique)
            wrong = APS("aps", payload.pop("aps", None)) + contract("", payload)
            wrong += [f"{name}: not a string: {value!r}" for name, value in payload.items()
                      if not isinstance(value, str)]
        except (ValueError, AttributeError) as error:
            wrong = [f"not a JSON object: {error!r}"]
        return (400, "BadPayload", "; ".join(wrong)) if wrong else None

    def check_provider_token(self, request: Request) -> Behavior | None:
        kind, _, jwt = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            self.report_violation(f"no provider token: {request.headers.get('authorization')!r}")
            return refusal(403, "MissingProviderToken")
        if jwt not in self.known:
            self.known[jwt] = self.parse_provider_token(jwt)
        issued = self.known[jwt]
        if isinstance(issued, str):
            self.report_violation(f"InvalidProviderToken: {issued}")
            return refusal(403, "InvalidProviderToken")
        if not -3_600 <= issued - time.time() <= 60:
            self.report_violation(f"a token issued at {issued} is used at {time.time()}")
            return refusal(403, "ExpiredProviderToken")
        seen: dict[str, float] = request.connection.memory.setdefault("tokens", {})
        if jwt not in seen:
            recent_tokens = [at for at in seen.values() if request.at - at < TOKENS_APART]
            if len(recent_tokens) > 1:
                self.report_violation(
                    f"{len(recent_tokens) + 1} provider tokens within 20 minutes on connection "
                    f"{request.connection.number}")
                return refusal(429, "TooManyProviderTokenUpdates")
            seen[jwt] = request.at
        return None

    def parse_provider_token(self, jwt: str) -> int | str:
        """Returns the time of issue, or the error."""
        try:
            head, payload, signature = jwt.split(".")
            header, claims, raw = (json.loads(unpadded(head)), json.loads(unpadded(payload)),
                                   unpadded(signature))
            assert (header.pop("typ", "JWT") == "JWT"
                    and header == {"alg": "ES256", "kid": KEY}), header
            assert (claims.keys() == {"iss", "iat"} and claims["iss"] == TEAM
                    and type(claims["iat"]) is int), claims
            assert len(raw) == 64, f"a signature of {len(raw)} bytes: r and s are 32 each"
            der = encode_dss_signature(int.from_bytes(raw[:32], "big"),
                                       int.from_bytes(raw[32:], "big"))
            self.key.key.public_key().verify(der, f"{head}.{payload}".encode(),
                                             ec.ECDSA(hashes.SHA256()))
        except (ValueError, AssertionError, InvalidSignature) as error:
            return repr(error)
        return claims["iat"]

    def default_behavior(self, request: Request) -> Behavior:
        return Respond(200, None, {"apns-id": request.headers.get("apns-id", "")})

    def after_response(self, request: Request) -> None:
        if request.status == 200:
            if request.connection.limits[-1] == 1 and not request.connection.memory.get("known"):
                request.connection.memory["known"] = True
                request.connection.announce_limit(self.limit)
        elif (request.status == 410 or b"BadDeviceToken" in request.response_body
              or b"DeviceTokenNotForTopic" in request.response_body):
            self.invalid_tokens[request.path.rpartition("/")[2]] = request


def unique(pairs: list) -> dict:
    """Builds an object; raises if a name occurs twice."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError(f"duplicate names: {[name for name, _ in pairs]}")
    return dict(pairs)
