"""What many clients may do to the gateway at one moment: each entry of BURSTS, with its bound.

A bystander, a process of its own, sends pings, and measures how much CPU time its loop uses until the
answer: "loop time". That is how long it would wait on a machine that does nothing else, whatever else
this machine does.
"""

import base64
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from ..api import signed_target
from ..apps import FIRST, TIMEOUT
from ..gateway import Gateway
from ..raw_client import RawClient
from ..wire import TEXT, Wire, frame, request
from .attacker import EVENTS, message

# A message whose escapes make it expensive for its size: 9,000 members, 63 KB.
COSTLY = ('{"event":"pusher:subscribe","data":{' + ",".join(['"\\n":1'] * 9_000)
          + ',"channel":"a b"}}').encode()
# A round of the bystander, in seconds. It leaves the loops time for others.
PAUSE = 0.005


def allow_many_connections() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def loops(gateway: Gateway) -> list[Path]:
    """Returns the gateway's loop threads."""
    tasks = Path(f"/proc/{gateway.process.pid}/task").iterdir()
    return [task for task in tasks if (task / "comm").read_text().startswith("loop")]


def statistics(threads: list[Path]) -> list[tuple[int, int]]:
    """Returns how long each thread has run, and how long it has waited for a CPU, in nanoseconds."""
    return [tuple(map(int, (thread / "schedstat").read_text().split()[:2])) for thread in threads]


def loop_times(threads: list[Path]) -> list[int]:
    """Returns how long each thread has run, in nanoseconds."""
    return [run for run, _ in statistics(threads)]


def observe(gateway: Gateway, ended, results: Connection) -> None:
    """Measures each wait, in nanoseconds of loop time, until told to end."""
    with suppress(OSError):
        os.nice(-10)  # so that the answer is read as soon as it is there
    client, waits, ping = RawClient(gateway), [], message("pusher:ping", {})
    own = f"loop-{int(client.socket_id.split('.')[1]) >> 24}"
    thread = [each for each in loops(gateway) if (each / "comm").read_text().strip() == own]
    while not ended.is_set():
        before = loop_times(thread)[0]
        client.send(ping)
        client.expect("pusher:pong")
        waits.append(loop_times(thread)[0] - before)
        time.sleep(PAUSE)
    results.send(waits)


@contextmanager
def bystander(gateway: Gateway) -> Iterator[list[int]]:
    """Yields a list that holds the bystander's waits at the end, in nanoseconds of loop time."""
    context, waits = multiprocessing.get_context("fork"), []
    ended, (receiver, sender) = context.Event(), context.Pipe(duplex=False)
    process = context.Process(target=observe, args=(gateway, ended, sender), daemon=True)
    process.start()
    try:
        yield waits
    finally:
        ended.set()
        assert receiver.poll(TIMEOUT * 4), "the bystander got no answer"
        waits += receiver.recv()
        process.join(TIMEOUT)
        process.kill()


@dataclass
class Crowd:
    """Many connections that do something together."""

    gateway: Gateway
    count: int
    wires: list[Wire] = field(default_factory=list)

    def connect(self, kind: type[Wire]) -> None:
        self.wires = [kind(self.gateway) for _ in range(self.count)]

    def send(self, data: bytes) -> None:
        """Sends the same from each connection, as far as it is taken at once."""
        for wire in self.wires:
            wire.socket.setblocking(False)
            with suppress(OSError):
                wire.socket.send(data)

    def send_whole(self, data: bytes) -> None:
        for wire in self.wires:
            wire.socket.settimeout(TIMEOUT)
            wire.send_ignoring_reset(data)

    def read(self) -> int:
        """Discards what has arrived, so that nobody is a slow consumer. Returns its size."""
        size = 0
        for wire in self.wires:
            wire.socket.setblocking(False)
            with suppress(OSError):
                while data := wire.socket.recv(1 << 18):
                    size += len(data)
        return size

    def read_until_quiet(self) -> None:
        """Reads until the loops have done with what was sent: for half a second, they have hardly run, or
        waited for a CPU.
        """
        threads, deadline = loops(self.gateway), time.monotonic() + TIMEOUT * 6
        while time.monotonic() < deadline:
            before = sum(sum(figures) for figures in statistics(threads))
            self.read()
            time.sleep(0.5)
            if sum(sum(figures) for figures in statistics(threads)) - before < 50_000_000:
                return

    def close(self) -> None:
        while self.wires:
            self.wires.pop().close()


def last_bytes(crowd: Crowd) -> Iterator[None]:
    """Each has sent all but the last byte of an expensive message of 64 KB."""
    crowd.connect(RawClient)
    data = frame(TEXT, COSTLY)
    crowd.send_whole(data[:-1])
    yield
    crowd.send_whole(data[-1:])


def commands(crowd: Crowd) -> Iterator[None]:
    """Each sends 150 subscriptions with a wrong signature at once: ordinary messages, all within the limits."""
    crowd.connect(RawClient)
    data = message("pusher:subscribe", {"channel": "private-" + "x" * 150, "auth": FIRST.key + ":" + "a" * 64,
                                        "channel_data": "y" * 60})
    yield
    crowd.send(data * 150)


def streams(crowd: Crowd) -> Iterator[None]:
    """Each sends expensive messages of 64 KB for three seconds, as fast as they are taken."""
    crowd.connect(RawClient)
    data, offsets = frame(TEXT, COSTLY), [0] * crowd.count
    yield
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for index, wire in enumerate(crowd.wires):
            wire.socket.setblocking(False)
            with suppress(OSError):
                offsets[index] = (offsets[index] + wire.socket.send(memoryview(data)[offsets[index]:])) % len(data)


def tokens(crowd: Crowd) -> Iterator[None]:
    """Strangers: each has sent all but the last byte of a request with an expensive token."""
    crowd.connect(Wire)
    part = base64.urlsafe_b64encode(b'{"alg":"HS256","x":{' + b",".join([b'"\\n":1'] * 300) + b"}}").decode().rstrip("=")
    data = request("GET", "/api/driver/jobs", headers=[f"Authorization: Bearer {part}.{part}.AAAA"])
    crowd.send_whole(data[:-1])
    yield
    crowd.send_whole(data[-1:])


def pipelines(crowd: Crowd) -> Iterator[None]:
    """Strangers: each sends 200 requests at once."""
    crowd.connect(Wire)
    yield
    crowd.send(request("GET", "/nowhere") * 200)


def publishes(crowd: Crowd) -> Iterator[None]:
    """A backend: each connection sends a publish of 10 KB of JSON to a channel of its own, in two pieces."""
    crowd.connect(Wire)
    text = json.dumps({f"field-{index}": 'a "text"' for index in range(330)})
    body = json.dumps({"name": "event", "channel": "channel", "data": text}).encode()
    data = request("POST", signed_target(FIRST, "POST", EVENTS, body), body)
    crowd.send_whole(data[:-1])
    yield
    crowd.send_whole(data[-1:])


def departures(crowd: Crowd) -> Iterator[None]:
    """Each is subscribed to 20 channels, and all leave together."""
    crowd.connect(RawClient)
    crowd.send_whole(b"".join(message("pusher:subscribe", {"channel": f"channel-{index}"}) for index in range(20)))
    crowd.read_until_quiet()
    yield
    for wire in crowd.wires:
        wire.close_write()  # closing is not enough: the bystander's process has the sockets, too


def presences(crowd: Crowd) -> Iterator[None]:
    """The members of a channel, 100 at most, with 940 bytes of data each, join again on other connections, all together."""
    crowd.connect(RawClient)
    members, joins = min(100, crowd.count // 2), []
    info = {"name": "x" * 925}
    for index, wire in enumerate(crowd.wires):
        channel_data = json.dumps({"user_id": str(index % members), "user_info": info})
        auth = FIRST.auth(wire.socket_id, "presence-room", channel_data)
        joins.append(message("pusher:subscribe", {"channel": "presence-room", "auth": auth,
                                                  "channel_data": channel_data}))
    for wire, join in list(zip(crowd.wires, joins))[:members]:
        wire.send_ignoring_reset(join)
    crowd.read_until_quiet()
    yield
    for wire, join in list(zip(crowd.wires, joins))[members:]:
        wire.socket.setblocking(False)
        with suppress(OSError):
            wire.socket.send(join)


@dataclass(frozen=True)
class Burst:
    """What a crowd does, how many they are, and how long a bystander may wait: in ms of loop time."""

    act: Callable[[Crowd], Iterator[None]]
    count: int
    bound: float
    settings: dict = field(default_factory=dict)

    def perform(self, folder: Path) -> tuple[float, float]:
        """Returns the bystander's longest wait, and the time that the loops have used, in ms of loop time."""
        with ExitStack() as stack:
            gateway = Gateway(folder, loops=2, sections={"auth": {"jwt": {"secret": "x" * 40}}}, **self.settings)
            stack.callback(gateway.stop)
            crowd = Crowd(gateway, self.count)
            stack.callback(crowd.close)
            act = self.act(crowd)
            next(act)
            threads = loops(gateway)
            with bystander(gateway) as waits:
                time.sleep(0.5)  # what the bystander sees before is not counted against the burst's time
                before = sum(loop_times(threads))
                for _ in act:
                    pass
                crowd.read_until_quiet()
                used = sum(loop_times(threads)) - before
            gateway.assert_alive()
        return max(waits) / 1e6, used / 1e6


BURSTS: dict[str, Burst] = {burst.act.__name__: burst for burst in (
    Burst(last_bytes, 1_000, 50), Burst(commands, 3_000, 50), Burst(streams, 100, 50), Burst(tokens, 4_000, 50),
    Burst(pipelines, 2_000, 50), Burst(publishes, 300, 50), Burst(departures, 2_000, 50),
    Burst(presences, 1_100, 50))}


def perform_all(folder: Path, names: list[str]) -> list[str]:
    """Performs bursts and prints a line for each. Returns what is above its bound."""
    print("| burst | connections | longest wait, ms of loop time | bound | used, ms |\n|---|---|---|---|---|", flush=True)
    problems = []
    for name in names:
        burst = BURSTS[name]
        longest, used = burst.perform(folder / name)
        print(f"| {name} | {burst.count} | {longest:.1f} | {burst.bound:g} | {used:.0f} |", flush=True)
        if longest > burst.bound:
            problems.append(f"{name}: a bystander waited for {longest:.0f} ms of loop time")
    return problems

