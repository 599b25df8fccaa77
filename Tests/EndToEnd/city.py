"""Lets drivers drive through a city while the gateway is killed again and again, and checks what their customers
are told: `make city`.

Each driver goes straight past the pickup, at 99 to 101 m, and past the drop-off, at 499 to 501 m, and reports
positions with noise and jumps, by clocks that may be seconds or hours wrong; some pause, come back, or are
cancelled. The customers listen. After a kill they come back, and a driver goes on when the customer is there.
In the end each customer must have got each moment of the trip once and in order, none too late and none that the
positions do not show, and positions of the own driver only, until the trip ended.

The channels of bookings are not durable: what happens while a customer is away is in the customer's list. What a
kill cuts off may come twice, with the same id. A failure prints all that is known of the trip. A seed repeats
the routes and after how many requests the gateway is killed, not the instants.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from harness.city.judge import Case, Judge, Logged, coordinates
from harness.city.plan import TRIPS, make_car
from harness.city.town import Town, now
from harness.crowd.judge import Violation
from harness.fleet import SECTIONS, Caller
from harness.gateway import Gateway, check_log

# In so many seconds per driver they all begin, and at least in a few.
SPREAD, LEAST = 0.04, 3.0
ORDER = ["trip_started_at", "arrived_at", "departed_at"]


class City:
    def __init__(self, folder: Path, options: argparse.Namespace, dice: random.Random):
        self.folder, self.options, self.judge = folder, options, Judge()
        self.cars = [make_car(number, dice, options.patient) for number in range(options.drivers)]
        self.town = Town(self.cars, dice)
        requests = sum(driver.requests for driver in self.town.drivers)
        # After so many answers. The last trips end after the last kill.
        self.kills = sorted(dice.sample(range(requests * 19 // 20), options.kills))
        self.gateway: Gateway | None = None
        self.lines = 0

    @property
    def cut_off(self) -> int:
        """How many requests got no answer; they were sent again."""
        return sum(each.answered is None for driver in self.town.drivers for each in driver.attempts)

    def start(self) -> None:
        self.gateway = Gateway(self.folder, loops=2, sections=SECTIONS | {"trips": TRIPS, "log": {"level": "debug"}})
        self.judge.begins.append(now())

    def assign(self) -> None:
        with closing(Caller(self.gateway, "admin", "ada")) as admin:
            for car in self.cars:
                admin.assign(car.code, car.driver, **car.order())
                if car.has_card:
                    admin.expect_ok("PUT", f"/api/admin/drivers/{car.driver}", {"name": car.name})

    def kill(self) -> None:
        self.gateway.kill()
        self.judge.kills.append(now())
        self.town.lose()
        self.check_log()

    def check_log(self) -> None:
        """No line of the ended process has a position. The last line may be cut off."""
        text = self.gateway.log()
        lines = check_log(text[:text.rfind("\n") + 1])
        self.lines += len(lines)
        for line in lines:
            del line["time"]
            if found := coordinates(json.dumps(line)):
                raise Violation(f"the log has a position {found}: {line}")

    def run(self) -> None:
        self.start()
        self.assign()
        self.town.use(self.gateway.port)
        self.town.open(max(LEAST, SPREAD * len(self.cars)))
        moved, count = time.monotonic(), 0
        while not self.town.is_over:
            self.town.turn(0.2)
            if self.kills and self.town.count >= self.kills[0]:
                self.kills.pop(0)
                self.kill()
                self.start()
                self.town.use(self.gateway.port)
            if self.town.count > count:
                moved, count = time.monotonic(), self.town.count
            elif time.monotonic() - moved > 90:
                raise Violation(f"no driver moves: {sum(not driver.is_done for driver in self.town.drivers)} are under way")
        self.town.settle()

    def check(self) -> None:
        inboxes = self.town.read_inboxes()
        notifications, arrivals, orders = self.read_log(), self.read_arrivals(), self.read_orders()
        for driver, customer, inbox in zip(self.town.drivers, self.town.customers, inboxes):
            car = driver.car
            self.judge.judge(Case.of(
                driver, customer, log=notifications[car.reference], order=orders[car.code],
                arrivals=arrivals[car.code], inbox=inbox))
        if left := self.gateway.query("SELECT COUNT(*) FROM driver_positions")[0][0]:
            raise Violation(f"{left} positions are stored although no trip is under way")
        self.town.is_up = False
        self.gateway.stop()
        self.check_log()

    def read_log(self) -> dict[str, list[Logged]]:
        """The notifications of bookings in the gateway's log, by reference."""
        found = defaultdict(list)
        for id, channel, event, at, data in self.gateway.query(
                "SELECT id, channel, event, created_at, data FROM notifications "
                "WHERE channel LIKE 'booking-%' OR channel LIKE 'tracking-%' ORDER BY id"):
            found[channel.partition("-")[2]].append(Logged(id, channel, event, at, json.loads(data)))
        return found

    def read_arrivals(self) -> dict[str, int]:
        """How many arrivals by position are in the audit log, by order."""
        return defaultdict(int, self.gateway.query(
            "SELECT order_code, COUNT(*) FROM audit WHERE actor = 'system:trips' GROUP BY order_code"))

    def read_orders(self) -> dict[str, dict]:
        return {code: dict(zip(ORDER, times)) for code, *times in self.gateway.query(
            f"SELECT code, {', '.join(ORDER)} FROM orders")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drivers", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--patient", type=float, default=0.25,
                        help="the share of drivers who drive for longer than a minute, which `driver_nearby` needs")
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fleetwire-city-") as name:
        city = City(Path(name), options, random.Random(options.seed))
        try:
            city.run()
            city.check()
        except (Violation, AssertionError) as failure:
            print(f"city: seed {options.seed}: {failure}", file=sys.stderr)
            print(f"Kills: {city.judge.kills}. End of the gateway's log:\n{city.gateway.log()[-2000:]}", file=sys.stderr)
            return 1
        finally:
            if city.gateway and not city.gateway.stopped:
                city.gateway.kill()
    counts = city.judge.counts
    print(f"city: {options.drivers} drivers, {len(city.judge.kills)} kills, {city.town.count} requests answered, "
          f"{city.cut_off} cut off; "
          f"{counts['moments']} moments, each once and in order: {counts['received']} received live, "
          f"{counts['only listed']} listed because the customer was away, {counts['repeated']} events repeated after a kill "
          f"(at most {city.judge.oldest_repeated} ms before it); "
          f"{counts['arrival by position']} arrivals by position ({counts['arrival by position must be']} certain), "
          f"{counts['driver-nearby']} nearby ({counts['driver-nearby must be']}), "
          f"{counts['driver-waiting']} waiting ({counts['driver-waiting must be']}), "
          f"{counts['destination-near']} near the destination ({counts['destination-near must be']}); "
          f"{counts['positions shown']} positions shown, {city.town.refused} requests of strangers refused, "
          f"none of {city.lines} log lines has a position. {time.monotonic() - started:.0f} s, seed {options.seed}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
