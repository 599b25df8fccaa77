"""One driver's commands, however many, do not take the fleet's store from the others; while the store
cannot be written, /readyz says so.
"""

import contextlib
import sqlite3
import time

import pytest

from harness.fleet import SECTIONS, Fleet, unique_id, wait_until
from harness.gateway import logs_limit
from harness.metrics import count_limited
from harness.wire import Wire, request

READ = "/api/driver/notifications/read"


@pytest.fixture
def start_limited(start_gateway, closing):
    def start(**limits) -> Fleet:
        return Fleet(start_gateway(limits=limits, sections=SECTIONS), closing)

    return start


def test_commands_of_a_driver_are_limited(start_limited):
    fleet = start_limited(fleet_commands_per_second=1)
    driver, other, admin = fleet.driver("42"), fleet.driver("43"), fleet.admin()
    start = time.monotonic()
    statuses = []
    while time.monotonic() - start < 0.5 and 429 not in statuses:
        response = driver.post(READ, {"all": True})
        statuses.append(response.status)
    assert statuses == [200] * 5 + [429]
    assert response.headers["retry-after"] == "1" and "driver:42" in response.text
    assert driver.put("/api/driver/preferences", {}).status == 429, "all commands together"
    assert driver.expect_ok("GET", "/api/driver/notifications")
    assert other.post(READ, {"all": True}).status == 200
    for _ in range(20):
        admin.assign(unique_id("O"), "42")
    assert count_limited(admin, "fleet_commands_per_second") == 2
    wait_until(lambda: logs_limit(fleet.gateway, "fleet_commands_per_second"), "the log reports it")


def test_rate_can_be_switched_off(start_limited):
    fleet = start_limited(fleet_commands_per_second=0)
    driver = fleet.driver()
    assert {driver.post(READ, {"all": True}).status for _ in range(300)} == {200}


def test_waiting_commands_of_a_driver_are_limited(start_limited, closing):
    """While another program locks the database, commands wait."""
    fleet = start_limited(fleet_commands_waiting=1)
    driver, admin = fleet.driver("42"), fleet.admin()
    calls = request("POST", READ, b'{"all":true}', headers=[
        f"Authorization: Bearer {driver.bearer}", "Content-Type: application/json"])
    with contextlib.closing(sqlite3.connect(
            fleet.gateway.database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        wires = [closing(Wire(fleet.gateway)) for _ in range(20)]
        for wire in wires:
            wire.send(calls)
        statuses = [wire.read_response().status for wire in wires]
        other.execute("ROLLBACK")
    # One is executed and one waits, until the former gets 503.
    assert set(statuses) == {429, 503}
    assert count_limited(admin, "fleet_commands_waiting") == statuses.count(429)
    assert driver.post(READ, {"all": True}).status == 200
    wait_until(lambda: logs_limit(fleet.gateway, "fleet_commands_waiting"), "the log reports it")


def test_queries_of_a_driver_are_limited(start_limited):
    fleet = start_limited(fleet_queries_per_second=1)
    driver, other, admin = fleet.driver("42"), fleet.driver("43"), fleet.admin()
    start, statuses = time.monotonic(), []
    while time.monotonic() - start < 0.5 and 429 not in statuses:
        response = driver.request("GET", "/api/driver/jobs")
        statuses.append(response.status)
    assert statuses == [200] * 5 + [429]
    assert response.headers["retry-after"] == "1" and "queries of driver:42" in response.text
    assert driver.request("GET", "/api/driver/notifications").status == 429, "all queries together"
    assert driver.post(READ, {"all": True}).status == 200
    assert other.request("GET", "/api/driver/jobs").status == 200
    for _ in range(20):
        admin.expect_ok("GET", "/api/ops/notifications?limit=1")
    assert count_limited(admin, "fleet_queries_per_second") == 2
    wait_until(lambda: logs_limit(fleet.gateway, "fleet_queries_per_second"), "the log reports it")


def test_waiting_queries_of_a_driver_are_limited(start_limited, closing):
    """Many connections ask at once; others wait in turn, and none is lost."""
    fleet = start_limited(fleet_queries_waiting=1, fleet_queries_per_second=0)
    driver, other, admin = fleet.driver("42"), fleet.driver("43"), fleet.admin()
    call = request("GET", "/api/driver/notifications?limit=200", headers=[f"Authorization: Bearer {driver.bearer}"])
    wires = [closing(Wire(fleet.gateway)) for _ in range(50)]

    def flood() -> set[int]:
        for wire in wires:
            wire.send(call)
        assert other.request("GET", "/api/driver/jobs").status == 200
        return {wire.read_response().status for wire in wires}

    wait_until(lambda: 429 in flood(), "too many wait")
    assert flood() <= {200, 429}
    assert count_limited(admin, "fleet_queries_waiting") > 0
    wait_until(lambda: logs_limit(fleet.gateway, "fleet_queries_waiting"), "the log reports it")


def test_readyz_says_that_the_store_cannot_be_written(start_limited):
    fleet = start_limited()
    admin = fleet.admin()
    with contextlib.closing(sqlite3.connect(
            fleet.gateway.database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        admin.expect_error(503, "PUT", "/api/admin/orders/O1", {})
        response = admin.get("/readyz")
        assert response.status == 503 and "store cannot be written" in response.text
        assert int(response.headers["retry-after"]) >= 1 and admin.get("/healthz").status == 200
        other.execute("ROLLBACK")
    # Without a command that would show it.
    wait_until(lambda: admin.get("/readyz").status == 200, "the store can be written again")
