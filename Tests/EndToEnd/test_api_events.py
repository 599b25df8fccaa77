"""B: POST /apps/{id}/events, once the signature is right."""

import json

import pytest

from harness.api import Api, event_body, signed_target
from harness.apps import FIRST, SECOND
from harness.wire import request


@pytest.fixture
def subscriber(connect, channel):
    client = connect()
    client.subscribe(channel)
    client.channel = channel
    return client


def assert_refused(api, subscriber, body: bytes, status: int = 400) -> str:
    """The status, a text that says why, and nothing delivered. Answers the text."""
    answer = api.post(body)
    assert answer.status == status, answer
    assert answer.text.strip()
    api.publish(subscriber.channel, "fence")
    subscriber.expect("fence")
    return answer.text.strip()


def test_B1_channel(api, subscriber, channel):
    answer = api.post(event_body(channel))
    assert (answer.status, answer.body) == (200, b"{}")
    subscriber.expect("event", channel=channel)


def test_B1_channels(api, subscriber, channel):
    answer = api.post(event_body([channel]))
    assert (answer.status, answer.body) == (200, b"{}")
    subscriber.expect("event", channel=channel)


def test_B1_unknown_fields_white_space_and_any_order(api, subscriber, channel):
    body = '\n{ "more": {"name": [1, "x"]}, "data" : "d" ,\t"channel":%s, "name": "event", "x": null }\r\n' % json.dumps(channel)
    assert api.post(body.encode()).status == 200
    subscriber.expect("event", data="d")


def test_B2_socket_id_excludes(api, subscriber, channel):
    api.publish(channel, "not-for-me", socket_id=subscriber.socket_id)
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("socket_id", ["x", "1", "1.", ".1", "1.2.3", "a.b", "1.2 ", " 1.2", "1.2\n", "-1.2", "1,2", "１.２", "1.2x", 1, 1.2, True,
                                       [], {}, ["1.2"]], ids=ascii)
def test_B2_a_malformed_socket_id_is_400(api, subscriber, channel, socket_id):
    assert_refused(api, subscriber, event_body(channel, socket_id=socket_id))


@pytest.mark.parametrize("socket_id", ["99999999999999999999999999.1", "1.99999999999999999999999999", "0.0", "1" * 300 + ".1"], ids=lambda text: text[:12])
def test_B2_a_socket_id_nobody_has_does_no_harm(api, subscriber, channel, socket_id):
    assert api.post(event_body(channel, socket_id=socket_id)).status in (200, 400)
    api.publish(channel, "fence")
    while subscriber.receive()["event"] != "fence":
        pass


@pytest.mark.parametrize("body", [
    b"", b" ", b"null", b"true", b"0", b'""', b"[]", b"{}", b"{", b"[{}]", b"\xff", b"name=event&channel=x&data=y", b"{}x", b'{"name":"event",}',
    b"\xef\xbb\xbf{}", b"[" * 9000, b'{"a":' * 9000], ids=lambda body: ascii(body)[2:20])
def test_B3_what_is_no_event_is_400(api, subscriber, body):
    assert_refused(api, subscriber, body)


@pytest.mark.parametrize("field, value", [
    ("name", None), ("name", 1), ("name", True), ("name", {}), ("name", ["event"]), ("name", ""),
    ("data", None), ("channel", None), ("channel", 1), ("channel", {}), ("channel", ""),
    ("channels", None), ("channels", 1), ("channels", "x"), ("channels", {}), ("channels", []), ("channels", [1]), ("channels", [None]),
    ("channels", [["x"]]), ("channels", [""])])
def test_B3_mistyped_fields_are_400(api, subscriber, field, value):
    event = {"name": "event", "data": "{}"} | ({} if field.startswith("channel") else {"channel": subscriber.channel})
    assert_refused(api, subscriber, json.dumps(event | {field: value}).encode())


def test_B3_a_mistyped_name_is_named(api, subscriber, channel):
    body = json.dumps({"name": 1, "data": "{}", "channel": channel}).encode()
    assert assert_refused(api, subscriber, body) == "Expected name parameter to be a string"


@pytest.mark.parametrize("missing", ["name", "data", "channel"])
def test_B3_missing_fields_are_400(api, subscriber, channel, missing):
    event = {"name": "event", "data": "{}", "channel": channel}
    del event[missing]
    assert_refused(api, subscriber, json.dumps(event).encode())


def test_B3_cut_off_anywhere_it_is_400(api, subscriber, channel):
    whole = event_body(channel)
    for end in range(1, len(whole)):
        assert api.post(whole[:end]).status == 400
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("data", [1, 1.5, True, {}, {"a": [1, "x"]}, [], [1, 2]], ids=json.dumps)
def test_B4_data_that_is_no_string_is_refused_or_made_one(api, subscriber, channel, data):
    answer = api.post(json.dumps({"name": "event", "channel": channel, "data": data}).encode())
    assert answer.status in (200, 400)
    if answer.status == 200:
        text = subscriber.expect("event")["data"]
        assert isinstance(text, str) and json.loads(text) == data
    api.publish(channel, "fence")
    subscriber.expect("fence")


BAD_NAMES = ["", " ", "a b", "a/b", "a:b", "#a", "a#b", "é", "🚚", "a\0", "a\n", "a*", "[a]", "a" * 201]


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name)[:16])
def test_B5_a_bad_channel_name_is_400(api, subscriber, name):
    assert_refused(api, subscriber, event_body(name))


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name)[:16])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_B5_and_nothing_is_sent_to_the_good_ones(api, subscriber, channel, name, place):
    names = [channel, channel + "-other"]
    names.insert(place, name)
    assert_refused(api, subscriber, event_body(names))


def test_B6_100_channels_are_taken_and_101_are_not(api, subscriber, channel):
    others = [f"{channel}-{number}" for number in range(100)]
    assert_refused(api, subscriber, event_body([channel] + others))
    api.publish([channel] + others[:99])
    subscriber.expect("event")


def test_B6_100_channels_of_200_letters_with_10240_bytes(api, connect, channel):
    names = [f"{number:03}".ljust(200, "x") for number in range(100)]
    client = connect()
    client.subscribe(names[99])
    api.publish(names, data="\0" * 10240)
    client.expect("event", data="\0" * 10240)


def test_B7_a_name_of_200_is_taken_and_201_is_not(api, subscriber, channel):
    assert_refused(api, subscriber, event_body(channel, "n" * 201))
    api.publish(channel, "n" * 200)
    subscriber.expect("n" * 200)


def test_B9_data_too_long_is_413(api, subscriber, channel):
    text = assert_refused(api, subscriber, event_body(channel, data="x" * 10241), 413)
    assert text.startswith("The data content of this event exceeds the allowed maximum (10240 bytes)")


def test_B9_the_limit_is_the_applications(start_gateway, closing):
    gateway, allowed = start_gateway(limits={"event_bytes": 5000}), 5000
    limited, other = closing(Api(gateway)), closing(Api(gateway, SECOND))
    limited.publish("channel", data="x" * allowed)
    answer = limited.post(event_body("channel", data="x" * (allowed + 1)))
    assert answer.status == 413
    assert answer.text.startswith(f"The data content of this event exceeds the allowed maximum ({allowed} bytes)")
    other.publish("channel", data="x" * (allowed + 1))


def test_B10_a_large_body_is_413(wire, bystander, channel):
    """Refused by its length, before it has come; or when it has."""
    body = event_body(channel, data="x" * 5_000_000)
    wire = wire()
    wire.send_as_taken(request("POST", signed_target(FIRST, "POST", "/apps/1001/events", body), body))
    answer = wire.answer()
    assert answer is None or answer.status == 413


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                                          "", "nonsense"])
def test_B11_content_type_is_not_insisted_on(api, subscriber, channel, content_type):
    assert api.post(event_body(channel), headers={"Content-Type": content_type}).status == 200
    subscriber.expect("event")
