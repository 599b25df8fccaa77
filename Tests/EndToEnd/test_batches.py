"""Batches of orders: what the drivers' app gets, field by field, from the kitchen to the door."""

import re

import pytest

from harness.batches import (ADDRESS, ITEMS, KITCHEN, PHOTO, ZONE, Batch, accept, answer, arrange,
                             batch_in, complete, deliver, fail, my_batch, object_id, ok,
                             order, pick_up, read, refused, report)
from harness.fleet import ANY_TIME, AnyTimestamp
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

ANY_ID = AnyTimestamp(re.compile("[0-9a-f]{24}"))
NOT_YOURS = (403, "Not assigned to this batch", "You are not assigned to this batch")
TAKEN = (400, "Batch already taken or not available",
         "This batch has been assigned to another driver")
BUSY = (400, "Driver already has an active batch", "Complete your current batch first")
STATUS_UPDATED = "Delivery status updated"
KITCHEN_PLACE = {name: KITCHEN[name] for name in ("_id", "name", "address")}


def shown(batch: Batch, index: int, status: str | None = None, **more) -> dict:
    """An order as the driver sees it; without the phone once it is over."""
    over = status in ("DELIVERED", "FAILED", "RETURNED", "CANCELLED")
    return {"_id": batch.orders[index], "orderNumber": batch.fields["orders"][index]["orderNumber"],
            "deliveryAddress": ADDRESS | ({"phone": None} if over else {}), "items": ITEMS,
            "sequenceNumber": index + 1} | ({"status": status} if status else {}) | more


def head(batch: Batch, status: str, **more) -> dict:
    return {"_id": batch.id, "batchNumber": batch.fields["batchNumber"], "status": status} | more


# The answers

def test_available_batches(driver, admin):
    zone = ZONE | {"_id": object_id()}
    late, soon = [
        Batch(admin, 2, zone=zone, windowEndTime=f"2099-0{month}-01T12:00:00.000Z").ready()
        for month in (2, 1)]
    Batch(admin, 1, zone=zone)  # is still collecting
    soon.act(f"orders/{soon.orders[0]}/cancel", by="admin")
    got = driver().request("GET", f"/api/delivery/available-batches?zone={zone['_id']}").json()
    assert got == answer("Available batches retrieved", batches=[
        {"_id": batch.id, "batchNumber": batch.fields["batchNumber"], "kitchen": KITCHEN,
         "zone": zone, "orderCount": count, "mealWindow": "DINNER", "estimatedEarnings": 450.5,
         "windowEndTime": batch.fields["windowEndTime"], "createdAt": ANY_TIME}
        for batch, count in ((soon, 1), (late, 2))])


def test_the_list_is_empty_without_batches(driver):
    got = driver().request("GET", f"/api/delivery/available-batches?zone={object_id()}")
    assert got.json() == answer("Available batches retrieved", batches=[])


def test_accept(driver, admin):
    """Orders come by sequence, cancelled ones are left out; a repetition changes nothing."""
    orders = [order(sequenceNumber=number) for number in (2, 1, 3)]
    batch, mine = Batch(admin, orders).ready(), driver()
    second, first, cancelled = batch.orders
    batch.act(f"orders/{cancelled}/cancel", by="customer")
    got, again = accept(mine, batch), accept(mine, batch)
    body = got.json()
    assert got.status == 200 and body == answer(
        "Batch accepted", batch=head(
            batch, "DISPATCHED", kitchenId=KITCHEN["_id"], driverId=mine.account,
            mealWindow="DINNER", orderIds=[first, second], driverAssignedAt=ANY_TIME,
            dispatchedAt=ANY_TIME),
        orders=[shown(batch, 1, "READY", sequenceNumber=1),
                shown(batch, 0, "READY", sequenceNumber=2)],
        pickupAddress=KITCHEN["address"])
    assert again.status == 200 and again.json() == body


def test_my_batch(driver, admin):
    mine = driver()
    none = {"totalOrders": 0, "delivered": 0, "pending": 0, "failed": 0}
    path = "/api/delivery/my-batch"
    assert mine.request("GET", path).json() == answer("No active batch", batch=None, orders=[],
                                                      summary=none)
    batch = batch_in("DISPATCHED", admin, mine, 3)
    dispatched = head(batch, "DISPATCHED", kitchenId=KITCHEN, driverId=mine.account,
                      mealWindow="DINNER", totalDelivered=0, totalFailed=0,
                      driverAssignedAt=ANY_TIME, dispatchedAt=ANY_TIME)
    assert mine.request("GET", path).json() == answer(
        "Current batch retrieved", batch=dispatched,
        orders=[shown(batch, each, "READY", assignmentStatus="ACKNOWLEDGED") for each in range(3)],
        summary=none | {"totalOrders": 3, "pending": 3})
    ok(pick_up(mine, batch))
    ok(deliver(mine, batch.orders[0]))
    ok(fail(mine, batch.orders[1], "WRONG_ADDRESS"))
    assert mine.request("GET", path).json() == answer(
        "Current batch retrieved",
        batch=dispatched | {"status": "IN_PROGRESS", "pickedUpAt": ANY_TIME, "totalDelivered": 1,
                            "totalFailed": 1},
        orders=[shown(batch, 0, "DELIVERED", assignmentStatus="DELIVERED", deliveredAt=ANY_TIME),
                shown(batch, 1, "FAILED", assignmentStatus="FAILED", failedAt=ANY_TIME,
                      failureReason="WRONG_ADDRESS"),
                shown(batch, 2, "PICKED_UP", assignmentStatus="PICKED_UP")],
        summary={"totalOrders": 3, "delivered": 1, "pending": 1, "failed": 1})
    ok(deliver(mine, batch.orders[2]))
    assert my_batch(mine)["batch"] is None


def test_instructions_for_the_door(driver, admin):
    """For the driver while the order is open, not for those who only look at the batch, always for the kitchen."""
    mine, other = driver(), driver()
    batch = batch_in("READY_FOR_DISPATCH", admin, mine, [order(deliveryInstructions="Gate 4711 🚪"), order()])
    path = f"/api/delivery/batches/{batch.id}"
    for looking in (mine, other):
        assert "deliveryInstructions" not in ok(looking.request("GET", path))["orders"][0]
    assert ok(accept(mine, batch))["orders"][0]["deliveryInstructions"] == "Gate 4711 🚪"
    ok(pick_up(mine, batch))
    first, second = my_batch(mine)["orders"]
    assert first["deliveryInstructions"] == "Gate 4711 🚪" and "deliveryInstructions" not in second
    ok(deliver(mine, batch.orders[0]))
    assert "deliveryInstructions" not in my_batch(mine)["orders"][0]
    assert batch.get()["orders"][0]["deliveryInstructions"] == "Gate 4711 🚪"


def test_pickup(driver, admin):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    assert pick_up(mine, batch, notes="n" * 200).json() == answer(
        "Batch picked up", batch=head(batch, "IN_PROGRESS", pickedUpAt=ANY_TIME))
    assert {each["assignmentStatus"] for each in my_batch(mine)["orders"]} == {"PICKED_UP"}
    assert refused(pick_up(mine, batch)) == (
        400, "Batch must be in DISPATCHED status",
        "Cannot mark as picked up. Current status: IN_PROGRESS")


def test_reports(driver, admin):
    """Every status and every proof, and the progress after it."""
    mine, orders = driver(), [order(deliveryOtp="0042"), *(order() for _ in range(4))]
    batch = batch_in("IN_PROGRESS", admin, mine, orders)

    def expect(response, index: int, status: str, progress: tuple, **more) -> None:
        times = {"DELIVERED": {"deliveredAt": ANY_TIME}, "FAILED": {"failedAt": ANY_TIME}}
        times = times.get(status, {})
        assert response.status == 200 and response.json() == answer(
            STATUS_UPDATED, order={"_id": batch.orders[index], "status": status,
                                   "orderNumber": orders[index]["orderNumber"]} | times,
            assignment={"_id": ANY_ID, "status": status} | times | more,
            batchProgress=dict(zip(("delivered", "failed", "total"), progress)))

    first, second, third, fourth, _ = batch.orders
    expect(report(mine, first, "EN_ROUTE"), 0, "EN_ROUTE", (0, 0, 5))
    expect(report(mine, first, "ARRIVED", notes="At the gate"), 0, "ARRIVED", (0, 0, 5))
    expect(deliver(mine, first, type="OTP", otp="0042"), 0, "DELIVERED", (1, 0, 5),
           proofOfDelivery={"type": "OTP", "otp": "0042", "otpVerified": True,
                            "verifiedAt": ANY_TIME})
    expect(deliver(mine, second, type="OTP", otp="9999"), 1, "DELIVERED", (2, 0, 5),
           proofOfDelivery={"type": "OTP", "otp": "9999", "otpVerified": False,
                            "verifiedAt": ANY_TIME})
    signature = {"type": "SIGNATURE", "signatureUrl": "https://images.example/s.png"}
    expect(deliver(mine, third, **signature), 2, "DELIVERED", (3, 0, 5),
           proofOfDelivery=signature | {"verifiedAt": ANY_TIME})
    expect(deliver(mine, fourth), 3, "DELIVERED", (4, 0, 5),
           proofOfDelivery=PHOTO | {"verifiedAt": ANY_TIME})
    expect(fail(mine, batch.orders[4], "OTHER", notes="The dog"), 4, "FAILED", (4, 1, 5),
           failureReason="OTHER", failureNotes="The dog")
    assert batch.status == "PARTIAL_COMPLETE"


def test_complete(driver, admin):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 3)
    assert refused(complete(mine, batch)) == (400, "Batch has pending deliveries",
                                              "3 deliveries are still pending")
    for each in batch.orders[:2]:
        ok(deliver(mine, each))
    # Only the plural's words are fixed.
    assert refused(complete(mine, batch))[:2] == (400, "Batch has pending deliveries")
    ok(deliver(mine, batch.orders[2]))
    completed = answer(
        "Batch completed", batch=head(batch, "COMPLETED", completedAt=ANY_TIME, totalDelivered=3,
                                      totalFailed=0),
        summary={"totalOrders": 3, "delivered": 3, "failed": 0})
    first, again = complete(mine, batch, notes="Done"), complete(mine, batch)
    assert first.json() == completed and again.json() == first.json()
    assert refused(complete(driver(), batch)) == NOT_YOURS


def test_details(driver, admin):
    """For the batch's driver, also after its end."""
    mine = driver(name="Ravi")
    batch = batch_in("DISPATCHED", admin, mine, 2)
    me = {"_id": mine.account, "name": "Rahul Kumar", "phone": mine.phone.removeprefix("+91")}

    def assignment(index: int, status: str, **more) -> dict:
        return {"_id": ANY_ID, "orderId": batch.orders[index], "status": status,
                "assignedAt": ANY_TIME, "pickedUpAt": ANY_TIME, "enRouteAt": None,
                "arrivedAt": None} | more

    about = {"kitchenId": KITCHEN_PLACE, "driverId": me, "mealWindow": "DINNER"}
    assert read(mine, batch).json() == answer(
        "Batch retrieved",
        batch=head(batch, "DISPATCHED", totalDelivered=0, totalFailed=0, **about),
        orders=[shown(batch, each, "READY", assignmentStatus="ACKNOWLEDGED") for each in range(2)],
        assignments=[assignment(each, "ACKNOWLEDGED", pickedUpAt=None) for each in range(2)])
    ok(pick_up(mine, batch))
    ok(report(mine, batch.orders[0], "EN_ROUTE"))
    ok(deliver(mine, batch.orders[0]))
    ok(fail(mine, batch.orders[1], notes="Nobody"))
    over = answer(
        "Batch retrieved", batch=head(batch, "PARTIAL_COMPLETE", totalDelivered=1, totalFailed=1,
                                      completedAt=ANY_TIME, **about),
        orders=[shown(batch, 0, "DELIVERED", assignmentStatus="DELIVERED", deliveredAt=ANY_TIME),
                shown(batch, 1, "FAILED", assignmentStatus="FAILED", failedAt=ANY_TIME,
                      failureReason="CUSTOMER_UNAVAILABLE")],
        assignments=[
            assignment(0, "DELIVERED", enRouteAt=ANY_TIME, deliveredAt=ANY_TIME,
                       proofOfDelivery=PHOTO | {"verifiedAt": ANY_TIME}),
            assignment(1, "FAILED", failedAt=ANY_TIME, failureReason="CUSTOMER_UNAVAILABLE",
                       failureNotes="Nobody")])
    assert read(mine, batch).json() == over
    assert refused(read(driver(), batch)) == NOT_YOURS
    assert read(mine, batch).json() == over


def test_a_waiting_batch_is_shown_without_its_customers(driver, admin):
    """Names, phones and flat numbers are for the driver who accepts it."""
    batch = Batch(admin, 2).ready()
    hidden = ADDRESS | {"name": None, "phone": None, "flatNumber": None}
    got = read(driver(), batch)
    assert got.json() == answer(
        "Batch retrieved",
        batch=head(batch, "READY_FOR_DISPATCH", kitchenId=KITCHEN_PLACE, driverId=None,
                   mealWindow="DINNER", totalDelivered=0, totalFailed=0),
        orders=[shown(batch, each, "READY", deliveryAddress=hidden) for each in range(2)],
        assignments=[])
    for secret in (ADDRESS["name"], ADDRESS["phone"], ADDRESS["flatNumber"]):
        assert secret not in got.text


def test_sequence(driver, admin):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine, 3)
    first, second, third = batch.orders
    assert arrange(mine, batch, third, first, second).json() == answer(
        "Delivery sequence updated", batch=head(batch, "DISPATCHED", updatedAt=ANY_TIME))
    ids = lambda: [each["_id"] for each in my_batch(mine)["orders"]]  # noqa: E731
    assert ids() == [third, first, second]
    ok(pick_up(mine, batch))
    ok(deliver(mine, first))
    # Orders that are over may be named or not.
    ok(arrange(mine, batch, second, third))
    assert [each for each in ids() if each != first] == [second, third]
    ok(arrange(mine, batch, first, third, second))
    assert ids() == [first, third, second]
    for each in (second, third):
        ok(deliver(mine, each))
    assert arrange(mine, batch, second, third).status == 400


ALL_ORDERS = "All orders in batch must be included"
UNIQUE = "Sequence numbers must be unique"


@pytest.mark.parametrize("numbers, text", [
    ([], ALL_ORDERS), ([(0, 1), (1, 1)], UNIQUE), ([(0, 1), (1, 2), (None, 3)], "Unknown order"),
    ([(0, 1), (1, 0)], ""), ([(0, 1), (1, 1.5)], ""),
    ([(0, 1), (1, "2")], ""), ([(0, 1), (1, 1e400)], "")])
def test_wrong_sequences(driver, admin, numbers, text):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    before, unknown = my_batch(mine), object_id()
    response = mine.request("PATCH", f"/api/delivery/batches/{batch.id}/sequence", {"sequence": [
        {"orderId": unknown if index is None else batch.orders[index], "sequenceNumber": number}
        for index, number in numbers]})
    status, message, error = refused(response)
    assert status == 400, response
    if text in (ALL_ORDERS, UNIQUE):
        assert (message, error) == ("Validation error", {"fields": {"sequence": text}})
    elif text:
        assert error["fields"]["sequence"].startswith(f"{text} ") and unknown in str(error)
    assert my_batch(mine) == before


# The list

def test_the_list_is_sorted_on_request(driver, admin):
    zone, mine = ZONE | {"_id": object_id()}, driver()

    def place(latitude: float) -> dict:
        return KITCHEN | {"address": KITCHEN["address"] | {"latitude": latitude, "longitude": 72.0}}

    far, near, middle = [
        Batch(admin, orders, zone=zone, kitchen=place(latitude), estimatedEarnings=earnings).ready()
        for orders, latitude, earnings in ((2, 20.0, 10), (1, 19.0, 300), (3, 19.1, 20.5))]

    def listed(query: str) -> list[dict]:
        path = f"/api/delivery/available-batches?zone={zone['_id']}&{query}"
        return ok(mine.request("GET", path))["batches"]

    nearest = listed("sort=nearest&latitude=19&longitude=72")
    assert [(each["_id"], each["distanceKm"]) for each in nearest] == [
        (near.id, 0), (middle.id, 11.1), (far.id, 111.2)]
    assert [each["_id"] for each in listed("sort=orders")] == [middle.id, far.id, near.id]
    assert [each["_id"] for each in listed("sort=earnings")] == [near.id, middle.id, far.id]
    assert all("distanceKm" not in each for each in listed("sort=orders"))


@pytest.mark.parametrize("query", [
    "sort=best", "sort=nearest", "sort=nearest&latitude=1", "sort=nearest&latitude=91&longitude=0",
    "sort=nearest&latitude=x&longitude=0", "sort=nearest&latitude=nan&longitude=0",
    "sort=nearest&latitude=1e400&longitude=0", "zone=x", "zone=" + "A" * 24])
def test_wrong_queries(driver, query):
    assert refused(driver().request("GET", f"/api/delivery/available-batches?{query}"))[0] == 400


# Errors

def test_errors_name_their_reason(driver, admin):
    """Both texts of each refusal, in the order of the contract."""
    mine, other = driver(), driver()
    batch = batch_in("DISPATCHED", admin, mine)
    first, nobody = batch.orders[0], Batch(admin)
    assert refused(accept(other, batch)) == TAKEN
    assert refused(accept(other, nobody)) == TAKEN
    assert refused(accept(mine, Batch(admin).ready())) == BUSY
    assert refused(deliver(mine, first))[:2] == (400, "Order has not been picked up")
    assert refused(report(other, first, "EN_ROUTE")) == NOT_YOURS
    for each in (batch, nobody):
        for call in (pick_up, complete, read, lambda who, it: arrange(who, it, *it.orders)):
            assert refused(call(other, each)) == NOT_YOURS
    assert refused(report(other, nobody.orders[0], "EN_ROUTE")) == NOT_YOURS
    ok(pick_up(mine, batch))
    ok(deliver(mine, first))
    assert refused(fail(mine, first)) == (400, "Invalid status transition",
                                          "Cannot change status from DELIVERED to FAILED")
    batch.act(f"orders/{batch.orders[1]}/cancel", by="customer")
    assert refused(deliver(mine, batch.orders[1]))[:2] == (409, "Order cancelled")


@pytest.mark.parametrize("wrong", ["b" * 24, "x", "A" * 24, "a" * 23, "a" * 25, "%61" + "a" * 23,
                                   "a" * 12 + "%2F" + "a" * 11])
def test_unknown_ids(driver, wrong):
    """An id of another form is unknown, too."""
    mine, batches, known = driver(), "/api/delivery/batches", wrong == "b" * 24
    for method, path in (("POST", f"{batches}/{wrong}/accept"), ("GET", f"{batches}/{wrong}"),
                         ("PATCH", f"{batches}/{wrong}/pickup"),
                         ("PATCH", f"{batches}/{wrong}/complete"),
                         ("PATCH", f"{batches}/{wrong}/sequence")):
        body = {"sequence": [{"orderId": object_id(), "sequenceNumber": 1}]}
        response = refused(mine.request(method, path, None if method == "GET" else body))
        assert response[0] == 404 and (not known or response[1] == "Batch not found"), path
    response = refused(report(mine, wrong, "EN_ROUTE"))
    assert response[0] == 404 and (not known or response[1] == "Order not found")


DELIVERED = {"status": "DELIVERED"}


@pytest.mark.parametrize("body, fields", [
    ({"status": 5}, {"status"}), (DELIVERED | {"proofOfDelivery": "x"}, {"proofOfDelivery"}),
    (DELIVERED | {"notes": "n" * 201, "proofOfDelivery": {"type": "PHOTO"}},
     {"notes", "proofOfDelivery.photoUrl"}),
    ({"status": "FAILED", "notes": 5}, {"failureReason", "notes"})])
def test_all_wrong_fields_of_a_report_are_named(driver, admin, body, fields):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    before = batch.get()
    response = mine.request("PATCH", f"/api/delivery/orders/{batch.orders[0]}/status", body)
    status, message, error = refused(response)
    assert (status, message, set(error["fields"])) == (400, "Validation error", fields)
    assert batch.get() == before


@pytest.mark.parametrize("otp", [None, "12a4", 1234])
def test_a_code_has_4_digits(driver, admin, otp):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    proof = {"type": "OTP"} | ({} if otp is None else {"otp": otp})
    assert refused(deliver(mine, batch.orders[0], **proof)) == (
        400, "Validation error", {"fields": {"proofOfDelivery.otp": "OTP must be 4 digits"}})


@pytest.mark.parametrize("notes", [{}, {"notes": ""}, {"notes": "  "}, {"notes": None}])
def test_another_reason_needs_notes(driver, admin, notes):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    assert refused(fail(mine, batch.orders[0], "OTHER", **notes)) == (
        400, "Validation error", {"fields": {"notes": "Please describe what happened"}})


def test_notes_have_at_most_200_characters(driver, admin):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    for call in (pick_up, complete):
        status, message, error = refused(call(mine, batch, notes="n" * 201))
        assert (status, message, set(error["fields"])) == (400, "Validation error", {"notes"})
    assert batch.status == "DISPATCHED"
