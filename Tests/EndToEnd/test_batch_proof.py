"""Proof of delivery by code, reports that come twice, and what is counted."""

import json
import re

import pytest

from harness.batches import (PHOTO, Batch, accept, age_wrong_codes, batch_in, complete, deliver,
                             fail, hire, my_batch, ok, order, order_in, pick_up, read, refused,
                             report, returning)
from harness.fleet import JWT, Fleet
from harness.people import account_settings
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

WRONG_CODE = (400, "Invalid OTP", "Invalid OTP. Please check with customer.")
MINUTE = 60_000


@pytest.fixture
def start(start_gateway, server, closing):
    """Starts a gateway with the database of the one before. Returns it and its admin."""
    def start():
        gateway = start_gateway("kept", sections=account_settings(server, JWT))
        return gateway, Fleet(gateway, closing).admin()
    return start


def guess(driver, order_id: str, *otps: str) -> list[tuple]:
    """What the driver is told about these codes, which must be refused."""
    return [refused(deliver(driver, order_id, type="OTP", otp=otp)) for otp in otps]


def locked_batch(admin, driver, orders: int = 2) -> Batch:
    """A batch for whose first order five wrong codes were sent."""
    with_codes = [order(deliveryOtp="4821") for _ in range(orders)]
    batch = batch_in("IN_PROGRESS", admin, driver, with_codes)
    assert guess(driver, batch.orders[0], *(f"000{each}" for each in range(5))) == [WRONG_CODE] * 5
    return batch


def expect_locked(driver, order_id: str, otp: str = "4821") -> int:
    """Expects that no code is taken. Returns the Retry-After."""
    response = deliver(driver, order_id, type="OTP", otp=otp)
    assert refused(response)[:2] == (429, "Too many requests")
    after = int(response.headers["retry-after"])
    assert 1 <= after <= 900
    return after


# Codes

def test_a_wrong_code_changes_nothing(driver, admin):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    before = batch.get()
    assert guess(mine, batch.orders[0], "0000", "1284", "4820", "8421") == [WRONG_CODE] * 4
    assert batch.get() == before
    data = ok(deliver(mine, batch.orders[0], type="OTP", otp="4821"))
    assert data["assignment"]["proofOfDelivery"]["otpVerified"] is True


def test_after_five_wrong_codes_no_code_is_taken(driver, admin):
    mine = driver()
    batch = locked_batch(admin, mine)
    assert expect_locked(mine, batch.orders[0]) > 840
    expect_locked(mine, batch.orders[0], "0000")
    # The codes of other orders are.
    ok(deliver(mine, batch.orders[1], type="OTP", otp="4821"))
    assert ok(report(mine, batch.orders[0], "EN_ROUTE"))["order"]["status"] == "EN_ROUTE"


@pytest.mark.parametrize("call", [fail, deliver])
def test_a_locked_order_can_fail_or_be_proved_otherwise(driver, admin, call):
    mine = driver()
    batch = locked_batch(admin, mine)
    ok(call(mine, batch.orders[0]))
    expected = "FAILED" if call is fail else "DELIVERED"
    assert my_batch(mine)["orders"][0]["assignmentStatus"] == expected


def test_the_lock_survives_restarts_until_its_minutes_are_over(start, closing):
    gateway, admin = start()
    mine = closing(hire(gateway, admin))
    first = locked_batch(admin, mine).orders[0]
    gateway.kill()
    age_wrong_codes(gateway, 10 * MINUTE)
    gateway, admin = start()
    mine = closing(returning(gateway, mine))
    assert 200 < expect_locked(mine, first) <= 300
    gateway.stop()
    age_wrong_codes(gateway, int(5.1 * MINUTE))
    gateway, admin = start()
    mine = closing(returning(gateway, mine))
    assert guess(mine, first, "0000") == [WRONG_CODE]
    ok(deliver(mine, first, type="OTP", otp="4821"))


def test_codes_are_counted_within_15_minutes(start, closing):
    """Four wrong codes of long ago do not count."""
    gateway, admin = start()
    mine = closing(hire(gateway, admin))
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    assert guess(mine, batch.orders[0], *["0000"] * 4) == [WRONG_CODE] * 4
    gateway.stop()
    age_wrong_codes(gateway, int(15.1 * MINUTE))
    gateway, admin = start()
    mine = closing(returning(gateway, mine))
    assert guess(mine, batch.orders[0], *["0000"] * 5) == [WRONG_CODE] * 5
    expect_locked(mine, batch.orders[0])


def test_reassignment_does_not_reset_the_count(driver, admin):
    first, second = driver(), driver()
    batch = locked_batch(admin, first)
    batch.act("reassign", driverId=second.subject)
    expect_locked(second, batch.orders[0])
    batch.act("reassign", driverId=first.subject)
    expect_locked(first, batch.orders[0])


def test_codes_are_not_counted_by_malformed_requests(driver, admin):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    for _ in range(6):
        assert guess(mine, batch.orders[0], "48")[0][1] == "Validation error"
    ok(deliver(mine, batch.orders[0], type="OTP", otp="4821"))


def test_before_pickup_codes_are_not_compared(driver, admin):
    """Else a driver could try codes without limit, or lock the order, before it is picked up."""
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine, [order(deliveryOtp="4821")])
    for otp in ["0000"] * 5 + ["4821"]:
        assert guess(mine, batch.orders[0], otp)[0][1] == "Order has not been picked up"
    ok(pick_up(mine, batch))
    ok(deliver(mine, batch.orders[0], type="OTP", otp="4821"))


def test_any_code_proves_an_order_without_one(driver, admin):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 1)
    assignment = ok(deliver(mine, batch.orders[0], type="OTP", otp="0000"))["assignment"]
    proof = assignment["proofOfDelivery"]
    assert (proof["otp"], proof["otpVerified"]) == ("0000", False)


def test_nobody_sees_the_code(gateway, driver, admin, fleet):
    """Neither in a response or event nor in the files of the database or in the log."""
    office, mine = fleet.listen(admin, "admin-channel"), driver()
    everyone = fleet.listen(mine, "drivers-channel", f"driver-{mine.subject}")
    batch = Batch(admin, [order(deliveryOtp="8305"), order(deliveryOtp="7391")])
    batch.ready()
    seen = [accept(mine, batch).text, read(mine, batch).text, json.dumps(my_batch(mine)),
            pick_up(mine, batch).text, admin.request("GET", batch.path).text,
            json.dumps(batch.act(f"orders/{batch.orders[1]}/cancel")),
            mine.request("GET", "/api/driver/notifications").text]
    seen += [json.dumps(client.receive_until_pong()) for client in (office, everyone)]
    assert [each["deliveryOtp"] for each in batch.get()["orders"]] == ["****", "****"]
    assert not [text for text in seen if re.search(r"\b(8305|7391)\b", text)]
    for file in gateway.database_path.parent.glob(f"{gateway.database_path.name}*"):
        assert not re.search(rb"\b(8305|7391)\b", file.read_bytes()), file
    assert '"8305"' not in gateway.log()
    ok(deliver(mine, batch.orders[0], type="OTP", otp="8305"))


# Reports that come twice

@pytest.mark.parametrize("status", ["EN_ROUTE", "ARRIVED", "DELIVERED", "FAILED"])
def test_a_repeated_report_gets_the_stored_answer(driver, admin, status):
    """Whatever else it says, and also after the batch has ended."""
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    first, second = batch.orders
    more = {"DELIVERED": {"proofOfDelivery": PHOTO},
            "FAILED": {"failureReason": "OTHER", "notes": "Gate"}}.get(status, {})
    got = report(mine, first, status, **more)
    ok(got)
    before = batch.get()
    assert report(mine, first, status, **more).body == got.body
    other = {"DELIVERED": {"proofOfDelivery": {"type": "OTP", "otp": "1111"}},
             "FAILED": {"failureReason": "WRONG_ADDRESS"}}.get(status, {"notes": "Again"})
    assert report(mine, first, status, **other).body == got.body
    assert batch.get() == before
    ok(deliver(mine, second))
    if status in ("DELIVERED", "FAILED"):
        assert batch.status in ("COMPLETED", "PARTIAL_COMPLETE")
    ended = batch.get()
    assert report(mine, first, status, **more).body == got.body
    assert batch.get() == ended


def test_a_repeated_report_gets_the_stored_answer_after_a_restart(start, closing):
    gateway, admin = start()
    mine = closing(hire(gateway, admin))
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    got = deliver(mine, batch.orders[0], type="OTP", otp="4821")
    ok(got)
    gateway.kill()
    gateway, admin = start()
    mine = closing(returning(gateway, mine))
    assert deliver(mine, batch.orders[0], type="OTP", otp="4821").body == got.body
    assert gateway.query("SELECT COUNT(*) FROM audit WHERE batch_id = ? AND action = 'status'",
                         batch.id) == [(1,)]


def test_another_drivers_report_is_not_repeated(driver, admin):
    first, second = driver(), driver()
    batch, reported = order_in("EN_ROUTE", admin, first)
    batch.act("reassign", driverId=second.subject)
    assert refused(report(second, reported, "EN_ROUTE")) == (
        400, "Invalid status transition", "Cannot change status from EN_ROUTE to EN_ROUTE")
    got = report(second, reported, "ARRIVED")
    ok(got)
    assert report(second, reported, "ARRIVED").body == got.body


def test_a_repetition_is_not_an_event(driver, admin, fleet):
    mine, office = driver(), fleet.listen(admin, "admin-channel")
    batch = batch_in("IN_PROGRESS", admin, mine)
    office.receive_until_pong()
    for _ in range(3):
        ok(deliver(mine, batch.orders[0]))
    for _ in range(3):
        ok(fail(mine, batch.orders[1]))
    events = [each["event"] for each in office.receive_until_pong()]
    assert events.count("batch-progress") <= 2 and events.count("batch-completed") == 1


# What is counted, and how batches end

def counts(batch: Batch, driver) -> tuple:
    """The counts of the batch: all of them must agree."""
    shown = my_batch(driver)
    summary = batch.get()["summary"]
    assert summary == shown["summary"]
    parts = [summary[each] for each in ("delivered", "pending", "failed")]
    assert summary["totalOrders"] == sum(parts)
    assert (summary["delivered"], summary["failed"]) == (
        shown["batch"]["totalDelivered"], shown["batch"]["totalFailed"])
    return tuple(summary[each] for each in ("totalOrders", "delivered", "pending", "failed"))


def test_counts_leave_cancelled_orders_out(driver, admin):
    mine = driver()
    batch = Batch(admin, 6).ready()
    batch.act(f"orders/{batch.orders[0]}/cancel")
    assert batch.get()["summary"]["totalOrders"] == 5
    ok(accept(mine, batch))
    assert counts(batch, mine) == (5, 0, 5, 0)
    batch.act(f"orders/{batch.orders[1]}/cancel")
    assert counts(batch, mine) == (4, 0, 4, 0)
    ok(pick_up(mine, batch))
    batch.act(f"orders/{batch.orders[2]}/cancel")
    assert counts(batch, mine) == (3, 0, 3, 0)
    assert ok(deliver(mine, batch.orders[3]))["batchProgress"] == {
        "delivered": 1, "failed": 0, "total": 3}
    ok(fail(mine, batch.orders[4]))
    batch.act(f"orders/{batch.orders[4]}/return")
    assert counts(batch, mine) == (3, 1, 1, 1)
    ok(deliver(mine, batch.orders[5]))
    data = ok(complete(mine, batch))
    assert data["summary"] == {"totalOrders": 3, "delivered": 2, "failed": 1}


D, F, C, B = deliver, fail, "cancel", "cancel before pickup"


@pytest.mark.parametrize("fates, expected", [
    ([D, D], "COMPLETED"), ([D, F], "PARTIAL_COMPLETE"), ([F, F], "PARTIAL_COMPLETE"),
    ([B, D], "COMPLETED"), ([C, D], "PARTIAL_COMPLETE"), ([D, C], "PARTIAL_COMPLETE"),
    ([F, C], "PARTIAL_COMPLETE"), ([B, F], "PARTIAL_COMPLETE"), ([B, C, D], "PARTIAL_COMPLETE"),
    ([B, B], "CANCELLED"), ([C, C], ("CANCELLED", "PARTIAL_COMPLETE")),
    ([B, C], ("CANCELLED", "PARTIAL_COMPLETE"))])
def test_how_a_batch_ends(driver, admin, fates, expected):
    """With the last report or cancellation. A batch whose orders are all cancelled, one of them
    after pickup, meets the definitions of two ends.
    """
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine, len(fates))
    for each, fate in zip(batch.orders, fates):
        if fate == B:
            batch.act(f"orders/{each}/cancel")
    if batch.status == "DISPATCHED":
        ok(pick_up(mine, batch))
    for each, fate in zip(batch.orders, fates):
        if fate == C:
            batch.act(f"orders/{each}/cancel")
        elif fate != B:
            ok(fate(mine, each))
    assert batch.status in (expected if isinstance(expected, tuple) else [expected])
    assert my_batch(mine)["batch"] is None
    ok(accept(mine, Batch(admin).ready()))


def test_a_waiting_batch_ends_with_its_last_order(driver, admin):
    """Cancelled orders stay so when the kitchen sends the list again."""
    batch = Batch(admin, 2)
    batch.act(f"orders/{batch.orders[0]}/cancel")
    admin.expect_ok("PUT", batch.path, {"orders": batch.fields["orders"]})
    assert [each["status"] for each in batch.get()["orders"]] == ["CANCELLED", "READY"]
    batch.ready()
    batch.act(f"orders/{batch.orders[1]}/cancel")
    assert batch.status == "CANCELLED"
    listed = ok(driver().request("GET", "/api/delivery/available-batches"))["batches"]
    assert batch.id not in [each["_id"] for each in listed]


def test_a_returned_order_counts_as_failed(driver, admin):
    mine = driver()
    batch, first = order_in("RETURNED", admin, mine)
    assert counts(batch, mine) == (2, 0, 1, 1)
    ok(deliver(mine, batch.orders[1]))
    assert batch.status == "PARTIAL_COMPLETE"
    # An order may also be returned after the end.
    batch = batch_in("PARTIAL_COMPLETE", admin, mine)
    batch.act(f"orders/{batch.orders[0]}/return")
    stored = batch.get()
    assert stored["status"] == "PARTIAL_COMPLETE" and stored["summary"]["failed"] == 1
    assert stored["orders"][0]["status"] == "RETURNED"
