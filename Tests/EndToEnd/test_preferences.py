"""What people want to be told on their phones, and when not."""

import datetime
import zoneinfo

import pytest

from harness.fleet import SETTINGS as FLEET, fresh

SETTINGS = FLEET
DEFAULTS = {"types": {}, "quietHours": {"enabled": False, "from": "22:00", "to": "07:00", "timeZone": "Europe/London"}}


def clock(zone: str, minutes: int) -> str:
    """What clocks there show so many minutes from now."""
    return (datetime.datetime.now(zoneinfo.ZoneInfo(zone)) + datetime.timedelta(minutes=minutes)).strftime("%H:%M")


def path_of(caller) -> str:
    return f"/api/{caller.role}/preferences"


def prefer(caller, **changes) -> dict:
    answer = caller.done("PUT", path_of(caller), changes)
    assert answer.keys() >= {"success", "data"} and answer["success"] is True
    return answer["data"]


@pytest.fixture
def scene(pushing):
    return pushing()


# What is said


def test_they_begin_with_everything_on(scene):
    for caller in (scene.driver(), scene.customer()):
        assert caller.done("GET", path_of(caller))["data"] == DEFAULTS


def test_PUT_merges(scene):
    for caller in (scene.driver(), scene.customer()):
        assert prefer(caller, types={"new_job": False, "job_update": True}) == DEFAULTS | {"types": {"new_job": False, "job_update": True}}
        assert prefer(caller, types={"job_update": False})["types"] == {"new_job": False, "job_update": False}
        assert prefer(caller, quietHours={"enabled": True, "from": "23:30"})["quietHours"] == DEFAULTS["quietHours"] | {"enabled": True, "from": "23:30"}
        assert prefer(caller, quietHours={"timeZone": "Asia/Kolkata", "to": "00:00"})["quietHours"] == {
            "enabled": True, "from": "23:30", "to": "00:00", "timeZone": "Asia/Kolkata"}
        assert prefer(caller) == caller.done("GET", path_of(caller))["data"]
        assert prefer(caller, unknown=1, types={}, quietHours={})["types"] == {"new_job": False, "job_update": False}


def test_everybody_has_his_own(scene):
    subject = fresh("p")
    prefer(scene.driver(subject), types={"new_job": False})
    assert scene.customer(subject).done("GET", "/api/customer/preferences")["data"] == DEFAULTS
    assert scene.driver().done("GET", "/api/driver/preferences")["data"] == DEFAULTS


@pytest.mark.parametrize("field, body", [
    ("types", {"types": []}), ("types", {"types": "new_job"}), ("new_job", {"types": {"new_job": "no"}}), ("new_job", {"types": {"new_job": 0}}),
    ("types", {"types": {"": True}}), ("types", {"types": {"a b": True}}), ("types", {"types": {"x" * 65: True}}), ("types", {"types": {f"t{i}": True for i in range(101)}}),
    ("quietHours", {"quietHours": []}), ("quietHours", {"quietHours": True}), ("enabled", {"quietHours": {"enabled": "yes"}}), ("enabled", {"quietHours": {"enabled": 1}}),
    *[(name, {"quietHours": {name: value}}) for name in ("from", "to") for value in ("24:00", "7:00", "07:60", "", "0700", 7, "07:00:00", "aa:bb", [])],
    *[("timeZone", {"quietHours": {"timeZone": value}}) for value in ("", "Nowhere/Land", "../../etc/passwd", 1, "x" * 5_000, "/etc/localtime")]],
    ids=lambda value: str(value)[:40])
def test_bad_ones_are_400_and_change_nothing(fleet, field, body):
    driver = fleet.driver()
    prefer(driver, types={"kept": False})
    assert field in driver.refused(400, "PUT", "/api/driver/preferences", {"types": {"other": False}} | body)
    assert driver.done("GET", "/api/driver/preferences")["data"]["types"] == {"kept": False}


def test_who_may(fleet):
    for role, others in [("driver", [fleet.customer(), fleet.admin(), fleet.ops()]), ("customer", [fleet.driver(), fleet.admin(), fleet.ops()])]:
        for method in ("GET", "PUT"):
            fleet.caller().refused(401, method, f"/api/{role}/preferences", {})
            for caller in others:
                caller.refused(403, method, f"/api/{role}/preferences", {})


def test_a_repeated_PUT_is_done_once(fleet):
    driver, key = fleet.driver(), fresh("k")
    first = driver.put("/api/driver/preferences", {"types": {"new_job": False}}, key=key)
    prefer(driver, types={"new_job": True})
    again = driver.put("/api/driver/preferences", {"types": {"new_job": False}}, key=key)
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    assert driver.done("GET", "/api/driver/preferences")["data"]["types"] == {"new_job": True}


# What is done


def cancelled(scene, notification: str, reason: str) -> None:
    [step] = scene.became(notification, "push_cancelled")
    assert step["detail"]["reason"] == reason, step


@pytest.mark.parametrize("name", ["new_job", "job-assigned"])
def test_a_type_that_is_off_is_not_pushed(scene, name):
    """By what apps read in `type`, or by the event's name."""
    phone = scene.ios()
    prefer(phone.owner, types={name: False})
    _, answer = scene.order(phone.owner)
    cancelled(scene, answer["data"]["notificationIds"][0], "preferences")
    # It is in his list all the same.
    assert phone.owner.done("GET", "/api/driver/notifications")["data"]["notifications"][0]["event"] == "job-assigned"
    scene.hear_nothing(phone)
    prefer(phone.owner, types={name: True})
    _, answer = scene.order(phone.owner)
    phone.next(answer["data"]["notificationIds"][0])


def test_a_catalogued_type_that_is_off(scene):
    phone = scene.android()
    prefer(phone.owner, types={"NEW_BATCH_AVAILABLE": False})
    cancelled(scene, scene.announce(phone, "NEW_BATCH_AVAILABLE"), "preferences")
    scene.hear_nothing(phone)


@pytest.mark.parametrize("zone", ["Europe/London", "Asia/Kolkata", "America/Los_Angeles", "Pacific/Chatham"])
def test_quiet_hours_by_the_clock_of_their_zone(scene, zone):
    phone = scene.ios()
    hours = {"enabled": True, "from": clock(zone, -90), "to": clock(zone, 90), "timeZone": zone}
    prefer(phone.owner, quietHours=hours)
    cancelled(scene, scene.announce(phone), "quiet_hours")
    # Where it is another time of day the same hours are over.
    prefer(phone.owner, quietHours={"timeZone": "Asia/Tokyo" if zone != "Asia/Tokyo" else "Europe/London"})
    phone.next(scene.announce(phone))
    prefer(phone.owner, quietHours={"timeZone": zone})
    cancelled(scene, scene.announce(phone), "quiet_hours")
    prefer(phone.owner, quietHours={"from": clock(zone, 90), "to": clock(zone, -90)})
    phone.next(scene.announce(phone))
    prefer(phone.owner, quietHours={"enabled": False, "from": clock(zone, -90), "to": clock(zone, 90)})
    phone.next(scene.announce(phone))


def test_what_is_urgent_comes_in_quiet_hours_too(scene):
    phone = scene.ios()
    prefer(phone.owner, quietHours={"enabled": True, "from": "00:00", "to": "00:00", "timeZone": "Europe/London"})
    code, answer = scene.order(phone.owner)
    cancelled(scene, answer["data"]["notificationIds"][0], "quiet_hours")
    answer = scene.dispatcher.order(code, "unassign")
    assert phone.next(answer["data"]["notificationIds"][0]).data["event"] == "order-removed"
    code, answer = scene.order(phone.owner)
    cancelled(scene, answer["data"]["notificationIds"][0], "quiet_hours")
    answer = scene.dispatcher.order(code, "cancel-enhanced", reason="rain")
    assert phone.next(answer["data"]["notificationIds"][0]).data["event"] == "job-cancelled"


def test_an_arrival_is_urgent(scene):
    customer, driver, code = scene.customer(), scene.driver(), fresh("O")
    phone = scene.ios(customer)
    prefer(customer, quietHours={"enabled": True, "from": "12:00", "to": "12:00"})
    scene.dispatcher.assign(code, driver.subject, customerId=customer.subject)
    driver.accept(code)
    driver.progress(code, "en_route")
    driver.progress(code, "arrived")
    assert phone.next().data["type"] == "driver_arrival"


def test_urgency_is_the_catalogues(pushing):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "Now", "urgent": True}, "BATCH_REASSIGNED": {"title": "Later", "urgent": False}})
    phone = scene.android()
    prefer(phone.owner, quietHours={"enabled": True, "from": "00:00", "to": "00:00"})
    phone.next(scene.announce(phone, "DRIVER_APPROVED"))
    cancelled(scene, scene.announce(phone, "BATCH_REASSIGNED"), "quiet_hours")
