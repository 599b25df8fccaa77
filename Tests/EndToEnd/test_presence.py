"""R1–R8: presence members and their events, for any number of loops."""

import json

import pytest

from harness.apps import FIRST, SECOND
from harness.raw_client import CLOSES, RawClient

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)

ANN, BOB = {"name": "Ann", "tags": ["ä", "🚚", None, 1.5]}, {"name": "Bob"}


@pytest.fixture
def observer(connect, presence):
    """A member that observes the other members."""
    client = connect()
    client.join(presence, "observer")
    return client


def test_R1_subscription_succeeded_lists_the_member(connect, presence):
    client = connect()
    client.send_presence_subscribe(presence, json.dumps({"user_id": "7", "user_info": ANN}))
    message = client.receive()
    assert message.keys() == {"event", "channel", "data"} and message["channel"] == presence
    assert (message["event"] == "pusher_internal:subscription_succeeded"
            and isinstance(message["data"], str))
    assert json.loads(message["data"]) == {
        "presence": {"ids": ["7"], "hash": {"7": ANN}, "count": 1}}
    client.expect_nothing()


def test_R1_response_lists_all_members(connect, presence):
    connect().join(presence, "1", ANN)
    connect().join(presence, "2", BOB)
    reply = connect().join(presence, "3", {})
    assert (sorted(reply["ids"]) == ["1", "2", "3"]
            and reply["hash"] == {"1": ANN, "2": BOB, "3": {}} and reply["count"] == 3)


def test_R1_members_receive_events(connect, api, presence):
    client = connect()
    client.join(presence, "1")
    api.publish(presence, "greeting", '{"hello": "world"}')
    assert client.receive() == {"event": "greeting", "channel": presence,
                                "data": '{"hello": "world"}'}


@pytest.mark.parametrize("protocol", [5, 6, 7])
def test_R1_C5_all_protocol_versions_may_join(connect, presence, protocol):
    connect(protocol=protocol).join(presence, "1")
    client = connect(protocol=protocol)
    assert client.join(presence, "2")["count"] == 2


def test_R1_channels_and_applications_are_isolated(connect, presence):
    connect().join(presence, "1")
    connect().join(presence + "-other", "2")
    connect(SECOND).join(presence, "3", app=SECOND)
    assert sorted(connect().join(presence, "4")["ids"]) == ["1", "4"]


def test_R1_S5_second_subscription_is_an_error(connect, observer, presence):
    client = connect()
    client.join(presence, "1", ANN)
    observer.expect_member_added(presence, "1", ANN)
    client.send_presence_subscribe(presence, json.dumps({"user_id": "2"}))
    client.expect_error(f"Existing subscription to channel {presence}")
    client.unsubscribe(presence)
    observer.expect_member_removed(presence, "1")
    observer.expect_nothing()


def test_R2_members_receive_member_added(connect, observer, presence):
    second = connect()
    second.join(presence, "2", BOB)
    client = connect()
    client.join(presence, "1", ANN)
    observer.expect_member_added(presence, "2", BOB)
    message = observer.receive()
    assert message.keys() == {"event", "channel", "data"} and message["channel"] == presence
    assert message["event"] == "pusher_internal:member_added" and isinstance(message["data"], str)
    assert json.loads(message["data"]) == {"user_id": "1", "user_info": ANN}
    second.expect_member_added(presence, "1", ANN)
    for each in (client, second, observer):
        each.expect_nothing()


def test_R2_only_members_receive_member_added(connect, observer, presence):
    elsewhere, nowhere = connect(), connect()
    elsewhere.join(presence + "-other", "9")
    elsewhere.subscribe(presence.removeprefix("presence-"))
    connect().join(presence, "1")
    observer.expect_member_added(presence, "1")
    elsewhere.expect_nothing()
    nowhere.expect_nothing()


@pytest.mark.parametrize("way", ["unsubscribe", *CLOSES])
def test_R3_members_receive_member_removed(gateway, connect, closing, observer, presence, way):
    raw_client = closing(RawClient(gateway))
    raw_client.join(presence, "1", user_info=ANN)
    observer.expect_member_added(presence, "1", ANN)
    if way == "unsubscribe":
        raw_client.unsubscribe(presence)
    else:
        CLOSES[way](raw_client)
    message = observer.receive()
    assert message.keys() == {"event", "channel", "data"} and message["channel"] == presence
    assert message["event"] == "pusher_internal:member_removed" and isinstance(message["data"], str)
    assert json.loads(message["data"]) == {"user_id": "1"}
    observer.expect_nothing()
    assert sorted(connect().join(presence, "2")["ids"]) == ["2", "observer"]


def test_R3_removed_from_every_channel(gateway, connect, closing, presence):
    names = [f"{presence}-{number}" for number in range(5)]
    observer = connect()
    for name in names:
        observer.join(name, "observer")
    raw_client = closing(RawClient(gateway))
    for name in names:
        raw_client.join(name, "1")
        observer.expect_member_added(name, "1")
    raw_client.reset()
    gone = [observer.receive() for _ in names]
    assert sorted(message["channel"] for message in gone) == names
    assert {message["event"] for message in gone} == {"pusher_internal:member_removed"}


def test_R3_each_rejoining_is_announced(connect, api, observer, presence):
    client = connect()
    for _ in range(3):
        assert client.join(presence, "1")["count"] == 2
        observer.expect_member_added(presence, "1")
        client.unsubscribe(presence)
        observer.expect_member_removed(presence, "1")
        api.publish(presence, "members-only")
        observer.expect("members-only")
        client.expect_nothing()


def test_R4_user_with_many_connections_is_one_member(connect, api, observer, presence):
    """Connections are assigned to the loops in turn, so they are on different ones."""
    tabs = [connect() for _ in range(6)]
    for tab in tabs:
        reply = tab.join(presence, "1", ANN)
        assert sorted(reply["ids"]) == ["1", "observer"] and reply["hash"]["1"] == ANN
    observer.expect_member_added(presence, "1", ANN)
    observer.expect_nothing()
    api.publish(presence)
    for tab in tabs:
        tab.expect("event")
    observer.expect("event")
    for tab in tabs[:3]:
        tab.unsubscribe(presence)
    for tab in tabs[3:5]:
        tab.close()
    observer.expect_nothing()
    tabs[5].expect_nothing()
    tabs[5].close()
    observer.expect_member_removed(presence, "1")
    observer.expect_nothing()


def test_R4_member_of_several_channels_leaves_each_separately(connect, presence):
    other, observer = presence + "-other", connect()
    observer.join(presence, "observer")
    observer.join(other, "observer")
    tabs = [connect(), connect()]
    tabs[0].join(presence, "1")
    tabs[0].join(other, "1")
    tabs[1].join(other, "1")
    observer.expect_member_added(presence, "1")
    observer.expect_member_added(other, "1")
    tabs[0].close()
    observer.expect_member_removed(presence, "1")
    observer.expect_nothing()
    tabs[1].close()
    observer.expect_member_removed(other, "1")


def test_R5_user_info_may_be_absent(connect, observer, presence):
    client = connect()
    reply = client.join(presence, "1")
    assert not reply["hash"]["1"] and not reply["hash"]["observer"]
    observer.expect_member_added(presence, "1")


@pytest.mark.parametrize("info", [None, "text", {"a": {"b": [None]}}],
                         ids=json.dumps)
def test_R5_user_info_may_be_any_json(connect, observer, presence, info):
    client = connect()
    assert client.join(presence, "1", info)["hash"]["1"] == info
    observer.expect_member_added(presence, "1", info)


@pytest.mark.parametrize("number", [10, 0, -1, 12345678901234567890])
def test_R6_numeric_user_id_is_a_string(connect, observer, presence, number):
    text = str(number)
    tab = connect()
    assert sorted(tab.join(presence, number)["ids"]) == sorted([text, "observer"])
    observer.expect_member_added(presence, text)
    assert connect().join(presence, text)["count"] == 2
    tab.close()
    assert connect().join(presence, "fence")["count"] == 3
    observer.expect_member_added(presence, "fence")


@pytest.mark.parametrize("channel_data", [
    ' {\n"user_info" : {"b": 1, "a": "\\u00fc\\/"} ,\t"user_id": "\\u0031" } ',
    '{"user_id":"1","more":[{"user_id":"2"}]}',
    '{"user_info":{"user_id":"2"},"user_id":"1"}', '{"user_id":"1","user_info":{"name":"ü🚚"}}'],
                         ids=["odd", "unknown fields", "nested", "UTF-8"])
def test_R7_signature_covers_channel_data_byte_for_byte(connect, observer, presence, channel_data):
    client = connect()
    client.send_presence_subscribe(presence, channel_data)
    info = json.loads(channel_data).get("user_info")
    reply = client.expect_joined(presence)
    assert sorted(reply["ids"]) == ["1", "observer"] and (reply["hash"]["1"] or None) == info
    observer.expect_member_added(presence, "1", info)


INVALID_SIGNATURES = {
    "without channel_data": lambda client, name, data: FIRST.auth(client.socket_id, name),
    "other channel_data": lambda client, name, data: FIRST.auth(
        client.socket_id, name, data.replace("1", "2")),
    "other white space": lambda client, name, data: FIRST.auth(
        client.socket_id, name, data.replace(" ", "")),
    "another channel": lambda client, name, data: FIRST.auth(client.socket_id, name + "x", data),
    "another socket": lambda client, name, data: FIRST.auth("1.1", name, data),
    "another application": lambda client, name, data: SECOND.auth(client.socket_id, name, data),
    "no key": lambda client, name, data: FIRST.auth(client.socket_id, name, data).partition(":")[2],
    "empty": lambda client, name, data: "",
    "null": lambda client, name, data: None,
}


@pytest.mark.parametrize("auth", INVALID_SIGNATURES.values(), ids=INVALID_SIGNATURES)
def test_R7_S11_invalid_signature_is_an_error_and_keeps_the_connection(
        connect, observer, presence, auth):
    client, channel_data = connect(), '{"user_id": "1"}'
    client.send_subscribe(presence, auth=auth(client, presence, channel_data),
                          channel_data=channel_data)
    client.expect_error_code(4009)
    client.join(presence, "3")
    observer.expect_member_added(presence, "3")


@pytest.mark.parametrize("channel_data", ["[]", '{"user_id":""}', '{"user_id":true}'])
def test_R8_signed_but_invalid_channel_data_is_rejected(
        connect, api, observer, presence, channel_data):
    client = connect()
    client.send_presence_subscribe(presence, channel_data)
    client.expect_error()
    api.publish(presence)
    observer.expect("event")
    client.expect_nothing()
    assert client.join(presence, "2")["count"] == 2


@pytest.mark.parametrize("more",
                         [{}, {"channel_data": None}, {"channel_data": {"user_id": "1"}},
                          {"channel_data": 1}, {"channel_data": ["1"]}],
                         ids=json.dumps)
def test_R8_missing_or_non_string_channel_data_is_rejected(connect, observer, presence, more):
    client = connect()
    client.send_subscribe(presence, auth=FIRST.auth(client.socket_id, presence), **more)
    client.expect_error()
    client.expect_nothing()
    observer.expect_nothing()


@pytest.mark.parametrize("name", ["Presence-{}", "presenc-{}", "x-presence-{}", "presence_{}"])
def test_only_the_prefix_makes_a_presence_channel(connect, channel, name):
    connect().subscribe(name.format(channel))
