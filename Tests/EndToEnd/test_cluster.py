"""Several nodes on one database and one bus: what a client or a backend sees does not depend on its node."""

import json
import re
import signal

import pytest

from harness.api import Api, event_body
from harness.client import Client
from harness.cluster import KEYS
from harness.cluster_fixtures import cluster, database, nats, postgres  # noqa: F401
from harness.documents import ROOT, Page
from harness.fleet import Fleet, unique_id
from harness.gateway import check_log, run, write_config
from harness.nats import NatsProxy
from harness.webhook_receiver import WebhookReceiver, webhook


@pytest.fixture
def two(cluster):
    return cluster.start(), cluster.start()


def events(gateway) -> list[str]:
    return [entry["event"] for entry in check_log(gateway.log())]


def received(client: Client, name: str, codes: list[str]) -> list[str]:
    """Returns the orders of the events with this name, until one with the last of the codes has come."""
    found = []
    while not found or found[-1] != codes[-1]:
        event = client.receive()
        if event["event"] == name:
            found.append(json.loads(event["data"])["bookingId"])
    return found


# Events.


def test_an_event_reaches_the_subscribers_of_all_nodes_once(two, closing):
    clients = [closing(Client.connect(node)) for node in two for _ in range(2)]
    for client in clients:
        client.subscribe("news")
    apis = [closing(Api(node)) for node in two]
    for number in range(20):
        apis[number % 2].publish("news", data=json.dumps({"number": number}))
        for client in clients:
            assert json.loads(client.expect("event")["data"]) == {"number": number}
    for client in clients:
        client.expect_nothing()


def test_the_excluded_connection_may_be_on_another_node(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    for client in (one, other):
        client.subscribe("news")
    closing(Api(two[0])).publish("news", socket_id=other.socket_id)
    one.expect("event")
    closing(Api(two[0])).publish("news", name="second")
    other.expect("second")


def test_events_of_one_node_keep_their_order_on_all_channels(two, closing):
    client = closing(Client.connect(two[1]))
    channels = [f"channel-{number}" for number in range(10)]
    for channel in channels:
        client.subscribe(channel)
    api = closing(Api(two[0]))
    for number in range(300):
        api.publish(channels[number % 10], data=str(number))
    assert [int(client.expect("event")["data"]) for _ in range(300)] == list(range(300))


def test_nothing_published_after_the_success_is_missed_on_a_slow_bus(cluster, closing, nats):
    proxy = closing(NatsProxy(nats, delay=0.04))
    publisher, subscriber = cluster.start(), cluster.start(nats=proxy.url)
    api, client = closing(Api(publisher)), closing(Client.connect(subscriber))
    for number in range(20):
        client.subscribe(f"channel-{number}")
        api.publish(f"channel-{number}", data=str(number))
        assert client.expect("event")["data"] == str(number)


def test_many_subscriptions_that_wait_for_the_bus_go_on_together(cluster, closing, nats):
    proxy = closing(NatsProxy(nats, delay=0.3))
    client = closing(Client.connect(cluster.start(nats=proxy.url)))
    channels = [f"news-{number}" for number in range(4_000)]
    for channel in channels:
        client.send_subscribe(channel)
    succeeded = [client.receive() for _ in channels]
    assert {each["event"] for each in succeeded} == {"pusher_internal:subscription_succeeded"}
    assert {each["channel"] for each in succeeded} == set(channels)


def test_client_events_reach_other_nodes(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    for client in (one, other):
        client.subscribe_private("private-chat")
    one.send("client-typing", {"a": 1}, channel="private-chat")
    assert json.loads(other.expect("client-typing")["data"]) == {"a": 1}
    one.expect_nothing()


def test_terminate_closes_connections_of_all_nodes(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    for client in (one, other):
        client.sign_in("ann")
    assert closing(Api(two[0])).post_signed("users/ann/terminate_connections", b"{}").status == 200
    for client in (one, other):
        assert client.expect_close()[0] == 4009


# Presence.


def test_members_of_all_nodes_are_one_list(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    assert one.join("presence-room", "ann", {"name": "Ann"})["count"] == 1
    seen = other.join("presence-room", "bob")
    assert seen["count"] == 2 and seen["hash"]["ann"] == {"name": "Ann"}
    one.expect_member_added("presence-room", "bob")
    # A user on two nodes is one member.
    third = closing(Client.connect(two[1]))
    third.join("presence-room", "ann")
    one.unsubscribe("presence-room")
    other.expect_nothing()
    third.unsubscribe("presence-room")
    other.expect_member_removed("presence-room", "ann")


def test_members_of_a_killed_node_are_withdrawn(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2))
    one, other = closing(Client.connect(first)), closing(Client.connect(second))
    one.join("presence-room", "ann")
    other.join("presence-room", "bob")
    one.expect_member_added("presence-room", "bob")
    second.kill()
    one.expect_member_removed("presence-room", "bob")
    assert "node_lost" in events(first)


def test_members_of_a_node_that_ends_are_withdrawn_at_once(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    one.join("presence-room", "ann")
    other.join("presence-room", "bob")
    one.expect_member_added("presence-room", "bob")
    two[1].stop()
    one.expect_member_removed("presence-room", "bob")


# The fleet.


def test_an_action_reaches_drivers_and_dispatchers_of_all_nodes(two, closing):
    fleets = [Fleet(node, closing) for node in two]
    admins = [fleet.admin() for fleet in fleets]
    dashboards = [fleet.listen(admin, "admin-channel") for fleet, admin in zip(fleets, admins, strict=True)]
    driver = fleets[1].listen(fleets[1].driver("d1"), "driver-d1")
    codes = [unique_id("O") for _ in range(10)]
    for number, code in enumerate(codes):
        admins[number % 2].assign(code, "d1")
        assert json.loads(driver.expect("job-assigned")["data"])["bookingId"] == code
    for dashboard in dashboards:
        assert received(dashboard, "order-assigned", codes) == codes


def test_what_one_node_has_answered_every_node_shows(two, closing):
    admins = [Fleet(node, closing).admin() for node in two]
    for number in range(20):
        code = unique_id("O")
        admins[number % 2].assign(code, "d1")
        assert admins[1 - number % 2].get_order(code)["driverId"] == "d1"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_others_go_on_without_a_node(cluster, closing, end):
    first, second = cluster.start(), cluster.start()
    fleet = Fleet(second, closing)
    admin, driver = fleet.admin(), fleet.listen(fleet.driver("d1"), "driver-d1")
    Fleet(first, closing).admin().assign(unique_id("O"), "d1")
    driver.expect("job-assigned")
    if end == signal.SIGTERM:
        first.stop()
    else:
        first.kill()
    admin.assign(unique_id("O"), "d1")
    driver.expect("job-assigned")


# Configuration.


def test_a_gateway_without_nats_is_refused_beside_nodes(two, start_gateway, database):
    config = write_config(two[0].config.parent / "alone.yaml", server={"port": 0},
                          store={"url": database.url, "encryption_keys": KEYS})
    done = run("serve", "--config", config)
    assert done.returncode == 1 and "in use by another process" in done.stderr, done


# Questions to all nodes.


def test_sums_of_channels_are_those_of_all_nodes(two, closing):
    one, other = (closing(Client.connect(node)) for node in two)
    one.subscribe("news")
    other.subscribe("news")
    other.subscribe("sports")
    one.join("presence-room", "ann")
    other.join("presence-room", "ann")
    third = closing(Client.connect(two[1]))
    third.join("presence-room", "bob")
    for api in (closing(Api(node)) for node in two):
        assert api.get_signed("channels").json() == {"channels": {"news": {}, "presence-room": {}, "sports": {}}}
        listed = api.get_signed("channels", filter_by_prefix="presence-", info="user_count").json()
        assert listed == {"channels": {"presence-room": {"user_count": 2}}}
        assert api.get_signed("channels/news", info="subscription_count").json() == {
            "occupied": True, "subscription_count": 2}
        assert api.get_signed("channels/nobody").json() == {"occupied": False}
        users = api.get_signed("channels/presence-room/users").json()["users"]
        assert sorted(user["id"] for user in users) == ["ann", "bob"]
        response = api.post(event_body("news", info="subscription_count"))
        assert response.json() == {"channels": {"news": {"subscription_count": 2}}}


def test_rights_end_on_the_node_of_the_connection(two, closing):
    """The signature comes from one node, the connection is on another, and the job is lost on the first."""
    fleets = [Fleet(node, closing) for node in two]
    admin, driver = fleets[0].admin(), fleets[0].driver("d1")
    code = unique_id("O")
    admin.assign(code, "d1")
    client = closing(Client.connect(two[1]))
    channel = f"private-tracking-{code}"
    auth = driver.channel_auth(client.socket_id, channel).json()["auth"]
    client.subscribe(channel, auth=auth)
    admin.order(code, "assign-driver", driverId="d2")
    while (message := client.receive())["event"] != "pusher:error":
        pass
    assert "has ended" in message["data"]["message"]
    assert driver.channel_auth(client.socket_id, channel).status == 403


def test_a_driver_may_subscribe_as_soon_as_the_action_is_answered(two, closing):
    fleets = [Fleet(node, closing) for node in two]
    admin, driver = fleets[0].admin(), fleets[1].driver("d1")
    client = closing(Client.connect(two[1]))
    for _ in range(20):
        code = unique_id("O")
        admin.assign(code, "d1")
        assert driver.channel_auth(client.socket_id, f"private-tracking-{code}").status == 200


# Webhooks: the edges of all nodes as a whole.


@pytest.fixture
def told(cluster, closing, request):
    """Two nodes whose webhooks go to one receiver, and what that gets. The parameter is the heartbeat's seconds."""
    receiver = closing(WebhookReceiver())
    settings = {"first": {"webhooks": [webhook(receiver.url + "/hook")]},
                "cluster": {"heartbeat_seconds": getattr(request, "param", 2)}}
    return cluster.start(**settings), cluster.start(**settings), Told(receiver)


class Told:
    def __init__(self, receiver: WebhookReceiver):
        self.receiver = receiver
        self.edges: list[tuple[str, str]] = []

    def receive(self, *wanted: tuple[str, str]) -> None:
        """Receives until all these edges have come."""
        while missing := set(wanted) - set(self.edges):
            try:
                events = self.receiver.post("/hook").events
            except AssertionError as error:
                raise AssertionError(f"{error}; missing: {sorted(missing)}; told: {self.edges}") from None
            self.edges += [(event["name"], event["channel"]) for event in events
                           if event["name"] != "subscription_count"]


def test_edges_are_told_once_for_all_nodes(told, closing):
    *nodes, told = told
    one, other = (closing(Client.connect(node)) for node in nodes)
    for client in (one, other):
        client.subscribe("news")
    one.join("presence-room", "ann")
    other.join("presence-room", "ann")
    other.join("presence-other", "bob")
    came = [("channel_occupied", "news"), ("channel_occupied", "presence-room"), ("channel_occupied", "presence-other"),
            ("member_added", "presence-room"), ("member_added", "presence-other")]
    told.receive(*came)
    one.unsubscribe("news")
    one.unsubscribe("presence-room")
    other.unsubscribe("presence-other")
    went = [("member_removed", "presence-other"), ("channel_vacated", "presence-other")]
    told.receive(*went)
    assert sorted(told.edges) == sorted(came + went)


def test_counts_are_those_of_all_nodes(cluster, closing):
    nodes = [cluster.start(first={"subscription_counts": True}) for _ in range(2)]
    one, other = (closing(Client.connect(node)) for node in nodes)
    one.subscribe("news")
    one.expect_count("news", 1)
    other.subscribe("news")
    one.expect_count("news", 2)
    other.expect_count("news", 2)
    other.unsubscribe("news")
    one.expect_count("news", 1)


@pytest.mark.parametrize("told", [1], indirect=True)
@pytest.mark.parametrize("killed", [0, 1])
def test_the_edges_of_a_killed_node_are_told(told, closing, killed):
    """Of several channels, because each of the two nodes keeps some."""
    *nodes, told = told
    client = closing(Client.connect(nodes[killed]))
    channels = [f"channel-{number}" for number in range(8)]
    for channel in channels:
        client.subscribe(channel)
    told.receive(*[("channel_occupied", channel) for channel in channels])
    nodes[killed].kill()
    told.receive(*[("channel_vacated", channel) for channel in channels])


# Cached events.


def test_a_subscriber_on_any_node_gets_the_last_event(cluster, closing):
    nodes = [cluster.start() for _ in range(3)]
    apis = [closing(Api(node)) for node in nodes]
    for number in range(9):
        channel = f"cache-{number % 3}"
        apis[number % 2].publish(channel, data=str(number))
        client = closing(Client.connect(nodes[(number + 1) % 3]))
        client.subscribe(channel)
        # The bus may be late: the event before it is then the last one, and it comes as any other.
        while client.expect("event")["data"] != str(number):
            assert number >= 3, "an event that was never published"
    for api in apis:
        assert api.get_signed("channels/cache-1", info="cache").json()["cache"]["data"] == "7"


def test_the_last_event_survives_a_node_whichever_it_is(cluster, closing):
    nodes = [cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(3)]
    for number in range(12):
        closing(Api(nodes[0])).publish(f"cache-{number}", data=str(number))
    cluster.start(cluster={"heartbeat_seconds": 1})
    nodes[1].kill()
    cluster.wait_for(3)
    nodes[0].kill()
    cluster.wait_for(2)
    client = closing(Client.connect(nodes[2]))
    for number in range(12):
        client.subscribe(f"cache-{number}")
        assert client.expect("event")["data"] == str(number)


def test_a_channel_without_events_says_so(two, closing):
    client = closing(Client.connect(two[0]))
    client.subscribe("cache-empty")
    client.expect("pusher:cache_miss")


# A node that was frozen.


def test_a_node_that_was_frozen_for_long_begins_anew(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2))
    frozen, other = closing(Client.connect(second)), closing(Client.connect(first))
    frozen.join("presence-room", "ann")
    other.join("presence-room", "bob")
    frozen.expect_member_added("presence-room", "bob")
    second.freeze()
    other.expect_member_removed("presence-room", "ann")
    closing(Api(first)).publish("presence-room", name="late")
    other.expect("late")
    second.thaw()
    # Nothing of what lay in its buffers.
    assert frozen.expect_close()[0] == 4200
    cluster.wait_for(2)
    again = closing(Client.connect(second))
    assert sorted(again.join("presence-room", "ann")["ids"]) == ["ann", "bob"]
    other.expect_member_added("presence-room", "ann")
    closing(Api(first)).publish("presence-room", name="new")
    again.expect("new")


def test_a_node_that_was_frozen_for_short_goes_on(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 2}) for _ in range(2))
    frozen, other = closing(Client.connect(second)), closing(Client.connect(first))
    frozen.join("presence-room", "ann")
    other.join("presence-room", "bob")
    frozen.expect_member_added("presence-room", "bob")
    second.freeze()
    closing(Api(first)).publish("presence-room", name="late")
    other.expect("late")
    second.thaw()
    frozen.expect("late")
    other.expect_nothing()


def test_figures_of_all_nodes(two, closing):
    clients = [closing(Client.connect(node)) for node in two for _ in range(2)]
    for client in clients:
        client.subscribe("news")
    for node in two:
        ops = Fleet(node, closing).ops()
        own = ops.request("GET", "/api/ops/stats").json()
        sums = ops.request("GET", "/api/ops/stats?cluster=true").json()
        assert (own["connections"], sums["connections"]) == (2, 4)
        assert (own["subscriptions"], sums["subscriptions"]) == (2, 4)
        assert sums.keys() == own.keys() and len(sums["loops"]) == 2 * len(own["loops"])
        assert [app["id"] for app in sums["apps"]] == [app["id"] for app in own["apps"]]


# The documentation.


def test_the_configuration_of_the_page_starts_nodes(database, nats, tmp_path):
    """The block of docs/cluster.md, with the URLs of the test's servers."""
    [block] = [block for block in Page.read(ROOT / "docs/cluster.md").blocks() if block.language == "yaml"]
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name, text in [("store_url", database.url), ("store_key", KEYS[0]["key"]), ("nats_password", "secret")]:
        (secrets / name).write_text(text)
    (tmp_path / "ca.pem").write_text("")  # the test's server has no TLS
    text = re.sub(r"nats: \[.*\]", f'nats: ["{nats.url}"]', block.text)
    config = tmp_path / "fleetwire.yaml"
    config.write_text(text + "apps: [{id: '1001', key: key1, secret: secret1}]\n")
    done = run("check-config", "--connect", "--config", config)
    assert done.returncode == 0 and f"cluster.nats: connected to {nats.url}" in done.stdout, done
