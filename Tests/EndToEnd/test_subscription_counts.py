"""N1: how many are subscribed, told to those who are."""

import time

import pytest

from harness.apps import SECOND
from harness.guest import Guest

SETTINGS = {"first": {"subscription_counts": True}}

COUNT = "pusher_internal:subscription_count"


@pytest.fixture(params=["", "private-"])
def counted(request, channel):
    return request.param + channel


def enter(client, name, count: int) -> None:
    client.subscribe_private(name) if name.startswith("private-") else client.subscribe(name)
    client.expect_count(name, count)


def test_N1_every_subscribe_and_unsubscribe_is_told_to_all(connect, counted):
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


def test_N1_the_message(connect, channel):
    client = connect()
    client.subscribe(channel)
    assert client.receive() == {"event": COUNT, "channel": channel, "data": '{"subscription_count":1}'}


@pytest.mark.parametrize("go", [lambda guest: guest.say_goodbye(), lambda guest: guest.close(), lambda guest: guest.reset()],
                         ids=["close frame", "end of stream", "reset"])
def test_N1_who_is_lost_is_counted_off(gateway, connect, closing, channel, go):
    client, guest = connect(), closing(Guest(gateway))
    enter(client, channel, 1)
    guest.subscribe(channel)
    client.expect_count(channel, 2)
    go(guest)
    client.expect_count(channel, 1)
    client.expect_nothing()


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_N1_all_see_one_order_that_ends_with_the_truth(gateway, connect, closing, channel):
    observers = [connect() for _ in range(3)]
    for number, client in enumerate(observers):
        enter(client, channel, number + 1)
        for earlier in observers[:number]:
            earlier.expect_count(channel, number + 1)
    guests = [closing(Guest(gateway)) for _ in range(20)]
    for guest in guests:
        guest.say("pusher:subscribe", {"channel": channel})
    for guest in guests:
        guest.until("pusher_internal:subscription_succeeded")
    for guest in guests[::2]:
        guest.say("pusher:unsubscribe", {"channel": channel})
    for guest in guests[1::2]:
        guest.reset()
    heard = []
    for client in observers:
        counts = [client.expect_data(COUNT, channel=channel)["subscription_count"] for _ in range(40)]
        assert all(abs(one - other) == 1 for one, other in zip([3] + counts, counts))
        assert counts[-1] == 3
        heard.append(counts)
        client.expect_nothing()
    assert heard[0] == heard[1] == heard[2]


@pytest.mark.parametrize("name", ["presence-{}", "presence-cache-{}"])
def test_N1_never_on_presence_channels(connect, channel, name):
    name, clients = name.format(channel), [connect() for _ in range(2)]
    for number, client in enumerate(clients):
        client.join(name, str(number))
    assert COUNT not in [message["event"] for client in clients for message in client.until_pong()]


def test_N1_a_refused_or_repeated_subscription_does_not_count(connect, channel):
    name, client, other = "private-" + channel, connect(), connect()
    enter(client, name, 1)
    client.ask_for(name, auth="key1:nonsense")
    client.expect_error()
    other.ask_for(name, auth="key1:nonsense")
    other.expect_error()
    other.send("pusher:unsubscribe", {"channel": name})
    other.expect_error()
    client.expect_nothing()


def test_N1_where_it_is_not_enabled(connect, channel):
    clients = [connect(SECOND) for _ in range(2)]
    for client in clients:
        client.subscribe(channel)
    for client in clients:
        client.expect_nothing()


def test_N1_on_a_cache_channel(connect, api, channel):
    """The count may come before or after what the channel remembers."""
    name = "cache-" + channel
    api.publish(name, "remembered")
    client = connect()
    client.subscribe(name)
    assert sorted(message["event"] for message in client.until_pong()) == [COUNT, "remembered"]


def test_N1_above_a_hundred_it_is_told_every_5_seconds(gateway, connect, closing, channel):
    """Up to 100 each one is told; beyond, the last count of five seconds is, and it comes."""
    observer = connect()
    enter(observer, channel, 1)
    guests = [closing(Guest(gateway)) for _ in range(119)]
    for guest in guests[:99]:
        guest.subscribe(channel)
    for number in range(2, 101):
        observer.expect_count(channel, number)
    start = time.monotonic()
    for guest in guests[99:]:
        guest.subscribe(channel)
    early = [message["event"] for message in observer.until_pong()]
    assert len(early) <= 1 + int((time.monotonic() - start) / 5) and set(early) <= {COUNT}
    count, turns = 0, 0
    while count != 120:
        count, turns = observer.expect_data(COUNT, channel=channel)["subscription_count"], turns + 1
        assert turns <= 2
    assert time.monotonic() - start < 8
    # Back below, each one is told again.
    for guest in guests[60:]:
        guest.leave(channel)
    observer.until_pong()
    guests[0].leave(channel)
    observer.expect_count(channel, 60)
