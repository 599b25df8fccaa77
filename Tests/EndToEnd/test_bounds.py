"""Bounds that nobody may talk the server out of: what it holds, what it spins on, and that it says goodbye in order."""

import pytest

from harness.api import Api
from harness.client import Client
from harness.metrics import eventually
from harness.wire import BINARY, CLOSE, TEXT, Wire, frame, request, upgrade

EVENT = b'{"event":"pusher:ping","data":{}}'


@pytest.mark.parametrize("method", ["POST", "post", "PUT", "DELETE", "GET"])
@pytest.mark.parametrize("length", range(1, 8))
def test_L5_pipelined_requests_with_tiny_bodies_end(wire, bystander, method, length):
    """The library hands over a pipelined request's own head as its body, and no more of it than the body is long."""
    wire = wire()
    wire.send_as_taken(request("GET", "/healthz") + request(method, "/nowhere", b"x" * length) * 3)
    assert wire.answer().status == 200
    wire.finish()
    wire.rest()


def test_the_subscriptions_of_a_connection_are_bounded(start_gateway, closing):
    gateway = start_gateway(limits={"subscriptions": 3})
    client = closing(Client.connect(gateway))
    for number in range(3):
        client.subscribe(f"channel-{number}")
    client.ask_for("channel-3")
    client.expect_error("A connection may subscribe to 3 channels")
    client.unsubscribe("channel-0")
    client.subscribe("channel-3")


def test_a_sleeper_cannot_hold_more_than_its_outbox_with_large_turns(start_gateway, closing):
    """One publish that makes a turn of megabytes: what the kernel does not take counts, and the bound holds."""
    gateway = start_gateway(loops=1, limits={"outbox_bytes": 65536, "event_bytes": 100_000, "message_bytes": 65536})
    api = closing(Api(gateway))
    channels = [f"channel-{number}" for number in range(60)]
    sleepers = [closing(Wire(gateway)) for _ in range(5)]
    for sleeper in sleepers:
        sleeper.open()
        for channel in channels:
            sleeper.say("pusher:subscribe", {"channel": channel})
        for _ in channels:
            sleeper.expect("pusher_internal:subscription_succeeded")
    api.publish(channels, "large", "x" * 100_000)
    eventually(api, "fleetwire_slow_consumer_total", 5)
    eventually(api, "fleetwire_outbox_bytes", 0)


def test_what_was_said_before_a_close_arrives_before_it(wire):
    wire = wire()
    wire.open()
    wire.send(frame(TEXT, EVENT) * 3 + frame(BINARY, b"\0"))
    for _ in range(3):
        wire.expect("pusher:pong")
    opcode, payload = wire.next_frame()
    assert opcode == CLOSE and int.from_bytes(payload[:2], "big") == 1003


@pytest.mark.parametrize("letter", ["é", "配", "🚚"])
@pytest.mark.parametrize("count", [29, 30, 31, 57, 58, 59, 60, 100])
def test_C7_a_close_reason_is_cut_between_characters(dial, letter, count):
    code, reason = dial(letter * count).closed()
    assert code == 4001 and len(reason.encode()) <= 123


def test_who_comes_while_the_server_drains_is_told_4200_too(start_gateway, closing):
    gateway = start_gateway(server={"drain_seconds": 3})
    stayers = [closing(Client.connect(gateway)) for _ in range(40)]  # let go one by one, so that the drain lasts
    waiting = [closing(Wire(gateway)) for _ in range(4)]
    for peer in waiting:
        peer.send(request("GET", "/healthz"))
        assert peer.answer().status == 200
    api = closing(Api(gateway))
    assert api.get("/readyz").status == 200
    gateway.terminate()
    while api.get("/readyz").status == 200:
        pass  # each asks the gateway itself: it answers 503 as soon as it drains
    for peer in waiting:
        peer.send(upgrade())
        assert peer.answer().status == 101
        assert peer.close_code() == 4200
    assert {stayer.closed()[0] for stayer in stayers} == {4200}
    gateway.wait()


def test_an_announced_length_costs_nothing(start_gateway, closing):
    """Limits may add up to gigabytes; nobody has to be believed who announces them."""
    gateway = start_gateway(limits={"event_bytes": 1048576, "batch_events": 1000})
    for announced, answered in ((6_000_000_000, {413}), (16_000_000, {None})):
        peer = closing(Wire(gateway))
        peer.send(request("POST", "/apps/1001/events", headers=[f"Content-Length: {announced}"], length=False))
        if None in answered:
            peer.finish()
            peer.rest()
        else:
            assert peer.answer().status in answered
    gateway.assert_alive()


@pytest.mark.parametrize("header", ["close", "Close", "close, TE", "TE,close"])
def test_L4_a_connection_that_is_to_be_closed_is_closed(wire, header):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=[f"Connection: {header}"]))
    answer = wire.answer()
    assert answer.status == 200 and answer.headers["connection"] == "close"
    assert wire.ended()


def test_who_reads_slowly_is_told_4200_behind_everything_else(start_gateway, closing):
    gateway = start_gateway(loops=1, limits={"event_bytes": 100_000})
    api, slow = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("x")
    for _ in range(7):
        api.publish("x", "large", "x" * 100_000)
    gateway.terminate()
    for _ in range(7):
        slow.expect("large")
    assert slow.close_code() == 4200
    gateway.wait()


def test_backends_are_answered_on_every_loop_until_the_last_client_has_been_told(start_gateway, closing):
    gateway = start_gateway(loops=2, server={"drain_seconds": 2})
    backends = [closing(Api(gateway)) for _ in range(2)]
    for backend in backends:
        assert backend.get("/readyz").status == 200
    clients = [closing(Client.connect(gateway)) for _ in range(20)]
    gateway.terminate()
    for backend in backends:
        while (answer := backend.get("/readyz")).headers.get("connection") != "close":
            pass  # until its loop drains, which it learns of a moment after readiness has ended
        assert answer.status == 503
    assert {client.closed()[0] for client in clients} == {4200}
    gateway.wait()
