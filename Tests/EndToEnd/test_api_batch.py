"""D: POST /apps/{id}/batch_events; and B12, what `info` answers on publishing."""

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
    answer = api.tell("batch_events", batch_body(*events))
    assert answer.status == 200, answer
    return answer.json()


@pytest.fixture
def subscriber(connect, channel):
    client = connect()
    client.subscribe(channel)
    client.channel = channel
    return client


def assert_refused(api, subscriber, body: bytes, status: int = 400) -> None:
    """The status, a text that says why, and nothing delivered."""
    answer = api.tell("batch_events", body)
    assert answer.status == status, answer
    assert answer.text.strip() and not answer.text.startswith("{")
    api.publish(subscriber.channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_D1_each_event_goes_to_its_channel_in_order(connect, api, channel):
    names, clients = [f"{channel}-{number}" for number in range(3)], [connect() for _ in range(3)]
    for client in clients:
        for name in names:
            client.subscribe(name)
    answer = api.tell("batch_events", batch_body(*[event(names[number % 3], str(number)) for number in range(10)]))
    assert (answer.status, answer.body) == (200, b"{}")
    for client in clients:
        for number in range(10):
            assert client.receive() == {"event": "event", "channel": names[number % 3], "data": str(number)}
        client.expect_nothing()


def test_D1_data_passes_as_it_is(api, subscriber, channel):
    texts = ["", "plain", '{"a": "ü \\u0000 🚚"}', '"', "\\", "\0\n"]
    send(api, *[event(channel, text) for text in texts])
    for text in texts:
        subscriber.expect("event", data=text)


def test_D2_ten_are_taken_and_eleven_are_not(api, subscriber, channel):
    assert_refused(api, subscriber, batch_body(*[event(channel)] * 11))
    assert send(api, *[event(channel)] * 10) == {}
    for _ in range(10):
        subscriber.expect("event")


def test_D2_the_limit_is_the_applications(start_gateway, closing):
    gateway = start_gateway(limits={"batch_events": 3})
    limited, other = closing(Api(gateway)), closing(Api(gateway, SECOND))
    assert limited.tell("batch_events", batch_body(*[event("x")] * 4)).status == 400
    assert limited.tell("batch_events", batch_body(*[event("x")] * 3)).status == 200
    assert other.tell("batch_events", batch_body(*[event("x")] * 10)).status == 200


def test_D2_ten_of_10240_bytes(api, subscriber, channel):
    send(api, *[event(channel, "\0" * 10240)] * 10)
    for _ in range(10):
        subscriber.expect("event", data="\0" * 10240)


def test_D3_each_event_excludes_its_own_connection(connect, api, channel):
    clients = [connect() for _ in range(4)]
    for client in clients:
        client.subscribe(channel)
    send(api, *[event(channel, client.socket_id, socket_id=client.socket_id) for client in clients], event(channel, "fence"))
    for client in clients:
        for other in clients:
            if other is not client:
                client.expect("event", data=other.socket_id)
        client.expect("event", data="fence")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_D4_one_that_is_too_long_is_413_for_all(api, subscriber, channel, place):
    events = [event(channel), event(channel)]
    events.insert(place, event(channel, "x" * 10241))
    assert_refused(api, subscriber, batch_body(*events), 413)


MALFORMED = {
    "no event": None, "a number": 1, "a list": [], "an empty one": {}, "no name": {"channel": "x", "data": "{}"}, "no data": {"name": "event", "channel": "x"},
    "no channel": {"name": "event", "data": "{}"}, "a mistyped name": event("x") | {"name": 1}, "an empty name": event("x") | {"name": ""},
    "a long name": event("x") | {"name": "n" * 201}, "a null channel": event("x") | {"channel": None}, "a bad channel": event("a b"),
    "a long channel": event("x" * 201), "two channels": {"name": "event", "data": "{}", "channels": ["x", "y"]}, "null data": event("x") | {"data": None},
    "a bad socket_id": event("x", socket_id="1"), "a mistyped socket_id": event("x", socket_id=1.1), "a mistyped info": event("x", info=1),
    "an unknown info": event("x", info="weather"),
}


@pytest.mark.parametrize("bad", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("place", [0, 2])
def test_D5_one_malformed_event_is_400_before_anything_is_sent(api, subscriber, channel, bad, place):
    events = [event(channel), event(channel)]
    events.insert(place, bad)
    assert_refused(api, subscriber, batch_body(*events))


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"batch":null}', b'{"batch":{}}', b'{"batch":"x"}', b'{"batch":1}', b'{"batch":[', b"\xff",
                                  b'{"batch":[]}x', b'{"batch":' + b"[" * 5000], ids=lambda body: ascii(body)[2:20])
def test_D5_what_is_no_batch_is_400(api, subscriber, body):
    assert_refused(api, subscriber, body)


def test_D6_info_by_position(connect, api, channel):
    presence = "presence-" + channel
    for user in ("1", "2", 2):
        connect().join(presence, user)
    connect().subscribe(channel)
    answer = send(api, event(presence, info=ATTRIBUTES), event(channel), event(channel, info="subscription_count"), event(channel + "-x", info=ATTRIBUTES))
    assert answer == {"batch": [{"user_count": 2, "subscription_count": 3}, {}, {"subscription_count": 1}, {"subscription_count": 0}]}
    assert send(api, event(presence), event(channel)) == {}


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_B12_info_of_the_channels(connect, api, channel):
    presence, private = "presence-" + channel, "private-" + channel
    for user in ("1", "2", 2, "3"):
        connect().join(presence, user)
    for _ in range(3):
        connect().subscribe(channel)
    connect().subscribe_private(private)
    answer = api.post(event_body([presence, channel, private, channel + "-x"], info=ATTRIBUTES))
    assert answer.status == 200
    assert answer.json() == {"channels": {presence: {"user_count": 3, "subscription_count": 4}, channel: {"subscription_count": 3},
                                          private: {"subscription_count": 1}, channel + "-x": {"subscription_count": 0}}}


@pytest.mark.parametrize("info, expected", [("user_count", {"user_count": 1}), ("subscription_count", {"subscription_count": 2})])
def test_B12_only_what_is_asked_for(connect, api, channel, info, expected):
    name = "presence-" + channel
    for _ in range(2):
        connect().join(name, "1")
    assert api.post(event_body(name, info=info)).json() == {"channels": {name: expected}}


def test_B12_without_info_there_is_none(api, channel):
    answer = api.post(event_body([channel, "presence-" + channel]))
    assert (answer.status, answer.body) == (200, b"{}")


def test_B12_info_follows_who_comes_and_goes(connect, api, channel):
    name, client, other = "presence-" + channel, connect(), connect()

    def users() -> int:
        return api.post(event_body(name, info="user_count")).json()["channels"][name]["user_count"]

    assert users() == 0
    client.join(name, "1")
    assert users() == 1
    other.join(name, "2")
    assert users() == 2
    client.send("pusher:unsubscribe", {"channel": name})
    client.until_pong()
    assert users() == 1


@pytest.mark.parametrize("info", ["weather", "user_count,weather", 1, ["user_count"], {}], ids=json.dumps)
def test_B12_unknown_info_is_400_and_nothing_is_sent(api, subscriber, channel, info):
    answer = api.post(event_body(channel, info=info))
    assert answer.status == 400 and answer.text.strip()
    api.publish(channel, "fence")
    subscriber.expect("fence")


def test_B9_D4_the_limit_of_bytes_is_the_applications(start_gateway, closing):
    gateway = start_gateway(limits={"event_bytes": 100})
    api, client = closing(Api(gateway)), closing(Client.connect(gateway))
    client.subscribe("x")
    assert api.tell("batch_events", batch_body(event("x"), event("x", "x" * 101))).status == 413
    assert api.tell("batch_events", batch_body(event("x", "x" * 100))).status == 200
    client.expect("event", data="x" * 100)
    client.expect_nothing()
