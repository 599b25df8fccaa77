"""E1–E10: client events."""

import json
import time

import pytest

from harness.api import Api
from harness.apps import FIRST, SECOND, TIMEOUT
from harness.client import Client

SETTINGS = {"first": {"client_events": True}}


@pytest.fixture(params=["private-", "private-cache-", "presence-", "presence-cache-"])
def room(request, channel):
    return request.param + channel


@pytest.fixture
def members(connect, room):
    """Three subscribers; in a presence channel they are users 0, 1 and 2."""
    clients = [connect() for _ in range(3)]
    for number, client in enumerate(clients):
        enter(client, room, str(number))
    for client in clients:
        client.receive_until_pong()
    return clients


def enter(client, name, user) -> None:
    """Subscribes, and receives all messages that follow."""
    client.subscribe_authorized(name, user)
    client.receive_until_pong()


def event_of(room: str, user: str, name: str, data: str) -> dict:
    return {"event": name, "channel": room,
            "data": data} | ({"user_id": user} if room.startswith("presence-") else {})


def test_E1_delivered_to_all_other_subscribers(members, room):
    members[1].send("client-said", "hello", channel=room)
    for client in (members[0], members[2]):
        assert client.receive() == event_of(room, "1", "client-said", "hello")
    for client in members:
        client.expect_nothing()


def test_E1_client_and_published_events_have_one_order(members, api, room):
    """The events of one connection keep their order, and all subscribers receive the same order."""
    for number in range(5):
        members[0].send("client-said", str(number), channel=room)
        api.publish(room, "published", str(number))
    members[0].receive_until_pong()
    received = [[message["data"] for message in client.receive_until_pong()]
                for client in members[1:]]
    assert received[0] == received[1] and len(received[0]) == 10
    assert sorted(received[0]) == sorted(2 * [str(number) for number in range(5)])


@pytest.mark.parametrize("gateway", [1, 4], indirect=True)
def test_E1_delivered_across_loops(connect, channel):
    name, clients = "private-" + channel, [connect() for _ in range(8)]
    for client in clients:
        client.subscribe_private(name)
    for number, sender in enumerate(clients):
        sender.send("client-said", str(number), channel=name)
        for client in clients:
            if client is not sender:
                client.expect("client-said", data=str(number))
    for client in clients:
        client.expect_nothing()


def test_E1_other_applications_receive_nothing(connect, channel):
    name, ours, foreign, other = "private-" + channel, connect(), connect(SECOND), connect()
    ours.subscribe_private(name)
    foreign.subscribe_private(name, SECOND)
    other.subscribe_private(name)
    ours.send("client-said", "x", channel=name)
    other.expect("client-said")
    foreign.expect_nothing()


def test_E2_other_connections_of_the_user_receive_the_event(connect, channel):
    """The user's other connections receive the event; only the sending connection does not. A
    numeric id is a string here too.
    """
    name, tabs, other = "presence-" + channel, [connect(), connect()], connect()
    for tab in tabs:
        tab.join(name, 7)
    other.join(name, "8")
    for tab in tabs:
        tab.expect_member_added(name, "8")
    tabs[0].send("client-said", "x", channel=name)
    for client in (tabs[1], other):
        assert client.receive() == {"event": "client-said", "channel": name, "data": "x",
                                    "user_id": "7"}
    tabs[0].expect_nothing()


def test_E3_other_fields_are_dropped(members, room):
    members[0].send("client-said", "x", channel=room, user_id="9", socket_id="1.1", more={"a": 1},
                    name="no")
    for client in members[1:]:
        assert client.receive() == event_of(room, "0", "client-said", "x")


@pytest.mark.parametrize("text",
                         ['{ "a" : 1.0, "b":[ ],\t"c": "\\u00fc\\/🚚" }', "-1.50e+3", "null"])
def test_E4_non_string_data_keeps_its_text(members, room, text):
    members[0].send_text('{"event": "client-said", "data": %s , "channel": "%s"}' % (text, room))
    for client in members[1:]:
        assert client.receive() == event_of(room, "0", "client-said", text)


@pytest.mark.parametrize("data",
                         ["", "plain", '{"a": [1]}', '"', "\\", "ü \0 🚚\n\u2028", "\ud83d\ude9a"],
                         ids=ascii)
def test_E4_string_data_is_unchanged(members, room, data):
    members[0].send("client-said", data, channel=room)
    data = data.encode("utf-16", "surrogatepass").decode("utf-16")
    for client in members[1:]:
        assert client.receive() == event_of(room, "0", "client-said", data)


@pytest.mark.parametrize("prefix", ["", "cache-", "private-encrypted-", "private-encrypted-cache-"])
def test_E5_S12_rejected_on_public_and_encrypted_channels(connect, channel, prefix):
    name, client, other = prefix + channel, connect(), connect()
    for each in (client, other):
        enter(each, name, "1")
    client.send("client-said", "x", channel=name)
    client.expect_error()
    client.expect_nothing()
    other.expect_nothing()


def test_E6_requires_a_subscription(connect, members, room):
    outsider = connect()
    for _ in range(2):
        outsider.send("client-said", "x", channel=room)
        outsider.expect_error(
            f"Cannot broadcast client event (connection not subscribed to channel {room})")
    members[2].send("pusher:unsubscribe", {"channel": room})
    members[2].send("client-said", "x", channel=room)
    members[2].expect_error(
        f"Cannot broadcast client event (connection not subscribed to channel {room})")
    left = members[0].receive_until_pong()
    assert [message["event"]
            for message in left] == (["pusher_internal:member_removed"]
                                     if room.startswith("presence-") else [])


@pytest.mark.parametrize("event",
                         ["Client-said", "pusher_internal:member_added", ""])
def test_E7_invalid_event_names_are_rejected(members, room, event):
    members[0].send(event, "x", channel=room)
    members[0].expect_error()
    for client in members:
        client.expect_nothing()


@pytest.mark.parametrize("fields",
                         [{}, {"channel": 1}, {"channel": "a b"}, {"channel": "x" * 5000}],
                         ids=lambda fields: json.dumps(fields)[:20])
def test_E7_missing_or_invalid_channel_is_an_error(connect, fields):
    client = connect()
    client.send("client-said", "x", **fields)
    client.expect_error()
    client.expect_nothing()


def test_E8_event_name_of_at_most_200_characters(members, room):
    name = "client-".ljust(200, "n")
    members[0].send(name + "n", "x", channel=room)
    members[0].expect_error()
    members[0].send(name, "x", channel=room)
    members[1].expect(name)


@pytest.mark.parametrize("letter", ["x", "ü", '"', "\0"], ids=ascii)
def test_E8_data_of_at_most_10240_bytes(members, room, letter):
    """Counts the decoded data, not the escaped JSON."""
    data = letter * (10240 // len(letter.encode()))
    members[0].send("client-said", data + "x", channel=room)
    members[0].expect_error()
    members[0].send("client-said", data, channel=room)
    members[1].expect("client-said", data=data)


def burst(client, room: str, count: int) -> tuple[list[dict], float]:
    """Sends so many events at once. Returns the gateway's messages and the elapsed seconds."""
    start = time.monotonic()
    for number in range(count):
        client.send("client-said", str(number), channel=room)
    return client.receive_until_pong(), time.monotonic() - start


def assert_limited(errors: list[dict], received: list[str], sent: int, allowed: int,
                   seconds: float) -> None:
    """Asserts that the first events arrive and the excess gets 4301; events allowed by elapsed
    seconds arrive too.
    """
    assert {message["event"] for message in errors} == {"pusher:error"}
    assert all(message["data"]["code"] == 4301 and message["data"]["message"] for message in errors)
    assert len(received) + len(errors) == sent
    assert allowed <= len(received) <= allowed + int(seconds * allowed) + 1
    assert received[:allowed] == [str(number) for number in range(allowed)]


def test_E9_ten_per_second_then_4301(members, room):
    errors, seconds = burst(members[0], room, 40)
    for client in members[1:]:
        assert_limited(errors, [message["data"] for message in client.receive_until_pong()], 40, 10,
                       seconds)
    # Other connections are not limited, and the sender is allowed again soon.
    members[1].send("client-other", "x", channel=room)
    members[2].expect("client-other")
    deadline = time.monotonic() + TIMEOUT
    members[0].send("client-again", "x", channel=room)
    while members[0].receive_until_pong():
        assert time.monotonic() < deadline, "still rate limited"
        time.sleep(0.05)
        members[0].send("client-again", "x", channel=room)
    members[2].expect("client-again")


def test_E9_counts_all_channels_of_a_connection(connect, channel):
    names, client, other = ([f"private-{channel}-{number}" for number in range(2)], connect(),
                            connect())
    for name in names:
        for each in (client, other):
            each.subscribe_private(name)
    start = time.monotonic()
    for number in range(40):
        client.send("client-said", str(number), channel=names[number % 2])
    errors = client.receive_until_pong()
    assert_limited(errors, [message["data"] for message in other.receive_until_pong()], 40, 10,
                   time.monotonic() - start)


def test_E9_other_messages_are_not_limited(connect, members, room, channel):
    client = members[0]
    for number in range(30):
        client.send("pusher:ping", {})
        client.send_subscribe(f"{channel}-{number}")
    for number in range(30):
        client.expect("pusher:pong")
        client.expect("pusher_internal:subscription_succeeded")
    client.send("client-said", "x", channel=room)
    members[1].expect("client-said")


def test_E9_limit_is_configurable_per_application(start_gateway, closing):
    gateway = start_gateway(first={"client_events": True}, limits={"client_events_per_second": 3})
    client, other = [closing(Client.connect(gateway)) for _ in range(2)]
    for each in (client, other):
        each.subscribe_private("private-x")
    errors, seconds = burst(client, "private-x", 20)
    assert_limited(errors, [message["data"] for message in other.receive_until_pong()], 20, 3,
                   seconds)
    closing(Api(gateway)).publish("private-x", "fence")
    other.expect("fence")


@pytest.mark.parametrize("prefix", ["private-", "presence-"])
def test_E10_disabled_client_events_are_rejected(connect, channel, prefix):
    name, clients = prefix + channel, [connect(SECOND) for _ in range(2)]
    for client in clients:
        client.subscribe_authorized(name, app=SECOND)
    clients[0].send("client-said", "x", channel=name)
    assert clients[0].expect_error()["message"].startswith(
        "To send client events, you must enable this feature")
    for client in clients:
        client.expect_nothing()


def test_E1_signature_of_another_application_gives_no_access(connect, channel):
    client, other = connect(), connect(SECOND)
    other.send_subscribe("private-" + channel,
                         auth=FIRST.auth(other.socket_id, "private-" + channel))
    other.expect_error_code(4009)
    client.subscribe_private("private-" + channel)
    other.send("client-said", "x", channel="private-" + channel)
    other.expect_error()
    client.expect_nothing()
