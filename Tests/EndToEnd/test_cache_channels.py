"""K1–K5: cache channels."""

import json

import pytest

from harness.api import Api, event_body
from harness.apps import SECOND
from harness.client import Client

SETTINGS = {"first": {"client_events": True}}

PREFIXES = ["cache-", "private-cache-", "private-encrypted-cache-", "presence-cache-"]


@pytest.fixture(params=PREFIXES)
def cached(request, channel):
    return request.param + channel


def expect_miss(client, name) -> None:
    message = client.receive()
    assert (message["event"], message["channel"]) == ("pusher:cache_miss", name), message
    assert message["data"] == "{}", message


def test_K1_empty_cache_is_a_miss(connect, cached):
    client = connect()
    client.subscribe_authorized(cached)
    expect_miss(client, cached)
    client.expect_nothing()
    # Each subscriber gets a miss, but only for its own subscription.
    other = connect()
    other.subscribe_authorized(cached)
    expect_miss(other, cached)
    client.expect_nothing()


@pytest.mark.parametrize("name",
                         ["cachefoo", "my-cache-{}", "Cache-{}", "private-cachefoo",
                          "private-x-cache-{}", "presence-cachefoo", "private-encrypted-cachefoo",
                          "presence-x-cache-{}", "cache_{}"])
def test_K1_only_the_prefix_makes_a_cache_channel(connect, api, channel, name):
    name, client = name.format(channel), connect()
    api.publish(name)
    client.subscribe_authorized(name)
    client.expect_nothing()


def test_K2_cached_event_follows_the_subscription(connect, api, cached):
    api.publish(cached, "first", "1")
    api.publish(cached, "second", '{"a": "ü \\u0000 🚚"}')
    client = connect()
    client.subscribe_authorized(cached)
    assert client.receive() == {"event": "second", "channel": cached,
                                "data": '{"a": "ü \\u0000 🚚"}'}
    client.expect_nothing()


def test_K2_live_events_arrive_once_and_are_cached(connect, api, cached):
    client = connect()
    client.subscribe_authorized(cached)
    expect_miss(client, cached)
    for data in ("1", "2", "3"):
        api.publish(cached, "live", data)
        client.expect("live", data=data)
    subscriber = connect()
    subscriber.subscribe_authorized(cached, "2")
    subscriber.expect("live", data="3")
    if cached.startswith("presence-"):
        client.expect_member_added(cached, "2")
    client.expect_nothing()
    subscriber.expect_nothing()


@pytest.mark.parametrize("data", ["", "plain", "x" * 10240], ids=["empty", "plain", "10240 bytes"])
def test_K2_cached_data_is_unchanged(connect, api, cached, data):
    api.publish(cached, "event", data)
    client = connect()
    client.subscribe_authorized(cached)
    client.expect("event", data=data, channel=cached)


def test_K2_subscribing_during_publications_has_no_gap(connect, open_api, channel):
    """The cached event and the live events form one sequence without gaps or repetitions."""
    name, api = "cache-" + channel, open_api()
    clients = [connect() for _ in range(20)]
    for number, client in enumerate(clients):
        client.send_subscribe(name)
        api.publish(name, "count", str(number))
    api.publish(name, "fence")
    for client in clients:
        client.expect("pusher_internal:subscription_succeeded")
        first = client.receive()
        received = [] if first["event"] == "pusher:cache_miss" else [first]
        while not received or received[-1]["event"] != "fence":
            received.append(client.receive())
        numbers = [int(message["data"]) for message in received[:-1]]
        assert numbers == list(range(len(clients) - len(numbers), len(clients)))


def test_K3_kept_without_subscribers(connect, api, cached):
    first = connect()
    first.subscribe_authorized(cached)
    expect_miss(first, cached)
    api.publish(cached, "kept", "x")
    first.expect("kept")
    first.unsubscribe(cached)
    first.subscribe_authorized(cached)
    first.expect("kept", data="x")
    first.close()
    second = connect()
    second.subscribe_authorized(cached)
    second.expect("kept", data="x")


def test_K3_kept_for_30_minutes(api, cached):
    api.publish(cached, "kept", "x")
    response = api.get_signed(f"channels/{cached}", info="cache")
    assert response.status == 200, response
    cache = response.json()["cache"]
    assert cache["data"] == "x" and 1790 <= cache["ttl"] <= 1800


def test_K3_caches_are_per_channel_and_application(connect, api, open_api, channel):
    name = "cache-" + channel
    api.publish(name, "ours")
    foreign, other = connect(SECOND), connect()
    foreign.subscribe(name)
    expect_miss(foreign, name)
    other.subscribe(name + "-other")
    expect_miss(other, name + "-other")
    open_api(SECOND).publish(name, "foreign")
    foreign.expect("foreign")
    client = connect()
    client.subscribe(name)
    client.expect("ours")


def test_K3_publish_is_cached_in_each_channel(connect, api, channel):
    names = [prefix + channel for prefix in PREFIXES]
    api.publish(names + [channel], "all", "x")
    for name in names:
        client = connect()
        client.subscribe_authorized(name)
        client.expect("all", channel=name, data="x")


def test_K3_rejected_events_are_not_cached(connect, api, channel):
    name = "cache-" + channel
    assert api.post(event_body([name, "not a channel"])).status == 400
    assert api.post(event_body(name, data="x" * 10241)).status == 413
    client = connect()
    client.subscribe(name)
    expect_miss(client, name)


@pytest.mark.parametrize("prefix", ["private-cache-", "presence-cache-"])
def test_K4_client_events_are_not_cached(connect, api, channel, prefix):
    name, client, other = prefix + channel, connect(), connect()
    client.subscribe_authorized(name)
    expect_miss(client, name)
    other.subscribe_authorized(name)
    expect_miss(other, name)
    client.send("client-said", "x", channel=name)
    other.expect("client-said")
    subscriber = connect()
    subscriber.subscribe_authorized(name)
    expect_miss(subscriber, name)
    api.publish(name, "published")
    client.expect("published")
    client.send("client-said", "x", channel=name)
    other.expect("published")
    other.expect("client-said")
    last = connect()
    last.subscribe_authorized(name)
    last.expect("published")
    last.expect_nothing()


def test_K4_member_events_are_not_cached(connect, api, channel):
    name, client = "presence-cache-" + channel, connect()
    client.join(name, "1")
    expect_miss(client, name)
    second = connect()
    second.join(name, "2")
    expect_miss(second, name)
    client.expect_member_added(name, "2")
    second.unsubscribe(name)
    client.expect_member_removed(name, "2")
    second.join(name, "3")
    expect_miss(second, name)
    assert api.get_signed(f"channels/{name}", info="cache").json()["cache"] is None


def test_K5_events_with_excluded_connection_are_cached(connect, api, cached):
    sender, other = connect(), connect()
    for client in (sender, other):
        client.subscribe_authorized(cached)
        expect_miss(client, cached)
    api.publish(cached, "from-sender", "x", socket_id=sender.socket_id)
    other.expect("from-sender")
    sender.expect_nothing()
    subscriber = connect()
    subscriber.subscribe_authorized(cached)
    subscriber.expect("from-sender", data="x")
    # Also for the excluded connection: a new subscription requests the state of the channel.
    sender.unsubscribe(cached)
    sender.subscribe_authorized(cached)
    sender.expect("from-sender", data="x")


def test_K5_D1_batched_events_are_cached(connect, api, channel):
    names = [prefix + channel for prefix in PREFIXES]
    batch = [{"name": "batched", "channel": name, "data": data} for data in ("1", "2")
             for name in names]
    response = api.post_signed("batch_events", json.dumps({"batch": batch}).encode())
    assert (response.status, response.body) == (200, b"{}")
    for name in names:
        client = connect()
        client.subscribe_authorized(name)
        client.expect("batched", channel=name, data="2")


def test_oldest_events_are_evicted_at_the_byte_limit(start_gateway, closing):
    """10 events of 10 KB with a limit of 50,000 bytes: the newest are kept, without gaps."""
    gateway = start_gateway(limits={"cache_bytes": 50_000})
    api = closing(Api(gateway))
    for number in range(10):
        api.publish(f"cache-{number}", "event", "x" * 10_000)
    kept = []
    for number in range(10):
        client = closing(Client.connect(gateway))
        client.subscribe(f"cache-{number}")
        kept.append(client.receive()["event"] == "event")
    assert kept == sorted(kept) and 3 <= sum(kept) <= 5
    # An event that replaces another in the same channel frees the old one's bytes.
    for _ in range(20):
        api.publish("cache-9", "event", "y" * 10_000)
    client = closing(Client.connect(gateway))
    client.subscribe("cache-8")
    client.expect("event", data="x" * 10_000)
