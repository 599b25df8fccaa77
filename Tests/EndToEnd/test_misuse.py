"""M: what nobody should send."""

import json

import pytest

from harness.client import ABSENT
from harness.wire import BINARY, CLOSE, TEXT, frame

MESSAGE_BYTES = 65536  # limits.message_bytes unless configured


def ping_of(size: int) -> str:
    """A ping that is exactly this long."""
    shell = '{"event":"pusher:ping","data":""}'
    return shell[:-2] + "x" * (size - len(shell)) + shell[-2:]


def survives(client, *codes: int) -> None:
    """The sender gets an error event and may go on, or is closed with one of the codes."""
    try:
        client.expect_error()
    except AssertionError as failure:
        if "ended instead" not in str(failure):
            raise
        assert client.closed()[0] in codes
        return
    client.expect_nothing()


UNPARSABLE = ["", " ", "x", "{", "}", "{}x", '{"event"}', '{"event":}', '{"event":"pusher:ping"', '{"event":"pusher:ping",}',
              "{'event':'pusher:ping'}", '{event:"pusher:ping"}', '{"event":"pusher:ping"}{"event":"pusher:ping"}', "\ufeff{}",
              '{"event":"\\x"}', '{"event":"\\u12"}', '{"event":"a\nb"}', '"\\ud800', "[" * 5000, '{"a":' * 5000, "[" * 60000,
              "nul", "truee", "01", "1e", "-", '{"event":"pusher:ping","data":01}', "\0", '{"event":"pusher:ping"}\0']


@pytest.mark.parametrize("text", UNPARSABLE, ids=lambda text: ascii(text)[1:24])
def test_M1_unparsable_text_harms_nobody(connect, bystander, text):
    client = connect()
    client.send_text(text)
    survives(client, 1003, 1007, 4000, 4009, 4200)


NOT_MESSAGES = ["null", "true", "0", '"pusher:ping"', "[]", '[{"event":"pusher:ping"}]', "{}", '{"event":null}', '{"event":1}',
                '{"event":{}}', '{"event":["pusher:ping"]}', '{"event":""}', '{"Event":"pusher:ping"}', '{"data":{"channel":"x"}}']


@pytest.mark.parametrize("text", NOT_MESSAGES, ids=lambda text: text[:24])
def test_M1_JSON_that_is_no_message_is_an_error(connect, bystander, text):
    client = connect()
    client.send_text(text)
    client.expect_error()
    client.expect_nothing()


@pytest.mark.parametrize("event", [
    "pusher:x", "pusher:", "pusher:connection_established", "pusher:error", "pusher:cache_miss", "pusher:Subscribe", "pusher:client-x",
    "pusher_internal:subscription_succeeded", "pusher_internal:member_added", "pusher_internal:x", "pusher_internal:client-x",
    "message", "Client-x", "xclient-y", "client", " client-x"])
def test_M2_reserved_and_unknown_events_are_errors(connect, bystander, event):
    client = connect()
    client.send(event, {"channel": bystander.channel}, channel=bystander.channel)
    client.expect_error()
    client.expect_nothing()


@pytest.mark.parametrize("event", ["pusher:subscribe", "pusher:unsubscribe"])
@pytest.mark.parametrize("data", [
    ABSENT, None, "", "x", 1, True, [], {}, [{"channel": "x"}], {"channel": None}, {"channel": 1}, {"channel": {}}, {"channel": ["x"]},
    {"channels": ["x"]}, {"Channel": "x"}], ids=lambda data: "absent" if data is ABSENT else json.dumps(data))
def test_M2_malformed_commands_are_errors(connect, bystander, event, data):
    client = connect()
    client.send(event, data)
    message = client.receive()
    assert message["event"] in ("pusher:error", "pusher:subscription_error")
    assert isinstance(message["data"], dict)
    client.expect_nothing()


def test_M3_an_error_names_a_message_and_a_code(connect):
    client = connect()
    client.send("pusher:nonsense", {})
    assert client.expect_error().keys() == {"message", "code"}


@pytest.mark.parametrize("payload", [b"", b'{"event":"pusher:ping","data":{}}', b"\0" * 1000, b"\xff\xfe"],
                         ids=["empty", "a ping", "zeros", "no text"])
def test_M4_binary_frames_are_refused(connect, bystander, payload):
    client = connect()
    client.socket.send(payload)
    survives(client, 1003)


def test_M4_a_binary_subscription_subscribes_to_nothing(wire, connect, bystander, api):
    """The bystander's closing event is not for the one who asked in binary."""
    wire = wire()
    wire.open()
    wire.send(frame(BINARY, json.dumps({"event": "pusher:subscribe", "data": {"channel": bystander.channel}}).encode()))
    api.publish(bystander.channel, "not-for-binaries")
    bystander.client.expect("not-for-binaries")
    wire.say("pusher:ping")
    while (got := wire.next_frame()) and got[0] != CLOSE:
        event = json.loads(got[1])["event"]
        assert event in ("pusher:error", "pusher:pong")
        if event == "pusher:pong":
            break


def test_M5_a_message_of_the_largest_size_is_taken(connect):
    client = connect()
    client.send_text(ping_of(MESSAGE_BYTES))
    client.expect("pusher:pong")


@pytest.mark.parametrize("size", [MESSAGE_BYTES + 1, 2 * MESSAGE_BYTES, 5_000_000])
def test_M5_a_longer_one_is_refused(wire, bystander, size):
    wire = wire()
    wire.open()
    wire.send_as_taken(frame(TEXT, ping_of(size).encode()))
    expect_oversize_refused(wire)


def test_M5_nor_may_it_come_in_parts(wire, bystander):
    wire = wire()
    wire.open()
    wire.send_as_taken(frame(TEXT, b'{"event":"pusher:ping","data":"', first=0))
    for _ in range(200):
        wire.send_as_taken(frame(0, b"x" * 1000, first=0))
    wire.send_as_taken(frame(0, b'"}'))
    expect_oversize_refused(wire)


def test_M5_a_length_that_only_threatens(wire, bystander):
    wire = wire()
    wire.open()
    wire.send_as_taken(frame(TEXT, b"x" * (2 * MESSAGE_BYTES), length=2**40))
    expect_oversize_refused(wire)


def expect_oversize_refused(wire) -> None:
    """1009, or an error event."""
    got = wire.next_frame()
    assert got, "closed without a word"
    opcode, payload = got
    if opcode == CLOSE:
        assert int.from_bytes(payload[:2], "big") == 1009
    else:
        assert json.loads(payload)["event"] == "pusher:error"


def test_a_hundred_mistakes_are_a_hundred_errors(connect, bystander):
    client = connect()
    for _ in range(100):
        client.send("pusher:nonsense", {})
    for _ in range(100):
        client.expect_error()
    client.expect_nothing()
