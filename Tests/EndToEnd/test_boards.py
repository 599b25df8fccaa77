"""The Grafana boards: every query has a result while a gateway works."""

import json
import subprocess

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
BOARDS = ["operations", "notifications", "jobs"]
# Grafana's own panels; rows have no query.
KINDS = {"timeseries", "stat", "bargauge", "table"}
TOKEN = "a-token-of-prometheus"


def load(name: str) -> dict:
    return json.loads((FOLDER / f"{name}.json").read_text())


def queries(name: str) -> list[tuple[str, str]]:
    """Returns the title of the panel and the expression of each query."""
    return [(panel["title"], target["expr"]) for panel in load(name)["panels"]
            if panel["type"] != "row" for target in panel["targets"]]


# The files


def test_boards_are_those_of_the_script(tmp_path):
    subprocess.run([FOLDER / "make", tmp_path], check=True)
    for name in BOARDS:
        assert (tmp_path / f"{name}.json").read_text() == (FOLDER / f"{name}.json").read_text()
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(BOARDS)


@pytest.mark.parametrize("name", BOARDS)
def test_board_has_only_what_grafana_brings(name):
    board = load(name)
    assert [each["type"] for each in board["templating"]["list"]] == ["datasource"]
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
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@pytest.mark.parametrize("name", BOARDS)
def test_board_names_existing_metrics(name):
    for title, expression in queries(name):
        assert names_in(expression) <= documented().keys(), title


# In a Prometheus


class Work:
    """What a fleet does: `everything` so that each metric has a sample, `more` again and again."""

    def __init__(self, fleet, closing):
        self.fleet, self.closing = fleet, closing
        self.admin, self.api = fleet.dispatcher, closing(Api(fleet.gateway))
        self.driver, self.gone = fleet.driver(), fleet.driver()
        fleet.ios(self.driver)

    def everything(self) -> None:
        fleet = self.fleet
        self.arrive()
        phone = fleet.android(self.gone)
        fleet.fcm.script(fcm.error(404, "NOT_FOUND", "UNREGISTERED"), fcm.to(phone.token))
        removals = fleet.metric("push_token_removals_total")
        fleet.announce(self.gone)
        fleet.wait_for_metric("push_token_removals_total", removals + 1)
        # A client of an unknown app is closed with 4001.
        client = self.closing(Client.dial(fleet.gateway, "none"))
        assert client.expect_close()[0] == 4001
        self.more()

    def arrive(self) -> None:
        trip = Trip(self.fleet, self.admin, self.driver)
        self.fleet.android(trip.customer)
        trip.go_to("accepted")
        self.driver.progress(trip.code, "en_route", **position(9_000))
        trip.locate(position(20))
        trip.wait_for("arrived")
        [[arrival]] = self.fleet.gateway.query(
            "SELECT id FROM notifications WHERE event = 'driver-arrival' AND channel = ?",
            f"booking-{trip.reference}")
        self.fleet.wait_for_accepted(arrival, seconds=30)
        report(trip.customer, arrival, "received", "driver_arrival")
        trip.driver.progress(trip.code, "loading")

    def more(self) -> None:
        fleet, driver = self.fleet, self.driver
        client = fleet.listen(driver, f"driver-{driver.subject}")
        code, response = fleet.order(driver)
        notification = response["data"]["notificationIds"][0]
        client.expect("job-assigned")
        client.receive_until_pong()
        fleet.wait_for_accepted(notification, seconds=30)
        for event in ("received", "action_view_now", "action_accept", "action_dismiss", "received"):
            report(driver, notification, event)
        driver.accept(code)
        driver.request("PUT", f"/api/driver/jobs/{code}/progress", {"step": "loading"})
        driver.progress(code, "en_route")
        self.lose_a_race()
        fleet.dispatcher.request("GET", "/api/none")
        for _ in range(32):  # the fan-out of one publish in 16 is measured
            self.api.publish("private-admin-channel")
        client.close()

    def lose_a_race(self) -> None:
        late, code = self.fleet.driver(), unique_id("o")
        offered = self.admin.assign(code, late.subject)["data"]["notificationIds"][0]
        report(late, offered, "action_view_now")
        self.admin.assign(code, self.driver.subject)
        assert late.request("POST", f"/api/driver/jobs/{code}/accept").status == 409


def test_every_panel_shows_something(start_push_fleet, tmp_path, closing):
    fleet = start_push_fleet(metrics={"token": TOKEN})
    work = Work(fleet, closing)
    work.everything()
    prometheus = closing(Prometheus(tmp_path / "prometheus", fleet.gateway, TOKEN))
    prometheus.wait_for("fleetwire_connected", "the first scrape")
    work.everything()
    scrapes = "count_over_time(fleetwire_process_start_time_seconds[5m]) >= 3"
    prometheus.wait_for(scrapes, "two more scrapes", meanwhile=work.more)
    for name in BOARDS:
        for title, expression in queries(name):
            expression = expression.replace("$__rate_interval", "5m")
            found = prometheus.query(expression)
            assert found, f"{name}, {title}: no result of {expression}"
            values = [float(series["value"][1]) for series in found]
            assert any(value == value for value in values), f"{name}, {title}: {found}"
