"""A: authentication of API requests."""

import hashlib
import re
import time
from urllib.parse import quote

import pytest

from harness.api import event_body, signed_params, signed_target, string_to_sign
from harness.apps import DISABLED, FIRST, SECOND, App
from harness.wire import request

EVENTS = "/apps/1001/events"


@pytest.fixture
def subscriber(connect, open_api, channel):
    """A subscriber; at the end it must have received only the events that the test expects, then
    the fence.
    """
    client = connect()
    client.subscribe(channel)
    yield client
    open_api().publish(channel, "fence")
    client.expect("fence")


@pytest.fixture
def body(channel):
    return event_body(channel)


def post_raw(api, query: str, body: bytes, path: str = EVENTS):
    return api.call("POST", f"{path}?{query}", body)


def query_of(params: dict[str, str]) -> str:
    return "&".join(f"{name}={value}" for name, value in params.items())


def test_A1_signed_request_is_accepted(api, subscriber, body):
    response = api.post(body)
    assert (response.status, response.body) == (200, b"{}")
    assert response.headers["content-type"].startswith("application/json")
    subscriber.expect("event")


def test_A1_parameter_order_does_not_matter(api, subscriber, body):
    params = signed_params(FIRST, "POST", EVENTS, body)
    assert post_raw(api, query_of(dict(reversed(params.items()))), body).status == 200
    subscriber.expect("event")


def test_A1_custom_parameters_are_signed_too(api, subscriber, body):
    assert api.post(body, aaa="1", zzz="2", auth="x").status == 200
    subscriber.expect("event")


def test_A1_values_are_signed_unescaped(api, subscriber, body):
    value = "a b/c:d=e%f&g+h,é"
    params = signed_params(FIRST, "POST", EVENTS, body, {"note": value})
    assert post_raw(api, query_of(params | {"note": quote(value, safe="")}), body).status == 200
    subscriber.expect("event")


@pytest.mark.parametrize("name", ["auth_key", "auth_timestamp", "auth_version", "body_md5"])
def test_A2_each_parameter_is_required(api, subscriber, body, name):
    response = api.post(body, **{name: None})
    assert response.status in (400, 401) and response.text


def test_A2_signature_is_required(api, subscriber, body):
    params = signed_params(FIRST, "POST", EVENTS, body)
    del params["auth_signature"]
    assert post_raw(api, query_of(params), body).status in (400, 401)


def test_A2_empty_signature_is_401(api, subscriber, body):
    params = signed_params(FIRST, "POST", EVENTS, body)
    assert post_raw(api, query_of(params | {"auth_signature": ""}), body).status == 401


def test_A2_missing_query_is_401(api, subscriber, body):
    assert api.call("POST", EVENTS, body).status == 401


def tampered(body: bytes) -> dict[str, str]:
    params = signed_params(FIRST, "POST", EVENTS, body)
    valid = params["auth_signature"]
    invalid = {"zeros": "0" * 64, "cut": valid[:-1], "longer": valid + "0",
               "upper case": valid.upper(), "no hex": "x" * 64}
    return {name: query_of(params | {"auth_signature": value})
            for name, value in invalid.items()} | {
        "another parameter": query_of(params | {"info": "subscription_count"}),
        "another time": query_of(params
                                 | {"auth_timestamp": str(int(params["auth_timestamp"]) + 1)}),
        "another method": query_of(signed_params(FIRST, "GET", EVENTS, body)),
        "another path": query_of(signed_params(FIRST, "POST", "/apps/1001/batch_events", body)),
        "another application's path": query_of(
            signed_params(FIRST, "POST", "/apps/1002/events", body)),
        "another secret": query_of(
            signed_params(App("1001", "key1", "secret2"), "POST", EVENTS, body)),
        "no secret": query_of(signed_params(App("1001", "key1", ""), "POST", EVENTS, body)),
    }


@pytest.mark.parametrize("kind", tampered(b"x"))
def test_A3_invalid_signature_is_401(api, subscriber, body, kind):
    response = post_raw(api, tampered(body)[kind], body)
    assert response.status == 401
    assert response.text.startswith("Invalid signature")


def test_A3_error_names_the_string_to_sign(api, subscriber, body):
    params = signed_params(FIRST, "POST", EVENTS, body)
    del params["auth_signature"]
    response = post_raw(api, query_of(params | {"auth_signature": "f" * 64}), body)
    assert response.status == 401
    assert response.headers["content-type"].startswith("text/plain")
    expected = string_to_sign("POST", EVENTS, params)
    # The error writes line ends of the signed text as \n.
    assert response.text.strip().replace("\\n", "\n") == (
        f'Invalid signature: you should have sent HmacSHA256Hex("{expected}", your_secret_key), but you sent "{"f" * 64}"')
    assert FIRST.secret not in response.text
    assert FIRST.sign(expected) not in response.text


def test_A4_unknown_key_is_rejected(api, subscriber, body):
    response = api.call("POST", signed_target(App("1001", "unknown", "x"), "POST", EVENTS, body),
                        body)
    assert response.status in (400, 401)
    assert response.text.strip() == "Unknown auth_key"


@pytest.mark.parametrize("app",
                         ["9999", "0", "abc", "1001x", "01001", "-1", "99999999999999999999"])
def test_A5_unknown_application_is_rejected(api, subscriber, body, app):
    path = f"/apps/{app}/events"
    response = api.call("POST", signed_target(FIRST, "POST", path, body), body)
    assert response.status in (400, 401, 403, 404) and response.text


def test_A5_disabled_application_is_403(api, subscriber, body):
    path = f"/apps/{DISABLED.id}/events"
    assert api.call("POST", signed_target(DISABLED, "POST", path, body), body).status == 403


@pytest.mark.parametrize("offset", [-590, -60, 60, 590])
def test_A6_clocks_may_differ_by_600_seconds(api, subscriber, body, offset):
    assert api.post(body, auth_timestamp=str(int(time.time()) + offset)).status == 200
    subscriber.expect("event")


@pytest.mark.parametrize("offset", [-86400, -3600, -615, 615, 3600, 10**9])
def test_A6_larger_difference_is_401(api, subscriber, body, offset):
    response = api.post(body, auth_timestamp=str(int(time.time()) + offset))
    assert response.status == 401
    assert re.fullmatch(
        r"Timestamp expired: Given timestamp \(\S+Z\) not within 600s of server time \(\S+Z\)",
        response.text.strip())


@pytest.mark.parametrize("timestamp",
                         ["", "0", "1e9", "9223372036854775807"])
def test_A6_invalid_timestamps_are_rejected(api, subscriber, body, timestamp):
    assert api.post(body, auth_timestamp=timestamp).status in (400, 401)


def test_A7_same_request_may_be_repeated(api, subscriber, body):
    target = signed_target(FIRST, "POST", EVENTS, body)
    for _ in range(3):
        assert api.call("POST", target, body).status == 200
        subscriber.expect("event")


@pytest.mark.parametrize("digest", ["0" * 32, "", "x", hashlib.md5(b"").hexdigest()])
def test_A8_body_md5_must_match_the_body(api, subscriber, body, digest):
    assert api.post(body, body_md5=digest).status in (400, 401)


def test_A8_other_body_with_the_same_signature_is_rejected(api, subscriber, channel):
    target = signed_target(FIRST, "POST", EVENTS, event_body(channel, data="aaaa"))
    assert api.call("POST", target, event_body(channel, data="bbbb")).status in (400, 401)


@pytest.mark.parametrize("version", ["", "1", "1.1", "2.0", "1.0.0", "01.0", "one"])
def test_A9_other_auth_version_is_401(api, subscriber, body, version):
    assert api.post(body, auth_version=version).status == 401


@pytest.mark.parametrize("written", ["a,b", "a%2Cb", "a%2cb"])
def test_A10_comma_may_be_escaped(api, subscriber, body, written):
    params = signed_params(FIRST, "POST", EVENTS, body, {"note": "a,b"})
    assert post_raw(api, query_of(params | {"note": written}), body).status == 200
    subscriber.expect("event")


def test_A10_mixed_case_names_are_signed_in_lower_case(api, subscriber, body):
    params = signed_params(FIRST, "POST", EVENTS, body, {"Note": "x", "aBc": "y"})
    assert post_raw(api, query_of(params), body).status == 200
    subscriber.expect("event")


def test_signature_is_checked_before_the_body(api, subscriber):
    """An unsigned request must not reveal how the body is validated."""
    for body in (b"", b"{", b"[]", b'{"name":1}', b'{"data":"%s"}' % (b"x" * 20000)):
        assert post_raw(api, "auth_key=key1&auth_signature=0", body).status == 401


def test_signature_of_another_application_is_rejected(api, subscriber, body):
    assert api.call("POST", signed_target(SECOND, "POST", EVENTS, body),
                    body).status in (400, 401, 403, 404)


def test_duplicate_parameters_affect_no_other_client(api, control_client, body):
    params = query_of(signed_params(FIRST, "POST", EVENTS, body))
    for more in ("auth_key=key2", "auth_key=key1", "auth_signature=0", "auth_timestamp=0",
                 "body_md5=0"):
        assert post_raw(api, params + "&" + more, body).status in (200, 400, 401)
        assert post_raw(api, more + "&" + params, body).status in (200, 400, 401)


@pytest.mark.parametrize("query",
                         ["&", "=", "&&&===", "?", "auth_key", "auth_signature=%FF" + "x" * 2000,
                          "&".join("auth_key=key1" for _ in range(60))],
                         ids=lambda query: query[:16])
def test_malformed_queries_are_rejected(api, control_client, body, query):
    assert post_raw(api, query, body).status in (400, 401)


@pytest.mark.parametrize("query", ["%", "%%%", "%zz", "a=%4", "auth_key=%00", "auth_key=key1%00"])
def test_malformed_escapes_are_rejected_or_close_the_connection(wire, control_client, body, query):
    wire = wire()
    wire.send(request("POST", f"{EVENTS}?{query}", body))
    response = wire.read_response()
    assert response is None or 400 <= response.status < 500
