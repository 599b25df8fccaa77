"""A small city (`city.py`), and the faults that its judge finds."""

import random
import subprocess
import sys

import pytest

from harness.city.judge import Case, Judge, Logged, coordinates, metres_to_go
from harness.city.plan import Car, Leg, metres_between, positions
from harness.city.town import Attempt, Received, iso
from harness.crowd.judge import Violation
from harness.gateway import FOLDER

SEED = 20_261_124
PICKUP, DROPOFF = (61.0, 25.0), (61.1, 25.1)
START = 1_800_000_000_000
BOOKING, TRACKING = "booking-R1", "tracking-R1"
STEPS = {"en_route": 0, "arrived": 30_000, "loading": 40_000, "in_transit": 50_000, "unloading": 60_000, "completed": 61_000}


def test_a_small_city():
    result = subprocess.run([sys.executable, "city.py", "--drivers", "40", "--kills", "4", "--patient", "0",
                             "--seed", str(SEED)], cwd=FOLDER, text=True, capture_output=True, timeout=120)
    assert result.returncode == 0, f"seed {SEED}\n{result.stderr}"
    assert result.stdout.startswith("city: 40 drivers, 4 kills, "), result.stdout


def car(distance: float = 99.0) -> Car:
    return Car(1, PICKUP, DROPOFF, 0.5, distance, 501, "right", 10, is_blind=False, jumps=False, is_patient=False,
               is_hasty=False, cancelled_at="")


def place(distance: float, at: int) -> dict:
    latitude, longitude = car().at(PICKUP, 0, distance)
    return {"latitude": latitude, "longitude": longitude, "accuracy": 10, "recordedAt": START + at}


def logged(number: int, event: str, at: int, channel: str = BOOKING, **data) -> Logged:
    return Logged(f"{number:02}", channel, event, START + at, data | {"notificationId": f"{number:02}"})


def trip(distance: float = 99.0, arrivals: int = 1) -> Case:
    """A right trip: the driver is 99 m from the pickup after 10 s, and reports the arrival after 30 s."""
    arrived = 10_000 if arrivals else 30_000
    names = {"reference": "R1", "driver_id": "d1", "driverName": "Driver 1"}
    told = [("driver-assigned", -1, BOOKING), ("tracking-started", 0, TRACKING), ("driver-en-route", 0, BOOKING),
            ("driver-arrival", arrived, BOOKING), ("driver-waiting", arrived + 3_000, BOOKING), ("trip-started", 50_000, BOOKING),
            ("tracking-stopped", 61_000, TRACKING), ("trip-completed", 61_000, BOOKING)]
    log = [logged(number, event, at, channel, **names, **({"reason": "completed"} if "stopped" in event else {}))
           for number, (event, at, channel) in enumerate(told)]
    attempts = [Attempt(step, START + at, None, START + at + 1, {"timestamp": iso(START + arrived)})
                for step, at in STEPS.items()]
    answer = {"sharing": ["R1"], "accepted": 1, "ignored": 0}
    attempts.insert(1, Attempt("positions", START + 10_000, [place(distance, 10_000)], START + 10_001, answer))
    received = [Received(0, each.at, each.channel, each.event, each.data) for each in log]
    order = {"trip_started_at": START, "arrived_at": START + arrived, "departed_at": START + 50_000}
    inbox = [each.id for each in log if each.channel == BOOKING]
    return Case(car(distance), attempts, received, {(0, BOOKING): START - 9, (0, TRACKING): START - 9}, log, order, arrivals, inbox)


def judge(case: Case, kills: tuple = ()) -> None:
    judge = Judge()
    judge.kills, judge.begins = [START + each for each in kills], [START - 99, *(START + each + 1 for each in kills)]
    judge.judge(case)


def test_right_trips():
    judge(trip())
    judge(trip(distance=100.1, arrivals=0))
    judge(trip(arrivals=0), kills=(10_500,))  # the kill took the arrival, and the driver reported it


@pytest.mark.parametrize("case, fault", [
    (trip(distance=100.1), "must not be arrival by position"), (trip(arrivals=0), "must be arrival by position")])
def test_wrong_arrivals(case, fault):
    with pytest.raises(Violation, match=fault):
        judge(case)


def test_an_arrival_is_certain_only_long_before_a_kill():
    with pytest.raises(Violation, match="must be arrival by position"):
        judge(trip(arrivals=0), kills=(15_000,))


def test_wrong_moments():
    lost, twice, swapped = trip(), trip(), trip()
    del lost.log[2]
    twice.log.append(logged(9, "driver-arrival", 62_000))
    swapped.log[3:5] = [logged(3, "driver-waiting", 13_000), logged(4, "driver-arrival", 13_000)]
    for case, fault in ((lost, "other moments"), (twice, "not once"), (swapped, "not once and in order")):
        with pytest.raises(Violation, match=fault):
            judge(case)


def test_waiting_that_is_early_or_missing():
    early, missing = trip(), trip()
    early.log[4] = logged(4, "driver-waiting", 11_000)
    del missing.log[4]
    for case, fault in ((early, "must not be driver-waiting"), (missing, "must be driver-waiting")):
        with pytest.raises(Violation, match=fault):
            judge(case)


def test_what_customers_get():
    lost, twice, listed = trip(), trip(), trip()
    del lost.received[3]
    twice.received.append(twice.received[-1])
    listed.inbox.pop()
    for case, fault in ((lost, "never received"), (twice, "out of order, or twice"), (listed, "the customer's list")):
        with pytest.raises(Violation, match=fault):
            judge(case)


@pytest.mark.parametrize("at, where, fault", [
    (20_000, DROPOFF, "the position of another"), (62_000, None, "after the end")])
def test_positions_that_nobody_may_see(at, where, fault):
    case, own = trip(), place(99, 0)
    latitude, longitude = where or (own["latitude"], own["longitude"])
    shown = {"reference": "R1", "latitude": latitude, "longitude": longitude}
    case.received.append(Received(0, START + at, TRACKING, "location-updated", shown))
    if where:
        case.received.insert(3, case.received.pop())
    with pytest.raises(Violation, match=fault):
        judge(case)


def test_coordinates_in_texts():
    assert coordinates('{"latitude":61.00001,"at":"10:20:25.123Z","seconds":0.123}') == ["61.00001"]
    assert coordinates("near 25.123456, 7 m, 60.12") == ["25.123456"]


@pytest.mark.parametrize("distance", [99, 99.9, 100.1, 101])
def test_a_line_passes_a_place_at_its_distance(distance):
    listed = positions(car(distance), Leg(PICKUP, distance, 280, -250), 0, 1_000, random.Random(1))
    found = [metres_between((each["latitude"], each["longitude"]), PICKUP) for each in listed]
    assert min(found) == pytest.approx(distance, abs=0.02)
    assert metres_to_go(car(), Attempt("positions", 0, listed)) > 250
