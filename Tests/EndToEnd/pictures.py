"""Makes the documents' pictures of the operators' console: `make pictures`.

A fleet works for five minutes, which is as long as the console's charts reach: drivers listen, get
jobs, report steps and drive; customers follow them; some drivers are in a tunnel. Then the console
is pictured: the overview, the map in dark colours, and a notification's timeline on a phone.
"""

import argparse
import math
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from harness import certificates
from harness.api import Api
from harness.browser import Browser
from harness.console import Console
from harness.fleet import Fleet, token
from harness.gateway import Gateway
from harness.push.providers import Providers
from harness.raw_client import RawClient
from harness.trips import METRES_PER_DEGREE

CENTRE = (51.508, -0.105)
DRIVERS, ABSENT = 26, 3
BOARD = "departures"
LARGEST = 150_000  # bytes of a picture


class Driver:
    """A driver on a trip, who drives along streets that go north or east."""

    def __init__(self, fleet: Fleet, admin, number: int, dice: random.Random, listens: bool):
        self.dice, self.subject = dice, f"D-{number}"
        self.caller = fleet.driver(self.subject, name=f"Driver {number}")
        if listens:
            fleet.listen(self.caller, "drivers-channel", f"driver-{self.subject}")
        self.north, self.east = (dice.uniform(-3_000, 3_000) for _ in range(2))
        self.heading = dice.choice([0, 90, 180, 270])
        code, reference = f"A-{1000 + number}", f"B-{1000 + number}"
        pickup = self.place(dice.uniform(-5_000, 5_000), dice.uniform(-5_000, 5_000))
        dropoff = self.place(dice.uniform(-5_000, 5_000), dice.uniform(-5_000, 5_000))
        admin.assign(code, self.subject, bookingReference=reference, customerId=f"C-{number}",
                     pickupLatitude=pickup[0], pickupLongitude=pickup[1],
                     dropoffLatitude=dropoff[0], dropoffLongitude=dropoff[1])
        self.caller.accept(code)
        self.caller.progress(code, "en_route")
        customer = fleet.customer(f"C-{number}", bookings=[reference])
        fleet.listen(customer, f"tracking-{reference}", f"booking-{reference}")

    @staticmethod
    def place(north: float, east: float) -> tuple[float, float]:
        latitude = CENTRE[0] + north / METRES_PER_DEGREE
        return latitude, CENTRE[1] + east / METRES_PER_DEGREE / math.cos(math.radians(latitude))

    def drive(self, seconds: float) -> None:
        """Drives on at 9 m/s, sometimes around a corner, and reports where."""
        if self.dice.random() < 0.25:
            self.heading = (self.heading + self.dice.choice([90, 270])) % 360
        angle = math.radians(self.heading)
        self.north += 9 * seconds * math.cos(angle)
        self.east += 9 * seconds * math.sin(angle)
        latitude, longitude = self.place(self.north, self.east)
        self.caller.expect_ok("POST", "/api/driver/location", {
            "latitude": latitude, "longitude": longitude, "heading": self.heading, "speed": 9})


    def tell(self, notification: str, event: str, code: str) -> None:
        """Reports a step of a job's notification, as the app does."""
        self.caller.expect_ok("POST", "/api/driver/notifications/log", {
            "notificationId": notification, "type": "new_job", "event": event, "entityId": code,
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})


class Day:
    """What happens in the fleet, second by second."""

    def __init__(self, fleet: Fleet, providers: Providers, dice: random.Random):
        self.fleet, self.dice, self.second, self.orders = fleet, dice, 0, 2000
        self.admin, self.api = fleet.admin("dispatch"), fleet.closing(Api(fleet.gateway))
        self.drivers = [Driver(fleet, self.admin, 101 + number, dice, listens=number >= ABSENT)
                        for number in range(DRIVERS)]
        for driver in self.drivers[ABSENT:]:
            (providers.ios if dice.random() < 0.5 else providers.android)(driver.caller)
        self.visitors: list[RawClient] = []
        self.shown = ""  # the notification whose timeline is pictured

    def pass_second(self) -> None:
        self.second += 1
        for driver in self.drivers[self.second % 3::3]:
            driver.drive(3)
        for _ in range(round(4 + 3 * math.sin(self.second / 25) + self.dice.random())):
            self.api.publish(BOARD, "departure", '{"gate":7}')
        for _ in range(self.dice.randrange(4)):
            self.visitors.append(visitor := RawClient(self.fleet.gateway))
            visitor.send_event("pusher:subscribe", {"channel": BOARD})
        self.dice.shuffle(self.visitors)
        for visitor in self.visitors[40:]:
            visitor.close_gracefully()
        del self.visitors[40:]
        if self.second % 2 == 0:
            self.assign()

    def assign(self) -> None:
        """Gives a job to a driver, whose app reports how far the notification has come."""
        self.orders += 1
        is_absent = self.dice.random() < 0.04
        driver = self.dice.choice(self.drivers[:ABSENT] if is_absent else self.drivers[ABSENT:])
        code = f"A-{self.orders}"
        [notification, *_] = self.admin.assign(code, driver.subject, pickupAddress="1 High St",
                                               dropoffAddress="2 Low Rd")["data"]["notificationIds"]
        if is_absent:
            return
        fate = self.dice.random()
        if fate < 0.97:
            driver.tell(notification, "received", code)
        if fate < 0.9:
            driver.tell(notification, "action_view_now", code)
        if fate < 0.78:
            driver.tell(notification, "action_accept", code)
            driver.caller.accept(code)
            self.shown = notification
        elif fate < 0.82:
            driver.tell(notification, "action_dismiss", code)

    def close(self) -> None:
        for visitor in self.visitors:
            visitor.close()


def take(console: Console, path: Path) -> None:
    picture = console.tab.picture()
    assert len(picture) < LARGEST, f"{path.name} has {len(picture)} bytes"
    path.write_bytes(picture)
    print(f"{path.name}: {len(picture) // 1000} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pictures are written")
    parser.add_argument("--seconds", type=int, default=300, help="how long the fleet works before")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        def closing(thing):
            stack.callback(thing.close)
            return thing

        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        providers = closing(Providers(folder / "providers", certificates.make(folder)))
        gateway = Gateway(folder / "gateway", sections=providers.sections())
        stack.callback(gateway.stop)
        fleet = Fleet(gateway, closing)
        day = closing(Day(fleet, providers, random.Random(7)))
        console = closing(Console(closing(Browser(folder / "browser")), gateway))
        console.tab.command("Emulation.setScrollbarsHidden", hidden=True)
        console.tab.resize(1280, 900)
        console.sign_in(token("admin", "dispatch")).go("map")
        console.go("overview")
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            begin = time.monotonic()
            day.pass_second()
            time.sleep(max(0, begin + 1 - time.monotonic()))  # the fleet's pace
        take(console, options.folder / "console-overview.png")
        console.tab.resize(1280, 740)
        console.tab.prefer(color_scheme="dark", reduced_motion="reduce")
        console.go("map")
        console.wait_for_rows("Drivers on a trip", f"rows.length === {DRIVERS}")
        console.press(day.drivers[-1].subject)
        console.press("Show all")
        for _ in range(options.seconds // 6):  # the drivers leave traces on the map
            day.pass_second()
            time.sleep(1)
        take(console, options.folder / "console-map.png")
        console.tab.resize(360, 740, scale=1.5)
        console.tab.prefer(color_scheme="light", reduced_motion="reduce")
        console.go(f"notifications/{day.shown}")
        console.wait_for("document.querySelectorAll('.timeline li').length > 4")
        console.run("part('.facts').previousElementSibling.scrollIntoView()")
        take(console, options.folder / "console-phone.png")


if __name__ == "__main__":
    main()
