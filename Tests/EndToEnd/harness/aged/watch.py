"""Measures every request of a run from outside, and knows which endpoints were never called."""

import contextlib
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from ..api import Api
from ..openapi import specification

METHODS = {"get", "post", "put", "patch", "delete"}


def endpoints() -> list[str]:
    """All endpoints of the API, as texts such as `GET /api/driver/jobs`: a unit test compares docs/openapi.yaml with the
    gateway's own tables, so none is missing here.
    """
    return [f"{method.upper()} {path}" for path, item in specification()["paths"].items() for method in item
            if method in METHODS]


def patterns() -> list[tuple[str, re.Pattern]]:
    """The endpoints, those with fewer parameters first: `/api/admin/drivers/positions` is no driver."""
    return [(endpoint, re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(endpoint))))
            for endpoint in sorted(endpoints(), key=lambda endpoint: endpoint.count("{"))]


def cpu_seconds(process: int) -> float:
    """What the process has used of a processor so far: unlike the time, it is about the same on a busy machine."""
    total = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has ended
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


@dataclass
class Measured:
    """The calls of an endpoint in a step, in seconds: how long each took, and what the gateway used of a processor."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def slowest(self) -> float:
        return max(self.seconds)

    @property
    def usual_cpu(self) -> float:
        return statistics.median(self.cpu)

    @property
    def little_cpu(self) -> float:
        """What all calls but one have used at least: during some of them the gateway also does other things, and of one now
        and then the kernel counts the use a little later.
        """
        return sorted(self.cpu)[min(1, len(self.cpu) - 1)]


class Watch:
    """Measures the requests while it is `on`. A row is an endpoint and what was special about the request."""

    def __init__(self) -> None:
        self.rows: dict[str, Measured] = {}
        self.succeeded: set[str] = set()
        self.process = 0
        self.special = ""
        self.patterns = patterns()

    @contextlib.contextmanager
    def on(self, process: int) -> Iterator[None]:
        """Measures all requests of all callers; `process` is the gateway's."""
        self.process, original = process, Api.call

        def call(api: Api, method: str, target: str, *more, **others):
            name = self.name(method, target)
            with self.measure(name):
                response = original(api, method, target, *more, **others)
            if response.status < 400:
                self.succeeded.add(name)
            return response

        with mock.patch.object(Api, "call", call):
            yield

    def name(self, method: str, target: str) -> str:
        request = f"{method} {target.partition('?')[0]}"
        found = next((endpoint for endpoint, pattern in self.patterns if pattern.fullmatch(request)), None)
        assert found, f"docs/openapi.yaml has no {request}"
        return found

    @contextlib.contextmanager
    def step(self, special: str) -> Iterator[None]:
        """Names what is special about the requests inside."""
        self.special = special
        try:
            yield
        finally:
            self.special = ""

    @contextlib.contextmanager
    def measure(self, name: str) -> Iterator[None]:
        cpu, begin = cpu_seconds(self.process), time.monotonic()
        yield
        row = self.rows.setdefault(f"{name}: {self.special}" if self.special else name, Measured())
        row.seconds.append(time.monotonic() - begin)
        row.cpu.append(cpu_seconds(self.process) - cpu)

    def stream(self, name: str, action: Callable[[], object]) -> None:
        """Measures what is no request and response, such as a WebSocket's first messages."""
        with self.measure(name):
            action()
        self.succeeded.add(name)

    def missing(self, excused: dict[str, str]) -> list[str]:
        """The endpoints that no request has reached with success, but those that are excused; and excuses for nothing."""
        known = set(endpoints())
        never = [f"{endpoint} was never called with success" for endpoint in sorted(known - self.succeeded - excused.keys())]
        return never + [f"{endpoint} is excused, but {'is called' if endpoint in known else 'does not exist'}"
                        for endpoint in sorted(excused) if endpoint in self.succeeded or endpoint not in known]
