"""What each action sends to whose phones: of its events to somebody the first, once per device, and what apps read in it."""

import datetime
import json
import re

import pytest

from harness.fleet import fresh
from harness.push.phones import Push

PLACES = {"customerName": "Ann Öz 🚚", "pickupAddress": "1 \"High\" St", "dropoffAddress": "2 Low Rd"}
FRONT = ["type", "event", "notificationId", "entityId"]
HOUR = 3_600


class Stage:
    """One order and one route; two drivers with an iOS and an Android phone each, and a customer with one of each."""

    def __init__(self, scene):
        self.scene, self.admin = scene, scene.dispatcher
        self.code, self.booking, self.reference, self.route = fresh("O"), fresh("B"), fresh("R"), fresh("T")
        self.old, self.new, self.customer = scene.driver(), scene.driver(), scene.customer()
        self.phones = {person.subject: [scene.ios(person), scene.android(person)] for person in (self.old, self.new, self.customer)}
        self.fields = {"bookingId": self.booking, "bookingReference": self.reference, "customerId": self.customer.subject,
                       "scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": 42.5} | PLACES
        self.route_fields = {"routeNumber": "RT-7", "bookingsCount": 3, "dropsCount": 5, "earningsAdjustment": -4.25}

    def assign(self, driver=None, **more) -> dict:
        return self.admin.assign(self.code, (driver or self.old).subject, **(self.fields | more))

    def assign_route(self) -> dict:
        return self.admin.route(self.route, "assign-driver", driverId=self.old.subject, **self.route_fields)

    def expect(self, answer: dict, *told: tuple) -> dict[str, list[Push]]:
        """Each of these hears of that notification on each phone, the others nothing, and no other notification is pushed at all."""
        ids, heard = answer["data"]["notificationIds"], {}
        for person, index, event, kind in told:
            heard[person.subject] = pushes = [phone.next(ids[index]) for phone in self.phones[person.subject]]
            for push in pushes:
                assert (push.data["event"], push.data["type"]) == (event, kind), push
        pushed = {ids[index] for _, index, _, _ in told}
        self.scene.is_not_pushed(*(each for each in ids if each not in pushed))
        for each in pushed:
            self.scene.accepted(each, 2 * sum(ids[index] == each for _, index, _, _ in told))
        return heard

    def assert_job(self, push: Push) -> None:
        assert list(push.data)[:7] == [*FRONT, "jobId", "title", "message"], push.data
        assert push.data["entityId"] == push.data["jobId"] == self.booking, push.data

    def assert_route(self, push: Push) -> None:
        assert list(push.data)[:7] == [*FRONT, "routeId", "title", "message"], push.data
        assert push.data["entityId"] == push.data["routeId"] == self.route, push.data


@pytest.fixture
def stage(pushing):
    return Stage(pushing())


# Orders


def test_assign(stage):
    answer = stage.assign(driverName="Dan")
    for push in stage.expect(answer, (stage.old, 0, "job-assigned", "new_job"))[stage.old.subject]:
        stage.assert_job(push)
        rest = {name: push.data[name] for name in list(push.data)[7:]}
        assert rest == PLACES | {"bookingId": stage.booking, "bookingReference": stage.reference, "scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": "42.5",
                                 "correlationId": answer["correlationId"]}
        assert push.title == push.data["title"] == "New job" and push.text == push.data["message"] == '1 "High" St to 2 Low Rd'
        assert push.aps["sound"] == "default" and push.aps["thread-id"] == "jobs" and push.is_urgent


def test_reassign(stage):
    stage.expect(stage.assign(), (stage.old, 0, "job-assigned", "new_job"))
    heard = stage.expect(stage.assign(stage.new), (stage.old, 0, "job-removed", "job_update"), (stage.new, 1, "job-assigned", "new_job"))
    for push in heard[stage.old.subject]:
        stage.assert_job(push)
        assert push.data["reason"] == "Reassigned to another driver"


def test_assign_to_who_has_it_already(stage):
    stage.expect(stage.assign(), (stage.old, 0, "job-assigned", "new_job"))
    stage.expect(stage.assign())
    stage.scene.hear_nothing(*stage.phones[stage.old.subject])


def test_unassign(stage):
    stage.expect(stage.assign(), (stage.old, 0, "job-assigned", "new_job"))
    for push in stage.expect(stage.admin.order(stage.code, "unassign", reason="ill"), (stage.old, 0, "order-removed", "job_update"))[stage.old.subject]:
        stage.assert_job(push)
        assert push.text == f"{stage.reference}: ill" and push.data["orderRef"] == stage.reference


def test_cancel(stage):
    stage.expect(stage.assign(), (stage.old, 0, "job-assigned", "new_job"))
    answer = stage.admin.order(stage.code, "cancel-enhanced", reason="rain")
    for push in stage.expect(answer, (stage.old, 0, "job-cancelled", "job_update"))[stage.old.subject]:
        stage.assert_job(push)
        assert push.text == f"{stage.reference}: rain"


def test_cancel_of_what_nobody_has(stage):
    stage.admin.done("PUT", f"/api/admin/orders/{stage.code}", stage.fields)
    stage.expect(stage.admin.order(stage.code, "cancel-enhanced"))


def test_remove_driver(stage):
    """The customer hears of it as well."""
    stage.expect(stage.assign(), (stage.old, 0, "job-assigned", "new_job"))
    answer = stage.admin.order(stage.code, "remove-driver", reason="ill")
    heard = stage.expect(answer, (stage.old, 0, "job-removed", "job_update"), (stage.customer, 2, "driver-removed", "job_update"))
    for push in heard[stage.customer.subject]:
        stage.assert_job(push)
        assert push.title == "Your driver has changed" and push.data["reason"] == "ill"


def test_a_claim_and_its_progress_are_the_dispatchers_business(stage):
    stage.admin.done("PUT", f"/api/admin/orders/{stage.code}", stage.fields)
    stage.old.accept(stage.code)
    stage.old.progress(stage.code, "en_route")
    stage.scene.hear_nothing(*(phone for phones in stage.phones.values() for phone in phones))


def test_the_driver_arrives(stage):
    stage.expect(stage.assign(driverName="Dan"), (stage.old, 0, "job-assigned", "new_job"))
    stage.old.accept(stage.code)
    stage.old.progress(stage.code, "en_route")
    before = datetime.datetime.now(datetime.timezone.utc)
    stage.old.progress(stage.code, "arrived")
    for phone in stage.phones[stage.customer.subject]:
        push = phone.next()
        stage.assert_job(push)
        assert (push.data["type"], push.data["event"]) == ("driver_arrival", "driver-arrival")
        assert (push.data["reference"], push.data["driver_id"]) == (stage.reference, stage.old.subject)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", push.data["timestamp"])
        assert abs((datetime.datetime.fromisoformat(push.data["timestamp"]) - before).total_seconds()) < 10
        assert push.aps == {"alert": {"title": "Your driver has arrived!", "body": "Dan is waiting for you"}, "badge": 1, "sound": "default", "category": "DRIVER_ARRIVAL"}
        assert push.is_urgent and abs(push.expires - before.timestamp() - 600) < 10
    stage.scene.hear_nothing(*stage.phones[stage.old.subject])


def test_a_driver_without_a_name_arrives(stage):
    stage.assign()
    stage.old.accept(stage.code)
    for step in ("en_route", "arrived"):
        stage.old.progress(stage.code, step)
    assert stage.phones[stage.customer.subject][0].next().text == "Your driver is waiting for you"


# Routes


def test_assign_route(stage):
    for push in stage.expect(stage.assign_route(), (stage.old, 0, "route-assigned", "new_route"))[stage.old.subject]:
        stage.assert_route(push)
        assert (push.data["routeNumber"], push.data["bookingsCount"], push.data["dropsCount"]) == ("RT-7", "3", "5")
        assert push.text == "RT-7 has been assigned to you" and push.aps["thread-id"] == "routes"


@pytest.mark.parametrize("deed, event", [("cancel", "route-cancelled"), ("unassign", "route-unassigned"), ("drops/D1/remove", "drop-removed")])
def test_what_else_happens_to_routes(stage, deed, event):
    stage.expect(stage.assign_route(), (stage.old, 0, "route-assigned", "new_route"))
    answer = stage.admin.route(stage.route, deed, reason="flood")
    for push in stage.expect(answer, (stage.old, 0, event, "route_update"))[stage.old.subject]:
        stage.assert_route(push)
        assert push.data["routeNumber"] == "RT-7"


def test_reassign_route(stage):
    stage.assign_route()
    answer = stage.admin.route(stage.route, "assign-driver", driverId=stage.new.subject)
    for phone in stage.phones[stage.old.subject]:
        phone.next()
    stage.expect(answer, (stage.old, 0, "route-unassigned", "route_update"), (stage.new, 1, "route-assigned", "new_route"))


# Fields


def test_what_nobody_said_is_left_out(stage):
    """Neither as null nor as the word null."""
    answer = stage.admin.assign(stage.code, stage.old.subject)
    for push in stage.expect(answer, (stage.old, 0, "job-assigned", "new_job"))[stage.old.subject]:
        assert push.data.keys() == {*FRONT, "jobId", "title", "message", "bookingId", "bookingReference", "correlationId"}
        assert push.text == "Pickup to destination" and push.data["entityId"] == stage.code


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_reserved_names_are_dropped_and_the_contracts_kept(stage, kind):
    phone = stage.phones[stage.old.subject][kind == "android"]
    data = {name: "forged" for name in ("aps", "from", "message_type", "google.x", "gcm.y", "gcm", "GOOGLE", "type", "event", "title", "notificationId")}
    push = phone.next(stage.scene.announce(stage.old, "NEW_BATCH_AVAILABLE", **data, batchId="B1", count=3, price=1.50, yes=True, no=None, deep={"a": 1}, many=[1]))
    assert "forged" not in push.data.values() and push.data["type"] == "NEW_BATCH_AVAILABLE" and push.data["event"] == "new-batch-available"
    assert {name: push.data[name] for name in ("batchId", "count", "yes")} == {"batchId": "B1", "count": "3", "yes": "true"} and float(push.data["price"]) == 1.5
    assert not push.data.keys() & {"aps", "from", "message_type", "google.x", "gcm.y", "gcm", "GOOGLE", "no", "deep", "many"}
    assert push.data["entityId"] == "B1"


@pytest.mark.parametrize("kind", ["ios", "android"])
@pytest.mark.parametrize("text", ["x", "é", "👩‍👩‍👧‍👦", "e\u0301\u0323", "漢", "\"\\\n", "🇬🇧"], ids=ascii)
def test_what_is_too_long_is_cut_between_characters(stage, kind, text):
    """The contract's fields never; the fakes count the bytes."""
    phone = stage.phones[stage.old.subject][kind == "android"]
    room = 9_000 // len(json.dumps(text, ensure_ascii=False).encode())
    push = phone.next(stage.scene.announce(stage.old, "NEW_BATCH_AVAILABLE", message=text * (room // 2), notes=text * (room // 2), batchId="B1"))
    for value in (push.data["message"], push.text, push.data.get("notes", text)):
        cut = value.rstrip("…")
        assert (text * room).startswith(cut), value[-30:]
        assert text == "\"\\\n" or len(cut) % len(text) == 0, value[-30:]
    assert push.data["batchId"] == push.data["entityId"] == "B1" and push.title == push.data["title"] == "New batch available"


def test_how_urgent_how_long_and_what_it_replaces(pushing):
    """By the catalogue's entry."""
    entries = {"job-assigned": {"title": "T", "body": "{customerName|nobody}", "sound": "", "category": "CAT", "thread": "th", "channel_id": "ch", "priority": "normal",
                                "lifetime": "2h", "collapse": "order", "data_type": "custom"},
               "order-removed": {"title": "Gone", "collapse": "notification", "lifetime": "30m", "sound": "horn.caf"}}
    stage = Stage(pushing(texts=entries))
    answer = stage.assign()
    first = [phone.next(answer["data"]["notificationIds"][0]) for phone in stage.phones[stage.old.subject]]
    for push in first:
        assert (push.title, push.text, push.data["type"]) == ("T", PLACES["customerName"], "custom")
        assert push.aps["category"] == "CAT" and push.aps["thread-id"] == "th" and "sound" not in push.aps and not push.is_urgent
        life = stage.admin.done("GET", f"/api/ops/notifications/{push.notification}")["notification"]
        expires = datetime.datetime.fromisoformat(life["expiresAt"])
        assert abs(push.expires - expires.timestamp()) <= 1 and abs((expires - datetime.datetime.fromisoformat(life["createdAt"])).total_seconds() - 2 * HOUR) < 1
    assert first[0].collapse == first[1].collapse != first[0].notification
    android = first[1].android
    assert android["notification"]["channel_id"] == "ch" and android["priority"].upper() == "NORMAL" and android.get("collapse_key")
    answer = stage.admin.order(stage.code, "unassign")
    second = [phone.next(answer["data"]["notificationIds"][0]) for phone in stage.phones[stage.old.subject]]
    for push in second:
        assert push.collapse == push.notification and push.is_urgent and push.aps["sound"] == "horn.caf"
    assert "collapse_key" not in second[1].android


def test_a_newer_event_of_an_order_replaces_the_older(stage):
    stage.assign()
    stage.admin.order(stage.code, "unassign")
    stage.assign_route()
    for phone in stage.phones[stage.old.subject]:
        first, second, route = phone.next(), phone.next(), phone.next()
        assert first.collapse == second.collapse and len({first.collapse, route.collapse, first.notification, second.notification}) == 4


def test_a_name_of_150_characters_still_makes_a_collapse_id(stage):
    stage.code = "O" * 150
    answer = stage.assign()
    stage.expect(answer, (stage.old, 0, "job-assigned", "new_job"))
