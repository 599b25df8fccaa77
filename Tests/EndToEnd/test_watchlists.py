"""W1 to W3: who hears that whom is online."""

import json
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from harness.apps import FIRST, PATIENCE, SECOND
from harness.guest import Guest

EVENT = "pusher_internal:watchlist_events"


@pytest.fixture
def name(channel):
    """Makes ids that nobody else uses: `name("ann")`."""
    return lambda text: f"{text}-{channel.removeprefix('channel-')}"


def states(message: dict) -> dict[str, set[str]]:
    """The names of the events and their users; a user is in one of them once."""
    assert message.keys() == {"event", "data"} and message["event"] == EVENT, message
    assert isinstance(message["data"], str), message
    data, result = json.loads(message["data"]), defaultdict(set)
    assert data.keys() == {"events"} and data["events"], data
    for event in data["events"]:
        assert event.keys() == {"name", "user_ids"} and event["name"] in ("online", "offline"), event
        assert not set(event["user_ids"]) & (result["online"] | result["offline"]) and len(set(event["user_ids"])) == len(event["user_ids"]), data
        result[event["name"]] |= set(event["user_ids"])
    return {state: users for state, users in result.items() if users}


def watch(client, user: str, *watched: str) -> dict[str, set[str]]:
    """Signs in and answers the present state of the watched."""
    client.sign_in(user, watchlist=list(watched))
    return states(client.receive())


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_W1_the_present_state_comes_first(connect, name):
    connect().sign_in(name("ann"))
    watcher = connect()
    assert watch(watcher, name("me"), name("ann"), name("bob"), name("cid")) == {"online": {name("ann")}, "offline": {name("bob"), name("cid")}}
    watcher.expect_nothing()


def test_W1_all_online_or_all_offline(connect, name):
    connect().sign_in(name("ann"))
    assert watch(connect(), name("me"), name("ann")) == {"online": {name("ann")}}
    assert watch(connect(), name("you"), name("bob")) == {"offline": {name("bob")}}


def test_W1_without_a_watchlist_nothing_is_heard(connect, name):
    plain, empty = connect(), connect()
    plain.sign_in(name("me"))
    empty.sign_in(name("you"), watchlist=[])
    connect().sign_in(name("ann"))
    plain.expect_nothing()
    empty.expect_nothing()


def test_W1_who_is_named_twice_is_told_once(connect, name):
    watcher = connect()
    assert watch(watcher, name("me"), name("ann"), name("ann")) == {"offline": {name("ann")}}
    connect().sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    watcher.expect_nothing()


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_W2_online_with_the_first_connection_and_offline_with_the_last(connect, name):
    watchers = [connect() for _ in range(4)]
    for number, watcher in enumerate(watchers):
        assert watch(watcher, name(f"me{number}"), name("ann"), name("bob")) == {"offline": {name("ann"), name("bob")}}
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


@pytest.mark.parametrize("go", [lambda guest: guest.say_goodbye(), lambda guest: guest.close(), lambda guest: guest.reset()],
                         ids=["close frame", "end of stream", "reset"])
def test_W2_however_he_goes(gateway, connect, closing, name, go):
    watcher, guest = connect(), closing(Guest(gateway))
    watch(watcher, name("me"), name("ann"))
    guest.sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    go(guest)
    assert states(watcher.receive()) == {"offline": {name("ann")}}


def test_W2_terminated_users_are_offline(connect, api, name):
    watcher, client = connect(), connect()
    watch(watcher, name("me"), name("ann"))
    client.sign_in(name("ann"))
    assert states(watcher.receive()) == {"online": {name("ann")}}
    assert api.tell(f"users/{name('ann')}/terminate_connections").status == 200
    assert client.closed()[0] == 4009
    assert states(watcher.receive()) == {"offline": {name("ann")}}


def test_W2_only_signing_in_counts(connect, name, channel):
    """Connections, presence and failed attempts say nothing of a user; nor does another application's."""
    watcher, client = connect(), connect()
    watch(watcher, name("me"), name("ann"))
    client.join("presence-" + channel, name("ann"))
    client.send("pusher:signin", {"auth": "key1:x", "user_data": json.dumps({"id": name("ann")})})
    client.expect_error()
    connect(SECOND).sign_in(name("ann"), SECOND)
    watcher.expect_nothing()


def test_W2_all_connections_of_the_watcher_hear_it_and_only_while_they_are_there(connect, name):
    one, other, ann = connect(), connect(), connect()
    watch(one, name("me"), name("ann"))
    watch(other, name("me"), name("ann"))
    ann.sign_in(name("ann"))
    for client in (one, other):
        assert states(client.receive()) == {"online": {name("ann")}}
    one.close()
    ann.close()
    assert states(other.receive()) == {"offline": {name("ann")}}


def test_W2_two_who_watch_each_other(connect, name):
    ann, bob = connect(), connect()
    assert watch(ann, name("ann"), name("bob")) == {"offline": {name("bob")}}
    assert watch(bob, name("bob"), name("ann")) == {"online": {name("ann")}}
    assert states(ann.receive()) == {"online": {name("bob")}}
    ann.close()
    assert states(bob.receive()) == {"offline": {name("ann")}}


@pytest.mark.parametrize("gateway", [1, 4], indirect=True, ids="loops={}".format)
def test_W2_many_at_once_come_and_go_in_turn(gateway, connect, name):
    """Whatever happens at once, every watcher hears each user go online and offline in turn, and all hear the same."""
    users = [name(f"u{number}") for number in range(3)]
    watchers, start = [connect() for _ in range(3)], threading.Barrier(5)
    for number, watcher in enumerate(watchers):
        assert watch(watcher, name(f"me{number}"), *users) == {"offline": set(users)}

    def run(seed: int) -> None:
        random = Random(seed)
        start.wait()
        for _ in range(30):
            guest = Guest(gateway)
            guest.sign_in(random.choice(users))
            random.choice([guest.close, guest.reset, guest.say_goodbye])()

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(run, range(5)))
    heard, deadline = [], time.monotonic() + PATIENCE
    for watcher in watchers:
        online, order = set(), []
        # That the last ones were cut off may be noticed late, but it is noticed.
        while online or not order:
            assert time.monotonic() < deadline, f"still online: {online}"
            for message in watcher.until_pong():
                for state, changed in states(message).items():
                    assert not changed & online if state == "online" else changed <= online, (state, changed, online)
                    online ^= changed
                    order.append((state, sorted(changed)))
        heard.append(order)
    assert heard[0] == heard[1] == heard[2]


def test_W3_of_more_than_100_the_first_100_count(connect, name):
    watcher, users = connect(), [name(f"u{number}") for number in range(101)]
    connect().sign_in(users[99])
    connect().sign_in(users[100])
    user_data = json.dumps({"id": name("me"), "watchlist": users})
    watcher.ask_to_sign_in(user_data)
    messages = {message["event"]: message for message in watcher.until_pong()}
    assert messages.keys() == {"pusher:signin_success", "pusher:error", EVENT}
    assert messages["pusher:error"]["data"]["code"] == 4302
    assert states(messages[EVENT]) == {"online": {users[99]}, "offline": set(users[:99])}
    connect().sign_in(users[0])
    assert states(watcher.receive()) == {"online": {users[0]}}


def test_W3_100_are_taken_without_an_error(connect, name):
    users = [name(f"u{number}") for number in range(100)]
    client = connect()
    assert watch(client, name("me"), *users) == {"offline": set(users)}
    client.expect_nothing()


def test_W1_an_unsigned_watchlist_is_none(connect, name):
    client, user_data = connect(), json.dumps({"id": name("me")})
    longer = json.dumps({"id": name("me"), "watchlist": [name("ann")]})
    client.send("pusher:signin", {"auth": FIRST.user_auth(client.socket_id, user_data), "user_data": longer})
    client.expect_code(4009)
    client.expect_nothing()
