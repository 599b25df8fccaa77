"""Deadlines of connections. They run concurrently, because some are long."""

import time

import pytest

from harness.api import Api, event_body, signed_target
from harness.apps import FIRST
from harness.client import Client
from harness.metrics import count_limited, scrape
from harness.timing import divided
from harness.wire import TEXT, Wire, frame, request, upgrade

TIMING_DIVISOR = 4
# what a client sends, to the seconds after which the connection ends, and the last response
CASES = {"nothing": (10, None), "an empty line": (10, None), "half a head": (10, 408),
         "half a body": (30, 408), "half a chunk": (30, 408)}


def unfinished(case: str) -> bytes:
    body = event_body("channel")
    target = signed_target(FIRST, "POST", "/apps/1001/events", body)
    return {
        "nothing": b"",
        "an empty line": b"\r\n",
        "half a head": b"GET /healthz HTTP/1.1\r\nHos",
        "half a body": request("POST", target, body)[:-1],
        "half a chunk": request("POST", target, headers=["Transfer-Encoding: chunked"], length=False)
        + b"5\r\nabc",
    }[case]


@pytest.fixture(scope="module")
def ends(gateways):
    """Connects all cases at once; returns for each the response and the seconds until the end."""
    gateway = gateways(loops=1)
    wires = {name: Wire(gateway) for name in CASES}
    trickle, refused, start = Wire(gateway), Wire(gateway), time.monotonic()
    refused.send(request("POST", "/apps/1001/events", b"x" * 100)[:-1])
    for name in CASES:
        wires[name].send(unfinished(name))
    found = {}
    head = iter(b"GET /healthz HTTP/1.1\r\nX-Filler: " + b"x" * 500)
    trickled = None
    while len(found) < len(CASES) or trickled is None:
        for name, wire in wires.items():
            if name not in found and wire.readable():
                wire.socket.settimeout(5)
                found[name] = (wire.read_response(), time.monotonic() - start)
        if trickled is None:
            if trickle.readable(divided(0.2)):
                trickled = (trickle.read_response(), time.monotonic() - start)
            else:
                trickle.send_ignoring_reset(bytes([next(head)]))
        assert time.monotonic() - start < 80, (found, trickled)
    responses = refused.read_response().status, refused.read_to_end()
    api = Api(gateway)
    counted = count_limited(api, "request_seconds")
    metrics = scrape(api)
    requests = {name: int(metrics.value(f"fleetwire_request{name}", status=status))
                for name, status in (("s_total", "408"), ("_seconds_count", "4xx"))}
    for connection in [*wires.values(), trickle, refused, api]:
        connection.close()
    return found | {"a byte at a time": trickled, "refused": responses, "counted": counted, "requests": requests}


@pytest.mark.parametrize("name", [*CASES, "a byte at a time"])
def test_unfinished_request_ends_at_its_deadline(ends, name):
    seconds, status = CASES.get(name, (10, 408))
    response, after = ends[name]
    assert (response and response.status) == status, response
    # Ticks of a busy loop may be late.
    assert divided(seconds - 1) <= after <= divided(seconds) + 15, after


def test_request_that_was_refused_before_its_body_gets_no_second_response(ends):
    assert ends["refused"] == (401, b"")


def test_passed_deadlines_are_counted(ends):
    assert ends["counted"] == len(CASES) + len(["a byte at a time", "refused"])


def test_requests_that_never_ended_are_counted_and_not_timed(ends):
    """Their time says how long the client was silent, not how slow the gateway is."""
    answered = [status for _, status in CASES.values() if status] + ["a byte at a time"]
    refused = 1  # before its body, and therefore timed
    assert ends["requests"] == {"s_total": len(answered), "_seconds_count": refused}


def test_client_that_does_not_answer_the_close_frame_is_disconnected(start_gateway, closing):
    gateway = start_gateway()
    wire, api = closing(Wire(gateway)), closing(Api(gateway))
    wire.send(upgrade())
    wire.expect_established()
    wire.subscribe("channel")
    start = time.monotonic()
    wire.send(frame(2, b"binary"))
    wire.read_to_end()
    assert divided(4) <= time.monotonic() - start <= divided(5) + 10
    assert scrape(api).total("fleetwire_connected") == 0


def test_idle_client_of_a_websocket_has_no_deadline(start_gateway, closing):
    """Longer than the deadlines of a handshake and of a head."""
    gateway = start_gateway()
    wire = closing(Wire(gateway))
    wire.send(upgrade())
    wire.expect_established()
    assert not wire.readable(divided(12))
    wire.send(frame(TEXT, b'{"event":"pusher:ping","data":{}}'))
    assert b"pusher:pong" in (wire.next_frame() or (0, b""))[1]
