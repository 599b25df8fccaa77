"""Batches of orders: the kitchen's backend, the dispatcher, windows, and who hears of what."""

import datetime
import json

import pytest

from harness.batches import (ADDRESS, BATCH_STATES, ITEMS, KITCHEN, ZONE, Batch, accept,
                             batch_fields, batch_in, deliver, my_batch, object_id, ok, order,
                             pick_up, refused, report)
from harness.fleet import (ANY_TIME, JWT, Fleet, expect_event, expect_no_events, unique_id,
                           wait_until)
from harness.people import account_settings
from harness.people_fixtures import driver, module_settings, server  # noqa: F401


def soon(seconds: float = 1.5) -> str:
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def next_of(client, batch: Batch, *events: str) -> dict:
    """The next of these events about the batch; those of other batches come between them."""
    while True:
        message = client.receive()
        if batch.id in message["data"]:
            assert message["event"] in events, message
            return message


# The kitchen

def test_a_whole_batch(admin):
    """What was sent, with what the gateway added."""
    batch = Batch(admin, [order(deliveryOtp="1234", customerId="c-1"), order()])
    fields = batch.fields
    assert batch.get() == {
        "_id": batch.id, "status": "COLLECTING", "driverId": None, "version": 1,
        "batchNumber": fields["batchNumber"], "mealWindow": "DINNER", "kitchen": KITCHEN,
        "zone": ZONE, "windowEndTime": fields["windowEndTime"], "estimatedEarnings": 450.5,
        "orders": [each | {"status": "READY", "sequenceNumber": number, "customerId": customer,
                           "deliveryOtp": otp, "assignment": None, "cancelledAt": None,
                           "cancelledBy": None, "cancelReason": None}
                   for each, number, customer, otp in zip(fields["orders"], (1, 2), ("c-1", None),
                                                          ("****", None))],
        "summary": {"totalOrders": 2, "delivered": 0, "pending": 2, "failed": 0},
        "driverAssignedAt": None, "dispatchedAt": None, "pickedUpAt": None, "completedAt": None,
        "createdAt": ANY_TIME, "updatedAt": ANY_TIME}


def test_a_put_merges(admin):
    batch = Batch(admin)
    before = batch.get()
    admin.expect_ok("PUT", batch.path, {"estimatedEarnings": 12.25, "status": "COMPLETED",
                                        "driverId": "d1"})
    after = batch.get()
    assert after == before | {"estimatedEarnings": 12.25, "version": 2, "updatedAt": ANY_TIME}


def test_orders_are_replaced_as_a_list(admin):
    batch, fresh = Batch(admin), [order(), order(), order()]
    batch.ready()
    admin.expect_ok("PUT", batch.path, {"orders": fresh})
    stored = batch.get()
    assert [each["_id"] for each in stored["orders"]] == [each["_id"] for each in fresh]
    assert stored["status"] == "READY_FOR_DISPATCH" and stored["summary"]["totalOrders"] == 3
    # The former orders belong to nobody, and may be in another batch.
    Batch(admin, batch.fields["orders"])


def test_given_and_missing_sequence_numbers(admin):
    def sequence(*numbers) -> list:
        batch = Batch(admin, [order(**({"sequenceNumber": each} if each else {}))
                              for each in numbers])
        return [(batch.orders.index(each["_id"]), each["sequenceNumber"])
                for each in batch.get()["orders"]]

    assert sequence(None, None, None) == [(0, 1), (1, 2), (2, 3)]
    assert sequence(3, 1, 2) == [(1, 1), (2, 2), (0, 3)]
    numbers = [number for _, number in sequence(2, None, None)]
    assert len(set(numbers)) == 3 and numbers == sorted(numbers)


@pytest.mark.parametrize("status", BATCH_STATES)
def test_orders_change_only_before_the_accept(driver, admin, status):
    batch = batch_in(status, admin, driver())
    before = batch.get()
    response = admin.put(batch.path, {"orders": [order()]})
    if status in ("COLLECTING", "READY_FOR_DISPATCH"):
        assert response.status == 200 and batch.get()["summary"]["totalOrders"] == 1
    else:
        assert response.status == 409 and status in response.json()["error"]
        assert batch.get() == before


def test_versions(admin):
    batch, old = Batch(admin), {"If-Match": "1"}
    for fields in ({"batchNumber": "B-1"}, {"batchNumber": "B-2"}):
        response = admin.put(batch.path, fields, headers=old)
        assert response.status == (200 if fields["batchNumber"] == "B-1" else 409)
    assert batch.get()["batchNumber"] == "B-1"
    for action, more in (("ready", {}), ("cancel", {}), (f"orders/{batch.orders[0]}/cancel", {})):
        assert admin.post(f"{batch.path}/{action}", more, headers=old).status == 409
    assert admin.post(f"{batch.path}/ready", {}, headers={"If-Match": "2"}).status == 200


def test_an_order_is_in_one_batch(driver, admin):
    mine = driver()
    for status in BATCH_STATES:
        orders = batch_in(status, admin, mine).fields["orders"]
        over = status in ("COMPLETED", "PARTIAL_COMPLETE", "CANCELLED")
        response = admin.put(f"/api/admin/batches/{object_id()}", batch_fields([orders[1]]))
        assert response.status == (200 if over else 409), status
        if status == "IN_PROGRESS":
            for each in orders:
                ok(deliver(mine, each["_id"]))
        elif status == "DISPATCHED":
            mine = driver()


def test_up_to_200_orders(driver, admin):
    batch = Batch(admin, 200)
    assert batch.get()["summary"]["totalOrders"] == 200
    assert admin.put(batch.path, {"orders": [order() for _ in range(201)]}).status == 400
    assert admin.put(batch.path, {"orders": batch.fields["orders"][:1] * 2}).status == 400
    batch.ready()
    assert len(ok(accept(driver(), batch))["orders"]) == 200


@pytest.mark.parametrize("wrong", [
    {"mealWindow": "BRUNCH"}, {"windowEndTime": "tomorrow"}, {"estimatedEarnings": -1},
    {"estimatedEarnings": "1"}, {"kitchen": {"_id": "k"}}, {"zone": {"_id": "Z" * 24}},
    {"orders": {}}, {"orders": [order(_id="x")]}, {"orders": [order(_id="A" * 24)]},
    {"orders": [order(deliveryOtp="123")]}, {"orders": [order(deliveryOtp=1234)]},
    {"orders": [order(deliveryOtp="12345")]}, {"orders": [order(sequenceNumber=0)]},
    {"orders": [order(sequenceNumber=1), order(sequenceNumber=1)]}, {"orders": [order(items="x")]},
    {"orders": [order(deliveryAddress=ADDRESS | {"latitude": 91})]},
    {"orders": [order(items=[ITEMS[0] | {"quantity": "2"}])]}, {"batchNumber": 5}])
def test_wrong_batches_are_refused(admin, wrong):
    path = f"/api/admin/batches/{object_id()}"
    assert admin.expect_error(400, "PUT", path, batch_fields() | wrong)
    assert admin.request("GET", path).status == 404


def test_unknown_batches_and_orders(admin):
    batch, path = Batch(admin), "/api/admin/batches"
    for each in (object_id(), "x", batch.id.upper() if batch.id.upper() != batch.id else "X"):
        admin.expect_error(404, "GET", f"{path}/{each}")
        for action in ("ready", "cancel", "unassign", f"orders/{batch.orders[0]}/cancel",
                       f"orders/{batch.orders[0]}/return"):
            admin.expect_error(404, "POST", f"{path}/{each}/{action}", {})
    assert admin.put(f"{path}/{'A' * 24}", batch_fields()).status == 404
    for each in (object_id(), "x"):
        for action in ("cancel", "return"):
            admin.expect_error(404, "POST", f"{batch.path}/orders/{each}/{action}", {})
    batch.ready()
    assert admin.post(f"{batch.path}/reassign", {"driverId": "nobody"}).status in (404, 409)


# Windows

def test_a_window_ends(driver, admin, fleet):
    client = fleet.listen(driver(), "drivers-channel")
    full = Batch(admin, 3, windowEndTime=soon())
    cancelled = full.orders[0]
    full.act(f"orders/{cancelled}/cancel")
    empty = Batch(admin, [], windowEndTime=soon(0.5))
    event = next_of(client, full, "new-batch-available")
    assert event["channel"] == "private-drivers-channel" and '"orderCount":2' in event["data"]
    assert full.status == "READY_FOR_DISPATCH"
    assert empty.status == "CANCELLED"
    audit = fleet.gateway.query("SELECT status_before, status_after FROM audit WHERE batch_id = ? "
                                "ORDER BY id", empty.id)
    assert audit[-1] == ("COLLECTING", "CANCELLED")


def test_a_window_may_be_moved_and_one_that_has_ended_opens_at_once(driver, admin, fleet):
    client = fleet.listen(driver(), "drivers-channel")
    later = Batch(admin, windowEndTime=soon())
    admin.expect_ok("PUT", later.path, {"windowEndTime": "2099-01-01T00:00:00Z"})
    past = Batch(admin, windowEndTime="2020-01-01T00:00:00Z")
    next_of(client, past, "new-batch-available")
    end = Batch(admin, windowEndTime=soon(2.5))
    next_of(client, end, "new-batch-available")
    assert later.status == "COLLECTING"


def test_a_window_that_ended_while_the_gateway_was_stopped(start_gateway, server, closing):
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    admin = Fleet(gateway, closing).admin()
    end = soon(1)
    batches = [Batch(admin, count, windowEndTime=end) for count in (2, 0)]
    gateway.kill()
    wait_until(lambda: soon(0) > end, "the window has ended")
    gateway = start_gateway("kept", **settings)
    again = Fleet(gateway, closing).admin()

    def states() -> list[str]:
        return [again.expect_ok("GET", each.path)["data"]["batch"]["status"] for each in batches]

    wait_until(lambda: states() == ["READY_FOR_DISPATCH", "CANCELLED"], "both have been opened")
    rows = gateway.query("SELECT COUNT(*) FROM notifications WHERE event = 'new-batch-available'")
    assert rows == [(1,)]


# What the dispatcher does

def test_ready_and_ready_again(driver, admin, fleet):
    client = fleet.listen(driver(), "drivers-channel")
    batch = Batch(admin, 2)
    first, again = batch.act("ready"), batch.act("ready")
    available = {"batchId": batch.id, "batchNumber": batch.fields["batchNumber"],
                 "zone": ZONE["name"], "orderCount": 2}
    event = expect_event(client, "private-drivers-channel", "new-batch-available", **available)
    assert first["data"]["notificationIds"] == [event["notificationId"]]
    assert first["data"]["batch"] == batch.get() and first["data"]["batch"]["version"] == 2
    assert "already" in again["message"]
    assert again["data"] == {"batch": first["data"]["batch"], "notificationIds": []}


def test_reassign(driver, admin, fleet, api):
    """Assignments keep their states; the list of waiting batches is not told."""
    old, new = driver(), driver()
    batch = batch_in("IN_PROGRESS", admin, old, 3)
    ok(report(old, batch.orders[1], "EN_ROUTE"))
    ok(deliver(old, batch.orders[0]))
    before = batch.get()
    clients = [fleet.listen(each, f"driver-{each.subject}") for each in (old, new)]
    everyone = fleet.listen(driver(), "drivers-channel")
    for client in clients:
        client.expect("driver-approved")
    answer = batch.act("reassign", driverId=new.account, reason="Flat tyre")
    lost = clients[0].expect_data("batch-reassigned")
    assert lost["batchId"] == batch.id
    given = expect_event(
        clients[1], f"private-driver-{new.subject}", "batch-assigned", batchId=batch.id,
        routeId=batch.id, batchNumber=batch.fields["batchNumber"], zone=ZONE["name"], orderCount=3,
        message="New batch assigned to you")
    told = {lost["notificationId"], given["notificationId"]}
    assert told <= set(answer["data"]["notificationIds"])
    expect_no_events(api, everyone)
    after = batch.get()
    assert after["orders"] == before["orders"]
    assert (after["driverId"], after["status"]) == (new.subject, "IN_PROGRESS")
    assert my_batch(old)["batch"] is None
    assert [each["assignmentStatus"] for each in my_batch(new)["orders"]] == [
        "DELIVERED", "EN_ROUTE", "PICKED_UP"]
    assert "already" in batch.act("reassign", driverId=new.subject)["message"]


def test_whom_a_batch_may_be_given(driver, admin, closing, fleet):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    busy, suspended = driver(), driver()
    batch_in("DISPATCHED", admin, busy)
    admin.expect_ok("POST", f"/api/admin/drivers/{suspended.subject}/suspend", {})
    for name, expected in ((unique_id("nobody"), 404), (object_id(), 404), (busy.subject, 409),
                           (suspended.subject, 409), (mine.subject, 200), ("", 400), (5, 404), (-5, 400), (5.5, 400), (True, 400)):
        response = admin.post(f"{batch.path}/reassign", {"driverId": name})
        assert response.status == expected, (name, response)
    assert batch.get()["driverId"] == mine.subject
    assert admin.post(f"{batch.path}/reassign", {}).status == 400


def test_unassign(driver, admin, fleet):
    """The batch waits again, and is announced again."""
    old, other = driver(), driver()
    batch = batch_in("DISPATCHED", admin, old)
    client = fleet.listen(old, f"driver-{old.subject}")
    everyone = fleet.listen(other, "drivers-channel")
    client.expect("driver-approved")
    batch.act("unassign", reason="Late")
    assert client.expect_data("batch-reassigned")["batchId"] == batch.id
    assert everyone.expect_data("new-batch-available")["batchId"] == batch.id
    stored = batch.get()
    assert (stored["status"], stored["driverId"]) == ("READY_FOR_DISPATCH", None)
    assert my_batch(old)["batch"] is None
    assert refused(pick_up(old, batch))[0] == 403
    assert [each["status"] for each in ok(accept(other, batch))["orders"]] == ["READY"] * 2


def test_cancel(driver, admin, fleet):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    client = fleet.listen(mine, f"driver-{mine.subject}")
    client.expect("driver-approved")
    answer = batch.act("cancel", reason="Kitchen closed")
    event = expect_event(
        client, f"private-driver-{mine.subject}", "batch-cancelled", batchId=batch.id,
        batchNumber=batch.fields["batchNumber"], reason="Kitchen closed",
        message="Batch has been cancelled by admin")
    assert event["notificationId"] in answer["data"]["notificationIds"]
    stored = batch.get()
    # Either says that it is cancelled, and nothing changes.
    assert admin.post(f"{batch.path}/cancel", {}).status in (200, 409) and batch.get() == stored
    assert refused(report(mine, batch.orders[0], "EN_ROUTE"))[0] in (400, 409)


@pytest.mark.parametrize("by", ["customer", "admin", None])
def test_cancel_an_order(driver, admin, fleet, by):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    client = fleet.listen(mine, f"driver-{mine.subject}")
    client.expect("driver-approved")
    cancelled = batch.orders[0]
    answer = batch.act(f"orders/{cancelled}/cancel", **({"by": by} if by else {}))
    data = client.expect_data("order-cancelled")
    assert data.pop("notificationId") in answer["data"]["notificationIds"]
    assert data.pop("correlationId") and data == {
        "orderId": cancelled, "batchId": batch.id, "cancelledBy": by or data["cancelledBy"],
        "orderNumber": batch.fields["orders"][0]["orderNumber"]}
    stored = batch.get()
    again = admin.post(f"{batch.path}/orders/{cancelled}/cancel", {})
    assert again.status == 409 and "CANCELLED" in again.json()["error"] and batch.get() == stored
    assert [each["_id"] for each in my_batch(mine)["orders"]
            if each["assignmentStatus"] != "CANCELLED"] == batch.orders[1:]
    path = f"{batch.path}/orders/{batch.orders[1]}/cancel"
    assert admin.post(path, {"by": "driver"}).status == 400


def test_an_order_of_a_batch_without_driver_is_cancelled_quietly(driver, admin, fleet, api):
    client = fleet.listen(driver(), "drivers-channel")
    batch = Batch(admin, 2).ready()
    client.expect("new-batch-available")
    batch.act(f"orders/{batch.orders[0]}/cancel", by="customer")
    expect_no_events(api, client)


@pytest.mark.parametrize("by_order", [False, True])
def test_drivers_hear_that_a_batch_no_longer_waits(driver, admin, fleet, by_order):
    client = fleet.listen(driver(), "drivers-channel")
    batch = Batch(admin, 2).ready()
    client.expect("new-batch-available")
    for path in [f"orders/{each}/cancel" for each in batch.orders] if by_order else ["cancel"]:
        batch.act(path)
    assert batch.status == "CANCELLED"
    expect_event(client, "private-drivers-channel", "batch-taken", batchId=batch.id)


def test_the_office_hears_of_every_step(driver, admin, fleet):
    mine = driver()
    office = fleet.listen(admin, "admin-channel")
    batch = batch_in("COMPLETED", admin, mine)
    heard = []
    while "batch-completed" not in heard:
        message = office.receive()
        data = json.loads(message["data"])
        assert data.items() >= {"batchId": batch.id, "batchNumber": batch.fields["batchNumber"],
                                "driverId": mine.subject}.items(), message
        heard.append(message["event"])
        if heard[-1] == "batch-completed":
            assert (data["delivered"], data["failed"]) == (2, 0)
    assert heard[:3] == ["batch-accepted", "batch-picked-up", "batch-progress"]
    assert set(heard[3:-1]) <= {"batch-progress"}
