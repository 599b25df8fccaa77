"""The pushes of each action: recipients, one per device, and the data that apps read."""

import datetime
import json
import re

import pytest

from harness.fleet import report, unique_id
from harness.push.devices import Push

PLACES = {"customerName": "Ann Öz 🚚", "pickupAddress": "1 \"High\" St",
          "dropoffAddress": "2 Low Rd"}
FIRST_FIELDS = ["type", "event", "notificationId", "entityId"]
HOUR = 3_600  # seconds


class Scenario:
    """One order and one route; two drivers with an iOS and an Android device each, and a customer
    with one of each.
    """

    def __init__(self, fleet):
        self.fleet, self.admin = fleet, fleet.dispatcher
        self.code, self.booking, self.reference, self.route = (
            unique_id("O"), unique_id("B"), unique_id("R"), unique_id("T"))
        self.old, self.new, self.customer = fleet.driver(), fleet.driver(), fleet.customer()
        self.devices = {person.subject: [fleet.ios(person), fleet.android(person)]
                        for person in (self.old, self.new, self.customer)}
        self.fields = {"bookingId": self.booking, "bookingReference": self.reference,
                       "customerId": self.customer.subject,
                       "scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": 42.5} | PLACES
        self.route_fields = {"routeNumber": "RT-7", "bookingsCount": 3, "dropsCount": 5,
                             "earningsAdjustment": -4.25}

    def assign(self, driver=None, **more) -> dict:
        return self.admin.assign(self.code, (driver or self.old).subject, **(self.fields | more))

    def assign_route(self) -> dict:
        return self.admin.route(self.route, "assign-driver", driverId=self.old.subject,
                                **self.route_fields)

    def expect(self, response: dict, *expected: tuple) -> dict[str, list[Push]]:
        """Expects these notifications on each device of these users, none on other devices, and no
        other notification to be pushed.
        """
        ids, received = response["data"]["notificationIds"], {}
        for person, index, event, kind in expected:
            received[person.subject] = pushes = [device.next(ids[index])
                                                 for device in self.devices[person.subject]]
            for push in pushes:
                assert (push.data["event"], push.data["type"]) == (event, kind), push
        pushed = {ids[index] for _, index, _, _ in expected}
        self.fleet.expect_not_pushed(
            *(notification for notification in ids if notification not in pushed))
        for notification in pushed:
            self.fleet.wait_for_accepted(notification,
                                         2 * sum(ids[index] == notification
                                                 for _, index, _, _ in expected))
        for person, index, _, kind in expected:
            self.report(person, ids[index], kind, received[person.subject])
        return received

    def report(self, person, notification: str, kind: str, pushes: list[Push]) -> None:
        """Reports under every id that the phones know that they have received the pushes, and expects
        one step.
        """
        for push in pushes:
            for known in (notification, push.message_id, push.collapse_id):
                report(person, known, kind=kind)
        steps = self.admin.expect_ok("GET", f"/api/ops/notifications/{notification}")["steps"]
        assert [step["by"] for step in steps if step["step"] == "received"].count(
            f"{person.role}:{person.subject}") == 1, steps

    def assert_job(self, push: Push) -> None:
        assert list(push.data)[:7] == [*FIRST_FIELDS, "jobId", "title", "message"], push.data
        assert push.data["entityId"] == push.data["jobId"] == self.booking, push.data

    def assert_route(self, push: Push) -> None:
        assert list(push.data)[:7] == [*FIRST_FIELDS, "routeId", "title", "message"], push.data
        assert push.data["entityId"] == push.data["routeId"] == self.route, push.data


@pytest.fixture
def scenario(start_push_fleet):
    return Scenario(start_push_fleet())


# Orders


def test_assign_is_pushed(scenario):
    response = scenario.assign(driverName="Dan")
    for push in scenario.expect(response,
                                (scenario.old, 0, "job-assigned", "new_job"))[scenario.old.subject]:
        scenario.assert_job(push)
        rest = {name: push.data[name] for name in list(push.data)[7:]}
        assert rest == PLACES | {"bookingId": scenario.booking,
                                 "bookingReference": scenario.reference,
                                 "scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": "42.5",
                                 "correlationId": response["correlationId"]}
        assert (push.title == push.data["title"] == "New job"
                and push.text == push.data["message"] == '1 "High" St to 2 Low Rd')
        assert push.aps["sound"] == "default" and push.aps["thread-id"] == "jobs" and push.is_urgent


def test_reassign_is_pushed(scenario):
    scenario.expect(scenario.assign(), (scenario.old, 0, "job-assigned", "new_job"))
    received = scenario.expect(scenario.assign(scenario.new),
                               (scenario.old, 0, "job-removed", "job_update"),
                               (scenario.new, 1, "job-assigned", "new_job"))
    for push in received[scenario.old.subject]:
        scenario.assert_job(push)
        assert push.data["reason"] == "Reassigned to another driver"


def test_assign_same_driver_sends_no_push(scenario):
    scenario.expect(scenario.assign(), (scenario.old, 0, "job-assigned", "new_job"))
    scenario.expect(scenario.assign())
    scenario.fleet.expect_no_pushes(*scenario.devices[scenario.old.subject])


def test_unassign_is_pushed(scenario):
    scenario.expect(scenario.assign(), (scenario.old, 0, "job-assigned", "new_job"))
    for push in scenario.expect(scenario.admin.order(scenario.code, "unassign", reason="ill"),
                                (scenario.old, 0, "order-removed", "job_update"))[
        scenario.old.subject]:
        scenario.assert_job(push)
        assert (push.text == f"{scenario.reference}: ill"
                and push.data["orderRef"] == scenario.reference)


def test_cancel_is_pushed(scenario):
    scenario.expect(scenario.assign(), (scenario.old, 0, "job-assigned", "new_job"))
    response = scenario.admin.order(scenario.code, "cancel-enhanced", reason="rain")
    for push in scenario.expect(response,
                                (scenario.old, 0, "job-cancelled", "job_update"))[
        scenario.old.subject]:
        scenario.assert_job(push)
        assert push.text == f"{scenario.reference}: rain"


def test_cancel_unassigned_order_sends_no_push(scenario):
    scenario.admin.expect_ok("PUT", f"/api/admin/orders/{scenario.code}", scenario.fields)
    scenario.expect(scenario.admin.order(scenario.code, "cancel-enhanced"))


def test_remove_driver_is_pushed(scenario):
    """The customer gets a push as well."""
    scenario.expect(scenario.assign(), (scenario.old, 0, "job-assigned", "new_job"))
    response = scenario.admin.order(scenario.code, "remove-driver", reason="ill")
    received = scenario.expect(response, (scenario.old, 0, "job-removed", "job_update"),
                               (scenario.customer, 2, "driver-removed", "job_update"))
    for push in received[scenario.customer.subject]:
        scenario.assert_job(push)
        assert push.title == "Your driver has changed" and push.data["reason"] == "ill"


def next_arrival(device) -> Push:
    """The push of the arrival. Those of earlier moments may be sent or superseded."""
    while (push := device.next()).data["event"] != "driver-arrival":
        assert push.data["event"] in ("driver-assigned", "driver-en-route"), push
    return push


def test_claim_and_progress_send_no_push_to_drivers(scenario):
    scenario.admin.expect_ok("PUT", f"/api/admin/orders/{scenario.code}", scenario.fields)
    scenario.old.accept(scenario.code)
    scenario.old.progress(scenario.code, "en_route")
    scenario.fleet.expect_no_pushes(
        *(device for driver in (scenario.old, scenario.new)
          for device in scenario.devices[driver.subject]))


def test_arrival_is_pushed(scenario):
    scenario.expect(scenario.assign(driverName="Dan"), (scenario.old, 0, "job-assigned", "new_job"))
    scenario.old.accept(scenario.code)
    scenario.old.progress(scenario.code, "en_route")
    before = datetime.datetime.now(datetime.timezone.utc)
    scenario.old.progress(scenario.code, "arrived")
    for device in scenario.devices[scenario.customer.subject]:
        push = next_arrival(device)
        scenario.assert_job(push)
        assert (push.data["type"], push.data["event"]) == ("driver_arrival", "driver-arrival")
        assert (push.data["reference"],
                push.data["driver_id"]) == (scenario.reference, scenario.old.subject)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", push.data["timestamp"])
        assert abs(
            (datetime.datetime.fromisoformat(push.data["timestamp"]) - before).total_seconds()) < 10
        assert push.aps == {
            "alert": {"title": "Your driver has arrived!", "body": "Dan is waiting for you"},
            "badge": 3, "sound": "default", "category": "DRIVER_ARRIVAL"}  # the third moment
        assert push.is_urgent and abs(push.expires - before.timestamp() - 600) < 10
    scenario.fleet.expect_no_pushes(*scenario.devices[scenario.old.subject])


@pytest.mark.parametrize("name, shown", [("Dan", "Dan"), (None, "Daniel Account")])
def test_arrival_names_the_driver_of_the_order(scenario, name, shown):
    """The token's name is shown only if the order has none."""
    driver = scenario.fleet.driver(scenario.old.subject, name="Daniel Account")
    scenario.assign(**({"driverName": name} if name else {}))
    driver.accept(scenario.code)
    for step in ("en_route", "arrived"):
        driver.progress(scenario.code, step)
    push = next_arrival(scenario.devices[scenario.customer.subject][0])
    assert push.text == f"{shown} is waiting for you"


def test_arrival_of_a_driver_without_a_name_is_pushed(scenario):
    scenario.assign()
    scenario.old.accept(scenario.code)
    for step in ("en_route", "arrived"):
        scenario.old.progress(scenario.code, step)
    push = next_arrival(scenario.devices[scenario.customer.subject][0])
    assert push.text == "Your driver is waiting for you"


# Routes


def test_assign_route_is_pushed(scenario):
    for push in scenario.expect(scenario.assign_route(),
                                (scenario.old, 0, "route-assigned", "new_route"))[
        scenario.old.subject]:
        scenario.assert_route(push)
        assert (push.data["routeNumber"], push.data["bookingsCount"],
                push.data["dropsCount"]) == ("RT-7", "3", "5")
        assert push.text == "RT-7 has been assigned to you" and push.aps["thread-id"] == "routes"


@pytest.mark.parametrize("action, event",
                         [("cancel", "route-cancelled"), ("unassign", "route-unassigned"),
                          ("drops/D1/remove", "drop-removed")])
def test_other_route_actions_are_pushed(scenario, action, event):
    scenario.expect(scenario.assign_route(), (scenario.old, 0, "route-assigned", "new_route"))
    response = scenario.admin.route(scenario.route, action, reason="flood")
    for push in scenario.expect(response,
                                (scenario.old, 0, event, "route_update"))[scenario.old.subject]:
        scenario.assert_route(push)
        assert push.data["routeNumber"] == "RT-7"


def test_reassign_route_is_pushed(scenario):
    scenario.assign_route()
    for device in scenario.devices[scenario.old.subject]:
        device.next()  # an unsent push would be superseded
    response = scenario.admin.route(scenario.route, "assign-driver", driverId=scenario.new.subject)
    scenario.expect(response, (scenario.old, 0, "route-unassigned", "route_update"),
                    (scenario.new, 1, "route-assigned", "new_route"))


# Fields


def test_missing_fields_are_omitted(scenario):
    """Neither null nor the string "null"."""
    response = scenario.admin.assign(scenario.code, scenario.old.subject)
    for push in scenario.expect(response,
                                (scenario.old, 0, "job-assigned", "new_job"))[scenario.old.subject]:
        assert push.data.keys() == {*FIRST_FIELDS, "jobId", "title", "message", "bookingId",
                                    "bookingReference", "correlationId"}
        assert push.text == "Pickup to destination" and push.data["entityId"] == scenario.code


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_reserved_names_are_dropped_and_contract_fields_kept(scenario, kind):
    device = scenario.devices[scenario.old.subject][kind == "android"]
    data = {name: "forged"
            for name in ("aps", "from", "message_type", "google.x", "gcm.y", "gcm", "GOOGLE",
                         "type", "event", "title", "notificationId")}
    push = device.next(
        scenario.fleet.announce(scenario.old, "NEW_BATCH_AVAILABLE", **data, batchId="B1", count=3,
                                price=1.50, yes=True, no=None, deep={"a": 1}, many=[1]))
    assert ("forged" not in push.data.values() and push.data["type"] == "NEW_BATCH_AVAILABLE"
            and push.data["event"] == "new-batch-available")
    assert (
        {name: push.data[name]
         for name in ("batchId", "count", "yes")} == {"batchId": "B1", "count": "3", "yes": "true"}
        and float(push.data["price"]) == 1.5)
    assert not push.data.keys() & {"aps", "from", "message_type", "google.x", "gcm.y", "gcm",
                                   "GOOGLE", "no", "deep", "many"}
    assert push.data["entityId"] == "B1"


@pytest.mark.parametrize("kind", ["ios", "android"])
@pytest.mark.parametrize("text", ["x", "é", "👩‍👩‍👧‍👦", "e\u0301\u0323", "漢", "\"\\\n", "🇬🇧"],
                         ids=ascii)
def test_long_texts_are_cut_between_characters(scenario, kind, text):
    """Contract fields are never cut; the fakes check the size in bytes."""
    device = scenario.devices[scenario.old.subject][kind == "android"]
    copies = 9_000 // len(json.dumps(text, ensure_ascii=False).encode())
    push = device.next(
        scenario.fleet.announce(scenario.old, "NEW_BATCH_AVAILABLE", message=text * (copies // 2),
                                notes=text * (copies // 2), batchId="B1"))
    for value in (push.data["message"], push.text, push.data.get("notes", text)):
        cut = value.rstrip("…")
        assert (text * copies).startswith(cut), value[-30:]
        assert text == "\"\\\n" or len(cut) % len(text) == 0, value[-30:]
    assert (push.data["batchId"] == push.data["entityId"] == "B1"
            and push.title == push.data["title"] == "New Batch Available!")


def test_priority_lifetime_and_collapse_id_of_the_catalogue(start_push_fleet):
    """As configured in the catalogue's entry."""
    entries = {
        "job-assigned": {"title": "T", "body": "{customerName|unknown}", "sound": "",
                         "category": "CAT", "thread": "th", "channel_id": "ch",
                         "priority": "normal", "lifetime": "2h", "collapse": "order",
                         "data_type": "custom"},
        "order-removed": {"title": "Gone", "collapse": "notification", "lifetime": "30m",
                          "sound": "horn.caf"}}
    scenario = Scenario(start_push_fleet(catalogue=entries))
    response = scenario.assign()
    first = [device.next(response["data"]["notificationIds"][0])
             for device in scenario.devices[scenario.old.subject]]
    for push in first:
        assert (push.title, push.text, push.data["type"]) == ("T", PLACES["customerName"], "custom")
        assert (push.aps["category"] == "CAT" and push.aps["thread-id"] == "th"
                and "sound" not in push.aps and not push.is_urgent)
        path = f"/api/ops/notifications/{push.notification}"
        notification = scenario.admin.expect_ok("GET", path)["notification"]
        expires = datetime.datetime.fromisoformat(notification["expiresAt"])
        assert (abs(push.expires - expires.timestamp()) <= 1
                and abs(
            (expires - datetime.datetime.fromisoformat(
                notification["createdAt"])).total_seconds() - 2 * HOUR) < 1)
    assert first[0].collapse_id == first[1].collapse_id != first[0].notification
    android = first[1].android
    assert (android["notification"]["channel_id"] == "ch"
            and android["priority"].upper() == "NORMAL" and android.get("collapse_key"))
    response = scenario.admin.order(scenario.code, "unassign")
    second = [device.next(response["data"]["notificationIds"][0])
              for device in scenario.devices[scenario.old.subject]]
    for push in second:
        assert (push.collapse_id == push.notification and push.is_urgent
                and push.aps["sound"] == "horn.caf")
    assert "collapse_key" not in second[1].android


def test_newer_event_of_an_order_replaces_the_older(scenario):
    devices = scenario.devices[scenario.old.subject]
    scenario.assign()
    pushed = [[device.next()] for device in devices]  # an unsent push would be superseded
    scenario.admin.order(scenario.code, "unassign")
    for device, pushes in zip(devices, pushed):
        pushes.append(device.next())
    scenario.assign_route()
    for device, (first, second) in zip(devices, pushed):
        route = device.next()
        assert (first.collapse_id == second.collapse_id
                and len(
            {first.collapse_id, route.collapse_id, first.notification, second.notification}) == 4)


def test_code_of_150_characters_makes_a_valid_collapse_id(scenario):
    scenario.code = "O" * 150
    response = scenario.assign()
    scenario.expect(response, (scenario.old, 0, "job-assigned", "new_job"))
