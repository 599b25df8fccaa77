"""Attacks on the store, by drivers whose apps nobody maintains.

Each names its bound. `hostile.py` checks them as it checks all attacks, and what a dispatcher waits meanwhile.
"""

import contextlib
import http.client
import json

from ..fleet import Caller, token
from ..wire import request
from .attacker import Attacker, message

DRIVERS = [f"hostile-{number}" for number in range(50)]
NOTIFICATIONS = "/api/driver/notifications"


def call(method: str, target: str, subject: str, body: object = None, role: str = "driver") -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    return request(method, target, content, [f"Authorization: Bearer {token(role, subject)}", "Content-Type: application/json"])


def announcement(drivers: list[str]) -> bytes:
    return call("POST", "/api/admin/notifications", "ada",
                {"type": "DRIVER_APPROVED", "to": {"drivers": drivers}, "data": {}}, role="admin")


def read_all_taps(attacker: Attacker) -> None:
    """All drivers mark everything as read at every tap. Bound: the rows that one transaction writes."""
    dispatcher, drivers = attacker.wire(), attacker.wire()
    taps = b"".join(call("POST", f"{NOTIFICATIONS}/read", driver, {"all": True}) for driver in DRIVERS)
    for _ in attacker.repeat():
        attacker.send(dispatcher, announcement(DRIVERS) * 5)
        attacker.send(drivers, taps)
        attacker.drain(dispatcher)
        attacker.drain(drivers)


def long_lists_of_ids(attacker: Attacker) -> None:
    """Read marks and telemetry of very many ids, most of which never existed. Bound: the driver's rate."""
    ids = [f"01{attacker.random.randrange(10 ** 12):024}" for _ in range(500)]
    step = {"type": "new_job", "entityId": "e", "event": "received", "timestamp": "2026-03-01T10:00:00Z"}
    floods = [b"".join(call("POST", f"{NOTIFICATIONS}/read", driver, {"ids": ids[:100]})
                       + call("POST", f"{NOTIFICATIONS}/read", driver, {"ids": ids})
                       + call("POST", f"{NOTIFICATIONS}/log", driver, {"notificationId": ids[number]} | step)
                       for number, driver in enumerate(DRIVERS)) for _ in range(2)]
    wire = attacker.wire()
    for index in attacker.repeat():
        attacker.send(wire, floods[index % 2])
        attacker.drain(wire)


def lists_and_searches(attacker: Attacker) -> None:
    """Drivers who ask for their lists without a pause; half of them read no response. Bound:
    `limits.fleet_queries_per_second`, and the readers' queue of each driver.
    """
    targets = [f"{NOTIFICATIONS}?limit=100", "/api/driver/jobs", f"{NOTIFICATIONS}?limit=100&unread=true",
               "/api/delivery/available-batches", "/api/delivery/summary", f"{NOTIFICATIONS}?before=x"]
    wires = attacker.up_to(8, attacker.wire)
    for wire in wires:
        wire.socket.settimeout(0.05)
    for index in attacker.repeat():
        driver = attacker.random.choice(DRIVERS)
        attacker.send(wires[index % 8], b"".join(call("GET", target, driver) for target in targets) * 5)
        if index % 2:
            attacker.drain(wires[index % 8])


def new_devices(attacker: Attacker) -> None:
    """An app that makes a new device id at each start. Bound: twenty cursors of each owner and channel."""
    driver = attacker.random.choice(DRIVERS)
    attacker.send(dispatcher := attacker.wire(), announcement([driver]) * 20)
    channel = f"private-driver-{driver}"
    caller = Caller(attacker.gateway, "driver", driver)
    with contextlib.closing(caller), contextlib.suppress(http.client.HTTPException):
        for index in attacker.repeat():
            client = attacker.client()
            response = caller.post("/pusher/auth", {"socket_id": client.socket_id, "channel_name": channel,
                                                    "device_id": f"{attacker.random.random()}"})
            if response.status == 200:
                attacker.send(client, message("pusher:subscribe", {"channel": channel} | response.json()))
            if index % 3:
                attacker.drain(client)
            attacker.end(client)
            attacker.drain(dispatcher)


def repeated_reports(attacker: Attacker) -> None:
    """Drivers who accept and report steps of jobs that are not theirs, and change their preferences, with new idempotency
    keys. Bound: a driver's rate of commands, and the stored responses of a driver.
    """
    wire = attacker.wire()
    for index in attacker.repeat():
        driver = attacker.random.choice(DRIVERS)
        attacker.send(wire, b"".join(
            call("POST", f"/api/driver/jobs/none-{number}/accept", driver, {"idempotencyKey": f"{index}-{number}"})
            + call("PUT", f"/api/driver/jobs/none-{number}/progress", driver, {"progress": "arrived"})
            + call("PUT", "/api/driver/preferences", driver, {
                "idempotencyKey": f"p{index}-{number}", "types": {"job_update": number % 2 == 0}})
            for number in range(20)))
        attacker.drain(wire)


FLEET_ATTACKS = (read_all_taps, long_lists_of_ids, lists_and_searches, new_devices, repeated_reports)
