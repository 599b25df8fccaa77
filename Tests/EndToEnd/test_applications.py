"""Applications side by side: their features, limits, origins, and two secrets while one is exchanged for another."""

import json

import pytest

from harness.api import Api, event_body
from harness.apps import DISABLED, FIRST, SECOND, App
from harness.client import Client

NEW, OLD, OLDER = App("1004", "key4", "new-secret"), App("1004", "key4", "old-secret"), App("1004", "key4", "older-secret")
STRICT, OPEN = App("1005", "key5", "secret5"), App("1006", "key6", "secret6")

A, B = "https://a.example", "https://b.example:8443"

SETTINGS = {"apps": [
    {"id": NEW.id, "key": NEW.key, "secrets": [NEW.secret, OLD.secret], "client_events": True},
    STRICT.entry(allowed_origins=[A, B], limits={"event_bytes": 100, "channels_per_event": 2, "name_length": 20, "presence_members": 1}),
    OPEN.entry(client_events=True, subscription_counts=True),
]}

both = pytest.mark.parametrize("app", [NEW, OLD], ids=["new", "old"])


@both
def test_S10_secrets_both_sign_subscriptions(connect, api_of, channel, app):
    client = connect(NEW)
    client.subscribe_private("private-" + channel, app)
    assert client.join("presence-" + channel, "1", app=app)["ids"] == ["1"]
    client.sign_in("1", app)
    api_of(app).publish("private-" + channel)
    client.expect("event")


@both
def test_A3_secrets_both_sign_calls(api_of, app):
    api = api_of(app)
    assert api.ask("channels").status == 200
    assert api.tell("users/1/terminate_connections").status == 200
    api.publish("channel")


def test_A3_S11_secrets_no_longer_named_are_refused(connect, api_of, channel):
    client = connect(NEW)
    client.ask_for("private-" + channel, auth=OLDER.auth(client.socket_id, "private-" + channel))
    client.expect_code(4009)
    client.ask_to_join("presence-" + channel, '{"user_id":"1"}', OLDER)
    client.expect_code(4009)
    client.ask_to_sign_in('{"id":"1"}', OLDER)
    client.expect_code(4009)
    assert api_of(OLDER).ask("channels").status == 401
    assert api_of(OLDER).post(event_body("channel")).status == 401


def test_secrets_exchanged_while_clients_are_there(connect, channel):
    """Some sign with the one and some with the other, and they meet."""
    one, other, name = connect(NEW), connect(NEW), "presence-" + channel
    one.join(name, "1", app=NEW)
    other.join(name, "1", app=OLD)
    one.send("client-said", "x", channel=name)
    other.expect("client-said")
    one.expect_nothing()


@pytest.mark.parametrize("app, client_events, counts", [(FIRST, False, False), (NEW, True, False), (OPEN, True, True)], ids=["first", "new", "open"])
def test_features_are_the_applications(connect, channel, app, client_events, counts):
    name, clients = "private-" + channel, [connect(app), connect(app)]
    for number, client in enumerate(clients):
        client.subscribe_private(name, app)
        if counts:
            client.expect_count(name, number + 1)
    if counts:
        clients[0].expect_count(name, 2)
    clients[0].send("client-said", "x", channel=name)
    if client_events:
        clients[1].expect("client-said")
        clients[0].expect_nothing()
    else:
        clients[0].expect_error()
        clients[1].expect_nothing()


def test_limits_are_the_applications(api_of, connect):
    headers = {"Origin": A}
    strict, open = api_of(STRICT), api_of(OPEN)
    for body, status in [(event_body("x", data="x" * 101), 413), (event_body(["x", "y", "z"]), 400), (event_body("x", "n" * 21), 400)]:
        assert strict.post(body).status == status
        assert open.post(body).status == 200
    assert strict.post(event_body(["x", "y"], "n" * 20, "x" * 100)).status == 200
    client, other = connect(STRICT, headers=headers), connect(STRICT, headers=headers)
    client.join("presence-x", "1", app=STRICT)
    other.ask_to_join("presence-x", '{"user_id":"2"}', STRICT)
    other.expect_error()


def test_S9_names_of_all_applications_are_apart(connect, api_of, channel):
    apps = [FIRST, SECOND, NEW, STRICT]
    clients = [connect(app) for app in apps]
    for client in clients:
        client.subscribe(channel)
    for app in apps:
        api_of(app).publish(channel, data=app.id)
    for client, app in zip(clients, apps):
        client.expect("event", data=app.id)
        client.expect_nothing()


# Origins


def close_code(gateway, key: str, **headers) -> int:
    client = Client.dial(gateway, key, headers=headers)
    try:
        return client.closed()[0]
    finally:
        client.close()


@pytest.mark.parametrize("origin", [A, B, None])
def test_origins_that_are_allowed_and_those_who_have_none(gateway, closing, origin):
    client = closing(Client.dial(gateway, STRICT.key, headers={"Origin": origin} if origin else None))
    client.greet()
    client.expect_nothing()


@pytest.mark.parametrize("origin", ["https://c.example", "http://a.example", "https://a.example:8443", "https://b.example", "https://a.example.evil.example",
                                    "https://sub.a.example", "https://evil-a.example", "null", "*", "a.example", "https://a.example/", "x"])
def test_origins_that_are_not_are_closed_4009(gateway, origin):
    assert close_code(gateway, STRICT.key, Origin=origin) == 4009


@pytest.mark.parametrize("origin", ["https://c.example", "null", "x"])
def test_origins_any_by_default(gateway, closing, origin):
    closing(Client.dial(gateway, FIRST.key, headers={"Origin": origin})).greet()


def preflight(api, app: App, origin: str | None, path: str = "events", method: str = "POST"):
    headers = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type"}
    return api.call("OPTIONS", f"/apps/{app.id}/{path}", headers=headers | ({"Origin": origin} if origin else {}))


def assert_allows(answer, origin: str) -> None:
    assert answer.headers.get("access-control-allow-origin") in ("*", origin), answer
    if answer.headers["access-control-allow-origin"] != "*":
        assert "origin" in answer.headers.get("vary", "").lower(), "a cache must not show it to another origin"


@pytest.mark.parametrize("app, origin", [(FIRST, A), (FIRST, "http://127.0.0.1:3000"), (STRICT, A), (STRICT, B)])
@pytest.mark.parametrize("method, path", [("POST", "events"), ("POST", "batch_events"), ("GET", "channels"), ("GET", "channels/x"),
                                          ("GET", "channels/presence-x/users"), ("POST", "users/1/terminate_connections")])
def test_CORS_a_preflight_is_204(api, app, origin, method, path):
    answer = preflight(api, app, origin, path, method)
    assert (answer.status, answer.body) == (204, b""), answer
    assert_allows(answer, origin)
    assert method in answer.headers["access-control-allow-methods"]
    assert "content-type" in answer.headers["access-control-allow-headers"].lower() or answer.headers["access-control-allow-headers"] == "*"
    assert api.get("/healthz").status == 200


@pytest.mark.parametrize("origin", ["https://c.example", "http://a.example", "null"])
def test_CORS_other_origins_are_not_allowed(api, api_of, origin):
    assert "access-control-allow-origin" not in preflight(api, STRICT, origin).headers
    strict = api_of(STRICT)
    assert "access-control-allow-origin" not in strict.ask("channels", headers={"Origin": origin}).headers


@pytest.mark.parametrize("app", [FIRST, STRICT])
def test_CORS_actual_answers_say_it_too(api_of, app):
    api, headers = api_of(app), {"Origin": A}
    for answer in (api.ask("channels", headers=headers), api.ask("channels/x", headers=headers), api.post(event_body("x"), headers=headers),
                   api.tell("batch_events", json.dumps({"batch": []}).encode(), headers)):
        assert_allows(answer, A)


@pytest.mark.parametrize("app", [FIRST, STRICT])
def test_CORS_errors_can_be_read_as_well(api_of, app):
    api, headers = api_of(app), {"Origin": A}
    assert api.post(b"{", headers=headers).status == 400
    for answer, status in ((api.post(b"{", headers=headers), 400), (api.post(event_body("x"), headers=headers, auth_key="nobody"), None),
                           (api.ask("channels", headers=headers, auth_timestamp="1"), 401), (api.ask("channels/a!", headers=headers), 400)):
        assert status is None or answer.status == status
        assert_allows(answer, A)


def test_CORS_without_an_origin_nothing_changes(api_of):
    answer = api_of(STRICT).ask("channels")
    assert answer.status == 200 and answer.headers.get("access-control-allow-origin") in (None, "*")


def test_two_gateways_do_not_share_anything(start_gateway, closing):
    one, other = start_gateway(), start_gateway()
    client = closing(Client.connect(one))
    client.join("presence-x", "1")
    assert closing(Client.connect(other)).join("presence-x", "2")["count"] == 1
    assert closing(Api(one)).ask("channels/presence-x", info="user_count").json()["user_count"] == 1


def test_C9_a_disabled_application_has_no_origins(gateway):
    assert close_code(gateway, DISABLED.key, Origin=A) == 4003
