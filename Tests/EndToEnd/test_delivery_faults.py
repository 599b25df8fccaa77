"""Guaranteed delivery while something fails: the network, the disk, the process; and what a replay leaves
out.
"""

import contextlib
import json
import sqlite3
import struct

import pytest

from harness.api import Api
from harness.black_hole import BlackHole
from harness.fleet import SECTIONS, Caller, Fleet, report, unique_id, wait_until
from harness.full_disk import FileSizeLimit
from harness.gateway import Gateway
from harness.metrics import count_limited, scrape
from harness.owner import SUCCEEDED, Owner
from harness.wire import CLOSE, PONG, frame

HOUR = 3_600_000
UNANSWERED = 4201


class Side:
    """A gateway with one driver, an admin, and the driver's connections."""

    def __init__(self, gateway: Gateway, closing, subject: str):
        self.gateway, self.closing, self.fleet = gateway, closing, Fleet(gateway, closing)
        self.admin, self.driver = self.fleet.admin(), self.fleet.driver(subject)
        self.channel = f"private-driver-{subject}"

    def connect(self, through=None, driver: Caller | None = None, **settings) -> Owner:
        owner = driver or self.driver
        client = self.closing(Owner(through or self.gateway, owner, **settings))
        client.subscribe(f"private-driver-{owner.subject}")
        return client

    def assign(self, driver: Caller | None = None) -> str:
        code = unique_id("O")
        self.admin.assign(code, (driver or self.driver).subject)
        return code

    def deliveries(self) -> list[tuple]:
        """Whether each notification for the driver that was written is confirmed, in order."""
        return [confirmed for (confirmed,) in self.gateway.query(
            "SELECT confirmed_at IS NOT NULL FROM deliveries WHERE channel = ? ORDER BY sequence",
            f"driver-{self.driver.subject}")]


@pytest.fixture
def start(start_gateway, closing):
    """Starts a gateway with the database of the one before: `start(delivery={…}, server={…})`."""
    subject = unique_id("d")

    def started(delivery: dict | None = None, **settings) -> Side:
        sections = SECTIONS | ({"delivery": delivery} if delivery else {})
        return Side(start_gateway("kept", sections=sections, **settings), closing, subject)

    return started


# A network that swallows everything


def test_what_a_dead_connection_swallows_is_replayed_while_it_is_still_open(start, closing):
    side = start({"confirm_seconds": 1}, server={"activity_seconds": 4})
    api, hole = closing(Api(side.gateway)), closing(BlackHole(side.gateway))
    dead = side.connect(through=hole)
    dead.expect_jobs(side.assign())
    wait_until(lambda: side.deliveries() == [1], "the first is confirmed")
    hole.open()
    swallowed = side.assign()
    # The write succeeds; nothing confirms it. The gateway reports that after confirm_seconds.
    wait_until(lambda: len(side.deliveries()) == 2, "the second is written")
    assert side.deliveries() == [1, 0]
    new = side.connect()
    new.expect_jobs(swallowed)
    assert scrape(api).total("fleetwire_connected") == 2, "the dead connection is still open"
    wait_until(lambda: side.deliveries() == [1, 1], "the new connection confirms it")
    new.close()
    side.connect().expect_jobs(side.assign())
    data = hole.swallowed()
    assert swallowed.encode() in data
    assert struct.pack("!H", UNANSWERED) in data[-100:], data[-100:]


# A full disk


@pytest.fixture
def full(start):
    """Fills the disk under a gateway: `with full(side): …`."""
    @contextlib.contextmanager
    def filled(side: Side):
        disk = FileSizeLimit(side.gateway, side.gateway.database_path)
        disk.fill(0)
        try:
            yield
        finally:
            disk.free()

    return filled


def test_confirmations_while_the_disk_is_full_are_stored_later(start, full, closing):
    side = start()
    client = side.connect(silent=True)
    code = side.assign()
    client.expect_jobs(code)
    with full(side):
        side.admin.expect_error(503, "PUT", "/api/admin/orders/O1", {"customerName": "x"})
        client.send(frame(PONG, client.pings[-1]))
        # By then the gateway has read the pong, and has tried to store it.
        assert client.receive_until_pong() == []
        wait_until(lambda: side.admin.get("/readyz").status == 503, "the gateway says that it cannot write")
        assert side.deliveries() == []
    wait_until(lambda: side.deliveries() == [1], "the confirmation is stored when there is space")
    assert count_limited(side.admin, "receipts") == 0
    client.close()
    side.connect().expect_jobs(side.assign())


def test_new_owner_waits_while_the_disk_is_full(start, full, closing):
    side = start()
    missed, new = [side.assign() for _ in range(3)], closing(Owner(side.gateway, side.driver))
    with full(side):
        new.send_subscribe(side.channel)
        wait_until(lambda: side.admin.get("/readyz").status == 503, "the gateway has tried to store the cursor")
        assert new.receive_until_pong() == [], "no answer yet; the connection is served"
    assert new.receive()["event"] == SUCCEEDED
    new.expect_jobs(*missed)
    live = side.assign()
    new.expect_jobs(live)


def test_owner_who_comes_back_to_a_full_disk_loses_nothing(start, full, closing):
    """The owner is served at once if the store has nothing else to write, else when there is space."""
    side = start()
    side.connect().close()
    missed, client = [side.assign() for _ in range(3)], closing(Owner(side.gateway, side.driver))
    with full(side):
        side.admin.expect_error(503, "PUT", "/api/admin/orders/O1", {"customerName": "x"})
        client.send_subscribe(side.channel)
        side.admin.get_order(missed[0])
        assert side.deliveries() == []
    assert client.receive()["event"] == SUCCEEDED
    client.expect_jobs(*missed)
    wait_until(lambda: side.deliveries() == [1, 1, 1], "the confirmations are stored when there is space")
    client.close()
    side.connect().expect_jobs(side.assign())


def test_what_was_confirmed_while_the_disk_was_full_is_not_repeated(start, full, closing):
    """The next subscription waits until the confirmation can be stored."""
    side = start()
    side.connect().close()
    missed = [side.assign() for _ in range(3)]
    position = "SELECT position = (SELECT MAX(id) FROM notifications) FROM publication"
    wait_until(lambda: side.gateway.query(position) == [(1,)], "the store has nothing else to write")
    with full(side):
        side.admin.expect_error(503, "PUT", "/api/admin/orders/O1", {"customerName": "x"})
        client = side.connect()
        client.expect_jobs(*missed)
        client.close()
        again = closing(Owner(side.gateway, side.driver))
        again.send_subscribe(side.channel)
        assert again.receive_until_pong() == [], "served although its cursor is not known"
    assert again.receive()["event"] == SUCCEEDED
    again.expect_jobs(side.assign())


# A stop


def test_stop_stores_what_was_confirmed_just_before(start):
    side = start()
    client = side.connect()
    client.expect_jobs(*[side.assign() for _ in range(3)])
    side.gateway.terminate()
    side.gateway.wait()
    side = start()
    side.connect().expect_jobs(side.assign())


def test_stop_stores_no_confirmation_that_did_not_come(start):
    side = start()
    client, code = side.connect(silent=True), side.assign()
    client.expect_jobs(code)
    side.gateway.terminate()
    side.gateway.wait()
    start().connect().expect_jobs(code)


def test_stop_waits_for_a_store_that_is_busy(start):
    """Another program locks the store until the drain has begun: meanwhile confirmations wait."""
    side = start(server={"drain_seconds": 5})
    drivers = [side.fleet.driver() for _ in range(30)]
    clients = [side.connect(driver=driver) for driver in drivers]
    codes = [side.assign(driver) for driver in drivers]
    with contextlib.closing(sqlite3.connect(side.gateway.database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for client, code in zip(clients, codes):
            client.expect_jobs(code)
        side.gateway.terminate()
        assert clients[0].next_frame()[0] == CLOSE
        other.execute("ROLLBACK")
    side.gateway.wait()
    side = start()
    for driver in (side.fleet.driver(each.subject) for each in drivers):
        side.connect(driver=driver).expect_jobs(side.assign(driver))


# Gaps


def expect_gap(client: Owner, channel: str, count: int) -> dict:
    message = client.receive()
    assert (message["event"], message["channel"]) == ("fleetwire:gap", channel), message
    gap = json.loads(message["data"])
    assert gap.keys() == {"channel", "count", "from", "to"} and gap["count"] == count and gap["channel"] == channel, gap
    assert gap["from"] <= gap["to"]
    return gap


def test_more_than_backlog_limit_are_announced_as_a_gap(start):
    side = start({"backlog_limit": 3})
    side.connect().close()
    codes = [side.assign() for _ in range(8)]
    silent = side.connect(silent=True)
    gap = expect_gap(silent, side.channel, 5)
    times = side.gateway.query("SELECT created_at FROM notifications WHERE channel = ? ORDER BY sequence",
                               f"driver-{side.driver.subject}")
    wall = side.gateway.query("SELECT strftime('%Y-%m-%dT%H:%M:%f', ? / 1000.0, 'unixepoch') || 'Z'", times[0][0])
    assert gap["from"] == wall[0][0]
    silent.expect_jobs(*codes[5:])
    silent.close()
    client = side.connect()
    assert expect_gap(client, side.channel, 5) == gap, "its ping was not answered"
    client.expect_jobs(*codes[5:])
    client.close()
    side.connect().expect_jobs(side.assign())


def test_acknowledged_notifications_count_neither_for_the_gap_nor_for_the_limit(start):
    side = start({"backlog_limit": 3})
    side.connect().close()
    codes, ids = [], []
    for _ in range(6):
        codes.append(unique_id("O"))
        ids.append(side.admin.assign(codes[-1], side.driver.subject)["data"]["notificationIds"])
    own = [side.gateway.query("SELECT id FROM notifications WHERE channel = ? ORDER BY sequence LIMIT 1 OFFSET ?",
                              f"driver-{side.driver.subject}", index)[0][0] for index in (0, 5)]
    assert own[0] in ids[0] and own[1] in ids[5]
    for each in own:
        report(side.driver, each)
    client = side.connect()
    expect_gap(client, side.channel, 1)
    client.expect_jobs(*codes[2:5])


def test_notifications_older_than_backlog_hours_are_a_gap(start):
    """Nobody changes the machine's clock: the test makes the stored notifications older."""
    side = start()
    side.connect().close()
    codes = [side.assign() for _ in range(5)]
    side.gateway.stop()
    with contextlib.closing(sqlite3.connect(side.gateway.database_path)) as database, database:
        for hours, sequences in ((49, (1, 2)), (47, (3,))):
            for sequence in sequences:
                database.execute("UPDATE notifications SET created_at = created_at - ? WHERE channel = ? AND sequence = ?",
                                 (hours * HOUR, f"driver-{side.driver.subject}", sequence))
    side = start()
    client = side.connect()
    expect_gap(client, side.channel, 2)
    client.expect_jobs(*codes[2:])
    client.close()
    side.connect().expect_jobs(side.assign())


def test_who_had_never_subscribed_has_missed_nothing_that_is_too_old(start):
    """A day later, what is younger comes without a gap; what the limit leaves out is one for everybody."""
    side = start()
    codes = [side.assign() for _ in range(6)]
    side.gateway.stop()
    with contextlib.closing(sqlite3.connect(side.gateway.database_path)) as database, database:
        database.execute("UPDATE notifications SET created_at = created_at - ? WHERE channel = ? AND sequence <= 2",
                         (49 * HOUR, f"driver-{side.driver.subject}"))
    side = start({"backlog_limit": 3})
    limited = side.connect(silent=True)
    expect_gap(limited, side.channel, 1)
    limited.expect_jobs(*codes[3:])
    limited.close()


# Erasure


def test_erased_driver_gets_nothing_again(start):
    side = start()
    client = side.connect(silent=True)
    client.expect_jobs(side.assign())
    client.close()
    side.assign()
    side.admin.expect_ok("DELETE", f"/api/admin/people/driver/{side.driver.subject}")
    for _ in range(2):
        client = side.connect(silent=True)
        assert client.receive_until_pong() == []
        other = side.connect(device="new", silent=True)
        assert other.receive_until_pong() == []
        for each in (client, other):
            each.close()
        side.gateway.stop()
        side = start()
    side.connect().expect_jobs(side.assign())
