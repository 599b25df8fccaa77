"""Idempotency-Key: a repeated request is performed once and gets the stored response."""

import json

import pytest

from harness.api import Api, Response
from harness.concurrency import run_concurrently
from harness.fleet import (SETTINGS as FLEET, Caller, Fleet, error_message, expect_no_events,
                           unique_id)

SETTINGS = FLEET


@pytest.fixture
def key():
    return unique_id("key ")


def is_replay(response: Response) -> bool:
    received = response.headers.get("idempotency-replayed")
    assert received in (None, "true"), received
    return received == "true"


def assign_path(code: str) -> str:
    return f"/api/admin/orders/{code}/assign-driver"


def test_repeated_request_gets_the_same_response_and_is_performed_once(
        admin, fleet, api, code, key):
    client = fleet.listen(admin, "driver-d1", "admin-channel")
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key,
                       headers={"X-Correlation-ID": "first"})
    assert first.status == 200 and not is_replay(first)
    for event in ("job-assigned", "job-assigned", "order-assigned"):
        client.expect(event)
    for number in range(3):
        again = admin.post(assign_path(code), {"driverId": "d1"}, key=key,
                           headers={"X-Correlation-ID": f"again-{number}"})
        assert (again.status, again.body) == (200, first.body) and is_replay(again)
        # The body has the first request's correlation id, the header this request's.
        assert (again.json()["correlationId"] == "first"
                and again.headers["x-correlation-id"] == f"again-{number}")
        assert again.headers["content-type"] == first.headers["content-type"]
    expect_no_events(api, client)
    assert admin.get_order(code)["version"] == 1


def test_response_stays_the_same_after_later_changes(admin, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    admin.order(code, "cancel-enhanced")
    again = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    assert again.body == first.body and is_replay(again)
    assert admin.get_order(code)["status"] == "cancelled"


def test_key_in_the_body_is_used(admin, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1", "idempotencyKey": key})
    again = admin.post(assign_path(code), {"idempotencyKey": key, "driverId": "d1"})
    assert again.body == first.body and is_replay(again) and not is_replay(first)
    admin.expect_error(409, "POST", assign_path(code), {"driverId": "d2", "idempotencyKey": key})


def test_header_precedes_the_key_in_the_body(admin, code, key):
    body = {"driverId": "d1", "idempotencyKey": unique_id()}
    first = admin.post(assign_path(code), body, key=key)
    assert is_replay(admin.post(assign_path(code), body, key=key))
    other = admin.post(assign_path(code), body)
    assert not is_replay(other) and "already assigned" in other.json()["message"]
    assert first.json()["message"] != other.json()["message"]


def test_without_a_key_each_request_is_performed(admin, code):
    for number in range(2):
        response = admin.put(f"/api/admin/orders/{code}", {"totalGBP": number})
        assert not is_replay(response)


OTHER = {
    "another body": ("POST", "assign-driver", {"driverId": "d2"}),
    "more in the body": ("POST", "assign-driver", {"driverId": "d1", "reason": "x"}),
    "another action": ("POST", "unassign", {"driverId": "d1"}),
    "a member of null": ("POST", "assign-driver", {"driverId": "d1", "reason": None}),
    "an unknown member": ("POST", "assign-driver", {"driverId": "d1", "unknown": 1}),
    "no body": ("POST", "assign-driver", None)}


@pytest.mark.parametrize("method, action, body", OTHER.values(), ids=OTHER)
def test_different_request_with_the_same_key_is_409(admin, code, key, method, action, body):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    assert first.status == 200
    response = admin.request(method, f"/api/admin/orders/{code}/{action}", body, key=key)
    # An invalid request may be rejected before it is compared.
    assert response.status in ((409,) if body else (400, 409)), response
    assert error_message("/api/admin/", response) and not is_replay(response)
    assert admin.post(assign_path(code), {"driverId": "d1"}, key=key).body == first.body


def test_different_order_with_the_same_key_is_409(admin, code, key):
    admin.expect_ok("POST", assign_path(code), {"driverId": "d1"}, key=key)
    admin.expect_error(409, "POST", assign_path(code + "x"), {"driverId": "d1"}, key=key)
    admin.expect_error(409, "PUT", f"/api/admin/orders/{code}", {"driverId": "d1"}, key=key)
    admin.expect_error(404, "GET", f"/api/admin/orders/{code}x")


SAME = [
    b'{"driverId":"d1","totalGBP":1.5,"customerName":"\xc3\x9cnal /","more":{"a":[1,2],"b":null}}',
    b' {\n"totalGBP" : 1.5 , "driverId":\t"d1", "more":{"b":null,"a":[1, 2]},"customerName":"\\u00dcnal \\/"}\r\n',
    b'{"dri\\u0076erId":"d1","\\u006dore":{"a":[1,2],"b":null},"customerName":"\\u00DCnal \\u002f","totalGBP":1.5}',
]
DIFFERENT = [
    SAME[0].replace(b"[1,2]", b"[2,1]"), SAME[0].replace(b"null", b"false"),
    SAME[0].replace(b"[1,2]", b'["1",2]'), SAME[0].replace(b"nal", b"NAL"),
    SAME[0].replace(b"null", b'"null"'), SAME[0].replace(b'"b":null', b'"b":{}'),
    SAME[0].replace(b'"b":null', b'"c":null')]


@pytest.mark.parametrize("first", SAME, ids=["plain", "spaced", "escaped"])
def test_requests_are_compared_as_json_values(admin, code, key, first):
    """Ignores the order of members, white space, and escapes."""
    done = admin.post(assign_path(code), first, key=key)
    assert done.status == 200, done
    for body in SAME:
        again = admin.post(assign_path(code), body, key=key)
        assert (again.status, again.body) == (200, done.body) and is_replay(again)
    for body in DIFFERENT:
        assert admin.post(assign_path(code), body, key=key).status == 409, body


def test_keys_are_scoped_to_the_user(admin, fleet, code, key):
    for number, caller in enumerate((admin, fleet.admin("bea"), fleet.admin("cat"))):
        response = caller.put(f"/api/admin/orders/{code}-{number}", {}, key=key)
        assert response.status == 200 and not is_replay(response)
    driver, other = fleet.driver(), fleet.driver()
    for person in (driver, other):
        admin.assign(f"{code}-{person.subject}", person.subject)
        assert not is_replay(
            person.post(f"/api/driver/jobs/{code}-{person.subject}/accept", key=key))
    # Users with the same id in two roles are two users.
    namesake = fleet.driver(admin.subject)
    admin.assign(f"{code}-name", namesake.subject)
    assert namesake.post(f"/api/driver/jobs/{code}-name/accept", key=key).status == 200


def test_key_is_shared_by_all_connections_and_tokens_of_a_user(admin, fleet, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    again = fleet.admin(exp=9999999999).post(assign_path(code), {"driverId": "d1"}, key=key)
    assert again.body == first.body and is_replay(again)


def repeatable(admin: Caller, driver: Caller, code: str) -> list[tuple[Caller, str, str, dict]]:
    """Returns a request for each POST and PUT endpoint."""
    admin.assign(f"{code}a", driver.subject)
    admin.assign(f"{code}b", driver.subject)
    driver.accept(f"{code}b")
    admin.route(f"{code}r", "assign-driver", driverId=driver.subject)
    orders, routes = "/api/admin/orders/" + code, "/api/admin/routes/" + code
    return [
        (admin, "PUT", orders, {"customerName": "x"}),
        (admin, "POST", f"{orders}1/assign-driver", {"driverId": "d"}),
        (admin, "POST", f"{orders}2/unassign", {"driverId": "d"}),
        (admin, "POST", f"{orders}3/remove-driver", {"driverId": "d"}),
        (admin, "POST", f"{orders}4/cancel-enhanced", {}),
        (admin, "PUT", routes, {"routeNumber": "1"}),
        (admin, "POST", f"{routes}1/assign-driver", {"driverId": "d"}),
        (admin, "POST", f"{routes}2/unassign", {"driverId": "d"}),
        (admin, "POST", f"{routes}3/cancel", {}),
        (admin, "POST", f"{routes}4/drops/1/remove", {}),
        (admin, "POST", "/api/admin/notifications",
         {"type": "DRIVER_APPROVED", "to": {"driver": "d"}, "data": {}}),
        (driver, "POST", f"/api/driver/jobs/{code}a/accept", {}),
        (driver, "PUT", f"/api/driver/jobs/{code}b/progress", {"step": "en_route"}),
        (driver, "POST", f"/api/driver/routes/{code}r/accept", {}),
        (driver, "POST", "/api/driver/notifications/read", {"all": True}),
        (driver, "POST", "/api/driver/notifications/log",
         {"notificationId": "n", "type": "new_job", "entityId": "e", "event": "received",
          "timestamp": "2026-01-01T00:00:00Z"})]


def repeated(body: bytes) -> bytes:
    """Returns the response that a repetition gets: apps distinguish a repeated accept."""
    return body.replace(b"accepted successfully", b"already accepted")


def test_each_post_and_put_is_idempotent(admin, fleet, code):
    for caller, method, path, body in repeatable(admin, fleet.driver(), code):
        key = unique_id()
        first = caller.request(method, path, body, key=key)
        assert first.status == 200 and not is_replay(first), (path, first)
        again = caller.request(method, path, body, key=key)
        assert (again.status, again.body) == (200, repeated(first.body)), (path, again)
        assert is_replay(again), (path, again)
        assert caller.request(method, path, body | {"unknown": 1}, key=key).status == 409, path


def test_repeated_accept_says_so(admin, fleet, code, key):
    driver = fleet.driver()
    admin.assign(code, driver.subject)
    admin.route(code, "assign-driver", driverId=driver.subject)
    for kind, noun in (("jobs", "Job"), ("routes", "Route")):
        path = f"/api/driver/{kind}/{code}/accept"
        first = driver.post(path, key=f"{key} {kind}")
        assert first.json()["message"] == f"{noun} accepted successfully" and not is_replay(first)
        for _ in range(2):
            again = driver.post(path, key=f"{key} {kind}")
            assert is_replay(again)
            assert again.json() == first.json() | {"message": f"{noun} already accepted"}


def test_requests_that_change_nothing_are_not_stored(fleet, key):
    driver = fleet.driver()
    for _ in range(2):
        response = driver.post("/api/driver/notifications/read", {"all": True}, key=key)
        assert response.status == 200 and not is_replay(response)


def test_errors_are_not_stored(admin, code, key):
    path = f"/api/admin/orders/{code}/unassign"
    admin.expect_error(409, "POST", path, {}, key=key)
    admin.expect_error(400, "POST", path, {"reason": 1}, key=key)
    admin.assign(code, "d1")
    response = admin.post(path, {}, key=key)
    assert response.status == 200 and not is_replay(response)
    assert is_replay(admin.post(path, {}, key=key))


def test_authorization_precedes_stored_responses(admin, fleet, code, key):
    admin.expect_ok("POST", assign_path(code), {"driverId": "d1"}, key=key)
    fleet.driver(admin.subject).expect_error(403, "POST", assign_path(code), {"driverId": "d1"},
                                             key=key)
    fleet.caller().expect_error(401, "POST", assign_path(code), {"driverId": "d1"}, key=key)


@pytest.mark.parametrize("size", [1, 255])
def test_keys_of_1_to_255_characters_are_accepted(admin, code, size):
    key = unique_id().ljust(size, "k")[-size:] if size > 1 else unique_id()[-1]
    assert admin.put(f"/api/admin/orders/{code}", {}, key=key).status in (200, 409)
    again = admin.put(f"/api/admin/orders/{code}", {}, key=key)
    assert is_replay(again) or again.status == 409


@pytest.mark.parametrize("key", ["", "k" * 256, "k" * 3000], ids=len)
def test_invalid_key_lengths_are_400(admin, code, key):
    if key:
        assert "dempotency" in admin.expect_error(400, "PUT", f"/api/admin/orders/{code}", {},
                                                  key=key)
    assert "dempotency" in admin.expect_error(400, "PUT", f"/api/admin/orders/{code}",
                                              {"idempotencyKey": key})
    assert admin.expect_error(404, "GET", f"/api/admin/orders/{code}")


@pytest.mark.parametrize("key", [1, True, [], {}], ids=repr)
def test_key_in_the_body_must_be_a_string(admin, code, key):
    assert "idempotencyKey" in admin.expect_error(400, "PUT", f"/api/admin/orders/{code}",
                                                  {"idempotencyKey": key})


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_concurrent_repetitions_are_performed_once(admin, fleet, api, code):
    """One is performed; the others wait for its response."""
    client = fleet.listen(admin, "admin-channel")
    callers = [fleet.admin() for _ in range(8)]
    for number in range(10):
        def repeat(caller: Caller, number: int = number) -> Response:
            return caller.post(assign_path(f"{code}-{number}"), {"driverId": "d1"},
                               key=f"{code}-{number}")

        responses = run_concurrently(repeat, callers)
        assert ({response.status for response in responses} == {200}
                and len({response.body for response in responses}) == 1)
        assert sorted(map(is_replay, responses)) == [False] + [True] * 7
        for event in ("job-assigned", "order-assigned"):
            assert client.expect_data(event)["bookingId"] == f"{code}-{number}"
    expect_no_events(api, client)


def test_concurrent_different_requests_conflict(admin, fleet, code):
    """Of concurrent requests with one key, one is performed and the others conflict."""
    callers = [fleet.admin() for _ in range(6)]
    responses = run_concurrently(
        lambda number: callers[number].post(assign_path(code), {"driverId": f"d{number}"}, key=code),
        range(6))
    assert sorted(response.status for response in responses) == [200] + [409] * 5
    assert admin.get_order(code)["version"] == 1


def test_stored_responses_survive_a_restart(start_gateway, closing, code, key):
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    first = fleet.admin().post(assign_path(code), {"driverId": "d1"}, key=key)
    accepted = fleet.driver("d1").post(f"/api/driver/jobs/{code}/accept", key=key)
    gateway.stop()
    gateway = start_gateway("kept", **FLEET)
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    client = fleet.listen(fleet.admin(), "admin-channel", "driver-d1")
    for response, body in (
            (fleet.admin().post(assign_path(code), {"driverId": "d1"}, key=key), first.body),
            (fleet.driver("d1").post(f"/api/driver/jobs/{code}/accept", key=key),
             repeated(accepted.body))):
        assert (response.status, response.body) == (200, body) and is_replay(response)
    fleet.admin().expect_error(409, "POST", assign_path(code), {"driverId": "d2"}, key=key)
    expect_no_events(api, client)
    assert (json.loads(first.body)["data"]["order"]["version"] == 1
            and fleet.admin().get_order(code)["version"] == 2)
