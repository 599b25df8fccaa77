"""S10–S12: private channels."""

import pytest

from harness.apps import FIRST, SECOND


@pytest.fixture(params=["private-", "private-encrypted-"])
def private(request, channel):
    return request.param + channel


def test_S10_signed_subscription_receives_events(connect, api, private):
    client = connect()
    client.subscribe_private(private)
    api.publish(private, "secret", "for members")
    client.expect("secret", channel=private, data="for members")


def test_S10_subscribing_again_after_unsubscribing_succeeds(connect, api, private):
    client = connect()
    client.subscribe_private(private)
    client.unsubscribe(private)
    client.subscribe_private(private)
    api.publish(private, "secret")
    client.expect("secret")


def test_S10_second_subscription_is_an_error(connect, private):
    client = connect()
    client.subscribe_private(private)
    client.send_subscribe(private, auth=FIRST.auth(client.socket_id, private))
    client.expect_error(f"Existing subscription to channel {private}")


@pytest.mark.parametrize("data", ['{"user_id":"7"}', "my-data", ""])
def test_S10_signed_channel_data_is_accepted(connect, api, private, data):
    """The official server SDKs sign the data of any channel if they are given some."""
    client = connect()
    client.subscribe(private, auth=FIRST.auth(client.socket_id, private, data), channel_data=data)
    api.publish(private, "secret")
    client.expect("secret")


def test_S10_signed_channel_data_must_be_sent_as_it_was_signed(connect, private):
    client = connect()
    for fields in ({}, {"channel_data": "b"}, {"channel_data": ["a"]}):
        client.send_subscribe(private, auth=FIRST.auth(client.socket_id, private, "a"), **fields)
        client.expect_rejection(private)
    client.subscribe(private, auth=FIRST.auth(client.socket_id, private), channel_data="unsigned")


def test_S10_what_a_channel_does_not_need_is_ignored(connect, private, channel):
    client = connect()
    client.subscribe(private, auth=FIRST.auth(client.socket_id, private), channel_data={"user_id": "7"})
    for number, more in enumerate(({"auth": {}}, {"auth": False}, {"channel_data": {"user_id": "7"}},
                                   {"auth": 1, "channel_data": [2]})):
        client.subscribe(f"{channel}-{number}", **more)


INVALID_SIGNATURES = {
    "empty": lambda client, name: "",
    "no key": lambda client, name: FIRST.auth(client.socket_id, name).partition(":")[2],
    "no signature": lambda client, name: FIRST.key + ":",
    "no colon": lambda client, name: FIRST.key,
    "a colon": lambda client, name: ":",
    "another key": lambda client, name: "key2:"
    + FIRST.auth(client.socket_id, name).partition(":")[2],
    "another application": lambda client, name: SECOND.auth(client.socket_id, name),
    "another application's secret": lambda client, name: "key1:"
    + SECOND.auth(client.socket_id, name).partition(":")[2],
    "another channel": lambda client, name: FIRST.auth(client.socket_id, name + "x"),
    "another socket": lambda client, name: FIRST.auth("1.1", name),
    "a public name": lambda client, name: FIRST.auth(
        client.socket_id, name.removeprefix("private-")),
    "cut": lambda client, name: FIRST.auth(client.socket_id, name)[:-1],
    "longer": lambda client, name: FIRST.auth(client.socket_id, name) + "0",
    "upper case": lambda client, name: FIRST.key + ":"
    + FIRST.auth(client.socket_id, name).partition(":")[2].upper(),
    "zeros": lambda client, name: FIRST.key + ":" + "0" * 64,
    "no hex": lambda client, name: FIRST.key + ":" + "é" * 64,
    "null": lambda client, name: None,
    "a number": lambda client, name: 1,
    "an object": lambda client, name: {"auth": FIRST.auth(client.socket_id, name)},
    "a list": lambda client, name: [FIRST.auth(client.socket_id, name)],
}


def assert_not_subscribed(client, api, name) -> None:
    fence = name.removeprefix("private-").removeprefix("encrypted-")
    client.subscribe(fence)
    api.publish(name, "secret")
    api.publish(fence, "fence")
    client.expect("fence")
    client.send("pusher:unsubscribe", {"channel": name})
    client.expect_error(f"No current subscription to channel {name}, or subscription in progress")


@pytest.mark.parametrize("auth", INVALID_SIGNATURES.values(), ids=INVALID_SIGNATURES)
def test_S11_invalid_signature_is_an_error_and_keeps_the_connection(connect, api, private, auth):
    client = connect()
    client.send_subscribe(private, auth=auth(client, private))
    client.expect_rejection(private)
    assert_not_subscribed(client, api, private)


def test_S11_missing_signature_is_rejected(connect, api, private):
    client = connect()
    client.send_subscribe(private)
    client.expect_rejection(private)
    assert_not_subscribed(client, api, private)


def test_S11_subscribing_again_after_a_rejection_succeeds(connect, api, private):
    client = connect()
    client.send_subscribe(private, auth="key1:nonsense")
    client.expect_rejection(private)
    client.subscribe_private(private)
    api.publish(private, "secret")
    client.expect("secret")


def test_S11_signature_is_valid_for_one_connection(connect, private):
    one, other = connect(), connect()
    auth = FIRST.auth(one.socket_id, private)
    other.send_subscribe(private, auth=auth)
    other.expect_rejection(private)
    one.subscribe(private, auth=auth)


def test_S12_encrypted_payload_is_unchanged(connect, api, channel):
    client = connect()
    name = "private-encrypted-" + channel
    client.subscribe_private(name)
    payload = ('{"nonce":"4sVYwy4j/8dCcjyxtPCWyk19GaaViaW9",'
               '"ciphertext":"/GMESnFGlbNn01BuBjp31XYa3i9vZsGKR8fgR9EDhXKx3lzGiUD501A="}')
    api.publish(name, "event", payload)
    client.expect("event", channel=name, data=payload)


@pytest.mark.parametrize("name", ["Private-{}", "privat-{}", "x-private-{}", "private_{}"])
def test_only_the_prefix_makes_a_private_channel(connect, channel, name):
    connect().subscribe(name.format(channel))
