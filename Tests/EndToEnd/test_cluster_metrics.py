"""What operators see of a cluster: metrics, boards, alerts and runbooks, in a Prometheus that scrapes all nodes."""

import contextlib
import subprocess
from collections.abc import Callable

import pytest

from harness.api import Api, event_body
from harness.client import Client
from harness.cluster import Cluster, frozen, wait_for_bus
from harness.cluster_fixtures import database, nats, postgres  # noqa: F401
from harness.cluster_messages import EVENT
from harness.fleet import report, unique_id, wait_until
from harness.metrics import scrape
from harness.nats import NatsFilter, NatsProxy
from harness.prometheus import Prometheus, firing, shortened
from harness.push.push_fleet import PushFleet
from test_alerts import alerts, run_commands
from test_boards import BOARDS, RULES, Work, expect_shown

QUICK = {"heartbeat_seconds": 1}


@pytest.fixture
def cluster(start_gateway, database, nats, providers):
    """Nodes that push to the fakes."""
    sections = providers.sections()
    sections.pop("store")
    return Cluster(start_gateway, database, nats, sections=sections, first={"client_events": True})


@pytest.fixture
def watch(cluster, tmp_path, closing):
    """Starts a Prometheus with shortened rules that scrapes all nodes."""
    def start(*names: str) -> Prometheus:
        found = closing(Prometheus(tmp_path / "prometheus", cluster.live, None, shortened(*names)))
        found.wait_for(f"count(fleetwire_cluster_nodes) == {len(cluster.live)}", "a scrape of all nodes")
        return found

    return start


def expect_none_firing(prometheus: Prometheus) -> None:
    assert prometheus.query('ALERTS{alertstate="firing"}') == []


def instance(node) -> str:
    return f"{node.host}:{node.port}"


@contextlib.contextmanager
def locked(cluster: Cluster):
    """Locks the row that each writing transaction needs."""
    with subprocess.Popen([cluster.postgres.bin / "psql", "--quiet", cluster.postgres.url], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as session:
        session.stdin.write("BEGIN; SELECT position FROM cluster_head FOR UPDATE;\n")
        session.stdin.flush()
        assert session.stdout.readline()
        yield
        session.stdin.close()


def lose(proxy: NatsFilter, api: Api, channels: list[str]) -> None:
    """An event of each channel is lost between the nodes; the next one shows it."""
    proxy.drops = lambda subject, payload: payload[1] == EVENT
    before = proxy.dropped
    for channel in channels:
        api.publish(channel)
    wait_until(lambda: proxy.dropped == before + len(channels), "the events are lost")
    proxy.drops = lambda subject, payload: False
    for channel in channels:
        api.publish(channel)


class Traffic:
    """What only the nodes of a cluster do, and what goes wrong between them."""

    def __init__(self, cluster: Cluster, proxy: NatsFilter, closing: Callable):
        self.cluster, self.proxy, self.closing = cluster, proxy, closing

    def everything(self) -> None:
        self.meet()
        self.lose_an_event()
        self.lose_nats()

    def meet(self) -> None:
        """The first subscriber at each node asks the other for the members."""
        channel = unique_id("presence-")
        for node in self.cluster.live:
            self.closing(Client.connect(node)).join(channel, unique_id("u"))

    def lose_an_event(self) -> None:
        one, other = self.cluster.live
        client, api, channel = self.closing(Client.connect(one)), self.closing(Api(other)), unique_id("news")
        client.subscribe(channel)
        api.publish(channel)
        client.expect("event")
        lose(self.proxy, api, [channel])
        client.expect("event")

    def lose_nats(self) -> None:
        self.cluster.nats.kill()
        wait_for_bus(*self.cluster.live, is_away=True)
        assert self.closing(Api(self.cluster.live[0])).post(event_body("news")).status == 503
        self.cluster.nats.start()
        wait_for_bus(*self.cluster.live, is_away=False)
        self.cluster.wait_for(2)


@pytest.fixture
def lossy(cluster, closing, nats):
    """Two nodes, and what loses messages of the second."""
    proxy = closing(NatsFilter(nats))
    return cluster.start(cluster=QUICK), cluster.start(cluster=QUICK, nats=proxy.url), proxy


# Boards.


@pytest.mark.timeout(300)
def test_every_panel_shows_something(lossy, cluster, closing, providers, tmp_path):
    """Of all boards. What goes through one node is shown beside what goes through the other."""
    one, other, proxy = lossy
    fleets = [PushFleet(node, closing, providers) for node in (one, other)]
    works = [Work(fleet, closing, lambda: locked(cluster)) for fleet in fleets]
    for fleet in fleets:
        # A connection without a request within ten seconds is closed, and the first work takes longer.
        fleet.metrics()
    traffic = Traffic(cluster, proxy, closing)
    fleets[0].listen(fleets[0].dispatcher, "admin-channel")

    def work() -> None:
        for each in works:
            each.everything()
            each.publish()
        traffic.everything()

    work()
    prometheus = closing(Prometheus(tmp_path / "prometheus", [one, other], None, RULES))
    prometheus.wait_for("count(fleetwire_connected) >= 2", "the first scrape")
    work()
    phone = fleets[0].android()
    providers.fcm.stop_listening()
    waiting = fleets[1].announce(phone)
    # Of an SQLite file.
    expect_shown(prometheus, BOARDS, "store_file_bytes", "store_wal_bytes")
    # Both nodes have a share.
    assert len(prometheus.query("sum by (instance) (increase(fleetwire_requests_total[5m])) > 0")) == 2
    # What both read from the common store counts once.
    depth = "(fleetwire_push_queue_depth{provider=\"fcm\"}) == 1"
    assert len(prometheus.query(depth)) == 2 and len(prometheus.query(f"max {depth}")) == 1
    providers.fcm.listen()
    fleets[0].wait_for_accepted(waiting, seconds=60)


def test_an_offer_that_is_viewed_at_one_node_and_accepted_at_another_is_prompt(cluster, closing, providers):
    fleets = [PushFleet(cluster.start(), closing, providers) for _ in range(2)]
    drivers = [fleet.driver("d1") for fleet in fleets]
    code, response = fleets[0].order(drivers[0])
    report(drivers[0], response["data"]["notificationIds"][0], "action_view_now")
    drivers[1].accept(code)

    def prompt() -> float:
        return sum(fleet.metric("accept_within_total", within="5s") for fleet in fleets)

    wait_until(lambda: prompt() > 0, "the prompt accept is counted", 5)
    assert prompt() == 1


# Alerts.


@pytest.mark.timeout(300)
def test_a_cluster_that_works_raises_no_alert(cluster, closing, providers, watch):
    """Nor does the node that does not lead; a push that waits raises one, although both nodes see it."""
    nodes = [cluster.start(cluster=QUICK) for _ in range(2)]
    prometheus = watch(*alerts())
    fleets = [PushFleet(node, closing, providers) for node in nodes]
    drivers = [fleet.driver() for fleet in fleets]
    devices = [fleet.ios(driver) for fleet, driver in zip(fleets, drivers, strict=True)]
    codes: list[str] = []

    def work() -> None:
        for number, (fleet, driver) in enumerate(zip(fleets, drivers, strict=True)):
            for device in devices:
                fleets[1 - number].announce(device)
            codes.append(fleet.order(driver)[0])
            drivers[number].accept(codes[-1])
            drivers[number].progress(codes[-1], "en_route")

    pushed = "sum(increase(fleetwire_push_total[60s])) > 20"
    prometheus.wait_for(pushed, "pushes in the scrapes", meanwhile=work)
    expect_none_firing(prometheus)
    [leading] = prometheus.query("sum by (instance) (fleetwire_push_total) > 0")
    assert leading["metric"]["instance"] in map(instance, nodes)
    providers.apns.stop_listening()
    waiting = fleets[0].announce(devices[0])
    prometheus.wait_for(firing("FleetwirePushStuck"), "the push is stuck")
    [found] = prometheus.query('ALERTS{alertstate="firing"}')
    assert (found["metric"]["alertname"], found["metric"]["provider"]) == ("FleetwirePushStuck", "apns")
    providers.apns.listen()
    fleets[1].wait_for_accepted(waiting, seconds=60)
    prometheus.wait_for_none(firing("FleetwirePushStuck"), "the alert ends")


@pytest.mark.timeout(300)
def test_a_node_that_stands_still_is_missing(cluster, watch):
    one, other = cluster.start(cluster=QUICK), cluster.start(cluster=QUICK)
    prometheus = watch("FleetwireNodeMissing", "FleetwireNodesDisagree")
    expect_none_firing(prometheus)
    with frozen(other):
        [found] = prometheus.wait_for(firing("FleetwireNodeMissing"), "the alert")
        assert found["metric"]["severity"] == "critical"
        assert '"event":"node_lost"' in one.log()
        with frozen(one):
            prometheus.wait_for("absent(fleetwire_cluster_nodes)", "no node responds")
            # A gap would end it.
            assert prometheus.query(firing("FleetwireNodeMissing"))
            prometheus.wait_for('count_over_time(ALERTS{alertname="FleetwireNodeMissing",alertstate="firing"}[10s]) >= 9',
                                "it goes on")
    prometheus.wait_for_none(firing("FleetwireNodeMissing"), "the alert ends")
    assert '"event":"node_was_away"' in other.log()


@pytest.mark.timeout(480)
def test_a_node_without_nats_raises_alerts(cluster, closing, nats, watch):
    proxy = closing(NatsProxy(nats))
    one, other = cluster.start(cluster=QUICK), cluster.start(cluster=QUICK, nats=proxy.url)
    names = ["FleetwireNodesDisagree", "FleetwireNatsAway", "FleetwirePublishesRefused", "FleetwireNatsReconnects",
             "FleetwireNodeMissing"]
    prometheus = watch(*names)
    prometheus.wait_for('fleetwire_cluster_messages_total{direction="in"} > 3', "heartbeats in the scrapes")
    expect_none_firing(prometheus)
    api = closing(Api(other))
    proxy.cut()
    wait_for_bus(other, is_away=True)

    def publish() -> None:
        assert api.post(event_body("news")).status == 503

    for name in names[:3]:
        [found] = prometheus.wait_for(firing(name), name, 120, publish)
        assert found["metric"].get("instance", instance(other)) == instance(other), "the alert names the node"
    assert '"event":"nats_unavailable"' in other.log() and '"event":"node_lost"' in one.log()
    proxy.mend()
    wait_for_bus(other, is_away=False)
    for name in names[:3]:
        prometheus.wait_for_none(firing(name), f"{name} ends", 120)
    expect_none_firing(prometheus)
    for _ in range(4):
        proxy.cut()
        wait_for_bus(other, is_away=True)
        proxy.mend()
        wait_for_bus(other, is_away=False)
    [found] = prometheus.wait_for(firing("FleetwireNatsReconnects"), "the alert")
    assert found["metric"]["instance"] == instance(other)


@pytest.mark.timeout(300)
def test_losses_raise_an_alert(lossy, closing, watch):
    one, other, proxy = lossy
    prometheus = watch("FleetwireClusterGaps")
    client, api = closing(Client.connect(one)), closing(Api(other))
    channels = [unique_id("news") for _ in range(25)]
    for channel in channels:
        client.subscribe(channel)
        api.publish(channel)
        client.expect("event")
    assert scrape(closing(Api(one))).total("fleetwire_cluster_gaps_total") == 0
    expect_none_firing(prometheus)
    lose(proxy, api, channels)
    prometheus.wait_for(firing("FleetwireClusterGaps"), "the alert")
    assert '"event":"cluster_gap"' in one.log()


@pytest.mark.timeout(300)
def test_late_members_raise_an_alert(cluster, closing, nats, watch):
    slow = closing(NatsProxy(nats, delay=0.35))
    one, other = cluster.start(), cluster.start(nats=slow.url)
    prometheus = watch("FleetwireClusterSyncSlow")
    client = closing(Client.connect(one))
    expect_none_firing(prometheus)

    def join() -> None:
        channel = unique_id("presence-")
        client.join(channel, "ann")

    prometheus.wait_for(firing("FleetwireClusterSyncSlow"), "the alert", 120, join)
    other.assert_alive()


# Runbooks.


def test_commands_of_the_runbooks_run(cluster, closing, providers, watch):
    fleet = PushFleet(cluster.start(), closing, providers)
    cluster.start()
    code, response = fleet.order(fleet.driver())
    ran = run_commands(fleet, watch("FleetwireErrorRate"), response["data"]["notificationIds"][0], code,
                       cluster.postgres.query)
    assert ran == {"ops", "fleetwire", "database", "sum", "min", "max", "rate", "histogram_quantile"}
