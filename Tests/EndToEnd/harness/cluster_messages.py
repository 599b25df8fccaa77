"""The messages of a cluster's nodes, as far as hostile tests need them: see Sources/Realtime/Cluster/ClusterMessage.swift."""

import base64
import itertools
import struct

EVENT, JOINED, LEFT, HEARTBEAT, GOODBYE, COMMIT, MEMBERS_QUESTION, TERMINATE, QUESTION, MEMBERS, ANSWER, SHARE, COUNT = range(1, 14)
LARGEST = 2**64 - 1
_numbers = itertools.count(1)


def text(value: str | bytes) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">I", len(value)) + value


def u64(value: int) -> bytes:
    return struct.pack(">Q", value & LARGEST)


def message(kind: int, sender: int, *parts: bytes, number: int | None = None, before: int = 0, version: int = 1) -> bytes:
    header = bytes([version, kind]) + u64(sender) + u64(next(_numbers) if number is None else number) + u64(before)
    return header + b"".join(parts)


def channel_subject(channel: str, app: str = "1001", name: str = "fleetwire") -> str:
    return f"{name}.{app}.c.{base64.urlsafe_b64encode(channel.encode()).decode().rstrip('=')}"


def parse(payload: bytes) -> tuple[int, int, bytes]:
    """Returns kind, sender and content of a message."""
    return payload[1], int.from_bytes(payload[2:10], "big"), payload[26:]
