"""What the clients of a cluster see while its nodes are killed and frozen, and act at the same moment."""

import random
import threading
from collections import Counter

import pytest

from harness.client import Client
from harness.cluster import Cluster, events, frozen
from harness.cluster_faults import FAULTS, edges, hold_head, joined, pause, presence_of
from harness.cluster_fixtures import cluster, database, load, nats, postgres  # noqa: F401
from harness.concurrency import run_concurrently
from harness.fleet import SECTIONS, Caller, Fleet, unique_id, wait_until
from harness.owner import Owner
from harness.webhook_receiver import webhook


# Load while something fails.


@pytest.mark.parametrize("fault", FAULTS)
def test_no_action_is_lost_doubled_or_out_of_order(cluster, load, fault):
    for _ in range(3):
        cluster.start()
    for node in cluster.live:
        load.listen(node)
    with load.running():
        load.wait_for_more()
        FAULTS[fault](cluster, load)
    load.check()


def test_nodes_are_killed_at_any_moment(cluster, load):
    """Again and again, so that many steps of a transaction and of a start are hit. One node survives."""
    dice = random.Random(4)
    survivor = cluster.start()
    load.listen(survivor)
    cluster.start()
    with load.running():
        for _ in range(5):
            victim = cluster.start()
            pause(dice.uniform(0, 0.3))
            dice.choice([node for node in cluster.live if node is not survivor]).kill()
            assert victim in cluster.nodes
        load.wait_for_more()
    load.check()


# One of many.


def test_a_key_sent_to_all_nodes_at_once_is_executed_once(cluster, closing):
    nodes = [cluster.start() for _ in range(3)]
    admins = [Fleet(node, closing).admin() for node in nodes for _ in range(3)]
    for _ in range(15):
        code, key = unique_id("O"), unique_id("k")
        answers = run_concurrently(
            lambda admin: admin.post(f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"}, key=key), admins)  # noqa: B023
        assert {answer.status for answer in answers} == {200}, answers
        assert len({answer.body for answer in answers}) == 1
        assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1
        assert admins[0].get_order(code)["version"] == 1


def test_one_of_the_drivers_who_accept_a_job_at_several_nodes_wins(cluster, closing):
    nodes = [cluster.start() for _ in range(3)]
    fleets = [Fleet(node, closing) for node in nodes]
    admin = fleets[0].admin()
    drivers = [fleets[number % 3].driver(f"d{number}") for number in range(6)]
    for _ in range(10):
        code = unique_id("O")
        admin.expect_ok("PUT", f"/api/admin/orders/{code}", {})
        answers = run_concurrently(lambda driver: driver.post(f"/api/driver/jobs/{code}/accept"), drivers)  # noqa: B023
        winners = [driver.subject for driver, answer in zip(drivers, answers, strict=True) if answer.status == 200]
        assert len(winners) == 1 and {answer.status for answer in answers} == {200, 409}, answers
        for fleet in fleets:
            assert fleet.admin().get_order(code)["driverId"] == winners[0]


def test_an_order_created_at_all_nodes_at_once_has_all_changes(cluster, closing, database):
    nodes = [cluster.start() for _ in range(3)]
    admins = [Fleet(node, closing).admin() for node in nodes for _ in range(2)]
    for _ in range(10):
        code = unique_id("O")
        answers = run_concurrently(lambda pair: pair[1].post(
            f"/api/admin/orders/{code}/assign-driver", {"driverId": f"d{pair[0]}"}), list(enumerate(admins)))  # noqa: B023
        assert {answer.status for answer in answers} == {200}, answers
        assert admins[0].get_order(code)["version"] == len(admins)
    gaps = database.query("SELECT channel FROM notifications GROUP BY channel HAVING COUNT(*) <> MAX(sequence)")
    assert gaps == []


# Members of nodes that stand still.


def test_the_members_of_a_frozen_node_are_withdrawn_and_come_back(cluster, closing):
    one, other = (cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2))
    ann, bob = joined(closing, one, "ann"), joined(closing, other, "bob")
    presence_of(ann, "presence-room", {"ann", "bob"})
    with frozen(other):
        presence_of(ann, "presence-room", {"ann"})
    assert bob.expect_close()[0] == 4200
    cluster.wait_for(2)
    bob = joined(closing, other, "bob")
    presence_of(ann, "presence-room", {"ann", "bob"})
    bob.close()
    presence_of(ann, "presence-room", {"ann"})
    ann.expect_nothing()


def test_members_stay_while_a_node_is_frozen_for_less_than_three_heartbeats(cluster, closing):
    one, other = cluster.start(), cluster.start()
    ann, bob = joined(closing, one, "ann"), joined(closing, other, "bob")
    presence_of(ann, "presence-room", {"ann", "bob"})
    with frozen(other):
        pause(4)
    cal = joined(closing, other, "cal")
    assert cal.members == {"ann", "bob", "cal"}
    ann.expect_member_added("presence-room", "cal")
    bob.expect_member_added("presence-room", "cal")
    assert "node_lost" not in events(one) + events(other)


# All nodes were down.


def leave_unpublished(cluster: Cluster, closing) -> str:
    """Kills all nodes. They have committed the assignment of an order to d1, and seem not to have published it. Returns
    the order.
    """
    nodes = [cluster.start(), cluster.start()]
    code = unique_id("O")
    Fleet(nodes[0], closing).admin().assign(code, "d1")
    for node in nodes:
        node.kill()
    cluster.postgres.query("UPDATE cluster_nodes SET written_id = ''; UPDATE publication SET position = ''")
    return code


def expect_recovered(client: Client, code: str) -> None:
    assert client.expect_data("job-assigned")["bookingId"] == code


def test_the_first_node_publishes_what_killed_nodes_have_committed(cluster, closing):
    code = leave_unpublished(cluster, closing)
    fleet = Fleet(cluster.start(), closing)
    driver = fleet.listen(fleet.driver("d1"), "driver-d1")
    expect_recovered(driver, code)
    dashboard = fleet.listen(fleet.admin(), "admin-channel")
    expect_recovered(dashboard, code)
    dashboard.expect("order-assigned")
    fleet.admin().assign(code, "d2")
    driver.expect("job-removed")
    dashboard.expect("job-assigned")
    fleet.listen(fleet.admin(), "admin-channel").expect_nothing()


def test_subscribers_of_any_node_get_what_killed_nodes_have_committed(cluster, closing):
    code = leave_unpublished(cluster, closing)
    cluster.start()
    fleet = Fleet(cluster.start(), closing)
    expect_recovered(fleet.listen(fleet.admin(), "admin-channel"), code)


def test_sessions_of_killed_nodes_do_not_hide_that_all_were_down(cluster, closing, database):
    """The server notices the end of a session that waits for a lock only when it has the lock."""
    nodes = [cluster.start(), cluster.start()]
    code = unique_id("O")
    Fleet(nodes[0], closing).admin().assign(code, "d1")

    def are_waiting(count: int) -> bool:
        return int(database.query("SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0]) >= count

    release = threading.Event()
    holder = threading.Thread(target=hold_head, args=(database, release))
    holder.start()
    try:
        wait_until(lambda: are_waiting(2), "the nodes wait for the lock")
        for node in nodes:
            node.kill()
        database.query("UPDATE cluster_nodes SET written_id = ''; UPDATE publication SET position = ''")
        threading.Thread(target=lambda: (wait_until(lambda: are_waiting(1), "the new node waits"), release.set())).start()
        third = cluster.start()
    finally:
        release.set()
        holder.join()
    assert "notifications_recovered" in events(third)
    fleet = Fleet(third, closing)
    expect_recovered(fleet.listen(fleet.admin(), "admin-channel"), code)


# The leader.


@pytest.fixture
def pushing(cluster, providers):
    """Starts nodes that push to the fakes."""
    sections = providers.sections()
    sections.pop("store")
    cluster.settings["sections"] = SECTIONS | sections
    return cluster


def leader(cluster: Cluster):
    """Returns the node that leads."""
    name = cluster.postgres.query(
        "SELECT name FROM cluster_nodes JOIN cluster_head ON leader = epoch WHERE leader_until > 0")
    return next((node for node in cluster.live if [node.config.parent.name] == name), None)


def announce(admin: Caller, drivers: list[str]) -> list[str]:
    body = {"type": "DRIVER_APPROVED", "to": {"drivers": drivers}, "data": {}}
    return admin.expect_ok("POST", "/api/admin/notifications", body)["data"]["notificationIds"]


def requests(devices: list) -> list:
    """Returns all requests to the devices, in order."""
    return sorted((request for device in devices for request in device.sent), key=lambda request: request.at)


@pytest.mark.parametrize("fault", ["kill", "stop", "freeze"])
def test_pushes_go_on_when_the_leader_is_gone(pushing, closing, providers, fault):
    nodes = [pushing.start() for _ in range(2)]
    wait_until(lambda: leader(pushing) is not None, "a node leads")
    first = leader(pushing)
    other = next(node for node in nodes if node is not first)
    fleet = Fleet(other, closing)
    devices = [providers.ios(fleet.driver(f"p{number}")) for number in range(20)]
    announce(fleet.admin(), ["p0"])
    devices[0].wait(1)
    providers.apns.delay = 0.15
    providers.apns.set_stream_limit(1)
    admin = fleet.admin("b")
    for _ in range(2):
        announce(admin, [f"p{number}" for number in range(20)])
    devices[3].wait(1)
    if fault == "kill":
        first.kill()
    elif fault == "stop":
        first.stop()
    else:
        first.freeze()
    try:
        wait_until(lambda: leader(pushing) is other, "the other node leads", 12)
        providers.apns.delay = 0
        for number, device in enumerate(devices):
            device.wait(3 if number == 0 else 2)
        before = requests(devices)
    finally:
        first.thaw()
    if fault == "freeze":
        # The node begins anew first.
        wait_until(lambda: Fleet(first, closing).admin("c").request("GET", "/readyz").status == 200, "the node serves")
        announce(Fleet(first, closing).admin("c"), ["p19"])
        devices[19].wait(3)
        known = {request.headers["apns-id"] for request in before}
        late = [request for request in requests(devices)[len(before):] if request.headers["apns-id"] in known]
        assert late == [], f"{len(late)} pushes were sent by a node that leads no longer"
    sent = Counter(request.headers["apns-id"] for request in requests(devices))
    doubled = {each for each, count in sent.items() if count > 1}
    # Those whose answers the leader could not store.
    assert len(doubled) <= (0 if fault == "stop" else providers.apns.max_connections), f"{len(doubled)} pushes were sent twice"


def test_unconfirmed_notifications_are_pushed_after_the_death_of_the_leader(pushing, closing, providers):
    sections = providers.sections(mode="fallback", delivery={"confirm_seconds": 1})
    sections.pop("store")
    pushing.settings["sections"] = SECTIONS | sections
    nodes = [pushing.start() for _ in range(2)]
    wait_until(lambda: leader(pushing) is not None, "a node leads")
    first = leader(pushing)
    other = next(node for node in nodes if node is not first)
    fleet = Fleet(other, closing)
    driver = fleet.driver("d1")
    device = providers.ios(driver)
    client = closing(Owner(other, driver, silent=True))
    client.subscribe("private-driver-d1")
    first.kill()
    fleet.admin().assign(unique_id("O"), "d1")
    device.wait(1)
    assert len(device.sent) == 1


# Webhooks.


@pytest.mark.parametrize("fault", ["kill", "nats", "freeze"])
def test_no_edge_is_missing(cluster, closing, nats, webhook_receiver, fault):
    """Channels that are occupied and left on nodes while one of them, or the bus, fails: the last edge is right."""
    first = {"webhooks": [webhook(webhook_receiver.url + "/edges", events=["channel_occupied", "channel_vacated"])]}
    nodes = [cluster.start(first=first, cluster={"heartbeat_seconds": 1}) for _ in range(3)]
    clients = [closing(Client.connect(node)) for node in nodes]
    channels = [f"channel-{number}" for number in range(12)]
    for number, channel in enumerate(channels):
        clients[number % 3].subscribe(channel)
    for channel in channels:
        assert edges(webhook_receiver, channel, 1) == ["channel_occupied"]
    if fault == "kill":
        nodes[2].kill()
    elif fault == "freeze":
        nodes[2].freeze()
    else:
        nats.kill()
    # Of the survivors: a third of the channels is left, a new one comes.
    for channel in channels[0::3]:
        clients[0].send("pusher:unsubscribe", {"channel": channel})
    clients[1].subscribe("new")
    pause(4)
    if fault == "freeze":
        nodes[2].thaw()
    elif fault == "nats":
        nats.start()

    def last(channel: str) -> str | None:
        told = [event for post in webhook_receiver.history["/edges"] for event in post.events if event["channel"] == channel]
        return told[-1]["name"] if told else None

    wait_until(lambda: last("new") == "channel_occupied", "the new channel is told")
    for number, channel in enumerate(channels):
        # A node that was frozen closes its clients.
        gone = number % 3 == 0 or number % 3 == 2 and fault in ("kill", "freeze")
        wanted = "channel_vacated" if gone else "channel_occupied"
        wait_until(lambda: last(channel) == wanted, f"the last edge of {channel} is {wanted}")  # noqa: B023
