"""A thousand drivers in a process of their own. They behave like phones: they listen on their own channel
and on `drivers-channel`, answer pings or not, leave and come back, and record what they get.
"""

import contextlib
import multiprocessing
import random
import resource
import select
import time
from multiprocessing.connection import Connection as Pipe

from ..fleet import token
from .connection import NORMAL, Authorizer, Socket
from .judge import Session
from .loop import Loop

AUTHORIZERS = 8
# What drivers do while the gateway is under load, with their shares: answer all pings; answer some, which
# confirms what came before the others, too; answer none; leave and come back all the time.
ROLES = {"steady": 50, "lazy": 15, "silent": 15, "restless": 20}
# The longest time in seconds for which a restless driver stays.
STAY = 0.6
BROADCAST = "drivers-channel"


class DriverSocket(Socket):
    """A driver's connection."""

    def __init__(self, driver: "Driver"):
        self.driver, self.sessions, self.open = driver, {}, set()
        # The last notification of each channel that no pong has confirmed.
        self.last: dict[str, str] = {}
        super().__init__(driver.crowd.port, driver.lost)

    def established(self, socket_id: str) -> None:
        self.driver.authorize(self, socket_id)

    def subscribe(self, channel: str, auth: dict) -> None:
        self.send_event("pusher:subscribe", {"channel": f"private-{channel}"} | auth)
        crowd = self.driver.crowd
        self.sessions[channel] = Session(self.driver.name, channel, crowd.process, time.monotonic())
        crowd.sessions.append(self.sessions[channel])

    def subscribed(self, channel: str) -> None:
        self.open.add(channel)

    def notified(self, channel: str, notification: str) -> None:
        if channel not in self.open:
            return self.driver.crowd.surprises.append(f"{self.driver.name} was notified before it was subscribed")
        self.sessions[channel].received.append(notification)
        self.driver.missing.discard(notification)
        self.last[channel] = notification

    def pinged(self, payload: bytes) -> None:
        role, dice = self.driver.role, self.driver.crowd.dice
        if self.driver.is_closing:
            return  # a pong behind the close frame would confirm nothing
        if role == "silent" or role == "lazy" and dice.random() < 0.5 or not self.send_pong(payload):
            return
        now = time.monotonic()
        for channel, notification in self.last.items():
            self.sessions[channel].pongs.append((now, notification))
        self.last.clear()

    def closing(self, payload: bytes) -> None:
        if self.driver.is_closing and payload == NORMAL:
            self.mark("closed")
        self.end()

    def surprised(self, message: bytes) -> None:
        self.driver.crowd.surprises.append(f"{self.driver.name} got {message[:300]!r}")

    def mark(self, end: str) -> None:
        for session in self.sessions.values():
            session.end = end


class Driver:
    def __init__(self, crowd: "Crowd", number: int):
        self.crowd, self.name, self.role, self.is_closing = crowd, f"c{number}", "steady", False
        self.bearer = token("driver", self.name, ttl=86_400)
        # Every other driver names a device.
        self.device = {"device_id": "phone"} if number % 2 else {}
        self.socket: DriverSocket | None = None
        # What the driver waits for.
        self.missing: set[str] = set()

    @property
    def channel(self) -> str:
        return f"driver-{self.name}"

    def connect(self) -> None:
        if self.socket is None and self.crowd.port and self.role != "away":
            self.is_closing = False
            self.socket = self.crowd.register(DriverSocket(self))

    def authorize(self, connection: DriverSocket, socket_id: str) -> None:
        for channel in (self.channel, BROADCAST):
            def answer(auth: dict, channel: str = channel) -> None:
                if connection.is_open:
                    connection.subscribe(channel, auth)
            form = {"socket_id": socket_id, "channel_name": f"private-{channel}"} | self.device
            self.crowd.authorizer().ask(self.bearer, form, answer)

    def lost(self) -> None:
        """The connection has ended; a driver connects again at once, while there is a gateway."""
        is_refused = not self.socket.is_connected or not self.socket.is_upgraded
        self.socket = None
        if is_refused:
            self.crowd.after(0.1, self.connect)
        else:
            self.connect()

    def leave(self, politely: bool) -> None:
        if self.socket is None or self.is_closing:
            return
        if politely and self.socket.is_upgraded:
            self.is_closing = True
            self.socket.send_close()
        else:
            self.socket.mark("aborted")
            self.socket.close(reset=True)
            self.socket = None
            self.connect()


class Crowd(Loop):
    """What runs in the process."""

    def __init__(self, commands: Pipe, drivers: int, seed: int):
        super().__init__()
        self.commands, self.dice = commands, random.Random(seed)
        self.port, self.process, self.authorizers = 0, -1, []
        self.sessions: list[Session] = []
        self.surprises: list[str] = []
        self.drivers = [Driver(self, number) for number in range(drivers)]
        self.poll.register(commands.fileno(), select.EPOLLIN)

    def authorizer(self) -> Authorizer:
        return self.dice.choice(self.authorizers)

    def run(self) -> None:
        while self.turn():
            pass

    def called(self) -> bool:
        name, *arguments = self.commands.recv()
        if name == "end":
            return False
        self.commands.send(getattr(self, name)(*arguments))
        return True

    # Commands

    def use(self, port: int, process: int) -> None:
        """Connects all to a new gateway, except those who are away."""
        self.port, self.process = port, process
        for each in self.authorizers:
            each.close()
        self.authorizers = [self.register(Authorizer(port, lambda: None)) for _ in range(AUTHORIZERS)]
        for driver in self.drivers:
            driver.connect()

    def lose(self) -> None:
        """There is no gateway now."""
        self.port = 0
        self.timers.clear()

    def begin(self, away: int) -> None:
        """Gives roles to the drivers. So many leave until `gather`."""
        roles = self.dice.choices(list(ROLES), list(ROLES.values()), k=len(self.drivers) - away) + ["away"] * away
        self.dice.shuffle(roles)
        for driver, role in zip(self.drivers, roles):
            driver.role = role
            if role == "away":
                driver.leave(politely=self.dice.random() < 0.5)
            elif role == "restless":
                self.after(self.dice.uniform(0, STAY), lambda driver=driver: self.flap(driver))

    def flap(self, driver: Driver) -> None:
        if driver.role == "restless":
            driver.leave(politely=self.dice.random() < 0.5)
            self.after(self.dice.uniform(0, STAY), lambda: self.flap(driver))

    def gather(self) -> None:
        """From now on all are there, and answer."""
        for driver in self.drivers:
            driver.role = "steady"
            driver.connect()

    def connected(self) -> int:
        """Counts the drivers that are subscribed to both channels."""
        return sum(driver.socket is not None and len(driver.socket.open) == 2 for driver in self.drivers)

    def expect(self, notifications: dict[str, list[str]]) -> None:
        """Sets what the drivers have to get: ids by channel."""
        everyone = notifications.get(BROADCAST, [])
        arrived: dict[str, set[str]] = {}
        for session in self.sessions:
            arrived.setdefault(session.driver, set()).update(session.received)
        for driver in self.drivers:
            wanted = {*everyone, *notifications.get(driver.channel, [])}
            driver.missing = wanted - arrived.get(driver.name, set())

    def missing(self) -> dict[str, int]:
        """Returns how many notifications each driver still misses."""
        return {driver.name: len(driver.missing) for driver in self.drivers if driver.missing}

    def report(self) -> tuple[list[Session], list[str]]:
        """Returns the sessions since the last report, and what was not expected. Sessions that are open
        continue as new ones.
        """
        sessions, self.sessions = self.sessions, []
        for driver in self.drivers:
            if driver.socket and driver.socket.is_open:
                for channel, old in driver.socket.sessions.items():
                    new = Session(old.driver, channel, old.process, old.begun, continues=bool(old.received) or old.continues)
                    driver.socket.sessions[channel] = new
                    self.sessions.append(new)
        surprises, self.surprises = self.surprises, []
        return sessions, surprises


def run(commands: Pipe, drivers: int, seed: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    Crowd(commands, drivers, seed).run()


class CrowdProcess:
    """Runs a crowd in a process of its own, and calls its commands."""

    def __init__(self, drivers: int, seed: int):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=run, args=(other, drivers, seed), daemon=True)
        self.process.start()
        other.close()

    def call(self, name: str, *arguments):
        self.pipe.send((name, *arguments))
        return self.pipe.recv()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.pipe.send(("end",))
        self.process.join()
