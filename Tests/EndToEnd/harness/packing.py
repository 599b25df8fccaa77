"""Shows the store's packed tables as they are meant: see Sources/Fleet/Fleet/Database/Packing and the gateway's schema, version 21."""

import json
import pathlib
import re
import sqlite3

SOURCES = pathlib.Path(__file__).resolve().parents[3] / "Sources" / "Fleet" / "Fleet" / "Database" / "Packing"
SHORT = [*range(0x03, 0x09), 0x0B, 0x0C, *range(0x0E, 0x20)]
STATES, LANES = ["failed", "accepted", "expired", "cancelled"], ["apns", "apns-sandbox", "fcm"]


def words(file: str, name: str) -> list[str]:
    text = (SOURCES / file).read_text()
    listed = re.search(rf"static let {name} = \[(.*?)\]", text, re.DOTALL)
    return re.findall(r'"([^"]*)"', listed.group(1))


FIELDS, TEXTS = words("PackedData+Words.swift", "fields"), words("PackedData+Words.swift", "texts")
BEGINNINGS = words("PackedWord.swift", "beginnings")


def unpacked_text(stored) -> str | None:
    if stored is None or isinstance(stored, str):
        return stored
    if not stored or stored[0] > 4:
        return stored.decode()
    form, rest = stored[0], stored[1:]
    if form == 0:
        return rest.decode()
    if form == 4:
        return f"0:{int.from_bytes(rest[:8], 'big'):016}%{rest[8:].hex()}"
    digits = rest.hex()
    if form == 3:
        return digits
    uuid = "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
    return uuid.upper() if form == 2 else uuid


def unpacked_word(stored: str | None) -> str | None:
    if not stored or not 1 <= ord(stored[0]) <= len(BEGINNINGS):
        return stored
    return BEGINNINGS[ord(stored[0]) - 1] + stored[1:]


def unpacked_data(stored, id: str, correlation) -> str:
    if isinstance(stored, str) or stored[:1] != b"\x01":
        return stored if isinstance(stored, str) else stored.decode()
    data, position = bytearray(b"{"), 1
    while position < len(stored):
        byte = stored[position]
        position += 1
        if byte == 0x02:
            ids = {"notificationId": id, "correlationId": unpacked_text(correlation)}
            data += b"," + json.dumps(ids, separators=(",", ":"), ensure_ascii=False).encode()[1:]
        elif 0xF8 <= byte <= 0xFC:
            word = (TEXTS if byte == 0xFC else FIELDS)[stored[position]]
            form = ['","{}":"', '"{}":', ',"{}":"', '","{}":', "{}"][byte - 0xF8]
            data += form.format(word).encode()
            position += 1
        elif byte in SHORT:
            data += f'","{FIELDS[SHORT.index(byte)]}":"'.encode()
        else:
            data.append(byte)
    return data.decode()


VIEWS = """
CREATE TEMP VIEW notifications AS SELECT number, id, channel, sequence, event, unpacked_data(data, id, correlation_id) AS data,
    unpacked_text(correlation_id) AS correlation_id, unpacked_word(actor) AS actor, unpacked_word(action) AS action,
    created_at, expires_at, COALESCE(unpacked_word(collapse_key), id) AS collapse_key, read_at, seen_at, written_at,
    confirmed_at, acknowledged_at, unconfirmed FROM main.notifications;
CREATE TEMP VIEW deliveries AS SELECT channel, sequence, CASE WHEN owner <> '' THEN owner
    ELSE REPLACE(REPLACE(channel, 'driver-', 'driver:'), 'customer-', 'customer:') END AS owner,
    unpacked_text(delivery.device) AS device, delivery.written_at, delivery.confirmed_at FROM main.notifications AS log
    JOIN (SELECT number, owner, device, written_at, confirmed_at FROM main.deliveries
        UNION ALL SELECT number, '', device, written_at, confirmed_at FROM main.notifications WHERE device IS NOT NULL)
    AS delivery ON delivery.number = log.number;
CREATE TEMP VIEW push_jobs AS SELECT number, lane, notification_id, device_id, recipient, collapse_key, state, attempts, reason,
    message_id, queued_at, settled_at, round FROM main.push_jobs
    UNION ALL SELECT NULL, lane(state), log.id, unpacked_text(push.device), CASE WHEN recipient <> '' THEN recipient
        ELSE REPLACE(REPLACE(channel, 'driver-', 'driver:'), 'customer-', 'customer:') END,
        unpacked_word(collapse_key), state(state), attempts, reason, unpacked_text(message), created_at + queued,
        created_at + settled, round FROM main.push_outcomes AS push JOIN main.notifications AS log ON log.number = push.number;
"""


def shown(database: sqlite3.Connection) -> sqlite3.Connection:
    """Lets the names of the packed tables mean views of them, in this connection."""
    if database.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'push_outcomes'").fetchone() is None:
        return database
    database.create_function("unpacked_data", 3, unpacked_data, deterministic=True)
    database.create_function("unpacked_text", 1, unpacked_text, deterministic=True)
    database.create_function("unpacked_word", 1, unpacked_word, deterministic=True)
    database.create_function("lane", 1, lambda state: (LANES + [None] * 7)[state % 10], deterministic=True)
    database.create_function("state", 1, lambda state: STATES[state // 10], deterministic=True)
    database.executescript(VIEWS)
    return database
