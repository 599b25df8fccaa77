"""A, L and J1 for every endpoint: who may, what is there, which methods, and that the connection stays open."""

import hashlib
import json
import time

import pytest

from harness.api import event_body, signed_target
from harness.apps import DISABLED, FIRST, SECOND, App
from harness.wire import request

EVENT = event_body("channel")
BATCH = json.dumps({"batch": [{"name": "event", "channel": "channel", "data": "{}"}]}).encode()
ENDPOINTS = [("POST", "events", EVENT), ("POST", "batch_events", BATCH), ("GET", "channels", b""), ("GET", "channels/channel", b""),
             ("GET", "channels/presence-channel/users", b""), ("POST", "users/1/terminate_connections", b"")]

endpoints = pytest.mark.parametrize("method, path, body", ENDPOINTS, ids=[path for _, path, _ in ENDPOINTS])


def call(api, app: App, method: str, path: str, body: bytes, changes: dict | None = None, id: str | None = None):
    path = f"/apps/{id or app.id}/{path}"
    return api.call(method, signed_target(app, method, path, body, changes), body or None)


@pytest.fixture
def staying(api):
    """An API connection that must take a good call after whatever was wrong."""
    yield api
    assert api.ask("channels").status == 200
    api.publish("channel")


@endpoints
def test_A1_L4_signed_it_is_200(staying, method, path, body):
    answer = call(staying, FIRST, method, path, body)
    assert answer.status == 200, answer
    assert answer.headers["content-type"].startswith("application/json") and isinstance(answer.json(), dict)


@endpoints
def test_A3_L4_a_bad_signature_is_401_and_says_what_was_to_be_signed(staying, method, path, body):
    answer = call(staying, App("1001", "key1", "wrong"), method, path, body)
    assert answer.status == 401, answer
    # Line ends of the signed string are shown as \\n.
    assert answer.text.startswith(rf'Invalid signature: you should have sent HmacSHA256Hex("{method}\n/apps/1001/{path}\n')


@endpoints
@pytest.mark.parametrize("changes", [{"auth_signature": "0" * 64}, {"auth_timestamp": str(int(time.time()) - 700)}, {"auth_version": "2.0"}],
                         ids=["signature", "timestamp", "version"])
def test_A6_A9_L4_so_are_other_faults_of_signing(staying, method, path, body, changes):
    full = f"/apps/1001/{path}"
    target = signed_target(FIRST, method, full, body, changes)
    assert staying.call(method, target, body or None).status == 401


@endpoints
def test_A2_L4_unsigned_it_is_refused(staying, method, path, body):
    assert staying.call(method, f"/apps/1001/{path}", body or None).status in (400, 401)


@endpoints
def test_A4_L4_an_unknown_key(staying, method, path, body):
    answer = call(staying, App("1001", "nobody", "secret1"), method, path, body)
    assert answer.status in (400, 401) and "Unknown auth_key" in answer.text


@endpoints
def test_A5_L4_an_unknown_application_is_404(staying, method, path, body):
    assert call(staying, FIRST, method, path, body, id="9999").status == 404


@endpoints
def test_A4_L4_another_applications_key(staying, method, path, body):
    assert call(staying, SECOND, method, path, body, id="1001").status in (400, 401, 403)


@endpoints
def test_L4_a_disabled_application_is_403(staying, method, path, body):
    assert call(staying, DISABLED, method, path, body).status == 403


@endpoints
def test_A8_L4_body_md5_of_the_body(staying, method, path, body):
    """Also of an empty one, as one SDK sends it with GET; but not of another."""
    assert call(staying, FIRST, method, path, body, {"body_md5": hashlib.md5(body).hexdigest()}).status == 200
    assert call(staying, FIRST, method, path, body, {"body_md5": hashlib.md5(b"other").hexdigest()}).status in (400, 401)


@endpoints
def test_A10_parameters_are_signed_whatever_they_are(staying, method, path, body):
    assert call(staying, FIRST, method, path, body, {"More": "a,b c", "x": "", "é": "ü=&"}).status == 200


@endpoints
def test_L1_L4_the_wrong_method_is_405(staying, method, path, body):
    for wrong in {"GET", "POST", "PUT", "DELETE", "PATCH"} - {method}:
        answer = call(staying, FIRST, wrong, path, b"")
        assert answer.status == 405, (wrong, answer)
        assert method in answer.headers["allow"]


@pytest.mark.parametrize("method, path", [("GET", "nothing"), ("GET", "channels/a/b"), ("GET", "channels/presence-a/users/1"), ("GET", "users"),
                                          ("GET", "users/1"), ("POST", "users/1/terminate"), ("POST", "users/terminate_connections"), ("GET", "")])
def test_L2_L4_an_unknown_path_is_404(staying, method, path):
    answer = call(staying, FIRST, method, path, b"")
    assert answer.status in (404, 405) and answer.text.strip()


@pytest.mark.parametrize("path", ["channels//", "channels/%00", "channels/%2e%2e", "channels/%FF", "channels/..", "//channels", "users//terminate_connections",
                                  "users/%00/terminate_connections", "channels/" + "x" * 3000])
def test_L3_odd_paths_do_no_harm(bystander, wire, path):
    """What becomes of them is open; that nobody else notices is not."""
    wire = wire()
    wire.send_as_taken(request("GET", f"/apps/1001/{path}?auth_key=key1"))
    wire.finish()
    answer = wire.rest()
    assert not answer or answer.startswith(b"HTTP/1.1 4")


def test_L4_faults_of_every_kind_on_one_connection(api, connect, channel):
    client = connect()
    client.subscribe(channel)
    wrong = App("1001", "key1", "wrong")
    for turn in range(3):
        statuses = [call(api, app, method, path, body).status for method, path, body, app in [
            ("GET", "channels", b"", wrong), ("POST", "events", b"{", FIRST), ("POST", "events", event_body("a b"), FIRST),
            ("POST", "batch_events", b"[]", FIRST), ("GET", "channels/a!", b"", FIRST), ("GET", "channels/channel/users", b"", FIRST),
            ("GET", "nothing", b"", FIRST), ("DELETE", "channels", b"", FIRST), ("POST", "events", event_body("x", data="x" * 10241), FIRST),
            ("GET", "channels", b"", DISABLED)]]
        assert statuses == [401, 400, 400, 400, 400, 400, 404, 405, 413, 403]
        api.publish(channel, "fence", str(turn))
        client.expect("fence", data=str(turn))


@pytest.mark.parametrize("body", [None, b"{}", b'{"reason":"x"}'], ids=["none", "empty", "more"])
@pytest.mark.parametrize("user", ["1", "driver:42", "nobody", "a.b@c", "i" * 128])
def test_J1_known_or_not_with_a_body_or_without(api, user, body):
    answer = api.tell(f"users/{user}/terminate_connections", body)
    assert (answer.status, answer.body) == (200, b"{}")


def test_J1_repeating_it_terminates_again(connect, api, channel):
    for _ in range(3):
        client = connect()
        client.sign_in(channel)
        assert api.tell(f"users/{channel}/terminate_connections").status == 200
        assert client.closed()[0] == 4009
