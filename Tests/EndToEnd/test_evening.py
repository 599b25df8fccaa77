"""The evening of two drivers, from registration to summary, over HTTP, WebSocket and FCM."""

import datetime
import json
from contextlib import closing as closed

import pytest

from harness.batches import (Batch, accept, arrange, complete, deliver, fail, my_batch, ok, order,
                             pick_up, read, refused, report)
from harness.fleet import JWT
from harness.fleet import report as log
from harness.gateway import run
from harness.people import FirebaseUser, account_settings, key_server

TAKEN = (400, "Batch already taken or not available",
         "This batch has been assigned to another driver")


@pytest.fixture
def fleet(start_push_fleet):
    with closed(key_server()) as server:
        settings = account_settings(server, JWT)
        yield start_push_fleet(auth=settings["auth"], accounts=settings["accounts"] | {
            "currency": "INR", "time_zone": "Asia/Kolkata"})


class App:
    """A driver's app: the requests, the connection and the phone. `events` and `pushes` keep what
    it has got of each.
    """

    def __init__(self, fleet, driver: FirebaseUser):
        self.fleet, self.driver, self.own = fleet, driver, f"driver-{driver.subject}"
        self.phone, self.events, self.pushes = fleet.android(driver), [], []
        self.client = fleet.listen(driver, self.own)

    def join_all(self) -> None:
        """An approved driver also listens to what is for all."""
        self.client.subscribe("private-drivers-channel", **self.driver.channel_auth(
            self.client.socket_id, "private-drivers-channel").json())

    def hear(self, event: str, own: bool, **data) -> dict:
        """Expects this event next, and confirms it."""
        channel = f"private-{self.own if own else 'drivers-channel'}"
        got = self.client.expect_data(event, channel=channel)
        assert got.items() >= data.items(), got
        log(self.driver, got["notificationId"], kind="NEW_BATCH_AVAILABLE", entity="b")
        if own:
            self.events.append(event)
        return got

    def ring(self, kind: str, entity: str | None = None) -> None:
        """Expects this push next."""
        push = self.phone.next()
        assert push.data["type"] == kind and entity in (None, push.data.get("entityId")), push
        self.pushes.append(kind)

    def availability(self, online: bool) -> None:
        ok(self.driver.put("/api/delivery/availability", {"online": online}))


def soon(seconds: float) -> str:
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_an_evening(fleet, closing):
    admin = fleet.dispatcher
    office = fleet.listen(admin, "admin-channel")

    # Both register; the decision reaches them while they wait.
    apps = []
    for name in ("Asha", "Ravi"):
        driver = closing(FirebaseUser(fleet.gateway))
        driver.account = driver.register(name=name)["data"]["user"]["_id"]
        apps.append(App(fleet, driver))
        assert refused(driver.request("GET", "/api/delivery/my-batch"))[0] == 403
        admin.expect_ok("POST", f"/api/admin/drivers/{driver.account}/approve", {})
        apps[-1].hear("driver-approved", True)
        apps[-1].ring("DRIVER_APPROVED")
        apps[-1].join_all()
    asha, ravi = apps

    # Asha pauses while the first batch becomes ready, and misses its push but not its event.
    asha.availability(False)
    lunch = Batch(admin, [order(deliveryOtp="4821"), order(), order()], windowEndTime=soon(1))
    for app in apps:
        app.hear("new-batch-available", False, batchId=lunch.id, orderCount=3)
    ravi.ring("NEW_BATCH_AVAILABLE", lunch.id)
    asha.availability(True)
    dinner = Batch(admin, [order(), order(deliveryOtp="7391")], windowEndTime=soon(1),
                   estimatedEarnings=0.1)
    for app in apps:
        app.hear("new-batch-available", False, batchId=dinner.id, orderCount=2)
        app.ring("NEW_BATCH_AVAILABLE", dinner.id)
    listed = ok(asha.driver.request("GET", "/api/delivery/available-batches"))["batches"]
    assert [each["_id"] for each in listed] == [lunch.id, dinner.id]

    # Ravi is too late for the first batch, and takes the second.
    ok(accept(asha.driver, lunch))
    assert refused(accept(ravi.driver, lunch)) == TAKEN
    ok(accept(ravi.driver, dinner))
    for app in apps:
        for batch in (lunch, dinner):
            app.hear("batch-taken", False, batchId=batch.id)
    assert my_batch(asha.driver)["summary"]["pending"] == 3
    assert read(ravi.driver, dinner).status == 200
    assert refused(read(ravi.driver, lunch))[0] == 403

    # Asha drives: her own sequence, a wrong code, a photo, and an order cancelled meanwhile.
    first, second, third = lunch.orders
    ok(arrange(asha.driver, lunch, second, first, third))
    ok(pick_up(asha.driver, lunch, notes="All warm"))
    assert [each["_id"] for each in my_batch(asha.driver)["orders"]] == [second, first, third]
    ok(report(asha.driver, second, "EN_ROUTE"))
    ok(report(asha.driver, second, "ARRIVED"))
    ok(deliver(asha.driver, second))
    lunch.act(f"orders/{third}/cancel", by="customer", reason="Not hungry")
    asha.hear("order-cancelled", True, orderId=third, batchId=lunch.id, cancelledBy="customer")
    asha.ring("ORDER_CANCELLED", third)
    assert refused(deliver(asha.driver, third))[:2] == (409, "Order cancelled")
    assert refused(deliver(asha.driver, first, type="OTP", otp="1111"))[0] == 400
    last = deliver(asha.driver, first, type="OTP", otp="4821")
    assert ok(last)["batchProgress"] == {"delivered": 2, "failed": 0, "total": 2}
    assert deliver(asha.driver, first, type="OTP", otp="4821").body == last.body
    data = ok(complete(asha.driver, lunch))
    assert data["batch"]["status"] == "PARTIAL_COMPLETE"
    assert data["summary"] == {"totalOrders": 2, "delivered": 2, "failed": 0}

    # Ravi has a flat tyre on the way: Asha takes over his batch, and finishes it.
    ok(pick_up(ravi.driver, dinner))
    ok(report(ravi.driver, dinner.orders[0], "EN_ROUTE"))
    dinner.act("reassign", driverId=asha.driver.account, reason="Flat tyre")
    ravi.hear("batch-reassigned", True, batchId=dinner.id)
    ravi.ring("BATCH_REASSIGNED", dinner.id)
    asha.hear("batch-assigned", True, batchId=dinner.id, routeId=dinner.id, orderCount=2)
    asha.ring("new_route", dinner.id)
    assert refused(deliver(ravi.driver, dinner.orders[0]))[0] == 403
    ok(deliver(asha.driver, dinner.orders[0], type="SIGNATURE",
               signatureUrl="https://images.example/sign.png"))
    ok(fail(asha.driver, dinner.orders[1], "CUSTOMER_UNREACHABLE", notes="Phone is off"))
    assert ok(complete(asha.driver, dinner))["batch"]["status"] == "PARTIAL_COMPLETE"
    assert my_batch(asha.driver)["batch"] is None

    # Everything is confirmed, listed, counted and written down.
    for app in apps:
        app.client.expect_nothing()
        got = app.driver.expect_ok("GET", "/api/driver/notifications")["data"]["notifications"]
        assert [each["event"] for each in reversed(got)] == app.events
    fleet.expect_no_pushes(asha.phone, ravi.phone)
    assert asha.pushes == ["DRIVER_APPROVED", "NEW_BATCH_AVAILABLE", "ORDER_CANCELLED", "new_route"]
    assert ravi.pushes == ["DRIVER_APPROVED", "NEW_BATCH_AVAILABLE", "NEW_BATCH_AVAILABLE",
                           "BATCH_REASSIGNED"]
    summaries = [ok(app.driver.request("GET", "/api/delivery/summary?range=today")) for app in apps]
    nothing = {"batches": 0, "deliveries": 0, "delivered": 0, "failed": 0, "currency": "INR",
               "earnings": {"total": 0, "base": 0, "bonus": 0}, "successRate": None}
    assert summaries == [
        {"batches": 2, "deliveries": 4, "delivered": 3, "failed": 1, "currency": "INR",
         "earnings": {"total": 450.6, "base": 450.6, "bonus": 0}, "successRate": 75}, nothing]
    heard = [json.loads(each["data"]) | {"event": each["event"]}
             for each in office.receive_until_pong()]
    for batch, actions in (
            (lunch, "accept acknowledge sequence pickup status status status cancel_order status "
             "complete"),
            (dinner, "accept acknowledge pickup status reassign status status complete")):
        printed = run("audit", "--config", fleet.gateway.config, "--batch", batch.id).stdout
        lines = printed.splitlines()
        assert [line.split("  ")[2] for line in lines[2:]] == actions.split(" "), lines
        events = [each["event"] for each in heard if each.get("batchId") == batch.id]
        assert events[:2] == ["batch-accepted", "batch-picked-up"]
        assert events[-1] == "batch-completed" and events.count("batch-completed") == 1
    assert [each["driverId"] for each in heard if each["event"] == "batch-completed"] == [
        asha.driver.subject] * 2
    assert [each["online"] for each in heard if each["event"] == "driver-availability"] == [
        False, True]
