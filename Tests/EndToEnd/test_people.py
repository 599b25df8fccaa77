"""Who asks to be forgotten is forgotten: `DELETE /api/admin/people/{role}/{id}`."""

import contextlib
import sqlite3

import pytest

from harness.fleet import eventually, fresh


@pytest.fixture
def scene(pushing):
    return pushing("kept")


def erase(caller, role: str, subject: str) -> dict:
    answer = caller.done("DELETE", f"/api/admin/people/{role}/{subject}")
    assert answer.keys() >= {"success", "message", "data", "correlationId"} and answer["success"] is True, answer
    return answer["data"]


def everything_stored(scene) -> str:
    """All tables, in words."""
    with contextlib.closing(sqlite3.connect(f"file:{scene.gateway.config.parent}/var/fleetwire.db?mode=ro", uri=True)) as database:
        tables = [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
        return "\n".join(f"{table}: {row}" for table in tables for row in database.execute(f"SELECT * FROM {table}"))


def test_a_driver_who_is_erased(scene):
    owner = scene.driver(name="Danuta Unforgettable")
    phone = scene.ios(owner)
    owner.done("PUT", "/api/driver/preferences", {"types": {"new_job": True}})
    code, _ = scene.order(owner, driverName="Danuta Unforgettable")
    owner.accept(code)
    owner.progress(code, "en_route", notes="Unforgettable notes", latitude=51.987654, longitude=-0.123456)
    first = phone.next().notification
    owner.done("POST", "/api/driver/notifications/log", {"notificationId": first, "type": "new_job", "entityId": code, "event": "received",
                                                         "timestamp": "2026-03-01T10:00:00Z", "metadata": {"title": "Unforgettable title"}})
    scene.apns.refuse()
    waiting = scene.announce(owner)
    assert "Unforgettable" in everything_stored(scene)
    assert erase(scene.dispatcher, "driver", owner.subject)["devices"] == 1
    [step] = scene.became(waiting, "push_cancelled")
    # Whether it was just in the lane's hands decides who cancels it.
    assert step["detail"]["reason"] in ("erased", "device_removed"), step
    assert owner.done("GET", "/api/driver/devices")["data"]["devices"] == []
    assert owner.done("GET", "/api/driver/preferences")["data"]["types"] == {}
    scene.apns.listen()
    scene.is_not_pushed(scene.announce(owner))
    eventually(lambda: "Unforgettable" not in everything_stored(scene), "every trace of the name is gone")
    left = everything_stored(scene)
    assert "51.987654" not in left and "-0.123456" not in left and phone.token[:4] + "…" not in left
    # The job itself goes on.
    assert scene.dispatcher.seen(code)["status"] == "en_route"


def test_a_customer_who_is_erased(scene):
    owner = scene.customer(bookings=["R-gone"])
    scene.android(owner)
    driver, code = scene.driver(), fresh("O")
    scene.dispatcher.assign(code, driver.subject, customerId=owner.subject, customerName="Cora Unforgettable", bookingReference="R-gone")
    scene.dispatcher.order(code, "cancel-enhanced", reason="moved")
    assert erase(scene.dispatcher, "customer", owner.subject)["devices"] == 1
    eventually(lambda: "Unforgettable" not in everything_stored(scene), "every trace of the name is gone")
    scene.is_not_pushed(scene.announce(owner))


def test_an_erasure_goes_on_after_a_kill(pushing):
    scene = pushing("kept")
    owner = scene.driver(name="Danuta Unforgettable")
    for _ in range(300):
        scene.order(owner, driverName="Danuta Unforgettable")
    erase(scene.dispatcher, "driver", owner.subject)
    scene.gateway.kill()
    scene = pushing("kept")
    eventually(lambda: "Unforgettable" not in everything_stored(scene), "every trace of the name is gone")


def test_others_are_left_alone(scene):
    subject = fresh("p")
    driver, customer, other = scene.ios(scene.driver(subject)), scene.ios(scene.customer(subject)), scene.ios()
    erase(scene.dispatcher, "driver", subject)
    for phone in (customer, other):
        phone.next(scene.announce(phone))
    assert driver.sent == []


def test_whom_nobody_knows(scene):
    data = erase(scene.dispatcher, "driver", fresh("nobody"))
    assert data["devices"] == 0


def test_it_is_in_the_audit_without_his_name(scene):
    owner = scene.driver(name="Danuta Unforgettable")
    erase(scene.dispatcher, "driver", owner.subject)
    stored = everything_stored(scene)
    assert any("audit:" in line and "'erase'" in line for line in stored.splitlines()) and "Unforgettable" not in stored


def test_who_may(scene):
    path = "/api/admin/people/driver/d1"
    scene.caller().refused(401, "DELETE", path)
    for caller in (scene.driver(), scene.customer(), scene.ops()):
        caller.refused(403, "DELETE", path)
    for method in ("GET", "POST", "PUT"):
        scene.dispatcher.refused(405, method, path, {})
    for wrong in ("/api/admin/people/admin/a1", "/api/admin/people/nobody/x", "/api/admin/people/driver/a%20b", "/api/admin/people/driver/" + "x" * 151):
        assert scene.dispatcher.ask("DELETE", wrong).status in (400, 404), wrong


def test_a_repeated_request_is_done_once(scene):
    owner = scene.driver()
    scene.ios(owner)
    first = scene.dispatcher.ask("DELETE", f"/api/admin/people/driver/{owner.subject}", key="once")
    phone = scene.ios(owner)
    again = scene.dispatcher.ask("DELETE", f"/api/admin/people/driver/{owner.subject}", key="once")
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    phone.next(scene.announce(phone))
