"""Memory and CPU bounds against hostile clients, and orderly closes."""

import os
from pathlib import Path

import pytest

from harness.api import Api, signed_target
from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.fleet import wait_until
from harness.gateway import logs_limit
from harness.metrics import count_limited, wait_for_metric
from harness.wire import BINARY, CLOSE, TEXT, Wire, frame, request, upgrade

EVENT = b'{"event":"pusher:ping","data":{}}'


@pytest.mark.parametrize("method", ["POST", "post", "PUT", "DELETE", "GET"])
@pytest.mark.parametrize("length", range(1, 8))
def test_L5_pipelined_requests_with_tiny_bodies_finish(wire, control_client, method, length):
    wire = wire()
    wire.send_ignoring_reset(
        request("GET", "/healthz") + request(method, "/nowhere", b"x" * length) * 3)
    assert wire.read_response().status == 200
    wire.close_write()
    wire.read_to_end()


# Functions, because a signature lives for ten minutes.
REFUSED = {"head_bytes": (431, lambda: request("GET", "/healthz", headers=["X-Filler: " + "x" * 17_000])),
           "body_bytes": (413, lambda: request(
               "POST", signed_target(FIRST, "POST", "/apps/1001/events", b""),
               headers=["Content-Length: 100000000"], length=False))}


@pytest.mark.parametrize("limit", REFUSED)
def test_refused_requests_are_counted(start_gateway, closing, limit):
    gateway = start_gateway()
    api, wire = closing(Api(gateway)), closing(Wire(gateway))
    status, refused = REFUSED[limit]
    wire.send_ignoring_reset(refused())
    assert wire.read_response().status == status
    assert count_limited(api, limit) == 1
    wait_until(lambda: logs_limit(gateway, limit), "the log reports the limit")


def test_subscriptions_per_connection_are_limited(start_gateway, closing):
    gateway = start_gateway(limits={"subscriptions": 3})
    client = closing(Client.connect(gateway))
    for number in range(3):
        client.subscribe(f"channel-{number}")
    client.send_subscribe("channel-3")
    client.expect_error(
        "Cannot subscribe to channel channel-3: the limit is 3 channels per connection")
    client.unsubscribe("channel-0")
    client.subscribe("channel-3")


def test_outbox_limit_holds_within_one_turn_of_the_loop(start_gateway, closing):
    """One publish writes megabytes in one turn: bytes that the kernel does not accept count against
    the limit.
    """
    gateway = start_gateway(loops=1,
                            limits={"outbox_bytes": 65536, "event_bytes": 100_000,
                                    "message_bytes": 65536})
    api = closing(Api(gateway))
    channels = [f"channel-{number}" for number in range(60)]
    slow_consumers = [closing(Wire(gateway)) for _ in range(5)]
    for slow_consumer in slow_consumers:
        slow_consumer.open()
        for channel in channels:
            slow_consumer.send_event("pusher:subscribe", {"channel": channel})
        for _ in channels:
            slow_consumer.expect("pusher_internal:subscription_succeeded")
    api.publish(channels, "large", "x" * 100_000)
    wait_for_metric(api, "fleetwire_slow_consumer_total", 5)
    wait_for_metric(api, "fleetwire_outbox_bytes", 0)


def test_responses_precede_a_close(wire):
    wire = wire()
    wire.open()
    wire.send(frame(TEXT, EVENT) * 3 + frame(BINARY, b"\0"))
    for _ in range(3):
        wire.expect("pusher:pong")
    opcode, payload = wire.next_frame()
    assert opcode == CLOSE and int.from_bytes(payload[:2], "big") == 1003


@pytest.mark.parametrize("letter", ["é", "配", "🚚"])
@pytest.mark.parametrize("count", [29, 30, 31, 57, 58, 59, 60, 100])
def test_C7_close_reason_is_cut_between_characters(dial, letter, count):
    code, reason = dial(letter * count).expect_close()
    assert code == 4001 and len(reason.encode()) <= 123


def silent_client(gateway, closing) -> Wire:
    """A client that does not respond to the close frame, so that the drain takes its grace period."""
    client = closing(Wire(gateway))
    client.open()
    return client


def test_connecting_during_a_drain_is_closed(start_gateway, closing):
    gateway = start_gateway(server={"drain_seconds": 3})
    connected = [silent_client(gateway, closing) for _ in range(4)]
    waiting = [closing(Wire(gateway)) for _ in range(4)]
    for peer in waiting:
        peer.send(request("GET", "/healthz"))
        assert peer.read_response().status == 200
    gateway.terminate()
    assert connected[0].close_code() == gateway.drain_code
    for peer in waiting:
        peer.send(upgrade())
        assert peer.read_response().status == 101
        assert peer.close_code() == gateway.drain_code
    assert {client.close_code() for client in connected[1:]} == {gateway.drain_code}
    gateway.wait()


def test_announced_length_allocates_no_memory(start_gateway, closing):
    """Limits may add up to gigabytes; a Content-Length alone must not allocate them."""
    gateway = start_gateway(limits={"event_bytes": 1048576, "batch_events": 1000})
    target = signed_target(FIRST, "POST", "/apps/1001/batch_events", b"x")
    before = resident_bytes(gateway)
    for _ in range(20):
        closing(Wire(gateway)).send(
            request("POST", target, headers=["Content-Length: 16000000"], length=False) + b"{")
    peer = closing(Wire(gateway))
    peer.send(request("POST", target, headers=["Content-Length: 6000000000"], length=False))
    assert peer.read_response().status == 413
    assert resident_bytes(gateway) - before < 20_000_000


def test_body_of_an_unauthenticated_request_is_not_read(start_gateway, closing):
    gateway = start_gateway()
    target = signed_target(SECOND, "POST", "/apps/1001/events", b"x")
    peer = closing(Wire(gateway))
    peer.send(request("POST", target, headers=["Content-Length: 1000000"], length=False))
    response = peer.read_response()
    assert response.status == 401 and response.headers["connection"] == "close"


def resident_bytes(gateway) -> int:
    pages = int(Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("header", ["close", "Close", "close, TE", "TE,close"])
def test_L4_connection_close_is_honoured(wire, header):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=[f"Connection: {header}"]))
    response = wire.read_response()
    assert response.status == 200 and response.headers["connection"] == "close"
    assert wire.at_end()


def test_slow_reader_gets_all_events_before_the_close(start_gateway, closing):
    gateway = start_gateway(loops=1, limits={"event_bytes": 100_000})
    api, slow = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("x")
    for _ in range(7):
        api.publish("x", "large", "x" * 100_000)
    gateway.terminate()
    for _ in range(7):
        slow.expect("large")
    assert slow.close_code() == gateway.drain_code
    gateway.wait()


def test_api_is_served_until_the_last_client_is_closed(start_gateway, closing):
    gateway = start_gateway(loops=2, server={"drain_seconds": 2})
    backends = [closing(Api(gateway)) for _ in range(2)]
    for backend in backends:
        assert backend.get("/readyz").status == 200
    clients = [silent_client(gateway, closing) for _ in range(20)]
    gateway.terminate()
    assert clients[0].close_code() == gateway.drain_code
    for backend in backends:
        while (response := backend.get("/readyz")).headers.get("connection") != "close":
            pass  # until its loop drains, slightly after readiness has ended
        assert response.status == 503
    assert {client.close_code() for client in clients[1:]} == {gateway.drain_code}
    gateway.wait()
