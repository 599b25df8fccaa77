"""Erasure of personal data: `DELETE /api/admin/people/{role}/{id}`."""

import pytest

from harness.fleet import unique_id, wait_until


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet("kept")


def erase(caller, role: str, subject: str) -> dict:
    response = caller.expect_ok("DELETE", f"/api/admin/people/{role}/{subject}")
    assert (response.keys() >= {"success", "message", "data", "correlationId"}
            and response["success"] is True), response
    return response["data"]


def everything_stored(fleet) -> str:
    """Dumps all tables as text."""
    tables = fleet.gateway.query(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return "\n".join(f"{table}: {row}" for (table,) in tables
                     for row in fleet.gateway.query(f"SELECT * FROM {table}"))


def test_erasing_a_driver_removes_devices_pushes_and_personal_data(fleet):
    owner = fleet.driver(name="Danuta Unforgettable")
    device = fleet.ios(owner)
    owner.expect_ok("PUT", "/api/driver/preferences", {"types": {"new_job": True}})
    code, _ = fleet.order(owner, driverName="Danuta Unforgettable")
    owner.accept(code)
    owner.progress(code, "en_route", notes="Unforgettable notes", latitude=51.987654,
                   longitude=-0.123456)
    first = device.next().notification
    owner.expect_ok("POST", "/api/driver/notifications/log",
                    {"notificationId": first, "type": "new_job", "entityId": code,
                     "event": "received", "timestamp": "2026-03-01T10:00:00Z",
                     "metadata": {"title": "Unforgettable title"}})
    fleet.apns.stop_listening()
    waiting = fleet.announce(owner)
    assert "Unforgettable" in everything_stored(fleet)
    assert erase(fleet.dispatcher, "driver", owner.subject)["devices"] == 1
    [step] = fleet.wait_for_step(waiting, "push_cancelled")
    # Whichever holds the push job, the store or the lane, cancels it.
    assert step["detail"]["reason"] in ("erased", "device_removed"), step
    assert owner.expect_ok("GET", "/api/driver/devices")["data"]["devices"] == []
    assert owner.expect_ok("GET", "/api/driver/preferences")["data"]["types"] == {}
    fleet.apns.listen()
    fleet.expect_not_pushed(fleet.announce(owner))
    wait_until(lambda: "Unforgettable" not in everything_stored(fleet),
               "the name is erased everywhere")
    left = everything_stored(fleet)
    assert ("51.987654" not in left and "-0.123456" not in left
            and device.token[:4] + "…" not in left)
    # The order itself stays.
    assert fleet.dispatcher.get_order(code)["status"] == "en_route"


def test_erasing_a_customer_removes_devices_and_personal_data(fleet):
    owner = fleet.customer(bookings=["R-gone"])
    fleet.android(owner)
    driver, code = fleet.driver(), unique_id("O")
    fleet.dispatcher.assign(code, driver.subject, customerId=owner.subject,
                            customerName="Cora Unforgettable", bookingReference="R-gone")
    fleet.dispatcher.order(code, "cancel-enhanced", reason="moved")
    assert erase(fleet.dispatcher, "customer", owner.subject)["devices"] == 1
    wait_until(lambda: "Unforgettable" not in everything_stored(fleet),
               "the name is erased everywhere")
    fleet.expect_not_pushed(fleet.announce(owner))


def test_erasure_resumes_after_a_kill(start_push_fleet):
    fleet = start_push_fleet("kept")
    owner = fleet.driver(name="Danuta Unforgettable")
    for _ in range(300):
        fleet.order(owner, driverName="Danuta Unforgettable")
    erase(fleet.dispatcher, "driver", owner.subject)
    fleet.gateway.kill()
    fleet = start_push_fleet("kept")
    wait_until(lambda: "Unforgettable" not in everything_stored(fleet),
               "the name is erased everywhere")


def test_other_users_are_unaffected(fleet):
    subject = unique_id("p")
    driver, customer, other = (fleet.ios(fleet.driver(subject)), fleet.ios(fleet.customer(subject)),
                               fleet.ios())
    erase(fleet.dispatcher, "driver", subject)
    for device in (customer, other):
        device.next(fleet.announce(device))
    assert driver.sent == []


def test_erasing_an_unknown_user_succeeds(fleet):
    data = erase(fleet.dispatcher, "driver", unique_id("unknown"))
    assert data["devices"] == 0


def test_audit_entry_has_no_name(fleet):
    owner = fleet.driver(name="Danuta Unforgettable")
    erase(fleet.dispatcher, "driver", owner.subject)
    stored = everything_stored(fleet)
    assert (any("audit:" in line and "'erase'" in line for line in stored.splitlines())
            and "Unforgettable" not in stored)


def test_erasure_requires_role_admin(fleet):
    path = "/api/admin/people/driver/d1"
    fleet.caller().expect_error(401, "DELETE", path)
    for caller in (fleet.driver(), fleet.customer(), fleet.ops()):
        caller.expect_error(403, "DELETE", path)
    for method in ("GET", "POST", "PUT"):
        fleet.dispatcher.expect_error(405, method, path, {})
    for wrong in ("/api/admin/people/admin/a1", "/api/admin/people/unknown/x",
                  "/api/admin/people/driver/a%20b", "/api/admin/people/driver/" + "x" * 151):
        assert fleet.dispatcher.request("DELETE", wrong).status in (400, 404), wrong


def test_repeated_request_is_performed_once(fleet):
    owner = fleet.driver()
    fleet.ios(owner)
    first = fleet.dispatcher.request("DELETE", f"/api/admin/people/driver/{owner.subject}",
                                     key="once")
    device = fleet.ios(owner)
    again = fleet.dispatcher.request("DELETE", f"/api/admin/people/driver/{owner.subject}",
                                     key="once")
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    device.next(fleet.announce(device))
