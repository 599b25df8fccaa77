"""Telemetry under every id that a phone knows, the states of notifications, customers' mailboxes."""

import uuid

import pytest

from harness.fleet import Caller, report, unique_id, wait_until

CATALOGUE = ["NEW_BATCH_AVAILABLE", "DRIVER_APPROVED", "DRIVER_REJECTED", "BATCH_REASSIGNED",
             "ORDER_CANCELLED", "driver_arrival"]


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


def reported(fleet, notification: str) -> list[tuple[str, str | None]]:
    """Returns the reported steps of a notification, and the ids under which they were reported."""
    steps = fleet.dispatcher.expect_ok("GET", f"/api/ops/notifications/{notification}")["steps"]
    return [(step["step"], step["detail"].get("reportedAs")) for step in steps
            if step["step"].startswith(("received", "action"))]


# Ids


@pytest.mark.parametrize("kind", ["ios", "android"])
@pytest.mark.parametrize("name", ["job-assigned", *CATALOGUE])
def test_every_id_of_a_push_finds_its_notification(fleet, kind, name):
    driver = fleet.driver()
    device = fleet.device(kind, driver)
    if name == "job-assigned":
        notification = fleet.order(driver)[1]["data"]["notificationIds"][0]
    else:
        notification = fleet.announce(driver, name)
    fleet.wait_for_accepted(notification)
    push, message = device.next(notification), device.message_ids()[0]
    ids = {push.data["notificationId"], message, push.collapse_id}
    if kind == "ios":
        ids.add(str(uuid.UUID(message)).upper())
    known = push.data["type"]
    for event in ("received", "action_view_now"):
        for each in sorted(ids):
            report(driver, each, event, known, "e1" if known.islower() else None)
    assert [step for step, _ in reported(fleet, notification)] == ["received", "action_view_now"]


def test_reported_id_is_shown(fleet):
    driver = fleet.driver()
    device = fleet.android(driver)
    notification = fleet.announce(driver)
    fleet.wait_for_accepted(notification)
    [message] = device.message_ids()
    report(driver, message)
    report(driver, notification, "action_accept")
    assert reported(fleet, notification) == [("received", message), ("action_accept", None)]


def test_collapse_id_means_the_newest_push_to_this_person(fleet):
    driver, other = fleet.driver(), fleet.driver()
    for each in (driver, other):
        fleet.ios(each)
    code, assigned = fleet.order(driver)
    fleet.wait_for_accepted(first := assigned["data"]["notificationIds"][0])
    moved = fleet.dispatcher.assign(code, other.subject)["data"]["notificationIds"]
    for notification in moved[:2]:
        fleet.wait_for_accepted(notification)
    report(driver, f"order:{code}")
    report(other, f"order:{code}")
    assert [reported(fleet, each) for each in (first, *moved[:2])] == [
        [], [("received", f"order:{code}")], [("received", f"order:{code}")]]


def test_steps_under_an_unknown_id_are_shown(fleet):
    message = f"0:{uuid.uuid4().int}%ab"
    path = f"/api/ops/notifications/{message.replace('%', '%25')}"
    fleet.dispatcher.expect_error(404, "GET", path)
    report(fleet.driver("d1"), message)
    received = fleet.dispatcher.expect_ok("GET", path)
    assert received["notification"] is None
    assert [(step["step"], step["by"]) for step in received["steps"]] == [
        ("received", "driver:d1")]


# Counts


def test_each_state_is_counted_once(fleet):
    driver = fleet.driver()
    for _ in range(2):
        fleet.ios(driver)
    notification = fleet.announce(driver)
    fleet.wait_for_accepted(notification, 2)
    for _ in range(2):
        for event in ("received", "action_view_now", "action_accept", "action_dismiss"):
            report(driver, notification, event, "DRIVER_APPROVED")
        driver.expect_ok("POST", "/api/driver/notifications/read", {"ids": [notification]})
        report(fleet.driver(), notification)
    metrics = fleet.metrics()
    assert {state: metrics.value("fleetwire_notifications_total", event="driver-approved",
                                 state=state)
            for state in ("created", "pushed", "received", "viewed", "accepted", "dismissed",
                          "read")} == dict.fromkeys(
        ("created", "pushed", "received", "viewed", "accepted", "dismissed", "read"), 1)
    assert metrics.value("fleetwire_telemetry_total", event="received",
                         type="DRIVER_APPROVED") == 1
    assert metrics.value("fleetwire_telemetry_total", event="received", type="new_job") == 2
    assert metrics.total("fleetwire_telemetry_repeated_total") == 4
    stats = fleet.dispatcher.expect_ok("GET", "/api/ops/stats")["fleet"]["telemetry"]
    assert stats == {"received": 3, "action_view_now": 1, "action_accept": 1, "action_dismiss": 1}


def test_expired_notifications_are_counted_once(start_push_fleet):
    fleet = start_push_fleet(catalogue={"DRIVER_APPROVED": {"lifetime": "1s"}})
    known, seen = fleet.driver(), fleet.driver()
    fleet.announce(known)
    report(seen, fleet.announce(seen))
    fleet.announce({"all": True})
    fleet.wait_for_metric("notifications_total", 2, event="driver-approved", state="expired")


def test_steps_beyond_the_limit_are_counted(fleet):
    driver = fleet.driver()
    body = {"type": "new_job", "entityId": "e1", "event": "received",
            "timestamp": "2026-03-01T10:00:00.000Z"}
    for batch in range(11):
        events = [body | {"notificationId": f"unknown-{batch}-{number}"} for number in range(100)]
        # A list of so many events takes twenty of the tokens that the driver gets in a second.
        wait_until(lambda: driver.post("/api/driver/notifications/log", {"events": events}).status == 200,
                   "the driver's rate permits the events")
    metrics = fleet.metrics()
    assert metrics.total("fleetwire_telemetry_dropped_total") == 100
    assert metrics.total("fleetwire_telemetry_total") == 1_000


# Customers


def test_customers_list_and_read_what_they_are_pushed(fleet):
    """The order names no customer: the tokens' bookings do, and there may be several customers."""
    reference, code, driver = unique_id("R"), unique_id("O"), fleet.driver(name="Dan")
    people = [fleet.customer(bookings=[reference]) for _ in range(2)]
    devices = [fleet.ios(person) for person in people]
    fleet.dispatcher.assign(code, driver.subject, bookingReference=reference)
    driver.accept(code)
    driver.progress(code, "en_route")
    driver.progress(code, "arrived")
    arrival = []
    for device in devices:
        while (push := device.next()).data["event"] != "driver-arrival":
            pass
        arrival.append(push.notification)
    assert arrival[0] == arrival[1]
    greeting = fleet.announce(people[0])
    removal = fleet.dispatcher.order(code, "remove-driver")["data"]["notificationIds"][2]

    def listed(person: Caller, query: str = "") -> list[dict]:
        return person.expect_ok("GET", f"/api/customer/notifications{query}")["data"][
            "notifications"]

    def page(person: Caller) -> list[tuple]:
        return [(each["id"], each["event"], each["channel"], each["readAt"] is not None)
                for each in listed(person)
                if each["event"] not in ("driver-assigned", "driver-en-route")]

    booking = f"booking-{reference}"
    assert page(people[0]) == [
        (removal, "driver-removed", booking, False),
        (greeting, "driver-approved", f"customer-{people[0].subject}", False),
        (arrival[0], "driver-arrival", booking, False)]
    assert [each["id"] for each in listed(people[0], f"?before={removal}&limit=1")] == [greeting]
    assert listed(people[0], f"?before={greeting}")[0]["id"] == arrival[0]
    assert people[0].expect_ok("POST", "/api/customer/notifications/read",
                               {"ids": [arrival[0]]})["data"] == {"read": 1}
    report(people[0], removal, "action_view_now", "job_update")
    assert [each[3] for each in page(people[0])] == [False, False, True]
    assert [each[3] for each in page(people[1])] == [False, False]
    devices[0].next(greeting)
    devices[0].next(removal)
    devices[1].next(removal)
    assert devices[0].next(fleet.announce(people[0])).badge == 4, "the greeting, and this"
    assert devices[1].next(fleet.announce(people[1])).badge == 5
    assert people[1].expect_ok("POST", "/api/customer/notifications/read",
                               {"all": True})["data"] == {"read": 5}
