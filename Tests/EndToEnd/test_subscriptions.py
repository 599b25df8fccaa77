"""S1–S9: subscribing, unsubscribing, channel names."""

import json
import string

import pytest

VALID = string.ascii_letters + string.digits + "_-=@,.;"


def test_S1_subscribing_gets_subscription_succeeded(connect, channel):
    client = connect()
    client.send_subscribe(channel)
    assert client.receive() == {"event": "pusher_internal:subscription_succeeded",
                                "channel": channel, "data": "{}"}


def test_S2_event_has_event_channel_and_data(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    api.publish(channel, "greeting", '{"hello": "world"}')
    assert client.receive() == {"event": "greeting", "channel": channel,
                                "data": '{"hello": "world"}'}


def test_S3_events_of_one_publisher_keep_their_order(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    for number in range(200):
        api.publish(channel, "count", str(number))
    assert [client.expect("count")["data"]
            for _ in range(200)] == [str(number) for number in range(200)]


def test_S4_nothing_is_delivered_after_unsubscribing(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    client.subscribe(channel + "-other")
    client.unsubscribe(channel)
    api.publish(channel)
    api.publish(channel + "-other", "fence")
    client.expect("fence")


def test_S4_subscribing_again_is_allowed(connect, api, channel):
    client = connect()
    for round in range(3):
        client.subscribe(channel)
        api.publish(channel, "event", str(round))
        client.expect("event", data=str(round))
        client.unsubscribe(channel)


def test_S5_second_subscribe_is_an_error_and_one_subscription(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    client.send_subscribe(channel)
    client.expect_error(f"Existing subscription to channel {channel}")
    api.publish(channel, "first")
    api.publish(channel, "second")
    client.expect("first")
    client.expect("second")


def test_S5_one_unsubscribe_ends_a_subscription_requested_twice(connect, api, channel):
    client = connect()
    client.subscribe(channel)
    client.send_subscribe(channel)
    client.expect_error(f"Existing subscription to channel {channel}")
    client.unsubscribe(channel)
    client.subscribe(channel + "-other")
    api.publish(channel)
    api.publish(channel + "-other", "fence")
    client.expect("fence")


def test_S6_unsubscribing_without_subscription_is_an_error(connect, channel):
    client = connect()
    for _ in range(2):
        client.send("pusher:unsubscribe", {"channel": channel})
        client.expect_error(
            f"No current subscription to channel {channel}, or subscription in progress")
    client.subscribe(channel)
    client.unsubscribe(channel)
    client.send("pusher:unsubscribe", {"channel": channel})
    client.expect_error(
        f"No current subscription to channel {channel}, or subscription in progress")
    client.expect_nothing()


def test_S6_subscriptions_are_per_connection(connect, api, channel):
    one, other = connect(), connect()
    one.subscribe(channel)
    other.send("pusher:unsubscribe", {"channel": channel})
    other.expect_error(f"No current subscription to channel {channel}, or subscription in progress")
    api.publish(channel)
    one.expect("event")


def test_S7_connection_may_subscribe_to_many_channels(connect, api, channel):
    client = connect()
    names = [f"{channel}-{number}" for number in range(300)]
    for name in names:
        client.send_subscribe(name)
    for name in names:
        client.expect("pusher_internal:subscription_succeeded", channel=name)
    for name in names[::50]:
        api.publish(name, "event", name)
        client.expect("event", channel=name, data=name)


@pytest.mark.parametrize("name",
                         [VALID, "b" * 200, "my-private-x"],
                         ids=lambda name: name[:16])
def test_S8_valid_names_are_accepted(connect, api, name):
    client = connect()
    client.subscribe(name)
    api.publish(name, "event", "x")
    client.expect("event", channel=name, data="x")


@pytest.mark.parametrize("name",
                         ["", "a" * 5000, "#server-to-user-1", "a\u0000b", 'a"b'],
                         ids=lambda name: ascii(name)[:16])
def test_S8_invalid_names_are_rejected_and_the_connection_stays(connect, name):
    client = connect()
    client.send_subscribe(name)
    client.expect_rejection(name)
    client.expect_nothing()


def test_S8_names_are_case_sensitive(connect, api, channel):
    client = connect()
    client.subscribe(channel.upper())
    api.publish(channel)
    api.publish(channel.upper(), "fence")
    client.expect("fence", channel=channel.upper())


def test_S8_escaped_name_is_the_same_name(connect, api, channel):
    client = connect()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in channel)
    client.send_text('{"event":"pusher:subscribe","data":{"channel":"%s"}}' % escaped)
    client.expect("pusher_internal:subscription_succeeded", channel=channel)
    api.publish(channel)
    client.expect("event", channel=channel)


def test_unknown_fields_white_space_and_order_are_ignored(connect, channel):
    client = connect()
    client.send_text(' {\n"data" : { "x": [1, {"channel": "no"}], "channel" : %s , "auth": "" },\t"more": null, "event"'
                     ': "pusher:subscribe" } ' % json.dumps(channel))
    client.expect("pusher_internal:subscription_succeeded", channel=channel)
