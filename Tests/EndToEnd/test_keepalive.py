"""P: pings of both kinds."""

import os

import pytest

from harness.apps import PATIENCE
from harness.client import ABSENT
from harness.wire import PING, PONG, TEXT, frame

EMPTY = ({}, "{}", "", None)


@pytest.mark.parametrize("data", [{}, "{}", "", None, ABSENT], ids=["object", "string", "empty", "null", "absent"])
def test_P1_a_ping_event_is_answered_with_an_empty_pong(connect, data):
    client = connect()
    client.send("pusher:ping", data)
    pong = client.expect("pusher:pong")
    assert pong.get("data") in EMPTY and "channel" not in pong


def test_P1_every_ping_event_has_its_pong(connect):
    client = connect()
    for _ in range(20):
        client.send("pusher:ping", {})
    for _ in range(20):
        client.expect("pusher:pong")
    client.expect_nothing()


@pytest.mark.parametrize("data", [{}, "{}", "", None, ABSENT], ids=["object", "string", "empty", "null", "absent"])
def test_P2_a_pong_event_is_taken_in_silence(connect, data):
    client = connect()
    client.send("pusher:pong", data)
    client.expect_nothing()


def test_P2_a_pong_frame_is_taken_in_silence(connect):
    client = connect()
    client.socket.pong(b"unasked")
    client.expect_nothing()


@pytest.mark.parametrize("size", [0, 1, 4, 8, 124, 125])
def test_P3_a_ping_frame_is_answered_with_the_same_bytes(connect, size):
    # The library tells by the payload which ping a pong answers.
    assert connect().socket.ping(os.urandom(size)).wait(PATIENCE)


def test_P3_a_ping_frame_with_zero_bytes_in_it(connect):
    assert connect().socket.ping(b"\0\r\n\xff\0").wait(PATIENCE)


def test_P3_pings_between_the_parts_of_a_message(wire):
    wire = wire()
    wire.open()
    wire.send(frame(TEXT, b'{"event":"pusher:pi', first=0))
    wire.send(frame(PING, b"between"))
    assert wire.next_frame() == (PONG, b"between")
    wire.send(frame(0, b'ng","data":{}}'))
    wire.expect("pusher:pong")


def test_P3_pings_back_to_back(wire):
    """RFC 6455 5.5.3: it is enough to answer the latest; what must not happen is silence."""
    wire = wire()
    wire.open()
    wire.send(frame(PING, b"one") + frame(PING, b"two") + frame(PING, b"three"))
    wire.say("pusher:ping")
    heard, event = [], False
    while not (heard and event):  # which of the two comes first is left open
        opcode, payload = wire.next_frame()
        assert opcode in (PONG, TEXT)
        if opcode == TEXT:
            event = True
        else:
            heard.append((opcode, payload))
    order = [payload for _, payload in heard]
    assert order == [payload for payload in (b"one", b"two", b"three") if payload in order]
