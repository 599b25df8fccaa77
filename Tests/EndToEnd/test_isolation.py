"""S9 and publishing to several channels: who hears what, and who must not."""

import pytest

from harness.api import event_body, signed_target
from harness.apps import DISABLED, FIRST, SECOND

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)


def test_S9_applications_never_meet(connect, api_of, channel):
    ours, theirs = [connect() for _ in range(4)], [connect(SECOND) for _ in range(4)]
    for client in ours + theirs:
        client.subscribe(channel)
    api_of(FIRST).publish(channel, "ours")
    api_of(SECOND).publish(channel, "theirs")
    api_of(FIRST).publish(channel, "ours-too")
    for client in ours:
        client.expect("ours")
        client.expect("ours-too")
        client.expect_nothing()
    for client in theirs:
        client.expect("theirs")
        client.expect_nothing()


def test_S9_nor_do_their_private_channels(connect, api_of, channel):
    name = "private-" + channel
    ours, theirs = connect(), connect(SECOND)
    ours.subscribe_private(name)
    theirs.subscribe_private(name, SECOND)
    api_of(SECOND).publish(name, "theirs")
    api_of(FIRST).publish(name, "ours")
    ours.expect("ours")
    theirs.expect("theirs")


def test_S9_a_key_opens_its_own_application_only(connect, api, api_of, channel):
    client = connect()
    client.subscribe(channel)
    body = event_body(channel, "forged")
    for app in (SECOND, DISABLED):
        answer = api_of(SECOND).call("POST", signed_target(app, "POST", "/apps/1001/events", body), body)
        assert answer.status in (400, 401, 403, 404), answer
    api.publish(channel, "genuine")
    client.expect("genuine")


def test_S9_ending_in_one_application_does_not_end_in_the_other(connect, api_of, channel):
    ours, theirs = connect(), connect(SECOND)
    ours.subscribe(channel)
    theirs.subscribe(channel)
    theirs.unsubscribe(channel)
    api_of(FIRST).publish(channel, "ours")
    ours.expect("ours")


def test_several_channels_in_one_publish(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(4)]
    everything, listeners = [connect() for _ in range(3)], [connect() for _ in names]
    for client in everything:
        for name in names:
            client.subscribe(name)
    for client, name in zip(listeners, names):
        client.subscribe(name)
    api.publish(names[:3], "first", "x")
    api.publish(names, "second", "y")
    for client in everything:
        assert {client.expect("first", data="x")["channel"] for _ in range(3)} == set(names[:3])
        assert {client.expect("second", data="y")["channel"] for _ in range(4)} == set(names)
        client.expect_nothing()
    for client, name in zip(listeners, names):
        if name in names[:3]:
            client.expect("first", channel=name)
        client.expect("second", channel=name)
        client.expect_nothing()


def test_exclusion_holds_for_every_channel_of_a_publish(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(3)]
    clients = [connect() for _ in range(4)]
    for client in clients:
        for name in names:
            client.subscribe(name)
    api.publish(names, "spared", socket_id=clients[0].socket_id)
    api.publish(names[0], "fence")
    clients[0].expect("fence")
    for client in clients[1:]:
        assert {client.expect("spared")["channel"] for _ in names} == set(names)
        client.expect("fence")


def test_a_hundred_channels_in_one_publish(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(100)]
    clients = [connect() for _ in range(4)]
    for index, client in enumerate(clients):
        for name in names[index::4]:
            client.subscribe(name)
    api.publish(names)
    for index, client in enumerate(clients):
        assert {client.expect("event")["channel"] for _ in range(25)} == set(names[index::4])
        client.expect_nothing()


def test_nobody_listening_is_fine(api, channel):
    api.publish(channel)
    api.publish([channel + "-1", channel + "-2"])
