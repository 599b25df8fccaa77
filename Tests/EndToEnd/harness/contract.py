"""Tables of the contract with existing apps: requests with their whole answers, and actions with their whole events.

A row says everything that an app may read: the status, each key, each text, and the kind of each value. `{name}` in a
row stands for a value of the world in which it is performed. The tables are in `test_fixed_*.py`.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .api import Api, Response
from .client import Client
from .fleet import Caller, unique_id


class Kind:
    """Stands for any value of a kind."""

    def __init__(self, name: str, accepts: Callable[[object], bool]):
        self.name, self.accepts = name, accepts

    def __repr__(self) -> str:
        return f"<{self.name}>"


def text_like(name: str, pattern: str) -> Kind:
    return Kind(name, lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None)


TEXT = text_like("a text", r".+")
ACCOUNT_ID = text_like("24 lower-case hexadecimal digits", r"[0-9a-f]{24}")
MILLIS = text_like("a time with milliseconds", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SECONDS = text_like("a time without a fraction", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
ULID = text_like("a notification's id", r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
JWT = text_like("a token", r"[\w-]+\.[\w-]+\.[\w-]+")
COUNT = Kind("a whole number", lambda value: type(value) is int and value >= 0)
NUMBER = Kind("a number", lambda value: type(value) in (int, float))


def number_near(number: float) -> Kind:
    return Kind(f"about {number}", lambda value: type(value) in (int, float) and abs(value - number) < 1e-6)


def listed(*keys: str) -> Kind:
    return Kind(f"a list of objects with {keys}", lambda value: isinstance(value, list) and value != []
                and all(set(each) == set(keys) for each in value))


@dataclass(frozen=True)
class Row:
    """A request, `"driver GET /path"`, and its answer. `given` names what has happened before, in order."""

    request: str
    status: int
    answer: object
    body: object = None
    given: str = ""
    headers: dict = field(default_factory=dict)
    answered: dict = field(default_factory=dict)  # headers of the answer
    key: str | None = None

    def __str__(self) -> str:
        return f"{self.request} {self.given or ''} {self.status}"


@dataclass(frozen=True)
class Events:
    """An action, and all events on the channels of the world's listener, in order: channel, name, data."""

    action: str
    events: list
    body: object = None
    given: str = ""

    def __str__(self) -> str:
        return f"{self.action} {self.given}"


def event(channel: str, name: str, /, **data) -> tuple:
    """An event that is a notification."""
    return (channel, name, data | {"notificationId": ULID, "correlationId": TEXT})


class World:
    """The people of a row, and what has happened. A subclass has a method for each word of `given`."""

    def __init__(self):
        self.values: dict[str, object] = {}
        self.callers: dict[str, Caller] = {}

    def perform(self, request: str, body: object = None, **more) -> Response:
        who, method, path = fill(request, self.values).split(" ", 2)
        return self.callers[who].request(method, path, fill(body, self.values), **more)

    def happen(self, given: str) -> None:
        for word in given.split():
            getattr(self, word)()

    def answer(self, row: Row) -> Response:
        self.happen(row.given)
        return self.perform(row.request, row.body, headers=fill(row.headers, self.values),
                            key=fill(row.key, self.values))

    def differences(self, row: Row, response: Response, answer: object = ...) -> list[str]:
        """What is different from the row, or from the row with another answer."""
        found = [f"{name}: expected {text!r}, got {response.headers.get(name)!r}"
                 for name, text in row.answered.items() if response.headers.get(name) != text]
        if response.status != row.status:
            found.append(f"expected {row.status}, got {response.status}")
        answer = fill(row.answer if answer is ... else answer, self.values)
        return found + list(differences(answer, response.json()))

    def caused(self, row: Events, client: Client, api: Api) -> list:
        """Performs an action, and returns the events that reach the client."""
        self.happen(row.given)
        marker = unique_id("marker-")
        subscribe_late(client, marker)
        response = self.perform(row.action, row.body)
        assert response.status == 200, response
        api.publish(marker, "marker")
        return [[message["channel"].removeprefix("private-"), message["event"], json.loads(message["data"])]
                for message in until(client, marker)]


def subscribe_late(client: Client, channel: str) -> None:
    """Subscribes, and drops what has come before."""
    client.send_subscribe(channel)
    while client.receive().get("channel") != channel:
        pass


def until(client: Client, channel: str) -> Iterator[dict]:
    while (message := client.receive())["channel"] != channel:
        yield message


def fill(template, values: dict):
    """Puts the values in the place of their names. A text that is only a name becomes the value itself."""
    if isinstance(template, dict):
        return {fill(name, values): fill(inner, values) for name, inner in template.items()}
    if isinstance(template, (list, tuple)):
        return [fill(inner, values) for inner in template]
    if not isinstance(template, str):
        return template
    if (whole := re.fullmatch(r"\{(\w+)\}", template)) and whole[1] in values:
        return values[whole[1]]
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), template)


def differences(expected, received, path: str = "$") -> Iterator[str]:
    """Compares JSON values with their types: true is not 1, and 1 is not 1.0."""
    if isinstance(expected, Kind):
        if not expected.accepts(received):
            yield f"{path}: expected {expected}, got {received!r}"
    elif isinstance(expected, dict) and isinstance(received, dict):
        for name in expected.keys() - received.keys():
            yield f"{path}.{name} is missing"
        for name in received.keys() - expected.keys():
            yield f"{path}.{name} = {received[name]!r} is not in the contract"
        for name in expected.keys() & received.keys():
            yield from differences(expected[name], received[name], f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(received, list):
        if len(expected) != len(received):
            yield f"{path}: expected {len(expected)} elements, got {received!r}"
        for index, (first, second) in enumerate(zip(expected, received)):
            yield from differences(first, second, f"{path}[{index}]")
    elif type(expected) is not type(received) or expected != received:
        yield f"{path}: expected {expected!r}, got {received!r}"


NEVER = Kind("nothing", lambda value: False)


def changes(expected) -> Iterator[object]:
    """Copies of an expectation, each with one fault: a text, a number or a kind changed, a key more, a key less."""
    if isinstance(expected, dict):
        yield expected | {"surplus": None}
        for name, inner in expected.items():
            yield {other: value for other, value in expected.items() if other != name}
            for changed in changes(inner):
                yield expected | {name: changed}
    elif isinstance(expected, (list, tuple)):
        yield [*expected, "surplus"]
        for index, inner in enumerate(expected):
            for changed in changes(inner):
                yield [*expected[:index], changed, *expected[index + 1:]]
    elif isinstance(expected, str):
        yield expected + "!"
        yield expected.swapcase() if expected.swapcase() != expected else "."
    elif isinstance(expected, bool):
        yield not expected
        yield int(expected)
    elif isinstance(expected, (int, float)):
        yield expected + 1
        yield str(expected)
    elif expected is None:
        yield "null"
    else:
        yield NEVER


def sample(rows: list, count: int = 10) -> list:
    """So many rows, spread over the table: those for which a test shows that they can fail."""
    return rows[::max(1, len(rows) // count)][:count]


def check(world: World, row: Row) -> None:
    found = world.differences(row, world.answer(row))
    assert not found, f"{row}:\n" + "\n".join(found)


def check_can_fail(world: World, row: Row) -> None:
    """The row is not fulfilled with any fault in its answer, nor with another status."""
    response = world.answer(row)
    assert not world.differences(row, response)
    changed = list(changes(fill(row.answer, world.values)))
    assert changed and all(world.differences(row, response, each) for each in changed)
    assert world.differences(Row(row.request, row.status + 1, row.answer), response)


def check_events(world: World, row: Events, client: Client, api: Api) -> None:
    found = list(differences(fill(row.events, world.values), world.caused(row, client, api)))
    assert not found, f"{row}:\n" + "\n".join(found)


def check_events_can_fail(world: World, row: Events, client: Client, api: Api) -> None:
    caused = world.caused(row, client, api)
    expected = fill(row.events, world.values)
    assert not list(differences(expected, caused))
    assert all(list(differences(each, caused)) for each in changes(expected))
