"""V1–V9: webhook events."""

import contextlib
import json
import time

import pusher
import pytest

from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.fleet import SECTIONS, unique_id
from harness.raw_client import RawClient
from harness.webhook_receiver import WebhookReceiver, webhook

# The endpoints of the module's gateway, with their event filters.
ENDPOINTS = {
    "/all": {}, "/occupancy": {"events": ["channel_occupied", "channel_vacated"]},
    "/vacated": {"events": ["channel_vacated"]},
    "/members": {"events": ["member_added", "member_removed"]},
    "/clients": {"events": ["client_event"]},
    "/misses": {"events": ["cache_miss"]}, "/counts": {"events": ["subscription_count"]},
    "/batch": {"batch": True},
}


@pytest.fixture(scope="module")
def receiver():
    with contextlib.closing(WebhookReceiver()) as receiver:
        yield receiver


@pytest.fixture(scope="module")
def module_settings(receiver) -> dict:
    webhooks = [webhook(receiver.url + path, **more) for path, more in ENDPOINTS.items()]
    return {"sections": SECTIONS,
            "first": {"client_events": True, "subscription_counts": True, "webhooks": webhooks}}


def enter(client: Client, channel: str) -> None:
    """Subscribes to a channel of an application that sends subscription counts."""
    client.send_subscribe(channel)
    client.expect("pusher_internal:subscription_succeeded", channel=channel)
    client.expect("pusher_internal:subscription_count", channel=channel)


# Events


def test_V1_V2_V3_first_subscriber_sends_channel_occupied(receiver, connect, channel):
    start = time.time()
    enter(connect(), channel)
    receiver.expect_event("/occupancy", channel, "channel_occupied")
    post = next(post for post in receiver.history["/occupancy"] if channel.encode() in post.body)
    body = json.loads(post.body)
    assert body == {"time_ms": body["time_ms"],
                    "events": [{"name": "channel_occupied", "channel": channel}]}
    assert start - 1 <= body["time_ms"] / 1000 <= time.time() + 1
    assert post.headers["x-pusher-key"] == FIRST.key


def test_V3_official_library_validates_the_signature(receiver, connect, channel):
    enter(connect(), channel)
    receiver.expect_event("/all", channel, "channel_occupied")
    post = next(post for post in receiver.history["/all"] if channel.encode() in post.body)
    backend = pusher.Pusher(app_id=FIRST.id, key=FIRST.key, secret=FIRST.secret)
    received = backend.validate_webhook(post.headers["x-pusher-key"],
                                        post.headers["x-pusher-signature"], post.body.decode())
    assert received["events"] == [{"name": "channel_occupied", "channel": channel}]


def test_V1_second_subscriber_sends_no_event(receiver, connect, channel):
    one, other = connect(), connect()
    enter(one, channel)
    enter(other, channel)
    other.unsubscribe(channel)
    one.send("pusher:unsubscribe", {"channel": channel})
    receiver.expect_event("/occupancy", channel, "channel_occupied")
    receiver.expect_event("/occupancy", channel, "channel_vacated")
    assert receiver.has_no_events("/occupancy", channel)


def test_V4_V5_channel_vacated_after_three_seconds(receiver, connect, channel):
    client = connect()
    enter(client, channel)
    start = time.monotonic()
    client.unsubscribe(channel)
    receiver.expect_event("/vacated", channel, "channel_vacated")
    assert 2.9 < time.monotonic() - start < 6


@pytest.mark.parametrize("end", ["close", "reset", "terminate"])
def test_V4_V6_lost_connections_vacate_and_remove(gateway, receiver, closing, api, channel, end):
    room, user = "presence-" + channel, unique_id("u")
    raw_client = closing(RawClient(gateway))
    raw_client.sign_in(user)
    raw_client.subscribe(channel)
    raw_client.join(room, user)
    {"close": raw_client.close, "reset": raw_client.reset,
     "terminate": lambda: api.post_signed(f"users/{user}/terminate_connections")}[end]()
    receiver.expect_event("/vacated", channel, "channel_vacated")
    receiver.expect_event("/members", room, "member_added", user_id=user)
    receiver.expect_event("/members", room, "member_removed", user_id=user)
    receiver.expect_event("/vacated", room, "channel_vacated")


def test_V5_returning_in_time_sends_no_event(receiver, connect, channel):
    room, marker = "presence-" + channel, unique_id("marker-")
    client = connect()
    enter(client, channel)
    client.join(room, "anna")
    client.unsubscribe(channel)
    client.unsubscribe(room)
    enter(client, channel)
    client.join(room, "anna")
    # The marker is vacated later: events of the other channels would have arrived before it.
    enter(client, marker)
    client.unsubscribe(marker)
    receiver.expect_event("/occupancy", marker, "channel_occupied")
    receiver.expect_event("/occupancy", marker, "channel_vacated")
    receiver.expect_event("/vacated", marker, "channel_vacated")
    receiver.expect_event("/occupancy", channel, "channel_occupied")
    receiver.expect_event("/members", room, "member_added", user_id="anna")
    assert (receiver.has_no_events("/occupancy", channel)
            and receiver.has_no_events("/vacated", channel))
    assert receiver.has_no_events("/members", room)


def test_V6_members_are_users_not_connections(receiver, connect, channel):
    room = "presence-" + channel
    one, other, third = connect(), connect(), connect()
    one.join(room, "anna")
    other.join(room, "anna")
    third.join(room, "bert")
    other.close()
    one.send("pusher:unsubscribe", {"channel": room})
    receiver.expect_event("/members", room, "member_added", user_id="anna")
    receiver.expect_event("/members", room, "member_added", user_id="bert")
    receiver.expect_event("/members", room, "member_removed", user_id="anna")
    assert receiver.has_no_events("/members", room)


def test_V7_client_event_has_data_and_sender(receiver, connect, channel):
    room, name = "presence-" + channel, "private-" + channel
    one, other = connect(), connect()
    one.join(room, "anna")
    other.join(room, "bert")
    one.expect_member_added(room, "bert")
    one.send("client-typing", {"x": "ü\"\\"}, channel=room)
    data = other.expect("client-typing", channel=room)["data"]
    receiver.expect_event("/clients", room, "client_event", event="client-typing", data=data,
                          socket_id=one.socket_id, user_id="anna")
    one.send_subscribe(name, auth=FIRST.auth(one.socket_id, name))
    one.expect("pusher_internal:subscription_succeeded")
    one.expect_count(name, 1)
    one.send("client-typing", "text", channel=name)
    receiver.expect_event("/clients", name, "client_event", event="client-typing", data="text",
                          socket_id=one.socket_id)


def test_V7_rejected_client_event_is_not_sent(receiver, connect, channel):
    name = "private-" + channel
    one, other = connect(), connect()
    one.send_subscribe(name, auth=FIRST.auth(one.socket_id, name))
    one.expect("pusher_internal:subscription_succeeded")
    one.expect_count(name, 1)
    other.send("client-a", "from outside", channel=name)
    other.expect_error()
    one.send("client-b", "from inside", channel=name)
    receiver.expect_event("/clients", name, "client_event", event="client-b", data="from inside",
                          socket_id=one.socket_id)


def test_V8_subscription_to_an_empty_cache_sends_cache_miss(receiver, connect, api, channel):
    name = "cache-" + channel
    one, other = connect(), connect()
    one.send_subscribe(name)
    receiver.expect_event("/misses", name, "cache_miss")
    api.publish(name, "remembered")
    other.subscribe(name)
    other.receive_until_pong()
    marker = "cache-" + unique_id("marker-")
    other.send_subscribe(marker)
    receiver.expect_event("/misses", marker, "cache_miss")
    assert receiver.has_no_events("/misses", name)


def test_V9_each_subscription_count_is_sent(receiver, connect, channel):
    one, other = connect(), connect()
    enter(one, channel)
    enter(other, channel)
    other.close()
    for number in (1, 2, 1):
        receiver.expect_event("/counts", channel, "subscription_count", subscription_count=number)


def test_endpoint_without_filter_receives_all_events_in_order(receiver, connect, channel):
    name = "presence-cache-" + channel
    client = connect()
    client.send_presence_subscribe(name, json.dumps({"user_id": "anna"}))
    client.receive_until_pong()
    client.send("client-e", "d", channel=name)
    client.receive_until_pong()
    client.close()
    for event, more in [("channel_occupied", {}), ("cache_miss", {}),
                        ("member_added", {"user_id": "anna"}),
                        ("client_event", {"event": "client-e", "data": "d",
                                          "socket_id": client.socket_id, "user_id": "anna"}),
                        ("member_removed", {"user_id": "anna"}), ("channel_vacated", {})]:
        receiver.expect_event("/all", name, event, **more)


def test_filtered_endpoints_receive_no_other_events(receiver, connect, channel):
    enter(connect(), channel)
    receiver.expect_event("/all", channel, "channel_occupied")
    receiver.expect_event("/all", channel, "subscription_count", subscription_count=1)
    for path in ("/members", "/clients", "/misses", "/vacated"):
        assert receiver.has_no_events(path, channel), path


def test_other_applications_receive_nothing(receiver, connect, channel):
    connect(SECOND).subscribe(channel)
    marker = unique_id("marker-")
    enter(connect(), marker)
    receiver.expect_event("/occupancy", marker, "channel_occupied")
    assert receiver.has_no_events("/occupancy", channel)


def test_server_to_user_channels_send_no_webhooks(receiver, connect):
    client, user, marker = connect(), unique_id("u"), unique_id("marker-")
    client.sign_in(user)
    client.send_subscribe(f"#server-to-user-{user}")
    client.receive_until_pong()
    enter(client, marker)
    receiver.expect_event("/occupancy", marker, "channel_occupied")
    assert receiver.has_no_events("/occupancy", f"#server-to-user-{user}")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_V1_V4_occupied_and_vacated_alternate(gateway, receiver, closing, channel):
    """Many clients subscribe and unsubscribe concurrently on all loops: the events must alternate
    and the last one must match the final state.
    """
    raw_clients = [closing(RawClient(gateway)) for _ in range(12)]
    for _ in range(15):
        for raw_client in raw_clients:
            raw_client.send_event("pusher:subscribe", {"channel": channel})
        for raw_client in raw_clients:
            raw_client.send_event("pusher:unsubscribe", {"channel": channel})
    for raw_client in raw_clients:
        raw_client.receive_until_pong()
    receiver.expect_event("/occupancy", channel, "channel_occupied")
    receiver.expect_event("/occupancy", channel, "channel_vacated")
    assert receiver.has_no_events("/occupancy", channel)
    counts = []
    while not receiver.has_no_events("/counts", channel):
        counts.append(
            receiver.events["/counts", channel].get_nowait()["subscription_count"])
    assert all(abs(one - other) == 1 or other == 1
               for one, other in zip(counts, counts[1:])), counts


# The fleet


def test_plain_and_private_channel_are_two_channels(receiver, fleet):
    driver = fleet.driver()
    own = f"driver-{driver.subject}"
    client = fleet.signed_in(driver)
    client.send_subscribe(own)
    receiver.expect_event("/occupancy", own, "channel_occupied")
    client.receive_until_pong()
    response = driver.channel_auth(client.socket_id, f"private-{own}")
    client.send_subscribe(f"private-{own}", **response.json())
    receiver.expect_event("/occupancy", f"private-{own}", "channel_occupied")
    assert receiver.has_no_events("/occupancy", own)


def test_losing_a_job_vacates_its_channels(receiver, fleet):
    admin, driver, code = fleet.admin(), fleet.driver(), unique_id("o")
    admin.assign(code, driver.subject, bookingReference=code)
    client = fleet.listen(driver)
    client.send_subscribe(f"private-tracking-{code}",
                          **driver.channel_auth(client.socket_id,
                                                f"private-tracking-{code}").json())
    receiver.expect_event("/occupancy", f"private-tracking-{code}", "channel_occupied")
    admin.assign(code, unique_id("d"))
    receiver.expect_event("/occupancy", f"private-tracking-{code}", "channel_vacated")


# Batches


def test_V2_batches_contain_events_of_one_second(receiver, gateway, closing, channel):
    """A batch endpoint gets the events of a second together, in order; others one request per
    event.
    """
    raw_client, names = closing(RawClient(gateway)), [f"{channel}-{number}" for number in range(30)]
    for name in names:
        raw_client.send_event("pusher:subscribe", {"channel": name})
    raw_client.receive_until_pong()
    for name in names:
        receiver.expect_event("/batch", name, "channel_occupied")
        receiver.expect_event("/all", name, "channel_occupied")
    batches = [post for post in receiver.history["/batch"] if channel.encode() in post.body]
    assert len(batches) <= 5 and all(len(post.events) <= 100 for post in batches), len(batches)
    received = [event["channel"] for post in batches for event in post.events
                if event["name"] == "channel_occupied" and event["channel"] in names]
    assert received == names
    for path in ENDPOINTS.keys() - {"/batch"}:
        assert all(len(post.events) == 1 for post in receiver.history[path]), path
