"""Several applications: features, limits, origins, and rotation of secrets."""

import json

import pytest

from harness.api import Api, event_body
from harness.apps import DISABLED, FIRST, SECOND, App
from harness.client import Client

NEW, OLD, OLDER = (App("1004", "key4", "new-secret"), App("1004", "key4", "old-secret"),
                   App("1004", "key4", "older-secret"))
STRICT, OPEN = App("1005", "key5", "secret5"), App("1006", "key6", "secret6")

A, B = "https://a.example", "https://b.example:8443"

SETTINGS = {"apps": [
    {"id": NEW.id, "key": NEW.key, "secrets": [NEW.secret, OLD.secret], "client_events": True},
    STRICT.entry(allowed_origins=[A, B],
                 limits={"event_bytes": 100, "channels_per_event": 2, "name_length": 20,
                         "presence_members": 1}),
    OPEN.entry(client_events=True, subscription_counts=True),
]}

both = pytest.mark.parametrize("app", [NEW, OLD], ids=["new", "old"])


@both
def test_S10_both_secrets_sign_subscriptions(connect, open_api, channel, app):
    client = connect(NEW)
    client.subscribe_private("private-" + channel, app)
    assert client.join("presence-" + channel, "1", app=app)["ids"] == ["1"]
    client.sign_in("1", app)
    open_api(app).publish("private-" + channel)
    client.expect("event")


@both
def test_A3_both_secrets_sign_requests(open_api, app):
    api = open_api(app)
    assert api.get_signed("channels").status == 200
    assert api.post_signed("users/1/terminate_connections").status == 200
    api.publish("channel")


def test_A3_S11_removed_secrets_are_rejected(connect, open_api, channel):
    client = connect(NEW)
    client.send_subscribe("private-" + channel,
                          auth=OLDER.auth(client.socket_id, "private-" + channel))
    client.expect_error_code(4009)
    client.send_presence_subscribe("presence-" + channel, '{"user_id":"1"}', OLDER)
    client.expect_error_code(4009)
    client.send_sign_in('{"id":"1"}', OLDER)
    client.expect_error_code(4009)
    assert open_api(OLDER).get_signed("channels").status == 401
    assert open_api(OLDER).post(event_body("channel")).status == 401


def test_clients_with_different_secrets_share_channels(connect, channel):
    """During a rotation some clients use the old secret and some the new one."""
    one, other, name = connect(NEW), connect(NEW), "presence-" + channel
    one.join(name, "1", app=NEW)
    other.join(name, "1", app=OLD)
    one.send("client-said", "x", channel=name)
    other.expect("client-said")
    one.expect_nothing()


@pytest.mark.parametrize("app, client_events, counts",
                         [(FIRST, False, False), (NEW, True, False), (OPEN, True, True)],
                         ids=["first", "new", "open"])
def test_features_are_per_application(connect, channel, app, client_events, counts):
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


def test_limits_are_per_application(open_api, connect):
    headers = {"Origin": A}
    strict, unlimited = open_api(STRICT), open_api(OPEN)
    for body, status in [(event_body("x", data="x" * 101), 413), (event_body(["x", "y", "z"]), 400),
                         (event_body("x", "n" * 21), 400)]:
        assert strict.post(body).status == status
        assert unlimited.post(body).status == 200
    assert strict.post(event_body(["x", "y"], "n" * 20, "x" * 100)).status == 200
    client, other = connect(STRICT, headers=headers), connect(STRICT, headers=headers)
    client.join("presence-x", "1", app=STRICT)
    other.send_presence_subscribe("presence-x", '{"user_id":"2"}', STRICT)
    other.expect_error()


def test_S9_channels_are_scoped_to_the_application(connect, open_api, channel):
    apps = [FIRST, SECOND, NEW, STRICT]
    clients = [connect(app) for app in apps]
    for client in clients:
        client.subscribe(channel)
    for app in apps:
        open_api(app).publish(channel, data=app.id)
    for client, app in zip(clients, apps):
        client.expect("event", data=app.id)
        client.expect_nothing()


# Origins


def close_code(gateway, key: str, **headers) -> int:
    client = Client.dial(gateway, key, headers=headers)
    try:
        return client.expect_close()[0]
    finally:
        client.close()


@pytest.mark.parametrize("origin", [A, A + "/", A + ":443", B, None])
def test_allowed_and_missing_origins_are_accepted(gateway, closing, origin):
    client = closing(
        Client.dial(gateway, STRICT.key, headers={"Origin": origin} if origin else None))
    client.expect_established()
    client.expect_nothing()


@pytest.mark.parametrize("origin",
                         ["https://c.example", "http://a.example", "https://a.example:8443",
                          "https://b.example", "https://a.example.evil.example",
                          "https://sub.a.example", "https://evil-a.example", "null", "*",
                          "a.example", "https://a.example//", "https://a.example/x", "x"])
def test_other_origins_are_closed_4009(gateway, origin):
    assert close_code(gateway, STRICT.key, Origin=origin) == 4009


@pytest.mark.parametrize("origin", ["https://c.example", "null", "x"])
def test_all_origins_are_allowed_by_default(gateway, closing, origin):
    closing(Client.dial(gateway, FIRST.key, headers={"Origin": origin})).expect_established()


def preflight(api, app: App, origin: str | None, path: str = "events", method: str = "POST"):
    headers = {"Access-Control-Request-Method": method,
               "Access-Control-Request-Headers": "content-type"}
    return api.call("OPTIONS", f"/apps/{app.id}/{path}",
                    headers=headers | ({"Origin": origin} if origin else {}))


def assert_allows(response, origin: str) -> None:
    assert response.headers.get("access-control-allow-origin") in ("*", origin), response
    if response.headers["access-control-allow-origin"] != "*":
        assert "origin" in response.headers.get("vary", "").lower(), (
            "a cache must not serve it to another origin")


@pytest.mark.parametrize("app, origin",
                         [(FIRST, A), (FIRST, "http://127.0.0.1:3000"), (STRICT, A), (STRICT, B)])
@pytest.mark.parametrize("method, path",
                         [("POST", "events"), ("POST", "batch_events"), ("GET", "channels"),
                          ("GET", "channels/x"), ("GET", "channels/presence-x/users"),
                          ("POST", "users/1/terminate_connections")])
def test_cors_preflight_is_204(api, app, origin, method, path):
    response = preflight(api, app, origin, path, method)
    assert (response.status, response.body) == (204, b""), response
    assert_allows(response, origin)
    assert method in response.headers["access-control-allow-methods"]
    assert ("content-type" in response.headers["access-control-allow-headers"].lower()
            or response.headers["access-control-allow-headers"] == "*")
    assert api.get("/healthz").status == 200


@pytest.mark.parametrize("origin", ["https://c.example", "http://a.example", "null"])
def test_cors_other_origins_are_not_allowed(api, open_api, origin):
    assert "access-control-allow-origin" not in preflight(api, STRICT, origin).headers
    strict = open_api(STRICT)
    assert "access-control-allow-origin" not in strict.get_signed(
        "channels", headers={"Origin": origin}).headers


@pytest.mark.parametrize("app", [FIRST, STRICT])
def test_cors_headers_in_responses(open_api, app):
    api, headers = open_api(app), {"Origin": A}
    for response in (api.get_signed("channels", headers=headers),
                     api.get_signed("channels/x", headers=headers),
                     api.post(event_body("x"), headers=headers),
                     api.post_signed("batch_events", json.dumps({"batch": []}).encode(), headers)):
        assert_allows(response, A)


@pytest.mark.parametrize("app", [FIRST, STRICT])
def test_cors_headers_in_error_responses(open_api, app):
    api, headers = open_api(app), {"Origin": A}
    assert api.post(b"{", headers=headers).status == 400
    for response, status in ((api.post(b"{", headers=headers), 400),
                             (api.post(event_body("x"), headers=headers, auth_key="unknown"), None),
                             (api.get_signed("channels", headers=headers, auth_timestamp="1"), 401),
                             (api.get_signed("channels/a!", headers=headers), 400)):
        assert status is None or response.status == status
        assert_allows(response, A)


def test_cors_without_origin(open_api):
    response = open_api(STRICT).get_signed("channels")
    assert (response.status == 200
            and response.headers.get("access-control-allow-origin") in (None, "*"))


def test_two_gateways_share_nothing(start_gateway, closing):
    one, other = start_gateway(), start_gateway()
    client = closing(Client.connect(one))
    client.join("presence-x", "1")
    assert closing(Client.connect(other)).join("presence-x", "2")["count"] == 1
    assert closing(Api(one)).get_signed("channels/presence-x",
                                        info="user_count").json()["user_count"] == 1


def test_C9_disabled_application_closes_4003_for_any_origin(gateway):
    assert close_code(gateway, DISABLED.key, Origin=A) == 4003
