"""Notifications that a killed gateway has committed and not published."""

import contextlib
import sqlite3

import pytest

from harness.api import Api
from harness.fleet import (SETTINGS as FLEET, Fleet, error_message, expect_no_events, unique_id,
                           wait_until)
from harness.raw_client import RawClient

HOUR = 3_600_000


@pytest.fixture
def restart(start_gateway, closing):
    """Kills a gateway after `work(fleet)`. The next one finds the database as if the process had been
    killed before it published anything, except what `change(database)` changes.
    """
    def restarted(work, change=lambda database: None) -> Fleet:
        gateway = start_gateway("kept", **FLEET)
        work(Fleet(gateway, closing))
        gateway.kill()
        with contextlib.closing(sqlite3.connect(gateway.database_path)) as database:
            database.execute("UPDATE publication SET position = ''")
            change(database)
            database.commit()
        return Fleet(start_gateway("kept", **FLEET), closing)

    return restarted


def assign(code: str, driver: str = "d1"):
    return lambda fleet: fleet.admin().assign(code, driver)


def unpublished(fleet: Fleet) -> list:
    return fleet.gateway.query("SELECT notification_id FROM unpublished")


def wait_until_confirmed(gateway) -> None:
    """Waits until the driver's connection has confirmed its notification: until then, another one gets it again by
    replay, not because it is published again.
    """
    confirmed = "SELECT COUNT(*) FROM deliveries WHERE channel = 'driver-d1' AND confirmed_at IS NOT NULL"
    wait_until(lambda: gateway.query(confirmed) == [(1,)], "the driver's confirmation is stored")


def test_driver_who_comes_back_gets_what_was_not_published(restart):
    code = unique_id("O")
    fleet = restart(assign(code))
    assert '"event":"notifications_recovered","count":3' in fleet.gateway.log()
    driver, admin = fleet.driver("d1"), fleet.admin()
    client = fleet.listen(driver, "driver-d1")
    assert client.expect_data("job-assigned")["bookingId"] == code
    dashboard = fleet.listen(admin, "admin-channel")
    assert dashboard.expect_data("job-assigned")["bookingId"] == code
    assert dashboard.expect_data("order-assigned")["bookingId"] == code
    # Live events follow.
    admin.assign(code, "d2")
    client.expect("job-removed")


def test_only_the_first_subscriber_gets_them_once(restart, start_gateway, closing):
    fleet = restart(assign(unique_id("O")))
    driver = fleet.driver("d1")
    fleet.listen(driver, "driver-d1").expect("job-assigned")
    wait_until_confirmed(fleet.gateway)
    expect_no_events(closing(Api(fleet.gateway)), fleet.listen(driver, "driver-d1"),
                     fleet.signed_in(driver, "driver-d1"))
    # The others wait, also over a further crash.
    wait_until(lambda: len(unpublished(fleet)) == 2, "the gateway records what it has published")
    fleet.gateway.kill()
    fleet = Fleet(start_gateway("kept", **FLEET), closing)
    expect_no_events(closing(Api(fleet.gateway)), fleet.listen(fleet.driver("d1"), "driver-d1"))
    fleet.listen(fleet.admin(), "admin-channel").expect("job-assigned")


def test_what_is_published_is_not_published_again(start_gateway, closing):
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    fleet.listen(fleet.driver("d1"), "driver-d1")
    fleet.admin().assign(unique_id("O"), "d1")
    position = "SELECT position = (SELECT MAX(id) FROM notifications) FROM publication"
    wait_until(lambda: gateway.query(position) == [(1,)], "the gateway records what it has published")
    wait_until_confirmed(gateway)
    gateway.kill()
    fleet = Fleet(start_gateway("kept", **FLEET), closing)
    assert "notifications_recovered" not in fleet.gateway.log()
    expect_no_events(closing(Api(fleet.gateway)), fleet.listen(fleet.driver("d1"), "driver-d1"),
                     fleet.listen(fleet.admin(), "admin-channel"))


def test_orderly_stop_leaves_nothing_unpublished(start_gateway, closing):
    gateway = start_gateway("kept", **FLEET)
    Fleet(gateway, closing).admin().assign(unique_id("O"), "d1")
    gateway.stop()
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database:
        assert database.execute(
            "SELECT position = (SELECT MAX(id) FROM notifications) FROM publication").fetchall() == [(1,)]


def test_expired_notifications_are_not_published(restart, closing):
    """On `admin-channel` after an hour, on other channels when they expire. The owner of a channel gets them
    by replay for two days.
    """
    def age(database) -> None:
        database.execute("UPDATE notifications SET created_at = created_at - ?", [48 * HOUR])
        database.execute("UPDATE notifications SET expires_at = created_at WHERE channel = 'driver-d1'")

    fleet = restart(assign(unique_id("O")), age)
    assert "notifications_recovered" not in fleet.gateway.log()
    expect_no_events(closing(Api(fleet.gateway)), fleet.listen(fleet.driver("d1"), "driver-d1"),
                     fleet.listen(fleet.admin(), "admin-channel"))


def test_repeated_action_after_a_crash_reaches_the_driver(restart):
    """The dispatcher who got no answer repeats the action: the answer is replayed, and the driver hears of it."""
    code, key = unique_id("O"), unique_id("k")
    path, body = f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"}
    fleet = restart(lambda fleet: fleet.admin().post(path, body, key=key))
    again = fleet.admin().post(path, body, key=key)
    assert again.status == 200 and again.headers["idempotency-replayed"] == "true"
    ids = again.json()["data"]["notificationIds"]
    assert fleet.listen(fleet.driver("d1"), "driver-d1").expect_data("job-assigned")["notificationId"] == ids[0]


def test_stopping_gateway_refuses_commands_and_answers_queries(start_gateway, closing):
    gateway = start_gateway(server={"drain_seconds": 5}, **FLEET)
    fleet = Fleet(gateway, closing)
    # A draining gateway accepts no connections, and closes one after a response.
    probe, admin, reader = closing(Api(gateway)), fleet.admin(), fleet.admin()
    code, path = unique_id("O"), "/api/admin/orders/"
    admin.assign(code, "d1")
    closing(RawClient(gateway))  # does not answer the close frame: the drain waits for it
    gateway.terminate()
    wait_until(lambda: probe.get("/readyz").status == 503, "the gateway drains")
    response = admin.post(f"{path}{code}/unassign", {})
    assert response.status == 503 and int(response.headers["retry-after"]) >= 1, response
    assert "stopping" in error_message(path, response)
    assert reader.get_order(code)["driverId"] == "d1"
    gateway.wait()


def test_later_notifications_follow_the_recovered_ones(restart, start_gateway, closing):
    """Otherwise, the driver would take an old assignment for the present state. Nor does a further crash
    lose the later ones.
    """
    code = unique_id("O")
    fleet = restart(assign(code))
    fleet.admin().post(f"/api/admin/orders/{code}/unassign", {})
    wait_until(lambda: fleet.gateway.query(
        "SELECT position = (SELECT MAX(id) FROM notifications) FROM publication") == [(1,)],
        "the gateway records what it has published")
    fleet.gateway.kill()
    fleet = Fleet(start_gateway("kept", **FLEET), closing)
    client = fleet.listen(fleet.driver("d1"), "driver-d1")
    assert client.expect_data("job-assigned")["bookingId"] == code
    client.expect("order-removed")
    dashboard = fleet.listen(fleet.admin(), "admin-channel")
    events = [dashboard.receive()["event"] for _ in range(3)]
    assert events == ["job-assigned", "order-assigned", "order-unassigned"]
