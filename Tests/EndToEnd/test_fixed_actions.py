"""What existing apps read of orders, routes and announcements: the events of every action, the answers to drivers, and
the words of the catalogued pushes.
"""

import json

import pytest

from harness.contract import (MILLIS, SECONDS, TEXT, ULID, Events, Kind, Row, World, changes, check, check_can_fail,
                              check_events, check_events_can_fail, differences, event, sample, text_like)
from harness.fleet import SETTINGS as FLEET
from harness.fleet import unique_id

SETTINGS = FLEET
PLACES = {"customerName": "Ann Öz 🚚", "pickupAddress": "1 \"High\" St", "dropoffAddress": "2 Low Rd"}
IDS = {"bookingId": "{booking}", "bookingReference": "{reference}"}
FIELDS = IDS | PLACES | {"scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": 42.5}
ROUTE_FIELDS = {"routeNumber": "RT-7", "bookingsCount": 3, "dropsCount": 5, "earningsAdjustment": -4.25}
JOB, ROUTE = "/api/driver/jobs/{code}", "/api/driver/routes/{route}"


class Actions(World):
    """An order and a route, and two drivers."""

    def __init__(self, fleet):
        super().__init__()
        old, new = fleet.driver(name="Dan"), fleet.driver(name="Eve")
        self.callers = {"admin": fleet.admin(), "old": old, "new": new, "customer": fleet.customer()}
        self.values = {name: unique_id(name[0]) for name in ("code", "booking", "reference", "route", "key", "other")} | {
            "old": old.subject, "new": new.subject}

    def act(self, request: str, body=None, **more) -> None:
        response = self.perform(request, body or {}, **more)
        assert response.status == 200, response

    def known(self) -> None:
        self.act("admin PUT /api/admin/orders/{code}", FIELDS)

    def assigned(self) -> None:
        self.act("admin POST /api/admin/orders/{code}/assign-driver", FIELDS | {"driverId": "{old}"})

    def accepted(self) -> None:
        self.assigned()
        self.act(f"old POST {JOB}/accept")

    def accepted_with_key(self) -> None:
        self.assigned()
        self.act(f"old POST {JOB}/accept", key=self.values["key"])

    def en_route(self) -> None:
        self.accepted()
        response = self.perform(f"old PUT {JOB}/progress", {"step": "en_route"})
        self.values["since"] = response.json()["data"]["timestamp"]

    def completed(self) -> None:
        self.accepted()
        for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
            self.act(f"old PUT {JOB}/progress", {"step": step})

    def cancelled(self) -> None:
        self.act("admin POST /api/admin/orders/{code}/cancel-enhanced")

    def taken(self) -> None:
        self.act("admin POST /api/admin/orders/{code}/assign-driver", FIELDS | {"driverId": "{new}"})

    def route_assigned(self) -> None:
        self.act("admin POST /api/admin/routes/{route}/assign-driver", ROUTE_FIELDS | {"driverId": "{old}"})

    def route_accepted_with_key(self) -> None:
        self.route_assigned()
        self.act(f"old POST {ROUTE}/accept", key=self.values["key"])


# The action table

OLD, NEW, ALL, OFFICE = "driver-{old}", "driver-{new}", "drivers-channel", "admin-channel"
BOOKING, TRACKING = "booking-{reference}", "tracking-{reference}"
ORDER, ROUTES = "admin POST /api/admin/orders/{code}", "admin POST /api/admin/routes/{route}"
ROUTE_IDS = {"routeId": "{route}", "routeNumber": "RT-7"}
COUNTS = {"bookingsCount": 3, "dropsCount": 5}


def assigned(driver: str, name) -> list:
    who = IDS | {"driverId": f"{{{driver}}}", "driverName": name}
    return [event(f"driver-{{{driver}}}", "job-assigned", **FIELDS, message="New job assigned to you"),
            event(OFFICE, "job-assigned", **who), event(OFFICE, "order-assigned", **who)]


def cancelled(driver, reason) -> list:
    return [event(ALL, "job-cancelled", **IDS, reason=reason,
                  message="This job has been cancelled and is no longer available"),
            event(TRACKING, "tracking-stopped", reason="booking_cancelled",
                  message="Tracking stopped due to booking cancellation"),
            event(OFFICE, "order-cancelled", **IDS, driverId=driver, reason=reason)]


def route_assigned(driver: str) -> list:
    return [event(f"driver-{{{driver}}}", "route-assigned", **ROUTE_IDS, **COUNTS, message="New route assigned to you"),
            event(OFFICE, "route-assigned", **ROUTE_IDS, driverId=f"{{{driver}}}", driverName=None, reason=None)]


def accepted() -> list:
    told = IDS | {"driverName": "Dan", "step": "accepted", "timestamp": MILLIS}
    moment = {"reference": "{reference}", "driver_id": "{old}", "driverName": "Dan", "timestamp": SECONDS}
    vehicle = dict.fromkeys(["vehicle_make", "vehicle_model", "vehicle_color", "license_plate"])
    return [event(OFFICE, "job-accepted", driverId="{old}", **told), event(BOOKING, "job-accepted", **told),
            event(BOOKING, "driver-assigned", **moment, **vehicle)]


ROUTE_UNASSIGNED = event(OLD, "route-unassigned", **ROUTE_IDS, **COUNTS, message="Route unassigned by admin",
                         earningsAdjustment=-4.25)
EVENTS = [
    Events(f"{ORDER}/assign-driver", assigned("old", "Dan"), FIELDS | {"driverId": "{old}", "driverName": "Dan"}),
    Events(f"{ORDER}/assign-driver", assigned("old", None), FIELDS | {"driverId": "{old}"}),
    Events(f"{ORDER}/assign-driver", [
        event(OLD, "job-removed", **IDS, reason="Reassigned to another driver", message="This job has been reassigned"),
        *assigned("new", None)], {"driverId": "{new}"}, "assigned"),
    Events(f"{ORDER}/assign-driver", [], {"driverId": "{old}"}, "assigned"),
    Events(f"{ORDER}/unassign", [
        event(OLD, "order-removed", orderRef="{reference}", message="Order has been removed from your schedule by admin",
              reason="ill"),
        event(OLD, "schedule-updated", type="order_removed", orderRef="{reference}", timestamp=MILLIS),
        event(ALL, "job-available-again", **IDS, message="This job is now available"),
        event(OFFICE, "order-unassigned", **IDS, driverId="{old}", reason="ill")], {"reason": "ill"}, "assigned"),
    Events(f"{ORDER}/cancel-enhanced", [
        event(OLD, "job-cancelled", **IDS, reason="rain", message="Your assigned job has been cancelled"),
        event(OLD, "job-removed-from-list", **IDS, message="This job has been removed from your active jobs"),
        *cancelled("{old}", "rain")], {"reason": "rain"}, "assigned"),
    Events(f"{ORDER}/cancel-enhanced", cancelled(None, None), {}, "known"),
    Events(f"{ORDER}/remove-driver", [
        event(OLD, "job-removed", **IDS, reason="late", removedAt=MILLIS, message="You have been removed from this job"),
        event(ALL, "job-available-again", **IDS, **PLACES, availableAt=MILLIS, message="This job is now available again"),
        event(BOOKING, "driver-removed", reason="late", removedAt=MILLIS, message="Your driver has been changed"),
        event(OFFICE, "driver-removed", **IDS, driverId="{old}", reason="late")], {"reason": "late"}, "assigned"),
    Events(f"{ROUTES}/assign-driver", route_assigned("old"), ROUTE_FIELDS | {"driverId": "{old}"}),
    Events(f"{ROUTES}/assign-driver", [ROUTE_UNASSIGNED, *route_assigned("new")], {"driverId": "{new}"}, "route_assigned"),
    Events(f"{ROUTES}/unassign", [ROUTE_UNASSIGNED, event(OFFICE, "route-unassigned", **ROUTE_IDS, driverId="{old}",
                                                          reason="merged")], {"reason": "merged"}, "route_assigned"),
    Events(f"{ROUTES}/cancel", [
        event(OLD, "route-cancelled", **ROUTE_IDS, message="Route has been cancelled by admin", reason="snow",
              bookingsCount=3, cancelledAt=MILLIS),
        event(OFFICE, "route-cancelled", **ROUTE_IDS, driverId="{old}", reason="snow")], {"reason": "snow"}, "route_assigned"),
    Events(f"{ROUTES}/drops/D9/remove", [
        event(OLD, "drop-removed", **ROUTE_IDS, dropId="D9", reason="closed",
              message="A drop has been removed from your route"),
        event(OLD, "schedule-updated", type="drop_removed", routeId="{route}", timestamp=MILLIS),
        event(OFFICE, "drop-removed", **ROUTE_IDS, dropId="D9", driverId="{old}", reason="closed")],
        {"reason": "closed"}, "route_assigned"),
    Events(f"old POST {JOB}/accept", accepted(), {}, "assigned"),
    Events(f"old POST {JOB}/accept", [*assigned("old", "Dan")[1:], *accepted()], {}, "known"),
    Events(f"old POST {JOB}/accept", [], {}, "accepted"),
    Events(f"old PUT {JOB}/progress", [], {"step": "en_route"}, "en_route"),
    Events(f"old POST {ROUTE}/accept", [event(OFFICE, "route-accepted", **ROUTE_IDS, driverId="{old}", driverName="Dan",
                                              step="accepted", timestamp=MILLIS)], {}, "route_assigned"),
    # Announcements
    *(Events("admin POST /api/admin/notifications", [event(OLD, name, **data | added)],
             {"type": kind, "to": {"driver": "{old}"}, "data": data})
      for kind, name, data, added in (
          ("NEW_BATCH_AVAILABLE", "new-batch-available", {"batchId": "B1", "orderCount": 12}, {}),
          ("DRIVER_APPROVED", "driver-approved", {}, {"action": "navigate_home"}),
          ("DRIVER_APPROVED", "driver-approved", {"action": "navigate_away"}, {}),
          ("DRIVER_REJECTED", "driver-rejected", {"reason": "Blurred"}, {"action": "navigate_rejection"}),
          ("BATCH_REASSIGNED", "batch-reassigned", {"batchId": "B1"}, {}),
          ("ORDER_CANCELLED", "order-cancelled", {"orderId": "O1", "batchId": "B1"}, {}))),
]

# Answers


def ok(message, **data) -> dict:
    return {"success": True, "message": message, "data": data}


def bad(error) -> dict:
    return {"success": False, "error": error}


def refused_step(before: str, wanted: str, following: str) -> Row:
    state = {"en_route": "en_route", "accepted": "accepted", "completed": "completed", "assigned": "assigned"}[before]
    return Row(f"old PUT {JOB}/progress", 400, bad(f"Cannot transition from {before} to {wanted}. {following}"),
               {"step": wanted}, state)


def done(message, kind: str, notifications: int, *keys: str) -> dict:
    """The answer to a dispatcher's action."""
    shown = Kind(f"an object with {keys}", lambda value: set(keys) <= set(value))
    ids = Kind(f"{notifications} ids", lambda value: len(value) == notifications and all(map(ULID.accepts, value)))
    return ok(message, **{kind: shown, "notificationIds": ids}) | {"correlationId": TEXT}


SHOWN_ORDER, SHOWN_ROUTE = ("code", "status", "driverId", "version", *FIELDS), ("id", "status", "driverId", "version", *ROUTE_FIELDS)
ALREADY = text_like('a text with "already assigned"', ".*already assigned.*")
SIGNATURE = text_like("a signature by key1", r"key1:[0-9a-f]{64}")
WHO = Kind("the driver with a name", lambda text: json.loads(text)["id"].startswith("driver:")
           and json.loads(text)["user_info"] == {"name": "Dan"})

ROWS = [
    Row(f"{ORDER}/assign-driver", 200, done(TEXT, "order", 3, *SHOWN_ORDER), FIELDS | {"driverId": "{old}"}),
    Row(f"{ORDER}/assign-driver", 200, done(ALREADY, "order", 0, *SHOWN_ORDER), {"driverId": "{old}"}, "assigned"),
    Row(f"{ORDER}/unassign", 200, done(TEXT, "order", 4, *SHOWN_ORDER), {}, "assigned"),
    Row(f"{ORDER}/remove-driver", 200, done(TEXT, "order", 4, *SHOWN_ORDER), {}, "assigned"),
    Row(f"{ORDER}/cancel-enhanced", 200, done(TEXT, "order", 5, *SHOWN_ORDER), {}, "assigned"),
    Row(f"{ROUTES}/assign-driver", 200, done(TEXT, "route", 2, *SHOWN_ROUTE), ROUTE_FIELDS | {"driverId": "{old}"}),
    Row(f"{ROUTES}/unassign", 200, done(TEXT, "route", 2, *SHOWN_ROUTE), {}, "route_assigned"),
    Row(f"{ROUTES}/cancel", 200, done(TEXT, "route", 2, *SHOWN_ROUTE), {}, "route_assigned"),
    Row(f"{ROUTES}/drops/D9/remove", 200, done(TEXT, "route", 3, *SHOWN_ROUTE), {}, "route_assigned"),
    Row("old POST /pusher/auth", 200, {"auth": SIGNATURE}, {"socket_id": "1.2", "channel_name": "private-driver-{old}"}),
    Row("old POST /pusher/user-auth", 200, {"auth": SIGNATURE, "user_data": WHO}, {"socket_id": "1.2"}),
    Row("new POST /pusher/auth", 403, {"error": TEXT}, {"socket_id": "1.2", "channel_name": "private-driver-{old}"}),
    Row(f"old PUT {JOB}/progress", 200, ok("Progress updated", step="en_route", timestamp=MILLIS),
        {"step": "en_route", "notes": "n", "latitude": 51.5, "longitude": -0.12}, "accepted"),
    # A repetition is answered with the time of the first report
    Row(f"old PUT {JOB}/progress", 200, ok("Progress updated", step="en_route", timestamp="{since}"), {"step": "en_route"},
        "en_route"),
    refused_step("en_route", "in_transit", "Must go to arrived first."),
    refused_step("en_route", "accepted", "Must go to arrived first."),
    refused_step("accepted", "loading", "Must go to en_route first."),
    refused_step("accepted", "assigned", "Must go to en_route first."),
    refused_step("completed", "arrived", "The job is completed."),
    Row(f"new PUT {JOB}/progress", 403, bad(TEXT), {"step": "en_route"}, "accepted"),
    Row(f"old PUT {JOB}/progress", 400, bad(TEXT), {"step": "flying"}, "accepted"),
    Row(f"new POST {JOB}/accept", 409, bad("This job has already been accepted by another driver"), {}, "accepted"),
    Row(f"old POST {JOB}/accept", 409, bad("Order {code} is cancelled"), {}, "assigned cancelled"),
    Row("old POST /api/driver/jobs/{other}/accept", 404, bad(TEXT), {}),
    Row("old POST /api/driver/notifications/log", 200, {"success": True}, {
        "notificationId": "n-1", "type": "new_job", "entityId": "e1", "event": "received",
        "timestamp": "2026-03-01T10:00:00.000Z", "metadata": {"title": "t", "message": "m"}}),
    Row("old POST /api/driver/notifications/log", 200, {"success": True}, {"events": [
        {"notificationId": "n-1", "type": kind, "entityId": "e1", "event": name, "timestamp": "2026-03-01T10:00:00.000Z"}
        for kind in ("new_job", "job_update", "new_route", "route_update")
        for name in ("received", "action_view_now", "action_accept", "action_dismiss")]}),
    Row("old POST /app-register-device", 200, {"success": True}, {"deviceToken": "ab" * 32, "platform": "ios"}),
    Row("customer POST /app-register-device", 200, {"success": True}, {"deviceToken": "fcm" * 30, "platform": "android"}),
    Row("old DELETE /app-register-device", 200, {"success": True}, {"deviceToken": "ab" * 32, "platform": "ios"}),
    Row("old POST /api/auth/fcm-token", 200, {"message": "FCM token registered", "data": None, "error": None},
        {"fcmToken": "f" * 100, "deviceId": "phone-1"}),
    Row("old DELETE /api/auth/fcm-token", 200, {"message": "FCM token removed", "data": None, "error": None},
        {"fcmToken": "f" * 100}),
]

MESSAGES = [
    Row(f"old POST {JOB}/accept", 200, "Job accepted successfully", {}, "assigned"),
    Row(f"old POST {JOB}/accept", 200, "Job accepted successfully", {}, "known"),
    Row(f"old POST {JOB}/accept", 200, "Job already accepted", {}, "accepted"),
    Row(f"old POST {JOB}/accept", 200, "Job already accepted", {}, "accepted_with_key", key="{key}",
        answered={"idempotency-replayed": "true"}),
    Row(f"old POST {ROUTE}/accept", 200, "Route accepted successfully", {}, "route_assigned"),
    Row(f"old POST {ROUTE}/accept", 200, "Route already accepted", {}, "route_accepted_with_key", key="{key}",
        answered={"idempotency-replayed": "true"}),
]

# The words and fields of the catalogued pushes: type, data of the announcement, title, body, fields in the push. `action`
# is added where the sender left it out.

APPROVED = ("Registration Approved!", "Your driver registration has been approved. Start delivering now!")
REJECTED = ("Registration Update", "Your registration needs attention. Tap to see details.")
BATCH = {"batchId": "B1", "batchNumber": "BATCH-7", "zone": "Andheri"}
ORDER_IDS = {"orderId": "O1", "batchId": "B1"}
PUSHES = [
    ("NEW_BATCH_AVAILABLE", BATCH | {"orderCount": 12}, "New Batch Available!", "BATCH-7 in Andheri (12 orders)",
     BATCH | {"orderCount": "12"}),
    ("NEW_BATCH_AVAILABLE", {}, "New Batch Available!", "A batch of orders is waiting for a driver", {}),
    ("NEW_BATCH_AVAILABLE", BATCH, "New Batch Available!", "A batch of orders is waiting for a driver", BATCH),
    ("DRIVER_APPROVED", {}, *APPROVED, {"action": "navigate_home"}),
    ("DRIVER_APPROVED", {"action": "navigate_away"}, *APPROVED, {"action": "navigate_away"}),
    ("DRIVER_REJECTED", {"reason": "Blurred"}, *REJECTED, {"action": "navigate_rejection", "reason": "Blurred"}),
    ("DRIVER_REJECTED", {}, *REJECTED, {"action": "navigate_rejection"}),
    ("BATCH_REASSIGNED", {"batchId": "B1"}, "Batch Reassigned", "Your batch has been reassigned by admin", {"batchId": "B1"}),
    ("BATCH_REASSIGNED", {}, "Batch Reassigned", "Your batch has been reassigned by admin", {}),
    ("ORDER_CANCELLED", ORDER_IDS | {"orderNumber": "17"}, "Order Cancelled", "Order #17 has been cancelled by customer",
     ORDER_IDS | {"orderNumber": "17"}),
    ("ORDER_CANCELLED", ORDER_IDS | {"orderNumber": "17", "cancelledBy": "admin"}, "Order Cancelled",
     "Order #17 has been cancelled by admin", ORDER_IDS | {"orderNumber": "17", "cancelledBy": "admin"}),
    ("ORDER_CANCELLED", {}, "Order Cancelled", "An order has been cancelled", {}),
    *((kind, {"message": "Come in"}, title, "Come in", fields) for kind, title, fields in (
        ("NEW_BATCH_AVAILABLE", "New Batch Available!", {}), ("DRIVER_APPROVED", APPROVED[0], {"action": "navigate_home"}),
        ("DRIVER_REJECTED", REJECTED[0], {"action": "navigate_rejection"}), ("BATCH_REASSIGNED", "Batch Reassigned", {}),
        ("ORDER_CANCELLED", "Order Cancelled", {}))),
]


@pytest.fixture
def world(fleet) -> Actions:
    return Actions(fleet)


@pytest.fixture
def listener(fleet, world):
    values = world.values
    return fleet.listen(fleet.admin(), f"driver-{values['old']}", f"driver-{values['new']}", "drivers-channel",
                        f"tracking-{values['reference']}", f"booking-{values['reference']}", "admin-channel")


@pytest.mark.parametrize("row", EVENTS, ids=str)
def test_events(world, row, listener, api):
    check_events(world, row, listener, api)


@pytest.mark.parametrize("row", sample(EVENTS, 5), ids=str)
def test_an_event_that_differs_in_anything_fails(world, row, listener, api):
    check_events_can_fail(world, row, listener, api)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_answers(world, row):
    check(world, row)


@pytest.mark.parametrize("row", sample(ROWS), ids=str)
def test_an_answer_that_differs_in_anything_fails(world, row):
    check_can_fail(world, row)


@pytest.mark.parametrize("row", MESSAGES, ids=str)
def test_the_messages_of_accepts(world, row):
    response = world.answer(row)
    body = response.json()
    assert (response.status, body["message"]) == (row.status, row.answer), response
    assert row.answered.items() <= response.headers.items(), response


def test_pushes(start_push_fleet):
    """All fields of each push, on both providers."""
    fleet = start_push_fleet()
    driver = fleet.driver()
    devices = [fleet.ios(driver), fleet.android(driver)]
    for kind, data, title, body, fields in PUSHES:
        notification = fleet.announce(driver, kind, **data)
        for device in devices:
            push = device.next(notification)
            expected = {"type": kind, "event": kind.lower().replace("_", "-"), "notificationId": notification,
                        "title": title, "message": body, "correlationId": TEXT} | fields
            # A push names what it is about, if the announcement did.
            if entity := data.get("orderId", data.get("batchId")):
                expected["entityId"] = entity
            received = push.data
            found = list(differences(expected, received))
            assert not found and (push.title, push.text) == (title, body), (kind, data, found, push.title, push.text)
            assert all(list(differences(each, received)) for each in changes(expected))
