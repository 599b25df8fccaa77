"""Attacks on batches of orders, and accidents around them."""

import contextlib
import json
import os
import sqlite3

import pytest

from harness.batches import (ADDRESS, PHOTO, Batch, accept, age_wrong_codes, batch_fields,
                             batch_in, complete, deliver, fail, hire, my_batch, object_id, ok,
                             order, pick_up, read, refused, returning)
from harness.fleet import unique_id, wait_until
from harness.people import FirebaseUser
from harness.people_fixtures import driver, module_settings, server, start  # noqa: F401

HOUR = 3_600_000
MARK = "\u0301"  # a combining acute accent


def edit(gateway, sql: str, *values) -> None:
    """Edits the database of a gateway that does not run."""
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        assert database.execute(sql, values).rowcount > 0


# Bodies and paths

@pytest.mark.parametrize("body", [
    b"", b"[]", b"null", b"{", b'{"status":"EN_ROUTE"', b'{"status":"EN_ROUTE"}}', b"\xff\xfe{}",
    b'{"status":"EN_ROUTE","notes":"a\\u0000b"}', b'{"status":"EN_ROUTE","notes":"\xff"}',
    b'{"status":"EN_ROUTE","notes":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"status":"EN_ROUTE","notes":1e400}', b'{"status":"EN\\u0000_ROUTE"}',
    b'{"status":"en_route"}', b'{"status":["EN_ROUTE"]}', b'{"status":{"EN_ROUTE":1}}',
    f'{{"status":"EN_ROUTE","notes":"{"é" * 201}"}}'.encode(),
    f'{{"status":"EN_ROUTE","notes":"e{MARK * 20_000}"}}'.encode()])
def test_odd_reports_are_refused(driver, admin, body):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    before = batch.get()
    response = mine.request("PATCH", f"/api/delivery/orders/{batch.orders[0]}/status", body)
    assert refused(response)[0] == 400
    assert batch.get() == before


def test_a_large_body_is_refused_and_200_long_orders_are_not(driver, admin, fleet):
    street = "Ü" * 150
    orders = [order(deliveryAddress=ADDRESS | {"street": street}, items=[
        {"menuItemId": "m" * 20, "name": "n" * 60, "quantity": 1, "price": 1.5}] * 10)
        for _ in range(200)]
    batch, mine = Batch(admin, orders).ready(), driver()
    shown = ok(accept(mine, batch))["orders"]
    assert [each["deliveryAddress"]["street"] for each in shown] == [street] * 200
    assert len(my_batch(mine)["orders"]) == 200
    path = f"/api/admin/batches/{object_id()}"
    body = json.dumps(batch_fields(1, batchNumber="x" * 3_000_000)).encode()
    with contextlib.suppress(OSError):
        assert fleet.admin().put(path, body).status == 413
    assert admin.request("GET", path).status == 404
    with contextlib.suppress(OSError):
        other = fleet.caller("driver", mine.subject, bearer=mine.bearer)
        response = other.request("PATCH", f"/api/delivery/batches/{batch.id}/pickup", {
            "notes": "n" * 2_000_000})
        assert refused(response)[:2] == (413, "Request too large")
    assert batch.status == "DISPATCHED"


def test_the_last_of_equal_names_counts_everywhere_or_none(driver, admin):
    """A duplicate name must not pass a check with one value and be stored with the other."""
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    body = (b'{"status":"DELIVERED","proofOfDelivery":{"type":"OTP","otp":"0000","otp":"4821"},'
            b'"status":"DELIVERED"}')
    response = mine.request("PATCH", f"/api/delivery/orders/{batch.orders[0]}/status", body)
    if response.status == 200:
        proof = ok(response)["assignment"]["proofOfDelivery"]
        assert (proof["otp"], proof["otpVerified"]) == ("4821", True)
    else:
        assert response.status == 400


def test_texts_come_back_as_they_were_sent(driver, admin):
    name = "Ańǵela e\u0301\u200d👩‍🍳 abc \"\\/ <script> '; DROP TABLE batches; --"
    notes = f"\u202e{name}\u2028"  # a name may not contain format characters, a note may
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine, [order(deliveryAddress=ADDRESS | {"name": name})],
                     batchNumber=name[:60])
    shown = my_batch(mine)
    assert shown["orders"][0]["deliveryAddress"]["name"] == name
    assert shown["batch"]["batchNumber"] == name[:60]
    ok(pick_up(mine, batch, notes=notes))
    data = ok(fail(mine, batch.orders[0], "OTHER", notes=notes))
    assert data["assignment"]["failureNotes"] == notes


@pytest.mark.parametrize("path", [
    "batches/{id}%2Faccept", "batches//{id}/accept", "batches/{id}//accept",
    "batches/./{id}/accept", "batches/x/../{id}/accept", "batches/{upper}/accept",
    "batches/{id}%00/accept", "batches/{id}%20/accept", "batches/{id}/accept/",
    "//batches/{id}/accept",
    "batches/{id};x=1/accept", "BATCHES/{id}/accept", "batches/%7Bid%7D/accept"])
def test_no_other_path_accepts(driver, admin, path):
    batch, mine = Batch(admin).ready(), driver()
    while batch.id.upper() == batch.id:
        batch = Batch(admin).ready()
    target = "/api/delivery/" + path.format(id=batch.id, upper=batch.id.upper())
    response = mine.post(target, {})
    # 405: an unknown id of a batch, which can only be read.
    assert response.status in (400, 404, 405), response
    assert batch.status == "READY_FOR_DISPATCH"


def test_ids_in_bodies_are_compared_exactly(driver, admin):
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine, [order(_id="ab" + object_id()[2:])])
    upper = batch.orders[0].upper()
    response = mine.request("PATCH", f"/api/delivery/batches/{batch.id}/sequence", {
        "sequence": [{"orderId": upper, "sequenceNumber": 1}]})
    assert refused(response)[0] == 400
    assert admin.put(f"/api/admin/batches/{object_id()}",
                     batch_fields([order(_id=upper)])).status == 400


def test_refusals_are_not_stored(gateway, driver, admin):
    """Else keys would fill the database."""
    mine, other = driver(), driver()
    batch = batch_in("DISPATCHED", admin, other)
    for number in range(50):
        path = f"/api/delivery/batches/{batch.id}/accept"
        assert refused(mine.post(path, {}, key=f"k{number}"))[0] == 400
    assert gateway.query("SELECT COUNT(*) FROM idempotency WHERE subject LIKE ?",
                         f"%{mine.subject}") == [(0,)]


# Accounts that change meanwhile

def test_a_driver_suspended_in_the_middle(driver, admin):
    """The batch stays with the driver; the dispatcher may give it to another."""
    mine, other = driver(), driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    ok(deliver(mine, batch.orders[0]))
    admin.expect_ok("POST", f"/api/admin/drivers/{mine.subject}/suspend", {"reason": "Complaint"})
    assert refused(deliver(mine, batch.orders[1])) == (403, "Account suspended", "Complaint")
    assert batch.get()["driverId"] == mine.subject
    batch.act("reassign", driverId=other.account)
    ok(deliver(other, batch.orders[1]))
    assert batch.status == "COMPLETED"
    admin.expect_ok("POST", f"/api/admin/drivers/{mine.subject}/reinstate", {})
    assert my_batch(mine)["batch"] is None
    assert refused(read(mine, batch))[0] == 403


def test_a_driver_whose_id_changes_keeps_the_batch(gateway, driver, admin, closing):
    """The batch belongs to the account. The operator gave the user another `driver_id`."""
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    renamed = closing(FirebaseUser(gateway, mine.uid, mine.phone, driver_id=unique_id("d")))
    response = renamed.request("GET", "/api/delivery/my-batch")
    # Either the account goes on with its batch, or the new id has no account yet; in no case is
    # the batch lost for both or visible without an account.
    if response.status == 200:
        assert ok(response)["batch"]["_id"] == batch.id
        assert ok(pick_up(renamed, batch))["batch"]["status"] == "IN_PROGRESS"
        ok(deliver(renamed, batch.orders[0]))
    else:
        assert refused(response)[0] == 403
        assert my_batch(mine)["batch"]["_id"] == batch.id
    assert batch.get()["driverId"] in (mine.subject, renamed.subject)


def test_an_id_that_another_driver_has_is_no_way_in(gateway, driver, admin, closing):
    """A user without account whose `driver_id` claim names another driver."""
    mine = driver()
    batch = batch_in("DISPATCHED", admin, mine)
    thief = closing(FirebaseUser(gateway, driver_id=mine.subject))
    for response in (thief.request("GET", "/api/delivery/my-batch"), read(thief, batch),
                     pick_up(thief, batch), accept(thief, batch)):
        assert refused(response)[0] == 403, response
    assert batch.status == "DISPATCHED"


# Codes

def test_a_replaced_list_does_not_help_to_guess(driver, admin):
    """The list cannot be replaced once codes can be tried."""
    mine, code = driver(), order(deliveryOtp="4821")
    batch = batch_in("IN_PROGRESS", admin, mine, [code])
    for otp in ("0000", "0001", "0002", "0003", "0004"):
        assert refused(deliver(mine, code["_id"], type="OTP", otp=otp))[1] == "Invalid OTP"
    assert admin.put(batch.path, {"orders": [code]}).status == 409
    assert refused(deliver(mine, code["_id"], type="OTP", otp="4821"))[0] == 429


def test_another_batch_does_not_help_to_guess(driver, admin):
    """The order failed after five wrong codes, and is dispatched again within 15 minutes."""
    mine, code = driver(), order(deliveryOtp="4821")
    batch_in("IN_PROGRESS", admin, mine, [code])
    for number in range(5):
        assert deliver(mine, code["_id"], type="OTP", otp=f"000{number}").status == 400
    ok(fail(mine, code["_id"]))
    batch_in("IN_PROGRESS", admin, mine, [code])
    assert refused(deliver(mine, code["_id"], type="OTP", otp="0005"))[0] == 429


def test_a_key_does_not_help_to_guess(driver, admin):
    """A refusal is counted once per request, whatever key comes with it."""
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    path, statuses = f"/api/delivery/orders/{batch.orders[0]}/status", []
    for number in range(7):
        body = {"status": "DELIVERED", "proofOfDelivery": {"type": "OTP", "otp": f"000{number}"}}
        statuses.append(mine.request("PATCH", path, body, key="same").status)
    assert statuses == [400] * 5 + [429] * 2


# Accidents

def test_a_locked_database_is_no_answer_of_success(gateway, driver, admin):
    """While another process locks the database, an accept either waits or is refused with 503."""
    batch, mine = Batch(admin).ready(), driver()
    with contextlib.closing(sqlite3.connect(gateway.database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        mine.connection.sock.settimeout(30)
        response = accept(mine, batch)
        assert response.status in (500, 503), response
        assert refused(response)[1] in ("Service unavailable", "Internal server error")
        assert batch.status == "READY_FOR_DISPATCH"
        other.execute("ROLLBACK")
    wait_until(lambda: accept(mine, batch).status == 200, "the batch is accepted")
    assert batch.get()["driverId"] == mine.subject


def test_a_stalled_log_reader_does_not_stop_deliveries(start, closing):
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, True)
        fleet = start(stderr=writer)
        for number in range(25):
            # There are limits for each admin and driver.
            admin = fleet.admin(f"a{number}")
            for _ in range(2):
                batch_in("COMPLETED", admin, closing(hire(fleet.gateway, admin)), 10)
        fleet.gateway.kill()
    finally:
        os.close(reader)
        os.close(writer)


def test_a_clock_that_was_ahead(start, closing):
    """The saved times lie hours ahead: nothing crashes, and deliveries go on."""
    fleet = start()
    mine = closing(hire(fleet.gateway, fleet.admin()))
    batch = batch_in("IN_PROGRESS", fleet.admin(), mine, [order(deliveryOtp="4821"), order()])
    refused(deliver(mine, batch.orders[0], type="OTP", otp="0000"))
    ok(mine.put("/api/delivery/availability", {"online": True}))
    fleet.gateway.stop()
    for column in ("created_at", "assigned_at", "updated_at", "picked_up_at"):
        edit(fleet.gateway, f"UPDATE batches SET {column} = {column} + ?", 5 * HOUR)
    edit(fleet.gateway, "UPDATE driver_availability SET since = since + ?, seen_at = seen_at + ?",
         *[5 * HOUR] * 2)
    age_wrong_codes(fleet.gateway, -5 * HOUR)
    fleet = start()
    again = closing(returning(fleet.gateway, mine))
    ok(deliver(again, batch.orders[0], type="OTP", otp="4821"))
    ok(deliver(again, batch.orders[1]))
    assert ok(complete(again, batch))["batch"]["status"] == "COMPLETED"
    assert ok(again.request("GET", "/api/delivery/availability"))["online"] is True


def test_a_clock_that_was_ahead_does_not_lock_an_order_for_hours(start, closing):
    """The five wrong codes lie 5 hours ahead. The order is locked for 15 minutes at most."""
    fleet = start()
    mine = closing(hire(fleet.gateway, fleet.admin()))
    batch = batch_in("IN_PROGRESS", fleet.admin(), mine, [order(deliveryOtp="4821")])
    for _ in range(5):
        assert deliver(mine, batch.orders[0], type="OTP", otp="0000").status == 400
    fleet.gateway.stop()
    age_wrong_codes(fleet.gateway, -5 * HOUR)
    again = closing(returning(start().gateway, mine))
    response = deliver(again, batch.orders[0], type="OTP", otp="4821")
    assert response.status == 200 or int(response.headers["retry-after"]) <= 900, response


def test_a_kill_between_any_two_steps(start, closing):
    """After each step the gateway is killed; the next one continues, and repeats the answer."""
    fleet = start()
    mine = closing(hire(fleet.gateway, fleet.admin()))
    batch = Batch(fleet.admin(), 2)
    first, second = batch.orders
    route = f"/api/delivery/batches/{batch.id}"
    steps = [("POST", f"{route}/accept", {}), ("PATCH", f"{route}/pickup", {}),
             ("PATCH", f"/api/delivery/orders/{first}/status", {"status": "EN_ROUTE"}),
             ("PATCH", f"/api/delivery/orders/{first}/status",
              {"status": "DELIVERED", "proofOfDelivery": PHOTO}),
             ("PATCH", f"/api/delivery/orders/{second}/status",
              {"status": "FAILED", "failureReason": "OTHER", "notes": "Dog"}),
             ("PATCH", f"{route}/complete", {})]
    batch.ready()
    for number, (method, path, body) in enumerate(steps):
        got = mine.request(method, path, body, key=f"k{number}")
        assert got.status == 200, got
        fleet.gateway.kill()
        fleet = start()
        mine = closing(returning(fleet.gateway, mine))
        again = mine.request(method, path, body, key=f"k{number}")
        assert again.status == 200 and again.body == got.body, (path, again)
    rows = fleet.gateway.query("SELECT action FROM audit WHERE batch_id = ? ORDER BY id", batch.id)
    assert [action for action, in rows][2:7] == ["accept", "pickup", "status", "status", "status"]


def test_everyone_is_served_after_a_start_with_work(start, closing):
    """A window has ended, or a driver has been silent for 12 hours, while the gateway was stopped:
    it acts at once when it starts. Connections of both its loops are served nevertheless.
    """
    fleet = start()
    admin = fleet.admin()
    drivers = [closing(hire(fleet.gateway, admin)) for _ in range(12)]
    for each in drivers:
        ok(each.put("/api/delivery/availability", {"online": True}))
    batches = [Batch(admin, 1) for _ in drivers]
    for each, batch in zip(drivers, batches):
        fleet.gateway.stop()
        edit(fleet.gateway, "UPDATE batches SET window_ends_at = 1000 WHERE id = ?", batch.id)
        edit(fleet.gateway, "UPDATE driver_availability SET seen_at = 1000 WHERE account_id = ?",
             each.account)
        fleet = start()
        for caller in [fleet.admin() for _ in range(4)]:
            caller.connection.sock.settimeout(5)
            try:
                assert caller.request("GET", batch.path).status == 200
            except TimeoutError:
                fleet.gateway.kill()  # it would not stop in time
                raise
