"""A clock that jumps forward: nothing is deleted by age until an operator confirms the clock.

The tests do not change the machine's clock. They edit the saved one, between two starts of the gateway.
"""

import contextlib
import sqlite3
import time

import pytest

from harness.aged.sizes import identifier
from harness.fleet import SETTINGS as FLEET, Fleet, unique_id, wait_until
from harness.gateway import Gateway, check_log, needs_file, run

DAY = 86_400_000


@pytest.fixture
def start(start_gateway, tmp_path):
    """Starts a gateway with the database of the one before."""
    def start() -> Gateway:
        store = {"path": str(tmp_path / "store/fleetwire.db")}
        return start_gateway("kept", sections=FLEET["sections"] | {"store": store})
    return start


@pytest.fixture
def jumped(start, tmp_path, closing):
    """Makes a database whose clock is 300 days behind the machine's, with rows of 60 days ago."""
    gateway = start()
    admin, code = Fleet(gateway, closing).admin(), unique_id("o")
    admin.assign(code, "d1")
    admin.order(code, "cancel-enhanced")
    gateway.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "store/fleetwire.db")) as database, database:
        database.execute("UPDATE clock_readings SET wall = wall - ?", (300 * DAY,))
        for table, column in (("notifications", "created_at"), ("audit", "at"), ("orders", "updated_at")):
            database.execute(f"UPDATE {table} SET {column} = {column} - ?", (60 * DAY,))
        # The age of a notification is that of its id, whose first ten characters are a time.
        time_of_id = identifier(int(time.time() * 1_000) - 60 * DAY, 0)[:10]
        database.execute("UPDATE notifications SET id = ? || SUBSTR(id, 11)", (time_of_id,))


def old_rows(tmp_path) -> int:
    """Counts the rows that retention deletes if it trusts the clock."""
    with contextlib.closing(
            sqlite3.connect(f"file:{tmp_path}/store/fleetwire.db?mode=ro", uri=True)) as database:
        return sum(database.execute(
            f"SELECT COUNT(*) FROM {table} WHERE {column} < 1000 * (strftime('%s') - 50 * 86400)").fetchone()[0]
            for table, column in (("notifications", "created_at"), ("audit", "at"), ("orders", "updated_at")))


def log_entries(gateway: Gateway, event: str) -> list[dict]:
    return [entry for entry in check_log(gateway.log()) if entry["event"] == event]


@needs_file
def test_jump_while_stopped_deletes_nothing_until_confirmed(jumped, start, tmp_path, closing):
    before = old_rows(tmp_path)
    assert before > 5
    gateway = start()
    admin = Fleet(gateway, closing).admin()
    # Retention gets its turns between commands.
    for _ in range(100):
        admin.assign(unique_id("o"), "d1")
    assert old_rows(tmp_path) == before
    entry, = log_entries(gateway, "clock_jumped")
    assert entry["level"] == "error" and entry["ahead_seconds"] in range(299 * 86400, 301 * 86400)
    assert "trust-clock" in entry["hint"]
    result = run("trust-clock", "--config", gateway.config)
    assert result.returncode == 0 and result.stdout.startswith("Confirmed that it is 20"), result
    wait_until(lambda: old_rows(tmp_path) == 0, "retention deletes again")
    entry, = log_entries(gateway, "clock_trusted")
    assert entry["reason"] == "confirmed"
    gateway.stop()
    gateway = start()
    gateway.stop()
    assert log_entries(gateway, "clock_jumped") == [], "the confirmation survives a restart"


@needs_file
def test_jump_is_confirmed_while_the_gateway_is_stopped(jumped, start, tmp_path):
    gateway = start()
    gateway.stop()
    assert run("trust-clock", "--config", gateway.config).returncode == 0
    gateway = start()
    wait_until(lambda: old_rows(tmp_path) == 0, "retention deletes")
    assert log_entries(gateway, "clock_trusted")


@needs_file
def test_confirmation_without_a_store_fails(config, tmp_path):
    result = run("trust-clock", "--config", config(store={"path": str(tmp_path / "none.db")}))
    assert result.returncode == 1 and "cannot open" in result.stderr and result.stdout == ""
    assert not (tmp_path / "none.db").exists()


def test_even_clock_causes_no_alarm(start):
    for _ in range(2):
        gateway = start()
        gateway.stop()
        assert "clock_" not in gateway.log()
