"""Drivers with very many unread notifications mark all as read."""

import contextlib
import sqlite3
import threading
import time

import pytest

from harness.fleet import SECTIONS, Caller, Fleet, wait_until

DRIVERS, UNREAD = 50, 10_000
DATA = '{"bookingId":"b","customerName":"Some Name","pickupAddress":"1 High Street","dropoffAddress":"2 Low Road"}'
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def identifier(milliseconds: int, number: int) -> str:
    """A ULID."""
    value = milliseconds << 80 | number
    return "".join(DIGITS[value >> shift & 31] for shift in range(125, -1, -5))


def fill(path, drivers: int, unread: int) -> None:
    """Stores unread notifications of the drivers `u0`, `u1` and so on, by SQL: through the API it takes an hour."""
    now = int(time.time() * 1000)
    start = now - 11 * 86_400_000
    count = drivers * unread
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO notifications (id, channel, sequence, event, data, correlation_id, actor, action, created_at, "
            "expires_at, collapse_key, unconfirmed) VALUES (?, ?, ?, 'job-assigned', ?, 'c', 'admin:a', 'x', ?, ?, 'k', 0)",
            ((identifier(start + i * 10 // drivers, i), f"driver-u{i % drivers}", i // drivers + 1, DATA,
              start + i * 10 // drivers, now - 1) for i in range(count)))
        database.executemany(
            "INSERT INTO channel_sequences (channel, last, passing, used_at, unread, unmarked) VALUES (?, ?, 0, ?, ?, ?)",
            ((f"driver-u{i}", unread, now, unread, unread) for i in range(drivers)))
        for table in ("publication", "confirmation_checks"):
            database.execute(f"UPDATE {table} SET position = (SELECT MAX(id) FROM notifications)")
        database.execute("COMMIT")


@pytest.fixture
def filled(start_gateway, closing):
    """Starts a gateway on a store with so many drivers and unread notifications of each."""
    def start(drivers: int, unread: int) -> Fleet:
        first = start_gateway("filled", sections=SECTIONS)
        path = first.database_path
        first.stop()
        fill(path, drivers, unread)
        return Fleet(start_gateway("filled", sections=SECTIONS), closing)

    return start


def assign(dispatcher: Caller, order: str, driver: str) -> str:
    """Returns the id of the driver's notification."""
    answer = dispatcher.expect_ok("POST", f"/api/admin/orders/{order}/assign-driver", {"driverId": driver})
    return answer["data"]["notificationIds"][0]


def unwritten(gateway) -> int:
    return gateway.query("SELECT COUNT(*) FROM notifications WHERE channel LIKE 'driver-u%' AND read_at IS NULL")[0][0]


def test_dispatchers_do_not_wait_while_a_fleet_marks_all_as_read(filled):
    """Fifty drivers with 10,000 unread notifications each tap at once. Everybody is answered, dispatchers are served
    meanwhile, and the liveness probe never fails.
    """
    fleet = filled(DRIVERS, UNREAD)
    gateway, dispatcher, answers = fleet.gateway, fleet.admin(), {}

    def tap(number: int, driver: Caller) -> None:
        answers[number] = driver.post("/api/driver/notifications/read", {"all": True})

    threads = [threading.Thread(target=tap, args=[number, fleet.driver(f"u{number}")]) for number in range(DRIVERS)]
    for thread in threads:
        thread.start()
    waits, end = [], time.monotonic() + 10
    with contextlib.closing(Caller(gateway)) as probe:
        while time.monotonic() < end:
            sent = time.monotonic()
            assign(dispatcher, f"W{len(waits)}", "zz")
            waits.append(time.monotonic() - sent)
            assert probe.call("GET", "/healthz").status == 200
    for thread in threads:
        thread.join()
    assert {(answer.status, answer.json()["data"]["read"]) for answer in answers.values()} == {(200, UNREAD)}
    assert max(waits) < 1
    assert "thread_stalled" not in gateway.log()
    assert unwritten(gateway) < DRIVERS * UNREAD


def test_a_killed_gateway_goes_on_writing_the_marks(filled, start_gateway, closing):
    drivers, unread = 3, 20_000
    fleet = filled(drivers, unread)
    for number in range(drivers):
        driver = fleet.driver(f"u{number}")
        answer = driver.expect_ok("POST", "/api/driver/notifications/read", {"all": True})
        assert answer["data"]["read"] == unread
        listed = driver.expect_ok("GET", "/api/driver/notifications?limit=200")["data"]["notifications"]
        assert all(each["readAt"] for each in listed)
    late = assign(fleet.admin(), "late", "u0")
    wait_until(lambda: unwritten(fleet.gateway) < drivers * unread, "the first marks")
    fleet.gateway.kill()
    left = unwritten(fleet.gateway)
    assert left > 1, "all marks were written before the gateway was killed"
    fleet = Fleet(start_gateway("filled", sections=SECTIONS), closing)
    listed = fleet.driver("u0").expect_ok("GET", "/api/driver/notifications?limit=200")["data"]["notifications"]
    assert [each["id"] for each in listed if not each["readAt"]] == [late]
    wait_until(lambda: unwritten(fleet.gateway) == 1, "all marks", seconds=60)
    assert fleet.gateway.query("SELECT COUNT(*) FROM read_marks") == [(0,)]
    assert fleet.gateway.query(
        "SELECT channel, unread, unmarked FROM channel_sequences WHERE channel LIKE 'driver-u%' ORDER BY 1"
    ) == [("driver-u0", 1, 1), ("driver-u1", 0, 0), ("driver-u2", 0, 0)]
    assert len(fleet.gateway.query(
        "SELECT DISTINCT channel, read_at FROM notifications WHERE channel LIKE 'driver-u%' AND read_at IS NOT NULL"
    )) == drivers
