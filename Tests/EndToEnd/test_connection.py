"""C: the handshake, connection_established, and close codes."""

import re

import pytest

from harness.apps import DISABLED
from harness.wire import upgrade


def rejection_code(client, error_first: bool | None = False) -> int:
    """Returns the close code. `error_first`: whether a `pusher:error` must precede it (None:
    optional) [C7].
    """
    if error_first:
        data = client.expect_error()
        code, reason = client.expect_close()
        assert data["code"] == code
    elif error_first is None:
        try:
            code, reason = client.expect_close()
        except AssertionError as message_first:
            assert "pusher:error" in str(message_first)
            code, reason = client.expect_close()
    else:
        code, reason = client.expect_close()
    assert reason and reason.isprintable()
    return code


def test_C2_C4_connection_established_has_socket_id_and_activity_timeout(dial):
    data = dial().expect_established()
    assert re.fullmatch(r"\d+\.\d+", data["socket_id"], re.ASCII)
    assert data["activity_timeout"] == 120
    assert data.keys() == {"socket_id", "activity_timeout"}


def test_C2_no_other_message_on_connect(connect):
    connect().expect_nothing()


@pytest.mark.parametrize("gateway", [1, 4], indirect=True)
def test_C3_socket_ids_are_unique(gateway, wire):
    ids = [wire().open()["socket_id"] for _ in range(100)]
    assert all(re.fullmatch(r"\d+\.\d+", text, re.ASCII) for text in ids)
    assert len(set(ids)) == 100


@pytest.mark.parametrize("protocol", [5, 6, 7])
def test_C5_protocols_5_to_7_are_supported(connect, protocol):
    connect(protocol=protocol).expect_nothing()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 8, 9, 10, 70])
def test_C5_other_protocols_close_4007(dial, protocol):
    # Protocols below 6 specify an error event before the close. It is optional here, because the
    # gateway does not support these versions.
    assert rejection_code(dial(protocol=protocol),
                          error_first=None if protocol < 6 else False) == 4007


def test_C5_missing_protocol_closes_4008(dial):
    assert rejection_code(dial(protocol=None), error_first=None) == 4008


@pytest.mark.parametrize("protocol", ["seven", "7abc", "7.5", "0x7", "7,7", "٧"])
def test_C5_non_numeric_protocol_closes_4006(dial, protocol):
    assert rejection_code(dial(protocol=protocol), error_first=None) == 4006


@pytest.mark.parametrize("protocol", ["", "-7", "+7", " 7", "99999999999999999999999"])
def test_C5_malformed_protocols_close_4006_to_4008(dial, protocol):
    assert rejection_code(dial(protocol=protocol), error_first=None) in (4006, 4007, 4008)


@pytest.mark.parametrize("query", [
    "protocol=7&client=js&version=8.4.0&flash=false",
    "flash=false&version=8.4.0&client=js&protocol=7",
    "x=1&y&z=&=&protocol=7&%20=%01%FF&client=%F0%9F%9A%9A",
    "client=a%26protocol%3D4&protocol=7",
    "protocol=7&" + "&".join(f"unknown{number}={number}" for number in range(30)),
    "protocol=7&filler=" + "x" * 2000,
], ids=["as pusher-js", "reversed", "odd", "escaped", "many", "long"])
def test_C6_unknown_parameters_and_any_order_are_accepted(wire, query):
    assert wire().open(f"/app/key1?{query}")["socket_id"]


@pytest.mark.parametrize("key", ["unknown", "KEY1", "key", "key11", "1001", "secret1", "x" * 500])
@pytest.mark.parametrize("protocol", [6, 7])
def test_C7_unknown_key_closes_4001_without_an_event(dial, key, protocol):
    assert rejection_code(dial(key, protocol=protocol)) == 4001


def test_C7_protocol_5_gets_pusher_error_before_close(dial):
    assert rejection_code(dial("unknown", protocol=5), error_first=True) == 4001


@pytest.mark.parametrize("target", [
    "/?protocol=7", "/app?protocol=7", "/apps/key1?protocol=7", "/App/key1?protocol=7",
    "/app/key1/more?protocol=7",
    "/application/key1?protocol=7", "/nowhere?protocol=7", "/apps/1001/events?protocol=7"])
def test_C8_wrong_path_is_rejected(wire, control_client, target):
    wire = wire()
    wire.send(upgrade(target))
    response = wire.read_response()
    assert response, "closed without a response"
    if response.status == 101:
        assert wire.close_code() == 4005
    else:
        assert 400 <= response.status < 500


@pytest.mark.parametrize("target", ["/healthz", "/readyz", "/metrics"])
def test_C8_pages_are_no_websocket_endpoints(wire, control_client, target):
    """The page may be returned nevertheless: a server may ignore an upgrade offer."""
    wire = wire()
    wire.send(upgrade(target))
    response = wire.read_response()
    assert response and (response.status in (101, 200) or 400 <= response.status < 500)
    assert response.status != 101 or wire.close_code() == 4005


def test_C8_empty_key_is_rejected(wire, control_client):
    wire = wire()
    wire.send(upgrade("/app/?protocol=7"))
    response = wire.read_response()
    assert response and (response.status != 101 or wire.close_code() in (4001, 4005))


@pytest.mark.parametrize("target",
                         ["/app/key1%00?protocol=7", "/app/%2e%2e/key1?protocol=7",
                          "/app//key1?protocol=7", "//app/key1?protocol=7",
                          "/app/key1%2F?protocol=7", "/app/%FF%FE?protocol=7",
                          "/app/key1?protocol=7&x=%00", "/app/key1?protocol=7&%", "/app/key1?%zz"])
def test_C8_malformed_paths_affect_no_other_client(wire, control_client, target):
    wire = wire()
    wire.send(upgrade(target))
    wire.close_write()
    wire.read_to_end()


@pytest.mark.parametrize("protocol", [6, 7])
def test_C9_disabled_application_closes_4003(dial, protocol):
    assert rejection_code(dial(DISABLED.key, protocol=protocol)) == 4003


def test_C9_protocol_5_gets_pusher_error_before_close(dial):
    assert rejection_code(dial(DISABLED.key, protocol=5), error_first=True) == 4003


def test_rejected_connections_affect_no_other_client(dial, control_client):
    for _ in range(30):
        assert rejection_code(dial("unknown")) == 4001
