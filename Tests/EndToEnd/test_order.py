"""Order: one per channel for everybody, and across channels for one publisher — however many loops there are."""

import itertools
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)

PUBLISHERS = 6
EVENTS = 60  # of each publisher


def publish_at_once(api_of, publish) -> None:
    """Runs `publish(api, number)` for every publisher at the same time, each on its own connection."""
    apis = [api_of() for _ in range(PUBLISHERS)]
    start = threading.Barrier(PUBLISHERS)

    def run(number: int) -> None:
        start.wait()
        publish(apis[number], number)

    with ThreadPoolExecutor(PUBLISHERS) as pool:
        list(pool.map(run, range(PUBLISHERS)))


def heard(client, count: int) -> list[str]:
    return [client.expect("event")["data"] for _ in range(count)]


def test_S3_all_subscribers_see_one_order(connect, api_of, channel):
    clients = [connect() for _ in range(9)]
    for client in clients:
        client.subscribe(channel)

    def publish(api, number):
        for count in range(EVENTS):
            api.publish(channel, data=f"{number}:{count}")

    publish_at_once(api_of, publish)
    orders = [heard(client, PUBLISHERS * EVENTS) for client in clients]
    assert all(order == orders[0] for order in orders)
    for number in range(PUBLISHERS):
        assert [data for data in orders[0] if data.startswith(f"{number}:")] == [f"{number}:{count}" for count in range(EVENTS)]
    for client in clients:
        client.expect_nothing()


def test_one_order_per_channel_when_publishers_mix_channels(connect, api_of, channel):
    names = [f"{channel}-{number}" for number in range(4)]
    clients = [connect() for _ in range(6)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)

    def publish(api, number):
        for count in range(EVENTS):
            api.publish(names[(number + count) % 4], data=f"{number}:{count}")

    publish_at_once(api_of, publish)
    orders = []
    for client in clients:
        order = defaultdict(list)
        for _ in range(PUBLISHERS * EVENTS):
            message = client.expect("event")
            order[message["channel"]].append(message["data"])
        orders.append(order)
    assert all(order == orders[0] for order in orders)


def test_S3_one_publisher_is_heard_in_order_across_channels(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(5)]
    clients = [connect() for _ in range(5)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)
    for count in range(200):
        api.publish(names[count * 3 % 5], data=str(count))
    for client in clients:
        assert heard(client, 200) == [str(count) for count in range(200)]


def test_S3_nor_does_it_matter_which_connections_he_uses(connect, api_of, channel):
    """The next call is made after the answer to the one before, so it comes later wherever it arrives."""
    apis = [api_of() for _ in range(4)]
    names = [f"{channel}-{number}" for number in range(3)]
    clients = [connect() for _ in range(5)]
    for client, name in itertools.product(clients, names):
        client.subscribe(name)
    for count in range(200):
        apis[count % 4].publish(names[count % 3], data=str(count))
    for client in clients:
        assert heard(client, 200) == [str(count) for count in range(200)]


def test_B2_the_excluded_connection_hears_all_but_its_own(connect, api, channel):
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


def test_B2_exclusion_among_events_sent_together(connect, api_of, api, channel):
    """Events that leave in one write must still spare the connections they exclude, and keep their order."""
    clients = [connect() for _ in range(8)]
    for client in clients:
        client.subscribe(channel)
    excluded_by = {}
    for number, count in itertools.product(range(PUBLISHERS), range(EVENTS)):
        # Every third event excludes nobody; the others exclude the connections in turn.
        excluded_by[f"{number}:{count}"] = None if count % 3 == 0 else clients[(number + count) % 8]

    def publish(api, number):
        for count in range(EVENTS):
            excluded = excluded_by[f"{number}:{count}"]
            api.publish(channel, data=f"{number}:{count}", **({"socket_id": excluded.socket_id} if excluded else {}))

    publish_at_once(api_of, publish)
    api.publish(channel, "fence")
    orders = {}
    for client in clients:
        orders[client] = heard(client, sum(excluded is not client for excluded in excluded_by.values()))
        assert all(excluded_by[data] is not client for data in orders[client])
        client.expect("fence")
    for one, other in itertools.combinations(clients, 2):
        common = [{data for data in orders[client]} for client in (one, other)]
        both = common[0] & common[1]
        assert [data for data in orders[one] if data in both] == [data for data in orders[other] if data in both]


def test_B2_a_socket_id_of_nobody_excludes_nobody(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    api.publish(channel, socket_id="999999999.999999999")
    client.expect("event")


def test_a_newcomer_hears_only_what_comes_after_and_then_everything(connect, api_of, channel):
    """Subscribing in mid-stream: no event of before the subscription was asked for, and no gap afterwards."""
    api, answered, all_joined = api_of(), [], threading.Event()

    def publish() -> None:
        while not all_joined.is_set() or len(answered) < 400:
            api.publish(channel, data=str(len(answered)))
            answered.append(None)

    clients = [connect() for _ in range(12)]
    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(publish)
        published_before = []
        for client in clients:
            published_before.append(len(answered))
            client.subscribe(channel)
        all_joined.set()
        stream.result()
    api.publish(channel, "fence")
    for client, before in zip(clients, published_before):
        numbers = []
        while (message := client.receive())["event"] == "event":
            numbers.append(int(message["data"]))
        assert numbers == list(range(len(answered) - len(numbers), len(answered)))
        assert numbers[0] >= before


def test_S4_unsubscribing_in_mid_stream_is_final(connect, api_of, channel):
    api, stop = api_of(), threading.Event()
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
            assert all(message["event"] == "event" for message in client.until_pong())
            # A while later there is still nothing.
            for _ in range(3):
                client.expect_nothing()
        stop.set()
        stream.result()


def test_connections_come_and_go_while_others_listen(connect, wire, api_of, channel):
    watcher, done = connect(), 200
    watcher.subscribe(channel)
    api = api_of()

    def publish() -> None:
        for count in range(done):
            api.publish(channel, data=str(count))

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(publish)
        for turn in range(30):
            guest = wire()
            guest.open()
            guest.subscribe(channel)
            guest.close() if turn % 2 else guest.reset()
        stream.result()
    assert heard(watcher, done) == [str(count) for count in range(done)]
