"""Attacks by those whom the gateway itself asks, providers and backends, and by strangers at the cost of an SMS.

Each names its bound, and bounds.py checks it. They need the fakes of `Scene`, which the parts of `hostile.py` do not have.
"""

import json

from ..sms_adapter import LOGIN
from ..wire import request
from .attacker import Attacker, message
from .fleet_attacks import DRIVERS, announcement

# A customer's phone whose number everybody knows, and the beginning of the numbers that bring a stranger money.
KNOWN, PREMIUM = "2025550143", "906555"


def long_retry_after(attacker: Attacker) -> None:
    """FCM answers each push that it is to be tried again in a month. Bound: the lane probes in ten minutes, no push expires
    before its time, and APNs' lane does not notice.
    """
    dispatcher = attacker.wire()
    for _ in attacker.repeat():
        attacker.send(dispatcher, announcement(DRIVERS))
        attacker.drain(dispatcher)


def codes_by_strangers(attacker: Attacker) -> None:
    """Strangers from ever new addresses ask for codes: to numbers that bring them money, to all kinds of numbers, and to a
    customer's phone. Bound: `otp.prefix_daily_max`, half of `otp.daily_max`; and the customer gets a code.
    """
    wire = attacker.wire()
    for index in attacker.repeat():
        number = [PREMIUM + f"{attacker.random.randrange(10_000):04}", str(attacker.random.randrange(2 * 10 ** 9, 10 ** 10)),
                  KNOWN][index % 3]
        body = json.dumps({"phone_isd": "+1", "phone_country": "us", "phone": number, "user_type": "customer"}).encode()
        address = f"2001:db8:{attacker.random.randrange(65536):x}:{attacker.random.randrange(65536):x}::1"
        if not attacker.send(wire, request("POST", LOGIN, body, ["Content-Type: application/json",
                                                                 f"X-Forwarded-For: {address}"])):
            wire = attacker.wire()
        attacker.drain(wire)


def endless_answers(attacker: Attacker) -> None:
    """A backend answers each webhook with a gigabyte. Bound: what is read of an answer."""
    for index in attacker.repeat():
        client = attacker.client()
        attacker.send(client, b"".join(message("pusher:subscribe", {"channel": f"endless-{index}-{n}"}) for n in range(20)))
        attacker.drain(client)
        attacker.end(client)


OUTSIDE_ATTACKS = (long_retry_after, codes_by_strangers, endless_answers)
