"""Measures followed trips on a running gateway.

Usage: trips.py PORT PID SECRET. Follows 2,000 trips, then obeys the lines of its standard input, and answers each with one
line when it has done so:
- `positions` or `healthz`: sends 2,000 requests a second by the clock, each driver's position once a second, until the next
  line; answers that line with `{"per_second": …}`, so the caller must write an empty one.
- `polls`: 64 customers ask for the status of their trips, one request in flight each, for four seconds:
  `{"per_second": …, "cpu_us": …}`, the latter the gateway's CPU time per request.
- `memory`: follows 10,000 more trips and reports seven positions of each, 10 s apart: `{"bytes": …}`, the resident memory
  that a followed trip takes.
"""

import datetime
import itertools
import json
import select
import sys
import time

from client import Connections, cpu_seconds, request, resident_bytes, token

PORT, PID, SECRET = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
RATE, CONNECTIONS, SECONDS = 2_000, 64, 4.0
PICKUP, DROPOFF = (51.5, -0.12), (51.6, -0.12)


class Trip:
    """An order with coordinates, its driver, and its customer."""

    def __init__(self, number):
        self.number = number
        self.driver = token(SECRET, "driver", f"d{number}")

    def assign(self, admin):
        return request(f"/api/admin/orders/T{self.number}/assign-driver", admin, json.dumps({
            "driverId": f"d{self.number}", "driverName": "Dana Driver", "customerId": f"c{self.number}",
            "bookingReference": f"R{self.number}", "pickupLatitude": PICKUP[0], "pickupLongitude": PICKUP[1],
            "dropoffLatitude": DROPOFF[0], "dropoffLongitude": DROPOFF[1]}))

    def accept(self):
        return request(f"/api/driver/jobs/T{self.number}/accept", self.driver, "")

    def start(self):
        return request(f"/api/driver/jobs/T{self.number}/progress", self.driver, '{"step":"en_route"}', method="PUT")

    def report(self, round):
        """A position that is a little closer than that of the round before; never within 100 m of the pickup."""
        return request("/api/driver/location", self.driver, json.dumps(self.position(round)))

    def report_minute(self):
        """Seven positions, one in 10 s."""
        now = datetime.datetime.now(datetime.timezone.utc)
        positions = [self.position(round) | {"recordedAt": (now + datetime.timedelta(seconds=10 * round - 60)).isoformat()}
                     for round in range(7)]
        return request("/api/driver/location", self.driver, json.dumps({"positions": positions}))

    @staticmethod
    def position(round):
        return {"latitude": PICKUP[0] - 0.1 + round * 1e-5, "longitude": PICKUP[1], "speed": 8.3, "accuracy": 6.5}

    def poll(self):
        return request(f"/app-trip-status?reference=R{self.number}", token(SECRET, "customer", f"c{self.number}"))


def follow(connections, numbers):
    """Trips whose drivers are on their way. Each step is taken by all before the next."""
    trips = prepare(connections, numbers)
    connections.run(trip.start() for trip in trips)
    return trips


def prepare(connections, numbers):
    trips, admin = [Trip(number) for number in numbers], token(SECRET, "admin", "bench")
    connections.run(trip.assign(admin) for trip in trips)
    connections.run(trip.accept() for trip in trips)
    return trips


def send_by_the_clock(connections, requests):
    """Sends `RATE` requests a second until a line comes. A connection that is not idle delays the request."""
    start, sent = time.perf_counter(), 0
    while not select.select([commands], [], [], 0)[0]:
        due = int((time.perf_counter() - start) * RATE)
        while sent < due and connections.idle:
            connections.send(next(requests))
            sent += 1
        connections.receive(0.0005)
    result = {"per_second": sent / (time.perf_counter() - start)}
    commands.readline()
    connections.run([])
    return result


def measure_polls(connections, trips):
    requests = itertools.cycle([trip.poll() for trip in trips])
    cpu = cpu_seconds(PID)
    done, elapsed = connections.run(requests, SECONDS)
    return {"per_second": done / elapsed, "cpu_us": (cpu_seconds(PID) - cpu) / done * 1e6}


def measure_memory(connections, numbers):
    trips = prepare(connections, numbers)
    before = resident_bytes(PID)
    connections.run(trip.start() for trip in trips)
    connections.run(trip.report_minute() for trip in trips)
    return {"bytes": (resident_bytes(PID) - before) / len(trips)}


connections = Connections(CONNECTIONS, PORT)
trips = follow(connections, range(RATE))
positions = (trip.report(round) for round in itertools.count() for trip in trips)
health = itertools.repeat(request("/healthz", trips[0].driver))
commands = open(0, "rb", buffering=0)  # select() sees what a buffer would hide
print("ready", flush=True)
for line in commands:
    command = line.decode().strip()
    if command == "positions":
        result = send_by_the_clock(connections, positions)
    elif command == "healthz":
        result = send_by_the_clock(connections, health)
    elif command == "polls":
        result = measure_polls(connections, trips)
    else:
        result = measure_memory(connections, range(RATE, RATE + 10_000))
    print(json.dumps(result), flush=True)
