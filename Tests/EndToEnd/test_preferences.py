"""Notification preferences: muted types and quiet hours."""

import datetime
import zoneinfo

import pytest

from harness.fleet import SETTINGS as FLEET, unique_id

SETTINGS = FLEET
DEFAULTS = {"types": {},
            "quietHours": {"enabled": False, "from": "22:00", "to": "07:00",
                           "timeZone": "Europe/London"}}


def clock(zone: str, minutes: int) -> str:
    """Returns the wall-clock time in the zone, so many minutes from now."""
    return (
        datetime.datetime.now(zoneinfo.ZoneInfo(zone))
        + datetime.timedelta(minutes=minutes)).strftime("%H:%M")


def path_of(caller) -> str:
    return f"/api/{caller.role}/preferences"


def prefer(caller, **changes) -> dict:
    response = caller.expect_ok("PUT", path_of(caller), changes)
    assert response.keys() >= {"success", "data"} and response["success"] is True
    return response["data"]


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


# The API


def test_defaults_enable_everything(fleet):
    for caller in (fleet.driver(), fleet.customer()):
        assert caller.expect_ok("GET", path_of(caller))["data"] == DEFAULTS


def test_put_merges(fleet):
    for caller in (fleet.driver(), fleet.customer()):
        assert prefer(caller,
                      types={"new_job": False, "job_update": True}) == DEFAULTS | {
            "types": {"new_job": False, "job_update": True}}
        assert prefer(caller,
                      types={"job_update": False})["types"] == {
            "new_job": False, "job_update": False}
        assert prefer(caller,
                      quietHours={"enabled": True, "from": "23:30"})["quietHours"] == DEFAULTS[
            "quietHours"] | {"enabled": True, "from": "23:30"}
        assert prefer(caller,
                      quietHours={"timeZone": "Asia/Kolkata", "to": "00:00"})["quietHours"] == {
            "enabled": True, "from": "23:30", "to": "00:00", "timeZone": "Asia/Kolkata"}
        assert prefer(caller) == caller.expect_ok("GET", path_of(caller))["data"]
        assert prefer(caller, unknown=1, types={},
                      quietHours={})["types"] == {"new_job": False, "job_update": False}


def test_preferences_are_per_user(fleet):
    subject = unique_id("p")
    prefer(fleet.driver(subject), types={"new_job": False})
    assert fleet.customer(subject).expect_ok("GET", "/api/customer/preferences")["data"] == DEFAULTS
    assert fleet.driver().expect_ok("GET", "/api/driver/preferences")["data"] == DEFAULTS


@pytest.mark.parametrize("field, body", [
    ("new_job", {"types": {"new_job": "no"}}), ("from", {"quietHours": {"from": "24:00"}}),
    ("to", {"quietHours": {"to": 7}}),
    *[("timeZone", {"quietHours": {"timeZone": value}})
      for value in ("Nowhere/Land", "../../etc/passwd", "/etc/localtime")]],
                         ids=lambda value: str(value)[:40])
def test_invalid_preferences_are_400_and_change_nothing(fleet, field, body):
    driver = fleet.driver()
    prefer(driver, types={"job_update": False})
    assert field in driver.expect_error(400, "PUT", "/api/driver/preferences",
                                        {"types": {"new_job": False}} | body)
    assert driver.expect_ok("GET", "/api/driver/preferences")["data"]["types"] == {"job_update": False}


def test_types_that_are_never_pushed_are_named(fleet):
    driver = fleet.driver()
    body = {"types": {"new_job": False, "order_update": False, "job-assigned": True, "drivre-arrival": True, "Z": None}}
    data = driver.expect_ok("PUT", "/api/driver/preferences", body)["data"]
    assert data.pop("unknown") == ["drivre-arrival", "order_update"]
    assert data["types"] == {"new_job": False, "job-assigned": True}
    assert driver.expect_ok("GET", "/api/driver/preferences")["data"] == data


def test_preferences_require_their_role(fleet):
    for role, others in [("driver", [fleet.customer(), fleet.admin(), fleet.ops()]),
                         ("customer", [fleet.driver(), fleet.admin(), fleet.ops()])]:
        for method in ("GET", "PUT"):
            fleet.caller().expect_error(401, method, f"/api/{role}/preferences", {})
            for caller in others:
                caller.expect_error(403, method, f"/api/{role}/preferences", {})


def test_repeated_put_is_performed_once(fleet):
    driver, key = fleet.driver(), unique_id("k")
    first = driver.put("/api/driver/preferences", {"types": {"new_job": False}}, key=key)
    prefer(driver, types={"new_job": True})
    again = driver.put("/api/driver/preferences", {"types": {"new_job": False}}, key=key)
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    assert driver.expect_ok("GET", "/api/driver/preferences")["data"]["types"] == {"new_job": True}


# Effects


def expect_cancelled(fleet, notification: str, reason: str) -> None:
    [step] = fleet.wait_for_step(notification, "push_cancelled")
    assert step["detail"]["reason"] == reason, step


@pytest.mark.parametrize("name", ["new_job", "job-assigned"])
def test_muted_type_is_not_pushed(fleet, name):
    """By the `type` that apps read, or by the event name."""
    device = fleet.ios()
    prefer(device.owner, types={name: False})
    _, response = fleet.order(device.owner)
    expect_cancelled(fleet, response["data"]["notificationIds"][0], "preferences")
    # It is in the list of notifications nevertheless.
    listed = device.owner.expect_ok("GET", "/api/driver/notifications")["data"]["notifications"]
    assert listed[0]["event"] == "job-assigned"
    fleet.expect_no_pushes(device)
    prefer(device.owner, types={name: True})
    _, response = fleet.order(device.owner)
    device.next(response["data"]["notificationIds"][0])


def test_muted_catalogue_type_is_not_pushed(fleet):
    device = fleet.android()
    prefer(device.owner, types={"NEW_BATCH_AVAILABLE": False})
    expect_cancelled(fleet, fleet.announce(device, "NEW_BATCH_AVAILABLE"), "preferences")
    fleet.expect_no_pushes(device)


@pytest.mark.parametrize("zone",
                         ["Europe/London", "Asia/Kolkata", "America/Los_Angeles",
                          "Pacific/Chatham"])
def test_quiet_hours_apply_in_their_time_zone(fleet, zone):
    device = fleet.ios()
    hours = {"enabled": True, "from": clock(zone, -90), "to": clock(zone, 90), "timeZone": zone}
    prefer(device.owner, quietHours=hours)
    expect_cancelled(fleet, fleet.announce(device), "quiet_hours")
    # In another time zone the same hours are over.
    prefer(device.owner,
           quietHours={"timeZone": "Asia/Tokyo" if zone != "Asia/Tokyo" else "Europe/London"})
    device.next(fleet.announce(device))
    prefer(device.owner, quietHours={"timeZone": zone})
    expect_cancelled(fleet, fleet.announce(device), "quiet_hours")
    prefer(device.owner, quietHours={"from": clock(zone, 90), "to": clock(zone, -90)})
    device.next(fleet.announce(device))
    prefer(device.owner,
           quietHours={"enabled": False, "from": clock(zone, -90), "to": clock(zone, 90)})
    device.next(fleet.announce(device))


def test_urgent_pushes_ignore_quiet_hours(fleet):
    device = fleet.ios()
    prefer(device.owner,
           quietHours={"enabled": True, "from": "00:00", "to": "00:00",
                       "timeZone": "Europe/London"})
    code, response = fleet.order(device.owner)
    expect_cancelled(fleet, response["data"]["notificationIds"][0], "quiet_hours")
    response = fleet.dispatcher.order(code, "unassign")
    assert device.next(response["data"]["notificationIds"][0]).data["event"] == "order-removed"
    code, response = fleet.order(device.owner)
    expect_cancelled(fleet, response["data"]["notificationIds"][0], "quiet_hours")
    response = fleet.dispatcher.order(code, "cancel-enhanced", reason="rain")
    assert device.next(response["data"]["notificationIds"][0]).data["event"] == "job-cancelled"


def test_arrival_is_urgent(fleet):
    customer, driver, code = fleet.customer(), fleet.driver(), unique_id("O")
    device = fleet.ios(customer)
    prefer(customer, quietHours={"enabled": True, "from": "12:00", "to": "12:00"})
    fleet.dispatcher.assign(code, driver.subject, customerId=customer.subject)
    driver.accept(code)
    driver.progress(code, "en_route")
    driver.progress(code, "arrived")
    assert device.next().data["type"] == "driver_arrival"


def test_catalogue_sets_urgency(start_push_fleet):
    fleet = start_push_fleet(
        catalogue={"DRIVER_APPROVED": {"title": "Now", "urgent": True},
                   "BATCH_REASSIGNED": {"title": "Later", "urgent": False}})
    device = fleet.android()
    prefer(device.owner, quietHours={"enabled": True, "from": "00:00", "to": "00:00"})
    device.next(fleet.announce(device, "DRIVER_APPROVED"))
    expect_cancelled(fleet, fleet.announce(device, "BATCH_REASSIGNED"), "quiet_hours")
