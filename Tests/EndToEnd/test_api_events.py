"""B: POST /apps/{id}/events with a valid signature."""

import json

import pytest

from harness.api import Api, event_body, signed_target
from harness.apps import FIRST, SECOND
from harness.wire import request


def assert_rejected(api, subscriber, body: bytes, status: int = 400) -> str:
    """Expects this status, an explanatory text, and no delivered event. Returns the text."""
    response = api.post(body)
    assert response.status == status, response
    assert response.text.strip()
    api.publish(subscriber.channel, "fence")
    subscriber.expect("fence")
    return response.text.strip()


def test_B1_publishes_to_one_channel(api, subscriber, channel):
    response = api.post(event_body(channel))
    assert (response.status, response.body) == (200, b"{}")
    subscriber.expect("event", channel=channel)


def test_B1_publishes_to_a_list_of_channels(api, subscriber, channel):
    response = api.post(event_body([channel]))
    assert (response.status, response.body) == (200, b"{}")
    subscriber.expect("event", channel=channel)


def test_B1_unknown_fields_white_space_and_order_are_ignored(api, subscriber, channel):
    body = '\n{ "more": {"name": [1, "x"]}, "data" : "d" ,\t"channel":%s, "name": "event", "x": null }\r\n' % json.dumps(channel)
    assert api.post(body.encode()).status == 200
    subscriber.expect("event", data="d")


def test_B2_socket_id_excludes_a_connection(api, subscriber, channel):
    api.publish(channel, "excluded", socket_id=subscriber.socket_id)
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("socket_id",
                         ["x", "1.2\n", 1.2],
                         ids=ascii)
def test_B2_malformed_socket_id_is_400(api, subscriber, channel, socket_id):
    assert_rejected(api, subscriber, event_body(channel, socket_id=socket_id))


@pytest.mark.parametrize("socket_id",
                         ["99999999999999999999999999.1", "1.99999999999999999999999999", "0.0",
                          "1" * 300 + ".1"],
                         ids=lambda text: text[:12])
def test_B2_unknown_socket_id_is_ignored(api, subscriber, channel, socket_id):
    assert api.post(event_body(channel, socket_id=socket_id)).status in (200, 400)
    api.publish(channel, "fence")
    while subscriber.receive()["event"] != "fence":
        pass


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b"[" * 9000],
                         ids=lambda body: ascii(body)[2:20])
def test_B3_bodies_that_are_no_event_are_400(api, subscriber, body):
    assert_rejected(api, subscriber, body)


@pytest.mark.parametrize("field, value", [("name", 1), ("channel", ""), ("channels", [None])])
def test_B3_mistyped_fields_are_400(api, subscriber, field, value):
    event = {"name": "event",
             "data": "{}"} | ({} if field.startswith("channel")
                              else {"channel": subscriber.channel})
    assert_rejected(api, subscriber, json.dumps(event | {field: value}).encode())


def test_B3_error_names_the_mistyped_field(api, subscriber, channel):
    body = json.dumps({"name": 1, "data": "{}", "channel": channel}).encode()
    assert assert_rejected(api, subscriber, body) == "Expected name parameter to be a string"


@pytest.mark.parametrize("missing", ["name", "data", "channel"])
def test_B3_missing_fields_are_400(api, subscriber, channel, missing):
    event = {"name": "event", "data": "{}", "channel": channel}
    del event[missing]
    assert_rejected(api, subscriber, json.dumps(event).encode())


def test_B3_truncated_bodies_are_400(api, subscriber, channel):
    complete = event_body(channel)
    for end in range(1, len(complete)):
        assert api.post(complete[:end]).status == 400
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("data", [1, 1.5, True, {}, {"a": [1, "x"]}, [], [1, 2]], ids=json.dumps)
def test_B4_non_string_data_is_rejected_or_converted(api, subscriber, channel, data):
    response = api.post(json.dumps({"name": "event", "channel": channel, "data": data}).encode())
    assert response.status in (200, 400)
    if response.status == 200:
        text = subscriber.expect("event")["data"]
        assert isinstance(text, str) and json.loads(text) == data
    api.publish(channel, "fence")
    subscriber.expect("fence")


INVALID_NAMES = ["", "a\0", "a" * 201]


@pytest.mark.parametrize("name", INVALID_NAMES, ids=lambda name: ascii(name)[:16])
def test_B5_invalid_channel_name_is_400(api, subscriber, name):
    assert_rejected(api, subscriber, event_body(name))


@pytest.mark.parametrize("name", INVALID_NAMES, ids=lambda name: ascii(name)[:16])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_B5_one_invalid_channel_name_sends_nothing(api, subscriber, channel, name, place):
    names = [channel, channel + "-other"]
    names.insert(place, name)
    assert_rejected(api, subscriber, event_body(names))


def test_B6_100_channels_at_most(api, subscriber, channel):
    others = [f"{channel}-{number}" for number in range(100)]
    assert_rejected(api, subscriber, event_body([channel] + others))
    api.publish([channel] + others[:99])
    subscriber.expect("event")


def test_B6_100_channels_of_200_characters_with_10240_bytes(api, connect, channel):
    names = [f"{number:03}".ljust(200, "x") for number in range(100)]
    client = connect()
    client.subscribe(names[99])
    api.publish(names, data="\0" * 10240)
    client.expect("event", data="\0" * 10240)


@pytest.mark.parametrize("name", ["pusher:error", "pusher_internal:subscription_succeeded", "pusher:"])
def test_B7_names_of_the_protocol_are_400(api, subscriber, channel, name):
    """A client would take such an event for the gateway's."""
    assert "reserved" in assert_rejected(api, subscriber, event_body(channel, name))
    assert "reserved" in assert_rejected(api, subscriber, event_body("#server-to-user-x", name))
    batch = json.dumps({"batch": [{"name": each, "channel": channel, "data": "d"} for each in ("event", name)]})
    assert api.post_signed("batch_events", batch.encode()).status == 400
    subscriber.expect_nothing()


@pytest.mark.parametrize("prefix", ["", "private-", "presence-", "private-encrypted-", "cache-", "private-cache-",
                                    "private-encrypted-cache-", "presence-cache-"])
def test_B8_only_the_gateway_publishes_its_figures(api, open_api, subscriber, channel, prefix):
    name = f"{prefix}fleetwire-ops"
    assert name in assert_rejected(api, subscriber, event_body([channel, name], "stats"), 403)
    batch = json.dumps({"batch": [{"name": "stats", "channel": name, "data": "d"}]}).encode()
    assert api.post_signed("batch_events", batch).status == 403
    assert open_api(SECOND).post(event_body(name, "stats")).status in (200, 404), "another application"


def test_B7_event_name_of_at_most_200_characters(api, subscriber, channel):
    assert_rejected(api, subscriber, event_body(channel, "n" * 201))
    api.publish(channel, "n" * 200)
    subscriber.expect("n" * 200)


def test_B9_data_too_large_is_413(api, subscriber, channel):
    text = assert_rejected(api, subscriber, event_body(channel, data="x" * 10241), 413)
    assert text.startswith(
        "The data content of this event exceeds the allowed maximum (10240 bytes)")


def test_B9_limit_is_configurable_per_application(start_gateway, closing):
    gateway, allowed = start_gateway(limits={"event_bytes": 5000}), 5000
    limited, other = closing(Api(gateway)), closing(Api(gateway, SECOND))
    limited.publish("channel", data="x" * allowed)
    response = limited.post(event_body("channel", data="x" * (allowed + 1)))
    assert response.status == 413
    assert response.text.startswith(
        f"The data content of this event exceeds the allowed maximum ({allowed} bytes)")
    other.publish("channel", data="x" * (allowed + 1))


def test_B10_body_too_large_is_413(wire, control_client, channel):
    """Rejected by its length, before or after the body arrives."""
    body = event_body(channel, data="x" * 5_000_000)
    wire = wire()
    wire.send_ignoring_reset(
        request("POST", signed_target(FIRST, "POST", "/apps/1001/events", body), body))
    response = wire.read_response()
    assert response is None or response.status == 413


@pytest.mark.parametrize("content_type",
                         ["application/json; charset=utf-8", "text/plain",
                          "application/x-www-form-urlencoded", "multipart/form-data", "",
                          "nonsense"])
def test_B11_any_content_type_is_accepted(api, subscriber, channel, content_type):
    assert api.post(event_body(channel), headers={"Content-Type": content_type}).status == 200
    subscriber.expect("event")
