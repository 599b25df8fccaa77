"""Trips: where drivers are, when they arrive, and what their customers are told."""

import json
import re

import pytest

from harness.fleet import SECTIONS, expect_event, unique_id, wait_until
from harness.trips import DROPOFF, PICKUP, Trip, position

SETTINGS = {"sections": SECTIONS | {"trips": {"waiting_seconds": 1}}}
SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MOMENTS = ["driver-assigned", "tracking-started", "driver-en-route", "driver-arrival",
           "driver-waiting", "trip-started", "destination-near", "tracking-stopped",
           "trip-completed"]


@pytest.fixture
def trip(fleet, admin):
    return Trip(fleet, admin)


def skip_jobs(client, event: str, channel: str) -> dict:
    """The data of the next event that is not a copy of what dispatchers see."""
    while (message := client.receive())["event"].startswith("job-"):
        pass
    assert (message["event"], message["channel"]) == (event, channel), message
    return json.loads(message["data"])


# Positions

def test_positions_are_kept_while_a_job_is_followed(trip):
    nothing = {"accepted": 0, "ignored": 1, "sharing": [], "nextUpdateSeconds": 60}
    trip.go_to("accepted")
    assert trip.locate(position(9_000)) == nothing
    trip.driver.progress(trip.code, "en_route")
    assert trip.locate(position(9_000)) == {
        "accepted": 1, "ignored": 0, "sharing": [trip.reference], "nextUpdateSeconds": 10}
    old = [position(8_000, recordedAt="2020-01-01T00:00:00Z"),
           position(8_000, recordedAt="2099-01-01T00:00:00+01:00")]
    assert trip.locate(*old)["accepted"] == trip.locate(*old)["ignored"] == 1
    trip.admin.order(trip.code, "cancel-enhanced")
    assert trip.locate(position(9_000)) == nothing


@pytest.mark.parametrize("fields, error", [
    ({"latitude": None}, 'Expected "latitude": a number is required'),
    ({"latitude": -90.01}, 'Expected "latitude" to be from -90 to 90'),
    ({"longitude": 180.5}, 'Expected "longitude" to be from -180 to 180'),
    ({"longitude": "8"}, 'Expected "longitude" to be a number'),
    ({"heading": 360.1}, 'Expected "heading" to be from 0 to 360'),
    ({"speed": "fast"}, 'Expected "speed" to be a number'),
    ({"recordedAt": "now"},
     'Expected "recordedAt" to be a time in ISO 8601, such as 2026-11-21T09:30:00Z'),
])
def test_a_wrong_position_is_refused_with_the_whole_list(fleet, admin, fields, error):
    trip = Trip(fleet, admin).go_to("en_route")
    wrong = position(9_000) | fields
    path = "/api/driver/location"
    assert trip.driver.expect_error(400, "POST", path, wrong) == error
    listed = {"positions": [position(9_000), wrong]}
    assert trip.driver.expect_error(400, "POST", path, listed) == error.replace(
        '"', '"positions[1].', 1)
    assert trip.trip_status().json()["driver_location"] is None
    for count in (0, 101):
        assert "1 to 100" in trip.driver.expect_error(
            400, "POST", path, {"positions": [position(0)] * count})


def test_only_drivers_send_positions_and_not_too_many(fleet, admin, trip):
    path = "/api/driver/location"
    for caller, status in ((admin, 403), (trip.customer, 403), (fleet.caller(), 401)):
        caller.expect_error(status, "POST", path, position(0))
    responses = [trip.driver.post(path, position(0)) for _ in range(30)]
    refused = [response for response in responses if response.status != 200]
    assert 15 <= len(refused) <= 20
    for response in refused:
        assert response.status == 429 and response.headers["retry-after"] == "1"
        assert response.json() == {"success": False, "error": "Too many location updates"}
    assert fleet.driver().post(path, position(0)).status == 200


def test_dispatchers_see_where_drivers_are(fleet, admin, trip):
    dashboard = fleet.listen(admin, "admin-channel")
    trip.go_to("en_route")
    second = Trip(fleet, admin, driver=trip.driver).go_to("en_route")
    trip.locate(position(9_000, heading=360, accuracy=5))
    while (message := dashboard.receive())["event"] != "driver-location":
        pass
    shown = json.loads(message["data"])
    assert SECOND.fullmatch(shown.pop("last_updated"))
    assert shown == {"driverId": trip.driver.subject, "bookingReference": second.reference,
                     "latitude": pytest.approx(position(9_000)["latitude"]), "longitude": -0.12,
                     "heading": 0, "status": "en_route"}
    found = []

    def is_listed():
        listed = admin.expect_ok("GET", "/api/admin/drivers/positions")["data"]["positions"]
        found[:] = [entry for entry in listed if entry["driverId"] == trip.driver.subject]
        return bool(found)

    # Other nodes of a cluster learn of a position a moment later.
    wait_until(is_listed, "the driver is listed")
    [own] = found
    assert own.keys() == shown.keys() | {"estimated_arrival_minutes", "last_updated"}
    assert own["estimated_arrival_minutes"] == 24  # 9 km x 1.3 at 30 km/h
    assert trip.driver.request("GET", "/api/admin/drivers/positions").status == 403


# Moments

def test_the_moments_of_a_trip(trip):
    watcher = trip.watch("booking")
    booking = f"private-booking-{trip.reference}"
    trip.admin.expect_ok("PUT", f"/api/admin/drivers/{trip.driver.subject}",
                         {"name": "Card", "vehicleMake": "Skoda", "licensePlate": "LB21 XYZ"})
    trip.driver.accept(trip.code)
    common = {"reference": trip.reference, "driver_id": trip.driver.subject, "driverName": "Card"}

    def expect(event: str, **fields) -> dict:
        data = skip_jobs(watcher, event, booking)
        assert SECOND.fullmatch(data["timestamp"]) and data["notificationId"]
        rest = {name: value for name, value in data.items()
                if name not in ("timestamp", "notificationId", "correlationId")}
        assert rest == common | fields
        return data

    expect("driver-assigned", vehicle_make="Skoda", vehicle_model=None, vehicle_color=None,
           license_plate="LB21 XYZ")
    trip.driver.progress(trip.code, "en_route", **position(9_000))
    expect("driver-en-route", eta_minutes=24)
    assert trip.locate(position(101))["accepted"] == trip.locate(position(99))["accepted"] == 1
    arrival = expect("driver-arrival")
    order = trip.wait_for("arrived")
    assert order["arrivedAt"][:19] + "Z" == arrival["timestamp"]
    since = arrival["timestamp"]
    expect("driver-waiting", waiting_since=since, waiting_minutes=0)
    report = trip.driver.progress(trip.code, "arrived")["data"]
    assert report == {"step": "arrived", "timestamp": order["arrivedAt"]}
    trip.driver.progress(trip.code, "loading")
    trip.driver.progress(trip.code, "in_transit", **position(9_000, of=DROPOFF))
    started = skip_jobs(watcher, "trip-started", booking)
    assert started["eta_minutes"] > 0
    trip.locate(position(501, of=DROPOFF))
    trip.locate(position(499, of=DROPOFF))
    near = skip_jobs(watcher, "destination-near", booking)
    assert 1 <= near["eta_minutes"] <= 4  # 500 m at 10 to 90 km/h
    trip.driver.progress(trip.code, "unloading")
    trip.driver.progress(trip.code, "completed")
    completed = skip_jobs(watcher, "trip-completed", booking)
    assert completed["completed_at"] == completed["timestamp"]
    assert trip.events() == MOMENTS
    [(actor, details)] = trip.fleet.gateway.query(
        "SELECT actor, details FROM audit WHERE order_code = ? AND status_after = 'arrived'", trip.code)
    assert actor == "system:trips" and json.loads(details)["distanceMetres"] == 99


@pytest.mark.parametrize("fields", [
    {"accuracy": 101}, {"recordedAt": "2020-01-01T00:00:00Z"}])
def test_other_positions_make_no_arrival(trip, fields):
    trip.go_to("en_route")
    trip.locate(position(0, **fields))
    trip.locate(position(9_000))
    assert trip.order()["status"] == "en_route" and trip.order()["arrivedAt"] is None
    assert "driver-arrival" not in trip.events()


def test_a_report_of_the_driver_is_an_arrival_too(trip):
    trip.go_to("arrived")
    arrived = trip.order()["arrivedAt"]
    assert trip.driver.progress(trip.code, "arrived")["data"]["timestamp"] == arrived
    wait_until(lambda: "driver-waiting" in trip.events(), "the customer is told of the waiting")
    trip.driver.progress(trip.code, "loading")
    trip.locate(position(0))
    assert trip.events().count("driver-arrival") == trip.events().count("driver-waiting") == 1


def test_another_driver_starts_anew(fleet, admin, trip):
    watcher = trip.watch("tracking")
    trip.go_to("arrived")
    tracking = f"private-tracking-{trip.reference}"
    expect_started = skip_jobs(watcher, "tracking-started", tracking)
    assert expect_started["driverName"] == "Dan"
    other = fleet.driver()
    assert admin.assign(trip.code, other.subject)["data"]["order"]["arrivedAt"] is None
    expect_event(watcher, tracking, "tracking-stopped", reason="driver_changed",
                 message="Tracking stopped: your driver has changed")
    assert trip.locate(position(50))["sharing"] == []
    trip.driver = other
    trip.go_to("en_route")
    trip.locate(position(50))
    trip.wait_for("arrived")
    assert trip.events().count("driver-arrival") == 2


# Live

def test_customers_follow_the_driver(trip):
    watcher = trip.watch("tracking")
    tracking = f"private-tracking-{trip.reference}"
    trip.go_to("en_route")
    skip_jobs(watcher, "tracking-started", tracking)
    trip.locate(position(9_000, heading=90))
    shown = watcher.expect_data("location-updated", channel=tracking)
    assert SECOND.fullmatch(shown.pop("last_updated"))
    assert shown == {"reference": trip.reference, "heading": 90, "status": "en_route",
                     "latitude": pytest.approx(position(9_000)["latitude"]), "longitude": -0.12,
                     "estimated_arrival_minutes": 24}
    for metres in (8_000, 7_000, 6_000):
        trip.locate(position(metres))
    late = trip.watch("tracking")
    newest = pytest.approx(position(6_000)["latitude"])
    assert late.expect_data("location-updated", channel=tracking)["latitude"] == newest
    assert watcher.expect_data("location-updated", channel=tracking)["latitude"] == newest
    trip.driver.progress(trip.code, "arrived")
    trip.admin.order(trip.code, "cancel-enhanced", reason="x")
    expect_event(watcher, tracking, "tracking-stopped", reason="booking_cancelled",
                 message="Tracking stopped due to booking cancellation")
    assert trip.locate(position(5_000))["sharing"] == []
    assert trip.watch("tracking").expect_nothing() is None
    assert watcher.expect_nothing() is None
    rows = trip.fleet.gateway.query("SELECT COUNT(*) FROM notifications WHERE event = 'location-updated'")
    assert rows == [(0,)]


@pytest.mark.parametrize("channels", [[], [{"pattern": "tracking-*", "access": "open"},
                                           {"pattern": "admin-*", "access": "open"}]])
def test_no_position_is_published_where_strangers_could_listen(start_gateway, channels):
    from harness.client import Client
    from harness.fleet import Fleet
    import contextlib
    gateway = start_gateway(sections=SECTIONS | {"channels": channels,
                                                 "fleet": {"allow_open_channels": True}})
    with contextlib.ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing
        fleet = Fleet(gateway, closing)
        trip = Trip(fleet, fleet.admin())
        stranger = closing(Client.connect(gateway))
        stranger.subscribe(f"tracking-{trip.reference}")
        stranger.subscribe("admin-channel")
        trip.go_to("en_route")
        trip.locate(position(9_000))
        seen = stranger.receive_until_pong()
        assert seen and not [message for message in seen if "location" in message["event"]]


# Status

STATUSES = {"en_route": "en_route", "arrived": "arrived", "loading": "pickup_complete",
            "in_transit": "dropping_off", "unloading": "dropping_off", "completed": "complete"}


@pytest.mark.parametrize("step", STATUSES)
def test_the_status_of_each_step(fleet, admin, step):
    trip = Trip(fleet, admin).go_to(step)
    trip.locate(position(9_000, heading=7.5))
    admin.expect_ok("PUT", f"/api/admin/drivers/{trip.driver.subject}",
                    {"phoneNumber": "+41", "vehicleColor": "blue"})
    response = trip.trip_status()
    assert response.status == 200 and response.headers["cache-control"] == "no-store"
    body = response.json()
    is_over = step == "completed"
    eta = {"en_route": 24, "arrived": 0}.get(step)
    location = body.pop("driver_location")
    if is_over:
        assert location is None
    else:
        assert SECOND.fullmatch(location.pop("last_updated"))
        if eta is None:
            assert location.pop("estimated_arrival_minutes") > 0
        else:
            assert location.pop("estimated_arrival_minutes") == eta
        assert location == {"latitude": pytest.approx(position(9_000)["latitude"]),
                            "longitude": -0.12, "heading": 7.5}
    assert SECOND.fullmatch(body.pop("estimated_arrival_time"))
    status = body.pop("status")
    assert status == STATUSES[step] or (step, status) == ("arrived", "waiting_for_pickup")
    assert body == {"reference": trip.reference, "driver_info": {
        "driver_id": trip.driver.subject, "name": "Dan",
        "vehicle_make": None, "vehicle_model": None, "vehicle_color": "blue",
        "license_plate": None, "phone_number": None if is_over else "+41"}}


def test_a_cancelled_trip_and_one_that_has_not_started(trip):
    for step in ("assigned", "accepted"):
        if step == "accepted":
            trip.driver.accept(trip.code)
        response = trip.trip_status()
        assert (response.status, response.json()) == (
            404, {"success": False, "error": "Trip has not started"})
    trip.admin.order(trip.code, "cancel-enhanced")
    body = trip.trip_status().json()
    assert (body["status"], body["driver_location"], body["estimated_arrival_time"]) == (
        "canceled", None, None)


@pytest.mark.parametrize("is_live", [True, False])
def test_only_those_concerned_see_a_trip(fleet, admin, trip, is_live):
    trip.go_to("en_route" if is_live else "completed")
    trip.locate(position(9_000))
    named = fleet.customer(trip.customer.subject)
    for caller in (trip.customer, named, trip.driver, admin):
        assert trip.trip_status(caller).status == 200
    hidden = {"success": False, "error": "Trip not found"}
    for caller in (fleet.customer(bookings=["other"]), fleet.driver(), fleet.ops()):
        response = trip.trip_status(caller)
        assert (response.status, response.json()) == (404, hidden)
    unknown = trip.customer.request("GET", f"/app-trip-status?reference={unique_id('X')}")
    assert (unknown.status, unknown.json()) == (404, hidden)
    assert trip.trip_status(fleet.caller()).status == 401
    assert trip.customer.expect_error(400, "GET", "/app-trip-status") == "Expected reference"


# Restart, retention, metrics

def test_a_killed_gateway_tells_each_moment_once(start_gateway):
    import contextlib
    from harness.fleet import Fleet
    sections = SECTIONS | {"trips": {"waiting_seconds": 2}}
    with contextlib.ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing

        def restart():
            gateway = start_gateway("store", sections=sections)
            fleet = Fleet(gateway, closing)
            return gateway, fleet, fleet.admin()
        gateway, fleet, admin = restart()
        trip = Trip(fleet, admin)

        def kill_and_go_on():
            gateway.kill()
            again = restart()
            trip.fleet, trip.admin = again[1], again[2]
            trip.driver = again[1].driver(trip.driver.subject, name="Dan")
            return again[0]
        trip.driver.accept(trip.code)
        gateway = kill_and_go_on()
        trip.driver.progress(trip.code, "en_route")
        gateway = kill_and_go_on()
        trip.locate(position(50))
        trip.wait_for("arrived")
        gateway = kill_and_go_on()
        wait_until(lambda: "driver-waiting" in trip.events(), "the customer is told of the waiting")
        gateway = kill_and_go_on()
        for step in ("loading", "in_transit"):
            trip.driver.progress(trip.code, step)
        gateway = kill_and_go_on()
        # No car comes there so soon: the first position tells nothing.
        trip.locate(position(51, of=DROPOFF), position(50, of=DROPOFF))
        wait_until(lambda: "destination-near" in trip.events(), "the destination is near")
        gateway = kill_and_go_on()
        trip.locate(position(40, of=DROPOFF))
        for step in ("unloading", "completed"):
            trip.driver.progress(trip.code, step)
        gateway = kill_and_go_on()
        assert trip.events() == MOMENTS
        moments = gateway.query(
            "SELECT data FROM notifications WHERE channel = ?", f"booking-{trip.reference}")
        names = {json.loads(data).get("driverName", "Dan") for data, in moments}
        assert names == {"Dan"}, "the name in the driver's token is stored"


def test_positions_survive_a_stop_and_go_with_the_trip(start_gateway):
    import contextlib
    from harness.fleet import Fleet
    latitude = 50.71828182
    with contextlib.ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing
        gateway = start_gateway("store", sections=SECTIONS)
        fleet = Fleet(gateway, closing)
        trip = Trip(fleet, fleet.admin()).go_to("en_route")
        trip.locate({"latitude": latitude, "longitude": 1.5})
        gateway.stop()
        assert b"50.71828182" in store_bytes(gateway)
        gateway = start_gateway("store", sections=SECTIONS)
        fleet = Fleet(gateway, closing)
        trip.fleet, trip.admin = fleet, fleet.admin()
        trip.driver = fleet.driver(trip.driver.subject)
        trip.customer = fleet.customer(trip.customer.subject)
        assert trip.trip_status().json()["driver_location"]["latitude"] == latitude
        trip.admin.order(trip.code, "unassign")
        assert gateway.query("SELECT COUNT(*) FROM driver_positions") == [(0,)]
        gateway.stop()
        assert b"50.71828182" not in store_bytes(gateway)
        assert "50.718" not in gateway.log()


def store_bytes(gateway) -> bytes:
    path = gateway.database_path
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


def test_erasing_a_driver_removes_the_positions(fleet, admin, trip):
    trip.go_to("en_route")
    trip.locate(position(7.5, heading=1))
    trip.wait_for("arrived")
    [(details,)] = fleet.gateway.query(
        "SELECT details FROM audit WHERE actor = 'system:trips' AND order_code = ?", trip.code)
    assert json.loads(details).keys() == {"latitude", "longitude", "distanceMetres"}
    admin.expect_ok("DELETE", f"/api/admin/people/driver/{trip.driver.subject}")
    [(details,)] = fleet.gateway.query(
        "SELECT details FROM audit WHERE actor = 'system:trips' AND order_code = ?", trip.code)
    assert json.loads(details) == {"distanceMetres": 7.5}
    assert trip.trip_status().json()["driver_location"] is None
