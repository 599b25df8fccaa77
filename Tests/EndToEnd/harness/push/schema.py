"""Checks of JSON documents, as values: an object with these members and no others.

    members({"badge": number(1, 9)}, sound=text())("aps", document)

returns the list of errors, each with its path; empty if the document is valid.
"""

import re
from collections.abc import Callable

# Takes the path and the value; returns the errors.
Check = Callable[[str, object], list[str]]


def text(pattern: str | None = None, max_bytes: int | None = None, empty: bool = False) -> Check:
    """A string that the whole pattern matches, of at most `max_bytes` bytes in UTF-8."""
    def check(path: str, value) -> list[str]:
        if not isinstance(value, str):
            return [f"{path}: not a string: {value!r}"]
        if not value and not empty:
            return [f"{path}: empty"]
        if (pattern and not re.fullmatch(pattern, value)
                or max_bytes is not None and len(value.encode()) > max_bytes):
            return [f"{path}: {value[:100]!r} is not {pattern or f'at most {max_bytes} bytes'}"]
        return []

    return check


def one_of(*values) -> Check:
    return (lambda path, value: [] if value in values and type(value) in map(type, values)
            else [f"{path}: {value!r} is none of {values}"])


def number(least: int, most: int) -> Check:
    return (lambda path, value: [] if type(value) is int and least <= value <= most
            else [f"{path}: {value!r} is no integer from {least} to {most}"])


def members(required: dict[str, Check] | None = None, **optional: Check) -> Check:
    """An object with these members and no others; a hyphen in a name is written __."""
    required = required or {}
    known = required | {name.replace("__", "-"): check for name, check in optional.items()}

    def check(path: str, value) -> list[str]:
        if not isinstance(value, dict):
            return [f"{path}: not an object: {value!r}"]
        errors = [f"{path}.{name}: missing" for name in required if name not in value]
        for name, inner in value.items():
            errors += known[name](f"{path}.{name}",
                                  inner) if name in known else [f"{path}.{name}: unknown"]
        return errors

    return check


def strings(reserved: str | None = None) -> Check:
    """An object whose values are strings and whose names are not reserved."""
    def check(path: str, value) -> list[str]:
        if not isinstance(value, dict):
            return [f"{path}: not an object: {value!r}"]
        errors = [f"{path}.{name}: not a string: {inner!r}" for name, inner in value.items()
                  if not isinstance(inner, str)]
        return errors + [f"{path}.{name}: reserved" for name in value if reserved
                         and re.fullmatch(reserved, name, re.IGNORECASE)]

    return check


# What devices of both providers display, in APNs' format.
APS = members(
    {"alert": members(title=text(), body=text()), "badge": number(1, 1_000_000)},
    sound=text(), category=text(), thread__id=text(),
    interruption__level=one_of("active", "passive", "time-sensitive"))
# Names that the providers reserve.
RESERVED = r"aps|from|message_type|google.*|gcm.*"
CONTRACT = ["type", "event", "notificationId"]


def contract(path: str, data: dict) -> list[str]:
    """Checks the data fields that apps rely on."""
    return [f"{path}.{name}: missing" for name in [*CONTRACT, "title", "message"]
            if not isinstance(data.get(name), str)]
