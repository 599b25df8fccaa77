"""What existing apps read of trips: the trip's status in each state, the answers to positions, and the events of the
customer's channels. The pushes of the eight moments are in test_trip_pushes.py.
"""

import pytest

from harness.contract import (MILLIS, SECONDS, TEXT, Events, Row, World, check, check_can_fail, check_events,
                              check_events_can_fail, event, number_near, sample)
from harness.fleet import SETTINGS as FLEET
from harness.fleet import unique_id
from harness.trips import DROPOFF, PICKUP, Trip, position

SETTINGS = FLEET


class Trips(World):
    """An assigned order with coordinates."""

    def __init__(self, fleet, closing):
        super().__init__()
        self.fleet, self.trip = fleet, Trip(fleet, fleet.admin())
        trip = self.trip
        self.callers = {"driver": trip.driver, "customer": trip.customer, "admin": trip.admin, "nobody": fleet.caller(),
                        "stranger": fleet.customer(bookings=["another"]), "colleague": fleet.driver()}
        self.values = {"code": trip.code, "reference": trip.reference, "driver": trip.driver.subject,
                       "customer": trip.customer.subject, "other": self.callers["colleague"].subject, "new": unique_id("d")}

    def card(self) -> None:
        self.trip.admin.expect_ok("PUT", "/api/admin/drivers/" + self.trip.driver.subject, CARD)

    def go(self, status: str) -> None:
        if status == "accepted":
            self.trip.driver.accept(self.trip.code)
        else:
            self.trip.driver.progress(self.trip.code, status)

    def accepted(self) -> None:
        self.go("accepted")

    def en_route(self) -> None:
        self.accepted()
        self.go("en_route")

    def arrived(self) -> None:
        self.en_route()
        self.go("arrived")

    def loading(self) -> None:
        self.arrived()
        self.go("loading")

    def in_transit(self) -> None:
        self.loading()
        self.go("in_transit")

    def unloading(self) -> None:
        self.in_transit()
        self.go("unloading")

    def completed(self) -> None:
        self.unloading()
        self.go("completed")

    def located(self) -> None:
        self.trip.locate(position(9_000, heading=180.5))

    def located_without_heading(self) -> None:
        self.trip.locate(position(9_000))

    def located_near_the_end(self) -> None:
        self.trip.locate(position(9_000, of=DROPOFF, heading=180.5))

    def cancelled(self) -> None:
        self.trip.admin.order(self.trip.code, "cancel-enhanced")


CARD = {"name": "Dana", "phoneNumber": "+41791234567", "vehicleMake": "Skoda", "vehicleModel": "Octavia",
        "vehicleColor": "blue", "licensePlate": "ZH 1"}
STATUS = "GET /app-trip-status?reference={reference}"
INFO = {"driver_id": "{driver}", "name": "Dan", "vehicle_make": None, "vehicle_model": None, "vehicle_color": None,
        "license_plate": None, "phone_number": None}
WHOLE_INFO = INFO | {"name": "Dana", "vehicle_make": "Skoda", "vehicle_model": "Octavia", "vehicle_color": "blue",
                     "license_plate": "ZH 1", "phone_number": "+41791234567"}
NOT_FOUND, NOT_STARTED = ({"success": False, "error": text} for text in ("Trip not found", "Trip has not started"))


def there(minutes, heading=180.5, place: tuple = PICKUP) -> dict:
    return {"latitude": number_near(position(9_000, of=place)["latitude"]), "longitude": number_near(-0.12),
            "heading": heading, "estimated_arrival_minutes": minutes, "last_updated": SECONDS}


def status(word: str, location, info, time) -> dict:
    return {"reference": "{reference}", "status": word, "driver_location": location, "driver_info": info,
            "estimated_arrival_time": time}


def card(**changes) -> dict:
    whole = dict.fromkeys(CARD) | {"id": "{new}", "version": 1} | changes
    return {"success": True, "message": "Driver updated", "data": {"driver": whole}, "correlationId": TEXT}


ROWS = [
    # The seven words; every key is always there
    Row(f"customer {STATUS}", 404, NOT_STARTED),
    Row(f"customer {STATUS}", 404, NOT_STARTED, None, "accepted"),
    Row(f"customer {STATUS}", 200, status("en_route", None, INFO, None), None, "en_route",
        answered={"cache-control": "no-store"}),
    Row(f"customer {STATUS}", 200, status("en_route", there(24), INFO, SECONDS), None, "en_route located"),
    Row(f"customer {STATUS}", 200, status("en_route", there(24, None), INFO, SECONDS), None,
        "en_route located_without_heading"),
    Row(f"customer {STATUS}", 200, status("en_route", there(24), WHOLE_INFO, SECONDS), None, "card en_route located"),
    Row(f"customer {STATUS}", 200, status("arrived", None, WHOLE_INFO, SECONDS), None, "card arrived"),
    Row(f"customer {STATUS}", 200, status("arrived", there(0), WHOLE_INFO, SECONDS), None, "card arrived located"),
    Row(f"customer {STATUS}", 200, status("pickup_complete", there(24, place=DROPOFF), WHOLE_INFO, SECONDS), None,
        "card loading located_near_the_end"),
    Row(f"customer {STATUS}", 200, status("dropping_off", there(24, place=DROPOFF), WHOLE_INFO, SECONDS), None,
        "card in_transit located_near_the_end"),
    Row(f"customer {STATUS}", 200, status("dropping_off", there(24, place=DROPOFF), WHOLE_INFO, SECONDS), None,
        "card unloading located_near_the_end"),
    Row(f"customer {STATUS}", 200, status("complete", None, WHOLE_INFO | {"phone_number": None}, SECONDS), None,
        "card completed"),
    Row(f"customer {STATUS}", 200, status("canceled", None, WHOLE_INFO | {"phone_number": None}, None), None,
        "card en_route located cancelled"),
    Row(f"driver {STATUS}", 200, status("en_route", None, INFO, None), None, "en_route"),
    Row(f"admin {STATUS}", 200, status("en_route", None, INFO, None), None, "en_route"),
    Row(f"stranger {STATUS}", 404, NOT_FOUND, None, "en_route"),
    Row(f"colleague {STATUS}", 404, NOT_FOUND, None, "en_route"),
    Row("customer GET /app-trip-status?reference=unknown", 404, NOT_FOUND),
    Row("customer GET /app-trip-status", 400, {"success": False, "error": "Expected reference"}),
    Row(f"nobody {STATUS}", 401, {"success": False, "error": TEXT}, None, "en_route"),
    # Positions
    Row("driver POST /api/driver/location", 200, {"success": True, "data": {
        "accepted": 1, "ignored": 0, "sharing": ["{reference}"], "nextUpdateSeconds": 10}},
        {"latitude": 51.5074, "longitude": -0.1278, "heading": 180.0, "speed": 8.3, "accuracy": 12}, "en_route"),
    Row("driver POST /api/driver/location", 200, {"success": True, "data": {
        "accepted": 1, "ignored": 1, "sharing": ["{reference}"], "nextUpdateSeconds": 10}},
        {"positions": [position(9_000), position(9_000, recordedAt="2020-01-01T00:00:00Z")]}, "en_route"),
    Row("driver POST /api/driver/location", 200, {"success": True, "data": {
        "accepted": 0, "ignored": 1, "sharing": [], "nextUpdateSeconds": 60}},
        {"latitude": 51.5074, "longitude": -0.1278, "heading": None, "speed": None, "accuracy": None}, "accepted"),
    Row("driver POST /api/driver/location", 400, {"success": False, "error": TEXT}, {"latitude": 91, "longitude": 0}),
    Row("customer POST /api/driver/location", 403, {"success": False, "error": TEXT}, position(0)),
    # A driver's card
    Row("admin PUT /api/admin/drivers/{new}", 200, card(), {}),
    Row("admin PUT /api/admin/drivers/{new}", 200, card(**CARD), CARD),
    Row("admin GET /api/admin/drivers/{new}", 404, {"success": False, "error": "Driver {new} not found"}),
]

# Events on the booking's channels, the driver's own, `drivers-channel` and `admin-channel`, in order.

BOOKING, TRACKING, OFFICE = "booking-{reference}", "tracking-{reference}", "admin-channel"
PROGRESS = "driver PUT /api/driver/jobs/{code}/progress"
IDS = {"bookingId": "{code}", "bookingReference": "{reference}"}
WHO = {"reference": "{reference}", "driver_id": "{driver}", "driverName": "Dan", "timestamp": SECONDS}


def reported(step: str, name: str = "job-progress") -> list:
    told = IDS | {"driverName": "Dan", "step": step, "timestamp": MILLIS}
    return [event(OFFICE, name, driverId="{driver}", **told), event(BOOKING, name, **told)]


def stopped(reason: str, message: str) -> tuple:
    return event(TRACKING, "tracking-stopped", reason=reason, message=message)


EVENTS = [
    Events("driver POST /api/driver/jobs/{code}/accept", [
        *reported("accepted", "job-accepted"),
        event(BOOKING, "driver-assigned", **WHO, vehicle_make=None, vehicle_model=None, vehicle_color=None,
              license_plate=None)], {}),
    Events("driver POST /api/driver/jobs/{code}/accept", [
        *reported("accepted", "job-accepted"),
        event(BOOKING, "driver-assigned", **WHO | {"driverName": "Dana"}, vehicle_make="Skoda", vehicle_model="Octavia",
              vehicle_color="blue", license_plate="ZH 1")], {}, "card"),
    Events(PROGRESS, [*reported("en_route"), event(TRACKING, "tracking-started", **WHO),
                      event(BOOKING, "driver-en-route", **WHO, eta_minutes=None)], {"step": "en_route"}, "accepted"),
    Events(PROGRESS, [*reported("arrived"), event(BOOKING, "driver-arrival", **WHO)], {"step": "arrived"}, "en_route"),
    Events(PROGRESS, reported("loading"), {"step": "loading"}, "arrived"),
    Events(PROGRESS, [*reported("in_transit"), event(BOOKING, "trip-started", **WHO, eta_minutes=None)],
           {"step": "in_transit"}, "loading"),
    Events(PROGRESS, reported("unloading"), {"step": "unloading"}, "in_transit"),
    Events(PROGRESS, [*reported("completed"), stopped("completed", "Tracking stopped: the trip is complete"),
                      event(BOOKING, "trip-completed", **WHO, completed_at=SECONDS)], {"step": "completed"}, "unloading"),
    Events("driver POST /api/driver/location", [
        (TRACKING, "location-updated", {
            "reference": "{reference}", "latitude": number_near(position(9_000)["latitude"]), "longitude": number_near(-0.12),
            "heading": 7.5, "estimated_arrival_minutes": 24, "last_updated": SECONDS, "status": "en_route"}),
        (OFFICE, "driver-location", {
            "driverId": "{driver}", "bookingReference": "{reference}", "latitude": number_near(position(9_000)["latitude"]),
            "longitude": number_near(-0.12), "heading": 7.5, "status": "en_route", "last_updated": SECONDS})],
        position(9_000, heading=7.5), "en_route"),
]


@pytest.fixture
def world(fleet, closing) -> Trips:
    return Trips(fleet, closing)


@pytest.fixture
def listener(fleet, world):
    reference = world.values["reference"]
    return fleet.listen(fleet.admin(), f"booking-{reference}", f"tracking-{reference}", "admin-channel")


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_answers(world, row):
    check(world, row)


@pytest.mark.parametrize("row", EVENTS, ids=str)
def test_events(world, row, listener, api):
    check_events(world, row, listener, api)


@pytest.mark.parametrize("row", sample(ROWS), ids=str)
def test_an_answer_that_differs_in_anything_fails(world, row):
    check_can_fail(world, row)


@pytest.mark.parametrize("row", EVENTS[2:4], ids=str)
def test_an_event_that_differs_in_anything_fails(world, row, listener, api):
    check_events_can_fail(world, row, listener, api)
