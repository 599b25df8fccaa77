"""W1–W3: online and offline events of watched users."""

import json
import time
from collections import defaultdict
from random import Random

import pytest

from harness.apps import FIRST, SECOND, TIMEOUT
from harness.concurrency import run_concurrently
from harness.raw_client import CLOSES, RawClient

EVENT = "pusher_internal:watchlist_events"


@pytest.fixture
def name(channel):
    """Makes ids that no other test uses: `name("ann")`."""
    return lambda text: f"{text}-{channel.removeprefix('channel-')}"


def states(message: dict) -> dict[str, set[str]]:
    """Returns the user ids by event name; a user may occur only once."""
    assert message.keys() == {"event", "data"} and message["event"] == EVENT, message
    assert isinstance(message["data"], str), message
    data, result = json.loads(message["data"]), defaultdict(set)
    assert data.keys() == {"events"} and data["events"], data
    for event in data["events"]:
        assert (event.keys() == {"name", "user_ids"}
                and event["name"] in ("online", "offline") and event["user_ids"]), event
        assert (not set(event["user_ids"]) & (result["online"] | result["offline"])
                and len(set(event["user_ids"])) == len(event["user_ids"])), data
        result[event["name"]] |= set(event["user_ids"])
    return {state: users for state, users in result.items() if users}


def watch(client, user: str, *watched: str) -> dict[str, set[str]]:
    """Signs in. Returns the current state of the watched users."""
    client.sign_in(user, watchlist=list(watched))
    return states(client.receive())


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_W1_current_state_comes_first(connect, name):
    connect().sign_in(name("ann"))
    watcher = connect()
    assert watch(watcher, name("me"), name("ann"), name("bob"),
                 name("cid")) == {"online": {name("ann")}, "offline": {name("bob"), name("cid")}}
    watcher.expect_nothing()


def test_W1_state_has_only_events_with_users(connect, name):
    connect().sign_in(name("ann"))
    assert watch(connect(), name("me"), name("ann")) == {"online": {name("ann")}}
    assert watch(connect(), name("you"), name("bob")) == {"offline": {name("bob")}}


def test_W1_without_watchlist_no_events(connect, name):
    plain, empty = connect(), connect()
    plain.sign_in(name("me"))
    empty.sign_in(name("you"), watchlist=[])
    connect().sign_in(name("ann"))
    plain.expect_nothing()
    empty.expect_nothing()


def test_W1_duplicate_ids_send_one_event(connect, name):
    watcher = connect()
    assert watch(watcher, name("me"), name("ann"), name("ann")) == {"offline": {name("ann")}}
    connect().sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    watcher.expect_nothing()


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_W2_online_with_first_and_offline_with_last_connection(connect, name):
    watchers = [connect() for _ in range(4)]
    for number, watcher in enumerate(watchers):
        assert watch(watcher, name(f"me{number}"), name("ann"),
                     name("bob")) == {"offline": {name("ann"), name("bob")}}
    tabs = [connect() for _ in range(4)]
    for tab in tabs:
        tab.sign_in(name("ann"))
    for watcher in watchers:
        assert states(watcher.receive()) == {"online": {name("ann")}}
        watcher.expect_nothing()
    for tab in tabs[:3]:
        tab.close()
    for watcher in watchers:
        watcher.expect_nothing()
    tabs[3].close()
    for watcher in watchers:
        assert states(watcher.receive()) == {"offline": {name("ann")}}
        watcher.expect_nothing()


@pytest.mark.parametrize("leave", CLOSES.values(), ids=CLOSES)
def test_W2_offline_after_any_kind_of_close(gateway, connect, closing, name, leave):
    watcher, raw_client = connect(), closing(RawClient(gateway))
    watch(watcher, name("me"), name("ann"))
    raw_client.sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    leave(raw_client)
    assert states(watcher.receive()) == {"offline": {name("ann")}}


def test_W2_terminated_users_are_offline(connect, api, name):
    watcher, client = connect(), connect()
    watch(watcher, name("me"), name("ann"))
    client.sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    assert api.post_signed(f"users/{name('ann')}/terminate_connections").status == 200
    assert client.expect_close()[0] == 4009
    assert states(watcher.receive()) == {"offline": {name("ann")}}


def test_W2_only_sign_in_makes_a_user_online(connect, name, channel):
    """Connections, presence, failed sign-ins and other applications do not."""
    watcher, client = connect(), connect()
    watch(watcher, name("me"), name("ann"))
    client.join("presence-" + channel, name("ann"))
    client.send("pusher:signin", {"auth": "key1:x", "user_data": json.dumps({"id": name("ann")})})
    client.expect_error()
    connect(SECOND).sign_in(name("ann"), SECOND)
    watcher.expect_nothing()


def test_W2_each_connection_of_the_watcher_receives_events_while_open(connect, name):
    one, other, ann = connect(), connect(), connect()
    watch(one, name("me"), name("ann"))
    watch(other, name("me"), name("ann"))
    ann.sign_in(name("ann"))
    for client in (one, other):
        assert states(client.receive()) == {"online": {name("ann")}}
    one.close()
    ann.close()
    assert states(other.receive()) == {"offline": {name("ann")}}


def test_W2_users_watching_each_other(connect, name):
    ann, bob = connect(), connect()
    assert watch(ann, name("ann"), name("bob")) == {"offline": {name("bob")}}
    assert watch(bob, name("bob"), name("ann")) == {"online": {name("ann")}}
    assert states(ann.receive()) == {"online": {name("bob")}}
    ann.close()
    assert states(bob.receive()) == {"offline": {name("ann")}}


@pytest.mark.parametrize("gateway", [1, 4], indirect=True, ids="loops={}".format)
def test_W2_concurrent_changes_alternate(gateway, connect, name):
    """For concurrent connects and disconnects, each user goes online and offline alternately, and
    all watchers receive the same order.
    """
    users = [name(f"u{number}") for number in range(3)]
    watchers = [connect() for _ in range(3)]
    for number, watcher in enumerate(watchers):
        assert watch(watcher, name(f"me{number}"), *users) == {"offline": set(users)}

    def run(seed: int) -> None:
        random = Random(seed)
        for _ in range(30):
            raw_client = RawClient(gateway)
            raw_client.sign_in(random.choice(users))
            random.choice([raw_client.close, raw_client.reset, raw_client.close_gracefully])()

    run_concurrently(run, range(5))
    received, deadline = [], time.monotonic() + TIMEOUT
    for watcher in watchers:
        online, order = set(), []
        # The gateway may detect a reset with a delay.
        while online or not order:
            assert time.monotonic() < deadline, f"still online: {online}"
            for message in watcher.receive_until_pong():
                for state, changed in states(message).items():
                    assert not changed & online if state == "online" else changed <= online, (
                        state, changed, online)
                    online ^= changed
                    order.append((state, sorted(changed)))
        received.append(order)
    assert received[0] == received[1] == received[2]


def test_W3_only_the_first_100_ids_count(connect, name):
    watcher, users = connect(), [name(f"u{number}") for number in range(101)]
    connect().sign_in(users[99])
    connect().sign_in(users[100])
    user_data = json.dumps({"id": name("me"), "watchlist": users})
    watcher.send_sign_in(user_data)
    messages = {message["event"]: message for message in watcher.receive_until_pong()}
    assert messages.keys() == {"pusher:signin_success", "pusher:error", EVENT}
    assert messages["pusher:error"]["data"]["code"] == 4302
    assert states(messages[EVENT]) == {"online": {users[99]}, "offline": set(users[:99])}
    connect().sign_in(users[0])
    assert states(watcher.receive()) == {"online": {users[0]}}


def test_W3_100_ids_are_accepted(connect, name):
    users = [name(f"u{number}") for number in range(100)]
    client = connect()
    assert watch(client, name("me"), *users) == {"offline": set(users)}
    client.expect_nothing()


def test_W1_unsigned_watchlist_is_rejected(connect, name):
    client, user_data = connect(), json.dumps({"id": name("me")})
    longer = json.dumps({"id": name("me"), "watchlist": [name("ann")]})
    client.send("pusher:signin",
                {"auth": FIRST.user_auth(client.socket_id, user_data), "user_data": longer})
    client.expect_error_code(4009)
    client.expect_nothing()
