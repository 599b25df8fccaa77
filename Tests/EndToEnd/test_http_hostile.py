"""L3, L8, L10, L12, L13: random bytes, malformed targets, slow clients, and incomplete requests."""

import os

import pytest

from harness.api import event_body, signed_target
from harness.apps import FIRST
from harness.wire import request

EVENTS = "/apps/1001/events"
HEALTH = request("GET", "/healthz")


def post(body: bytes) -> bytes:
    return request("POST", signed_target(FIRST, "POST", EVENTS, body), body)


@pytest.mark.parametrize("target",
                         ["/%00", "//", "/./", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                          "/a\\..\\b", "/%", "/%zz", "/\xff", "/%ff", "*", "x",
                          "http://localhost/nowhere", "/a?" + "&" * 500, "/;", "/apps//events",
                          "/apps/%2F/events", "/apps/1001/events/../../../healthz/x"],
                         ids=lambda target: ascii(target)[1:24])
def test_L3_malformed_targets_affect_no_other_client(wire, control_client, target):
    wire = wire()
    wire.send_ignoring_reset(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
    wire.close_write()
    response = wire.read_response()
    assert response is None or 400 <= response.status < 500


INVALID_BYTES = {
    "zeros": b"\0" * 200,
    "all byte values": bytes(range(256)) * 8,
    "line ends": b"\r\n" * 50,
    "bare line feeds": b"GET /healthz HTTP/1.1\nHost: x\n\n",
    "a TLS hello": bytes.fromhex("16030100c8010000c40303") + b"\x11" * 196,
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "SOCKS": b"\x05\x01\x00",
    "PROXY v1": b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + HEALTH,
    "PROXY v2": b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + b"\1" * 12,
    "no version": b"GET /healthz\r\n\r\n",
    "version 9": b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
    "version junk": b"GET /healthz JUNK/x\r\nHost: x\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
    "a response": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "a header without a colon": b"GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n",
    "a header without a name": b"GET /healthz HTTP/1.1\r\n: x\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: x\0y\r\n\r\n",
    "one long line": b"A" * 100_000,
    "WebSocket frames": b"\x81\x85\1\2\3\4xxxxx" * 10,
}


@pytest.mark.parametrize("data", INVALID_BYTES.values(), ids=INVALID_BYTES)
def test_L10_invalid_bytes_affect_no_other_client(wire, control_client, data):
    wire = wire()
    wire.send_ignoring_reset(data)
    wire.close_write()
    wire.read_to_end()


def test_L10_random_bytes_affect_no_other_client(wire, control_client):
    for size in (1, 10, 100, 1000, 10_000) * 4:
        peer = wire()
        peer.send_ignoring_reset(os.urandom(size))
        peer.close_write()
        peer.read_to_end()


def test_L8_missing_host_is_accepted_or_400(wire, control_client):
    wire = wire()
    wire.send(b"GET /healthz HTTP/1.1\r\n\r\n")
    wire.close_write()
    response = wire.read_response()
    assert response is None or response.status in (200, 400)


def test_L13_slow_request_delays_no_other(wire, api, control_client):
    """Sends byte by byte; other requests are answered in between."""
    body = event_body(control_client.channel, "slow")
    wire = wire()
    for place, byte in enumerate(post(body)):
        wire.send(bytes([byte]))
        if place % 5 == 0:
            assert api.get("/healthz").status == 200
    assert wire.read_response().status == 200
    control_client.client.expect("slow")
    wire.send(HEALTH)
    assert wire.read_response().status == 200


@pytest.mark.parametrize("how", ["reset", "close", "close_write"])
@pytest.mark.parametrize("cut", [1, 10, -200, -50, -5, -1])
def test_L12_incomplete_request_is_not_processed(wire, control_client, how, cut):
    for _ in range(5):
        peer = wire()
        peer.send(post(event_body(control_client.channel, "cut-off", "x" * 300))[:cut])
        getattr(peer, how)()


def test_L12_reset_before_the_response_affects_no_other_client(wire, control_client):
    for _ in range(20):
        peer = wire()
        peer.send(post(event_body(control_client.channel + "-other", "no-response-wanted")))
        peer.reset()


def test_L12_body_shorter_than_announced_is_not_processed(wire, control_client):
    body = event_body(control_client.channel, "cut-off")
    wire = wire()
    wire.send(
        request("POST", signed_target(FIRST, "POST", EVENTS, body),
                headers=[f"Content-Length: {len(body) + 10}"], length=False) + body)
    wire.close_write()
    response = wire.read_response()
    assert response is None or 400 <= response.status < 500


def test_L12_bytes_after_the_announced_length_are_no_part_of_the_body(wire, control_client):
    body = event_body(control_client.channel, "whole")
    wire = wire()
    wire.send_ignoring_reset(post(body) + b"more of it")
    wire.close_write()
    assert wire.read_response().status == 200
    control_client.client.expect("whole")
    rest = wire.read_response()
    assert rest is None or 400 <= rest.status < 600
