"""A car, and the plan of its trip: straight past the pickup, and past the drop-off. Nothing here happens."""

import math
import random
from dataclasses import dataclass

from ..trips import METRES_PER_DEGREE

RADIUS = METRES_PER_DEGREE * 180 / math.pi
# The configuration of the gateway. A customer who waits so long is told of it within the run. The cars drive kilometres
# in a second, so they arrive at any speed.
TRIPS = {"waiting_seconds": 2, "arrival_kmh": 0}
# From a position to the next one within a second, in metres: more is faster than 250 km/h, and tells nothing.
STRIDE = 69.0
ARRIVAL, APPROACHING, ACCURACY = 100.0, 500.0, 100.0
# With these the ETA is at most, or more than, the 5 minutes of "nearby", at any speed from 10 to 90 km/h.
NEAR, FAR = 600.0, 12_000.0
# In so many seconds the gateway does whatever is due, unless it is killed: it looks once a second. Drivers
# who are not in a hurry give it a little more.
SETTLE, PAUSE = 2.5, 3.0
# The seconds after `en_route` in which nobody is told that the driver is nearby, and a little more.
NEARBY_PAUSE = 61.5
# What phones' clocks show, in milliseconds, with their shares. The hours are out of what the gateway takes.
CLOCKS = {"right": (0, 10), "fast": (30_000, 2), "slow": (-30_000, 1), "ahead": (7_200_000, 2), "behind": (-7_200_000, 2)}
# Clocks whose positions count from the start of the trip.
RELIABLE = ("right", "fast", "ahead")
# The city lies there. No other number that the gateway handles looks like these degrees.
LATITUDES, LONGITUDES = (59.5, 62.5), (19.5, 30.5)


def metres_between(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The great circle."""
    (first, east), (second, other) = (map(math.radians, a), map(math.radians, b))
    chord = math.sin((second - first) / 2) ** 2 + math.cos(first) * math.cos(second) * math.sin((other - east) / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(chord))


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Act:
    """A command of the driver, or a cancellation by an admin."""

    name: str
    method: str
    path: str
    body: dict
    has_key: bool
    is_admin: bool = False


@dataclass(frozen=True)
class Leg:
    """A report of positions, from so many metres before a place to so many, along the line that passes the
    place at a distance. One of them is where the line is the nearest to it.
    """

    of: tuple[float, float]
    distance: float
    begin: float
    end: float
    count: int = 10
    # Recorded before the driver's last command, and sent after it.
    is_old: bool = False


@dataclass(frozen=True)
class Car:
    number: int
    pickup: tuple[float, float]
    dropoff: tuple[float, float]
    bearing: float
    # The least distances to the pickup and the drop-off, in metres.
    pickup_distance: float
    dropoff_distance: float
    clock: str
    accuracy: float
    # The order has no coordinates.
    is_blind: bool
    jumps: bool
    is_patient: bool
    is_hasty: bool
    # The step after which the order is cancelled; "" if it is not.
    cancelled_at: str

    @property
    def code(self) -> str:
        return f"O{self.number}"

    @property
    def reference(self) -> str:
        return f"R{self.number}"

    @property
    def driver(self) -> str:
        return f"d{self.number}"

    @property
    def customer(self) -> str:
        return f"c{self.number}"

    @property
    def name(self) -> str:
        return f"Driver {self.number}"

    @property
    def has_card(self) -> bool:
        """Whether an admin has written the driver's name; else it is in the driver's token only."""
        return self.number % 2 == 0

    @property
    def start(self) -> tuple[float, float]:
        return self.at(self.pickup, -13_000, self.pickup_distance)

    def order(self) -> dict:
        """The fields of the order."""
        places = {} if self.is_blind else {
            "pickupLatitude": self.pickup[0], "pickupLongitude": self.pickup[1],
            "dropoffLatitude": self.dropoff[0], "dropoffLongitude": self.dropoff[1]}
        return {"bookingReference": self.reference, "customerId": self.customer} | places

    def at(self, of: tuple[float, float], along: float, across: float) -> tuple[float, float]:
        """The place so many metres along the way from a place, and beside it."""
        north = along * math.cos(self.bearing) - across * math.sin(self.bearing)
        east = along * math.sin(self.bearing) + across * math.cos(self.bearing)
        return (of[0] + north / METRES_PER_DEGREE,
                of[1] + east / METRES_PER_DEGREE / math.cos(math.radians(of[0])))


def make_car(number: int, dice: random.Random, patient: float) -> Car:
    pickup = (dice.uniform(60.5, 61.5), dice.uniform(21, 29))
    cancelled_at = dice.choice(["en_route", "arrived", "in_transit"]) if dice.random() < 0.06 else ""
    return Car(
        number, pickup, dropoff=(pickup[0] + dice.choice([-1, 1]) * 0.1, pickup[1] + 0.1),
        bearing=dice.uniform(0, 2 * math.pi), pickup_distance=dice.choice([99, 99.9, 100.1, 101]),
        dropoff_distance=dice.choice([499, 499.9, 500.1, 501]),
        clock=dice.choices(list(CLOCKS), [share for _, share in CLOCKS.values()])[0],
        accuracy=150 if dice.random() < 0.08 else 10, is_blind=dice.random() < 0.05, jumps=dice.random() < 0.5,
        is_patient=dice.random() < patient, is_hasty=dice.random() < 0.25, cancelled_at=cancelled_at)


def plan(car: Car, dice: random.Random) -> list[Pause | Act | Leg]:
    """All that the driver does, in order. Each command and report is sent until it is answered."""
    way, job = [], f"/api/driver/jobs/{car.code}"

    def command(name: str, **fields) -> None:
        has_key = dice.random() < 0.5
        if name == "accept":
            way.append(Act(name, "POST", f"{job}/accept", {}, has_key))
        else:
            way.append(Act(name, "PUT", f"{job}/progress", {"step": name} | fields, has_key))

    def pause() -> None:
        way.append(Pause(dice.uniform(0, 0.4)))

    def is_over(step: str) -> bool:
        """Whether it ends here: the order is cancelled, and the driver does not know it yet."""
        if car.cancelled_at != step:
            return False
        cancel = f"/api/admin/orders/{car.code}/cancel-enhanced"
        way.extend([Act("cancel", "POST", cancel, {"reason": "city"}, True, is_admin=True),
                    Leg(car.pickup, 0, 50, -50), Pause(1.1), Leg(car.pickup, 0, -50, -100)])
        return True

    if dice.random() < 0.3:
        way.append(Leg(car.pickup, 0, 300, -100))  # nobody follows yet, so it is no arrival
    command("accept")
    pause()
    where = dict(zip(("latitude", "longitude"), car.start))
    command("en_route", **(where if dice.random() < 0.5 else {}))
    if dice.random() < 0.2 and not car.cancelled_at:
        way.append(Leg(car.pickup, 0, 40, -40, is_old=True))
    if is_over("en_route"):
        return way
    way.extend(to_the_pickup(car, dice))
    command("arrived")
    if is_over("arrived"):
        return way
    way.append(Pause(TRIPS["waiting_seconds"] + PAUSE if dice.random() < 0.6 else dice.uniform(0, 1)))
    command("loading")
    pause()
    command("in_transit")
    if is_over("in_transit"):
        return way
    way.extend(to_the_dropoff(car, dice))
    command("unloading")
    command("completed")
    way.extend([Leg(car.dropoff, 0, 50, -50), Pause(1.1), Leg(car.dropoff, 0, -50, -100, count=1)])
    return way


def to_the_pickup(car: Car, dice: random.Random) -> list[Pause | Leg]:
    place, distance = car.pickup, car.pickup_distance
    far, near = Leg(place, distance, 13_000, 12_500), Leg(place, distance, 12_400, 300)
    last = Leg(place, distance, 12_400 if car.is_hasty else 280, -250)
    way = [far, Pause(NEARBY_PAUSE if car.is_patient else dice.uniform(0, 0.4))]
    if not car.is_hasty:
        way += [near, Leg(place, distance, 295, 285, count=2), Pause(PAUSE if car.is_patient else dice.uniform(0, 0.4))]
    way += [last, Pause(PAUSE if dice.random() < 0.8 else 0)]
    if dice.random() < 0.5:
        way.append(Leg(place, distance, -200, 200))  # the driver comes back
    return way


def to_the_dropoff(car: Car, dice: random.Random) -> list[Pause | Leg]:
    place, distance = car.dropoff, car.dropoff_distance
    way = [Leg(place, distance, 6_000, 800, count=dice.choice([1, 10])), Pause(dice.uniform(0, 0.4))]
    way += [Leg(place, distance, 700, -600, count=25), Pause(PAUSE if dice.random() < 0.8 else 0)]
    if dice.random() < 0.5:
        way.append(Leg(place, distance, -550, 550))
    return way


def positions(car: Car, leg: Leg, begin: int, end: int, dice: random.Random) -> list[dict]:
    """The positions of a report, recorded after `begin` and until `end` in milliseconds by the true time. They
    come in any order, except from a clock that is hours ahead: the gateway takes them as of now, in their order.
    """
    places = sorted([leg.begin + (leg.end - leg.begin) * each / max(1, leg.count - 1) for each in range(leg.count)],
                    reverse=leg.begin > leg.end)
    if leg.begin * leg.end < 0:
        places[min(range(leg.count), key=lambda each: abs(places[each]))] = 0.0
    listed = []
    for each, ahead in enumerate(places, start=1):
        across = leg.distance
        if abs(ahead) > 25:
            ahead, across = ahead + dice.uniform(-3, 3), across + dice.uniform(0, 3)  # never nearer than the line
        at = begin + (end - begin) * each // leg.count
        listed.append(position(car, car.at(leg.of, -ahead, across), at))
    if car.jumps and leg.count > 2 and dice.random() < 0.3:
        middle = dice.randrange(1, leg.count - 1)
        jump = car.at(leg.of, dice.uniform(30_000, 50_000), 0)
        listed.insert(middle, listed[middle] | dict(zip(("latitude", "longitude"), jump)))
    if car.clock != "ahead":
        dice.shuffle(listed)
    return listed


def position(car: Car, place: tuple[float, float], at: int) -> dict:
    return {"latitude": place[0], "longitude": place[1], "accuracy": car.accuracy,
            "recordedAt": at + CLOCKS[car.clock][0]}
