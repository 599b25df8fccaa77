"""The queues of pushes: what has ended, and what waits while APNs cannot be reached."""

from collections.abc import Iterator

from .generator import Store
from .people import ANDROID
from .sizes import HOUR

COLUMNS = ("number, lane, notification_id, device_id, recipient, state, turn, due_at, attempts, reason, message_id, queued_at, "
           "expires_at, settled_at, collapse_key, round")
# The announcements that wait, with a job for each driver's phone, and the newest notifications of heavy drivers that do.
ANNOUNCEMENTS, OF_HEAVY = 2, 1_000


def fill(store: Store) -> None:
    store.add("push_jobs", COLUMNS, jobs(store))
    aged = store.aged
    # The newest announcement is being expanded: the gateway goes on after its start.
    store.add("push_audiences", "notification_id, after_owner, expanding",
              ((aged.newest_id(index), "driver:", int(index == aged.broadcasts[-1])) for index in aged.broadcasts))
    store.add("push_audiences", "notification_id, after_owner, expanding",
              ((aged.id_of_order(order, 3), "driver:", 0) for order in aged.old_broadcasts))


def jobs(store: Store) -> Iterator[tuple]:
    aged, now, number = store.aged, store.aged.now, 0
    states = ["queued"] * 90 + ["waiting"] * 9 + ["sending"]

    def job(id: str, driver: int, state: str, collapse: str | None = None) -> tuple:
        ended = state not in states
        at = now - HOUR
        return (number, "apns", id, aged.device(driver), f"driver:a{driver}", state, 0, now if state == "waiting" else None,
                int(state != "queued"), None, f"{number:08X}-1111-4000-8000-000000000000" if ended else None, at,
                now + 6 * HOUR, at if ended else None, collapse, 0)

    # A heavy driver's phone may get each of them once.
    for index in range(aged.newest - min(aged.newest, OF_HEAVY), aged.newest):
        if not aged.is_broadcast(index):
            number += 1
            yield job(aged.newest_id(index), index % aged.heavy, states[number % 100], f"order:N{index}")
    for index in aged.broadcasts[-1 - ANNOUNCEMENTS:-1]:
        for driver in range(aged.drivers):
            if driver % ANDROID != ANDROID - 1:
                number += 1
                yield job(aged.newest_id(index), driver, states[number % 100])
    first = max(0, aged.newest - OF_HEAVY - aged.count("ended_jobs"))
    for index in range(first, max(first, aged.newest - OF_HEAVY)):
        if not aged.is_broadcast(index):
            number += 1
            yield job(aged.newest_id(index), index % aged.heavy, "accepted", f"order:N{index}")
