"""What the gateway says about trips: the status of a booking with several orders, the log, the metrics."""

import re

import pytest

from harness.fleet import SECTIONS, Fleet, report, unique_id, wait_until
from harness.trips import DROPOFF, Trip, position

SETTINGS = {"sections": SECTIONS}
MOMENTS = ["driver_assigned", "driver_en_route", "driver_nearby", "driver_arrival",
           "driver_waiting", "trip_started", "destination_near", "trip_completed"]


# Several orders of one booking

class Booking:
    """Two orders of one customer with one reference, each with a driver."""

    def __init__(self, fleet, admin):
        self.first = Trip(fleet, admin)
        self.second = self.add(fleet, admin)

    def add(self, fleet, admin) -> Trip:
        trip = Trip(fleet, admin, bookingReference=self.first.reference,
                    customerId=self.first.customer.subject)
        trip.reference, trip.customer = self.first.reference, self.first.customer
        return trip

    def shown(self) -> tuple[str, str]:
        """The driver of whom the customer is told, and the status."""
        response = self.first.trip_status()
        assert response.status == 200, response
        body = response.json()
        return body["driver_info"]["driver_id"], body["status"]


@pytest.fixture
def booking(fleet, admin):
    return Booking(fleet, admin)


def change(trip: Trip) -> None:
    """Makes an order the one that was changed last."""
    before = trip.order()["version"]
    trip.admin.expect_ok("PUT", f"/api/admin/orders/{trip.code}", {"customerName": unique_id("Ann")})
    assert trip.order()["version"] == before + 1


def test_the_order_followed_last_is_shown(booking):
    first, second = booking.first, booking.second
    second.go_to("en_route")
    change(first)
    assert booking.shown() == (second.driver.subject, "en_route"), "the only one that is followed"
    first.go_to("en_route")
    assert booking.shown() == (first.driver.subject, "en_route")
    change(second)
    second.driver.progress(second.code, "arrived")
    assert booking.shown() == (first.driver.subject, "en_route"), "changed last, but followed first"
    first.admin.order(first.code, "cancel-enhanced")
    assert booking.shown() == (second.driver.subject, "arrived"), "an open one wins"


def test_after_the_trips_the_order_changed_last_is_shown(booking):
    first, second = booking.first, booking.second
    second.go_to("en_route")
    first.go_to("completed")
    assert booking.shown() == (second.driver.subject, "en_route")
    for step in ("arrived", "loading", "in_transit", "unloading", "completed"):
        second.driver.progress(second.code, step)
    assert booking.shown() == (second.driver.subject, "complete")
    change(first)
    assert booking.shown() == (first.driver.subject, "complete")


def test_an_order_that_has_not_started_hides_no_trip(fleet, admin, booking):
    booking.first.go_to("en_route")
    booking.second.go_to("accepted")
    assert booking.shown() == (booking.first.driver.subject, "en_route")
    third = booking.add(fleet, admin)
    assert booking.shown() == (booking.first.driver.subject, "en_route")
    booking.first.admin.order(booking.first.code, "cancel-enhanced")
    assert booking.first.trip_status().json()["status"] == "canceled"
    change(third)  # now it was changed last, and no order is followed
    assert third.trip_status().json() == {"success": False, "error": "Trip has not started"}


def test_a_restart_shows_the_same_order(start_gateway, closing):
    """The order in which the trips began is stored."""
    fleet = Fleet(start_gateway("kept", **SETTINGS), closing)
    booking = Booking(fleet, fleet.admin())
    booking.second.go_to("en_route")
    booking.first.go_to("en_route")
    booking.second.driver.progress(booking.second.code, "arrived")
    fleet.gateway.stop()
    fleet = Fleet(start_gateway("kept", **SETTINGS), closing)
    booking.first.customer = fleet.customer(booking.first.customer.subject)
    assert booking.shown() == (booking.first.driver.subject, "en_route")


# The log

# Their digits occur nowhere else.
SECRET_PICKUP, SECRET_DROPOFF = (51.5318642079, -0.1297531468), (51.6428753108, -0.1386429753)


def digits_of(coordinate: float) -> list[str]:
    """How a log line could show a coordinate: as a number, or without its point."""
    text = repr(abs(coordinate))
    whole, fraction = text.split(".")
    return [f".{fraction[:5]}", (whole + fraction).lstrip("0")[:8]]


def test_no_position_is_logged(start_push_fleet):
    sections = {"log": {"level": "debug"}, "trips": {"waiting_seconds": 1}}
    fleet = start_push_fleet("kept", **sections)
    used: list[dict] = []

    def at(metres: float, of: tuple = SECRET_PICKUP, **more) -> dict:
        used.append(position(metres, of=of, **more))
        return used[-1]

    trip = Trip(fleet, fleet.dispatcher, fleet.driver(),
                pickupLatitude=SECRET_PICKUP[0], pickupLongitude=SECRET_PICKUP[1],
                dropoffLatitude=SECRET_DROPOFF[0], dropoffLongitude=SECRET_DROPOFF[1])
    path, device = "/api/driver/location", fleet.ios(trip.customer)
    trip.watch("tracking", "booking")
    fleet.listen(fleet.dispatcher, "admin-channel")
    trip.locate(at(9_100.123))  # not followed yet
    trip.driver.accept(trip.code)
    trip.driver.progress(trip.code, "en_route", **at(9_000.456))
    trip.driver.progress(trip.code, "en_route", **at(9_000.789))  # a repetition
    trip.driver.expect_error(400, "PUT", f"/api/driver/jobs/{trip.code}/progress",
                             {"step": "loading"} | at(8_950.123))
    trip.locate(at(8_000.123), at(7_900.456, recordedAt="2020-01-01T00:00:00Z"))
    for wrong in ({"latitude": 91.7531864209}, {"longitude": "0.2468135797"},
                  {"speed": "8.6420975313"}, {"heading": 360.1357924681}):
        trip.driver.expect_error(400, "POST", path, at(7_000.123) | wrong)
    trip.driver.expect_error(400, "POST", path, b'{"latitude": 51.7531864209')
    fleet.caller().expect_error(401, "POST", path, at(6_000.123))
    fleet.customer().expect_error(403, "POST", path, at(6_000.456))
    assert 429 in [fleet_call.status for fleet_call in [
        trip.driver.post(path, at(5_000 + number / 7)) for number in range(30)]]
    for method, route in (("GET", "/api/admin/drivers/positions"), ("GET", f"/api/admin/orders/{trip.code}")):
        assert f"{SECRET_PICKUP[1]}".encode() in fleet.dispatcher.request(method, route).body
    assert trip.trip_status().json()["driver_location"]
    fleet.gateway.stop()  # writes the positions
    logs = [fleet.gateway.log()]
    fleet = start_push_fleet("kept", **sections)
    trip.fleet, trip.admin, trip.driver = fleet, fleet.dispatcher, fleet.driver(trip.driver.subject)
    trip.locate(at(33.123))
    trip.wait_for("arrived")
    wait_until(lambda: "driver-waiting" in trip.events(), "the customer is told of the waiting")
    trip.driver.progress(trip.code, "loading")
    trip.driver.progress(trip.code, "in_transit", **at(8_000.123, of=SECRET_DROPOFF))
    trip.locate(at(124.456, of=SECRET_DROPOFF), at(123.456, of=SECRET_DROPOFF))
    wait_until(lambda: "destination-near" in trip.events(), "the customer is told")
    for step in ("unloading", "completed"):
        trip.driver.progress(trip.code, step, **at(23.456, of=SECRET_DROPOFF))
    device.wait(1)
    fleet.gateway.stop()
    logs.append(fleet.gateway.log())
    log = "\n".join(logs)
    assert path in log and '"level":"debug"' in log, "requests are logged"
    known = [SECRET_PICKUP, SECRET_DROPOFF, (91.7531864209, 0.2468135797), (8.6420975313, 360.1357924681),
             *((one["latitude"], one["longitude"]) for one in used)]
    for digits in {digits for place in known for number in place for digits in digits_of(number)}:
        assert digits not in log, re.findall(f".*{re.escape(digits)}.*", log)[:3]


# Metrics

FAMILIES = {"locations_total": "counter", "locations_without_offset_total": "counter", "followed_jobs": "gauge",
            "arrivals_total": "counter", "arrivals_corrected_total": "counter",
            "trip_moments_total": "counter", "arrival_to_push_seconds": "histogram",
            "arrival_to_received_seconds": "histogram"}


def test_the_metrics_of_trips(start_push_fleet):
    fleet = start_push_fleet(trips={"waiting_seconds": 1})
    named = re.compile(r"fleetwire_(\w*(?:location|position|follow|arriv|trip|moment)\w*)")

    def figures() -> dict[str, float]:
        """The samples of the families of trips, except the histograms' sums and buckets."""
        return {name.removeprefix("fleetwire_") + labels: value
                for name, labels, value in fleet.metrics().samples
                if named.fullmatch(name) and not name.endswith(("_sum", "_bucket"))}

    families = {match[1]: kind for name, kind in fleet.metrics().types.items()
                if (match := named.fullmatch(name))}
    assert families == FAMILIES
    nothing = {f'locations_total{{outcome="{outcome}"}}': 0 for outcome in (
        "accepted", "ignored", "copy", "jump", "invalid", "limited")}
    nothing |= {f'arrivals_total{{by="{by}"}}': 0 for by in ("position", "between", "driver")}
    nothing |= {f'arrivals_corrected_total{{by="{by}"}}': 0 for by in ("admin", "driver")}
    nothing |= {f'trip_moments_total{{type="{kind}"}}': 0 for kind in [*MOMENTS, "arrival_corrected"]}
    nothing |= {"followed_jobs": 0, "locations_without_offset_total": 0, "arrival_to_push_seconds_count": 0,
                "arrival_to_received_seconds_count": 0}
    assert figures() == nothing

    trip = Trip(fleet, fleet.dispatcher, fleet.driver())
    devices = [fleet.ios(trip.customer), fleet.android(trip.customer)]
    trip.go_to("en_route")
    assert figures()["followed_jobs"] == 1
    trip.locate(position(9_000), position(8_000, recordedAt="2020-01-01T00:00:00Z"))
    trip.locate(position(50))
    trip.wait_for("arrived")
    for device in devices:
        while (push := device.next()).data["event"] != "driver-arrival":
            pass
        fleet.wait_for_accepted(push.notification, 2)
        report(trip.customer, push.notification, kind="driver_arrival")
    wait_until(lambda: "driver-waiting" in trip.events(), "the customer is told of the waiting")
    trip.driver.progress(trip.code, "loading")
    trip.driver.progress(trip.code, "in_transit")
    # From the pickup, no car comes there so soon: the first position tells nothing.
    trip.locate(position(51, of=DROPOFF), position(50, of=DROPOFF))
    wait_until(lambda: "destination-near" in trip.events(), "the customer is told")
    for step in ("unloading", "completed"):
        trip.driver.progress(trip.code, step)
    expected = nothing | {f'trip_moments_total{{type="{kind}"}}': 1 for kind in MOMENTS}
    expected |= {'locations_total{outcome="accepted"}': 4, 'locations_total{outcome="ignored"}': 1,
                 'arrivals_total{by="position"}': 1, "arrival_to_push_seconds_count": 1,
                 "arrival_to_received_seconds_count": 1,
                 'trip_moments_total{type="driver_nearby"}': 0}  # it is skipped so soon after en_route
    wait_until(lambda: figures() == expected, f"{expected}; there are {figures()}")

    Trip(fleet, fleet.dispatcher, fleet.driver()).go_to("arrived")
    another = Trip(fleet, fleet.dispatcher, fleet.driver()).go_to("en_route")
    limited = [another.driver.post("/api/driver/location", position(9_000 + number)).status
               for number in range(30)].count(429)
    assert limited > 0
    changed = {name: value - expected[name] for name, value in figures().items()
               if value != expected[name]}
    assert changed == {
        'locations_total{outcome="accepted"}': 30 - limited, 'locations_total{outcome="limited"}': limited,
        'arrivals_total{by="driver"}': 1, "followed_jobs": 2,
        'trip_moments_total{type="driver_assigned"}': 2, 'trip_moments_total{type="driver_en_route"}': 2,
        'trip_moments_total{type="driver_arrival"}': 1}
