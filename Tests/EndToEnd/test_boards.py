"""The Grafana boards: every query has a result while a gateway works."""

import contextlib
import json
import re
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from harness.api import Api
from harness.client import Client
from harness.deployed import DEPLOY
from harness.fleet import report, unique_id
from harness.prometheus import Prometheus, names_in
from harness.push import fcm
from harness.trips import Trip, position
from test_metrics_list import documented

FOLDER = DEPLOY / "grafana"
OF_A_GATEWAY = ["operations", "notifications", "jobs"]
BOARDS = [*OF_A_GATEWAY, "cluster"]
# Boards on which a variable selects gateways.
WITH_INSTANCES = ["operations"]
# Grafana's own panels; rows have no query.
KINDS = {"timeseries", "stat", "bargauge", "table"}
TOKEN = "a-token-of-prometheus"
# What is zero in a gateway that keeps up.
IDLE = {"store_queue_depth", "mailbox_depth", "slow_consumer_total", "accept_paused_total",
        "publish_refused_total", "client_events_limited_total", "store_pool_waiting"}
# An alert that fires at once.
RULES = """
groups:
  - name: test
    rules:
      - {alert: FleetwireTest, expr: vector(1)}
"""


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def queries(name: str) -> list[tuple[dict, str, str]]:
    """Returns the panel, the expression and the legend of each query."""
    return [(panel, target["expr"], target["legendFormat"]) for panel in load(name)["panels"]
            if panel["type"] != "row" for target in panel["targets"]]


def shown(expression: str) -> str:
    """Returns what Grafana asks for, without the zero that stands for a series which does not exist.
    """
    return (expression.replace("$__rate_interval", "5m").replace("$instance", ".*")
            .replace(" or vector(0)", ""))


def expect_shown(prometheus: Prometheus, boards: list[str], *without: str) -> None:
    """Each query of the boards has a result above zero, except those of these families."""
    for name in boards:
        for panel, expression, _ in queries(name):
            if names_in(expression) & set(without):
                continue
            above = ">=" if names_in(expression) <= IDLE else ">"
            found = prometheus.wait_for(f"({shown(expression)}) {above} 0",
                                        f"{name}, {panel['title']}: {expression}")
            for series in found:
                assert series["metric"].keys() == set(labels(expression)), (expression, series)


def labels(expression: str) -> list[str]:
    """Returns the labels by which an expression sums up."""
    [found] = {tuple(label for label in group.split(", ") if label != "le")
               for group in re.findall(r"by \(([^)]*)\)", expression)} or {()}
    return list(found)


# The files


def test_boards_are_those_of_the_script(tmp_path):
    subprocess.run([FOLDER / "make", tmp_path], check=True)
    for name in BOARDS:
        assert (tmp_path / f"{name}.json").read_text() == (FOLDER / f"{name}.json").read_text()
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(BOARDS)


@pytest.mark.parametrize("name", BOARDS)
def test_board_has_only_what_grafana_brings(name):
    board = load(name)
    assert [each["name"] for each in board["templating"]["list"]] == [
        "datasource", *(["instance"] if name in WITH_INSTANCES else [])]
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    assert {panel["type"] for panel in panels} <= KINDS and len(panels) > 10
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    for panel in panels:
        assert panel["datasource"]["uid"] == "${datasource}" and panel["targets"], panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"] and panel["description"], panel["title"]


@pytest.mark.parametrize("name", BOARDS)
def test_legends_have_the_labels_of_their_queries(name):
    for panel, expression, legend in queries(name):
        named = re.findall(r"{{(\w+)}}", legend)
        assert named == labels(expression) or panel["type"] == "table", panel["title"]


@pytest.mark.parametrize("name", BOARDS)
def test_board_names_existing_metrics(name):
    for panel, expression, _ in queries(name):
        assert names_in(expression) <= documented().keys(), panel["title"]


# In a Prometheus


class Work:
    """What a fleet does and what goes wrong, so that each query has a figure above zero. `locked`
    keeps the store from being written.
    """

    def __init__(self, fleet, closing, locked: Callable[[], AbstractContextManager]):
        self.fleet, self.closing, self.locked = fleet, closing, locked
        self.admin, self.driver = fleet.dispatcher, fleet.driver()
        fleet.ios(self.driver)

    def everything(self) -> None:
        self.deliver()
        self.arrive()
        self.lose_a_race()
        self.fail()
        self.lock_the_store()

    def deliver(self) -> None:
        """The driver gets, views and accepts an order, and reports one step too early."""
        driver = self.driver
        client = self.fleet.listen(driver, f"driver-{driver.subject}")
        code, response = self.fleet.order(driver)
        notification = response["data"]["notificationIds"][0]
        client.expect("job-assigned")
        client.receive_until_pong()
        self.fleet.wait_for_accepted(notification, seconds=30)
        for event in ("received", "action_view_now", "action_accept", "action_dismiss", "received"):
            report(driver, notification, event)
        driver.accept(code)
        driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "loading"})
        driver.progress(code, "en_route")
        client.close()

    def arrive(self) -> None:
        """A driver is at the pickup; the customer's phone is told so."""
        trip = Trip(self.fleet, self.admin, self.driver)
        self.fleet.android(trip.customer)
        trip.go_to("accepted")
        self.driver.progress(trip.code, "en_route", **position(9_000))
        trip.locate(position(20))
        trip.wait_for("arrived")
        told = self.admin.expect_ok("GET", f"/api/ops/notifications?channel=booking-{trip.reference}")
        [arrival] = [each["id"] for each in told["notifications"]
                     if each["event"] == "driver-arrival"]
        self.fleet.wait_for_accepted(arrival, seconds=30)
        report(trip.customer, arrival, "received", "driver_arrival")

    def lose_a_race(self) -> None:
        """A driver views an offer, and accepts it after another driver."""
        late, code = self.fleet.driver(), unique_id("o")
        offered = self.admin.assign(code, late.subject)["data"]["notificationIds"][0]
        report(late, offered, "action_view_now")
        self.admin.assign(code, self.driver.subject)
        self.driver.accept(code)
        late.expect_error(409, "POST", f"/api/driver/jobs/{code}/accept")

    def fail(self) -> None:
        """A device is gone, a path is unknown, another too long, an app is unknown."""
        self.fleet.fail_next_push(self.fleet.android(),
                                  fcm.error(404, "NOT_FOUND", "UNREGISTERED"))
        self.admin.expect_error(404, "GET", "/api/admin/none")
        assert self.closing(Api(self.fleet.gateway)).get("/" + "x" * 20_000).status == 431
        client = self.closing(Client.dial(self.fleet.gateway, "none"))
        assert client.expect_close()[0] == 4001

    def lock_the_store(self) -> None:
        """An accept gets 503."""
        code, _ = self.fleet.order(self.driver)
        with self.locked():
            self.driver.expect_error(503, "POST", f"/api/driver/jobs/{code}/accept")
        self.driver.accept(code)

    def publish(self) -> None:
        """32 events, because the fan-out of one publish in 16 is measured."""
        api = self.closing(Api(self.fleet.gateway))
        for _ in range(32):
            api.publish("private-admin-channel")


def test_every_panel_shows_something(start_push_fleet, tmp_path, closing):
    fleet = start_push_fleet(metrics={"token": TOKEN})

    @contextlib.contextmanager
    def locked():
        with contextlib.closing(sqlite3.connect(fleet.gateway.database_path,
                                                isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
            database.execute("ROLLBACK")

    work = Work(fleet, closing, locked)
    fleet.listen(fleet.dispatcher, "admin-channel")
    work.everything()
    work.publish()
    prometheus = closing(Prometheus(tmp_path / "prometheus", fleet.gateway, TOKEN, RULES))
    prometheus.wait_for("fleetwire_connected", "the first scrape")
    # A counter's rate is that between two scrapes.
    work.everything()
    work.publish()
    phone = fleet.android()
    fleet.fcm.stop_listening()
    waiting = fleet.announce(phone)
    expect_shown(prometheus, OF_A_GATEWAY)
    fleet.fcm.listen()
    fleet.wait_for_accepted(waiting, seconds=60)
