"""R9: how many members, and how much each may say of himself."""

import json

import pytest

from harness.apps import SECOND
from harness.guest import Guest


@pytest.fixture
def presence(channel):
    return "presence-" + channel


def assert_refused(guest, presence, user_id) -> None:
    guest.ask_to_join(presence, user_id)
    errors = guest.until_pong()
    assert [message["event"] for message in errors] == ["pusher:error"], errors
    assert isinstance(errors[0]["data"], dict) and errors[0]["data"].keys() >= {"message", "code"}


@pytest.fixture
def full(gateway, closing, presence):
    """A channel with its 100 members."""
    guests = [closing(Guest(gateway)) for _ in range(100)]
    for number, guest in enumerate(guests):
        assert len(guest.join(presence, str(number))) == number + 1
    return guests


def test_R9_100_members_and_no_more(gateway, closing, full, presence):
    extra = closing(Guest(gateway))
    assert_refused(extra, presence, "extra")
    events = full[0].until_pong()
    assert [message["event"] for message in events] == ["pusher_internal:member_added"] * 99
    # Elsewhere he is welcome.
    assert extra.join(presence + "-other", "extra") == {"extra"}


def test_R9_a_further_connection_of_a_member_does_not_count(gateway, closing, full, presence):
    tabs = [closing(Guest(gateway)) for _ in range(3)]
    for tab in tabs:
        assert len(tab.join(presence, "7")) == 100
    for tab in tabs[:2]:
        tab.leave(presence)
    full[7].leave(presence)
    # He is still there with one connection, so there is no room yet.
    assert_refused(closing(Guest(gateway)), presence, "extra")


def test_R9_who_goes_makes_room(gateway, closing, full, presence):
    extra = closing(Guest(gateway))
    assert_refused(extra, presence, "extra")
    full[50].leave(presence)
    assert "extra" in extra.join(presence, "extra")
    assert_refused(closing(Guest(gateway)), presence, "50")


def test_R9_the_limit_is_the_applications(start_gateway, closing):
    gateway = start_gateway(limits={"presence_members": 2}, loops=2)
    guests = [closing(Guest(gateway)) for _ in range(4)]
    guests[0].join("presence-x", "1")
    guests[1].join("presence-x", "2")
    guests[2].join("presence-x", 2)
    assert_refused(guests[3], "presence-x", "3")
    others = [closing(Guest(gateway, SECOND)) for _ in range(3)]
    assert [len(guest.join("presence-x", str(number))) for number, guest in enumerate(others)] == [1, 2, 3]


def test_R9_several_at_once_never_pass_the_limit(start_gateway, closing):
    """All ask before anybody hears; as many are let in as there is room for."""
    gateway = start_gateway(limits={"presence_members": 5}, loops=4)
    for round in range(10):
        name, guests = f"presence-{round}", [closing(Guest(gateway)) for _ in range(12)]
        for number, guest in enumerate(guests):
            guest.ask_to_join(name, str(number))
        answers = [guest.message()["event"] for guest in guests]
        assert sorted(set(answers)) == ["pusher:error", "pusher_internal:subscription_succeeded"]
        assert answers.count("pusher_internal:subscription_succeeded") == 5


@pytest.mark.parametrize("user_id", ["i" * 128, "é" * 128, "driver:42 <a@b.example>/\\\"'", "🚚"], ids=lambda text: ascii(text)[:16])
def test_R9_user_ids_of_up_to_128_characters(connect, presence, user_id):
    observer, client = connect(), connect()
    observer.join(presence, "observer")
    assert sorted(client.join(presence, user_id)["ids"]) == sorted(["observer", user_id])
    observer.expect_added(presence, user_id)
    client.unsubscribe(presence)
    observer.expect_removed(presence, user_id)


@pytest.mark.parametrize("user_id", ["i" * 129, "é" * 129, "i" * 5000], ids=lambda text: f"{ascii(text)[:4]}*{len(text)}")
def test_R9_longer_ones_are_refused(connect, presence, user_id):
    client = connect()
    client.ask_to_join(presence, json.dumps({"user_id": user_id}))
    client.expect_error()
    client.expect_nothing()


def test_R9_a_kilobyte_of_user_info(connect, presence):
    """What counts to the kilobyte may be the object or the info in it; well inside and well outside are beyond doubt."""
    client, info = connect(), {"text": "x" * 940}
    assert client.join(presence, "1", info)["hash"]["1"] == info
    client.unsubscribe(presence)
    client.ask_to_join(presence, json.dumps({"user_id": "1", "user_info": {"text": "x" * 1024}}))
    client.expect_error()
    client.expect_nothing()


def test_R9_the_limit_of_info_is_the_applications(start_gateway, closing):
    gateway = start_gateway(limits={"presence_info_bytes": 200})
    small, large = {"text": "x" * 120}, {"text": "x" * 201}
    guest = closing(Guest(gateway))
    guest.ask_to_join("presence-x", "1", user_info=large)
    assert [message["event"] for message in guest.until_pong()] == ["pusher:error"]
    assert guest.join("presence-x", "1", user_info=small) == {"1"}
    assert closing(Guest(gateway, SECOND)).join("presence-x", "1", user_info=large) == {"1"}
