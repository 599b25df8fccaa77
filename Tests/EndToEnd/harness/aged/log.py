"""The log: notifications, and what became of each."""

import hashlib
from collections.abc import Iterator

from .generator import Store
from .sizes import DAY, HOUR, NOTIFICATIONS_PER_ORDER, message_id

COLUMNS = ("number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, expires_at, collapse_key, "
           "read_at, written_at, confirmed_at, acknowledged_at, unconfirmed, device")
# As the gateway packs them: Sources/Fleet/Fleet/Database/Packing.
ADMIN, ASSIGN, ANNOUNCE, ORDER, UUID, DIGITS = "\x03ada", "\x07", "\x0c", "\x01", b"\x02", b"\x03"
# Every so many notifications of orders, two devices have got it.
TWO_DEVICES = 8


def fill(store: Store) -> None:
    store.add("notifications", COLUMNS, of_orders(store))
    store.add("notifications", COLUMNS, newest(store))
    sequences(store)
    pushes(store)
    deliveries(store)
    steps(store)
    inboxes(store)
    positions(store)


def of_orders(store: Store) -> Iterator[tuple]:
    """Four notifications of each order: two of the assignment, one of the next one, and one later. Every fourth order has a
    customer who follows it.
    """
    aged, broadcasts = store.aged, set(store.aged.old_broadcasts)
    for order in range(aged.orders):
        driver, other = aged.driver(order), aged.driver(order + 1)
        at = aged.order_time(order)
        last = ("drivers-channel" if order in broadcasts else
                f"customer-{aged.customer(order)}" if order % 8 == 0 else f"driver-a{other}")
        data = (f'{{"bookingId":"B{order}","customerName":"Customer {aged.customer(order)}",'
                f'"pickupAddress":"{order} High Street","dropoffAddress":"{order} Low Road"}}').encode()
        for place, channel in enumerate((f"driver-a{driver}", f"booking-R{order}" if order % 4 == 0 else f"driver-a{driver}",
                                         f"driver-a{other}", last)):
            is_read = (driver if place < 2 else other) % 2 == 0
            created = at if place < 2 else at + aged.gap // 2
            number = order * NOTIFICATIONS_PER_ORDER + place + 1
            yield (number, aged.id_of_order(order, place), channel, store.next(channel, is_read), "job-assigned", data,
                   b"c%d-%d" % (order, place // 2), ADMIN, ASSIGN, created, created + HOUR, f"{ORDER}O{order}",
                   created + 60_000 if is_read else None, created + 5, created + 9, created + 9, 0,
                   None if channel == "drivers-channel" or number % TWO_DEVICES == 0 else b"phone")


def newest(store: Store) -> Iterator[tuple]:
    """Those of the last two days: drivers have confirmed only the announcements to all of them."""
    aged = store.aged
    for index in range(aged.newest):
        number, at = aged.spread + index + 1, aged.newest_time(index)
        if aged.is_broadcast(index):
            yield (number, aged.newest_id(index), "drivers-channel", store.next("drivers-channel", True), "driver-approved",
                   b'{"message":"Hello all"}', b"n%d" % index, ADMIN, ANNOUNCE, at, at + DAY, None, None, at + 5, at + 9, at + 9,
                   0, None)
            continue
        channel = f"driver-a{index % aged.heavy}"
        data = f'{{"bookingId":"N{index}","pickupAddress":"{index} High Street","dropoffAddress":"{index} Low Road"}}'
        yield (number, aged.newest_id(index), channel, store.next(channel, False), "job-assigned", data.encode(),
               b"n%d" % index, ADMIN, ASSIGN, at, at + HOUR, f"{ORDER}N{index}", None, None, None, None, 1, None)


def sequences(store: Store) -> None:
    def rows() -> Iterator[tuple]:
        for channel, last in store.last.items():
            unread = store.unread.get(channel, 0)
            passing = channel.startswith("booking-")
            yield channel, last, int(passing), store.aged.now - DAY, unread, 0 if passing else unread

    store.add("channel_sequences", "channel, last, passing, used_at, unread, unmarked", rows())


def digest(text: str) -> int:
    return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 2) << 1


def pushes(store: Store) -> None:
    """The pushes of an order's two assignments. Of the first one, phones know the ids."""
    aged = store.aged
    devices = [DIGITS + bytes.fromhex(aged.device(driver)) for driver in range(aged.drivers)]

    def outcomes() -> Iterator[tuple]:
        for order in range(aged.orders):
            number = order * NOTIFICATIONS_PER_ORDER + 1
            yield (number, devices[aged.driver(order)], 0, "", 10, 1, None,
                   UUID + bytes.fromhex(message_id(number).replace("-", "")), 0, 900)
            yield number + 2, devices[aged.driver(order + 1)], 0, "", 0, 1, "Unregistered", None, 0, 900

    store.add("push_outcomes", "number, device, round, recipient, state, attempts, reason, message, queued, settled", outcomes())
    names = {}
    for order in range(aged.orders):
        number = order * NOTIFICATIONS_PER_ORDER + 1
        names[digest(f"message:{message_id(number)}")] = number
        names[digest(f"subject:driver:a{aged.driver(order)} order:O{order}") + 1] = number
    store.add("push_names", "name, number", sorted(names.items()))


def deliveries(store: Store) -> None:
    """Of every eighth notification those of two devices, and of the announcements that have not expired all drivers'."""
    aged = store.aged
    most = aged.count("deliveries") // 2 * TWO_DEVICES

    def of_orders() -> Iterator[tuple]:
        first = max(TWO_DEVICES, (aged.spread - most) // TWO_DEVICES * TWO_DEVICES)
        broadcasts = {order * NOTIFICATIONS_PER_ORDER + 4 for order in aged.old_broadcasts}
        for number in range(first, aged.spread + 1, TWO_DEVICES):
            if number not in broadcasts:
                at = aged.order_time((number - 1) // NOTIFICATIONS_PER_ORDER) + aged.gap // 2
                for device in (b"phone", b"tablet"):
                    yield number, "", device, at + 5, at + 9

    columns = "number, owner, device, written_at, confirmed_at"
    store.add("deliveries", columns, of_orders())
    # The last one is being told. Of the drivers, every fourth one was away.
    store.add("deliveries", columns, (
        (aged.spread + index + 1, owner, b"phone", at + 5, at + 9)
        for index in aged.broadcasts[:-1] if (at := aged.newest_time(index)) > aged.now - DAY
        for driver, owner in sorted((driver, f"driver:a{driver}") for driver in range(aged.drivers)) if driver % 4))


def steps(store: Store) -> None:
    """Half of the steps are of announcements, those of the newest ones, and half of orders."""
    aged, most = store.aged, store.aged.count("notification_steps") // 2
    columns = "notification_id, step, subject, at, told_at, detail, stray"

    def of_broadcasts() -> Iterator[tuple]:
        announced = [(aged.newest_id(index), aged.newest_time(index)) for index in aged.broadcasts[:-1]]
        announced = [(aged.id_of_order(order, 3), aged.order_time(order)) for order in aged.old_broadcasts] + announced
        for id, at in announced[-max(1, most // aged.drivers):]:
            for driver in range(0, aged.drivers, 2):
                for step in ("action_view_now", "received"):
                    yield id, step, f"driver:a{driver}", at + 900, None, '{"type":"DRIVER_APPROVED"}', 0

    store.add("notification_steps", columns, of_broadcasts())
    every = max(1, aged.orders // most)
    store.add("notification_steps", columns, (
        (aged.id_of_order(order, 0), "received", f"driver:a{aged.driver(order)}", aged.order_time(order) + 900,
         "2026-03-01T10:00:00.000Z", '{"type":"new_job"}', 0) for order in range(0, aged.orders, every)))
    store.add("notification_steps", columns, (
        (f"lost-{number}", "received", f"driver:a{number % aged.drivers}", aged.now - DAY, "2026-03-01T10:00:00.000Z",
         '{"type":"new_job"}', 1) for number in range(most // 100)))


def inboxes(store: Store) -> None:
    """What was pushed to customers of what they follow."""
    aged = store.aged
    store.add("inbox_entries", "recipient, notification_id, after_sequence, lifetime_end, read_at", (
        (f"customer:{aged.customer(order)}", aged.id_of_order(order, 1), 0, aged.order_time(order) + HOUR,
         None if order % 80 else aged.order_time(order) + 60_000) for order in range(0, aged.orders, 4)))


def positions(store: Store) -> None:
    """Everything is published, but some notifications that still wait for a subscriber."""
    aged = store.aged
    for table in ("publication", "confirmation_checks"):
        store.database.execute(f"UPDATE {table} SET position = (SELECT MAX(id) FROM notifications)")
    store.add("unpublished", "notification_id", ((aged.newest_id(aged.newest - 1 - each),) for each in range(20)))
