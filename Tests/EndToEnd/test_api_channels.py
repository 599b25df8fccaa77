"""G, H and I: occupied channels, their attributes, and their users."""

import json

import pytest

from harness.api import Api
from harness.apps import SECOND
from harness.raw_client import RawClient


def occupied(api, **params) -> dict:
    response = api.get_signed("channels", **params)
    assert response.status == 200, response
    assert response.headers["content-type"].startswith("application/json")
    assert response.json().keys() == {"channels"}
    return response.json()["channels"]


def channel_info(api, name: str, info: str | None = None) -> dict:
    response = api.get_signed(f"channels/{name}", info=info)
    assert response.status == 200, response
    assert response.headers["content-type"].startswith("application/json")
    return response.json()


def assert_400(response) -> None:
    assert response.status == 400, response
    assert response.text.strip() and not response.text.startswith("{")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_G1_lists_occupied_channels(connect, api, channel):
    names = sorted(
        [channel, channel + "-2", "private-" + channel, "cache-" + channel, "presence-" + channel])
    for name in names:
        connect().subscribe_authorized(name)
    seen = occupied(api)
    assert [name for name in sorted(seen) if channel in name] == names
    assert all(attributes == {} for attributes in seen.values())


def test_G1_no_channels_is_an_empty_object(start_gateway, closing):
    assert occupied(closing(Api(start_gateway()))) == {}


def test_G1_lists_only_the_applications_channels(connect, api, open_api, channel):
    connect(SECOND).subscribe(channel)
    assert channel not in occupied(api)
    assert channel in occupied(open_api(SECOND))


def test_G1_publishing_does_not_occupy(api, channel):
    api.publish([channel, "cache-" + channel])
    assert not [name for name in occupied(api) if channel in name]


def test_G1_server_to_user_channel_may_be_listed(connect, api, channel):
    client = connect()
    client.sign_in(channel)
    client.subscribe(f"#server-to-user-{channel}")
    assert isinstance(occupied(api), dict)


def test_G2_vacated_channels_are_not_listed(gateway, connect, closing, api, channel):
    stays, goes, raw_client = connect(), connect(), closing(RawClient(gateway))
    for client in (stays, goes):
        client.subscribe(channel)
    goes.unsubscribe(channel)
    assert channel in occupied(api)
    stays.unsubscribe(channel)
    assert channel not in occupied(api)
    stays.join("presence-" + channel, "observer")
    raw_client.join("presence-" + channel, "1")
    stays.expect_member_added("presence-" + channel, "1")
    raw_client.subscribe(channel)
    raw_client.reset()
    stays.expect_member_removed("presence-" + channel, "1")
    assert not [name for name in occupied(api, filter_by_prefix="channel-") if channel in name]


def test_G3_filter_by_prefix(connect, api, channel):
    client = connect()
    names = [channel + "-a", channel + "-ab", channel + "-b"]
    for name in names:
        client.subscribe(name)
    client.subscribe_private("private-" + names[0])
    assert sorted(occupied(api, filter_by_prefix=channel)) == names
    assert sorted(occupied(api, filter_by_prefix=channel + "-a")) == names[:2]
    assert occupied(api, filter_by_prefix=channel + "-c") == {}
    assert "private-" + names[0] in occupied(api, filter_by_prefix="private-")
    assert not set(names) & set(occupied(api, filter_by_prefix="private-"))
    assert set(names) <= set(occupied(api, filter_by_prefix=""))


def test_G4_user_count_with_a_presence_prefix(connect, api, presence):
    for user in ("1", "1", 1, "2"):
        connect().join(presence, user)
    connect().join(presence + "-other", "3")
    assert occupied(api, filter_by_prefix=presence,
                    info="user_count") == {presence: {"user_count": 2},
                                           presence + "-other": {"user_count": 1}}
    assert occupied(api, filter_by_prefix="presence-",
                    info="user_count")[presence] == {"user_count": 2}


@pytest.mark.parametrize("prefix",
                         [None, "", "private-", "presence", "p", "Presence-", "x-presence-"])
def test_G4_user_count_without_presence_prefix_is_400(connect, api, presence, prefix):
    connect().join(presence, "1")
    assert_400(api.get_signed("channels", info="user_count", filter_by_prefix=prefix))


@pytest.mark.parametrize("prefix", [None, "presence-"])
def test_G4_unknown_attributes_are_400(api, prefix):
    assert_400(api.get_signed("channels", info="weather", filter_by_prefix=prefix))


@pytest.mark.parametrize("form",
                         ["{}", "private-{}", "presence-{}", "cache-{}", "private-encrypted-{}",
                          "a.b;c=d@e,f_{}"])
def test_H1_occupied_follows_subscriptions(connect, api, channel, form):
    name, client = form.format(channel), connect()
    assert channel_info(api, name) == {"occupied": False}
    client.subscribe_authorized(name)
    assert channel_info(api, name) == {"occupied": True}
    client.send("pusher:unsubscribe", {"channel": name})
    client.receive_until_pong()
    assert channel_info(api, name) == {"occupied": False}


@pytest.mark.parametrize("name", ["a:b", "a*", "x" * 201, "a!", "~"])
def test_H1_invalid_names_are_400(api, name):
    assert_400(api.get_signed(f"channels/{name}"))


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_H2_user_count_is_of_distinct_users(connect, api, presence):
    clients = [connect() for _ in range(5)]
    for client, user in zip(clients, ("1", 1, "2", "2", "3")):
        client.join(presence, user)
    assert channel_info(api, presence, "user_count") == {"occupied": True, "user_count": 3}
    clients[4].send("pusher:unsubscribe", {"channel": presence})
    clients[0].send("pusher:unsubscribe", {"channel": presence})
    for client in clients:
        client.receive_until_pong()
    assert channel_info(api, presence, "user_count") == {"occupied": True, "user_count": 2}
    assert channel_info(api, presence + "-x", "user_count") == {"occupied": False, "user_count": 0}


@pytest.mark.parametrize("form", ["{}", "private-{}", "cache-{}", "x-presence-{}", "presence{}"])
def test_H2_user_count_of_other_channels_is_400(connect, api, channel, form):
    connect().subscribe(channel)
    assert_400(api.get_signed(f"channels/{form.format(channel)}", info="user_count"))


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_H3_subscription_count_is_of_connections(connect, api, channel, presence):
    clients = [connect() for _ in range(5)]
    for client in clients:
        client.subscribe(channel)
        client.join(presence, "1")
    assert channel_info(api, channel,
                        "subscription_count") == {"occupied": True, "subscription_count": 5}
    assert channel_info(api, presence,
                        "subscription_count,user_count") == {"occupied": True, "user_count": 1}
    for client in clients[:2]:
        client.send("pusher:unsubscribe", {"channel": channel})
        client.receive_until_pong()
    assert channel_info(api, channel,
                        "subscription_count") == {"occupied": True, "subscription_count": 3}
    assert channel_info(api, channel + "-x",
                        "subscription_count") == {"occupied": False, "subscription_count": 0}


@pytest.mark.parametrize("info",
                         ["weather", "subscription_count,weather", "Subscription_count",
                          "subscription_count;user_count"])
def test_H4_unknown_attributes_are_400(api, channel, info):
    assert_400(api.get_signed(f"channels/{channel}", info=info))


@pytest.mark.parametrize("form",
                         ["cache-{}", "private-cache-{}", "private-encrypted-cache-{}",
                          "presence-cache-{}"])
def test_H5_cached_event_and_its_lifetime(api, channel, form):
    name = form.format(channel)
    assert channel_info(api, name, "cache") == {"occupied": False, "cache": None}
    api.publish(name, "event", '{"a": "ü\\n🚚"}')
    response = channel_info(api, name, "cache,subscription_count")
    count = {} if form.startswith("presence-") else {"subscription_count": 0}
    assert response == {"occupied": False, "cache": response["cache"]} | count
    assert response["cache"].keys() == {"data", "ttl"}
    assert (response["cache"]["data"] == '{"a": "ü\\n🚚"}' and type(response["cache"]["ttl"]) is int
            and 1790 <= response["cache"]["ttl"] <= 1800)


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_I1_users_are_distinct(connect, api, presence):
    clients = [connect() for _ in range(5)]
    for client, user in zip(clients, ("driver:1", 7, "7", 'a "b" ü🚚', "2")):
        client.join(presence, user, {"name": "not shown"})
    response = api.get_signed(f"channels/{presence}/users")
    assert (response.status == 200
            and response.headers["content-type"].startswith("application/json"))
    assert (response.json().keys() == {"users"}
            and all(user.keys() == {"id"} for user in response.json()["users"]))
    assert sorted(user["id"]
                  for user in response.json()["users"]) == sorted(
        ["driver:1", "7", 'a "b" ü🚚', "2"])
    clients[1].send("pusher:unsubscribe", {"channel": presence})
    clients[4].send("pusher:unsubscribe", {"channel": presence})
    for client in clients:
        client.receive_until_pong()
    users = api.get_signed(f"channels/{presence}/users").json()["users"]
    assert sorted(user["id"] for user in users) == sorted(["driver:1", "7", 'a "b" ü🚚'])


@pytest.mark.parametrize("form",
                         ["{}", "private-{}", "cache-{}", "x-presence-{}", "presence{}",
                          "Presence-{}"])
def test_I2_users_of_other_channels_are_400(api, channel, form):
    assert_400(api.get_signed(f"channels/{form.format(channel)}/users"))


def test_I3_empty_channel_has_no_users(api, presence):
    response = api.get_signed(f"channels/{presence}/users")
    assert response.status == 200 and response.json() == {"users": []}


def test_response_lists_many_channels_and_users(gateway, closing, api, channel):
    """The response exceeds one write."""
    prefix, raw_client = f"presence-{channel}-".ljust(150, "x"), closing(RawClient(gateway))
    for number in range(500):
        raw_client.join(f"{prefix}{number}", "u" * 120 + str(number))
    seen = occupied(api, filter_by_prefix=prefix, info="user_count")
    assert seen == {f"{prefix}{number}": {"user_count": 1} for number in range(500)}
    assert json.loads(api.get_signed(f"channels/{prefix}7/users").body) == {
        "users": [{"id": "u" * 120 + "7"}]}
