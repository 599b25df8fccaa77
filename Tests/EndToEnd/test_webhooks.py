"""V1–V9: what backends are told."""

import contextlib
import json
import time

import pusher
import pytest

from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.fleet import SECTIONS, fresh
from harness.guest import Guest
from harness.receiver import Receiver, webhook

# The endpoints of the module's gateway, by what they want to hear.
ENDPOINTS = {
    "/all": {}, "/occupancy": {"events": ["channel_occupied", "channel_vacated"]}, "/vacated": {"events": ["channel_vacated"]},
    "/members": {"events": ["member_added", "member_removed"]}, "/clients": {"events": ["client_event"]},
    "/misses": {"events": ["cache_miss"]}, "/counts": {"events": ["subscription_count"]}, "/batch": {"batch": True},
}


@pytest.fixture(scope="module")
def receiver():
    with contextlib.closing(Receiver()) as receiver:
        yield receiver


@pytest.fixture(scope="module")
def module_settings(receiver) -> dict:
    webhooks = [webhook(receiver.url + path, **more) for path, more in ENDPOINTS.items()]
    return {"sections": SECTIONS, "first": {"client_events": True, "subscription_counts": True, "webhooks": webhooks}}


def enter(client: Client, channel: str) -> None:
    """Subscribes where subscribers are told their number."""
    client.ask_for(channel)
    client.expect("pusher_internal:subscription_succeeded", channel=channel)
    client.expect("pusher_internal:subscription_count", channel=channel)


# What is told


def test_V1_V2_V3_the_first_subscriber(receiver, connect, channel):
    start = time.time()
    enter(connect(), channel)
    receiver.hear("/occupancy", channel, "channel_occupied")
    post = next(post for post in receiver.history["/occupancy"] if channel.encode() in post.body)
    body = json.loads(post.body)
    assert body == {"time_ms": body["time_ms"], "events": [{"name": "channel_occupied", "channel": channel}]}
    assert start - 1 <= body["time_ms"] / 1000 <= time.time() + 1
    assert post.headers["x-pusher-key"] == FIRST.key


def test_V3_the_official_library_accepts_it(receiver, connect, channel):
    enter(connect(), channel)
    receiver.hear("/all", channel, "channel_occupied")
    post = next(post for post in receiver.history["/all"] if channel.encode() in post.body)
    backend = pusher.Pusher(app_id=FIRST.id, key=FIRST.key, secret=FIRST.secret)
    said = backend.validate_webhook(post.headers["x-pusher-key"], post.headers["x-pusher-signature"], post.body.decode())
    assert said["events"] == [{"name": "channel_occupied", "channel": channel}]


def test_V1_a_second_subscriber_is_no_news(receiver, connect, channel):
    one, other = connect(), connect()
    enter(one, channel)
    enter(other, channel)
    other.unsubscribe(channel)
    one.send("pusher:unsubscribe", {"channel": channel})
    receiver.hear("/occupancy", channel, "channel_occupied")
    receiver.hear("/occupancy", channel, "channel_vacated")
    assert receiver.silent("/occupancy", channel)


def test_V4_V5_the_last_one_has_been_gone_for_three_seconds(receiver, connect, channel):
    client = connect()
    enter(client, channel)
    start = time.monotonic()
    client.unsubscribe(channel)
    receiver.hear("/vacated", channel, "channel_vacated")
    assert 2.9 < time.monotonic() - start < 6


@pytest.mark.parametrize("end", ["close", "reset", "terminate"])
def test_V4_V6_who_is_lost_has_gone(gateway, receiver, closing, api, channel, end):
    room, user = "presence-" + channel, fresh("u")
    guest = closing(Guest(gateway))
    guest.sign_in(user)
    guest.subscribe(channel)
    guest.join(room, user)
    {"close": guest.close, "reset": guest.reset,
     "terminate": lambda: api.tell(f"users/{user}/terminate_connections")}[end]()
    receiver.hear("/vacated", channel, "channel_vacated")
    receiver.hear("/members", room, "member_added", user_id=user)
    receiver.hear("/members", room, "member_removed", user_id=user)
    receiver.hear("/vacated", room, "channel_vacated")


def test_V5_who_is_back_in_time_was_never_away(receiver, connect, channel):
    room, marker = "presence-" + channel, fresh("marker-")
    client = connect()
    enter(client, channel)
    client.join(room, "anna")
    client.unsubscribe(channel)
    client.unsubscribe(room)
    enter(client, channel)
    client.join(room, "anna")
    # What is vacated later is told later: by then the others would have been.
    enter(client, marker)
    client.unsubscribe(marker)
    receiver.hear("/occupancy", marker, "channel_occupied")
    receiver.hear("/occupancy", marker, "channel_vacated")
    receiver.hear("/vacated", marker, "channel_vacated")
    receiver.hear("/occupancy", channel, "channel_occupied")
    receiver.hear("/members", room, "member_added", user_id="anna")
    assert receiver.silent("/occupancy", channel) and receiver.silent("/vacated", channel)
    assert receiver.silent("/members", room)


def test_V6_members_are_users_not_connections(receiver, connect, channel):
    room = "presence-" + channel
    one, other, third = connect(), connect(), connect()
    one.join(room, "anna")
    other.join(room, "anna")
    third.join(room, "bert")
    other.close()
    one.send("pusher:unsubscribe", {"channel": room})
    receiver.hear("/members", room, "member_added", user_id="anna")
    receiver.hear("/members", room, "member_added", user_id="bert")
    receiver.hear("/members", room, "member_removed", user_id="anna")
    assert receiver.silent("/members", room)


def test_V7_a_client_event(receiver, connect, channel):
    room, name = "presence-" + channel, "private-" + channel
    one, other = connect(), connect()
    one.join(room, "anna")
    other.join(room, "bert")
    one.expect_added(room, "bert")
    one.send("client-typing", {"x": "ü\"\\"}, channel=room)
    data = other.expect("client-typing", channel=room)["data"]
    receiver.hear("/clients", room, "client_event", event="client-typing", data=data, socket_id=one.socket_id, user_id="anna")
    one.ask_for(name, auth=FIRST.auth(one.socket_id, name))
    one.expect("pusher_internal:subscription_succeeded")
    one.expect_count(name, 1)
    one.send("client-typing", "text", channel=name)
    receiver.hear("/clients", name, "client_event", event="client-typing", data="text", socket_id=one.socket_id)


def test_V7_a_refused_client_event_is_not_told(receiver, connect, channel):
    name = "private-" + channel
    one, other = connect(), connect()
    one.ask_for(name, auth=FIRST.auth(one.socket_id, name))
    one.expect("pusher_internal:subscription_succeeded")
    one.expect_count(name, 1)
    other.send("client-a", "from outside", channel=name)
    other.expect_error()
    one.send("client-b", "from inside", channel=name)
    receiver.hear("/clients", name, "client_event", event="client-b", data="from inside", socket_id=one.socket_id)


def test_V8_a_cache_miss(receiver, connect, api, channel):
    name = "cache-" + channel
    one, other = connect(), connect()
    one.ask_for(name)
    receiver.hear("/misses", name, "cache_miss")
    api.publish(name, "remembered")
    other.subscribe(name)
    other.until_pong()
    marker = "cache-" + fresh("marker-")
    other.ask_for(marker)
    receiver.hear("/misses", marker, "cache_miss")
    assert receiver.silent("/misses", name)


def test_V9_subscription_counts(receiver, connect, channel):
    one, other = connect(), connect()
    enter(one, channel)
    enter(other, channel)
    other.close()
    for number in (1, 2, 1):
        receiver.hear("/counts", channel, "subscription_count", subscription_count=number)


def test_an_endpoint_without_a_list_hears_everything_in_order(receiver, connect, channel):
    name = "presence-cache-" + channel
    client = connect()
    client.ask_to_join(name, json.dumps({"user_id": "anna"}))
    client.until_pong()
    client.send("client-e", "d", channel=name)
    client.until_pong()
    client.close()
    for event, more in [("channel_occupied", {}), ("cache_miss", {}), ("member_added", {"user_id": "anna"}),
                        ("client_event", {"event": "client-e", "data": "d", "socket_id": client.socket_id, "user_id": "anna"}),
                        ("member_removed", {"user_id": "anna"}), ("channel_vacated", {})]:
        receiver.hear("/all", name, event, **more)


def test_others_endpoints_hear_nothing_of_it(receiver, connect, channel):
    enter(connect(), channel)
    receiver.hear("/all", channel, "channel_occupied")
    receiver.hear("/all", channel, "subscription_count", subscription_count=1)
    for path in ("/members", "/clients", "/misses", "/vacated"):
        assert receiver.silent(path, channel), path


def test_another_applications_backend_hears_nothing(receiver, connect, channel):
    connect(SECOND).subscribe(channel)
    marker = fresh("marker-")
    enter(connect(), marker)
    receiver.hear("/occupancy", marker, "channel_occupied")
    assert receiver.silent("/occupancy", channel)


def test_a_users_own_channel_is_nobodys_business(receiver, connect):
    client, user, marker = connect(), fresh("u"), fresh("marker-")
    client.sign_in(user)
    client.ask_for(f"#server-to-user-{user}")
    client.until_pong()
    enter(client, marker)
    receiver.hear("/occupancy", marker, "channel_occupied")
    assert receiver.silent("/occupancy", f"#server-to-user-{user}")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_V1_V4_occupied_and_vacated_take_turns(gateway, receiver, closing, channel):
    """Many come and go at once, on all loops: what their backend hears must still be possible, and end with the truth."""
    guests = [closing(Guest(gateway)) for _ in range(12)]
    for _ in range(15):
        for guest in guests:
            guest.say("pusher:subscribe", {"channel": channel})
        for guest in guests:
            guest.say("pusher:unsubscribe", {"channel": channel})
    for guest in guests:
        guest.until_pong()
    receiver.hear("/occupancy", channel, "channel_occupied")
    receiver.hear("/occupancy", channel, "channel_vacated")
    assert receiver.silent("/occupancy", channel)
    counts = []
    while not receiver.silent("/counts", channel):
        counts.append(receiver._next(receiver.events["/counts", channel], "a count")["subscription_count"])
    assert all(abs(one - other) == 1 or other == 1 for one, other in zip(counts, counts[1:])), counts


# The fleet


def test_twins_are_two_channels(receiver, fleet):
    driver = fleet.driver()
    own = f"driver-{driver.subject}"
    client = fleet.signed_in(driver)
    client.ask_for(own)
    receiver.hear("/occupancy", own, "channel_occupied")
    client.until_pong()
    answer = driver.channel_auth(client.socket_id, f"private-{own}")
    client.ask_for(f"private-{own}", **answer.json())
    receiver.hear("/occupancy", f"private-{own}", "channel_occupied")
    assert receiver.silent("/occupancy", own)


def test_who_loses_a_job_leaves_its_channels(receiver, fleet):
    admin, driver, code = fleet.admin(), fleet.driver(), fresh("o")
    admin.assign(code, driver.subject, bookingReference=code)
    client = fleet.listen(driver)
    client.ask_for(f"private-tracking-{code}", **driver.channel_auth(client.socket_id, f"private-tracking-{code}").json())
    receiver.hear("/occupancy", f"private-tracking-{code}", "channel_occupied")
    admin.assign(code, fresh("d"))
    receiver.hear("/occupancy", f"private-tracking-{code}", "channel_vacated")


# Batches


def test_V2_batches(receiver, gateway, closing, channel):
    """What happens within a second goes together, in order; otherwise each event is a request."""
    guest, names = closing(Guest(gateway)), [f"{channel}-{number}" for number in range(30)]
    for name in names:
        guest.say("pusher:subscribe", {"channel": name})
    guest.until_pong()
    for name in names:
        receiver.hear("/batch", name, "channel_occupied")
        receiver.hear("/all", name, "channel_occupied")
    ours = [post for post in receiver.history["/batch"] if channel.encode() in post.body]
    assert len(ours) <= 5 and all(len(post.events) <= 100 for post in ours), len(ours)
    said = [event["channel"] for post in ours for event in post.events
            if event["name"] == "channel_occupied" and event["channel"] in names]
    assert said == names
    for path in ENDPOINTS.keys() - {"/batch"}:
        assert all(len(post.events) == 1 for post in receiver.history[path]), path
