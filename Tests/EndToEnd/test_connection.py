"""C: the handshake, the greeting, and the refusals."""

import re

import pytest

from harness.apps import DISABLED
from harness.wire import upgrade


def refusal(client, error_first: bool | None = False) -> int:
    """The close code. `error_first`: whether a `pusher:error` must come before it (None: either will do) [C7]."""
    if error_first:
        data = client.expect_error()
        code, reason = client.closed()
        assert data["code"] == code
    elif error_first is None:
        try:
            code, reason = client.closed()
        except AssertionError as message_first:
            assert "pusher:error" in str(message_first)
            code, reason = client.closed()
    else:
        code, reason = client.closed()
    assert reason and reason.isprintable()
    return code


def test_C2_C4_the_greeting_is_a_string_with_socket_id_and_activity_timeout(dial):
    data = dial().greet()
    assert re.fullmatch(r"\d+\.\d+", data["socket_id"], re.ASCII)
    assert data["activity_timeout"] == 120
    assert data.keys() == {"socket_id", "activity_timeout"}


def test_C2_the_greeting_says_nothing_else(connect):
    connect().expect_nothing()


@pytest.mark.parametrize("gateway", [1, 4], indirect=True)
def test_C3_socket_ids_are_unique(gateway, wire):
    ids = [wire().open()["socket_id"] for _ in range(100)]
    assert all(re.fullmatch(r"\d+\.\d+", text, re.ASCII) for text in ids)
    assert len(set(ids)) == 100


@pytest.mark.parametrize("protocol", [5, 6, 7])
def test_C5_protocols_5_to_7_are_spoken(connect, protocol):
    connect(protocol=protocol).expect_nothing()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 8, 9, 10, 70])
def test_C5_other_protocols_close_4007(dial, protocol):
    # Below 6 an error event may come first: the rule is older than the withdrawal of those versions.
    assert refusal(dial(protocol=protocol), error_first=None if protocol < 6 else False) == 4007


def test_C5_no_protocol_closes_4008(dial):
    assert refusal(dial(protocol=None), error_first=None) == 4008


@pytest.mark.parametrize("protocol", ["seven", "7abc", "7.5", "0x7", "7,7", "٧"])
def test_C5_a_protocol_that_is_no_number_closes_4006(dial, protocol):
    assert refusal(dial(protocol=protocol), error_first=None) == 4006


@pytest.mark.parametrize("protocol", ["", "-7", "+7", " 7", "99999999999999999999999"])
def test_C5_odd_protocols_close_with_a_code_of_their_class(dial, protocol):
    assert refusal(dial(protocol=protocol), error_first=None) in (4006, 4007, 4008)


@pytest.mark.parametrize("query", [
    "protocol=7&client=js&version=8.4.0&flash=false",
    "flash=false&version=8.4.0&client=js&protocol=7",
    "x=1&y&z=&=&protocol=7&%20=%01%FF&client=%F0%9F%9A%9A",
    "client=a%26protocol%3D4&protocol=7",
    "protocol=7&" + "&".join(f"unknown{number}={number}" for number in range(30)),
    "protocol=7&filler=" + "x" * 2000,
], ids=["as pusher-js", "reversed", "odd", "escaped", "many", "long"])
def test_C6_unknown_parameters_and_any_order(wire, query):
    assert wire().open(f"/app/key1?{query}")["socket_id"]


@pytest.mark.parametrize("key", ["nobody", "KEY1", "key", "key11", "1001", "secret1", "x" * 500])
@pytest.mark.parametrize("protocol", [6, 7])
def test_C7_an_unknown_key_is_closed_4001_without_an_event(dial, key, protocol):
    assert refusal(dial(key, protocol=protocol)) == 4001


def test_C7_below_6_a_pusher_error_comes_first(dial):
    assert refusal(dial("nobody", protocol=5), error_first=True) == 4001


@pytest.mark.parametrize("target", [
    "/?protocol=7", "/app?protocol=7", "/apps/key1?protocol=7", "/App/key1?protocol=7", "/app/key1/more?protocol=7",
    "/application/key1?protocol=7", "/nowhere?protocol=7", "/apps/1001/events?protocol=7"])
def test_C8_a_wrong_path_is_refused(wire, bystander, target):
    wire = wire()
    wire.send(upgrade(target))
    answer = wire.answer()
    assert answer, "closed without an answer"
    if answer.status == 101:
        assert wire.close_code() == 4005
    else:
        assert 400 <= answer.status < 500


@pytest.mark.parametrize("target", ["/healthz", "/readyz", "/metrics"])
def test_C8_a_page_is_not_a_WebSocket(wire, bystander, target):
    """The page may be shown all the same: a server need not take the upgrade it is offered."""
    wire = wire()
    wire.send(upgrade(target))
    answer = wire.answer()
    assert answer and (answer.status in (101, 200) or 400 <= answer.status < 500)
    assert answer.status != 101 or wire.close_code() == 4005


def test_C8_an_empty_key(wire, bystander):
    wire = wire()
    wire.send(upgrade("/app/?protocol=7"))
    answer = wire.answer()
    assert answer and (answer.status != 101 or wire.close_code() in (4001, 4005))


@pytest.mark.parametrize("target", ["/app/key1%00?protocol=7", "/app/%2e%2e/key1?protocol=7", "/app//key1?protocol=7",
                                    "//app/key1?protocol=7", "/app/key1%2F?protocol=7", "/app/%FF%FE?protocol=7",
                                    "/app/key1?protocol=7&x=%00", "/app/key1?protocol=7&%", "/app/key1?%zz"])
def test_C8_odd_paths_do_no_harm(wire, bystander, target):
    wire = wire()
    wire.send(upgrade(target))
    wire.finish()
    wire.rest()


@pytest.mark.parametrize("protocol", [6, 7])
def test_C9_a_disabled_application_closes_4003(dial, protocol):
    assert refusal(dial(DISABLED.key, protocol=protocol)) == 4003


def test_C9_below_6_a_pusher_error_comes_first(dial):
    assert refusal(dial(DISABLED.key, protocol=5), error_first=True) == 4003


def test_refused_connections_leave_others_alone(dial, bystander):
    for _ in range(30):
        assert refusal(dial("nobody")) == 4001
