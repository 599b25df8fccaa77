"""Arrivals that are true: who passes by has not arrived, and an arrival that was none is taken back."""

import contextlib
import datetime
import json
import re

import pytest

from harness.fleet import SECTIONS, Fleet, expect_event, wait_until
from harness.metrics import scrape
from harness.trips import Trip, position

SETTINGS = {"sections": SECTIONS | {"trips": {"waiting_seconds": 1}}}
SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MILLISECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def trip(fleet, admin):
    return Trip(fleet, admin)


def later(seconds: float) -> str:
    """A time that lies ahead, as that of a phone whose clock is fast: so a test need not wait."""
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)).isoformat()


def audit(trip: Trip, action: str) -> list[tuple]:
    return trip.fleet.gateway.query(
        "SELECT actor, status_before, status_after, details FROM audit WHERE order_code = ? AND action = ? ORDER BY id",
        trip.code, action)


def metric(trip: Trip, family: str, **labels: str) -> float:
    return scrape(trip.admin).value(f"fleetwire_{family}", **labels)


def correct(trip: Trip, body: dict | None = None, **more) -> dict:
    return trip.admin.expect_ok("POST", f"/api/admin/orders/{trip.code}/correct", body or {"step": "en_route"}, **more)


def undo(trip: Trip, **fields):
    body = {"step": "en_route", "undo": True} | fields
    return trip.driver.request("PUT", f"/api/driver/jobs/{trip.code}/progress", body)


# What an arrival is

def test_who_passes_at_speed_has_not_arrived(trip):
    trip.go_to("en_route")
    trip.locate(position(300, recordedAt=later(1)), position(0, recordedAt=later(11)),
                position(-300, recordedAt=later(21)))
    trip.locate(position(50, recordedAt=later(22), speed=14))
    assert trip.order()["status"] == "en_route"
    trip.locate(position(60, recordedAt=later(24), speed=3))
    assert trip.wait_for("arrived")["arrivedAt"]
    assert json.loads(audit(trip, "progress")[-1][3])["distanceMetres"] == 60


def test_the_way_between_two_positions_shows_an_arrival(trip):
    before = metric(trip, "arrivals_total", by="between")
    trip.go_to("en_route")
    begin = datetime.datetime.now(datetime.UTC)
    trip.locate(position(210, recordedAt=later(1)))
    trip.locate(position(-190, recordedAt=later(41)))
    arrived = datetime.datetime.fromisoformat(trip.wait_for("arrived")["arrivedAt"])
    assert 21 < (arrived - begin).total_seconds() < 25
    actor, _, _, details = audit(trip, "progress")[-1]
    details = json.loads(details)
    assert actor == "system:trips" and details.keys() == {"latitude", "longitude", "distanceMetres", "between"}
    assert details["between"] is True and details["distanceMetres"] == 0
    assert details["latitude"] == pytest.approx(51.5) and details["longitude"] == pytest.approx(-0.12)
    assert metric(trip, "arrivals_total", by="between") == before + 1


def test_positions_of_phones_that_know_nothing(trip):
    outcomes = ("accepted", "ignored", "copy", "invalid", "jump")
    before = {each: metric(trip, "locations_total", outcome=each) for each in outcomes}
    without = metric(trip, "locations_without_offset_total")
    trip.go_to("en_route")
    now = later(0)
    answer = trip.locate(
        position(9_000, recordedAt=now, heading=-1, speed=-1), position(9_000, recordedAt=now),
        position(8_000, recordedAt=later(1), accuracy=-1), {"latitude": 0, "longitude": 0, "recordedAt": later(2)},
        position(8_990, recordedAt=later(3), accuracy=20_000, speed=1_000))
    assert (answer["accepted"], answer["ignored"]) == (2, 3)
    after = {each: metric(trip, "locations_total", outcome=each) for each in outcomes}
    assert {each: after[each] - before[each] for each in outcomes} == {
        "accepted": 2, "ignored": 1, "copy": 1, "invalid": 1, "jump": 0}
    # The local time of a phone west of Greenwich.
    local = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=8)).replace(tzinfo=None)
    trip.locate(position(8_900, recordedAt=later(4)))
    assert trip.locate(position(8_800, recordedAt=local.isoformat()))["ignored"] == 1, "now is older"
    other = Trip(trip.fleet, trip.admin).go_to("en_route")
    assert other.locate(position(8_800, recordedAt=local.isoformat()))["accepted"] == 1
    other.driver.expect_ok("POST", "/api/driver/notifications/log", {
        "notificationId": "x", "type": "new_job", "entityId": "y", "event": "received", "timestamp": local.isoformat()})
    assert metric(trip, "locations_without_offset_total") == without + 3


def test_one_wild_position_does_not_tell_that_the_driver_is_nearby(start_gateway):
    with contextlib.ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing
        gateway = start_gateway(sections=SECTIONS | {"trips": {"nearby_minutes": 30}})
        fleet = Fleet(gateway, closing)
        trip = Trip(fleet, fleet.admin()).go_to("en_route")
        # In the minute after `en_route` "nearby" counts as told: pretend that it was longer ago.
        trip.locate(position(30_000, recordedAt=later(1)))
        assert trip.locate({"latitude": 0, "longitude": 0, "recordedAt": later(2)})["ignored"] == 1
        trip.locate(position(5_000, recordedAt=later(10)))
        trip.locate(position(29_900, recordedAt=later(20)))
        order = gateway.query("SELECT nearby_told_at FROM orders WHERE code = ?", trip.code)
        assert order == [(None,)], "the moment is not spent"


# Corrections

def test_a_dispatcher_takes_an_arrival_back(fleet, admin, trip):
    before = metric(trip, "arrivals_corrected_total", by="admin")
    watcher, dashboard = trip.watch("booking"), fleet.listen(admin, "admin-channel")
    phone = fleet.listen(trip.driver, f"driver-{trip.driver.subject}")
    trip.go_to("en_route")
    path = f"/api/admin/orders/{trip.code}/correct"
    body = {"step": "en_route", "reason": "wrong gate"}
    assert admin.expect_error(409, "POST", path, body) == f"Order {trip.code} is en_route, not arrived"
    assert admin.expect_error(404, "POST", "/api/admin/orders/NONE/correct", body) == "Order NONE not found"
    trip.locate(position(20))
    arrived = trip.wait_for("arrived")
    wait_until(lambda: "driver-waiting" in trip.events(), "the customer is told of the waiting")
    for wrong in ({}, {"step": "loading"}, {"step": "en_route", "reason": "x" * 201}, {"step": "en_route", "x": 1}):
        admin.expect_error(400, "POST", path, wrong)
    stale = admin.request("POST", path, body, headers={"If-Match": "1"})
    assert stale.status == 409 and "If-Match" in stale.json()["error"]
    answer = correct(trip, body, key="once")
    assert answer["message"] == "Order corrected" and len(answer["data"]["notificationIds"]) == 3
    order = answer["data"]["order"]
    assert (order["status"], order["arrivedAt"], order["version"]) == ("en_route", None, arrived["version"] + 1)
    assert correct(trip, body, key="once") == answer

    def data_of(client, event: str) -> dict:
        while (message := client.receive())["event"] != event:
            pass
        data = json.loads(message["data"])
        assert data.pop("notificationId") and data.pop("correlationId") == answer["correlationId"]
        return data

    told = data_of(watcher, "arrival-corrected")
    assert SECOND.fullmatch(told.pop("timestamp"))
    assert told == {"reference": trip.reference, "driver_id": trip.driver.subject, "driverName": "Dan",
                    "eta_minutes": 1, "reason": "wrong gate"}
    ids = {"bookingId": trip.code, "bookingReference": trip.reference}
    seen = data_of(dashboard, "job-corrected")
    assert MILLISECOND.fullmatch(seen.pop("timestamp"))
    assert seen == ids | {"driverId": trip.driver.subject, "driverName": "Dan", "from": "arrived", "step": "en_route",
                          "by": "admin", "reason": "wrong gate"}
    assert data_of(phone, "job-corrected") == ids | {
        "step": "en_route", "reason": "wrong gate", "message": "Dispatch has taken back your arrival"}
    [(actor, was, now, details)] = audit(trip, "correct")
    assert (actor, was, now) == (f"admin:{admin.subject}", "arrived", "en_route")
    assert json.loads(details) == {"reason": "wrong gate", "arrivedAt": arrived["arrivedAt"]}
    assert trip.trip_status().json()["status"] == "en_route"
    assert metric(trip, "arrivals_corrected_total", by="admin") == before + 1

    trip.locate(position(30))
    trip.locate(position(149))
    assert trip.order()["status"] == "en_route", "the driver has not left"
    trip.locate(position(200))
    trip.locate(position(40))
    trip.wait_for("arrived")
    wait_until(lambda: trip.events().count("driver-waiting") == 2, "the customer is told of the waiting again")
    assert trip.events().count("driver-arrival") == 2
    assert trip.events().count("arrival-corrected") == 1


def test_a_driver_takes_an_arrival_back_twice(fleet, admin, trip):
    before = metric(trip, "arrivals_corrected_total", by="driver")
    dashboard = fleet.listen(admin, "admin-channel")
    trip.go_to("accepted")
    assert undo(trip).json()["message"] == "Progress updated", "a step as any other"
    first = undo(trip).json()
    assert first["data"]["step"] == "en_route" and undo(trip).json() == first, "a repetition, as without undo"
    for number in range(2):
        trip.driver.progress(trip.code, "arrived")
        assert trip.driver.expect_error(
            400, "PUT", f"/api/driver/jobs/{trip.code}/progress", {"step": "en_route"}
        ) == "Cannot transition from arrived to en_route. Must go to loading first."
        answer = undo(trip, reason="by mistake").json()
        assert answer["success"] is True and answer["message"] == "Arrival taken back"
        assert answer["data"]["step"] == "en_route" and MILLISECOND.fullmatch(answer["data"]["timestamp"])
        assert undo(trip).json() == answer, "a repetition"
        assert len(audit(trip, "correct")) == number + 1
        assert trip.order()["arrivedAt"] is None
        # The driver's own report needs no leaving.
    trip.driver.progress(trip.code, "arrived")
    refused = undo(trip)
    assert (refused.status, refused.json()["error"]) == (409, "The arrival was taken back twice")
    correct(trip)
    while (message := dashboard.receive())["event"] != "job-corrected":
        pass
    data = json.loads(message["data"])
    assert (data["by"], data["reason"]) == ("driver", "by mistake")
    assert metric(trip, "arrivals_corrected_total", by="driver") == before + 2
    # The driver has not pressed the button of the dispatcher.
    rows = fleet.gateway.query("SELECT COUNT(*) FROM notifications WHERE channel = ? AND event = 'job-corrected'",
                               f"driver-{trip.driver.subject}")
    assert rows == [(1,)]
    # Another driver's trip is a new one.
    other = fleet.driver()
    admin.assign(trip.code, other.subject)
    trip.driver = other
    trip.go_to("arrived")
    assert undo(trip).status == 200


def test_corrections_survive_kills(start_gateway):
    with contextlib.ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing

        sections = SECTIONS | {"trips": {"undo_minutes": 0}}
        gateway = start_gateway("store", sections=sections)
        fleet = Fleet(gateway, closing)
        trip = Trip(fleet, fleet.admin()).go_to("en_route")

        def kill_and_go_on() -> None:
            trip.fleet.gateway.kill()
            trip.fleet = Fleet(start_gateway("store", sections=sections), closing)
            trip.admin = trip.fleet.admin()
            trip.driver = trip.fleet.driver(trip.driver.subject, name="Dan")

        trip.locate(position(20))
        trip.wait_for("arrived")
        refused = undo(trip)
        assert (refused.status, refused.json()["error"]) == (409, "An arrival can be taken back for 0 minutes")
        correct(trip)
        kill_and_go_on()
        trip.locate(position(20))
        assert trip.order()["status"] == "en_route"
        trip.locate(position(300))
        gone = "SELECT left_at IS NOT NULL FROM orders WHERE code = ?"
        wait_until(lambda: trip.fleet.gateway.query(gone, trip.code) == [(1,)], "the driver has left")
        kill_and_go_on()
        trip.locate(position(20))
        trip.wait_for("arrived")
        assert trip.events().count("driver-arrival") == 2


def test_erasing_a_driver_removes_what_the_driver_wrote(fleet, admin, trip):
    trip.go_to("arrived")
    assert undo(trip, reason="my knee hurts").status == 200
    admin.expect_ok("DELETE", f"/api/admin/people/driver/{trip.driver.subject}")
    [(_, _, _, details)] = audit(trip, "correct")
    assert details is None


def test_the_push_of_a_correction(start_push_fleet):
    fleet = start_push_fleet()
    trip = Trip(fleet, fleet.dispatcher, fleet.driver(name="Dan"))
    customer, driver = fleet.ios(trip.customer), fleet.android(trip.driver)
    trip.go_to("en_route")
    trip.locate(position(20))
    trip.wait_for("arrived")
    correct(trip)

    def push_of(device, event: str):
        while (push := device.next()).data["event"] != event:
            pass
        return push

    told = push_of(customer, "arrival-corrected")
    assert told.data["type"] == "arrival_corrected" and told.data["eta_minutes"] == "1"
    assert told.aps["alert"] == {"title": "Your driver is still on the way", "body": "Dan arrives in about 1 minutes"}
    assert "reason" not in told.data
    assert push_of(driver, "job-corrected").data["type"] == "job_update"
