"""What the clients of a cluster see while its nodes, its bus and its database are killed and frozen."""

import contextlib
import json
import signal
import threading
from collections.abc import Callable

import pytest

from harness.api import Api, event_body
from harness.client import Client
from harness.cluster import KEYS, Cluster, count_of_nodes
from harness.cluster_load import Load
from harness.concurrency import run_concurrently
from harness.fleet import SECTIONS, Caller, Fleet, unique_id, wait_until
from harness.gateway import check_log, expect_invalid_config, run, write_config
from harness.metrics import scrape
from harness.nats import Nats, NatsProxy
from harness.nats_client import NatsClient
from harness.postgres import PASSWORD, Postgres, PostgresProxy


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as server:
        yield server


@pytest.fixture
def database(postgres):
    """An empty database."""
    postgres.query("DROP SCHEMA public CASCADE")
    postgres.query("CREATE SCHEMA public")
    return postgres


@pytest.fixture
def nats():
    with Nats() as server:
        yield server


@pytest.fixture
def cluster(start_gateway, database, nats):
    return Cluster(start_gateway, database, nats, sections=SECTIONS, first={"client_events": True})


@pytest.fixture
def load(cluster, closing):
    return Load(cluster, closing)


def events(gateway) -> list[str]:
    return [entry["event"] for entry in check_log(gateway.log())]


@contextlib.contextmanager
def frozen(node):
    """Stops a node's process, and lets it go on."""
    node.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        node.process.send_signal(signal.SIGCONT)


def pause(seconds: float) -> None:
    """The length of a fault, which the test is about."""
    threading.Event().wait(seconds)


def is_degraded(node) -> bool:
    api = Api(node)
    try:
        response = api.get("/readyz")
        assert response.status == 200, response
        return response.body.startswith(b"{") and response.json().get("degraded") == ["nats"]
    finally:
        api.close()


def wait_for_bus(*nodes, is_away: bool, seconds: float = 15) -> None:
    for node in nodes:
        wait_until(lambda: is_degraded(node) == is_away, f"NATS is {'away' if is_away else 'back'}", seconds)  # noqa: B023


# Load while something fails.


def kill_and_start(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.live[0].kill()
        load.wait_for_more()
        load.listen(cluster.start())
        load.wait_for_more()


def freeze_node(seconds: float) -> Callable:
    def fault(cluster: Cluster, load: Load) -> None:
        for node in cluster.live[:2]:
            with frozen(node):
                pause(seconds)
            load.wait_for_more()

    return fault


def restart_nats(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.nats.kill()
        wait_for_bus(*cluster.live, is_away=True)
        load.wait_for_more()
        cluster.nats.start()
        wait_for_bus(*cluster.live, is_away=False)
        load.wait_for_more()


def freeze_nats(cluster: Cluster, load: Load) -> None:
    cluster.nats.freeze()
    wait_for_bus(*cluster.live, is_away=True, seconds=5)
    load.wait_for_more()
    cluster.nats.thaw()
    wait_for_bus(*cluster.live, is_away=False)
    load.wait_for_more()


def restart_postgres(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.postgres.stop()
        load.wait_for_refusals()
        cluster.postgres.start()
        load.wait_for_more()


def kill_postgres(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.postgres.kill()
        load.wait_for_refusals()
        cluster.postgres.start()
        load.wait_for_more()


def freeze_postgres(cluster: Cluster, load: Load) -> None:
    cluster.postgres.freeze()
    load.wait_for_refusals()
    cluster.postgres.thaw()
    load.wait_for_more()


def lose_both(cluster: Cluster, load: Load) -> None:
    cluster.nats.kill()
    load.wait_for_more()
    cluster.postgres.kill()
    load.wait_for_refusals()
    cluster.postgres.start()
    load.wait_for_more()
    cluster.nats.start()
    load.wait_for_more()


FAULTS = {"kill_and_start": kill_and_start, "freeze_node_3s": freeze_node(3), "freeze_node_10s": freeze_node(10),
          "restart_nats": restart_nats, "freeze_nats": freeze_nats, "restart_postgres": restart_postgres,
          "kill_postgres": kill_postgres, "freeze_postgres": freeze_postgres, "lose_both": lose_both}


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


# NATS is away.


@pytest.mark.parametrize("policy", ["refuse", "serve"])
@pytest.mark.parametrize("fault", ["kill", "freeze"])
def test_without_nats_each_node_serves_its_own_clients(cluster, closing, nats, policy, fault):
    one, other = (cluster.start(cluster={"on_partition": policy}) for _ in range(2))
    fleets = [Fleet(node, closing) for node in (one, other)]
    admins = [fleet.admin() for fleet in fleets]
    dashboard = fleets[1].listen(admins[1], "admin-channel")
    far = closing(Client.connect(other))
    far.subscribe("news")
    nats.kill() if fault == "kill" else nats.freeze()
    wait_for_bus(one, other, is_away=True, seconds=5)

    near = closing(Client.connect(one))
    near.subscribe("news")
    near.subscribe_private("private-chat")
    assert near.join("presence-room", "ann")["count"] == 1
    api = closing(Api(one))
    response = api.post(event_body("news", data="1"))
    if policy == "refuse":
        assert response.status == 503 and "retry-after" in response.headers, response
        near.expect_nothing()
    else:
        assert response.status == 200, response
        near.expect("event", data="1")
    # The log is faster than the bus's return.
    code = unique_id("O")
    admins[0].assign(code, "d1")
    assert json.loads(dashboard.expect("job-assigned")["data"])["bookingId"] == code
    dashboard.expect("order-assigned")
    assert fleets[1].driver("d1").channel_auth(far.socket_id, f"private-tracking-{code}").status == 200

    nats.start() if fault == "kill" else nats.thaw()
    wait_for_bus(one, other, is_away=False)
    cluster.wait_for(2)
    # What was published meanwhile does not come now.
    wait_until(lambda: api.post(event_body("news", data="2")).status == 200, "publishes are accepted")
    assert near.expect("event")["data"] == "2"
    assert far.expect("event")["data"] == "2"
    assert closing(Client.connect(other)).join("presence-room", "bob")["count"] == 2
    near.expect_member_added("presence-room", "bob")
    assert "member_removed" not in str(near.receive_until_pong())


def test_a_publish_gets_its_answer_within_a_second_while_nats_is_frozen(cluster, closing, nats):
    """Also before the node has noticed."""
    one = cluster.start()
    cluster.start()
    api = closing(Api(one))
    api.publish("news")
    nats.freeze()
    api.connection.sock.settimeout(1)
    statuses = [api.post(event_body("news")).status]
    while statuses[-1] == 200:
        statuses.append(api.post(event_body("news")).status)
    assert statuses[-1] == 503
    nats.thaw()


def test_what_is_published_before_the_freeze_is_noticed_comes_in_order_or_not_at_all(cluster, closing, nats):
    one, other = cluster.start(), cluster.start()
    client = closing(Client.connect(other))
    client.subscribe("news")
    api = closing(Api(one))
    nats.freeze()
    number = 0
    while api.post(event_body("news", data=str(number))).status == 200:
        number += 1
    wait_for_bus(other, is_away=True, seconds=5)
    nats.thaw()
    wait_for_bus(one, other, is_away=False)
    wait_until(lambda: api.post(event_body("news", data="after")).status == 200, "publishes are accepted")
    assert client.expect("event")["data"] == "after"


# Presence.


def presence_of(client: Client, channel: str, users: set[str], seconds: float = 15) -> list[dict]:
    """Receives changes of the members until these are there. Returns the changes."""
    found, changes = set(client.members), []
    while found != users:
        message = client.receive()
        user = json.loads(message["data"])["user_id"]
        changes.append(message)
        if message["event"] == "pusher_internal:member_added":
            assert user not in found, f"added twice: {changes}"
            found.add(user)
        else:
            assert message["event"] == "pusher_internal:member_removed" and user in found, f"removed twice: {changes}"
            found.remove(user)
    client.members = found
    return changes


def joined(closing, node, user: str, channel: str = "presence-room") -> Client:
    client = closing(Client.connect(node))
    client.members = set(client.join(channel, user)["ids"])
    return client


@pytest.fixture
def proxied(cluster, closing, nats):
    """Two nodes, and one that reaches NATS through a proxy."""
    proxy = closing(NatsProxy(nats))
    quick = {"heartbeat_seconds": 1}
    one, other = cluster.start(cluster=quick), cluster.start(cluster=quick)
    return one, other, cluster.start(cluster=quick, nats=proxy.url), proxy


def test_the_members_of_a_node_that_is_cut_off_are_withdrawn_and_come_back(proxied, closing, cluster):
    one, other, third, proxy = proxied
    clients = [joined(closing, node, user) for node, user in [(one, "ann"), (other, "bob"), (third, "cal")]]
    everybody = {"ann", "bob", "cal"}
    for client in clients:
        presence_of(client, "presence-room", everybody)
    proxy.cut()
    wait_for_bus(third, is_away=True)
    for client in clients[:2]:
        presence_of(client, "presence-room", {"ann", "bob"})
    # What happens on both sides meanwhile.
    dan, eve = joined(closing, third, "dan"), joined(closing, one, "eve")
    assert dan.members == everybody | {"dan"}
    clients[1].close()
    proxy.mend()
    for client in [clients[0], clients[2], dan, eve]:
        presence_of(client, "presence-room", {"ann", "cal", "dan", "eve"})
        client.expect_nothing()


def test_the_members_of_a_frozen_node_are_withdrawn_and_come_back(cluster, closing):
    one, other = (cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2))
    ann, bob = joined(closing, one, "ann"), joined(closing, other, "bob")
    presence_of(ann, "presence-room", {"ann", "bob"})
    with frozen(other):
        presence_of(ann, "presence-room", {"ann"})
    # It goes on, or closes its clients with 4200.
    cluster.wait_for(2)
    try:
        bob.expect_nothing()
        presence_of(ann, "presence-room", {"ann", "bob"})
    except AssertionError:
        assert bob.expect_close()[0] == 4200
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


def test_no_member_stays_for_ever(cluster, closing, nats):
    """Nodes are killed while NATS is away, and members leave and come."""
    nodes = [cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(3)]
    ann, bob, cal = (joined(closing, node, user) for node, user in zip(nodes, ["ann", "bob", "cal"], strict=True))
    for client in (ann, bob, cal):
        presence_of(client, "presence-room", {"ann", "bob", "cal"})
    nats.kill()
    wait_for_bus(*nodes, is_away=True)
    nodes[2].kill()
    bob.close()
    dan = joined(closing, nodes[1], "dan")
    assert ann.receive_until_pong() == []
    nats.start()
    for client in (ann, dan):
        presence_of(client, "presence-room", {"ann", "dan"})
        client.expect_nothing()
    for api in (closing(Api(node)) for node in nodes[:2]):
        assert sorted(user["id"] for user in api.get_signed("channels/presence-room/users").json()["users"]) == ["ann", "dan"]
