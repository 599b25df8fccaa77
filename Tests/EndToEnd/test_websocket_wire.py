"""The WebSocket itself: RFC 6455 as hostile or careless peers see it."""

import pytest

from harness.wire import CLOSE, CONTINUATION, PING, PONG, TEXT, frame, request, upgrade

PING_EVENT = b'{"event":"pusher:ping","data":{}}'


@pytest.fixture
def opened(wire, bystander):
    wire = wire()
    wire.open()
    return wire


def expect_no_upgrade(wire) -> None:
    """An HTTP error, or the end; never 101."""
    wire.finish()
    answer = wire.answer()
    assert answer is None or 400 <= answer.status < 500, answer


@pytest.mark.parametrize("version", ["8", "0", "12", "14", "113", "", "x", "13, 8"])
def test_only_version_13_is_spoken(wire, bystander, version):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Version=version))
    expect_no_upgrade(wire)


@pytest.mark.parametrize("header", ["Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version"])
def test_every_header_of_the_handshake_is_needed(wire, bystander, header):
    wire = wire()
    wire.send(upgrade(leave_out=header))
    expect_no_upgrade(wire)


def test_a_plain_GET_of_the_clients_path_is_refused(wire, bystander):
    wire = wire()
    wire.send(request("GET", "/app/key1?protocol=7"))
    answer = wire.answer()
    assert answer and 400 <= answer.status < 500


@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD", "DELETE"])
def test_only_GET_upgrades(wire, bystander, method):
    wire = wire()
    wire.send(upgrade(method=method))
    expect_no_upgrade(wire)


def test_an_unknown_subprotocol_does_no_harm(wire, bystander):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Protocol="graphql-ws, mqtt"))
    wire.finish()
    answer = wire.answer()
    assert answer is None or "sec-websocket-protocol" not in answer.headers


def test_compression_is_not_agreed_to(wire):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits"))
    answer = wire.answer()
    assert answer.status == 101 and "sec-websocket-extensions" not in answer.headers
    wire.expect("pusher:connection_established")


def test_a_frame_in_the_same_packet_as_the_handshake(wire, bystander):
    wire = wire()
    wire.send(upgrade() + frame(TEXT, PING_EVENT))
    wire.greeting()
    wire.expect("pusher:pong")


def test_a_message_byte_by_byte(opened):
    for byte in frame(TEXT, PING_EVENT):
        opened.send(bytes([byte]))
    opened.expect("pusher:pong")


def test_a_message_in_many_parts(opened):
    opened.send(frame(TEXT, PING_EVENT[:1], first=0))
    for byte in PING_EVENT[1:-1]:
        opened.send(frame(CONTINUATION, bytes([byte]), first=0))
    opened.send(frame(CONTINUATION, b"", first=0) + frame(CONTINUATION, PING_EVENT[-1:]))
    opened.expect("pusher:pong")


def test_many_messages_in_one_packet(opened):
    opened.send(frame(TEXT, PING_EVENT) * 200)
    for _ in range(200):
        opened.expect("pusher:pong")


BROKEN = {
    "a reserved bit": frame(TEXT, PING_EVENT, first=0xC0),
    "all reserved bits": frame(TEXT, PING_EVENT, first=0xF0),
    "opcode 3": frame(3, PING_EVENT),
    "opcode 15": frame(15, b""),
    "a continuation of nothing": frame(CONTINUATION, PING_EVENT),
    "a message within a message": frame(TEXT, b"{", first=0) + frame(TEXT, b"}"),
    "a fragmented ping": frame(PING, b"x", first=0),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_broken_frames_close_1002(opened, data):
    opened.send(data)
    assert opened.close_code() == 1002
    opened.send_as_taken(frame(CLOSE, b"\x03\xea"))
    assert opened.ended()


@pytest.mark.parametrize("data", [frame(PING, b"x" * 126), frame(CLOSE, b"\x03\xe8" + b"x" * 126)], ids=["ping", "close"])
def test_control_frames_over_125_bytes_end_the_connection(opened, data):
    opened.send(data)
    assert opened.close_code() in (1002, 1006)


@pytest.mark.parametrize("text", [b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf", b"\xe2\x82"],
                         ids=lambda text: text.hex())
def test_text_that_is_not_UTF_8_is_refused(opened, text):
    """1007, or an error event: it must not reach anybody as text."""
    opened.send(frame(TEXT, b'{"event":"pusher:subscribe","data":{"channel":"' + text + b'"}}'))
    opcode, payload = opened.next_frame()
    if opcode == CLOSE:
        assert int.from_bytes(payload[:2], "big") == 1007
    else:
        assert b"pusher:error" in payload


@pytest.mark.parametrize("length", [2**31, 2**32 + 5, 2**62, 2**63, 2**64 - 1])
def test_lengths_that_lie(opened, length):
    """Whatever comes of it, the connection does not stay: it ends by itself or with the peer."""
    opened.send_as_taken(frame(TEXT, b"{}", length=length))
    opened.finish()
    opened.rest()


def test_unmasked_frames_harm_nobody(opened):
    opened.send_as_taken(frame(TEXT, PING_EVENT, masked=False))
    opened.finish()
    opened.rest()


@pytest.mark.parametrize("payload", [b"\x03\xe8", b"\x03\xe8bye", b"\x0f\xa1", b""], ids=["1000", "1000 bye", "4001", "none"])
def test_a_close_is_answered_and_the_stream_ends(opened, payload):
    opened.send(frame(CLOSE, payload))
    assert opened.close_code() == (int.from_bytes(payload[:2], "big") if payload else 1005)
    assert opened.ended()


@pytest.mark.parametrize("payload", [b"\x03", b"\x00\x00", b"\x03\xed", b"\xff\xff", b"\x03\xe8\xff\xfe"], ids=lambda payload: payload.hex())
def test_a_malformed_close_ends_the_connection(opened, payload):
    opened.send(frame(CLOSE, payload))
    opened.rest()


@pytest.mark.parametrize("cut", [1, 2, 5, 20])
def test_a_peer_that_vanishes_within_a_frame(opened, cut):
    opened.send(frame(TEXT, PING_EVENT)[:cut])
    opened.reset()


@pytest.mark.parametrize("cut", [1, 30, 100, -2, -1])
def test_a_peer_that_vanishes_within_the_handshake(wire, bystander, cut):
    for _ in range(10):
        peer = wire()
        peer.send(upgrade()[:cut])
        peer.reset()


def test_a_hundred_connections_that_vanish_at_once(wire, bystander):
    peers = [wire() for _ in range(100)]
    for peer in peers:
        peer.send(upgrade())
    for peer in peers:
        peer.greeting()
    for peer in peers:
        peer.subscribe(bystander.channel)
    for peer in peers:
        peer.reset()


def test_a_flood_of_ping_frames_is_survived(opened):
    opened.send_as_taken(frame(PING, b"flood") * 5000)
    opened.say("pusher:ping")
    while (got := opened.next_frame()) and got[0] == PONG:
        assert got[1] == b"flood"
    assert got and b"pusher:pong" in got[1]
