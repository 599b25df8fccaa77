"""Message order: per channel for all subscribers, and across channels for one publisher, for any
number of loops.
"""

import itertools
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.concurrency import run_concurrently

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)

PUBLISHERS = 6
EVENTS = 60  # of each publisher


def publish_at_once(open_api, publish) -> None:
    """Runs `publish(api, number)` for all publishers concurrently, each on a separate connection.
    """
    apis = [open_api() for _ in range(PUBLISHERS)]
    run_concurrently(lambda number: publish(apis[number], number), range(PUBLISHERS))


def received(client, count: int) -> list[str]:
    return [client.expect("event")["data"] for _ in range(count)]


def test_S3_all_subscribers_receive_one_order(connect, open_api, channel):
    clients = [connect() for _ in range(9)]
    for client in clients:
        client.subscribe(channel)

    def publish(api, number):
        for count in range(EVENTS):
            api.publish(channel, data=f"{number}:{count}")

    publish_at_once(open_api, publish)
    orders = [received(client, PUBLISHERS * EVENTS) for client in clients]
    assert all(order == orders[0] for order in orders)
    for number in range(PUBLISHERS):
        assert [data for data in orders[0]
                if data.startswith(f"{number}:")] == [
            f"{number}:{count}" for count in range(EVENTS)]
    for client in clients:
        client.expect_nothing()


def test_one_order_per_channel_with_publishers_on_several_channels(connect, open_api, channel):
    names = [f"{channel}-{number}" for number in range(4)]
    clients = [connect() for _ in range(6)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)

    def publish(api, number):
        for count in range(EVENTS):
            api.publish(names[(number + count) % 4], data=f"{number}:{count}")

    publish_at_once(open_api, publish)
    orders = []
    for client in clients:
        order = defaultdict(list)
        for _ in range(PUBLISHERS * EVENTS):
            message = client.expect("event")
            order[message["channel"]].append(message["data"])
        orders.append(order)
    assert all(order == orders[0] for order in orders)


def test_S3_one_publishers_events_keep_their_order_across_channels(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(5)]
    clients = [connect() for _ in range(5)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)
    for count in range(200):
        api.publish(names[count * 3 % 5], data=str(count))
    for client in clients:
        assert received(client, 200) == [str(count) for count in range(200)]


def test_S3_order_holds_across_the_publishers_connections(connect, open_api, channel):
    """Each request follows the response to the previous one, so it is later on any connection."""
    apis = [open_api() for _ in range(4)]
    names = [f"{channel}-{number}" for number in range(3)]
    clients = [connect() for _ in range(5)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)
    for count in range(200):
        apis[count % 4].publish(names[count % 3], data=str(count))
    for client in clients:
        assert received(client, 200) == [str(count) for count in range(200)]


def test_B2_excluded_connection_receives_all_other_events(connect, api, channel):
    clients = [connect() for _ in range(8)]
    for client in clients:
        client.subscribe(channel)
    for excluded in clients:
        api.publish(channel, data=excluded.socket_id, socket_id=excluded.socket_id)
    api.publish(channel, "fence")
    for client in clients:
        for other in clients:
            if other is not client:
                client.expect("event", data=other.socket_id)
        client.expect("fence")


def test_B2_exclusion_among_events_sent_together(connect, open_api, api, channel):
    """Events sent in one write must still skip the connections they exclude, and keep their order.
    """
    clients = [connect() for _ in range(8)]
    for client in clients:
        client.subscribe(channel)
    excluded_by = {}
    for number, count in itertools.product(range(PUBLISHERS), range(EVENTS)):
        # Every third event excludes no connection; the others exclude the connections in turn.
        excluded_by[f"{number}:{count}"] = None if count % 3 == 0 else clients[(number + count) % 8]

    def publish(api, number):
        for count in range(EVENTS):
            excluded = excluded_by[f"{number}:{count}"]
            api.publish(channel, data=f"{number}:{count}",
                        **({"socket_id": excluded.socket_id} if excluded else {}))

    publish_at_once(open_api, publish)
    api.publish(channel, "fence")
    orders = {}
    for client in clients:
        orders[client] = received(client,
                                  sum(excluded is not client for excluded in excluded_by.values()))
        assert all(excluded_by[data] is not client for data in orders[client])
        client.expect("fence")
    for one, other in itertools.combinations(clients, 2):
        common = [{data for data in orders[client]} for client in (one, other)]
        both = common[0] & common[1]
        assert [data for data in orders[one]
                if data in both] == [data for data in orders[other] if data in both]


def test_B2_unknown_socket_id_excludes_no_connection(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    api.publish(channel, socket_id="999999999.999999999")
    client.expect("event")


def test_new_subscriber_receives_all_later_events_only(connect, open_api, channel):
    """A subscription during publications: no event from before the subscribe request, and no gap
    afterwards.
    """
    api, published, all_joined = open_api(), [], threading.Event()

    def publish() -> None:
        while not all_joined.is_set() or len(published) < 400:
            api.publish(channel, data=str(len(published)))
            published.append(None)

    clients = [connect() for _ in range(12)]
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(publish)
        published_before = []
        for client in clients:
            published_before.append(len(published))
            client.subscribe(channel)
        all_joined.set()
        stream.result()
    api.publish(channel, "fence")
    for client, before in zip(clients, published_before):
        numbers = []
        while (message := client.receive())["event"] == "event":
            numbers.append(int(message["data"]))
        assert numbers == list(range(len(published) - len(numbers), len(published)))
        assert numbers[0] >= before


def test_S4_unsubscribing_during_publications_is_final(connect, open_api, channel):
    api, stop = open_api(), threading.Event()
    clients = [connect() for _ in range(4)]
    for client in clients:
        client.subscribe(channel)

    def publish() -> None:
        while not stop.is_set():
            api.publish(channel)

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(publish)
        for client in clients:
            client.expect("event")
            client.send("pusher:unsubscribe", {"channel": channel})
            assert all(message["event"] == "event" for message in client.receive_until_pong())
            # Nothing arrives later either.
            for _ in range(3):
                client.expect_nothing()
        stop.set()
        stream.result()


def test_short_lived_connections_do_not_disturb_the_order(connect, wire, open_api, channel):
    watcher, done = connect(), 200
    watcher.subscribe(channel)
    api = open_api()

    def publish() -> None:
        for count in range(done):
            api.publish(channel, data=str(count))

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(publish)
        for turn in range(30):
            short_lived = wire()
            short_lived.open()
            short_lived.subscribe(channel)
            short_lived.close() if turn % 2 else short_lived.reset()
        stream.result()
    assert received(watcher, done) == [str(count) for count in range(done)]
