"""pysher in a presence channel, with signatures of its own."""

import json
import queue

import pysher
import pytest

from harness.apps import FIRST, TIMEOUT

SETTINGS = {"first": {"client_events": True}}

EVENTS = ["pusher_internal:subscription_succeeded", "pusher_internal:member_added",
          "pusher_internal:member_removed", "client-said", "greeting"]


class PysherUser:
    """A pysher connection of a user; all events of its channel go to one queue."""

    def __init__(self, gateway, user_id):
        self.received, connected = queue.Queue(), queue.Queue()
        self.user = {"user_id": user_id, "user_info": {"name": f"ü {user_id}"}}
        self.pusher = pysher.Pusher(FIRST.key, secure=False, custom_host=gateway.host,
                                    port=gateway.port, secret=FIRST.secret, user_data=self.user)
        self.pusher.connection.bind("pusher:connection_established", connected.put)
        self.pusher.connect()
        connected.get(timeout=TIMEOUT)

    def join(self, name: str) -> None:
        """Like the library's `subscribe`, but registers the channel before the request: the library
        would miss a quick response.
        """
        channel = pysher.channel.Channel(name, self.pusher.connection)
        for event in EVENTS:
            channel.bind(
                event,
                lambda data, event=event: self.received.put(
                    (event.removeprefix("pusher_internal:"), data)))
        self.pusher.channels[name] = channel
        data = {"channel": name, "auth": self.pusher._generate_presence_token(name),
                "channel_data": json.dumps(self.user)}
        self.pusher.connection.send_event("pusher:subscribe", data)

    def expect(self, event: str):
        name, data = self.received.get(timeout=TIMEOUT)
        assert name == event, (name, data)
        return data

    def close(self) -> None:
        """Closes and waits for the gateway's close frame; see test_real_clients."""
        self.pusher.connection.disconnect_called = True
        self.pusher.connection.socket.sock.send_close()
        self.pusher.connection.join(TIMEOUT)
        assert not self.pusher.connection.is_alive(), "no response to the close frame"


@pytest.fixture
def connect_user(gateway, closing):
    return lambda user_id: closing(PysherUser(gateway, user_id))


def test_R1_R2_R3_pysher_and_other_members(connect, api, connect_user, channel):
    name = "presence-" + channel
    ann, bob = connect_user("ann"), connect_user(7)
    ann.join(name)
    presence = json.loads(ann.expect("subscription_succeeded"))["presence"]
    assert presence == {"ids": ["ann"], "hash": {"ann": {"name": "ü ann"}}, "count": 1}
    bob.join(name)
    presence = json.loads(bob.expect("subscription_succeeded"))["presence"]
    assert (sorted(presence["ids"]) == ["7", "ann"]
            and presence["hash"] == {"ann": {"name": "ü ann"}, "7": {"name": "ü 7"}})
    assert json.loads(ann.expect("member_added")) == {"user_id": "7", "user_info": {"name": "ü 7"}}
    api.publish(name, "greeting", "hello")
    assert ann.expect("greeting") == bob.expect("greeting") == "hello"
    bob.pusher.unsubscribe(name)
    assert json.loads(ann.expect("member_removed")) == {"user_id": "7"}


def test_E1_E4_pysher_sends_client_events(connect, connect_user, channel):
    """pysher sends any data: a string unchanged, an object as JSON."""
    name, client, ann = "presence-" + channel, connect(), connect_user("ann")
    client.join(name, "observer")
    ann.join(name)
    ann.expect("subscription_succeeded")
    client.expect_member_added(name, "ann", {"name": "ü ann"})
    ann.pusher.channel(name).trigger("client-said", "text")
    client.expect("client-said", data="text", user_id="ann")
    ann.pusher.channel(name).trigger("client-said", {"a": [1]})
    assert json.loads(client.expect("client-said", user_id="ann")["data"]) == {"a": [1]}
    client.send("client-said", {"b": 2}, channel=name)
    assert json.loads(ann.expect("client-said")) == {"b": 2}


def test_R4_two_connections_of_one_user(connect_user, connect, channel):
    name, client = "presence-" + channel, connect()
    client.join(name, "observer")
    tabs = [connect_user("7"), connect_user(7)]
    for tab in tabs:
        tab.join(name)
        assert json.loads(tab.expect("subscription_succeeded"))["presence"]["count"] == 2
    client.expect_member_added(name, "7", {"name": "ü 7"})
    tabs[0].pusher.unsubscribe(name)
    tabs[1].pusher.unsubscribe(name)
    client.expect_member_removed(name, "7")
    client.expect_nothing()
