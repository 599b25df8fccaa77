"""Fills a store that the gateway has created, by SQL: through the API it takes days."""

import contextlib
import json
import random
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
DAY, YEAR = 86_400_000, 365 * 86_400_000
# The parts of all rows; the rest are notifications.
PARTS = {"push_outcomes": 0.15, "push_names": 0.2, "audit": 0.13, "orders": 0.06, "notification_steps": 0.1,
         "deliveries": 0.06, "inbox_entries": 0.03, "cursors": 0.01, "idempotency": 0.01, "batch_orders": 0.02,
         "customers": 0.005, "routes": 0.01, "unread": 0.1}


# Three digits at once: a store has millions of ids.
TRIPLES = [a + b + c for a in DIGITS for b in DIGITS for c in DIGITS]


def identifier(milliseconds: int, number: int) -> str:
    """A ULID, for numbers of up to 30 bits."""
    return (f"{DIGITS[milliseconds >> 45]}{TRIPLES[milliseconds >> 30 & 32767]}{TRIPLES[milliseconds >> 15 & 32767]}"
            f"{TRIPLES[milliseconds & 32767]}000000{TRIPLES[number >> 15]}{TRIPLES[number & 32767]}0000")


@dataclass
class Aged:
    """The sizes of a store. `unread` notifications of each of `heavy` drivers are unread, the newest of the log."""
    rows: int
    drivers: int
    heavy: int

    @property
    def unread(self) -> int:
        return int(self.rows * PARTS["unread"]) // self.heavy

    @property
    def spread(self) -> int:
        """The notifications of the other drivers."""
        return self.rows - sum(int(self.rows * part) for part in PARTS.values())

    def count(self, table: str) -> int:
        return int(self.rows * PARTS[table])


class Generator:
    def __init__(self, path: Path, aged: Aged, now: int):
        self.aged, self.now, self.start = aged, now, now - YEAR
        self.database = sqlite3.connect(path, isolation_level=None)
        self.written = 0

    def fill(self) -> int:
        """Returns the number of rows."""
        database = self.database
        with contextlib.closing(database):
            for setting in ("synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
                database.execute(f"PRAGMA {setting}")
            for step in (self.notifications, self.sequences, self.pushes, self.jobs, self.steps, self.people, self.rest):
                database.execute("BEGIN")
                step()
                database.execute("COMMIT")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return self.written

    def add(self, table: str, columns: str, rows) -> None:
        marks = ", ".join("?" * len(columns.split(",")))
        self.written += self.database.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows).rowcount

    # A notification's number is its place; the unread ones come last.

    def time(self, number: int) -> int:
        """When a notification was created: all but the unread ones in the year until two days ago."""
        if number <= self.aged.spread:
            return self.start + number * (YEAR - 2 * DAY) // self.aged.spread
        return self.now - 2 * DAY + (number - self.aged.spread) * (2 * DAY) // (self.aged.count("unread") + 1)

    def driver(self, number: int) -> int:
        aged = self.aged
        if number <= aged.spread:
            return aged.heavy + number % (aged.drivers - aged.heavy)
        return (number - aged.spread - 1) % aged.heavy

    def notifications(self) -> None:
        total = self.aged.spread + self.aged.heavy * self.aged.unread
        sequences = self.last = [0] * self.aged.drivers

        def rows():
            for number in range(1, total + 1):
                driver, at, isRead = self.driver(number), self.time(number), number <= self.aged.spread
                sequences[driver] += 1
                data = (f'{{"bookingId":"B{number // 3}","customerName":"Some Name","pickupAddress":"{number % 400} High Street",'
                        f'"dropoffAddress":"{number % 300} Low Road"}}')
                yield (number, identifier(at, number), f"driver-a{driver}", sequences[driver], "job-assigned", data.encode(),
                       b"c%d" % (number // 3), "admin:ada", "assign", at, at + 3_600_000, f"order:O{number // 3}",
                       at + 5 if isRead else None, at + 9 if isRead else None, at + 9 if isRead else None, int(not isRead),
                       b"phone" if isRead else None)

        self.add("notifications", "number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, "
                 "expires_at, collapse_key, written_at, confirmed_at, acknowledged_at, unconfirmed, device", rows())
        self.total = total
        for table in ("publication", "confirmation_checks"):
            self.database.execute(f"UPDATE {table} SET position = (SELECT MAX(id) FROM notifications)")

    def sequences(self) -> None:
        self.add("channel_sequences", "channel, last, passing, used_at, unread, unmarked",
                 ((f"driver-a{driver}", last, 0, self.now, last, last) for driver, last in enumerate(self.last)))

    def some(self, table: str) -> range:
        """Evenly spread notifications, as many as the table has rows."""
        count = max(1, self.aged.count(table))
        return range(1, self.aged.spread + 1, max(1, self.aged.spread // count))

    def pushes(self) -> None:
        self.add("push_outcomes", "number, device, round, recipient, state, attempts, reason, message, queued, settled",
                 ((number, b"d%d" % self.driver(number), 0, "", 12, 1, None, b"m%d" % number, 0, 900)
                  for number in self.some("push_outcomes")))
        dice = random.Random(1)
        names = sorted(dice.sample(range(1 << 62), self.aged.count("push_names")))
        self.add("push_names", "name, number", ((name, 1 + name % self.aged.spread) for name in names))
        self.add("deliveries", "number, owner, device, written_at, confirmed_at",
                 ((number, "", b"tablet", self.time(number) + 7, self.time(number) + 8) for number in self.some("deliveries")))

    def jobs(self) -> None:
        orders, entries = self.aged.count("orders"), self.aged.count("audit")
        self.add("orders", "code, status, driver_id, driver_name, version, booking_id, booking_reference, customer_id, "
                 "customer_name, pickup_address, dropoff_address, created_at, updated_at",
                 ((f"O{i}", "assigned" if i >= orders - self.aged.drivers else "completed", f"a{i % self.aged.drivers}", "Name", 5,
                   f"B{i}", f"R{i}", f"c{i % max(1, self.aged.count('customers'))}", "Cust", f"{i} High", f"{i} Low",
                   self.start + i * YEAR // orders, self.start + i * YEAR // orders) for i in range(orders)))
        self.add("routes", "id, status, driver_id, version, created_at, updated_at",
                 ((f"T{i}", "completed", f"a{i % self.aged.drivers}", 3, self.start + i, self.start + i)
                  for i in range(self.aged.count("routes"))))
        self.add("audit", "id, at, actor, action, order_code, correlation_id, status_before, status_after, driver_after, notification",
                 ((identifier(at, i), at, "admin:ada", "assign", f"O{i % orders}", f"c{i}", "available", "assigned",
                   f"a{i % self.aged.drivers}", 1 + i * self.aged.spread // entries)
                  for i in range(entries) for at in [self.start + i * YEAR // entries]))

    def steps(self) -> None:
        self.add("notification_steps", "notification_id, step, subject, at, told_at, detail, stray",
                 ((identifier(self.time(number), number), "received", f"driver:a{self.driver(number)}", self.time(number) + 900,
                   None, '{"type":"new_job"}', 0) for number in self.some("notification_steps")))
        self.add("inbox_entries", "recipient, notification_id, after_sequence, lifetime_end, read_at",
                 ((f"customer:c{number % 1_000}", identifier(self.time(number), number), 0, self.time(number) + 1, None)
                  for number in self.some("inbox_entries")))

    def people(self) -> None:
        drivers, now = self.aged.drivers, self.now
        self.add("cursors", "channel, owner, device, sequence, created_at, updated_at",
                 ((f"driver-a{i % drivers}", f"driver:a{i % drivers}", f"p{i // drivers}", self.last[i % drivers], self.start, now)
                  for i in range(self.aged.count("cursors"))))
        self.add("customers", "id, phone, created_at, updated_at, last_login_at",
                 ((f"{100_000 + i}", f"+4479{i:08}", self.start, self.start, now) for i in range(self.aged.count("customers"))))
        self.add("preferences", "owner, json, updated_at", ((f"driver:a{i}", "{}", now) for i in range(drivers)))
        self.add("drivers", "id, version, name, created_at, updated_at",
                 ((f"a{i}", 1, f"Driver {i}", self.start, now) for i in range(drivers)))

    def rest(self) -> None:
        self.add("idempotency", "subject, key, digest, status, body, created_at",
                 ((f"admin:w{i % 500}", f"k{i}", b"\0" * 32, 200, json.dumps({"n": i}), self.now - DAY + i)
                  for i in range(self.aged.count("idempotency"))))
        orders = self.aged.count("batch_orders")
        self.add("batches", "id, status, version, created_at, updated_at, delivered, failed, order_count",
                 ((f"{i:024x}", "COMPLETED", 5, self.start + i * YEAR // orders, self.start + i * YEAR // orders, 10, 0, 10)
                  for i in range(orders // 10)))
        self.add("batch_orders", "batch_id, id, order_number, sequence, items",
                 ((f"{i // 10:024x}", f"{i:024x}", f"N{i}", i % 10, "[]") for i in range(orders)))


def fill(path: Path, aged: Aged) -> tuple[int, float]:
    """Returns the number of rows, and the seconds that it took."""
    begin = time.monotonic()
    rows = Generator(path, aged, int(time.time() * 1000)).fill()
    return rows, time.monotonic() - begin
