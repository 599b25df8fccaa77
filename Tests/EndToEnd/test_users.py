"""U1–U7: signed-in users."""

import json

import pytest

from harness.api import signed_target
from harness.apps import FIRST, SECOND, App

SETTINGS = {"first": {"client_events": True}}


@pytest.fixture
def user(channel):
    """A user id that no other test uses."""
    return "user-" + channel.removeprefix("channel-")


def own(user: str) -> str:
    return f"#server-to-user-{user}"


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_U1_signin_success_returns_user_data_unchanged(connect, user):
    client = connect()
    user_data = ' { "user_info": {"name": "ü 🚚 \\u00fc"},\n"id" : "%s" , "more": [1.0] } ' % user
    client.send_sign_in(user_data)
    message = client.receive()
    assert message.keys() == {"event", "data"} and message["event"] == "pusher:signin_success"
    assert (isinstance(message["data"], str)
            and json.loads(message["data"]) == {"user_data": user_data})
    client.expect_nothing()


@pytest.mark.parametrize("user_id", ["1", "driver:42", "a b/ü🚚#", "i" * 128], ids=ascii)
def test_U1_any_id_is_accepted(connect, user_id):
    connect().sign_in(user_id)


@pytest.mark.parametrize("user_data", ["[]", '{"id":""}', '{"id":1}'])
def test_U2_user_data_must_contain_an_id(connect, user_data):
    client = connect()
    client.send_sign_in(user_data)
    client.expect_error_code(4009)
    client.send_subscribe(own("1"))
    client.expect_error()
    client.expect_nothing()


INVALID_SIGNATURES = {
    "empty": lambda client, data: "",
    "no key": lambda client, data: FIRST.user_auth(client.socket_id, data).partition(":")[2],
    "another key": lambda client, data: "key2:"
    + FIRST.user_auth(client.socket_id, data).partition(":")[2],
    "another application": lambda client, data: SECOND.user_auth(client.socket_id, data),
    "another socket": lambda client, data: FIRST.user_auth("1.1", data),
    "other data": lambda client, data: FIRST.user_auth(client.socket_id, data + " "),
    "as a channel": lambda client, data: FIRST.auth(client.socket_id, data),
    "upper case": lambda client, data: "key1:"
    + FIRST.user_auth(client.socket_id, data).partition(":")[2].upper(),
    "null": lambda client, data: None,
    "a number": lambda client, data: 1,
}


@pytest.mark.parametrize("auth", INVALID_SIGNATURES.values(), ids=INVALID_SIGNATURES)
def test_U2_invalid_signature_is_4009_and_keeps_the_connection(connect, user, auth):
    client, user_data = connect(), json.dumps({"id": user})
    client.send("pusher:signin", {"auth": auth(client, user_data), "user_data": user_data})
    client.expect_error_code(4009)
    client.send_subscribe(own(user))
    client.expect_error()
    client.sign_in(user)


@pytest.mark.parametrize("data",
                         [None, "", {}, [], {"auth": "x"}, {"user_data": "{}"},
                          {"auth": "x", "user_data": {"id": "1"}},
                          {"auth": "x", "user_data": None}],
                         ids=json.dumps)
def test_U2_malformed_signin_is_an_error(connect, data):
    client = connect()
    client.send("pusher:signin", data)
    client.expect_error()
    client.expect_nothing()


def test_U2_signin_signature_does_not_subscribe(connect):
    """`:user:` is not a valid channel name: the text signed for it, `SOCKET:CHANNEL:DATA`, would be
    the one signed for a sign-in, `SOCKET::user::DATA`.
    """
    client, user_data = connect(), '{"id":"1"}'
    client.send_subscribe(":user:", auth=FIRST.user_auth(client.socket_id, user_data),
                          channel_data=user_data)
    client.expect_error()
    client.expect_nothing()


def test_U3_connection_cannot_change_its_user(connect, api, user):
    client = connect()
    client.sign_in(user)
    client.send_sign_in(json.dumps({"id": user + "-other"}))
    client.expect_error()
    client.send_subscribe(own(user + "-other"))
    client.expect_error()
    client.subscribe(own(user))
    api.publish(own(user + "-other"), "other-user")
    api.publish(own(user), "own-user")
    client.expect("own-user")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_U4_events_reach_all_connections_of_the_user(connect, api, user):
    tabs, other = [connect() for _ in range(5)], connect()
    for tab in tabs:
        tab.sign_in(user)
        tab.subscribe(own(user))
    other.sign_in(user + "-other")
    other.subscribe(own(user + "-other"))
    api.publish(own(user), "personal", "x")
    for tab in tabs:
        assert tab.receive() == {"event": "personal", "channel": own(user), "data": "x"}
        tab.expect_nothing()
    other.expect_nothing()
    tabs[0].unsubscribe(own(user))
    api.publish(own(user), "again", socket_id=tabs[1].socket_id)
    for tab in tabs[2:]:
        tab.expect("again")
    tabs[0].expect_nothing()
    tabs[1].expect_nothing()


@pytest.mark.parametrize("user_id", ["driver:42", "a.b@c=d,e;f_g-h", "1"])
def test_U4_ids_allow_channel_characters_and_colons(connect, api, user_id):
    client = connect()
    client.sign_in(user_id)
    client.subscribe(own(user_id))
    api.publish(own(user_id), "personal")
    client.expect("personal", channel=own(user_id))


def test_U4_users_are_scoped_to_their_application(connect, open_api, user):
    ours, foreign = connect(), connect(SECOND)
    ours.sign_in(user)
    foreign.sign_in(user, SECOND)
    for client in (ours, foreign):
        client.subscribe(own(user))
    open_api(SECOND).publish(own(user), "foreign")
    open_api(FIRST).publish(own(user), "ours")
    ours.expect("ours")
    foreign.expect("foreign")


@pytest.mark.parametrize("name",
                         ["#server-to-user-", "#server-to-user-{}x", "#server-to-user",
                          "#Server-to-user-{}", "#{}", "##server-to-user-{}", "x#server-to-user-{}",
                          "private-#server-to-user-{}", "#server-to-user-{} "])
def test_U5_names_that_resemble_the_own_user_channel_are_rejected(connect, user, name):
    client = connect()
    client.sign_in(user)
    client.send_subscribe(name.format(user))
    client.expect_error()
    client.expect_nothing()


def test_U5_signatures_do_not_authorize_user_channels(connect, api, user):
    owner, attacker, outsider = connect(), connect(), connect()
    owner.sign_in(user)
    owner.subscribe(own(user))
    attacker.sign_in(user + "-thief")
    for client in (attacker, outsider):
        client.send_subscribe(own(user))
        client.expect_error()
        client.send_subscribe(own(user), auth=FIRST.auth(client.socket_id, own(user)))
        client.expect_error()
        channel_data = json.dumps({"user_id": user})
        client.send_presence_subscribe(own(user), channel_data)
        client.expect_error()
    api.publish(own(user), "personal")
    owner.expect("personal")
    for client in (attacker, outsider):
        client.expect_nothing()


def test_U5_client_events_are_rejected(connect, user):
    tabs = [connect(), connect()]
    for tab in tabs:
        tab.sign_in(user)
        tab.subscribe(own(user))
    tabs[0].send("client-said", "x", channel=own(user))
    tabs[0].expect_error()
    tabs[1].expect_nothing()


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_U6_J1_terminate_closes_all_connections_of_the_user(connect, api, user, channel):
    name, observer, tabs = "presence-" + channel, connect(), [connect() for _ in range(4)]
    observer.join(name, "observer")
    for tab in tabs:
        tab.sign_in(user)
    tabs[0].join(name, user)
    observer.expect_member_added(name, user)
    response = api.post_signed(f"users/{user}/terminate_connections")
    assert (response.status, response.body) == (200, b"{}")
    for tab in tabs:
        code, reason = tab.expect_close()
        assert code == 4009 and reason and reason.isprintable()
    observer.expect_member_removed(name, user)
    connect().sign_in(user)
    observer.expect_nothing()


def test_U6_terminate_leaves_other_users_connected(connect, api, open_api, user, channel):
    """Also clients that use the id only in a presence channel, or in another application."""
    name, gone, other, by_name, foreign = ("presence-" + channel, connect(), connect(), connect(),
                                           connect(SECOND))
    gone.sign_in(user)
    other.sign_in(user + "-other")
    by_name.join(name, user)
    foreign.sign_in(user, SECOND)
    assert api.post_signed(f"users/{user}/terminate_connections").status == 200
    assert gone.expect_close()[0] == 4009
    for client in (other, by_name, foreign):
        client.expect_nothing()
    assert open_api(SECOND).post_signed(f"users/{user}/terminate_connections").status == 200
    assert foreign.expect_close()[0] == 4009


def test_U6_terminate_accepts_an_id_with_a_colon(connect, api):
    client = connect()
    client.sign_in("driver:7")
    assert api.post_signed("users/driver:7/terminate_connections", b"{}").status == 200
    assert client.expect_close()[0] == 4009


def test_J2_key_names_the_application(connect, api, open_api, user):
    """Without `/apps/ID` in the path."""
    first, second = connect(), connect(SECOND)
    first.sign_in(user)
    second.sign_in(user, SECOND)
    path = f"/users/{user}/terminate_connections"
    for app, client in ((SECOND, second), (FIRST, first)):
        response = api.call("POST", signed_target(app, "POST", path, b"{}"), b"{}")
        assert (response.status, response.body) == (200, b"{}")
        assert client.expect_close()[0] == 4009
    wrong = App(FIRST.id, FIRST.key, SECOND.secret)
    assert api.call("POST", signed_target(wrong, "POST", path, b"{}"), b"{}").status == 401
    unknown = App(FIRST.id, "nobody", FIRST.secret)
    assert api.call("POST", signed_target(unknown, "POST", path, b"{}"), b"{}").status == 401


def test_U4_alias_is_for_users_of_the_fleet_only(connect, api, open_api, channel):
    fleet, other = connect(), connect(SECOND)
    fleet.sign_in(f"driver:{channel}")
    other.sign_in(f"driver:{channel}", SECOND)
    for client in (fleet, other):
        client.subscribe(f"#server-to-user-driver:{channel}")
    for caller in (api, open_api(SECOND)):
        caller.publish(f"#server-to-user-driver-{channel}", "personal")
    fleet.expect("personal", channel=f"#server-to-user-driver:{channel}")
    other.expect_nothing()
    # Both names in one request: once.
    api.publish([f"#server-to-user-driver-{channel}", f"#server-to-user-driver:{channel}"], "personal")
    fleet.expect("personal")
    fleet.expect_nothing()


def test_U7_signed_in_user_joins_without_channel_data(connect, channel):
    name, observer, client = "presence-" + channel, connect(), connect()
    observer.join(name, "observer")
    client.sign_in("7", user_info={"name": "Ann"})
    client.send_subscribe(name, auth=FIRST.auth(client.socket_id, name))
    assert client.expect_joined(name)["hash"]["7"] == {"name": "Ann"}
    observer.expect_member_added(name, "7", {"name": "Ann"})
    client.send("client-said", "x", channel=name)
    assert observer.receive() == {"event": "client-said", "channel": name, "data": "x",
                                  "user_id": "7"}
    client.close()
    observer.expect_member_removed(name, "7")


def test_U7_member_is_the_same_with_and_without_channel_data(connect, channel):
    name, observer, one, other = "presence-" + channel, connect(), connect(), connect()
    observer.join(name, "observer")
    one.sign_in("7")
    one.send_subscribe(name, auth=FIRST.auth(one.socket_id, name))
    assert one.expect_joined(name)["count"] == 2
    other.join(name, 7)
    observer.expect_member_added(name, "7")
    one.close()
    observer.expect_nothing()
    other.close()
    observer.expect_member_removed(name, "7")


def test_U7_channel_data_overrides_user_data(connect, channel):
    name, observer, client = "presence-" + channel, connect(), connect()
    observer.join(name, "observer")
    client.sign_in("7", user_info={"name": "Ann"})
    assert client.join(name, "8", {"name": "Bob"})["hash"]["8"] == {"name": "Bob"}
    observer.expect_member_added(name, "8", {"name": "Bob"})


def test_U7_S11_signature_is_required(connect, channel):
    name, client = "presence-" + channel, connect()
    client.sign_in("7")
    client.send_subscribe(name)
    client.expect_error_code(4009)
    client.send_subscribe(name, auth=FIRST.auth("1.1", name))
    client.expect_error_code(4009)


def test_U7_not_signed_in_requires_channel_data(connect, channel):
    name, client = "presence-" + channel, connect()
    client.send_subscribe(name, auth=FIRST.auth(client.socket_id, name))
    client.expect_error()
    client.sign_in("7")
    client.send_subscribe(name, auth=FIRST.auth(client.socket_id, name))
    assert client.expect_joined(name)["ids"] == ["7"]
