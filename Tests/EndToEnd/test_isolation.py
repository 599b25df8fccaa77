"""S9 and publishing to several channels: isolation of applications and channels."""

import pytest

from harness.api import event_body, signed_target
from harness.apps import DISABLED, FIRST, SECOND

pytestmark = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)


def test_S9_applications_are_isolated(connect, open_api, channel):
    ours, foreign = [connect() for _ in range(4)], [connect(SECOND) for _ in range(4)]
    for client in ours + foreign:
        client.subscribe(channel)
    open_api(FIRST).publish(channel, "ours")
    open_api(SECOND).publish(channel, "foreign")
    open_api(FIRST).publish(channel, "ours-too")
    for client in ours:
        client.expect("ours")
        client.expect("ours-too")
        client.expect_nothing()
    for client in foreign:
        client.expect("foreign")
        client.expect_nothing()


def test_S9_private_channels_are_isolated(connect, open_api, channel):
    name = "private-" + channel
    ours, foreign = connect(), connect(SECOND)
    ours.subscribe_private(name)
    foreign.subscribe_private(name, SECOND)
    open_api(SECOND).publish(name, "foreign")
    open_api(FIRST).publish(name, "ours")
    ours.expect("ours")
    foreign.expect("foreign")


def test_S9_key_is_valid_for_its_application_only(connect, api, open_api, channel):
    client = connect()
    client.subscribe(channel)
    body = event_body(channel, "forged")
    for app in (SECOND, DISABLED):
        response = open_api(SECOND).call("POST",
                                         signed_target(app, "POST", "/apps/1001/events", body),
                                         body)
        assert response.status in (400, 401, 403, 404), response
    api.publish(channel, "genuine")
    client.expect("genuine")


def test_S9_unsubscribing_affects_one_application_only(connect, open_api, channel):
    ours, foreign = connect(), connect(SECOND)
    ours.subscribe(channel)
    foreign.subscribe(channel)
    foreign.unsubscribe(channel)
    open_api(FIRST).publish(channel, "ours")
    ours.expect("ours")


def test_publish_reaches_exactly_the_named_channels(connect, api, channel):
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


def test_exclusion_applies_to_every_channel_of_a_publish(connect, api, channel):
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


def test_publish_reaches_a_hundred_channels(connect, api, channel):
    names = [f"{channel}-{number}" for number in range(100)]
    clients = [connect() for _ in range(4)]
    for index, client in enumerate(clients):
        for name in names[index::4]:
            client.subscribe(name)
    api.publish(names)
    for index, client in enumerate(clients):
        assert {client.expect("event")["channel"] for _ in range(25)} == set(names[index::4])
        client.expect_nothing()


def test_publishing_without_subscribers_succeeds(api, channel):
    api.publish(channel)
    api.publish([channel + "-1", channel + "-2"])
