"""A, L and J1 for every endpoint: authentication, paths, methods, and kept-alive connections."""

import hashlib
import json
import time

import pytest

from harness.api import event_body, signed_target
from harness.apps import DISABLED, FIRST, SECOND, App
from harness.wire import request

EVENT = event_body("channel")
BATCH = json.dumps({"batch": [{"name": "event", "channel": "channel", "data": "{}"}]}).encode()
ENDPOINTS = [("POST", "events", EVENT), ("POST", "batch_events", BATCH), ("GET", "channels", b""),
             ("GET", "channels/channel", b""), ("GET", "channels/presence-channel/users", b""),
             ("POST", "users/1/terminate_connections", b"")]

endpoints = pytest.mark.parametrize("method, path, body", ENDPOINTS,
                                    ids=[path for _, path, _ in ENDPOINTS])


def call(api, app: App, method: str, path: str, body: bytes, changes: dict | None = None,
         id: str | None = None):
    path = f"/apps/{id or app.id}/{path}"
    return api.call(method, signed_target(app, method, path, body, changes), body or None)


@pytest.fixture
def kept_alive(api):
    """An API connection that must still accept a valid request at the end."""
    yield api
    assert api.get_signed("channels").status == 200
    api.publish("channel")


@endpoints
def test_A1_L4_signed_request_is_200(kept_alive, method, path, body):
    response = call(kept_alive, FIRST, method, path, body)
    assert response.status == 200, response
    assert (response.headers["content-type"].startswith("application/json")
            and isinstance(response.json(), dict))


@endpoints
def test_A3_L4_invalid_signature_is_401_and_names_the_string_to_sign(
        kept_alive, method, path, body):
    response = call(kept_alive, App("1001", "key1", "wrong"), method, path, body)
    assert response.status == 401, response
    # The error writes line ends of the signed string as \n.
    assert response.text.startswith(
        rf'Invalid signature: you should have sent HmacSHA256Hex("{method}\n/apps/1001/{path}\n')


@endpoints
@pytest.mark.parametrize("changes",
                         [{"auth_signature": "0" * 64},
                          {"auth_timestamp": str(int(time.time()) - 700)}, {"auth_version": "2.0"}],
                         ids=["signature", "timestamp", "version"])
def test_A6_A9_L4_invalid_timestamp_and_version_are_401(kept_alive, method, path, body, changes):
    full = f"/apps/1001/{path}"
    target = signed_target(FIRST, method, full, body, changes)
    assert kept_alive.call(method, target, body or None).status == 401


@endpoints
def test_A2_L4_unsigned_request_is_rejected(kept_alive, method, path, body):
    assert kept_alive.call(method, f"/apps/1001/{path}", body or None).status in (400, 401)


@endpoints
def test_A4_L4_unknown_key_is_rejected(kept_alive, method, path, body):
    response = call(kept_alive, App("1001", "unknown", "secret1"), method, path, body)
    assert response.status in (400, 401) and "Unknown auth_key" in response.text


@endpoints
def test_A5_L4_unknown_application_is_404(kept_alive, method, path, body):
    assert call(kept_alive, FIRST, method, path, body, id="9999").status == 404


@endpoints
def test_A4_L4_key_of_another_application_is_rejected(kept_alive, method, path, body):
    assert call(kept_alive, SECOND, method, path, body, id="1001").status in (400, 401, 403)


@endpoints
def test_L4_disabled_application_is_403(kept_alive, method, path, body):
    assert call(kept_alive, DISABLED, method, path, body).status == 403


@endpoints
def test_A8_L4_body_md5_must_match_the_body(kept_alive, method, path, body):
    """Also for an empty body, as one SDK sends it with GET."""
    assert call(kept_alive, FIRST, method, path, body,
                {"body_md5": hashlib.md5(body).hexdigest()}).status == 200
    assert call(kept_alive, FIRST, method, path, body,
                {"body_md5": hashlib.md5(b"other").hexdigest()}).status in (400, 401)


@endpoints
def test_A10_custom_parameters_are_signed(kept_alive, method, path, body):
    assert call(kept_alive, FIRST, method, path, body,
                {"More": "a,b c", "x": "", "é": "ü=&"}).status == 200


@endpoints
def test_L1_L4_wrong_method_is_405(kept_alive, method, path, body):
    for wrong in {"GET", "POST", "PUT", "DELETE", "PATCH"} - {method}:
        response = call(kept_alive, FIRST, wrong, path, b"")
        assert response.status == 405, (wrong, response)
        assert method in response.headers["allow"]


@pytest.mark.parametrize("method, path",
                         [("GET", "nothing"), ("GET", "channels/a/b"),
                          ("GET", "channels/presence-a/users/1"), ("GET", "users"),
                          ("GET", "users/1"), ("POST", "users/1/terminate"),
                          ("POST", "users/terminate_connections"), ("GET", "")])
def test_L2_L4_unknown_path_is_404(kept_alive, method, path):
    response = call(kept_alive, FIRST, method, path, b"")
    assert response.status in (404, 405) and response.text.strip()


@pytest.mark.parametrize("path",
                         ["channels//", "channels/%00", "channels/%2e%2e", "channels/%FF",
                          "channels/..", "//channels", "users//terminate_connections",
                          "users/%00/terminate_connections", "channels/" + "x" * 3000])
def test_L3_malformed_paths_affect_no_other_client(control_client, wire, path):
    """The response is unspecified; the effect on other clients is not."""
    wire = wire()
    wire.send_ignoring_reset(request("GET", f"/apps/1001/{path}?auth_key=key1"))
    wire.close_write()
    response = wire.read_to_end()
    assert not response or response.startswith(b"HTTP/1.1 4")


def test_L4_connection_is_kept_after_each_error(api, connect, channel):
    client = connect()
    client.subscribe(channel)
    wrong = App("1001", "key1", "wrong")
    for turn in range(3):
        statuses = [call(api, app, method, path, body).status for method, path, body, app in [
            ("GET", "channels", b"", wrong), ("POST", "events", b"{", FIRST),
            ("POST", "events", event_body("a b"), FIRST),
            ("POST", "batch_events", b"[]", FIRST), ("GET", "channels/a!", b"", FIRST),
            ("GET", "channels/channel/users", b"", FIRST),
            ("GET", "nothing", b"", FIRST), ("DELETE", "channels", b"", FIRST),
            ("POST", "events", event_body("x", data="x" * 10241), FIRST),
            ("GET", "channels", b"", DISABLED)]]
        assert statuses == [401, 400, 400, 400, 400, 400, 404, 405, 413, 403]
        api.publish(channel, "fence", str(turn))
        client.expect("fence", data=str(turn))


@pytest.mark.parametrize("body", [None, b"{}", b'{"reason":"x"}'], ids=["none", "empty", "more"])
@pytest.mark.parametrize("user", ["1", "driver:42", "unknown", "a.b@c", "i" * 128])
def test_J1_terminate_accepts_any_user_with_and_without_body(api, user, body):
    response = api.post_signed(f"users/{user}/terminate_connections", body)
    assert (response.status, response.body) == (200, b"{}")


def test_J1_user_can_be_terminated_again(connect, api, channel):
    for _ in range(3):
        client = connect()
        client.sign_in(channel)
        assert api.post_signed(f"users/{channel}/terminate_connections").status == 200
        assert client.expect_close()[0] == 4009
