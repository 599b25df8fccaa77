"""The town: drivers who perform their plans over HTTP, and their customers' WebSockets. It records what was
sent, answered and received; times are in milliseconds since 1970.
"""

import json
import random
import time
from dataclasses import dataclass, field

from ..crowd.connection import Authorizer, Requester, Socket
from ..crowd.judge import Violation
from ..crowd.loop import Loop
from ..fleet import token
from .plan import PAUSE, Act, Car, Leg, Pause, plan, positions

AUTHORIZERS = 8
# How long a driver waits before a request that was refused with this status.
REFUSED = {429: 1.0, 503: 0.2}
# The share of trips that a stranger looks for, when they begin.
CURIOUS = 0.1


def now() -> int:
    return int(time.time() * 1_000)


def iso(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1_000)) + f".{at % 1_000:03}Z"


@dataclass
class Attempt:
    """A request of a driver. The process may have ended before the answer."""

    name: str
    sent: int
    positions: list[dict] | None = None
    answered: int | None = None
    data: dict = field(default_factory=dict)

    def __str__(self) -> str:
        end = "not answered" if self.answered is None else f"+{self.answered - self.sent} ms {self.data}"
        return f"{self.name} {end} {self.positions or ''}"


@dataclass(frozen=True)
class Received:
    process: int
    at: int
    channel: str  # the plain name
    event: str
    data: dict

    def __str__(self) -> str:
        return f"received in process {self.process} on {self.channel}: {self.event} {self.data}"


class CustomerSocket(Socket):
    def __init__(self, customer: "Customer"):
        self.customer, self.open = customer, set()
        super().__init__(customer.town.port, customer.lost)

    def established(self, socket_id: str) -> None:
        for channel in self.customer.channels:
            def answer(auth: dict, channel: str = channel) -> None:
                if self.is_open:
                    self.send_event("pusher:subscribe", {"channel": f"private-{channel}"} | auth)
            form = {"socket_id": socket_id, "channel_name": f"private-{channel}"}
            self.customer.town.authorizer().ask(self.customer.bearer, form, answer)

    def message(self, payload: bytes) -> None:
        text = json.loads(payload)
        if text["event"] == "pusher:connection_established":
            return self.established(json.loads(text["data"])["socket_id"])
        if text["event"] == "pusher:ping":
            return self.send_event("pusher:pong", {})
        channel = text.get("channel", "").removeprefix("private-")
        if channel not in self.customer.channels:
            raise Violation(f"{self.customer.car.customer} got {payload[:300]!r}")
        if text["event"] == "pusher_internal:subscription_succeeded":
            self.open.add(channel)
            self.customer.subscribed(channel)
        else:
            self.customer.receive(channel, text["event"], json.loads(text["data"]))

    def pinged(self, payload: bytes) -> None:
        self.send_pong(payload)


class Customer:
    """Comes back to each new process, and subscribes to the channels of the booking."""

    def __init__(self, town: "Town", car: Car):
        self.town, self.car, self.socket = town, car, None
        self.channels = (f"booking-{car.reference}", f"tracking-{car.reference}")
        self.bearer = token("customer", car.customer, bookings=[car.reference], ttl=86_400)
        self.received: list[Received] = []
        # When a subscription began, by process and channel.
        self.sessions: dict[tuple[int, str], int] = {}

    @property
    def is_ready(self) -> bool:
        return self.socket is not None and len(self.socket.open) == 2

    def connect(self) -> None:
        self.socket = self.town.register(CustomerSocket(self))

    def lost(self) -> None:
        self.socket = None
        if self.town.is_up:
            raise Violation(f"the gateway dropped {self.car.customer}")

    def subscribed(self, channel: str) -> None:
        self.sessions[self.town.process, channel] = now()
        if self.is_ready:
            self.town.drivers[self.car.number].resume()

    def receive(self, channel: str, event: str, data: dict) -> None:
        self.received.append(Received(self.town.process, now(), channel, event, data))


class Driver:
    """Performs a plan. While there is no gateway, or the customer is not back, requests wait."""

    def __init__(self, town: "Town", car: Car, seed: int):
        self.town, self.car, self.dice = town, car, random.Random(seed)
        self.bearer = token("driver", car.driver, name=car.name, ttl=86_400)
        self.plan = plan(car, self.dice)
        self.requests = sum(not isinstance(step, Pause) for step in self.plan)
        self.index = 0
        self.attempts: list[Attempt] = []
        # The body of the present request, and the attempt that is under way.
        self.body: dict | None = None
        self.listed: list[dict] | None = None
        self.under_way: Attempt | None = None
        self.is_pausing = False
        self.connection: Requester | None = None
        # Until when the positions were reported, and the time of the last command.
        self.reported = self.commanded = 0
        self.customer: Customer | None = None

    @property
    def is_done(self) -> bool:
        return self.index == len(self.plan)

    def start(self) -> None:
        self.reported = now() - 500
        self.resume()

    def resume(self) -> None:
        """Goes on, unless it has to wait for something, which calls this again."""
        if (self.is_done or self.is_pausing or self.under_way or not self.reported or not self.town.is_up
                or not self.customer.is_ready):
            return
        step = self.plan[self.index]
        if isinstance(step, Pause):
            self.index += 1
            return self.pause(step.seconds)
        if self.body is None:
            self.prepare(step)
        if self.connection is None:
            self.connection = self.town.register(Requester(self.town.port, self.lost))
        self.send(step)

    def pause(self, seconds: float) -> None:
        def go_on() -> None:
            self.is_pausing = False
            self.resume()
        self.is_pausing = True
        self.town.after(seconds, go_on)

    def prepare(self, step: Act | Leg) -> None:
        if isinstance(step, Act):
            self.body, self.listed = step.body, None
            return
        begin, end = (self.commanded - 1_000, self.commanded - 100) if step.is_old else (self.reported, now())
        self.listed = positions(self.car, step, begin, end, self.dice)
        self.reported = max(self.reported, end)
        sent = [each | {"recordedAt": iso(each["recordedAt"])} for each in self.listed]
        self.body = sent[0] if len(sent) == 1 else {"positions": sent}

    def send(self, step: Act | Leg) -> None:
        key = {"Idempotency_Key": f"{self.car.code}-{step.name}"} if isinstance(step, Act) and step.has_key else {}
        self.under_way = Attempt(step.name if isinstance(step, Act) else "positions", now(), self.listed)
        self.attempts.append(self.under_way)
        if isinstance(step, Leg):
            return self.connection.request("POST", "/api/driver/location", self.bearer, self.body, self.answered)
        if sum(each.name == step.name for each in self.attempts) == 1:
            self.commanded = self.under_way.sent
        bearer = self.town.admin if step.is_admin else self.bearer
        self.connection.request(step.method, step.path, bearer, self.body, self.answered, **key)

    def answered(self, status: int, body: bytes) -> None:
        attempt, self.under_way = self.under_way, None
        attempt.answered = now()
        if status in REFUSED:
            attempt.name += f" refused with {status}"
            attempt.positions = None
            return self.pause(REFUSED[status])
        if status != 200:
            raise Violation(f"{self.car.driver}: {attempt} was answered {status} {body[:300]!r}")
        attempt.data = json.loads(body)["data"]
        self.body = None
        self.index += 1
        if attempt.positions is None:
            # Positions of the time before a command say nothing about the time after it.
            self.reported = attempt.answered
        self.town.answered(self, attempt)
        self.resume()

    def lost(self) -> None:
        """The connection has ended: what was not answered is sent again."""
        self.connection = self.under_way = None
        if self.town.is_up:
            self.resume()


class Town(Loop):
    def __init__(self, cars: list[Car], dice: random.Random):
        super().__init__()
        self.dice, self.port, self.process, self.is_up = dice, 0, -1, False
        self.admin = token("admin", "ada", ttl=86_400)
        self.authorizers: list[Authorizer] = []
        self.drivers = [Driver(self, car, dice.randrange(2**32)) for car in cars]
        self.customers = [Customer(self, car) for car in cars]
        for driver, customer in zip(self.drivers, self.customers):
            driver.customer = customer
        # The requests that were answered, and those of strangers.
        self.count = self.refused = 0

    def authorizer(self) -> Authorizer:
        index = self.dice.randrange(AUTHORIZERS)
        if not self.authorizers[index].is_open:  # it was idle for too long
            self.authorizers[index] = self.register(Authorizer(self.port, lambda: None))
        return self.authorizers[index]

    @property
    def is_over(self) -> bool:
        return all(driver.is_done for driver in self.drivers)

    def open(self, spread: float) -> None:
        """Lets the drivers begin, within so many seconds."""
        for driver in self.drivers:
            self.after(self.dice.uniform(0, spread), driver.start)

    def use(self, port: int) -> None:
        """Connects all customers to a new process."""
        self.port, self.process, self.is_up = port, self.process + 1, True
        self.authorizers = [self.register(Authorizer(port, lambda: None)) for _ in range(AUTHORIZERS)]
        for customer in self.customers:
            customer.connect()

    def lose(self) -> None:
        """There is no gateway now. Reads what it had written, until all connections have ended."""
        self.is_up = False
        while any(connection.is_open for connection in self.connections.values()):
            self.turn(0.05)
        self.connections.clear()

    def answered(self, driver: Driver, attempt: Attempt) -> None:
        self.count += 1
        if attempt.name == "en_route" and self.dice.random() < CURIOUS:
            self.spy(driver.car)

    def spy(self, car: Car) -> None:
        """Another customer, and another driver, look for the trip."""
        def expect(status: int):
            def answer(received: int, body: bytes) -> None:
                self.refused += 1
                if received != status:
                    raise Violation(f"a stranger looked for {car.reference} and got {received} {body[:300]!r}")
            return answer
        for strangers in (self.customers, self.drivers):
            bearer = self.dice.choice([each for each in strangers if each.car is not car]).bearer
            for channel in ("booking", "tracking"):
                form = {"socket_id": "1.1", "channel_name": f"private-{channel}-{car.reference}"}
                self.authorizer().request("POST", "/pusher/auth", bearer, form, expect(403))
            path = f"/app-trip-status?reference={car.reference}"
            self.authorizer().request("GET", path, bearer, None, expect(404))

    def read_inboxes(self) -> list[list[str]]:
        """The ids of the notifications that each customer can list, oldest first."""
        inboxes: list[list[str]] = [[] for _ in self.customers]
        missing = set(range(len(inboxes)))
        for customer in self.customers:
            def answer(status: int, body: bytes, number: int = customer.car.number) -> None:
                listed = json.loads(body)["data"]["notifications"]
                inboxes[number] = [each["id"] for each in reversed(listed)]
                missing.discard(number)
            self.authorizer().request("GET", "/api/customer/notifications?limit=100", customer.bearer, None, answer)
        self.wait(lambda: not missing, 30, "the customers' lists")
        return inboxes

    def wait(self, condition, seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise Violation(f"not within {seconds} s: {what}")
            self.turn(0.05)

    def settle(self) -> None:
        """Goes on for so long that whatever is due has been told."""
        deadline = time.monotonic() + PAUSE
        while time.monotonic() < deadline:
            self.turn(0.05)
