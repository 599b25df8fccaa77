"""D: POST /apps/{id}/batch_events; B12: `info` in the responses of publish requests."""

import json

import pytest

from harness.api import Api, event_body
from harness.apps import SECOND
from harness.client import Client

ATTRIBUTES = "subscription_count,user_count"


def batch_body(*events: dict) -> bytes:
    return json.dumps({"batch": list(events)}).encode()


def event(channel: str, data: str = "{}", **more) -> dict:
    return {"name": "event", "channel": channel, "data": data} | more


def send(api, *events: dict) -> dict:
    response = api.post_signed("batch_events", batch_body(*events))
    assert response.status == 200, response
    return response.json()


def assert_rejected(api, subscriber, body: bytes, status: int = 400) -> None:
    """Expects this status, an explanatory text, and no delivered event."""
    response = api.post_signed("batch_events", body)
    assert response.status == status, response
    assert response.text.strip() and not response.text.startswith("{")
    api.publish(subscriber.channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_D1_events_go_to_their_channels_in_order(connect, api, channel):
    names, clients = [f"{channel}-{number}" for number in range(3)], [connect() for _ in range(3)]
    for client in clients:
        for name in names:
            client.subscribe(name)
    response = api.post_signed("batch_events",
                               batch_body(
        *[event(names[number % 3], str(number)) for number in range(10)]))
    assert (response.status, response.body) == (200, b"{}")
    for client in clients:
        for number in range(10):
            assert client.receive() == {"event": "event", "channel": names[number % 3],
                                        "data": str(number)}
        client.expect_nothing()


def test_D1_data_is_unchanged(api, subscriber, channel):
    texts = ["", "plain", '{"a": "ü \\u0000 🚚"}', '"', "\\", "\0\n"]
    send(api, *[event(channel, text) for text in texts])
    for text in texts:
        subscriber.expect("event", data=text)


def test_D2_ten_events_at_most(api, subscriber, channel):
    assert_rejected(api, subscriber, batch_body(*[event(channel)] * 11))
    assert send(api, *[event(channel)] * 10) == {}
    for _ in range(10):
        subscriber.expect("event")


def test_D2_limit_is_configurable_per_application(start_gateway, closing):
    gateway = start_gateway(limits={"batch_events": 3})
    limited, other = closing(Api(gateway)), closing(Api(gateway, SECOND))
    assert limited.post_signed("batch_events", batch_body(*[event("x")] * 4)).status == 400
    assert limited.post_signed("batch_events", batch_body(*[event("x")] * 3)).status == 200
    assert other.post_signed("batch_events", batch_body(*[event("x")] * 10)).status == 200


def test_D2_ten_events_of_10240_bytes_are_accepted(api, subscriber, channel):
    send(api, *[event(channel, "\0" * 10240)] * 10)
    for _ in range(10):
        subscriber.expect("event", data="\0" * 10240)


def test_D3_each_event_excludes_its_connection(connect, api, channel):
    clients = [connect() for _ in range(4)]
    for client in clients:
        client.subscribe(channel)
    send(api, *[event(channel, client.socket_id, socket_id=client.socket_id) for client in clients],
         event(channel, "fence"))
    for client in clients:
        for other in clients:
            if other is not client:
                client.expect("event", data=other.socket_id)
        client.expect("event", data="fence")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_D4_one_event_too_large_is_413_for_all(api, subscriber, channel, place):
    events = [event(channel), event(channel)]
    events.insert(place, event(channel, "x" * 10241))
    assert_rejected(api, subscriber, batch_body(*events), 413)


MALFORMED = {
    "no event": None, "a number": 1, "a list": [], "an empty one": {},
    "no name": {"channel": "x", "data": "{}"}, "no data": {"name": "event", "channel": "x"},
    "no channel": {"name": "event", "data": "{}"}, "a mistyped name": event("x") | {"name": 1},
    "an empty name": event("x") | {"name": ""},
    "a long name": event("x") | {"name": "n" * 201},
    "a null channel": event("x") | {"channel": None}, "a bad channel": event("a b"),
    "a long channel": event("x" * 201),
    "two channels": {"name": "event", "data": "{}", "channels": ["x", "y"]},
    "null data": event("x") | {"data": None},
    "a bad socket_id": event("x", socket_id="1"), "a mistyped socket_id": event("x", socket_id=1.1),
    "a mistyped info": event("x", info=1),
    "an unknown info": event("x", info="weather"),
}


@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("place", [0, 2])
def test_D5_one_malformed_event_is_400_for_all(api, subscriber, channel, bad, place):
    events = [event(channel), event(channel)]
    events.insert(place, bad)
    assert_rejected(api, subscriber, batch_body(*events))


@pytest.mark.parametrize("body",
                         [b"", b"null", b"[]", b"{}", b'{"batch":null}', b'{"batch":{}}',
                          b'{"batch":"x"}', b'{"batch":1}', b'{"batch":[', b"\xff",
                          b'{"batch":[]}x', b'{"batch":' + b"[" * 5000],
                         ids=lambda body: ascii(body)[2:20])
def test_D5_malformed_batches_are_400(api, subscriber, body):
    assert_rejected(api, subscriber, body)


def test_D6_info_has_the_position_of_its_event(connect, api, channel):
    presence = "presence-" + channel
    for user in ("1", "2", 2):
        connect().join(presence, user)
    connect().subscribe(channel)
    response = send(api, event(presence, info=ATTRIBUTES), event(channel),
                    event(channel, info="subscription_count"),
                    event(channel + "-x", info=ATTRIBUTES))
    assert response == {
        "batch": [{"user_count": 2}, {}, {"subscription_count": 1},
                  {"subscription_count": 0}]}
    assert send(api, event(presence), event(channel)) == {}


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_B12_info_of_each_channel_is_returned(connect, api, channel):
    presence, private = "presence-" + channel, "private-" + channel
    for user in ("1", "2", 2, "3"):
        connect().join(presence, user)
    for _ in range(3):
        connect().subscribe(channel)
    connect().subscribe_private(private)
    response = api.post(event_body([presence, channel, private, channel + "-x"], info=ATTRIBUTES))
    assert response.status == 200
    assert response.json() == {
        "channels": {presence: {"user_count": 3},
                     channel: {"subscription_count": 3}, private: {"subscription_count": 1},
                     channel + "-x": {"subscription_count": 0}}}


@pytest.mark.parametrize("info, expected",
                         [("user_count", {"user_count": 1}),
                          ("subscription_count", {})])
def test_B12_only_requested_attributes_are_returned(connect, api, channel, info, expected):
    name = "presence-" + channel
    for _ in range(2):
        connect().join(name, "1")
    assert api.post(event_body(name, info=info)).json() == {"channels": {name: expected}}


def test_B12_no_info_by_default(api, channel):
    response = api.post(event_body([channel, "presence-" + channel]))
    assert (response.status, response.body) == (200, b"{}")


def test_B12_info_reflects_joins_and_leaves(connect, api, channel):
    name, client, other = "presence-" + channel, connect(), connect()

    def users() -> int:
        return api.post(event_body(name, info="user_count")).json()["channels"][name]["user_count"]

    assert users() == 0
    client.join(name, "1")
    assert users() == 1
    other.join(name, "2")
    assert users() == 2
    client.send("pusher:unsubscribe", {"channel": name})
    client.receive_until_pong()
    assert users() == 1


@pytest.mark.parametrize("info", ["weather", "user_count,weather", 1, ["user_count"], {}],
                         ids=json.dumps)
def test_B12_unknown_info_is_400_and_sends_nothing(api, subscriber, channel, info):
    response = api.post(event_body(channel, info=info))
    assert response.status == 400 and response.text.strip()
    api.publish(channel, "fence")
    subscriber.expect("fence")


def test_B9_D4_byte_limit_is_configurable_per_application(start_gateway, closing):
    gateway = start_gateway(limits={"event_bytes": 100})
    api, client = closing(Api(gateway)), closing(Client.connect(gateway))
    client.subscribe("x")
    assert api.post_signed("batch_events",
                           batch_body(event("x"), event("x", "x" * 101))).status == 413
    assert api.post_signed("batch_events", batch_body(event("x", "x" * 100))).status == 200
    client.expect("event", data="x" * 100)
    client.expect_nothing()
