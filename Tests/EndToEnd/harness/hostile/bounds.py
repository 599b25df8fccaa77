"""The bounds that attacks name, and how each is checked: what is made ready before, and what must hold after.

A check that an attack has reached its limit is one, too: an attack that no longer gets there shows nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ..codes import age
from ..push.devices import Device
from ..push.fcm import error, is_send_request
from .fleet_attacks import DRIVERS
from .outside_attacks import KNOWN, PREMIUM
from .scene import CACHE_BYTES, DAILY_MAX, OUTGOING_BYTES, PREFIX_MAX, Scene

MONTH, TEN_MINUTES = 28 * 86_400, 600
# The rows of one transaction: those that declare most write 500, and several commands share a transaction.
ROWS_MAX = 2_500
# What may be read of an answer: the gateway takes 16 KiB, and the sockets' buffers some megabytes.
ANSWER, ANSWER_READ_MAX = 1 << 30, 32 << 20
CURSORS_MAX, RESPONSES_MAX = 20, 2_000


class Unreached(str):
    """What an attack had not enough time for. It shows nothing then, and is performed for longer."""


@dataclass(frozen=True)
class Bound:
    """`text` names it. `judge` returns what does not hold."""

    text: str
    judge: Callable[[Scene], list[str]]
    prepare: Callable[[Scene], object] = lambda scene: None


def _reached(scene: Scene, *limits: str) -> list[str]:
    return [] if scene.limited(*limits) else [Unreached(f"it has not reached {' or '.join(limits)}")]


def _outgoing(scene: Scene) -> list[str]:
    most = scene.outbox_most
    if most > OUTGOING_BYTES:
        return [f"{most / 1e6:.0f} MB are kept for clients"]
    return [] if most else [Unreached("nothing was kept")]


def _unread_lists(scene: Scene) -> list[str]:
    return _outgoing(scene) + _reached(scene, "outgoing_bytes")


def _rows(scene: Scene) -> list[str]:
    rows = scene.largest("store_transaction_rows")
    if rows > ROWS_MAX:
        return [f"a transaction has written up to {rows:.0f} rows"]
    return [] if rows else [Unreached("nothing was written")]


def _commands(scene: Scene) -> list[str]:
    return _rows(scene) + _reached(scene, "fleet_commands_per_second", "fleet_commands_waiting")


def _queries(scene: Scene) -> list[str]:
    return _reached(scene, "fleet_queries_per_second", "fleet_queries_waiting")


def _most(scene: Scene, table: str, columns: str, most: int) -> list[str]:
    rows = scene.gateway.query(f"SELECT COUNT(*) FROM {table} GROUP BY {columns} ORDER BY 1 DESC LIMIT 1")
    return [f"{rows[0][0]} rows in {table} of one {columns}"] if rows and rows[0][0] > most else []


def _cursors(scene: Scene) -> list[str]:
    return _most(scene, "cursors", "owner, channel", CURSORS_MAX)


def _responses(scene: Scene) -> list[str]:
    return _most(scene, "idempotency", "subject", RESPONSES_MAX) + _commands(scene)


def _cache(scene: Scene) -> list[str]:
    evicted = scene.metrics().total("fleetwire_cache_evicted_total")
    return [] if evicted else [Unreached(f"no event was evicted at {CACHE_BYTES} bytes")]


def _watchlists(scene: Scene) -> list[str]:
    left = scene.metrics().total("fleetwire_subscriptions")
    return [f"{left:.0f} subscriptions are left"] if left > 1 else []


# Attacks from outside

def _silence(scene: Scene) -> None:
    unavailable = error(503, "UNAVAILABLE", "UNAVAILABLE", headers={"retry-after": str(MONTH)})
    for driver in DRIVERS:
        scene.providers.android(scene.caller("driver", driver))
    scene.providers.fcm.script(unavailable, is_send_request)


def _lanes(scene: Scene) -> list[str]:
    ops = scene.caller("ops", "oz")
    lanes = {lane["lane"]: lane for lane in ops.expect_ok("GET", "/api/ops/push")["lanes"]}
    found, until = [], lanes["fcm"]["pausedUntil"]
    if not until:
        found.append(f"the lane of FCM is not paused: {lanes['fcm']}")
    elif datetime.fromisoformat(until).timestamp() - time.time() > TEN_MINUTES:
        found.append(f"the lane of FCM is paused until {until}")
    if scene.metrics().value("fleetwire_push_total", provider="fcm", outcome="expired"):
        found.append("pushes have expired before their time")
    phone: Device = scene.providers.ios(scene.caller("driver", "calm"))
    scene.caller("admin", "ada").expect_ok("POST", "/api/admin/notifications", {
        "type": "DRIVER_APPROVED", "to": {"driver": "calm"}, "data": {}})
    phone.wait(1)  # fails if APNs' lane has noticed
    return found


def _sign_in(scene: Scene) -> None:
    scene.known = scene.phone(KNOWN)
    scene.known.sign_in()


def _codes(scene: Scene) -> list[str]:
    asked = [each["to"] for each in scene.adapter.requests if each["to"] != scene.known.number]
    premium = sum(number.startswith("+1" + PREMIUM[:3]) for number in asked)
    found = [f"{premium} codes to one prefix, at most {PREFIX_MAX}"] if premium > PREFIX_MAX else []
    if len(asked) > DAILY_MAX // 2:
        found.append(f"{len(asked)} codes to strangers, at most {DAILY_MAX // 2}")
    if premium < PREFIX_MAX or len(asked) < DAILY_MAX // 2 - 1:  # the customer's first code counts, too
        found.append(Unreached(f"it has not reached the limits: {premium} codes to one prefix, {len(asked)} in all"))
    # The code of the sign-in before is older than a minute by then, and nobody but the customer asks from this address.
    age(scene.gateway, scene.known, 61)
    customer = scene.phone(KNOWN, scene.known.address)
    before = scene.adapter.count(customer.number)
    response = customer.login()
    if response.status != 200 or scene.adapter.count(customer.number) <= before:
        found.append(f"the customer gets no code: {response}")
    return found


def _endless(scene: Scene) -> None:
    scene.receiver.answers["/hooks"] = ANSWER


def _answers(scene: Scene) -> list[str]:
    most = scene.receiver.answered_most["/hooks"]
    found = [f"{most >> 20} MiB of an answer were read"] if most > ANSWER_READ_MAX else []
    if not scene.metrics().value("fleetwire_webhook_total", outcome="delivered"):
        found.append("no webhook was delivered")
    return found


BOUNDS = {
    "unread_lists": Bound(f"{OUTGOING_BYTES >> 20} MiB for all clients", _unread_lists),
    "trickling_readers": Bound(f"{OUTGOING_BYTES >> 20} MiB for all clients", _outgoing),
    "deaf_clients": Bound(f"{OUTGOING_BYTES >> 20} MiB for all clients", _outgoing),
    "unique_watchlists": Bound("no subscription is left", _watchlists),
    "cache_channels": Bound(f"{CACHE_BYTES >> 20} MiB of cached events", _cache),
    "read_all_taps": Bound(f"{ROWS_MAX} rows in a transaction", _rows),
    "long_lists_of_ids": Bound("a driver's rate of commands", _commands),
    "lists_and_searches": Bound("a driver's rate of queries", _queries),
    "new_devices": Bound(f"{CURSORS_MAX} cursors of an owner", _cursors),
    "repeated_reports": Bound(f"{RESPONSES_MAX} stored responses of a driver", _responses),
    "long_retry_after": Bound("ten minutes", _lanes, _silence),
    "codes_by_strangers": Bound(f"{PREFIX_MAX} codes of a prefix, {DAILY_MAX // 2} of all", _codes, _sign_in),
    "endless_answers": Bound(f"{ANSWER_READ_MAX >> 20} MiB of an answer", _answers, _endless)}
