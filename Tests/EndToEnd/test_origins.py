"""Web pages of other origins: which may connect, what they may send, and that they can read every response."""

import json

import pytest

from harness import timing
from harness.api import Api, signed_target
from harness.apps import FIRST
from harness.client import Client
from harness.fleet import JWT
from harness.metrics import count_limited
from harness.wire import Wire, request, upgrade

PAGE = "https://shop.example.com"
SETTINGS = {
    "first": {"allowed_origins": [PAGE + ":443", "https://*.tenant.example.com", "http://plain.example.com", "file://"]},
    "limits": {"auth_requests_per_second": 1, "subscriptions": 3},
    "server": {"head_bytes": 4_096, "buffer_bytes": 16_777_216},
    "sections": {"auth": {"jwt": JWT}}}


def close_code(gateway, origin: str) -> tuple[int, str]:
    client = Client.dial(gateway, FIRST.key, headers={"Origin": origin})
    try:
        return client.expect_close()
    finally:
        client.close()


@pytest.mark.parametrize("origin", [
    PAGE, PAGE + ":443", PAGE + "/", "HTTPS://Shop.example.com:443/", "https://a.tenant.example.com:443",
    "http://plain.example.com:80", "file://"])
def test_spellings_of_allowed_origins_connect_and_call(gateway, closing, origin):
    """React Native on Android writes the port of its URL into Origin (the pages of RFC 6454 section 6.2 do not)."""
    closing(Client.dial(gateway, FIRST.key, headers={"Origin": origin})).expect_established()
    response = closing(Api(gateway)).call("OPTIONS", "/pusher/auth", headers={
        "Origin": origin, "Access-Control-Request-Method": "POST"})
    assert (response.status, response.headers["access-control-allow-origin"]) == (204, origin)


@pytest.mark.parametrize("origin", [
    PAGE + ":8443", "http://shop.example.com:443", PAGE + ":80", "https://tenant.example.com:443", "https://plain.example.com",
    PAGE + "//", "file://x"])
def test_other_origins_are_refused(gateway, origin):
    assert close_code(gateway, origin) == (4009, "Origin not allowed")


def test_the_refusal_of_null_says_why(gateway, closing):
    code, reason = close_code(gateway, "null")
    assert code == 4009 and reason.startswith("Origin not allowed: null is the origin of every sandboxed page")
    response = closing(Api(gateway)).call("OPTIONS", "/pusher/auth", headers={"Origin": "null"})
    assert response.status == 403 and "every sandboxed page" in response.json()["error"]


@pytest.mark.parametrize("path", ["/pusher/auth", "/pusher/user-auth", "/api/driver/jobs", "/apps/1001/channels", "/app/key1"])
def test_preflights_allow_what_the_page_asks_for(gateway, closing, path):
    """Laravel Echo sends X-CSRF-TOKEN; traced pages traceparent, baggage and sentry-trace."""
    wanted = {"authorization", "x-csrf-token", "traceparent", "baggage", "sentry-trace"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": ",".join(wanted) + ",no token"}
    api = closing(Api(gateway))
    response = api.call("OPTIONS", path, headers=asks | {"Origin": PAGE})
    allowed = response.headers["access-control-allow-headers"].lower().split(", ")
    assert response.status == 204 and wanted <= set(allowed) and "no token" not in allowed
    response = api.call("OPTIONS", path, headers=asks | {"Origin": "https://evil.example"})
    assert response.status == 403 and not any(name.startswith("access-control") for name in response.headers)


# Paths of no application, where the origins of all count; the second application allows all.
SHARED = {"400", "404 path", "404 app", "405", "431 bytes", "431 fields", "501"}
# The loop or the router makes each.
REFUSALS = {
    "400": b"GET /healthz HTTP/1.1\r\nOrigin: %s\r\nA: \x01\r\n\r\n",
    "401": lambda: request("GET", "/api/driver/jobs", headers=["Origin: %s"]),
    "404 path": lambda: request("GET", "/nowhere", headers=["Origin: %s"]),
    "404 app": lambda: request("GET", "/apps/none/channels", headers=["Origin: %s"]),
    "405": lambda: request("DELETE", "/healthz", headers=["Origin: %s"]),
    "413": lambda: request("POST", signed_target(FIRST, "POST", "/apps/1001/events", b"x"), length=False,
                           headers=["Origin: %s", "Content-Length: 99000000"]),
    "415": lambda: request("POST", signed_target(FIRST, "POST", "/apps/1001/events", b"x"), b"x",
                           headers=["Origin: %s", "Content-Encoding: gzip"]),
    "426": lambda: upgrade(Sec_WebSocket_Version="8", Origin="%s"),
    "431 bytes": lambda: request("GET", "/healthz", headers=["Origin: %s", "X: " + "x" * 5_000]),
    "431 fields": lambda: request("GET", "/healthz", headers=["Origin: %s"] + ["X: y"] * 120),
    "501": lambda: request("POST", "/healthz", headers=["Origin: %s", "Transfer-Encoding: gzip"], length=False),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_pages_can_read_every_error(gateway, closing, case):
    make = REFUSALS[case]
    other = "https://other.example"
    for origin, allowed, credentials in [(PAGE, PAGE, "true"), (other, other if case in SHARED else None, None)]:
        wire = closing(Wire(gateway))
        data = make() if callable(make) else make
        wire.send_ignoring_reset(data.replace(b"%s", origin.encode()))
        response = wire.read_response()
        assert response and response.status == int(case[:3]), response
        assert response.headers.get("access-control-allow-origin") == allowed
        assert response.headers.get("access-control-allow-credentials") == credentials
        assert "Origin" in response.headers.get("vary", "") or not allowed


def test_pages_can_read_a_429(fleet):
    """Authorizations of one driver, above the rate."""
    driver = fleet.driver()
    body = {"socket_id": "1.2", "channel_name": f"private-driver-{driver.subject}"}
    statuses = set()
    for _ in range(20):
        response = driver.request("POST", "/pusher/auth", body, headers={"Origin": PAGE})
        assert response.headers["access-control-allow-origin"] == PAGE
        statuses.add(response.status)
        if response.status == 429:
            break
    assert 429 in statuses


def test_pages_can_read_a_503_of_a_loop_without_memory(gateway, closing):
    """Incomplete bodies fill `buffer_bytes`; the request that finds no room is the page's."""
    api = closing(Api(gateway))
    target = signed_target(FIRST, "POST", "/apps/1001/batch_events", b"x")
    head = request("POST", target, length=False, headers=["Content-Length: 400000", f"Origin: {PAGE}"])
    wires = []
    while count_limited(api, "buffer_bytes") == 0 and len(wires) < 100:
        wire = closing(Wire(gateway))
        wire.send_ignoring_reset(head + b"x" * 390_000)
        wires.append(wire)
    refused = [wire for wire in wires if wire.readable(0)]
    assert refused, len(wires)
    response = refused[0].read_response()
    assert response.status == 503 and response.headers["access-control-allow-origin"] == PAGE
    assert response.headers["retry-after"] == "1"


def test_pages_can_read_a_408(start_gateway, closing, monkeypatch):
    if timing.IS_DIVISIBLE:
        monkeypatch.setenv(timing.VARIABLE, "20")
    gateway = start_gateway(**SETTINGS)
    wire = closing(Wire(gateway))
    wire.send(f"POST /pusher/auth HTTP/1.1\r\nHost: x\r\nOrigin: {PAGE}\r\nX:".encode())
    response = wire.read_response()
    assert response.status == 408 and response.headers["access-control-allow-origin"] == PAGE
    assert "error" in json.loads(response.body)
