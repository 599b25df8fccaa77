"""What a JSON document must look like, as a value: an object of these members and no others.

    members({"badge": number(1, 9)}, sound=text())("aps", document)      the list of what is wrong, by place; empty when all is right
"""

import re
from collections.abc import Callable

# Takes the place and the value; answers what is wrong with it.
Check = Callable[[str, object], list[str]]


def text(pattern: str | None = None, most: int | None = None, empty: bool = False) -> Check:
    """A string; `most` in bytes."""
    def check(place: str, value) -> list[str]:
        if not isinstance(value, str):
            return [f"{place}: not a text: {value!r}"]
        if not value and not empty:
            return [f"{place}: empty"]
        if pattern and not re.fullmatch(pattern, value) or most is not None and len(value.encode()) > most:
            return [f"{place}: {value[:100]!r} is not {pattern or f'at most {most} bytes'}"]
        return []

    return check


def one_of(*values) -> Check:
    return lambda place, value: [] if value in values and type(value) in map(type, values) else [f"{place}: {value!r} is none of {values}"]


def number(least: int, most: int) -> Check:
    return lambda place, value: [] if type(value) is int and least <= value <= most else [f"{place}: {value!r} is no integer from {least} to {most}"]


def members(required: dict[str, Check] | None = None, **optional: Check) -> Check:
    """An object with these members and no others; a hyphen in a name is written __."""
    required = required or {}
    known = required | {name.replace("__", "-"): check for name, check in optional.items()}

    def check(place: str, value) -> list[str]:
        if not isinstance(value, dict):
            return [f"{place}: not an object: {value!r}"]
        wrong = [f"{place}.{name}: missing" for name in required if name not in value]
        for name, inner in value.items():
            wrong += known[name](f"{place}.{name}", inner) if name in known else [f"{place}.{name}: unknown"]
        return wrong

    return check


def texts(reserved: str | None = None) -> Check:
    """An object of strings and nothing else, none of whose names is reserved."""
    def check(place: str, value) -> list[str]:
        if not isinstance(value, dict):
            return [f"{place}: not an object: {value!r}"]
        wrong = [f"{place}.{name}: not a text: {inner!r}" for name, inner in value.items() if not isinstance(inner, str)]
        return wrong + [f"{place}.{name}: reserved" for name in value if reserved and re.fullmatch(reserved, name, re.IGNORECASE)]

    return check


# What both providers' phones are shown, as APNs has it.
APS = members(
    {"alert": members(title=text(), body=text()), "badge": number(1, 1_000_000)},
    sound=text(), category=text(), thread__id=text(), interruption__level=one_of("active", "passive", "time-sensitive"))
# Names that neither provider leaves to us.
RESERVED = r"aps|from|message_type|google.*|gcm.*"
CONTRACT = ["type", "event", "notificationId"]


def contract(place: str, data: dict) -> list[str]:
    """The data fields that apps rely on."""
    return [f"{place}.{name}: missing" for name in [*CONTRACT, "title", "message"] if not isinstance(data.get(name), str)]
