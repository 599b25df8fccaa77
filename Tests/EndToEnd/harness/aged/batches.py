"""Batches of orders of a year, and some that wait for a driver."""

import json
from collections.abc import Iterator

from ..batches import ITEMS, KITCHEN, ZONE
from .generator import Store
from .sizes import DAY, HOUR, ORDERS_PER_BATCH, YEAR, Aged, identifier

# As many wait as a list shows, and some more.
WAITING = 300
# Heavy drivers have so many batches a hundred.
HEAVY_SHARE = 10
COMMON = {"street": "4 Mill Rd", "area": "Andheri", "city": "Mumbai", "state": "MH", "pincode": "400053"}


def fill(store: Store) -> None:
    aged, count = store.aged, store.aged.count("batches")
    kitchen = json.dumps({name: KITCHEN[name] for name in ("_id", "name", "phone")} | COMMON |
                         {"latitude": 19.1364, "longitude": 72.8296}, separators=(",", ":"))
    store.add("batches", "id, status, version, batch_number, meal_window, window_ends_at, estimated_earnings, kitchen, zone_id, "
              "zone_name, zone_city, account_id, driver_id, driver_name, created_at, updated_at, assigned_at, dispatched_at, "
              "picked_up_at, completed_at, delivered, failed, order_count", of_year(aged, count, kitchen))
    store.add("batches", "id, status, version, batch_number, meal_window, window_ends_at, estimated_earnings, kitchen, zone_id, "
              "zone_name, zone_city, created_at, updated_at, delivered, failed, order_count", waiting(aged, count, kitchen))
    orders(store, count)
    store.add("audit", "id, at, actor, action, batch_id, account_id, correlation_id, status_after, details", (
        (identifier(at, number + (1 << 28)), at, f"driver:a{driver(aged, number)}", "complete", aged.batch(number),
         aged.account(driver(aged, number)), f"b{number}", "COMPLETED", '{"notes":"left at the door"}')
        for number in range(count) for at in [time(aged, count, number)]))


def driver(aged: Aged, batch: int) -> int:
    return batch % aged.heavy if batch % 100 < HEAVY_SHARE else aged.driver(batch)


def time(aged: Aged, count: int, batch: int) -> int:
    return aged.start + batch * (YEAR - DAY) // count


def of_year(aged: Aged, count: int, kitchen: str) -> Iterator[tuple]:
    for number in range(count):
        at, who = time(aged, count, number), driver(aged, number)
        yield (aged.batch(number), "PARTIAL_COMPLETE" if number % 5 == 0 else "COMPLETED", 6, f"BATCH-{number}", "DINNER", at,
               "450.5", kitchen, ZONE["_id"], ZONE["name"], ZONE["city"], aged.account(who), f"a{who}", f"Driver {who}", at,
               at + HOUR, at, at, at, at + HOUR, ORDERS_PER_BATCH - 1, 1, ORDERS_PER_BATCH)


def waiting(aged: Aged, count: int, kitchen: str) -> Iterator[tuple]:
    for number in range(count, count + WAITING):
        yield (aged.batch(number), "READY_FOR_DISPATCH", 2, f"BATCH-{number}", "DINNER", aged.now + DAY, "450.5", kitchen,
               ZONE["_id"], ZONE["name"], ZONE["city"], aged.now - HOUR, aged.now - HOUR, 0, 0, ORDERS_PER_BATCH)


def orders(store: Store, count: int) -> None:
    aged, items = store.aged, json.dumps(ITEMS, separators=(",", ":"))

    def rows() -> Iterator[tuple]:
        for batch in range(count + WAITING):
            at, account = time(aged, count, batch), aged.account(driver(aged, batch)) if batch < count else None
            for place in range(ORDERS_PER_BATCH):
                number = batch * ORDERS_PER_BATCH + place
                customer = aged.customer(number)
                ended = ("FAILED" if place == 0 else "DELIVERED") if account else None
                yield (aged.batch(batch), f"c{number:023x}", f"ORD-{number}", place + 1, customer, f"Customer {customer}",
                       f"+9198{number:08}", "B-1204", f"{number} Lake View", "Near the park", "Andheri", "Mumbai", "MH", "400058",
                       "19.12", "72.83", items, f"d{number:023x}" if account else None, ended, at if account else None, account,
                       "PHOTO" if account else None, "https://images.example/door.jpg" if account else None)

    store.add("batch_orders", "batch_id, id, order_number, sequence, customer_id, name, phone, flat_number, street, landmark, "
              "area, city, state, pincode, latitude, longitude, items, assignment_id, assignment, assigned_at, reported_by, "
              "proof_kind, proof", rows())
    store.add("wrong_codes", "order_id, times, updated_at", (
        (f"c{number:023x}", f"{aged.now - HOUR},{aged.now - HOUR // 2}", aged.now - HOUR // 2)
        for number in range(max(1, aged.count("codes") // 4))))
