"""How many rows of each kind a store of a year has, and where in the log they are."""

import hashlib
import time
from dataclasses import dataclass, field

DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
HOUR, DAY, YEAR = 3_600_000, 86_400_000, 365 * 86_400_000
# The parts of all rows; the rest belongs to orders. Tables with a row or two for each driver are not among them.
PARTS = {"unread": 0.1, "progress": 0.04, "notification_steps": 0.08, "deliveries": 0.03, "cursors": 0.01,
         "idempotency": 0.01, "batch_orders": 0.03, "batches": 0.003, "customers": 0.01, "routes": 0.01,
         "ended_jobs": 0.006, "codes": 0.002, "own_addresses": 0.005, "bookings": 0.005}
# An order is a row, and has four notifications, two entries in the audit log, two pushes with two names, and every
# fourth one a booking's channel and an entry in an inbox.
NOTIFICATIONS_PER_ORDER, ROWS_PER_ORDER = 4, 11.5
ORDERS_PER_BATCH = 10
# The announcements to all drivers: of the year, and of the last two days, each of which lives for a day.
OLD_BROADCASTS, NEW_BROADCASTS = 100, 40

# Three digits at once: a store has millions of ids.
TRIPLES = [a + b + c for a in DIGITS for b in DIGITS for c in DIGITS]


def identifier(milliseconds: int, number: int) -> str:
    """A ULID, for numbers of up to 30 bits."""
    return (f"{DIGITS[milliseconds >> 45]}{TRIPLES[milliseconds >> 30 & 32767]}{TRIPLES[milliseconds >> 15 & 32767]}"
            f"{TRIPLES[milliseconds & 32767]}000000{TRIPLES[number >> 15]}{TRIPLES[number & 32767]}0000")


def message_id(number: int) -> str:
    """The `apns-id` of a notification's push."""
    return f"{number:08X}-0000-4000-8000-{number:012X}"


@dataclass
class Aged:
    """The sizes of a store, and the places of what the steps look for. `heavy` drivers have `unread` unread notifications
    each, the newest of the log. The others have orders; each of them has an open one, the newest.
    """

    rows: int
    drivers: int
    heavy: int
    now: int = field(default_factory=lambda: int(time.time() * 1000))

    def __post_init__(self) -> None:
        self.start = self.now - YEAR
        rest = self.rows - sum(self.count(part) for part in PARTS)
        self.orders = int(rest / ROWS_PER_ORDER)
        self.spread = self.orders * NOTIFICATIONS_PER_ORDER  # the notifications of orders; their numbers come first
        self.gap = (YEAR - 2 * DAY) // self.orders
        self.unread = self.count("unread") // self.heavy
        self.newest = self.heavy * self.unread
        self.others = self.drivers - self.heavy
        self.approved = self.drivers - self.drivers // 16  # the drivers with an approved account; they come first
        self.customers = self.count("customers")

    def count(self, part: str) -> int:
        return max(1, int(self.rows * PARTS[part]))

    # MARK: The log

    def order_time(self, order: int) -> int:
        """When the order was assigned. Half a gap later it is assigned again."""
        return self.start + order * self.gap

    def id_of_order(self, order: int, place: int) -> str:
        """The id of one of its four notifications."""
        at = self.order_time(order) + (self.gap // 2 if place >= 2 else 0)
        return identifier(at, order * NOTIFICATIONS_PER_ORDER + place + 1)

    def newest_time(self, index: int) -> int:
        return self.now - 2 * DAY + (index + 1) * 2 * DAY // (self.newest + 1)

    def newest_id(self, index: int) -> str:
        return identifier(self.newest_time(index), self.spread + index + 1)

    def is_broadcast(self, index: int) -> bool:
        """Whether one of the newest notifications is for all drivers."""
        every = self.newest // NEW_BROADCASTS
        return index % every == every - 1

    @property
    def broadcasts(self) -> list[int]:
        """The places of the announcements among the newest notifications, oldest first."""
        return [index for index in range(self.newest) if self.is_broadcast(index)]

    @property
    def old_broadcasts(self) -> range:
        """The orders whose last notification is for all drivers."""
        return range(0, self.orders, max(1, self.orders // OLD_BROADCASTS))

    # MARK: What the steps look for

    @property
    def broadcast_id(self) -> str:
        return self.newest_id(self.broadcasts[-2])

    @property
    def old_broadcast_id(self) -> str:
        return self.id_of_order(self.old_broadcasts[-1], 3)

    def reported_ids(self, turn: int) -> dict[str, str]:
        """Ids on which a driver may report."""
        return {"the newest": self.newest_id(self.newest - 2 - turn), "an old one": self.id_of_order(turn, 0),
                "an apns-id": message_id(turn * NOTIFICATIONS_PER_ORDER + 1), "a stray one": f"stray-{turn}"}

    def logged_ids(self, turn: int) -> dict[str, str]:
        return {"the newest": self.newest_id(self.newest - 2 - turn), "an old one": self.id_of_order(turn, 0),
                "a broadcast": self.broadcast_id, "an old broadcast": self.old_broadcast_id}

    # MARK: Jobs and people

    def driver(self, order: int) -> int:
        return self.heavy + order % self.others

    def open_order(self, driver: int) -> str:
        """The code of the driver's open order."""
        first = self.orders - self.others
        return f"O{first + (driver - self.heavy - first) % self.others}"

    def open_route(self, driver: int) -> str:
        return f"D{driver}"

    def customer(self, order: int) -> str:
        """Of every fortieth order, it is one of a few customers, whose inboxes are long."""
        return str(self.customer_id(order // 40 % self.heavy if order % 40 == 0 else order % self.customers))

    def light_customer(self, turn: int) -> str:
        """One of the others, who has a notification."""
        return self.customer((self.orders // 40 - 1 - turn) * 40 + 8)

    @staticmethod
    def customer_id(number: int) -> int:
        return 10_000 + number

    def customer_phone(self, number: int) -> str:
        return f"+1555{number:07}"

    @staticmethod
    def account(driver: int) -> str:
        return f"{driver:024x}"

    @staticmethod
    def phone(driver: int) -> str:
        """Without the country code, as accounts have it."""
        return f"9{driver:09}"

    @staticmethod
    def batch(number: int) -> str:
        return f"b{number:023x}"

    @staticmethod
    def token(driver: int, device: int = 0) -> str:
        """The token of a driver's iPhone."""
        return hashlib.sha256(b"token %d %d" % (driver, device)).hexdigest()

    def device(self, driver: int, device: int = 0) -> str:
        """The id of its row."""
        return hashlib.sha256(f"apns:{self.token(driver, device)}".encode()).hexdigest()[:32]
