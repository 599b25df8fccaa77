"""R4 and R10: joins and leaves in every order, and all at once, against a model so plain that it must be right."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from harness.apps import PATIENCE
from harness.guest import Guest

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)

USERS = ["1", "2", "3", "four", "five"]
OBSERVERS = ["observer-0", "observer-1", "observer-2"]


@pytest.fixture
def presence(channel):
    return "presence-" + channel


@pytest.fixture
def observers(connect, presence):
    """Three who stay and hear everything; on different loops where there are several."""
    clients = [connect() for _ in OBSERVERS]
    for number, client in enumerate(clients):
        client.join(presence, OBSERVERS[number])
        for earlier in clients[:number]:
            earlier.expect_added(presence, OBSERVERS[number])
    return clients


def users_by_api(api, presence) -> list[str]:
    return sorted(user["id"] for user in api.ask(f"channels/{presence}/users").json()["users"])


@pytest.mark.parametrize("seed", range(4))
def test_R4_R10_one_after_another_as_the_model_says(gateway, closing, api, observers, presence, seed):
    """The model: a user is there while one of his connections is. After each step everybody hears exactly what follows from it.

    That a connection was cut off may be noticed later; nobody hears of it unless it was the user's last, and for that we wait.
    """
    random, there = Random(seed), []

    def present() -> set[str]:
        return {user for user, _ in there} | set(OBSERVERS)

    def join(guest) -> None:
        user = random.choice(USERS)
        is_new = user not in present()
        # Every other time as a number, where it is one.
        user_id = int(user) if user.isdigit() and random.random() < 0.5 else user
        there.append((user, guest))
        assert guest.join(presence, user_id) == present()
        if is_new:
            for observer in observers:
                observer.expect_added(presence, user)

    def part() -> Guest:
        user, guest = there.pop(random.randrange(len(there)))
        way = random.choice(["unsubscribe", "goodbye", "close", "reset"])
        if way == "unsubscribe":
            guest.leave(presence)
        else:
            {"goodbye": guest.say_goodbye, "close": guest.close, "reset": guest.reset}[way]()
        if user not in present():
            for observer in observers:
                observer.expect_removed(presence, user)
        return guest if way == "unsubscribe" else closing(Guest(gateway))

    free = [closing(Guest(gateway)) for _ in range(12)]
    for _ in range(120):
        if free and (not there or random.random() < 0.55):
            join(free.pop())
        else:
            free.append(part())
    assert users_by_api(api, presence) == sorted(present())
    while there:
        part()
    for observer in observers:
        observer.expect_nothing()
    assert users_by_api(api, presence) == OBSERVERS


class Feed:
    """What somebody in the channel heard, checked as it comes: nobody added who is there, nobody removed who is not."""

    def __init__(self, presence: str, own: str, present: set[str]):
        self.presence, self.own, self.present, self.heard = presence, own, set(present), []
        assert own in present

    def take(self, messages: list[dict]) -> None:
        for message in messages:
            assert message["channel"] == self.presence, message
            user, event = json.loads(message["data"])["user_id"], message["event"].removeprefix("pusher_internal:")
            assert event in ("member_added", "member_removed"), message
            assert (user in self.present) == (event == "member_removed"), (event, user, self.present, self.heard)
            assert user != self.own, (event, user, "is myself")
            self.present ^= {user}
            self.heard.append((event, user))


def visit(gateway, presence: str, random: Random, came: set[str]) -> None:
    """One comes as somebody, stays for a moment and goes in one of all ways; or asks and is gone before the answer."""
    guest, user = Guest(gateway), random.choice(USERS)
    try:
        way = random.randrange(6)
        if way == 0:
            guest.ask_to_join(presence, user)
            guest.reset() if random.random() < 0.5 else guest.close()
            return
        feed = Feed(presence, user, guest.join(presence, user))
        came.add(user)
        for _ in range(random.randrange(3)):
            feed.take(guest.until_pong())
        if way in (1, 2):
            feed.take(guest.leave(presence))
            assert guest.until_pong() == []
        elif way == 3:
            guest.say_goodbye()
        elif way == 4:
            guest.reset()
    finally:
        guest.close()


def test_R10_many_at_once_are_added_once_and_removed_once(gateway, observers, api, presence):
    """Whatever happens at once, each observer sees every user come and go in turn, and all see it in one order."""
    start, came = threading.Barrier(6), set()

    def run(seed: int) -> None:
        random = Random(seed)
        start.wait()
        for _ in range(40):
            visit(gateway, presence, random, came)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))
    feeds = [Feed(presence, own, set(OBSERVERS)) for own in OBSERVERS]
    deadline = time.monotonic() + PATIENCE
    while users_by_api(api, presence) != OBSERVERS:
        assert time.monotonic() < deadline, f"still there: {users_by_api(api, presence)}"
        feeds[0].take(observers[0].until_pong())
    for observer, feed in zip(observers, feeds):
        feed.take(observer.until_pong())
        assert feed.present == set(OBSERVERS)
    assert all(feed.heard == feeds[0].heard for feed in feeds)
    assert came <= {user for event, user in feeds[0].heard if event == "member_added"}
    for observer in observers:
        observer.expect_nothing()


def test_R10_all_connections_of_a_user_at_once(gateway, closing, observers, presence):
    """Many connections of one user ask, leave and are cut off together: one event each way, every time."""
    for round in range(10):
        guests = [closing(Guest(gateway)) for _ in range(8)]
        for guest in guests:
            guest.ask_to_join(presence, "1")
        for observer in observers:
            observer.expect_added(presence, "1")
        for guest in guests:
            guest.until("pusher_internal:subscription_succeeded")
        for number, guest in enumerate(guests):
            if round % 3 == 0:
                guest.say("pusher:unsubscribe", {"channel": presence})
            elif round % 3 == 1 or number % 2:
                guest.reset()
            else:
                guest.close()
        for observer in observers:
            observer.expect_removed(presence, "1")
    for observer in observers:
        observer.expect_nothing()


def test_R10_an_event_is_heard_by_those_who_are_there(gateway, closing, observers, api, presence):
    """Joining, being published to and being cut off, in quick turns: no member event is lost in a batch of others."""
    for round in range(30):
        guest = closing(Guest(gateway))
        guest.ask_to_join(presence, "1")
        for observer in observers:
            observer.expect_added(presence, "1")
        api.publish(presence, data=str(round))
        guest.until("event")
        guest.reset()
        for observer in observers:
            observer.expect("event", data=str(round))
            observer.expect_removed(presence, "1")
