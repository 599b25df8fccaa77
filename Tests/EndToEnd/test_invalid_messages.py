"""M: invalid messages."""

import json

import pytest

from harness.client import ABSENT
from harness.wire import BINARY, CLOSE, TEXT, frame

MESSAGE_BYTES = 65536  # limits.message_bytes unless configured


def ping_of(size: int) -> str:
    """Returns a ping of exactly this size."""
    envelope = '{"event":"pusher:ping","data":""}'
    return envelope[:-2] + "x" * (size - len(envelope)) + envelope[-2:]


def expect_error_or_close(client, *codes: int) -> None:
    """Expects an error event on a connection that stays open, or a close with one of the codes."""
    try:
        client.expect_error()
    except AssertionError as failure:
        if "ended instead" not in str(failure):
            raise
        assert client.expect_close()[0] in codes
        return
    client.expect_nothing()


UNPARSABLE = ["", " ", "x", "{", "}", "{}x", '{"event"}', '{"event":}', '{"event":"pusher:ping"',
              '{"event":"pusher:ping",}', "{'event':'pusher:ping'}", '{event:"pusher:ping"}',
              '{"event":"pusher:ping"}{"event":"pusher:ping"}', "\ufeff{}", '{"event":"\\x"}',
              '{"event":"\\u12"}', '{"event":"a\nb"}', '"\\ud800', "[" * 5000, '{"a":' * 5000,
              "[" * 60000, "nul", "truee", "01", "1e", "-", '{"event":"pusher:ping","data":01}',
              "\0", '{"event":"pusher:ping"}\0']


@pytest.mark.parametrize("text", UNPARSABLE, ids=lambda text: ascii(text)[1:24])
def test_M1_unparsable_text_affects_no_other_client(connect, control_client, text):
    client = connect()
    client.send_text(text)
    expect_error_or_close(client, 1003, 1007, 4000, 4009, 4200)


@pytest.mark.parametrize("text", ["null", '{"event":1}', '{"event":""}'],
                         ids=lambda text: text[:24])
def test_M1_json_that_is_no_message_is_an_error(connect, control_client, text):
    client = connect()
    client.send_text(text)
    client.expect_error()
    client.expect_nothing()


@pytest.mark.parametrize("event",
                         ["pusher:Subscribe", "pusher_internal:subscription_succeeded", "message"])
def test_M2_reserved_and_unknown_events_are_errors(connect, control_client, event):
    client = connect()
    client.send(event, {"channel": control_client.channel}, channel=control_client.channel)
    client.expect_error()
    client.expect_nothing()


@pytest.mark.parametrize("event", ["pusher:subscribe", "pusher:unsubscribe"])
@pytest.mark.parametrize("data", [ABSENT, "x", {"channel": 1}],
                         ids=lambda data: "absent" if data is ABSENT else json.dumps(data))
def test_M2_malformed_commands_are_errors(connect, control_client, event, data):
    client = connect()
    client.send(event, data)
    message = client.receive()
    assert message["event"] in ("pusher:error", "pusher:subscription_error")
    assert isinstance(message["data"], dict)
    client.expect_nothing()


def test_M3_error_has_message_and_code(connect):
    client = connect()
    client.send("pusher:nonsense", {})
    assert client.expect_error().keys() == {"message", "code"}


@pytest.mark.parametrize("payload",
                         [b"", b'{"event":"pusher:ping","data":{}}', b"\0" * 1000, b"\xff\xfe"],
                         ids=["empty", "a ping", "zeros", "no text"])
def test_M4_binary_frames_are_rejected(connect, control_client, payload):
    client = connect()
    client.socket.send(payload)
    expect_error_or_close(client, 1003)


def test_M4_binary_subscribe_is_ignored(wire, connect, control_client, api):
    """The client that subscribed with a binary frame must not receive the control client's event.
    """
    wire = wire()
    wire.open()
    wire.send(
        frame(
            BINARY,
            json.dumps(
                {"event": "pusher:subscribe",
                 "data": {"channel": control_client.channel}}).encode()))
    api.publish(control_client.channel, "not-for-binaries")
    control_client.client.expect("not-for-binaries")
    wire.send_event("pusher:ping")
    while (got := wire.next_frame()) and got[0] != CLOSE:
        event = json.loads(got[1])["event"]
        assert event in ("pusher:error", "pusher:pong")
        if event == "pusher:pong":
            break


def test_M5_largest_message_is_accepted(connect):
    client = connect()
    client.send_text(ping_of(MESSAGE_BYTES))
    client.expect("pusher:pong")


@pytest.mark.parametrize("size", [MESSAGE_BYTES + 1, 2 * MESSAGE_BYTES, 5_000_000])
def test_M5_larger_message_is_rejected(wire, control_client, size):
    wire = wire()
    wire.open()
    wire.send_ignoring_reset(frame(TEXT, ping_of(size).encode()))
    expect_oversize_rejected(wire)


def test_M5_larger_fragmented_message_is_rejected(wire, control_client):
    wire = wire()
    wire.open()
    wire.send_ignoring_reset(frame(TEXT, b'{"event":"pusher:ping","data":"', first=0))
    for _ in range(200):
        wire.send_ignoring_reset(frame(0, b"x" * 1000, first=0))
    wire.send_ignoring_reset(frame(0, b'"}'))
    expect_oversize_rejected(wire)


def test_M5_announced_length_too_large_is_rejected(wire, control_client):
    wire = wire()
    wire.open()
    wire.send_ignoring_reset(frame(TEXT, b"x" * (2 * MESSAGE_BYTES), length=2**40))
    expect_oversize_rejected(wire)


def expect_oversize_rejected(wire) -> None:
    """Expects a close with 1009, or an error event."""
    got = wire.next_frame()
    assert got, "closed without a close frame"
    opcode, payload = got
    if opcode == CLOSE:
        assert int.from_bytes(payload[:2], "big") == 1009
    else:
        assert json.loads(payload)["event"] == "pusher:error"


def test_a_hundred_invalid_messages_get_a_hundred_errors(connect, control_client):
    client = connect()
    for _ in range(100):
        client.send("pusher:nonsense", {})
    for _ in range(100):
        client.expect_error()
    client.expect_nothing()
