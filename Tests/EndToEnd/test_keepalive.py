"""P: ping events and ping frames."""

import os

import pytest

from harness.apps import TIMEOUT
from harness.client import ABSENT
from harness.wire import PING, PONG, TEXT, frame

EMPTY = ({}, "{}", "", None)


@pytest.mark.parametrize("data", [{}, "{}", "", None, ABSENT],
                         ids=["object", "string", "empty", "null", "absent"])
def test_P1_ping_event_gets_an_empty_pong(connect, data):
    client = connect()
    client.send("pusher:ping", data)
    pong = client.expect("pusher:pong")
    assert pong.get("data") in EMPTY and "channel" not in pong


def test_P1_each_ping_event_gets_a_pong(connect):
    client = connect()
    for _ in range(20):
        client.send("pusher:ping", {})
    for _ in range(20):
        client.expect("pusher:pong")
    client.expect_nothing()


@pytest.mark.parametrize("data", [{}, "{}", "", None, ABSENT],
                         ids=["object", "string", "empty", "null", "absent"])
def test_P2_pong_event_is_ignored(connect, data):
    client = connect()
    client.send("pusher:pong", data)
    client.expect_nothing()


def test_P2_pong_frame_is_ignored(connect):
    client = connect()
    client.socket.pong(b"unsolicited")
    client.expect_nothing()


@pytest.mark.parametrize("size", [0, 1, 4, 8, 124, 125])
def test_P3_ping_frame_gets_the_same_bytes(connect, size):
    # `websockets` matches a pong to its ping by the payload.
    assert connect().socket.ping(os.urandom(size)).wait(TIMEOUT)


def test_P3_ping_frame_with_control_bytes_gets_the_same_bytes(connect):
    assert connect().socket.ping(b"\0\r\n\xff\0").wait(TIMEOUT)


def test_P3_ping_frame_between_fragments_is_answered(wire):
    wire = wire()
    wire.open()
    wire.send(frame(TEXT, b'{"event":"pusher:pi', first=0))
    wire.send(frame(PING, b"between"))
    assert wire.next_frame() == (PONG, b"between")
    wire.send(frame(0, b'ng","data":{}}'))
    wire.expect("pusher:pong")


def test_P3_consecutive_ping_frames_are_answered_in_order(wire):
    """RFC 6455 5.5.3 allows answering only the latest; some answer is required."""
    wire = wire()
    wire.open()
    wire.send(frame(PING, b"one") + frame(PING, b"two") + frame(PING, b"three"))
    wire.send_event("pusher:ping")
    received, event = [], False
    while not (received and event):  # their order is unspecified
        opcode, payload = wire.next_frame()
        assert opcode in (PONG, TEXT)
        if opcode == TEXT:
            event = True
        else:
            received.append((opcode, payload))
    order = [payload for _, payload in received]
    assert order == [payload for payload in (b"one", b"two", b"three") if payload in order]
