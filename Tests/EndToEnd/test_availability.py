"""The drivers' online switch, whom new batches are pushed to, and the summary of the home screen.

The tests do not change the machine's clock. They edit saved times between two starts.
"""

import contextlib
import datetime
import json
import sqlite3
from zoneinfo import ZoneInfo

import pytest

from harness.batches import (Batch, accept, answer, batch_in, deliver, fail, hire, my_batch, ok,
                             refused, returning)
from harness.client import Client
from harness.fleet import (ANY_TIME, JWT, Fleet, expect_event, expect_no_events, join, unique_id,
                           wait_until)
from harness.people import FirebaseUser, account_settings
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

SWITCH, SUMMARY = "/api/delivery/availability", "/api/delivery/summary"
HOUR = 3_600_000


@pytest.fixture
def start(start_gateway, server, closing):
    """Starts a gateway with the database of the one before. Returns its fleet."""
    settings = account_settings(server, JWT)
    settings["accounts"] |= {"currency": "INR", "time_zone": "Asia/Kolkata"}
    return lambda: Fleet(start_gateway("kept", sections=settings), closing)


def switch(driver, online: bool) -> dict:
    return ok(driver.put(SWITCH, {"online": online}))


def is_online(driver) -> bool:
    return ok(driver.request("GET", SWITCH))["online"]


def edit(gateway, sql: str, *values) -> None:
    """Edits the database of a gateway that does not run."""
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        assert database.execute(sql, values).rowcount > 0


# The switch

def test_the_switch(driver):
    mine = driver()
    unused = mine.request("GET", SWITCH)
    since = unused.json()["data"]["since"]
    assert unused.json() == answer("Availability", online=True, since=since)
    off = mine.put(SWITCH, {"online": False})
    assert off.json() == answer("Availability updated", online=False, since=ANY_TIME)
    assert mine.request("GET", SWITCH).json() == answer("Availability", **off.json()["data"])
    on = switch(mine, True)
    assert on["online"] is True and on["since"] >= off.json()["data"]["since"]
    assert ok(mine.request("GET", SWITCH)) == on


@pytest.mark.parametrize("body", [{}, {"online": None}, {"online": "true"}, {"online": 1}])
def test_wrong_switches(driver, body):
    mine = driver()
    status, message, error = refused(mine.put(SWITCH, body))
    assert (status, message, list(error["fields"])) == (400, "Validation error", ["online"])
    assert is_online(mine)


def test_dispatchers_hear_of_the_switch(driver, admin, fleet):
    mine, office = driver(), fleet.listen(admin, "admin-channel")
    for online in (False, True):
        since = switch(mine, online)["since"]
        expect_event(office, "private-admin-channel", "driver-availability", driverId=mine.subject,
                     online=online, timestamp=since)


def test_an_active_batch_does_not_prevent_going_offline(driver, admin):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    assert switch(mine, False)["online"] is False
    for each in batch.orders:
        ok(deliver(mine, each))
    assert batch.status == "COMPLETED" and not is_online(mine)
    # An offline driver sees the list, and may accept.
    ok(accept(mine, Batch(admin).ready()))


def test_the_switch_survives_a_restart(start, closing):
    fleet = start()
    mine = closing(hire(fleet.gateway, fleet.admin()))
    off = switch(mine, False)
    fleet.gateway.kill()
    again = closing(returning(start().gateway, mine))
    assert ok(again.request("GET", SWITCH)) == off


# Going offline otherwise

def tokens(driver, count: int) -> list[dict]:
    bodies = [{"fcmToken": f"fcm-{unique_id() * 6}"} for _ in range(count)]
    for body in bodies:
        driver.expect_ok("POST", "/api/auth/fcm-token", body)
    return bodies


def test_logout_of_the_last_device(driver, admin, fleet):
    mine, office = driver(), fleet.listen(admin, "admin-channel")
    first, last = tokens(mine, 2)
    switch(mine, True)
    office.expect("driver-availability")
    mine.expect_ok("DELETE", "/api/auth/fcm-token", first)
    assert is_online(mine)
    mine.expect_ok("DELETE", "/api/auth/fcm-token", last)
    expect_event(office, "private-admin-channel", "driver-availability", driverId=mine.subject,
                 online=False, timestamp=ANY_TIME)
    assert not is_online(mine)
    # A login does not turn the switch on.
    tokens(mine, 1)
    assert not is_online(mine)


def test_logout_of_a_driver_who_never_used_the_switch(driver, admin, fleet, api):
    mine, office = driver(), fleet.listen(admin, "admin-channel")
    [token] = tokens(mine, 1)
    mine.expect_ok("DELETE", "/api/auth/fcm-token", token)
    assert is_online(mine)
    expect_no_events(api, office)


@pytest.mark.parametrize("used", [True, False])
def test_suspension(driver, admin, fleet, used):
    """A driver who is reinstated turns the switch on again."""
    mine, office = driver(), fleet.listen(admin, "admin-channel")
    if used:
        switch(mine, True)
        office.expect("driver-availability")
    path = f"/api/admin/drivers/{mine.subject}"
    admin.expect_ok("POST", f"{path}/suspend", {})
    heard = [each["event"] for each in office.receive_until_pong()]
    assert sorted(heard) == sorted(["driver-suspended", *["driver-availability"] * used])
    admin.expect_ok("POST", f"{path}/reinstate", {})
    assert is_online(mine) is not used


def test_after_12_hours_without_a_request(start, closing):
    """One driver was seen 11 hours ago, one 12 hours ago, and one never used the switch."""
    fleet = start()
    admin = fleet.admin()
    fresh, stale, unused = [closing(hire(fleet.gateway, admin)) for _ in range(3)]
    for each in (fresh, stale):
        switch(each, True)
    fleet.gateway.stop()
    for each, hours in ((fresh, 11.9), (stale, 12.1)):
        edit(fleet.gateway, "UPDATE driver_availability SET seen_at = seen_at - ? "
             "WHERE account_id = ?", int(hours * HOUR), each.account)
    fleet = start()
    states = dict.fromkeys((fresh.account, stale.account))

    def rows() -> dict:
        return dict(fleet.gateway.query("SELECT account_id, online FROM driver_availability"))

    wait_until(lambda: rows() == states | {fresh.account: 1, stale.account: 0}, "one is offline",
               seconds=70)
    again = [closing(returning(fleet.gateway, each)) for each in (fresh, stale, unused)]
    assert [is_online(each) for each in again] == [True, False, True]
    events = fleet.gateway.query("SELECT data FROM notifications "
                                 "WHERE event = 'driver-availability' ORDER BY id DESC LIMIT 1")
    data = json.loads(events[0][0])
    assert (data["driverId"], data["online"]) == (stale.subject, False)


def test_a_driver_who_was_heard_of_stays_online(start, closing):
    """By a request or an open connection, 3 hours ago. The third driver, of whom nothing was heard
    for 14 hours, is offline.
    """
    fleet = start()
    drivers = [closing(hire(fleet.gateway, fleet.admin())) for _ in range(3)]
    for each in drivers:
        switch(each, True)
    fleet.gateway.stop()
    age = "UPDATE driver_availability SET seen_at = seen_at - ?"
    edit(fleet.gateway, age, 11 * HOUR)
    fleet = start()
    asking, connected, _ = [closing(returning(fleet.gateway, each)) for each in drivers]
    asking.expect_ok("GET", "/api/driver/jobs")
    join(closing(Client.connect(fleet.gateway)), connected, f"private-driver-{connected.subject}")
    fleet.gateway.stop()
    edit(fleet.gateway, age, 3 * HOUR)
    fleet = start()
    rows = "SELECT account_id FROM driver_availability WHERE online = 0"
    wait_until(lambda: fleet.gateway.query(rows), "one is offline")
    fleet.gateway.kill()
    assert fleet.gateway.query(rows) == [(drivers[2].account,)]


# Whom batches are pushed to

def test_only_approved_online_drivers_are_pushed_to(start_push_fleet, server, closing):
    """All who may listen hear the event."""
    settings = account_settings(server, JWT)
    fleet = start_push_fleet(auth=settings["auth"], accounts=settings["accounts"])
    admin = fleet.dispatcher
    unused, on, off, suspended = [closing(hire(fleet.gateway, admin)) for _ in range(4)]
    pending = closing(FirebaseUser(fleet.gateway))
    pending.register()
    phones = {each: fleet.android(each) for each in (unused, on, off, suspended, pending)}
    for each, online in ((on, False), (on, True), (off, False)):
        switch(each, online)
    admin.expect_ok("POST", f"/api/admin/drivers/{suspended.subject}/suspend", {})
    stranger = fleet.driver()
    listeners = [fleet.listen(each, "drivers-channel") for each in (off, unused, stranger)]
    [notification] = Batch(admin).act("ready")["data"]["notificationIds"]
    for each in (unused, on):
        push = phones[each].next(notification)
        assert push.data["type"] == "NEW_BATCH_AVAILABLE"
    for each in listeners:
        assert each.expect_data("new-batch-available")["notificationId"] == notification
    steps = fleet.wait_for_accepted(notification, 2)
    assert {step["by"] for step in steps} == {f"driver:{each.subject}" for each in (unused, on)}
    switch(off, True)
    [notification] = Batch(admin).act("ready")["data"]["notificationIds"]
    phones[off].next(notification)
    # Pushes to the driver himself reach him also offline.
    switch(off, False)
    batch = batch_in("READY_FOR_DISPATCH", admin, off)
    ok(accept(off, batch))
    batch.act("cancel")
    assert phones[off].next().data["entityId"] == batch.id


# The summary

def summary(driver, **query) -> dict:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return ok(driver.request("GET", f"{SUMMARY}?{text}"))


def figures(batches: int = 0, delivered: int = 0, failed: int = 0, total: float = 0,
            currency: str = "INR") -> dict:
    done = delivered + failed
    return {"batches": batches, "deliveries": done, "delivered": delivered, "failed": failed,
            "earnings": {"total": total, "base": total, "bonus": 0}, "currency": currency,
            "successRate": delivered * 100 // done if done else None}


def test_summary_of_nothing(driver):
    mine = driver()
    got = mine.request("GET", f"{SUMMARY}?range=all")
    assert got.json() == answer("Summary retrieved", **figures(currency=""))


def test_summary_counts_what_is_over(driver, admin):
    mine, other = driver(), driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 4, estimatedEarnings=0.1)
    assert summary(mine, range="all") == figures(currency="")
    for each in batch.orders[:2]:
        ok(deliver(mine, each))
    ok(fail(mine, batch.orders[2]))
    batch.act(f"orders/{batch.orders[3]}/cancel")
    assert summary(mine, range="all") == figures(1, 2, 1, 0.1, "") | {
        "successRate": summary(mine, range="all")["successRate"]}
    assert summary(mine, range="all")["successRate"] in (66, 67)
    batch_in("COMPLETED", admin, mine, 1, estimatedEarnings=0.2)
    got = mine.request("GET", f"{SUMMARY}?range=today")
    assert ok(got)["successRate"] == 75
    # Money is not a binary fraction.
    assert '"total":0.3,' in got.text and '"base":0.3,' in got.text
    assert summary(other, range="all") == figures(currency="")


def test_a_reassigned_batch_counts_for_the_driver_who_ended_it(driver, admin):
    old, new = driver(), driver()
    batch = batch_in("IN_PROGRESS", admin, old)
    ok(deliver(old, batch.orders[0]))
    batch.act("reassign", driverId=new.subject)
    ok(deliver(new, batch.orders[1]))
    assert summary(old, range="all") == figures(currency="")
    assert summary(new, range="all") == figures(1, 2, 0, 450.5, "")


@pytest.mark.parametrize("query", ["range=year", "range=", "range=today&timeZone=Mars/Olympus",
                                   "range=today&timeZone=", "range=today&timeZone=../../etc/passwd",
                                   "range=today&timeZone=/etc/localtime"])
def test_wrong_summaries(driver, query):
    assert refused(driver().request("GET", f"{SUMMARY}?{query}"))[0] == 400


def starts(zone: str) -> dict[str, datetime.datetime]:
    """When today, the week and the month of this zone have begun."""
    now = datetime.datetime.now(ZoneInfo(zone))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return {"today": today, "week": today - datetime.timedelta(days=now.weekday()),
            "month": today.replace(day=1)}


@pytest.mark.parametrize("zone", ["UTC", "Europe/London", "Asia/Kolkata", "America/Los_Angeles",
                                  "Pacific/Kiritimati", "America/St_Johns", None])
def test_days_of_a_time_zone(start, closing, zone):
    """A batch that ended when a range began is in it, one of a millisecond before is not."""
    fleet = start()
    admin = fleet.admin()
    mine = closing(hire(fleet.gateway, admin))
    name = zone or "Asia/Kolkata"  # the setting
    asked = {"timeZone": zone} if zone else {}
    begins = [int(each.timestamp() * 1000) for each in starts(name).values()]
    times = [time for each in begins for time in (each, each - 1)]
    batches = [batch_in("COMPLETED", admin, mine, 1, estimatedEarnings=1) for _ in times]
    fleet.gateway.stop()
    for batch, time in zip(batches, times):
        edit(fleet.gateway, "UPDATE batches SET completed_at = ? WHERE id = ?", time, batch.id)
    fleet = start()
    again = closing(returning(fleet.gateway, mine))
    for range_, begin in zip(starts(name), begins):
        count = sum(time >= begin for time in times)
        assert summary(again, range=range_, **asked) == figures(count, count, 0, count), range_
    assert summary(again, range="all", **asked) == figures(6, 6, 0, 6)


def test_money_is_exact(driver, admin):
    mine = driver()
    for earnings in (b"0.10", b"0.2", b"1234567.89", b"1e2", b"0.000"):
        batch = Batch(admin, 1)
        body = b'{"estimatedEarnings":' + earnings + b"}"
        assert admin.put(batch.path, body).status == 200
        batch.ready()
        ok(accept(mine, batch))
        ok(mine.request("PATCH", f"/api/delivery/batches/{batch.id}/pickup", {}))
        ok(deliver(mine, batch.orders[0]))
    assert my_batch(mine)["batch"] is None
    assert summary(mine, range="all")["earnings"]["total"] == 1234668.19
    assert '"total":1234668.19,' in mine.request("GET", f"{SUMMARY}?range=all").text
