"""Orders, routes, and the audit log of what was done with them."""

from collections.abc import Iterator

from .generator import Store
from .sizes import DAY, HOUR, NOTIFICATIONS_PER_ORDER, Aged, identifier

AUDIT = ("id, at, actor, action, order_code, correlation_id, status_before, driver_before, status_after, driver_after, details, "
         "has_position, notification")
# Open orders on which nobody has acted for a year: the gateway ends them.
IDLE = 40


def fill(store: Store) -> None:
    aged = store.aged
    store.add("orders", "code, status, driver_id, driver_name, version, booking_id, booking_reference, customer_id, "
              "customer_name, pickup_address, dropoff_address, created_at, updated_at, pickup_latitude, pickup_longitude, "
              "dropoff_latitude, dropoff_longitude, completed_at", orders(aged))
    store.add("routes", "id, status, driver_id, driver_name, version, route_number, created_at, updated_at", routes(aged))
    store.add("audit", AUDIT, audit(aged))


def orders(aged: Aged) -> Iterator[tuple]:
    """The newest orders are open, one for each driver; before them, heavy drivers have a hundred each."""
    own = aged.orders - aged.others
    for order in range(aged.orders):
        at, driver, customer = aged.order_time(order), aged.driver(order), aged.customer(order)
        status, updated = "completed", at + HOUR
        if order >= own:
            status, updated = "assigned", aged.now - HOUR
        elif order >= own - 100 * aged.heavy:
            status, updated, driver = "assigned", aged.now - HOUR, order % aged.heavy
        elif order < IDLE:
            status, updated = "assigned", at
        yield (f"O{order}", status, f"a{driver}", f"Driver {driver}", 2, f"B{order}", f"R{order}", customer,
               f"Customer {customer}", f"{order} High Street", f"{order} Low Road", at, updated, "51.5", "-0.12", "51.6", "-0.12",
               updated if status == "completed" else None)


def routes(aged: Aged) -> Iterator[tuple]:
    count = aged.count("routes")
    for route in range(count):
        driver, at = route % aged.drivers, aged.start + route * (aged.now - DAY - aged.start) // count
        yield f"T{route}", "completed", f"a{driver}", f"Driver {driver}", 3, "R-1", at, at + HOUR
    for driver in range(aged.drivers):
        at = aged.now - HOUR
        yield aged.open_route(driver), "assigned", f"a{driver}", f"Driver {driver}", 2, "R-1", at, at


def audit(aged: Aged) -> Iterator[tuple]:
    """The two assignments of each order, as its notifications say: at their times, with their correlation ids. And what
    drivers have reported; of the last day, it has positions.
    """
    every = max(1, aged.orders // aged.count("progress"))
    entry = 0
    for order in range(aged.orders):
        number, drivers = order * NOTIFICATIONS_PER_ORDER + 1, (f"a{aged.driver(order)}", f"a{aged.driver(order + 1)}")
        for place, driver in enumerate(drivers):
            entry, at = entry + 1, aged.order_time(order) + place * (aged.gap // 2)
            yield (identifier(at, entry), at, "admin:ada", "assign", f"O{order}", f"c{order}-{place}",
                   "assigned" if place else "available", drivers[0] if place else None, "assigned", driver, None, 0,
                   number + 2 * place)
        for _ in range(max(1, aged.count("progress") // aged.orders) if order % every == 0 else 0):
            entry, at = entry + 1, at + 1
            yield progress(aged, order, entry, at, drivers[1])
    # The last notifications of orders are two days old.
    for order in range(aged.orders - aged.orders // 100, aged.orders):
        entry += 1
        yield progress(aged, order, entry, aged.now - 2 * HOUR + order % HOUR, f"a{aged.driver(order)}")


def progress(aged: Aged, order: int, entry: int, at: int, driver: str) -> tuple:
    is_new = at > aged.now - DAY
    details = '{"step":"en_route","latitude":51.5,"longitude":-0.12,"notes":"soon"}' if is_new else '{"step":"en_route"}'
    return (identifier(at, entry), at, f"driver:{driver}", "progress", f"O{order}", f"p{entry}", "accepted", driver, "en_route",
            driver, details, int(is_new), None)
