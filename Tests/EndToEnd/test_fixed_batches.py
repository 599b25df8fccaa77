"""What existing apps read of batches of orders: every answer of the driver's endpoints, every refusal, every event."""

import pytest

from harness.batches import (ADDRESS, ITEMS, KITCHEN, PHOTO, ZONE, Batch, accept, deliver, fail, hire, my_batch, object_id, ok,
                             order, pick_up, report)
from harness.contract import (ACCOUNT_ID, MILLIS, TEXT, Events, Row, World, check, check_can_fail, check_events,
                              check_events_can_fail, event, sample)
from harness.fleet import unique_id
from harness.people_fixtures import module_settings, server  # noqa: F401


class Batches(World):
    """A batch of two orders, the first of which has the code 0042; `mine` accepts it, `other` does not."""

    def __init__(self, fleet, closing):
        super().__init__()
        self.admin, self.zone = fleet.admin(), ZONE | {"_id": object_id()}
        self.callers = {"admin": self.admin, "mine": closing(hire(fleet.gateway, self.admin)),
                        "other": closing(hire(fleet.gateway, self.admin))}
        self.batch = self.make([order(deliveryOtp="0042"), order()])
        self.orders = self.batch.orders
        first, second = self.batch.fields["orders"]
        self.values = {
            "batch": self.batch.id, "number": self.batch.fields["batchNumber"], "first": first["_id"], "second": second["_id"],
            "firstNumber": first["orderNumber"], "secondNumber": second["orderNumber"], "zone": self.zone["_id"],
            "mine": self.callers["mine"].subject, "account": self.callers["mine"].account,
            "phone": self.callers["mine"].phone.removeprefix("+91"), "other": self.callers["other"].subject,
            "unknown": object_id(), "key": unique_id()}

    def make(self, orders) -> Batch:
        return Batch(self.admin, orders, zone=self.zone)

    def ready(self) -> None:
        self.batch.ready()

    def ready_later(self) -> None:
        self.make(1).ready()

    def accepted(self) -> None:
        self.ready()
        ok(accept(self.callers["mine"], self.batch))

    def accepted_with_key(self) -> None:
        self.ready()
        assert self.perform("mine POST /api/delivery/batches/{batch}/accept", {}, key=self.values["key"]).status == 200

    def accepted_by_other(self) -> None:
        self.ready()
        ok(accept(self.callers["other"], self.batch))

    def busy(self) -> None:
        ok(accept(self.callers["mine"], self.make(1).ready()))

    def seen(self) -> None:
        my_batch(self.callers["mine"])

    def picked_up(self) -> None:
        self.accepted()
        ok(pick_up(self.callers["mine"], self.batch))

    def en_route(self) -> None:
        ok(report(self.callers["mine"], self.orders[0], "EN_ROUTE"))

    def arrived(self) -> None:
        ok(report(self.callers["mine"], self.orders[0], "ARRIVED"))

    def first_delivered(self) -> None:
        ok(deliver(self.callers["mine"], self.orders[0], type="OTP", otp="0042"))

    def first_failed(self) -> None:
        ok(fail(self.callers["mine"], self.orders[0], notes="Nobody"))

    def second_delivered(self) -> None:
        ok(deliver(self.callers["mine"], self.orders[1]))

    def second_failed(self) -> None:
        ok(fail(self.callers["mine"], self.orders[1], "OTHER", notes="The dog"))

    def second_cancelled(self) -> None:
        self.batch.act(f"orders/{self.orders[1]}/cancel", by="customer")

    def five_wrong_codes(self) -> None:
        for _ in range(5):
            assert deliver(self.callers["mine"], self.orders[0], type="OTP", otp="9999").status == 400


def good(message: str, **data) -> dict:
    return {"message": message, "data": data, "error": None}


def bad(message: str, error=TEXT) -> dict:
    return {"message": message, "data": None, "error": error}


def field(name: str, text) -> dict:
    return bad("Validation error", {"fields": {name: text}})


def shown(which: str, number: int, status: str, **more) -> dict:
    """An order as the app shows it. The customer's phone goes when the order is over."""
    over = status in ("DELIVERED", "FAILED", "RETURNED", "CANCELLED")
    return {"_id": f"{{{which}}}", "orderNumber": f"{{{which}Number}}", "items": ITEMS, "status": status,
            "deliveryAddress": ADDRESS | ({"phone": None} if over else {}), "sequenceNumber": number} | more


API = "/api/delivery"
ACCEPT, PICKUP = f"POST {API}/batches/{{batch}}/accept", f"PATCH {API}/batches/{{batch}}/pickup"
COMPLETE, SEQUENCE = f"PATCH {API}/batches/{{batch}}/complete", f"PATCH {API}/batches/{{batch}}/sequence"
READ, REPORT, MY_BATCH = f"GET {API}/batches/{{batch}}", f"PATCH {API}/orders/{{first}}/status", f"GET {API}/my-batch"
HEAD = {"_id": "{batch}", "batchNumber": "{number}"}
TAKEN = bad("Batch already taken or not available", "This batch has been assigned to another driver")
NOT_YOURS = bad("Not assigned to this batch", "You are not assigned to this batch")
NO_BATCH, NO_ORDER = bad("Batch not found"), bad("Order not found")
ACCEPTED = good("Batch accepted", batch=HEAD | {
    "status": "DISPATCHED", "kitchenId": KITCHEN["_id"], "driverId": "{account}", "mealWindow": "DINNER",
    "orderIds": ["{first}", "{second}"], "driverAssignedAt": MILLIS, "dispatchedAt": MILLIS},
    orders=[shown("first", 1, "READY"), shown("second", 2, "READY")], pickupAddress=KITCHEN["address"])
AVAILABLE = {"_id": "{batch}", "batchNumber": "{number}", "kitchen": KITCHEN, "zone": ZONE | {"_id": "{zone}"},
             "orderCount": 2, "mealWindow": "DINNER", "estimatedEarnings": 450.5,
             "windowEndTime": "2099-01-01T12:00:00.000Z", "createdAt": MILLIS}
CURRENT = HEAD | {"kitchenId": KITCHEN, "driverId": "{account}", "mealWindow": "DINNER", "driverAssignedAt": MILLIS,
                  "dispatchedAt": MILLIS}
SUMMARY = {"totalOrders": 2, "delivered": 0, "pending": 2, "failed": 0}
DETAILS = HEAD | {"kitchenId": {name: KITCHEN[name] for name in ("_id", "name", "address")}, "mealWindow": "DINNER",
                  "driverId": {"_id": "{account}", "name": "Rahul Kumar", "phone": "{phone}"}}
TIMES = {"assignedAt": MILLIS, "pickedUpAt": MILLIS, "enRouteAt": None, "arrivedAt": None}
OTP_PROOF = {"type": "OTP", "otp": "0042", "otpVerified": True, "verifiedAt": MILLIS}
SIGNATURE = {"type": "SIGNATURE", "signatureUrl": "https://images.example/s.png"}
HIDDEN = ADDRESS | {"name": None, "phone": None, "flatNumber": None}
OVER = "first_delivered second_failed"


def updated(status: str, delivered: int, failed: int, number: str = "first", **assignment) -> dict:
    times = {"DELIVERED": {"deliveredAt": MILLIS}, "FAILED": {"failedAt": MILLIS}}.get(status, {})
    return good("Delivery status updated",
                order={"_id": f"{{{number}}}", "orderNumber": f"{{{number}Number}}", "status": status} | times,
                assignment={"_id": ACCOUNT_ID, "status": status} | times | assignment,
                batchProgress={"delivered": delivered, "failed": failed, "total": 2})


def proof(**proof) -> dict:
    return {"status": "DELIVERED", "proofOfDelivery": proof}


def completed(status: str, delivered: int, failed: int) -> dict:
    return good("Batch completed", batch=HEAD | {"status": status, "completedAt": MILLIS, "totalDelivered": delivered,
                                                 "totalFailed": failed},
                summary={"totalOrders": 2, "delivered": delivered, "failed": failed})


def numbered(*pairs: tuple) -> dict:
    return {"sequence": [{"orderId": f"{{{name}}}", "sequenceNumber": number} for name, number in pairs]}


def transition(before: str, after: str) -> dict:
    return bad("Invalid status transition", f"Cannot change status from {before} to {after}")


ROWS = [
    # The list
    Row(f"mine GET {API}/available-batches?zone={{zone}}", 200, good("Available batches retrieved", batches=[AVAILABLE]), None,
        "ready"),
    Row(f"mine GET {API}/available-batches?zone={{zone}}", 200, good("Available batches retrieved", batches=[])),
    Row(f"mine GET {API}/available-batches?zone={{zone}}&sort=nearest&latitude=19.1364&longitude=72.8296", 200,
        good("Available batches retrieved", batches=[AVAILABLE | {"distanceKm": 0.0}]), None, "ready"),
    # Accept
    Row(f"mine {ACCEPT}", 200, ACCEPTED, {}, "ready"),
    Row(f"mine {ACCEPT}", 200, ACCEPTED, {}, "accepted"),
    Row(f"mine {ACCEPT}", 200, ACCEPTED, {}, "accepted_with_key", key="{key}", answered={"idempotency-replayed": "true"}),
    Row(f"mine {ACCEPT}", 400, TAKEN, {}, "accepted_by_other"),
    Row(f"mine {ACCEPT}", 400, TAKEN, {}),
    Row(f"other {ACCEPT}", 400, TAKEN, {}, f"picked_up {OVER}"),
    Row(f"mine POST {API}/batches/{{unknown}}/accept", 404, NO_BATCH, {}),
    Row(f"mine POST {API}/batches/x/accept", 404, NO_BATCH, {}),
    Row(f"mine {ACCEPT}", 400, bad("Driver already has an active batch", "Complete your current batch first"), {},
        "ready busy"),
    # The present batch
    Row(f"mine {MY_BATCH}", 200, good("No active batch", batch=None, orders=[], summary=dict.fromkeys(SUMMARY, 0))),
    Row(f"mine {MY_BATCH}", 200, good(
        "Current batch retrieved", batch=CURRENT | {"status": "DISPATCHED", "totalDelivered": 0, "totalFailed": 0},
        orders=[shown("first", 1, "READY", assignmentStatus="ACKNOWLEDGED"),
                shown("second", 2, "READY", assignmentStatus="ACKNOWLEDGED")], summary=SUMMARY), None, "accepted"),
    Row(f"mine {MY_BATCH}", 200, good(
        "Current batch retrieved",
        batch=CURRENT | {"status": "IN_PROGRESS", "totalDelivered": 1, "totalFailed": 0, "pickedUpAt": MILLIS},
        orders=[shown("first", 1, "DELIVERED", assignmentStatus="DELIVERED", deliveredAt=MILLIS),
                shown("second", 2, "PICKED_UP", assignmentStatus="PICKED_UP")],
        summary={"totalOrders": 2, "delivered": 1, "pending": 1, "failed": 0}), None, "picked_up first_delivered"),
    Row(f"mine {MY_BATCH}", 200, good(
        "Current batch retrieved",
        batch=CURRENT | {"status": "IN_PROGRESS", "totalDelivered": 0, "totalFailed": 1, "pickedUpAt": MILLIS},
        orders=[shown("first", 1, "FAILED", assignmentStatus="FAILED", failedAt=MILLIS, failureReason="CUSTOMER_UNAVAILABLE"),
                shown("second", 2, "PICKED_UP", assignmentStatus="PICKED_UP")],
        summary={"totalOrders": 2, "delivered": 0, "pending": 1, "failed": 1}), None, "picked_up first_failed"),
    # Pickup
    Row(f"mine {PICKUP}", 200, good("Batch picked up", batch=HEAD | {"status": "IN_PROGRESS", "pickedUpAt": MILLIS}),
        {"notes": "n" * 200}, "accepted"),
    Row(f"mine {PICKUP}", 400, bad("Batch must be in DISPATCHED status", "Cannot mark as picked up. Current status: IN_PROGRESS"),
        {}, "picked_up"),
    Row(f"mine {PICKUP}", 400, bad("Batch must be in DISPATCHED status",
                                   "Cannot mark as picked up. Current status: PARTIAL_COMPLETE"), {}, f"picked_up {OVER}"),
    Row(f"mine {PICKUP}", 400, field("notes", TEXT), {"notes": "n" * 201}, "accepted"),
    # Another driver's batch, one without a driver, and unknown ones
    *(Row(f"other {request}", 403, NOT_YOURS, body, given)
      for given in ("accepted", "ready", "")
      for request, body in ((PICKUP, {}), (COMPLETE, {}), (SEQUENCE, numbered(("first", 1), ("second", 2))),
                            (REPORT, {"status": "EN_ROUTE"}))),
    Row(f"other {READ}", 403, NOT_YOURS, None, "accepted"),
    Row(f"other {READ}", 403, NOT_YOURS),
    *(Row(f"mine {request.replace('{batch}', '{unknown}')}", 404, NO_BATCH, body)
      for request, body in ((READ, None), (PICKUP, {}), (COMPLETE, {}), (SEQUENCE, numbered(("first", 1))))),
    Row(f"mine PATCH {API}/orders/{{unknown}}/status", 404, NO_ORDER, {"status": "EN_ROUTE"}),
    Row(f"mine PATCH {API}/orders/x/status", 404, NO_ORDER, {"status": "EN_ROUTE"}),
    # Reports
    Row(f"mine {REPORT}", 200, updated("EN_ROUTE", 0, 0), {"status": "EN_ROUTE"}, "picked_up"),
    Row(f"mine {REPORT}", 200, updated("EN_ROUTE", 0, 0), {"status": "EN_ROUTE"}, "picked_up en_route"),
    Row(f"mine {REPORT}", 200, updated("ARRIVED", 0, 0), {"status": "ARRIVED", "notes": "At the gate"}, "picked_up en_route"),
    Row(f"mine {REPORT}", 200, updated("DELIVERED", 1, 0, proofOfDelivery=OTP_PROOF), proof(type="OTP", otp="0042"),
        "picked_up"),
    # The stored answer, with the progress of that moment
    Row(f"mine {REPORT}", 200, updated("DELIVERED", 1, 0, proofOfDelivery=OTP_PROOF), proof(type="OTP", otp="0042"),
        f"picked_up {OVER}"),
    Row(f"mine {REPORT}", 200, updated("DELIVERED", 1, 0, proofOfDelivery=SIGNATURE | {"verifiedAt": MILLIS}),
        proof(**SIGNATURE), "picked_up en_route arrived"),
    Row(f"mine {REPORT}", 200, updated("DELIVERED", 1, 0, proofOfDelivery=PHOTO | {"verifiedAt": MILLIS}), proof(**PHOTO),
        "picked_up"),
    Row(f"mine PATCH {API}/orders/{{second}}/status", 200,
        updated("DELIVERED", 1, 0, "second", proofOfDelivery=OTP_PROOF | {"otp": "9999", "otpVerified": False}),
        proof(type="OTP", otp="9999"), "picked_up"),
    *(Row(f"mine {REPORT}", 200, updated("FAILED", 0, 1, failureReason=reason, failureNotes="The dog"),
          {"status": "FAILED", "failureReason": reason, "notes": "The dog"}, "picked_up")
      for reason in ("CUSTOMER_UNAVAILABLE", "WRONG_ADDRESS", "CUSTOMER_REFUSED", "ADDRESS_NOT_FOUND",
                     "CUSTOMER_UNREACHABLE", "OTHER")),
    Row(f"mine {REPORT}", 400, field("proofOfDelivery.otp", "OTP must be 4 digits"), proof(type="OTP", otp="42"), "picked_up"),
    Row(f"mine {REPORT}", 400, field("proofOfDelivery", TEXT), {"status": "DELIVERED"}, "picked_up"),
    Row(f"mine {REPORT}", 400, field("proofOfDelivery.photoUrl", TEXT), proof(type="PHOTO", photoUrl="nowhere"), "picked_up"),
    Row(f"mine {REPORT}", 400, field("proofOfDelivery.signatureUrl", TEXT), proof(type="SIGNATURE"), "picked_up"),
    Row(f"mine {REPORT}", 400, field("proofOfDelivery.type", TEXT), proof(type="WORD"), "picked_up"),
    Row(f"mine {REPORT}", 400, field("failureReason", TEXT), {"status": "FAILED"}, "picked_up"),
    Row(f"mine {REPORT}", 400, field("status", TEXT), {"status": "RETURNED"}, "picked_up"),
    Row(f"mine {REPORT}", 400, field("notes", "Please describe what happened"), {"status": "FAILED", "failureReason": "OTHER"},
        "picked_up"),
    Row(f"mine {REPORT}", 400, bad("Invalid OTP", "Invalid OTP. Please check with customer."), proof(type="OTP", otp="9999"),
        "picked_up"),
    Row(f"mine {REPORT}", 429, bad("Too many requests"), proof(type="OTP", otp="0042"), "picked_up five_wrong_codes"),
    Row(f"mine {REPORT}", 400, bad("Order has not been picked up"), {"status": "EN_ROUTE"}, "accepted"),
    Row(f"mine {REPORT}", 400, transition("DELIVERED", "FAILED"), {"status": "FAILED", "failureReason": "WRONG_ADDRESS"},
        "picked_up first_delivered"),
    Row(f"mine {REPORT}", 400, transition("ARRIVED", "EN_ROUTE"), {"status": "EN_ROUTE"}, "picked_up arrived"),
    Row(f"mine {REPORT}", 400, transition("FAILED", "DELIVERED"), proof(**PHOTO), "picked_up first_failed"),
    Row(f"mine PATCH {API}/orders/{{second}}/status", 409, bad("Order cancelled"), {"status": "EN_ROUTE"},
        "picked_up second_cancelled"),
    # Sequence
    Row(f"mine {SEQUENCE}", 200, good("Delivery sequence updated", batch=HEAD | {"status": "DISPATCHED", "updatedAt": MILLIS}),
        numbered(("second", 1), ("first", 2)), "accepted"),
    Row(f"mine {SEQUENCE}", 200, good("Delivery sequence updated", batch=HEAD | {"status": "IN_PROGRESS", "updatedAt": MILLIS}),
        numbered(("second", 1)), "picked_up first_delivered"),
    Row(f"mine {SEQUENCE}", 400, field("sequence", "All orders in batch must be included"), numbered(("first", 1)), "accepted"),
    Row(f"mine {SEQUENCE}", 400, field("sequence", "Sequence numbers must be unique"), numbered(("first", 1), ("second", 1)),
        "accepted"),
    Row(f"mine {SEQUENCE}", 400, field("sequence", "Unknown order {unknown}"),
        numbered(("first", 1), ("second", 2), ("unknown", 3)), "accepted"),
    Row(f"mine {SEQUENCE}", 400, bad(TEXT), numbered(("first", 1), ("second", 2)), f"picked_up {OVER}"),
    # The end
    Row(f"mine {COMPLETE}", 200, completed("COMPLETED", 2, 0), {"notes": "Done"}, "picked_up first_delivered second_delivered"),
    Row(f"mine {COMPLETE}", 200, completed("PARTIAL_COMPLETE", 1, 1), {}, f"picked_up {OVER}"),
    Row(f"mine {COMPLETE}", 400, bad("Batch has pending deliveries", "2 deliveries are still pending"), {}, "picked_up"),
    Row(f"other {COMPLETE}", 403, NOT_YOURS, {}, f"picked_up {OVER}"),
    # Details
    Row(f"mine {READ}", 200, good(
        "Batch retrieved", batch=DETAILS | {"status": "DISPATCHED", "totalDelivered": 0, "totalFailed": 0},
        orders=[shown("first", 1, "READY", assignmentStatus="ACKNOWLEDGED"),
                shown("second", 2, "READY", assignmentStatus="ACKNOWLEDGED")],
        assignments=[TIMES | {"_id": ACCOUNT_ID, "orderId": f"{{{each}}}", "status": "ACKNOWLEDGED", "pickedUpAt": None}
                     for each in ("first", "second")]), None, "accepted"),
    Row(f"mine {READ}", 200, good(
        "Batch retrieved", batch=DETAILS | {"status": "PARTIAL_COMPLETE", "totalDelivered": 1, "totalFailed": 1,
                                            "completedAt": MILLIS},
        orders=[shown("first", 1, "DELIVERED", assignmentStatus="DELIVERED", deliveredAt=MILLIS),
                shown("second", 2, "FAILED", assignmentStatus="FAILED", failedAt=MILLIS, failureReason="OTHER")],
        assignments=[
            TIMES | {"_id": ACCOUNT_ID, "orderId": "{first}", "status": "DELIVERED", "enRouteAt": MILLIS, "arrivedAt": MILLIS,
                     "deliveredAt": MILLIS, "proofOfDelivery": OTP_PROOF},
            TIMES | {"_id": ACCOUNT_ID, "orderId": "{second}", "status": "FAILED", "failedAt": MILLIS,
                     "failureReason": "OTHER", "failureNotes": "The dog"}]), None, f"picked_up en_route arrived {OVER}"),
    Row(f"other {READ}", 200, good(
        "Batch retrieved", batch=DETAILS | {"status": "READY_FOR_DISPATCH", "driverId": None, "totalDelivered": 0,
                                            "totalFailed": 0},
        orders=[shown("first", 1, "READY", deliveryAddress=HIDDEN), shown("second", 2, "READY", deliveryAddress=HIDDEN)],
        assignments=[]), None, "ready"),
]

# Events on the two drivers' channels, `drivers-channel` and `admin-channel`, in order.

MINE, OTHER, ALL, OFFICE = "driver-{mine}", "driver-{other}", "drivers-channel", "admin-channel"
ADMIN = "admin POST /api/admin/batches/{batch}"
WHOSE = {"batchId": "{batch}", "batchNumber": "{number}", "driverId": "{mine}"}
WAITING = event(ALL, "new-batch-available", batchId="{batch}", batchNumber="{number}", zone=ZONE["name"], orderCount=2)


def progress(name: str, delivered: int, failed: int, **more) -> tuple:
    return event(OFFICE, name, **WHOSE, totalOrders=2, delivered=delivered, failed=failed, pending=2 - delivered - failed,
                 **more)


def lost(reason: str | None) -> tuple:
    return event(MINE, "batch-reassigned", batchId="{batch}", batchNumber="{number}", reason=reason)


DELIVERED = {"orderId": "{first}", "status": "DELIVERED"}
EVENTS = [
    Events(f"{ADMIN}/ready", [WAITING], {}),
    Events(f"mine {ACCEPT}", [event(ALL, "batch-taken", batchId="{batch}"), progress("batch-accepted", 0, 0)], {}, "ready"),
    Events(f"{ADMIN}/unassign", [lost("Late"), WAITING], {"reason": "Late"}, "accepted"),
    Events(f"{ADMIN}/reassign", [
        lost(None), event(OTHER, "batch-assigned", batchId="{batch}", routeId="{batch}", batchNumber="{number}", zone=ZONE["name"],
              orderCount=2, message="New batch assigned to you")], {"driverId": "{other}"}, "picked_up"),
    Events(f"{ADMIN}/cancel", [event(MINE, "batch-cancelled", batchId="{batch}", batchNumber="{number}", reason="Rain",
                                     message="Batch has been cancelled by admin")], {"reason": "Rain"}, "accepted"),
    *(Events(f"{ADMIN}/orders/{{second}}/cancel", [
        event(MINE, "order-cancelled", orderId="{second}", batchId="{batch}", orderNumber="{secondNumber}", cancelledBy=by)],
        {"by": by}, "accepted") for by in ("customer", "admin")),
    Events(f"mine {PICKUP}", [progress("batch-picked-up", 0, 0)], {}, "accepted"),
    Events(f"mine {REPORT}", [progress("batch-progress", 1, 0, **DELIVERED)], proof(**PHOTO), "picked_up"),
    Events(f"mine {REPORT}", [
        progress("batch-progress", 2, 0, **DELIVERED), progress("batch-completed", 2, 0, status="COMPLETED")], proof(**PHOTO),
           "picked_up second_delivered"),
]


@pytest.fixture
def world(fleet, closing) -> Batches:
    return Batches(fleet, closing)


@pytest.fixture
def listener(fleet, world):
    return fleet.listen(fleet.admin(), f"driver-{world.values['mine']}", f"driver-{world.values['other']}", ALL, OFFICE)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_answers(world, row):
    check(world, row)


@pytest.mark.parametrize("row", EVENTS, ids=str)
def test_events(world, row, listener, api):
    check_events(world, row, listener, api)


@pytest.mark.parametrize("row", sample(ROWS), ids=str)
def test_an_answer_that_differs_in_anything_fails(world, row):
    check_can_fail(world, row)


@pytest.mark.parametrize("row", EVENTS[1:4:2], ids=str)
def test_an_event_that_differs_in_anything_fails(world, row, listener, api):
    check_events_can_fail(world, row, listener, api)
