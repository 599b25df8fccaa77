"""A trip: an order with coordinates, its driver, and its customer."""

import math

from .fleet import Fleet, unique_id, wait_until

PICKUP, DROPOFF = (51.5, -0.12), (51.6, -0.12)
METRES_PER_DEGREE = 6_371_008.8 * math.pi / 180
STEPS = ["en_route", "arrived", "loading", "in_transit", "unloading", "completed"]


def position(metres: float, of: tuple = PICKUP, **more) -> dict:
    """A position so many metres south of a place."""
    return {"latitude": of[0] - metres / METRES_PER_DEGREE, "longitude": of[1]} | more


class Trip:
    """An assigned order."""

    def __init__(self, fleet: Fleet, admin, driver=None, **fields):
        self.fleet, self.admin = fleet, admin
        self.code, self.reference = unique_id("O"), unique_id("R")
        self.driver = driver or fleet.driver(name="Dan")
        self.customer = fleet.customer(bookings=[self.reference])
        admin.assign(self.code, self.driver.subject, **({
            "bookingReference": self.reference, "customerId": self.customer.subject,
            "pickupLatitude": PICKUP[0], "pickupLongitude": PICKUP[1],
            "dropoffLatitude": DROPOFF[0], "dropoffLongitude": DROPOFF[1]} | fields))

    def go_to(self, status: str) -> "Trip":
        """Lets the driver report every step up to `status`."""
        if status == "assigned":
            return self
        self.driver.accept(self.code)
        for step in STEPS[:STEPS.index(status) + 1] if status in STEPS else []:
            self.driver.progress(self.code, step)
        return self

    def locate(self, *positions: dict) -> dict:
        body = positions[0] if len(positions) == 1 else {"positions": positions}
        return self.driver.expect_ok("POST", "/api/driver/location", body)["data"]

    def order(self) -> dict:
        return self.admin.get_order(self.code)

    def wait_for(self, status: str) -> dict:
        wait_until(lambda: self.order()["status"] == status, f"{self.code} is {status}")
        return self.order()

    def watch(self, *channels: str):
        """A connection of the customer, subscribed to these channels of the booking."""
        return self.fleet.listen(self.customer, *(f"{name}-{self.reference}" for name in channels))

    def trip_status(self, caller=None):
        return (caller or self.customer).request("GET", f"/app-trip-status?reference={self.reference}")

    def events(self) -> list[str]:
        """The events on the booking's channels, in order, without `job-…`."""
        rows = self.fleet.gateway.query(
            "SELECT event FROM notifications WHERE channel IN (?, ?) ORDER BY id",
            f"booking-{self.reference}", f"tracking-{self.reference}")
        return [event for event, in rows if not event.startswith("job-")]
