"""R9: limits of members per channel, and of user_info."""

import json

import pytest

from harness.apps import SECOND
from harness.raw_client import RawClient


def assert_rejected(raw_client, presence, user_id) -> None:
    raw_client.send_presence_subscribe(presence, user_id)
    errors = raw_client.receive_until_pong()
    assert [message["event"] for message in errors] == ["pusher:error"], errors
    assert isinstance(errors[0]["data"], dict) and errors[0]["data"].keys() >= {"message", "code"}


@pytest.fixture
def full(gateway, closing, presence):
    """A channel with 100 members."""
    raw_clients = [closing(RawClient(gateway)) for _ in range(100)]
    for number, raw_client in enumerate(raw_clients):
        assert len(raw_client.join(presence, str(number))) == number + 1
    return raw_clients


def test_R9_100_members_at_most(gateway, closing, full, presence):
    extra = closing(RawClient(gateway))
    assert_rejected(extra, presence, "extra")
    events = full[0].receive_until_pong()
    assert [message["event"] for message in events] == ["pusher_internal:member_added"] * 99
    # Other channels still accept the user.
    assert extra.join(presence + "-other", "extra") == {"extra"}


def test_R9_further_connections_of_a_member_do_not_count(gateway, closing, full, presence):
    tabs = [closing(RawClient(gateway)) for _ in range(3)]
    for tab in tabs:
        assert len(tab.join(presence, "7")) == 100
    for tab in tabs[:2]:
        tab.unsubscribe(presence)
    full[7].unsubscribe(presence)
    # User 7 still has one connection, so the channel is still full.
    assert_rejected(closing(RawClient(gateway)), presence, "extra")


def test_R9_leaving_frees_a_slot(gateway, closing, full, presence):
    extra = closing(RawClient(gateway))
    assert_rejected(extra, presence, "extra")
    full[50].unsubscribe(presence)
    assert "extra" in extra.join(presence, "extra")
    assert_rejected(closing(RawClient(gateway)), presence, "50")


def test_R9_limit_is_configurable_per_application(start_gateway, closing):
    gateway = start_gateway(limits={"presence_members": 2}, loops=2)
    raw_clients = [closing(RawClient(gateway)) for _ in range(4)]
    raw_clients[0].join("presence-x", "1")
    raw_clients[1].join("presence-x", "2")
    raw_clients[2].join("presence-x", 2)
    assert_rejected(raw_clients[3], "presence-x", "3")
    others = [closing(RawClient(gateway, SECOND)) for _ in range(3)]
    assert [len(raw_client.join("presence-x", str(number)))
            for number, raw_client in enumerate(others)] == [1, 2, 3]


def test_R9_concurrent_joins_never_exceed_the_limit(start_gateway, closing):
    """All subscribe before any response; exactly as many succeed as the limit allows."""
    gateway = start_gateway(limits={"presence_members": 5}, loops=4)
    for round in range(10):
        name, raw_clients = f"presence-{round}", [closing(RawClient(gateway)) for _ in range(12)]
        for number, raw_client in enumerate(raw_clients):
            raw_client.send_presence_subscribe(name, str(number))
        responses = [raw_client.receive()["event"] for raw_client in raw_clients]
        assert sorted(set(responses)) == ["pusher:error", "pusher_internal:subscription_succeeded"]
        assert responses.count("pusher_internal:subscription_succeeded") == 5


@pytest.mark.parametrize("user_id", ["i" * 128, "é" * 128, "driver:42 <a@b.example>/\\\"'", "🚚"],
                         ids=lambda text: ascii(text)[:16])
def test_R9_user_ids_of_up_to_128_characters(connect, presence, user_id):
    observer, client = connect(), connect()
    observer.join(presence, "observer")
    assert sorted(client.join(presence, user_id)["ids"]) == sorted(["observer", user_id])
    observer.expect_member_added(presence, user_id)
    client.unsubscribe(presence)
    observer.expect_member_removed(presence, user_id)


@pytest.mark.parametrize("user_id", ["i" * 129, "é" * 129, "i" * 5000],
                         ids=lambda text: f"{ascii(text)[:4]}*{len(text)}")
def test_R9_longer_user_ids_are_rejected(connect, presence, user_id):
    client = connect()
    client.send_presence_subscribe(presence, json.dumps({"user_id": user_id}))
    client.expect_error()
    client.expect_nothing()


def test_R9_user_info_of_one_kilobyte(connect, presence):
    """The kilobyte may count the whole object or only user_info; both sizes here are unambiguous.
    """
    client, info = connect(), {"text": "x" * 940}
    assert client.join(presence, "1", info)["hash"]["1"] == info
    client.unsubscribe(presence)
    client.send_presence_subscribe(presence,
                                   json.dumps({"user_id": "1", "user_info": {"text": "x" * 1024}}))
    client.expect_error()
    client.expect_nothing()


def test_R9_user_info_limit_is_configurable_per_application(start_gateway, closing):
    gateway = start_gateway(limits={"presence_info_bytes": 200})
    small, large = {"text": "x" * 120}, {"text": "x" * 201}
    raw_client = closing(RawClient(gateway))
    raw_client.send_presence_subscribe("presence-x", "1", user_info=large)
    assert [message["event"] for message in raw_client.receive_until_pong()] == ["pusher:error"]
    assert raw_client.join("presence-x", "1", user_info=small) == {"1"}
    assert closing(RawClient(gateway, SECOND)).join("presence-x", "1", user_info=large) == {"1"}
