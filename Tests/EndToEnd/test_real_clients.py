"""Real clients: pysher subscribes, the official server SDK triggers, and the `send` command
publishes.
"""

import json
import queue

import pusher
import pytest

from harness.apps import DISABLED, FIRST, SECOND, TIMEOUT
from harness.gateway import run
from harness.pysher_client import PysherClient


def sdk(gateway, app=FIRST) -> pusher.Pusher:
    return pusher.Pusher(app_id=app.id, key=app.key, secret=app.secret, ssl=False,
                         host=gateway.host, port=gateway.port, timeout=TIMEOUT)


@pytest.fixture
def listener(gateway, closing):
    return closing(PysherClient(gateway))


def subscribe(listener: PysherClient, channel: str, *events: str) -> None:
    """Subscribes to a public or private channel."""
    signed = ({"auth": listener.app.auth(listener.socket_id, channel)}
              if channel.startswith("private-") else {})
    listener.subscribe(channel, *events, **signed)


def send(gateway, channel: str, event: str = "event", data: str = "{}"):
    return run("send", "--config", gateway.config, "--url", gateway.url, "--channel", channel,
               "--event", event, "--data", data)


def test_pysher_receives_on_a_public_channel(gateway, listener, channel):
    subscribe(listener, channel, "greeting")
    assert sdk(gateway).trigger(channel, "greeting", {"hello": "wörld"}) == {}
    name, event, data = listener.next()
    assert (name, event, json.loads(data)) == (channel, "greeting", {"hello": "wörld"})


def test_pysher_receives_on_a_private_channel_signed_by_the_sdk(gateway, listener, channel):
    name = "private-" + channel
    assert sdk(gateway).authenticate(name,
                                     listener.socket_id)["auth"] == FIRST.auth(
        listener.socket_id, name)
    subscribe(listener, name, "secret")
    sdk(gateway).trigger(name, "secret", "plain text")
    assert listener.next() == (name, "secret", "plain text")


def test_pysher_signs_its_own_subscription(gateway, listener, channel):
    name = "private-" + channel
    listener.pusher.subscribe(name).bind("secret", listener.received.put)
    # The response may arrive before pysher is ready for it. Subscribe again: the error proves the
    # subscription.
    errors = queue.Queue()
    listener.pusher.connection.bind("pusher:error", errors.put)
    listener.pusher.connection.send_event("pusher:subscribe",
                                          {"channel": name,
                                           "auth": FIRST.auth(listener.socket_id, name)})
    assert errors.get(timeout=TIMEOUT)["message"] == f"Existing subscription to channel {name}"
    sdk(gateway).trigger(name, "secret", "x")
    assert listener.next() == "x"


def test_sdk_triggers_many_channels(gateway, listener, channel):
    names = [f"{channel}-{number}" for number in range(100)]
    for name in names[::10]:
        subscribe(listener, name, "many")
    sdk(gateway).trigger(names, "many", "x")
    assert {listener.next()[0] for _ in range(10)} == set(names[::10])


def test_sdk_excludes_a_socket_id(gateway, closing, listener, channel):
    other = closing(PysherClient(gateway))
    for each in (listener, other):
        subscribe(each, channel, "said", "fence")
    sdk(gateway).trigger(channel, "said", "x", listener.socket_id)
    sdk(gateway).trigger(channel, "fence", "x")
    assert listener.next()[1] == "fence"
    assert [other.next()[1] for _ in range(2)] == ["said", "fence"]


def test_sdk_events_keep_their_order(gateway, listener, channel):
    subscribe(listener, channel, "count")
    backend = sdk(gateway)
    for number in range(50):
        backend.trigger(channel, "count", str(number))
    assert [listener.next()[2] for _ in range(50)] == [str(number) for number in range(50)]


def test_sdk_raises_on_rejections(gateway, channel):
    wrong = pusher.Pusher(app_id="1001", key="key1", secret="wrong", ssl=False, host=gateway.host,
                          port=gateway.port)
    with pytest.raises(pusher.errors.PusherBadAuth, match="Invalid signature"):
        wrong.trigger(channel, "event", "x")
    with pytest.raises(pusher.errors.PusherForbidden):
        sdk(gateway, DISABLED).trigger(channel, "event", "x")
    with pytest.raises(pusher.errors.PusherBadStatus,
                       match="413: The data content of this event exceeds the allowed maximum"):
        sdk(gateway).trigger(channel, "event", "x" * 10241)
    assert sdk(gateway).trigger(channel, "event", "x") == {}


def test_pysher_unsubscribes(gateway, listener, channel):
    subscribe(listener, channel, "event")
    subscribe(listener, channel + "-other", "fence")
    listener.pusher.connection.send_event("pusher:unsubscribe", {"channel": channel})
    pong = queue.Queue()
    listener.pusher.connection.bind("pusher:pong", pong.put)
    # pysher also pings on connect; that pong arrived earlier, as messages keep their order.
    listener.pusher.connection.send_ping()
    pong.get(timeout=TIMEOUT)
    sdk(gateway).trigger(channel, "event", "x")
    sdk(gateway).trigger(channel + "-other", "fence", "x")
    assert listener.next()[1] == "fence"


def test_sdks_of_two_applications(gateway, closing, listener, channel):
    foreign = closing(PysherClient(gateway, SECOND))
    for each in (listener, foreign):
        subscribe(each, channel, "ours", "foreign")
    sdk(gateway).trigger(channel, "ours", "x")
    sdk(gateway, SECOND).trigger(channel, "foreign", "x")
    assert listener.next()[1] == "ours"
    assert foreign.next()[1] == "foreign"


@pytest.mark.parametrize("data", ["{}", "", "plain", '{"a": "ü \\u0000 🚚"}', "a b\n"], ids=ascii)
def test_send_publishes(gateway, listener, channel, data):
    subscribe(listener, channel, "greeting")
    done = send(gateway, channel, "greeting", data)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "{}", "")
    assert listener.next() == (channel, "greeting", data)


def test_send_to_a_private_channel(gateway, listener, channel):
    subscribe(listener, "private-" + channel, "greeting")
    assert send(gateway, "private-" + channel, "greeting", "x").returncode == 0
    assert listener.next() == ("private-" + channel, "greeting", "x")


@pytest.mark.parametrize("channel, data", [("not a channel", "{}"), ("x", "x" * 10241)],
                         ids=["name", "size"])
def test_send_prints_the_rejection(gateway, channel, data):
    done = send(gateway, channel, data=data)
    assert done.returncode == 1
    assert (done.stdout + done.stderr).strip() not in ("", "{}")


def test_send_uses_no_proxy_for_this_machine(gateway, listener, channel):
    """It would read the event. Nothing listens on port 1."""
    subscribe(listener, channel, "event")
    done = run("send", "--config", gateway.config, "--url", gateway.url, "--channel", channel, "--event", "event",
               "--data", "d", http_proxy="http://127.0.0.1:1", https_proxy="http://127.0.0.1:1")
    assert done.returncode == 0, done
    assert listener.next() == (channel, "event", "d")


def test_send_to_an_unreachable_gateway(gateway):
    """No server listens on port 1."""
    done = run("send", "--config", gateway.config, "--url", "http://127.0.0.1:1", "--channel", "c",
               "--event", "e", "--data", "d")
    assert done.returncode == 1
    assert done.stderr.strip()
