"""pysher on a presence channel, with what it signs itself."""

import json
import queue

import pysher
import pytest

from harness.apps import FIRST, PATIENCE

SETTINGS = {"first": {"client_events": True}}

EVENTS = ["pusher_internal:subscription_succeeded", "pusher_internal:member_added", "pusher_internal:member_removed", "client-said", "greeting"]


class Visitor:
    """A pysher connection of a user; what its channel hears comes in one queue."""

    def __init__(self, gateway, user_id):
        self.heard, connected = queue.Queue(), queue.Queue()
        self.user = {"user_id": user_id, "user_info": {"name": f"ü {user_id}"}}
        self.pusher = pysher.Pusher(FIRST.key, secure=False, custom_host=gateway.host, port=gateway.port, secret=FIRST.secret, user_data=self.user)
        self.pusher.connection.bind("pusher:connection_established", connected.put)
        self.pusher.connect()
        connected.get(timeout=PATIENCE)

    def join(self, name: str) -> None:
        """What `subscribe` of the library does, but the channel is registered before it asks: a quick answer is lost on it otherwise."""
        channel = pysher.channel.Channel(name, self.pusher.connection)
        for event in EVENTS:
            channel.bind(event, lambda data, event=event: self.heard.put((event.removeprefix("pusher_internal:"), data)))
        self.pusher.channels[name] = channel
        data = {"channel": name, "auth": self.pusher._generate_presence_token(name), "channel_data": json.dumps(self.user)}
        self.pusher.connection.send_event("pusher:subscribe", data)

    def expect(self, event: str):
        name, data = self.heard.get(timeout=PATIENCE)
        assert name == event, (name, data)
        return data

    def close(self) -> None:
        """Says goodbye and waits for the answer; see the other tests of this library."""
        self.pusher.connection.disconnect_called = True
        self.pusher.connection.socket.sock.send_close()
        self.pusher.connection.join(PATIENCE)
        assert not self.pusher.connection.is_alive(), "the gateway does not answer a close"


@pytest.fixture
def visit(gateway, closing):
    return lambda user_id: closing(Visitor(gateway, user_id))


def test_R1_R2_R3_pysher_meets_others(connect, api, visit, channel):
    name = "presence-" + channel
    ann, bob = visit("ann"), visit(7)
    ann.join(name)
    presence = json.loads(ann.expect("subscription_succeeded"))["presence"]
    assert presence == {"ids": ["ann"], "hash": {"ann": {"name": "ü ann"}}, "count": 1}
    bob.join(name)
    presence = json.loads(bob.expect("subscription_succeeded"))["presence"]
    assert sorted(presence["ids"]) == ["7", "ann"] and presence["hash"] == {"ann": {"name": "ü ann"}, "7": {"name": "ü 7"}}
    assert json.loads(ann.expect("member_added")) == {"user_id": "7", "user_info": {"name": "ü 7"}}
    api.publish(name, "greeting", "hello")
    assert ann.expect("greeting") == bob.expect("greeting") == "hello"
    bob.pusher.unsubscribe(name)
    assert json.loads(ann.expect("member_removed")) == {"user_id": "7"}


def test_E1_E4_pysher_speaks(connect, visit, channel):
    """It sends whatever it is given as data: text stays as it is, an object becomes text."""
    name, client, ann = "presence-" + channel, connect(), visit("ann")
    client.join(name, "observer")
    ann.join(name)
    ann.expect("subscription_succeeded")
    client.expect_added(name, "ann", {"name": "ü ann"})
    ann.pusher.channel(name).trigger("client-said", "text")
    client.expect("client-said", data="text", user_id="ann")
    ann.pusher.channel(name).trigger("client-said", {"a": [1]})
    assert json.loads(client.expect("client-said", user_id="ann")["data"]) == {"a": [1]}
    client.send("client-said", {"b": 2}, channel=name)
    assert json.loads(ann.expect("client-said")) == {"b": 2}


def test_R4_two_of_the_same_user(visit, connect, channel):
    name, client = "presence-" + channel, connect()
    client.join(name, "observer")
    tabs = [visit("7"), visit(7)]
    for tab in tabs:
        tab.join(name)
        assert json.loads(tab.expect("subscription_succeeded"))["presence"]["count"] == 2
    client.expect_added(name, "7", {"name": "ü 7"})
    tabs[0].pusher.unsubscribe(name)
    tabs[1].pusher.unsubscribe(name)
    client.expect_removed(name, "7")
    client.expect_nothing()
