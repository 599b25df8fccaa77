"""The alerts of deploy/prometheus in a Prometheus that scrapes a gateway."""

import sqlite3

import pytest

from harness.fleet import unique_id
from harness.prometheus import Prometheus, firing, shortened
from harness.push import apns
from test_alerts import run_commands

TOKEN = "a-token-of-prometheus"


@pytest.fixture
def watched(start_push_fleet, tmp_path, closing):
    """Starts a fleet and a Prometheus with shortened rules."""
    def start(*names: str) -> tuple:
        fleet = start_push_fleet(metrics={"token": TOKEN})
        return fleet, closing(Prometheus(tmp_path / "prometheus", fleet.gateway, TOKEN,
                                         shortened(*names)))

    return start


def test_commands_and_queries_of_runbooks_run(watched):
    """Those to PostgreSQL run in test_cluster_metrics.py."""
    fleet, prometheus = watched("FleetwireErrorRate")
    code, response = fleet.order(fleet.driver())
    ran = run_commands(fleet, prometheus, response["data"]["notificationIds"][0], code)
    assert ran == {"ops", "fleetwire", "sum", "min", "max", "rate", "histogram_quantile"}


def logs(fleet, event: str) -> bool:
    """Returns whether `journal` of the runbooks finds such lines."""
    return f'"event":"{event}"' in fleet.gateway.log()


def assign(fleet, *statuses: int) -> None:
    """Assigns 20 orders, whose responses must have one of these statuses."""
    for _ in range(20):
        path = f"/api/admin/orders/{unique_id('o')}/assign-driver"
        response = fleet.dispatcher.post(path, {"driverId": "42"})
        assert response.status in statuses, response


@pytest.mark.timeout(480)
def test_store_that_cannot_write_raises_the_error_rate(watched):
    fleet, prometheus = watched("FleetwireErrorRate")
    prometheus.wait_for("fleetwire_requests_total", "the first scrape")
    enough = "sum(increase(fleetwire_requests_total[30s])) >= 100"
    prometheus.wait_for(enough, "100 requests in the scrapes", meanwhile=lambda: assign(fleet, 200))
    assert prometheus.query(firing("FleetwireErrorRate")) == []
    database = sqlite3.connect(fleet.gateway.database_path, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        [found] = prometheus.wait_for(firing("FleetwireErrorRate"), "the alert", 120,
                                      lambda: assign(fleet, 503))
        assert found["metric"]["severity"] == "critical"
        assert logs(fleet, "store_unavailable")
    finally:
        database.execute("ROLLBACK")
        database.close()
    prometheus.wait_for_none(firing("FleetwireErrorRate"), "the alert ends", 120,
                             lambda: assign(fleet, 200, 503))


@pytest.mark.timeout(480)
def test_provider_that_rejects_pushes_raises_an_alert(watched):
    fleet, prometheus = watched("FleetwirePushFailing")
    good, bad = fleet.android(), fleet.ios()
    fleet.warm_up(good, bad)
    accepted = 'sum(increase(fleetwire_push_total{provider="apns",outcome="accepted"}[60s])) > 0'

    def push() -> None:
        for device in (good, bad):
            fleet.announce(device)

    prometheus.wait_for(accepted, "pushes in the scrapes", meanwhile=push)
    assert prometheus.query(firing("FleetwirePushFailing")) == []
    rejections = fleet.apns.script(apns.refusal(400, "TopicDisallowed"), apns.to(bad.token))
    [found] = prometheus.wait_for(firing("FleetwirePushFailing"), "the alert fires", 120, push)
    assert found["metric"]["provider"] == "apns"
    assert logs(fleet, "push_rejected")
    rejections.times = 0
    prometheus.wait_for_none(firing("FleetwirePushFailing"), "the alert ends", 180, push)


@pytest.mark.timeout(480)
def test_provider_that_is_unreachable_raises_an_alert(watched):
    fleet, prometheus = watched("FleetwirePushStuck")
    device = fleet.android()
    fleet.warm_up(device)
    prometheus.wait_for("fleetwire_push_queue_oldest_seconds", "the first scrape")
    assert prometheus.query(firing("FleetwirePushStuck")) == []
    fleet.fcm.stop_listening()
    notification = fleet.announce(device)
    [found] = prometheus.wait_for(firing("FleetwirePushStuck"), "the alert fires")
    assert found["metric"]["provider"] == "fcm" and found["metric"]["severity"] == "critical"
    assert logs(fleet, "push_paused")
    fleet.fcm.listen()
    fleet.wait_for_accepted(notification, seconds=60)
    prometheus.wait_for_none(firing("FleetwirePushStuck"), "the alert ends")
