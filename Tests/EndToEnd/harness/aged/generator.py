"""Fills a store that the gateway has created, by SQL: through the API it takes days."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from .sizes import Aged

# Tables that the generator leaves empty, and why that misses nothing.
EMPTY = {"write_probe": "has a row only while the gateway finds out whether it can write",
         "commit_marks": "only of a store on PostgreSQL",
         "cluster_head": "only of a cluster; harness/aged/cluster.py has one",
         "cluster_log": "only of a cluster; harness/aged/cluster.py has one",
         "cluster_nodes": "only of a cluster; harness/aged/cluster.py has one",
         "read_marks": "has a row while a task goes on; the run stops the gateway in the middle of it",
         "erasures": "has a row while a task goes on; the run stops the gateway in the middle of it"}


class Store:
    """The database that is filled."""

    def __init__(self, database: sqlite3.Connection, aged: Aged):
        self.database, self.aged = database, aged
        # The last sequence number of each channel, and how many of its notifications nobody has read.
        self.last: dict[str, int] = {}
        self.unread: dict[str, int] = {}

    def add(self, table: str, columns: str, rows: Iterable[tuple]) -> None:
        marks = ", ".join("?" * len(columns.split(",")))
        self.database.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)

    def next(self, channel: str, is_read: bool) -> int:
        """Returns the next sequence number of a channel."""
        self.last[channel] = sequence = self.last.get(channel, 0) + 1
        if not is_read:
            self.unread[channel] = self.unread.get(channel, 0) + 1
        return sequence


def counts(database: sqlite3.Connection) -> dict[str, int]:
    """The number of rows of each table."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall()
    return {name: database.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name, in tables}


def forgotten(rows: dict[str, int]) -> list[str]:
    """What is wrong with the numbers of rows: a table that a later version adds must be filled, too."""
    return [f"the generator leaves {name} empty" for name, count in rows.items() if not count and name not in EMPTY] + [
        f"EMPTY names {name}, which {'has rows' if name in rows else 'does not exist'}" for name in EMPTY
        if rows.get(name) != 0]


def fill(path: Path, aged: Aged) -> tuple[int, float, list[str]]:
    """Returns the number of rows, the seconds that it took, and what is wrong."""
    from . import batches, jobs, log, people, phones, pushes
    begin = time.monotonic()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        for setting in ("synchronous = OFF", "cache_size = -400000", "temp_store = MEMORY"):
            database.execute(f"PRAGMA {setting}")
        store = Store(database, aged)
        for part in (log, jobs, batches, people, phones, pushes):
            database.execute("BEGIN")
            part.fill(store)
            database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # Else the gateway's first commits wait until the kernel has written all of this.
        with path.open("rb") as file:
            os.fsync(file.fileno())
        seconds = time.monotonic() - begin
        rows = counts(database)
    return sum(rows.values()), seconds, forgotten(rows)
