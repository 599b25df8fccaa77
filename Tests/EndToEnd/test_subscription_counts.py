"""N1: subscription_count events."""

import time

import pytest

from harness.apps import SECOND
from harness.raw_client import CLOSES, RawClient

SETTINGS = {"first": {"subscription_counts": True}}

COUNT = "pusher_internal:subscription_count"


@pytest.fixture(params=["", "private-"])
def counted(request, channel):
    return request.param + channel


def enter(client, name, count: int) -> None:
    client.subscribe_authorized(name)
    client.expect_count(name, count)


def test_N1_sent_to_all_on_subscribe_and_unsubscribe(connect, counted):
    clients = []
    for number in range(1, 6):
        clients.append(connect())
        enter(clients[-1], counted, number)
        for client in clients[:-1]:
            client.expect_count(counted, number)
    clients[4].unsubscribe(counted)
    clients[3].close()
    for client in clients[:3]:
        client.expect_count(counted, 4)
        client.expect_count(counted, 3)
        client.expect_nothing()
    clients[4].expect_nothing()


def test_N1_event_has_channel_and_count(connect, channel):
    client = connect()
    client.subscribe(channel)
    assert client.receive() == {"event": COUNT, "channel": channel,
                                "data": '{"subscription_count":1}'}


@pytest.mark.parametrize("leave", CLOSES.values(), ids=CLOSES)
def test_N1_lost_connections_are_subtracted(gateway, connect, closing, channel, leave):
    client, raw_client = connect(), closing(RawClient(gateway))
    enter(client, channel, 1)
    raw_client.subscribe(channel)
    client.expect_count(channel, 2)
    leave(raw_client)
    client.expect_count(channel, 1)
    client.expect_nothing()


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_N1_all_subscribers_receive_one_order(gateway, connect, closing, channel):
    observers = [connect() for _ in range(3)]
    for number, client in enumerate(observers):
        enter(client, channel, number + 1)
        for earlier in observers[:number]:
            earlier.expect_count(channel, number + 1)
    raw_clients = [closing(RawClient(gateway)) for _ in range(20)]
    for raw_client in raw_clients:
        raw_client.send_event("pusher:subscribe", {"channel": channel})
    for raw_client in raw_clients:
        raw_client.receive_until("pusher_internal:subscription_succeeded")
    for raw_client in raw_clients[::2]:
        raw_client.send_event("pusher:unsubscribe", {"channel": channel})
    for raw_client in raw_clients[1::2]:
        raw_client.reset()
    received = []
    for client in observers:
        counts = [client.expect_data(COUNT, channel=channel)["subscription_count"]
                  for _ in range(40)]
        assert all(abs(one - other) == 1 for one, other in zip([3] + counts, counts))
        assert counts[-1] == 3
        received.append(counts)
        client.expect_nothing()
    assert received[0] == received[1] == received[2]


@pytest.mark.parametrize("name", ["presence-{}", "presence-cache-{}"])
def test_N1_never_on_presence_channels(connect, channel, name):
    name, clients = name.format(channel), [connect() for _ in range(2)]
    for number, client in enumerate(clients):
        client.join(name, str(number))
    assert COUNT not in [message["event"] for client in clients
                         for message in client.receive_until_pong()]


def test_N1_rejected_or_repeated_subscriptions_do_not_count(connect, channel):
    name, client, other = "private-" + channel, connect(), connect()
    enter(client, name, 1)
    client.send_subscribe(name, auth="key1:nonsense")
    client.expect_error()
    other.send_subscribe(name, auth="key1:nonsense")
    other.expect_error()
    other.send("pusher:unsubscribe", {"channel": name})
    other.expect_error()
    client.expect_nothing()


def test_N1_disabled_by_default(connect, channel):
    clients = [connect(SECOND) for _ in range(2)]
    for client in clients:
        client.subscribe(channel)
    for client in clients:
        client.expect_nothing()


def test_N1_cache_channel_sends_count_and_cached_event(connect, api, channel):
    """The count may arrive before or after the cached event."""
    name = "cache-" + channel
    api.publish(name, "remembered")
    client = connect()
    client.subscribe(name)
    assert sorted(client.receive()["event"] for _ in range(2)) == [COUNT, "remembered"]
    client.expect_nothing()


def test_N1_above_100_at_most_every_5_seconds(gateway, connect, closing, channel):
    """Up to 100 subscribers every change is sent; beyond, only the last count within five seconds.
    """
    observer = connect()
    enter(observer, channel, 1)
    raw_clients = [closing(RawClient(gateway)) for _ in range(119)]
    for raw_client in raw_clients[:99]:
        raw_client.subscribe(channel)
    for number in range(2, 101):
        observer.expect_count(channel, number)
    start = time.monotonic()
    for raw_client in raw_clients[99:]:
        raw_client.subscribe(channel)
    early = [message["event"] for message in observer.receive_until_pong()]
    assert len(early) <= 1 + int((time.monotonic() - start) / 5) and set(early) <= {COUNT}
    count, turns = 0, 0
    while count != 120:
        count, turns = observer.expect_data(COUNT, channel=channel)["subscription_count"], turns + 1
        assert turns <= 2
    assert time.monotonic() - start < 8
    # Below 100 every change is sent again.
    for raw_client in raw_clients[60:]:
        raw_client.unsubscribe(channel)
    observer.receive_until_pong()
    raw_clients[0].unsubscribe(channel)
    observer.expect_count(channel, 60)
