"""What the gateway does by itself: each task ends, and nobody has to wait for it."""

import time

from ..gateway import Gateway
from ..metrics import Metrics
from .jobs import IDLE
from .sizes import Aged
from .world import KEYS, People

# What is left of each task; 0 when it has ended.
LEFT = {
    "read marks": "SELECT COUNT(*) FROM read_marks",
    # An erasure whose person has an open job waits for its end, with this cursor.
    "erasures": "SELECT COUNT(*) FROM erasures WHERE cursor <> '~'",
    "the push jobs of announcements": "SELECT COUNT(*) FROM push_audiences WHERE expanding = 1",
    "sealing with the new key": f"SELECT COUNT(*) FROM devices WHERE key_id <> '{KEYS[0]['id']}'",
    "taking over pushes": "SELECT COUNT(*) FROM main.push_jobs WHERE state = 'sending' AND queued_at < {started}",
    "moving ended pushes": "SELECT COUNT(*) FROM main.push_jobs WHERE settled_at < {started}",
    "ending idle orders": "SELECT COUNT(*) FROM orders WHERE code IN ({idle}) AND status NOT IN ('completed', 'cancelled')"}
# The lane of an outage has a push on its way.
ON_THE_WAY = {"taking over pushes": 1}


def unfinished(gateway: Gateway, aged: Aged, started: int) -> dict[str, int]:
    """What is left of the tasks that have not ended. `started` is when the gateway was, in milliseconds."""
    idle = ", ".join(f"'O{order}'" for order in range(IDLE))
    left = {task: gateway.query(sql.format(started=started, idle=idle))[0][0] for task, sql in LEFT.items()}
    return {task: count for task, count in left.items() if count > ON_THE_WAY.get(task, 0)}


def assign(people: People, count: int) -> list[float]:
    """Assigns orders, and returns the seconds that each took."""
    times = []
    for each in range(count):
        begin = time.monotonic()
        people.admin.order(f"P{time.monotonic_ns()}", "assign-driver", driverId=f"a{each % people.aged.drivers}")
        times.append(time.monotonic() - begin)
    return times


class Tasks:
    """Watches the tasks of a gateway until they have ended."""

    def __init__(self, people: People, started: int):
        self.people, self.started, self.begin = people, started, time.monotonic()
        # Of each task that was seen at work, the seconds after which it had ended.
        self.ended: dict[str, float] = {}
        self.times: list[float] = []

    def assign_until_done(self, seconds: float) -> list[str]:
        """Assigns orders until the tasks have ended. Returns what has not ended in time."""
        seen: set[str] = set()
        while left := unfinished(self.people.gateway, self.people.aged, self.started):
            elapsed = time.monotonic() - self.begin
            seen |= left.keys()
            self.ended |= {task: elapsed for task in seen - left.keys() - self.ended.keys()}
            if elapsed > seconds:
                return [f"{task} has not ended within {seconds:.0f} s: {count} left" for task, count in left.items()]
            self.times += assign(self.people, 20)
        self.ended |= {task: time.monotonic() - self.begin for task in seen - self.ended.keys()}
        return []


def metrics(people: People) -> Metrics:
    return Metrics(people.ops.request("GET", "/metrics").text)
