"""R4 and R10: joins and leaves in random and concurrent order, compared with a simple model."""

import json
import time
from random import Random

import pytest

from harness.apps import TIMEOUT
from harness.concurrency import run_concurrently
from harness.raw_client import RawClient

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)

USERS = ["1", "2", "3", "four", "five"]
OBSERVERS = ["observer-0", "observer-1", "observer-2"]


@pytest.fixture
def observers(connect, presence):
    """Three members that stay and receive all events; on different loops if there are several."""
    clients = [connect() for _ in OBSERVERS]
    for number, client in enumerate(clients):
        client.join(presence, OBSERVERS[number])
        for earlier in clients[:number]:
            earlier.expect_member_added(presence, OBSERVERS[number])
    return clients


def users_by_api(api, presence) -> list[str]:
    return sorted(user["id"]
                  for user in api.get_signed(f"channels/{presence}/users").json()["users"])


@pytest.mark.parametrize("seed", range(4))
def test_R4_R10_sequential_steps_match_the_model(gateway, closing, api, observers, presence, seed):
    """The model: a user is present while any connection of the user is. After each step all
    observers receive exactly the resulting events.

    The gateway may detect a reset with a delay; no event is due unless it was the user's last connection,
    and then the test waits for it.
    """
    random, joined = Random(seed), []

    def present() -> set[str]:
        return {user for user, _ in joined} | set(OBSERVERS)

    def join(raw_client) -> None:
        user = random.choice(USERS)
        is_new = user not in present()
        # Every second numeric id is sent as a number.
        user_id = int(user) if user.isdigit() and random.random() < 0.5 else user
        joined.append((user, raw_client))
        assert raw_client.join(presence, user_id) == present()
        if is_new:
            for observer in observers:
                observer.expect_member_added(presence, user)

    def leave() -> RawClient:
        user, raw_client = joined.pop(random.randrange(len(joined)))
        way = random.choice(["unsubscribe", "close frame", "close", "reset"])
        if way == "unsubscribe":
            raw_client.unsubscribe(presence)
        else:
            {"close frame": raw_client.close_gracefully, "close": raw_client.close,
             "reset": raw_client.reset}[way]()
        if user not in present():
            for observer in observers:
                observer.expect_member_removed(presence, user)
        return raw_client if way == "unsubscribe" else closing(RawClient(gateway))

    free = [closing(RawClient(gateway)) for _ in range(12)]
    for _ in range(120):
        if free and (not joined or random.random() < 0.55):
            join(free.pop())
        else:
            free.append(leave())
    assert users_by_api(api, presence) == sorted(present())
    while joined:
        leave()
    for observer in observers:
        observer.expect_nothing()
    assert users_by_api(api, presence) == OBSERVERS


class Feed:
    """The member events that one connection received, checked in order: a member is added only if
    absent and removed only if present.
    """

    def __init__(self, presence: str, own: str, present: set[str]):
        self.presence, self.own, self.present, self.received = presence, own, set(present), []
        assert own in present

    def record(self, messages: list[dict]) -> None:
        for message in messages:
            assert message["channel"] == self.presence, message
            user, event = (json.loads(message["data"])["user_id"],
                           message["event"].removeprefix("pusher_internal:"))
            assert event in ("member_added", "member_removed"), message
            assert (user in self.present) == (event == "member_removed"), (
                event, user, self.present, self.received)
            assert user != self.own, (event, user, "is the member itself")
            self.present ^= {user}
            self.received.append((event, user))


def visit(gateway, presence: str, random: Random, joined_users: set[str]) -> None:
    """Joins as a random user, stays for a moment and leaves in a random way; or resets before the
    response.
    """
    raw_client, user = RawClient(gateway), random.choice(USERS)
    try:
        way = random.randrange(6)
        if way == 0:
            raw_client.send_presence_subscribe(presence, user)
            raw_client.reset() if random.random() < 0.5 else raw_client.close()
            return
        feed = Feed(presence, user, raw_client.join(presence, user))
        joined_users.add(user)
        for _ in range(random.randrange(3)):
            feed.record(raw_client.receive_until_pong())
        if way in (1, 2):
            feed.record(raw_client.unsubscribe(presence))
            assert raw_client.receive_until_pong() == []
        elif way == 3:
            raw_client.close_gracefully()
        elif way == 4:
            raw_client.reset()
    finally:
        raw_client.close()


def test_R10_concurrent_users_are_added_once_and_removed_once(gateway, observers, api, presence):
    """For concurrent joins and leaves, each observer receives alternating events per user, and all
    receive the same order.
    """
    joined_users: set[str] = set()

    def run(seed: int) -> None:
        random = Random(seed)
        for _ in range(40):
            visit(gateway, presence, random, joined_users)

    run_concurrently(run, range(6))
    feeds = [Feed(presence, own, set(OBSERVERS)) for own in OBSERVERS]
    deadline = time.monotonic() + TIMEOUT
    while users_by_api(api, presence) != OBSERVERS:
        assert time.monotonic() < deadline, f"still present: {users_by_api(api, presence)}"
        feeds[0].record(observers[0].receive_until_pong())
    for observer, feed in zip(observers, feeds):
        feed.record(observer.receive_until_pong())
        assert feed.present == set(OBSERVERS)
    assert all(feed.received == feeds[0].received for feed in feeds)
    assert joined_users <= {user for event, user in feeds[0].received if event == "member_added"}
    for observer in observers:
        observer.expect_nothing()


def test_R10_concurrent_connections_of_one_user(gateway, closing, observers, presence):
    """Many connections of one user join, leave and are reset together: one event per direction,
    each time.
    """
    for round in range(10):
        raw_clients = [closing(RawClient(gateway)) for _ in range(8)]
        for raw_client in raw_clients:
            raw_client.send_presence_subscribe(presence, "1")
        for observer in observers:
            observer.expect_member_added(presence, "1")
        for raw_client in raw_clients:
            raw_client.receive_until("pusher_internal:subscription_succeeded")
        for number, raw_client in enumerate(raw_clients):
            if round % 3 == 0:
                raw_client.send_event("pusher:unsubscribe", {"channel": presence})
            elif round % 3 == 1 or number % 2:
                raw_client.reset()
            else:
                raw_client.close()
        for observer in observers:
            observer.expect_member_removed(presence, "1")
    for observer in observers:
        observer.expect_nothing()


def test_R10_member_events_among_published_events(gateway, closing, observers, api, presence):
    """Joins, publishes and resets in quick succession: no member event is lost among events sent in
    the same write.
    """
    for round in range(30):
        raw_client = closing(RawClient(gateway))
        raw_client.send_presence_subscribe(presence, "1")
        for observer in observers:
            observer.expect_member_added(presence, "1")
        api.publish(presence, data=str(round))
        raw_client.receive_until("event")
        raw_client.reset()
        for observer in observers:
            observer.expect("event", data=str(round))
            observer.expect_member_removed(presence, "1")
