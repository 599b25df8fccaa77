"""Retention: devices not seen for 270 days, pushes and notifications after `store.retention_days`,
and erased users.

The tests edit the store between two starts instead of waiting.
"""

import contextlib
import sqlite3

from harness.gateway import needs_file
from harness.fleet import wait_until
from harness.push.push_fleet import PushFleet

# A round of retention is a minute after the one before it.
TIMING_DIVISOR = 10
DAY = 86_400_000
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def edit(fleet: PushFleet, *statements: tuple) -> None:
    """Edits the store; the gateway must have stopped."""
    with contextlib.closing(sqlite3.connect(fleet.gateway.database_path)) as database, database:
        for sql, values in statements:
            assert database.execute(sql, values).rowcount > 0, sql


def earlier(ulid: str, milliseconds: int) -> str:
    """Returns the ULID with an earlier timestamp: its first ten digits are the time."""
    time = sum(DIGITS.index(digit) << 5 * place
               for place, digit in enumerate(reversed(ulid[:10]))) - milliseconds
    return "".join(DIGITS[time >> 5 * place & 31] for place in reversed(range(10))) + ulid[10:]


def test_device_not_seen_for_270_days_is_removed(start_push_fleet):
    fleet = start_push_fleet("kept")
    stale, old, recent = fleet.ios(), fleet.android(), fleet.ios()
    fleet.warm_up(stale, old, recent)
    fleet.gateway.stop()
    edit(
        fleet,
        *[
            ("UPDATE devices SET last_seen_at = last_seen_at - ? WHERE owner = ?",
             (days * DAY, f"driver:{device.owner.subject}"))
            for device, days in ((stale, 271), (old, 269))])
    fleet = start_push_fleet("kept")
    fleet.wait_for_metric("push_token_removals_total", 1, reason="stale")
    entry = fleet.wait_for_log_entry("device_removed")
    assert ((entry["owner"], entry["reason"]) == (f"driver:{stale.owner.subject}", "stale")
            and stale.token not in fleet.gateway.log())
    assert sorted(fleet.gateway.query("SELECT owner FROM devices")) == sorted(
        (f"driver:{device.owner.subject}",) for device in (old, recent))
    fleet.expect_not_pushed(fleet.announce(stale))
    for device in (old, recent):
        device.next(fleet.announce(device))


def test_ended_pushes_and_their_notifications_are_deleted(start_push_fleet):
    fleet = start_push_fleet("kept")
    device = fleet.ios()
    old, recent = fleet.announce(device), fleet.announce(device)
    for notification in (old, recent):
        fleet.wait_for_accepted(notification)
        device.next(notification)
    fleet.gateway.stop()
    older, age = earlier(old, 31 * DAY), 31 * DAY
    # Its push refers to it by its number, once the push has left the queue.
    edit(fleet, ("UPDATE notifications SET id = ?, created_at = created_at - ? WHERE id = ?", (older, age, old)))
    fleet = start_push_fleet("kept")
    wait_until(
        lambda: fleet.gateway.query("SELECT id FROM notifications WHERE id IN (?, ?)", older,
                                    recent) == [(recent,)],
        "the old notification is deleted")
    wait_until(lambda: fleet.gateway.query("SELECT notification_id FROM push_jobs") == [(recent,)],
               "its push is deleted")
    assert fleet.dispatcher.request("GET", f"/api/ops/notifications/{older}").status == 404
    assert len(fleet.wait_for_accepted(recent)) == 1
    device.next(fleet.announce(device))


@needs_file
def test_erased_user_is_in_no_database_file(start_push_fleet):
    fleet = start_push_fleet("kept")
    customer, driver, name = fleet.customer(), fleet.driver(), "Zebedee Quixworth"
    code, _ = fleet.order(driver, customerId=customer.subject, customerName=name,
                          pickupAddress="9 Quixworth Mews")
    fleet.announce(customer, message=f"Hello {name}")
    assert fleet.dispatcher.request("DELETE",
                                    f"/api/admin/people/customer/{customer.subject}").status == 200

    def files() -> bytes:
        return b"".join(file.read_bytes()
                        for file in (fleet.gateway.config.parent / "var").glob("fleetwire.db*"))

    wait_until(lambda: name.encode() not in files(), "the name is erased", seconds=30)
    assert b"9 Quixworth Mews" in files(), "the driver of an open order still needs the address"
    fleet.dispatcher.expect_ok("POST", f"/api/admin/orders/{code}/cancel-enhanced", {})
    wait_until(lambda: b"Quixworth" not in files(),
               "the address is erased once the order has ended", seconds=90)
