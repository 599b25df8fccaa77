"""What the clients of a cluster see while its bus is away, for all nodes or for one."""

import json
import time

import pytest

from harness.api import Api, event_body
from harness.client import Client
from harness.cluster import KEYS, count_of_nodes, events, is_degraded, wait_for_bus
from harness.cluster_faults import joined, pause, presence_of
from harness.cluster_fixtures import cluster, database, load, nats, postgres  # noqa: F401
from harness.cluster_messages import text
from harness.fleet import Fleet, unique_id, wait_until
from harness.gateway import check_log, expect_invalid_config, run, write_config
from harness.nats import Nats, NatsProxy
from harness.postgres import PASSWORD


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
    # NATS may still read what the nodes have written to connections that they have closed since.
    received = []
    while (data := client.expect("event")["data"]) != "after":
        received.append(int(data))
    assert received == sorted(set(received))
    assert not client.receive_until_pong()


def test_a_node_starts_while_nats_is_away(cluster, closing, nats):
    nats.kill()
    one = cluster.start()
    assert is_degraded(one)
    client = closing(Client.connect(one))
    client.subscribe("news")
    nats.start()
    wait_for_bus(one, is_away=False)
    closing(Api(cluster.start())).publish("news")
    client.expect("event")


def test_an_orderly_stop_while_everything_is_away(cluster, closing, nats):
    node = cluster.start()
    Fleet(node, closing).admin().assign(unique_id("O"), "d1")
    nats.freeze()
    node.stop()
    nats.thaw()


def test_a_slow_bus_loses_nothing(cluster, closing, nats, load):
    proxy = closing(NatsProxy(nats, delay=0.3))
    for url in (None, proxy.url, proxy.url):
        cluster.start(nats=url)
    for node in cluster.live:
        load.listen(node)
    with load.running():
        load.wait_for_more(200)
    load.check()


# One node is cut off.


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


def test_a_right_on_a_node_that_is_cut_off_is_not_given_away(proxied, closing):
    """A signature of another node is worth what the node of the connection knows: without that, there is none."""
    one, _, third, proxy = proxied
    fleet, admin = Fleet(one, closing), Fleet(one, closing).admin()
    driver, code = fleet.driver("d1"), unique_id("O")
    admin.assign(code, "d1")
    client = closing(Client.connect(third))
    proxy.cut()
    wait_for_bus(third, is_away=True)
    channel = f"private-tracking-{code}"
    statuses = [driver.channel_auth(client.socket_id, channel).status]
    wait_until(lambda: count_of_nodes(one) == 2, "the others have given it up")
    answer = driver.channel_auth(client.socket_id, channel)
    statuses.append(answer.status)
    if answer.status == 200:
        client.subscribe(channel, **answer.json())
        admin.order(code, "assign-driver", driverId="d2")
        last = unique_id("O")
        admin.assign(last, "d3")
        # More than the two seconds after which each node looks at the log.
        pause(3)
        told = client.receive_until_pong()
        assert "has ended" in str(told), f"answers {statuses}; the driver who has lost the job stays subscribed: {told}"
    assert statuses == [503, 503]


# Configuration.


def test_check_config_names_the_bus_that_is_away(tmp_path, database, nats, closing):
    proxy = closing(NatsProxy(nats))
    config = write_config(tmp_path / "c.yaml", store={"url": database.url, "encryption_keys": KEYS},
                          cluster={"nats": [proxy.url], "user": "fleet", "password": PASSWORD})
    done = run("check-config", "--connect", "--config", config)
    assert done.returncode == 0 and "cluster.nats" in done.stdout, done
    nats.kill()
    for _ in range(2):
        away = run("check-config", "--connect", "--config", config)
        assert away.returncode == 1 and "cluster.nats" in away.stderr, away
        proxy.cut()
    for output in (done, away):
        assert PASSWORD not in output.stdout + output.stderr
    assert run("check-config", "--config", config).returncode == 0


def test_passwords_of_the_bus_are_in_no_output(tmp_path, start_gateway, database):
    """A server that demands a user, and gets a wrong password; and a password where it must not be."""
    store = {"url": database.url, "encryption_keys": KEYS}
    with Nats("--user", "fleet", "--pass", "right-horse") as server:
        section = {"nats": [server.url], "user": "fleet", "password": PASSWORD}
        node = start_gateway(sections={"store": store, "cluster": section})
        wait_until(lambda: "nats_unavailable" in events(node), "the log says so")
        checked = run("check-config", "--connect", "--config", node.config)
        assert checked.returncode == 1 and "cluster.nats" in checked.stderr, checked
        node.stop()
        url = server.url.replace("nats://", f"nats://fleet:{PASSWORD}@")
        config = write_config(tmp_path / "c.yaml", store=store, cluster={"nats": [url]})
        rejected = run("check-config", "--config", config)
        assert rejected.returncode == 78 and "cluster.nats" in rejected.stderr, rejected
        for text in (node.log(), checked.stdout, checked.stderr, rejected.stdout, rejected.stderr):
            assert PASSWORD not in text


def test_a_user_without_rights_is_not_tried_again_and_again(tmp_path, start_gateway, database):
    """The server admits the user, and ends each connection at the first subject."""
    (tmp_path / "nats.conf").write_text(
        'authorization { users: [{user: a, password: b, permissions: {publish: "x", subscribe: "x"}}] }\n'
        'debug: true\n')
    with Nats("--config", str(tmp_path / "nats.conf")) as server:
        section = {"nats": [server.url], "user": "a", "password": "b"}
        begin = time.monotonic()
        node = start_gateway(sections={"store": {"url": database.url, "encryption_keys": KEYS}, "cluster": section})
        log = server.directory / "server.log"
        wait_until(lambda: log.read_text().count("Client connection created") >= 6, "the node has tried six times")
        # Between the first and the sixth attempt are at least half of 100, 200, 400, 800 and 1,600 ms.
        assert time.monotonic() - begin > 1
        reasons = [entry["reason"] for entry in check_log(node.log()) if entry["event"] == "nats_unavailable"]
        assert reasons and len(reasons) == len(set(reasons)), "one line for each reason"
        assert any("permissions violation" in reason.lower() for reason in reasons), reasons
        assert events(node).count("nats_connected") == 1


@pytest.mark.parametrize("cluster_section, store, words", [
    ({"nats": ["nats://h"]}, {}, ["store.url"]),
    ({"nats": ["nats://h"]}, {"path": "a.db"}, ["store.url"]),
    ({"nats": ["http://h"]}, {"url": "postgresql://h", "encryption_keys": KEYS}, ["cluster.nats"]),
    ({"nats": ["nats://h"], "name": "a.b"}, {"url": "postgresql://h", "encryption_keys": KEYS}, ["cluster.name"]),
    ({"nats": ["nats://h"], "node": "x" * 65}, {"url": "postgresql://h", "encryption_keys": KEYS}, ["cluster.node"]),
    ({"nats": ["nats://h"], "heartbeat_seconds": 0}, {"url": "postgresql://h", "encryption_keys": KEYS}, ["heartbeat_seconds"]),
    ({"nats": ["nats://h"], "on_partition": "x"}, {"url": "postgresql://h", "encryption_keys": KEYS}, ["on_partition"]),
])
def test_invalid_configurations(tmp_path, cluster_section, store, words):
    config = write_config(tmp_path / "c.yaml", cluster=cluster_section, **({"store": store} if store else {}))
    expect_invalid_config("check-config", config, *words)
    assert run("serve", "--config", config).returncode == 78
