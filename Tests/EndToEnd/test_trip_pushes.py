"""The pushes of a trip's eight moments: what the customer reads, and how each is switched off.

Time passes by editing the stored times of the trip, between two starts of the gateway.
"""

import contextlib
import datetime
import re
import sqlite3

import pytest

from harness.fleet import wait_until
from harness.trips import DROPOFF, Trip, position

SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MINUTE, HOUR = 60, 3_600  # seconds
CARD = {"name": "Zoë 🚚", "vehicleMake": "Skoda", "vehicleColor": "blue",
        "licensePlate": "LB21 XYZ"}
# Event, title and lifetime of each moment, in the order of the trip.
MOMENTS = {"driver-assigned": ("Your driver is confirmed", HOUR),
           "driver-en-route": ("Your driver is on the way", 30 * MINUTE),
           "driver-nearby": ("Your driver is nearby", 10 * MINUTE),
           "driver-arrival": ("Your driver has arrived!", 10 * MINUTE),
           "driver-waiting": ("Your driver is waiting", 10 * MINUTE),
           "trip-started": ("Your trip has started", 30 * MINUTE),
           "destination-near": ("Almost there", 10 * MINUTE),
           "trip-completed": ("Trip completed", 24 * HOUR)}
URGENT = ["driver-arrival", "driver-waiting"]
ODD, EVEN = list(MOMENTS)[::2], list(MOMENTS)[1::2]
WHOLE_DAY = {"enabled": True, "from": "00:00", "to": "00:00"}


class Journey:
    """A trip with all moments; `walk` yields each of them after it happened. The customer has a
    device of each provider.
    """

    def __init__(self, start, card: dict | None = None, **fields):
        self.start = start
        self.fleet = start()
        self.trip = Trip(self.fleet, self.fleet.dispatcher, self.fleet.driver(), **fields)
        self.devices = [self.fleet.ios(self.trip.customer), self.fleet.android(self.trip.customer)]
        if card:
            self.trip.admin.expect_ok("PUT", f"/api/admin/drivers/{self.trip.driver.subject}", card)

    def let_pass(self, seconds: int, column: str) -> None:
        """Restarts the gateway as if a time of the trip were so much longer ago."""
        self.fleet.gateway.stop()
        with contextlib.closing(sqlite3.connect(self.fleet.gateway.database_path)) as database, database:
            database.execute(f"UPDATE orders SET {column} = {column} - ?", (seconds * 1_000,))
        self.fleet = self.trip.fleet = self.start()
        self.trip.admin = self.fleet.dispatcher
        self.trip.driver = self.fleet.driver(self.trip.driver.subject)

    def walk(self):
        trip = self.trip
        trip.driver.accept(trip.code)
        yield "driver-assigned"
        trip.driver.progress(trip.code, "en_route", **position(9_000))
        yield "driver-en-route"
        self.let_pass(61, "trip_started_at")
        # From 9 km away, no car comes there so soon: the first position tells nothing.
        self.trip.locate(position(1_501), position(1_500))
        yield "driver-nearby"
        self.trip.locate(position(50))
        yield "driver-arrival"
        self.let_pass(125, "arrived_at")
        yield "driver-waiting"
        trip.driver.progress(trip.code, "loading")
        trip.driver.progress(trip.code, "in_transit", **position(9_000, of=DROPOFF))
        yield "trip-started"
        trip.locate(position(401, of=DROPOFF), position(400, of=DROPOFF))
        yield "destination-near"
        trip.driver.progress(trip.code, "unloading")
        trip.driver.progress(trip.code, "completed")
        yield "trip-completed"

    def notification(self, event: str) -> str:
        """Waits for the notification of a moment. Returns its id."""
        def ids() -> list[tuple]:
            return self.fleet.gateway.query(
                "SELECT id FROM notifications WHERE channel = ? AND event = ?",
                f"booking-{self.trip.reference}", event)

        wait_until(lambda: len(ids()) == 1, f"one {event}")
        return ids()[0][0]

    def expect_only(self, pushed: list[str], reason: str | None) -> None:
        """Expects pushes of these moments. Those of the others are cancelled for this reason, or,
        without one, were never to be sent.
        """
        for event in self.walk():
            notification = self.notification(event)
            if event in pushed:
                for device in self.devices:
                    assert device.next(notification).data["event"] == event
                self.fleet.wait_for_accepted(notification, len(self.devices))
            elif reason is None:
                self.fleet.expect_not_pushed(notification)
            else:
                for step in self.fleet.wait_for_step(notification, "push_cancelled", len(self.devices)):
                    assert step["detail"]["reason"] == reason, step
        for device in self.devices:
            assert [push.data["event"] for push in device.pushes] == pushed


@pytest.fixture
def start_journey(start_push_fleet):
    def start(card: dict | None = None, catalogue: dict | None = None, **fields) -> Journey:
        more = {} if catalogue is None else {"catalogue": catalogue}
        return Journey(lambda: start_push_fleet("kept", **more), card, **fields)

    return start


def seconds(time: str) -> float:
    return datetime.datetime.fromisoformat(time).timestamp()


def check_push(journey: Journey, push, event: str, number: int, text: str, fields: dict) -> None:
    """Checks everything that the phone gets."""
    title, lifetime = MOMENTS[event]
    trip = journey.trip
    assert SECOND.fullmatch(push.data["timestamp"])
    alert = {"alert": {"title": title, "body": text}, "badge": number, "sound": "default"}
    assert push.aps == alert | ({"category": "DRIVER_ARRIVAL"} if event == "driver-arrival" else {})
    notification = trip.admin.expect_ok(
        "GET", f"/api/ops/notifications/{push.notification}")["notification"]
    assert seconds(notification["expiresAt"]) - seconds(notification["createdAt"]) == lifetime
    assert abs(push.expires - seconds(notification["expiresAt"])) <= 1
    if not push.uses_apns:
        rest = int(push.android["ttl"].removesuffix("s"))
        assert lifetime - 20 < rest <= lifetime, push.android
        assert push.android["collapse_key"]
    data = dict(push.data)
    for name in ("timestamp", "notificationId", "correlationId"):
        data.pop(name, None)
    assert data == fields | {
        "type": event.replace("-", "_"), "event": event, "entityId": trip.code, "jobId": trip.code,
        "title": title, "message": text, "reference": trip.reference,
        "driver_id": trip.driver.subject}


def test_what_the_customer_reads_of_each_moment(start_journey):
    journey = start_journey(CARD)
    driver = {"driverName": "Zoë 🚚"}
    # Texts and the fields that only this moment has; numbers are texts in pushes, nulls are left out.
    expected = {
        "driver-assigned": ("Zoë 🚚 will pick you up", {
            "vehicle_make": "Skoda", "vehicle_color": "blue", "license_plate": "LB21 XYZ"}),
        "driver-en-route": ("Zoë 🚚 arrives in about 24 minutes", {"eta_minutes": "24"}),
        "driver-nearby": ("Zoë 🚚 is 4 minutes away", {"eta_minutes": "4"}),
        "driver-arrival": ("Zoë 🚚 is waiting for you", {}),
        "driver-waiting": ("Zoë 🚚 has been waiting for 2 minutes", {"waiting_minutes": "2"}),
        "trip-started": ("About 24 minutes to your destination", {"eta_minutes": "24"}),
        "destination-near": ("You are close to your destination", {"eta_minutes": "2"}),
        "trip-completed": ("Thank you for travelling with us", {})}
    collapse_ids = set()
    for number, event in enumerate(journey.walk(), 1):
        text, fields = expected.pop(event)
        for device in journey.devices:
            push = device.next(journey.notification(event))
            if event == "driver-waiting":
                fields["waiting_since"] = journey.trip.order()["arrivedAt"][:19] + "Z"
            if event == "trip-completed":
                fields["completed_at"] = push.data["timestamp"]
            check_push(journey, push, event, number, text, driver | fields)
            collapse_ids.add(push.collapse_id)
        # Otherwise the next moment could replace the push before it is accepted.
        journey.fleet.wait_for_accepted(journey.notification(event), 2)
    assert not expected
    assert len(collapse_ids) == 1, "a newer moment replaces the older ones on the phone"
    for device in journey.devices:
        assert len(device.pushes) == len(MOMENTS)


def test_moments_of_which_little_is_known(start_push_fleet):
    """Without a name, coordinates and a card; another order has another collapse id."""
    fleet = start_push_fleet()
    nothing = dict.fromkeys(("pickupLatitude", "pickupLongitude", "dropoffLatitude",
                             "dropoffLongitude"))
    collapse_ids = set()
    for _ in range(2):
        trip = Trip(fleet, fleet.dispatcher, fleet.driver(), **nothing)
        device = fleet.ios(trip.customer)
        trip.driver.accept(trip.code)
        for step, text in ((None, "Your driver will pick you up"),
                           ("en_route", "Your driver is on the way to you"),
                           ("arrived", "Your driver is waiting for you"), ("loading", None),
                           ("in_transit", "You are on your way")):
            if step:
                trip.driver.progress(trip.code, step)
            if text:
                push = device.next()
                assert push.text == push.data["message"] == text
                assert not push.data.keys() & {"driverName", "eta_minutes", "vehicle_make",
                                               "vehicle_model", "vehicle_color", "license_plate"}
                assert "null" not in push.data.values()
                fleet.wait_for_accepted(push.notification)
        collapse_ids.add(push.collapse_id)
    assert len(collapse_ids) == 2


@pytest.mark.parametrize("off", [ODD, EVEN], ids=["odd", "even"])
def test_the_catalogue_switches_off_each_moment(start_journey, off):
    catalogue = {event: {"title": MOMENTS[event][0], "push": "off"} for event in off}
    start_journey(catalogue=catalogue).expect_only(
        [event for event in MOMENTS if event not in off], None)


@pytest.mark.parametrize("off", [ODD, EVEN], ids=["odd", "even"])
def test_the_customer_switches_off_each_moment(start_journey, off):
    journey = start_journey()
    types = {event.replace("-", "_"): False for event in off}
    journey.trip.customer.expect_ok("PUT", "/api/customer/preferences", {"types": types})
    journey.expect_only([event for event in MOMENTS if event not in off], "preferences")


def test_only_urgent_moments_are_pushed_in_quiet_hours(start_journey):
    journey = start_journey()
    journey.trip.customer.expect_ok("PUT", "/api/customer/preferences", {"quietHours": WHOLE_DAY})
    journey.expect_only(URGENT, "quiet_hours")
