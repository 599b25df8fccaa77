"""WebSocket protocol violations: RFC 6455 with hostile or careless clients."""

import pytest

from harness.wire import CLOSE, CONTINUATION, PING, PONG, TEXT, frame, request, upgrade

PING_EVENT = b'{"event":"pusher:ping","data":{}}'


@pytest.fixture
def opened(wire, control_client):
    wire = wire()
    wire.open()
    return wire


def expect_no_upgrade(wire) -> None:
    """Expects an HTTP error or a close; never 101."""
    wire.close_write()
    response = wire.read_response()
    assert response is None or 400 <= response.status < 500, response


@pytest.mark.parametrize("version", ["8", "0", "12", "14", "113", "", "x", "13, 8"])
def test_only_version_13_is_supported(wire, control_client, version):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Version=version))
    expect_no_upgrade(wire)


@pytest.mark.parametrize("header",
                         ["Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version"])
def test_each_handshake_header_is_required(wire, control_client, header):
    wire = wire()
    wire.send(upgrade(omit=header))
    expect_no_upgrade(wire)


def test_plain_get_of_the_websocket_path_is_rejected(wire, control_client):
    wire = wire()
    wire.send(request("GET", "/app/key1?protocol=7"))
    response = wire.read_response()
    assert response and 400 <= response.status < 500


@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD", "DELETE"])
def test_only_get_upgrades(wire, control_client, method):
    wire = wire()
    wire.send(upgrade(method=method))
    expect_no_upgrade(wire)


def test_unknown_subprotocol_is_ignored_or_rejected(wire, control_client):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Protocol="graphql-ws, mqtt"))
    wire.close_write()
    response = wire.read_response()
    assert response is None or "sec-websocket-protocol" not in response.headers


def test_compression_is_not_negotiated(wire):
    wire = wire()
    wire.send(upgrade(Sec_WebSocket_Extensions="permessage-deflate; client_max_window_bits"))
    response = wire.read_response()
    assert response.status == 101 and "sec-websocket-extensions" not in response.headers
    wire.expect("pusher:connection_established")


def test_frame_in_the_same_packet_as_the_handshake_is_processed(wire, control_client):
    wire = wire()
    wire.send(upgrade() + frame(TEXT, PING_EVENT))
    wire.expect_established()
    wire.expect("pusher:pong")


def test_message_sent_byte_by_byte_is_processed(opened):
    for byte in frame(TEXT, PING_EVENT):
        opened.send(bytes([byte]))
    opened.expect("pusher:pong")


def test_message_in_many_fragments_is_processed(opened):
    opened.send(frame(TEXT, PING_EVENT[:1], first=0))
    for byte in PING_EVENT[1:-1]:
        opened.send(frame(CONTINUATION, bytes([byte]), first=0))
    opened.send(frame(CONTINUATION, b"", first=0) + frame(CONTINUATION, PING_EVENT[-1:]))
    opened.expect("pusher:pong")


def test_many_messages_in_one_packet_are_processed(opened):
    opened.send(frame(TEXT, PING_EVENT) * 200)
    for _ in range(200):
        opened.expect("pusher:pong")


INVALID_FRAMES = {
    "a reserved bit": frame(TEXT, PING_EVENT, first=0xC0),
    "all reserved bits": frame(TEXT, PING_EVENT, first=0xF0),
    "opcode 3": frame(3, PING_EVENT),
    "opcode 15": frame(15, b""),
    "a continuation without a message": frame(CONTINUATION, PING_EVENT),
    "a message within a message": frame(TEXT, b"{", first=0) + frame(TEXT, b"}"),
    "a fragmented ping": frame(PING, b"x", first=0),
}


@pytest.mark.parametrize("data", INVALID_FRAMES.values(), ids=INVALID_FRAMES)
def test_invalid_frames_close_1002(opened, data):
    opened.send(data)
    assert opened.close_code() == 1002
    opened.send_ignoring_reset(frame(CLOSE, b"\x03\xea"))
    assert opened.at_end()


@pytest.mark.parametrize("data", [frame(PING, b"x" * 126), frame(CLOSE, b"\x03\xe8" + b"x" * 126)],
                         ids=["ping", "close"])
def test_control_frames_over_125_bytes_close_the_connection(opened, data):
    opened.send(data)
    assert opened.close_code() in (1002, 1006)


@pytest.mark.parametrize("text",
                         [b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf",
                          b"\xe2\x82"],
                         ids=lambda text: text.hex())
def test_invalid_utf_8_is_rejected(opened, text):
    """1007 or an error event: it must not be relayed as text."""
    opened.send(frame(TEXT, b'{"event":"pusher:subscribe","data":{"channel":"' + text + b'"}}'))
    opcode, payload = opened.next_frame()
    if opcode == CLOSE:
        assert int.from_bytes(payload[:2], "big") == 1007
    else:
        assert b"pusher:error" in payload


@pytest.mark.parametrize("length", [2**31, 2**32 + 5, 2**62, 2**63, 2**64 - 1])
def test_wrong_frame_lengths_end_the_connection(opened, length):
    """Whatever the outcome, the connection ends, at the latest when the client closes."""
    opened.send_ignoring_reset(frame(TEXT, b"{}", length=length))
    opened.close_write()
    opened.read_to_end()


def test_unmasked_frames_affect_no_other_client(opened):
    opened.send_ignoring_reset(frame(TEXT, PING_EVENT, masked=False))
    opened.close_write()
    opened.read_to_end()


@pytest.mark.parametrize("payload", [b"\x03\xe8", b"\x03\xe8bye", b"\x0f\xa1", b""],
                         ids=["1000", "1000 bye", "4001", "none"])
def test_close_frame_is_answered_and_the_stream_ends(opened, payload):
    opened.send(frame(CLOSE, payload))
    assert opened.close_code() == (int.from_bytes(payload[:2], "big") if payload else 1005)
    assert opened.at_end()


@pytest.mark.parametrize("payload",
                         [b"\x03", b"\x00\x00", b"\x03\xed", b"\xff\xff", b"\x03\xe8\xff\xfe"],
                         ids=lambda payload: payload.hex())
def test_malformed_close_frame_ends_the_connection(opened, payload):
    opened.send(frame(CLOSE, payload))
    opened.read_to_end()


@pytest.mark.parametrize("cut", [1, 2, 5, 20])
def test_reset_within_a_frame_affects_no_other_client(opened, cut):
    opened.send(frame(TEXT, PING_EVENT)[:cut])
    opened.reset()


@pytest.mark.parametrize("cut", [1, 30, 100, -2, -1])
def test_reset_within_the_handshake_affects_no_other_client(wire, control_client, cut):
    for _ in range(10):
        peer = wire()
        peer.send(upgrade()[:cut])
        peer.reset()


def test_simultaneous_resets_affect_no_other_client(wire, control_client):
    peers = [wire() for _ in range(100)]
    for peer in peers:
        peer.send(upgrade())
    for peer in peers:
        peer.expect_established()
    for peer in peers:
        peer.subscribe(control_client.channel)
    for peer in peers:
        peer.reset()


def test_ping_event_is_answered_after_a_flood_of_ping_frames(opened):
    opened.send_ignoring_reset(frame(PING, b"flood") * 5000)
    opened.send_event("pusher:ping")
    while (got := opened.next_frame()) and got[0] == PONG:
        assert got[1] == b"flood"
    assert got and b"pusher:pong" in got[1]
