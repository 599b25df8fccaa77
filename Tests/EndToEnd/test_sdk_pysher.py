"""pysher in a presence channel; it signs its subscriptions itself."""

import json

import pytest

from harness.pysher_client import PysherClient

SETTINGS = {"first": {"client_events": True}}

EVENTS = ["pusher_internal:member_added", "pusher_internal:member_removed", "client-said",
          "greeting"]


class PysherUser(PysherClient):
    """A pysher connection of a user, which signs its subscriptions itself."""

    def __init__(self, gateway, user_id):
        self.user = {"user_id": user_id, "user_info": {"name": f"ü {user_id}"}}
        super().__init__(gateway, user_data=self.user)

    def join(self, name: str) -> dict:
        """Subscribes to a presence channel. Returns the `presence` of the response."""
        data = self.subscribe(name, *EVENTS, auth=self.pusher._generate_presence_token(name),
                              channel_data=json.dumps(self.user))
        return json.loads(data)["presence"]

    def expect(self, event: str) -> str:
        """Expects this event next. Returns its data."""
        _, name, data = self.next()
        assert name.removeprefix("pusher_internal:") == event, (name, data)
        return data


@pytest.fixture
def connect_user(gateway, closing):
    return lambda user_id: closing(PysherUser(gateway, user_id))


def test_R1_R2_R3_pysher_and_other_members(connect, api, connect_user, channel):
    name = "presence-" + channel
    ann, bob = connect_user("ann"), connect_user(7)
    assert ann.join(name) == {"ids": ["ann"], "hash": {"ann": {"name": "ü ann"}}, "count": 1}
    presence = bob.join(name)
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
        assert tab.join(name)["count"] == 2
    client.expect_member_added(name, "7", {"name": "ü 7"})
    tabs[0].pusher.unsubscribe(name)
    tabs[1].pusher.unsubscribe(name)
    client.expect_member_removed(name, "7")
    client.expect_nothing()
