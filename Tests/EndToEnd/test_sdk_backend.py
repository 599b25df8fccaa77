"""All calls of the official server SDK."""

import base64
import json

import nacl.secret
import pusher
import pytest
from pusher.http import POST, Request

from harness.apps import DISABLED, FIRST, SECOND, TIMEOUT

MASTER_KEY = base64.b64encode(bytes(range(32))).decode()


def sdk(gateway, app=FIRST, **more) -> pusher.Pusher:
    return pusher.Pusher(app_id=app.id, key=app.key, secret=app.secret, ssl=False,
                         host=gateway.host, port=gateway.port, timeout=TIMEOUT, **more)


@pytest.fixture
def backend(gateway):
    return sdk(gateway, encryption_master_key_base64=MASTER_KEY)


def sign_in(client, backend, user_id: str, **more) -> None:
    """Signs in with the response of a user authentication endpoint."""
    client.send("pusher:signin",
                backend.authenticate_user(client.socket_id, {"id": user_id} | more))
    client.expect("pusher:signin_success")


def test_sdk_signs_private_channels(connect, backend, channel):
    client, name = connect(), "private-" + channel
    client.subscribe(name, **backend.authenticate(name, client.socket_id))
    assert backend.trigger(name, "secret", {"a": "ü"}) == {}
    assert json.loads(client.expect("secret", channel=name)["data"]) == {"a": "ü"}


def test_S10_sdk_signs_data_of_private_channels(connect, backend, channel):
    client, name = connect(), "private-" + channel
    signed = backend.authenticate(name, client.socket_id, {"user_id": "7"})
    assert signed.keys() == {"auth", "channel_data"}
    client.subscribe(name, **signed)
    backend.trigger(name, "secret", "x")
    client.expect("secret", channel=name)


def test_R1_R6_sdk_signs_presence_channels(connect, backend, channel):
    """The signature covers `channel_data` exactly as the SDK formats it, also with a numeric id."""
    name, clients = "presence-" + channel, [connect() for _ in range(3)]
    for client, user in zip(clients, (7, "7", "driver:8")):
        client.send_subscribe(name,
                              **backend.authenticate(
            name, client.socket_id, {"user_id": user, "user_info": {"name": "ü 🚚"}}))
        reply = client.expect_joined(name)
    assert sorted(reply["ids"]) == ["7", "driver:8"] and reply["hash"]["7"] == {"name": "ü 🚚"}
    clients[0].expect_member_added(name, "driver:8", {"name": "ü 🚚"})


def test_S12_sdk_encrypts_events(connect, backend, channel):
    """The payload arrives encrypted; the `shared_secret` of the SDK's `authenticate` decrypts it."""
    client, name = connect(), "private-encrypted-" + channel
    signed = backend.authenticate(name, client.socket_id)
    client.subscribe(name, auth=signed["auth"])
    assert backend.trigger(name, "sealed", {"a": "ü"}) == {}
    sealed = json.loads(client.expect("sealed", channel=name)["data"])
    box = nacl.secret.SecretBox(base64.b64decode(signed["shared_secret"]))
    opened = box.decrypt(base64.b64decode(sealed["ciphertext"]), base64.b64decode(sealed["nonce"]))
    assert json.loads(opened) == {"a": "ü"}


def test_B1_sdk_triggers_many_channels(connect, backend, channel):
    names, client = [f"{channel}-{number}" for number in range(100)], connect()
    for name in names:
        client.subscribe(name)
    assert backend.trigger(names, "many", "x") == {}
    assert [client.expect("many")["channel"] for _ in names] == names


def test_B2_sdk_excludes_a_socket_id(connect, backend, channel):
    one, other = connect(), connect()
    for client in (one, other):
        client.subscribe(channel)
    backend.trigger(channel, "said", "x", one.socket_id)
    other.expect("said")
    one.expect_nothing()


def test_D1_D3_sdk_triggers_batches(connect, backend, channel):
    one, other = connect(), connect()
    for client in (one, other):
        client.subscribe(channel)
        client.subscribe_private("private-" + channel)
    batch = [{"channel": channel, "name": "first", "data": {"a": 1}},
             {"channel": "private-" + channel, "name": "second", "data": "plain"},
             {"channel": channel, "name": "third", "data": "x", "socket_id": one.socket_id}]
    assert backend.trigger_batch(batch) == {}
    for client in (one, other):
        client.expect("first", data='{"a": 1}')
        client.expect("second", channel="private-" + channel, data="plain")
    other.expect("third")
    one.expect_nothing()


def test_D6_sdk_batch_returns_info(connect, backend, channel):
    connect().join("presence-" + channel, "1")
    batch = [{"channel": "presence-" + channel, "name": "event", "data": "x", "info": "user_count"},
             {"channel": channel, "name": "event", "data": "x"}]
    assert backend.trigger_batch(batch) == {"batch": [{"user_count": 1}, {}]}


def test_D5_sdk_batch_of_too_many_events_is_rejected(backend, channel):
    with pytest.raises(pusher.errors.PusherBadRequest):
        backend.trigger_batch(
            [{"channel": channel, "name": "event", "data": "x"} for _ in range(11)])


def test_sdk_lists_channels(connect, backend, channel):
    connect().subscribe(channel)
    connect().join("presence-" + channel, "1")
    assert backend.channels_info(channel) == {"channels": {channel: {}}}
    assert backend.channels_info("presence-" + channel,
                                 ["user_count"]) == {
        "channels": {"presence-" + channel: {"user_count": 1}}}
    assert backend.channels_info("empty-" + channel) == {"channels": {}}
    assert {channel, "presence-" + channel} <= backend.channels_info()["channels"].keys()
    with pytest.raises(pusher.errors.PusherBadRequest):
        backend.channels_info(None, ["user_count"])


def test_sdk_reads_channel_attributes(connect, backend, channel):
    for _ in range(2):
        connect().subscribe(channel)
        connect().join("presence-" + channel, "1")
    assert backend.channel_info(channel) == {"occupied": True}
    assert backend.channel_info(channel,
                                ["subscription_count"]) == {
        "occupied": True, "subscription_count": 2}
    assert backend.channel_info("presence-" + channel,
                                ["user_count", "subscription_count"]) == {
        "occupied": True, "user_count": 1}
    assert backend.channel_info("empty-" + channel) == {"occupied": False}
    backend.trigger("cache-" + channel, "kept", "x")
    assert backend.channel_info("cache-" + channel, ["cache"])["cache"]["data"] == "x"
    with pytest.raises(pusher.errors.PusherBadRequest):
        backend.channel_info(channel, ["user_count"])


def test_I1_sdk_lists_users(connect, backend, channel):
    for user in ("1", 1, "driver:2"):
        connect().join("presence-" + channel, user)
    assert sorted(user["id"]
                  for user in backend.users_info("presence-" + channel)["users"]) == [
        "1", "driver:2"]
    assert backend.users_info("presence-empty-" + channel) == {"users": []}
    with pytest.raises(pusher.errors.PusherBadRequest):
        backend.users_info(channel)


def test_U1_U4_sdk_signs_users_and_sends_to_them(connect, backend, channel):
    tabs, other = [connect(), connect()], connect()
    for tab in tabs:
        sign_in(tab, backend, channel, user_info={"name": "Ann"})
        tab.subscribe("#server-to-user-" + channel)
    sign_in(other, backend, channel + "-other")
    assert backend.send_to_user(channel, "personal", {"a": 1}) == {}
    for tab in tabs:
        assert tab.expect("personal", channel="#server-to-user-" + channel)["data"] == '{"a": 1}'
    other.expect_nothing()


def test_U7_signed_in_user_joins_presence_without_channel_data(connect, backend, channel):
    client, name = connect(), "presence-" + channel
    sign_in(client, backend, "7", user_info={"name": "Ann"})
    client.send_subscribe(name, **backend.authenticate(name, client.socket_id))
    assert client.expect_joined(name)["hash"] == {"7": {"name": "Ann"}}


def test_W1_sdk_signs_watchlists(connect, backend, channel):
    client, watcher = connect(), connect()
    sign_in(watcher, backend, channel + "-me", watchlist=[channel + "-ann"])
    assert json.loads(watcher.expect("pusher_internal:watchlist_events")["data"]) == {
        "events": [{"name": "offline", "user_ids": [channel + "-ann"]}]}
    sign_in(client, backend, channel + "-ann")
    assert json.loads(watcher.expect("pusher_internal:watchlist_events")["data"]) == {
        "events": [{"name": "online", "user_ids": [channel + "-ann"]}]}


def test_J2_sdk_terminates_user_connections(connect, backend, channel):
    """The SDK's method omits `/apps/ID`."""
    client = connect()
    sign_in(client, backend, channel)
    assert backend.terminate_user_connections(channel) == {}
    assert client.expect_close()[0] == 4009


def test_U4_U6_sdk_reaches_a_user_of_the_fleet(connect, backend, channel):
    """The SDK refuses ids with a colon, so it names the user with a hyphen."""
    clients = {user: connect() for user in (f"driver:{channel}", f"driver-{channel}")}
    for user, client in clients.items():
        client.sign_in(user)
        client.subscribe(f"#server-to-user-{user}")
    with pytest.raises(ValueError):
        backend.send_to_user(f"driver:{channel}", "personal", "x")
    assert backend.send_to_user(f"driver-{channel}", "personal", "x") == {}
    for user, client in clients.items():
        client.expect("personal", channel=f"#server-to-user-{user}")
    backend.terminate_user_connections(f"driver-{channel}")
    for client in clients.values():
        assert client.expect_close()[0] == 4009


def test_U6_sdk_terminates_user_connections_with_the_full_path(connect, backend, channel):
    client = connect()
    sign_in(client, backend, channel)
    caller = backend._pusher_client
    request = Request(caller, POST, f"/apps/{caller.app_id}/users/{channel}/terminate_connections",
                      {})
    assert caller.http.send_request(request) == {}
    assert client.expect_close()[0] == 4009


def test_sdk_raises_on_rejections(gateway, channel):
    wrong = pusher.Pusher(app_id="1001", key="key1", secret="wrong", ssl=False, host=gateway.host,
                          port=gateway.port)
    for call in (lambda backend: backend.channels_info(),
                 lambda backend: backend.channel_info(channel),
                 lambda backend: backend.users_info("presence-x"),
                 lambda backend: backend.trigger_batch(
        [{"channel": channel, "name": "event", "data": "x"}])):
        with pytest.raises(pusher.errors.PusherBadAuth, match="Invalid signature"):
            call(wrong)
        with pytest.raises(pusher.errors.PusherForbidden):
            call(sdk(gateway, DISABLED))
        assert isinstance(call(sdk(gateway, SECOND)), dict)
