"""What the clients of a cluster see of hostile and lost messages on its bus, and of misconfigured nodes."""

import json
import random
from collections import Counter

import pytest

from harness.api import Api
from harness.client import Client
from harness.cluster import KEYS, events
from harness.cluster_faults import edges, joined, pause, presence_of
from harness.cluster_fixtures import cluster, database, nats, postgres  # noqa: F401
from harness.cluster_messages import (ANSWER, COMMIT, COUNT, EVENT, GOODBYE, HEARTBEAT, JOINED, LARGEST, LEFT, MEMBERS,
                                      QUESTION, SHARE, channel_subject, message, parse, text, u64)
from harness.fleet import SECTIONS, Fleet, unique_id, wait_until
from harness.nats import NatsFilter
from harness.nats_client import NatsClient
from harness.webhook_receiver import webhook


# Hostile messages on the bus, and misconfigured nodes.


@pytest.fixture
def bus(nats, closing):
    return closing(NatsClient(nats))


def expect_served(nodes, closing) -> None:
    """All nodes serve, and events go from each to each."""
    clients = [closing(Client.connect(node)) for node in nodes]
    channel = unique_id("served-")
    for client in clients:
        client.subscribe(channel)
    for number, node in enumerate(nodes):
        node.assert_alive()
        closing(Api(node)).publish(channel, data=str(number))
        for client in clients:
            client.expect("event", data=str(number))
        Fleet(node, closing).admin().assign(unique_id("O"), "d1")


def test_garbage_on_the_bus_is_ignored(cluster, closing, bus):
    nodes = [cluster.start() for _ in range(2)]
    client = closing(Client.connect(nodes[0]))
    client.subscribe("news")
    client.join("presence-room", "ann")
    bus.subscribe("fleetwire.>")
    epochs = set()
    while len(epochs) < 2:
        epochs.add(parse(bus.receive()[1])[1])
    dice = random.Random(1)
    channels = [channel_subject("news"), channel_subject("presence-room")]
    subjects = ["fleetwire.nodes", *(f"fleetwire.nodes.{epoch:x}" for epoch in epochs), *channels,
                "fleetwire.what.ever", channels[0] + ".more"]
    payloads = [b"", b"\x01", bytes(26), dice.randbytes(100), b"\xff" * 1_000_000]
    for kind in range(16):
        sender = dice.choice([*epochs, 0, 1, LARGEST])
        for version in (0, 1, 2):
            payloads += [message(kind, sender, dice.randbytes(dice.randrange(60)), number=0, version=version),
                         message(kind, sender, b"\xff" * dice.randrange(40), number=0, version=version),
                         message(kind, sender, text("1001"), text("presence-room"), b"\xff" * 8, number=0, version=version)]
    for payload in payloads:
        for subject in subjects:
            # Events of unknown nodes are events, and who says goodbye is gone.
            is_event = subject in channels and payload[:2] == bytes([1, EVENT])
            if payload[1:2] != bytes([GOODBYE]) and not is_event:
                bus.publish(subject, payload)
    bus.flush()
    # Nodes that garbage has announced are given up.
    cluster.wait_for(2, *nodes)
    expect_served(nodes, closing)
    assert {"cluster_record_unreadable"} >= {each for each in events(nodes[0]) if "unread" in each}


def test_extreme_numbers_end_no_node(cluster, closing, bus):
    nodes = [cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2)]
    client = closing(Client.connect(nodes[0]))
    client.join("presence-room", "ann")
    room, key = channel_subject("presence-room"), text("1001") + text("presence-room")
    bus.subscribe("fleetwire.nodes")
    mine = [parse(bus.receive()[1])[1] for _ in range(4)]
    to = [f"fleetwire.nodes.{epoch:x}" for epoch in set(mine)]
    for epoch in (7, LARGEST):
        bus.publish("fleetwire.nodes", message(HEARTBEAT, epoch, text("evil"), key, u64(LARGEST)))
        for subject in to:
            bus.publish(subject, message(MEMBERS, epoch, u64(1), key, u64(LARGEST), text("eve"), b"\0"))
            for sender in (11, 12, 13):
                bus.publish(subject, message(SHARE, sender, key, b"\0\1", u64(2**63 - 1)))
            bus.publish(subject, message(SHARE, 14, key, b"\0\1", u64(-(2**63))))
            bus.publish(subject, message(SHARE, epoch, key, b"\0\4", text("eve")))
            bus.publish(subject, message(ANSWER, epoch, u64(1), b"\1", b"x"))
            for kind in range(256):
                bus.publish(subject, message(QUESTION, epoch, u64(kind), bytes([kind]), b"\xff" * 9))
        bus.publish(room, message(JOINED, epoch, u64(LARGEST), text("eve"), b"\0"))
        bus.publish(room, message(JOINED, epoch, u64(0), text("eve"), b"\0"))
        bus.publish(room, message(LEFT, epoch, u64(LARGEST), text("eve")))
        bus.publish(room, message(COUNT, epoch, u64(LARGEST)))
        for position in (0, -1, -(2**63), 2**63 - 1):
            bus.publish("fleetwire.nodes", message(COMMIT, epoch, u64(position), b""))
        bus.publish("fleetwire.nodes", message(JOINED, epoch, u64(1), text("eve"), b"\0", number=LARGEST, before=LARGEST))
    bus.flush()
    cluster.wait_for(2, *nodes)
    for node in nodes:
        node.assert_alive()
    users = closing(Api(nodes[1])).get_signed("channels/presence-room/users").json()["users"]
    assert [user["id"] for user in users] == ["ann"], "the members of nodes that were never there stay"
    expect_served(nodes, closing)


def test_a_commit_on_the_bus_that_is_in_no_log_is_not_believed_for_ever(cluster, closing, bus):
    """A node receives a commit whose position is not in the log. Later commits reach its clients all the same."""
    nodes = [cluster.start() for _ in range(2)]
    fleet = Fleet(nodes[1], closing)
    dashboard = fleet.listen(fleet.admin(), "admin-channel")
    bus.publish("fleetwire.nodes", message(COMMIT, 7, u64(1_000_000), b"\xff\xff\xff"))
    bus.flush()
    admin = Fleet(nodes[0], closing).admin()
    codes = [unique_id("O") for _ in range(5)]
    for code in codes:
        admin.assign(code, "d1")
        assert dashboard.expect_data("job-assigned")["bookingId"] == code
        dashboard.expect("order-assigned")


def test_two_nodes_of_one_name_serve(cluster, closing):
    """An operator's mistake: the same cluster.node twice. Others may see them come and go; nothing is lost."""
    one = cluster.start()
    names = [cluster.start_gateway(f"same{number}", first={"client_events": True}, sections=SECTIONS | {
        "store": {"url": cluster.postgres.url, "encryption_keys": KEYS},
        "cluster": {"nats": [cluster.nats.url], "node": "same", "heartbeat_seconds": 1}}) for number in range(2)]
    client = closing(Client.connect(one))
    client.subscribe("news")
    apis = [closing(Api(node)) for node in names]
    fleet = Fleet(one, closing)
    dashboard = fleet.listen(fleet.admin(), "admin-channel")
    admins = [Fleet(node, closing).admin() for node in names]
    for number in range(40):
        apis[number % 2].publish("news", data=str(number))
        assert client.expect("event")["data"] == str(number)
        code = unique_id("O")
        admins[number % 2].assign(code, "d1")
        assert dashboard.expect_data("job-assigned")["bookingId"] == code
        dashboard.expect("order-assigned")


def test_clusters_of_other_names_on_one_bus_and_database(cluster, closing):
    """The database is one cluster's, whatever its name on the bus: actions reach both over the log."""
    one = cluster.start(cluster={"name": "one"})
    two = cluster.start_gateway("two", first={"client_events": True}, sections=SECTIONS | {
        "store": {"url": cluster.postgres.url, "encryption_keys": KEYS},
        "cluster": {"nats": [cluster.nats.url], "node": "two", "name": "two"}})
    fleets = [Fleet(node, closing) for node in (one, two)]
    admins = [fleet.admin() for fleet in fleets]
    boards = [fleet.listen(admin, "admin-channel") for fleet, admin in zip(fleets, admins, strict=True)]
    clients = [closing(Client.connect(node)) for node in (one, two)]
    for client in clients:
        client.subscribe("news")
    closing(Api(one)).publish("news")
    clients[0].expect("event")
    clients[1].expect_nothing()
    for number in range(4):
        code = unique_id("O")
        admins[number % 2].assign(code, "d1")
        for board in boards:
            assert board.expect_data("job-assigned")["bookingId"] == code
            board.expect("order-assigned")


def test_thousands_of_channels_come_and_go(cluster, closing):
    limits = {"commands_per_second": 0, "messages_per_second": 0}
    one, other = cluster.start(limits=limits), cluster.start(limits=limits)
    client, api = closing(Client.connect(one)), closing(Api(other))
    names = [f"channel-{number}" for number in range(2_000)]
    for _ in range(2):
        for name in names:
            client.send_subscribe(name)
            client.send("pusher:unsubscribe", {"channel": name})
            client.send_subscribe(name)
        succeeded: Counter = Counter()
        while len(succeeded) < len(names):
            succeeded[client.expect("pusher_internal:subscription_succeeded")["channel"]] += 1
        succeeded.update(each["channel"] for each in client.receive_until_pong())
        assert set(succeeded.values()) <= {1, 2}
        api.publish(names[7], data="x")
        client.expect("event", channel=names[7])
        for name in names:
            client.send("pusher:unsubscribe", {"channel": name})
        client.expect_nothing()
    expect_served([one, other], closing)


# Losses of single messages: a cluster of NATS servers may lose them without an end of a connection.


@pytest.fixture
def lossy(cluster, closing, nats, webhook_receiver):
    """A node, and one whose messages a test drops. Webhooks go to the receiver."""
    proxy = closing(NatsFilter(nats))
    first = {"client_events": True, "webhooks": [webhook(webhook_receiver.url + "/edges", events=[
        "channel_occupied", "channel_vacated", "member_added", "member_removed"])]}
    one = cluster.start(first=first, cluster={"heartbeat_seconds": 1})
    return one, cluster.start(first=first, cluster={"heartbeat_seconds": 1}, nats=proxy.url), proxy


def drop(proxy: NatsFilter, kind: int) -> None:
    """Drops the next message of a kind."""
    def drops(subject: str, payload: bytes) -> bool:
        if payload[1] != kind:
            return False
        proxy.drops = lambda subject, payload: False
        return True

    proxy.drops = drops


@pytest.mark.parametrize("kind", [JOINED, LEFT])
def test_a_lost_change_of_the_members_is_noticed(lossy, closing, kind):
    one, other, proxy = lossy
    ann, bob = joined(closing, one, "ann"), joined(closing, other, "bob")
    presence_of(ann, "presence-room", {"ann", "bob"})
    drop(proxy, kind)
    if kind == JOINED:
        joined(closing, other, "cal")
        presence_of(ann, "presence-room", {"ann", "bob", "cal"})
    else:
        bob.close()
        presence_of(ann, "presence-room", {"ann"})
    assert proxy.dropped == 1


def test_a_lost_commit_is_read_from_the_log(lossy, closing, database):
    one, other, proxy = lossy
    fleets = [Fleet(node, closing) for node in (one, other)]
    dashboard = fleets[0].listen(fleets[0].admin(), "admin-channel")
    admin = fleets[1].admin()
    for number in range(6):
        if number % 2:
            drop(proxy, COMMIT)
        code = unique_id("O")
        admin.assign(code, "d1")
        if number == 5:
            break
        admin.assign(unique_id("O"), "d1")
    wanted = database.query("SELECT id FROM notifications WHERE channel = 'admin-channel' ORDER BY sequence")
    found = []
    while len(found) < len(wanted):
        found.append(json.loads(dashboard.receive()["data"])["notificationId"])
    assert found == wanted and proxy.dropped == 3


@pytest.mark.parametrize("leaves", [False, True])
def test_a_lost_share_is_reported_again(lossy, closing, webhook_receiver, leaves):
    """Whichever node keeps the channel: there are several, of both."""
    one, other, proxy = lossy
    channels = [f"channel-{number}" for number in range(6)]
    client = closing(Client.connect(other))

    def lose_all(subject: str, payload: bytes) -> bool:
        return payload[1] == SHARE

    if not leaves:
        proxy.drops = lose_all
    for channel in channels:
        client.subscribe(channel)
    proxy.drops = lambda subject, payload: False
    for channel in channels:
        assert edges(webhook_receiver, channel, 1) == ["channel_occupied"]
    if leaves:
        proxy.drops = lose_all
        for channel in channels:
            client.unsubscribe(channel)
        wait_until(lambda: proxy.dropped > 0, "a share is lost")
        pause(3.5)
        proxy.drops = lambda subject, payload: False
        for channel in channels:
            assert edges(webhook_receiver, channel, 1) == ["channel_vacated"]
    assert proxy.dropped > 0
