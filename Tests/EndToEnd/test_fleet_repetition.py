"""Idempotency-Key: what was done once is not done again, and is answered as it was."""

import json
import threading

import pytest

from harness.api import Answer, Api
from harness.fleet import SETTINGS as FLEET, Caller, Fleet, error_of, fresh, hear_nothing

SETTINGS = FLEET


@pytest.fixture
def admin(fleet):
    return fleet.admin()


@pytest.fixture
def code():
    return fresh("O")


@pytest.fixture
def key():
    return fresh("key ")


def is_replay(answer: Answer) -> bool:
    said = answer.headers.get("idempotency-replayed")
    assert said in (None, "true"), said
    return said == "true"


def assign_path(code: str) -> str:
    return f"/api/admin/orders/{code}/assign-driver"


def test_the_same_request_is_answered_the_same_and_done_once(admin, fleet, api, code, key):
    client = fleet.listen(admin, "driver-d1", "admin-channel")
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key, headers={"X-Correlation-ID": "first"})
    assert first.status == 200 and not is_replay(first)
    for event in ("job-assigned", "job-assigned", "order-assigned"):
        client.expect(event)
    for number in range(3):
        again = admin.post(assign_path(code), {"driverId": "d1"}, key=key, headers={"X-Correlation-ID": f"again {number}"})
        assert (again.status, again.body) == (200, first.body) and is_replay(again)
        # The body keeps the first one's; the header is this call's.
        assert again.json()["correlationId"] == "first" and again.headers["x-correlation-id"] == f"again {number}"
        assert again.headers["content-type"] == first.headers["content-type"]
    hear_nothing(api, client)
    assert admin.seen(code)["version"] == 1


def test_it_stays_the_same_when_the_order_has_moved_on(admin, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    admin.order(code, "cancel-enhanced")
    again = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    assert again.body == first.body and is_replay(again)
    assert admin.seen(code)["status"] == "cancelled"


def test_a_key_in_the_body(admin, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1", "idempotencyKey": key})
    again = admin.post(assign_path(code), {"idempotencyKey": key, "driverId": "d1"})
    assert again.body == first.body and is_replay(again) and not is_replay(first)
    admin.refused(409, "POST", assign_path(code), {"driverId": "d2", "idempotencyKey": key})


def test_the_header_goes_before_the_body(admin, code, key):
    body = {"driverId": "d1", "idempotencyKey": fresh()}
    first = admin.post(assign_path(code), body, key=key)
    assert is_replay(admin.post(assign_path(code), body, key=key))
    other = admin.post(assign_path(code), body)
    assert not is_replay(other) and "already assigned" in other.json()["message"]
    assert first.json()["message"] != other.json()["message"]


def test_without_a_key_nothing_is_repeated(admin, code):
    for number in range(2):
        answer = admin.put(f"/api/admin/orders/{code}", {"totalGBP": number})
        assert not is_replay(answer)


OTHER = {
    "another body": ("POST", "assign-driver", {"driverId": "d2"}), "more in the body": ("POST", "assign-driver", {"driverId": "d1", "reason": "x"}),
    "another deed": ("POST", "unassign", {"driverId": "d1"}), "a member of null": ("POST", "assign-driver", {"driverId": "d1", "reason": None}),
    "an unknown member": ("POST", "assign-driver", {"driverId": "d1", "unknown": 1}), "no body": ("POST", "assign-driver", None)}


@pytest.mark.parametrize("method, deed, body", OTHER.values(), ids=OTHER)
def test_another_request_with_the_key_is_409(admin, code, key, method, deed, body):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    assert first.status == 200
    answer = admin.ask(method, f"/api/admin/orders/{code}/{deed}", body, key=key)
    # What makes no sense by itself may be refused before it is compared.
    assert answer.status in ((409,) if body else (400, 409)), answer
    assert error_of("/api/admin/", answer) and not is_replay(answer)
    assert admin.post(assign_path(code), {"driverId": "d1"}, key=key).body == first.body


def test_another_order_with_the_key_is_409(admin, code, key):
    admin.done("POST", assign_path(code), {"driverId": "d1"}, key=key)
    admin.refused(409, "POST", assign_path(code + "x"), {"driverId": "d1"}, key=key)
    admin.refused(409, "PUT", f"/api/admin/orders/{code}", {"driverId": "d1"}, key=key)
    admin.refused(404, "GET", f"/api/admin/orders/{code}x")


SAME = [
    b'{"driverId":"d1","totalGBP":1.5,"customerName":"\xc3\x9cnal /","more":{"a":[1,2],"b":null}}',
    b' {\n"totalGBP" : 1.5 , "driverId":\t"d1", "more":{"b":null,"a":[1, 2]},"customerName":"\\u00dcnal \\/"}\r\n',
    b'{"dri\\u0076erId":"d1","\\u006dore":{"a":[1,2],"b":null},"customerName":"\\u00DCnal \\u002f","totalGBP":1.5}',
]
DIFFERENT = [
    SAME[0].replace(b"[1,2]", b"[2,1]"), SAME[0].replace(b"null", b"false"), SAME[0].replace(b"[1,2]", b'["1",2]'), SAME[0].replace(b"nal", b"NAL"),
    SAME[0].replace(b"null", b'"null"'), SAME[0].replace(b'"b":null', b'"b":{}'), SAME[0].replace(b'"b":null', b'"c":null')]


@pytest.mark.parametrize("first", SAME, ids=["plain", "spaced", "escaped"])
def test_it_is_the_JSON_value_that_counts(admin, code, key, first):
    """Not the order of members, white space, or how text is escaped."""
    done = admin.post(assign_path(code), first, key=key)
    assert done.status == 200, done
    for body in SAME:
        again = admin.post(assign_path(code), body, key=key)
        assert (again.status, again.body) == (200, done.body) and is_replay(again)
    for body in DIFFERENT:
        assert admin.post(assign_path(code), body, key=key).status == 409, body


def test_keys_are_each_subjects_own(admin, fleet, code, key):
    for number, caller in enumerate((admin, fleet.admin("bea"), fleet.admin("cat"))):
        answer = caller.put(f"/api/admin/orders/{code}-{number}", {}, key=key)
        assert answer.status == 200 and not is_replay(answer)
    driver, other = fleet.driver(), fleet.driver()
    for person in (driver, other):
        admin.assign(f"{code}-{person.subject}", person.subject)
        assert not is_replay(person.post(f"/api/driver/jobs/{code}-{person.subject}/accept", key=key))
    # Two people of one name in two roles are two.
    namesake = fleet.driver(admin.subject)
    admin.assign(f"{code}-name", namesake.subject)
    assert namesake.post(f"/api/driver/jobs/{code}-name/accept", key=key).status == 200


def test_another_connection_and_another_token_of_the_same(admin, fleet, code, key):
    first = admin.post(assign_path(code), {"driverId": "d1"}, key=key)
    again = fleet.admin(exp=9999999999).post(assign_path(code), {"driverId": "d1"}, key=key)
    assert again.body == first.body and is_replay(again)


def repeatable(admin: Caller, driver: Caller, code: str) -> list[tuple[Caller, str, str, dict]]:
    """Every POST and PUT there is."""
    admin.assign(f"{code}a", driver.subject)
    admin.assign(f"{code}b", driver.subject)
    driver.accept(f"{code}b")
    admin.route(f"{code}r", "assign-driver", driverId=driver.subject)
    orders, routes = "/api/admin/orders/" + code, "/api/admin/routes/" + code
    return [
        (admin, "PUT", orders, {"customerName": "x"}), (admin, "POST", f"{orders}1/assign-driver", {"driverId": "d"}), (admin, "POST", f"{orders}2/unassign", {"driverId": "d"}),
        (admin, "POST", f"{orders}3/remove-driver", {"driverId": "d"}), (admin, "POST", f"{orders}4/cancel-enhanced", {}), (admin, "PUT", routes, {"routeNumber": "1"}),
        (admin, "POST", f"{routes}1/assign-driver", {"driverId": "d"}), (admin, "POST", f"{routes}2/unassign", {"driverId": "d"}), (admin, "POST", f"{routes}3/cancel", {}),
        (admin, "POST", f"{routes}4/drops/1/remove", {}), (admin, "POST", "/api/admin/notifications", {"type": "DRIVER_APPROVED", "to": {"driver": "d"}, "data": {}}),
        (driver, "POST", f"/api/driver/jobs/{code}a/accept", {}), (driver, "PUT", f"/api/driver/jobs/{code}b/progress", {"step": "en_route"}),
        (driver, "POST", f"/api/driver/routes/{code}r/accept", {}), (driver, "POST", "/api/driver/notifications/read", {"all": True}),
        (driver, "POST", "/api/driver/notifications/log", {"notificationId": "n", "type": "new_job", "entityId": "e", "event": "received", "timestamp": "2026-01-01T00:00:00Z"})]


def test_every_POST_and_PUT_of_admins_and_drivers(admin, fleet, code):
    for caller, method, path, body in repeatable(admin, fleet.driver(), code):
        key = fresh()
        first = caller.ask(method, path, body, key=key)
        assert first.status == 200 and not is_replay(first), (path, first)
        again = caller.ask(method, path, body, key=key)
        assert (again.status, again.body) == (200, first.body) and is_replay(again), (path, again)
        assert caller.ask(method, path, body | {"unknown": 1}, key=key).status == 409, path


def test_errors_are_not_stored(admin, code, key):
    path = f"/api/admin/orders/{code}/unassign"
    admin.refused(409, "POST", path, {}, key=key)
    admin.refused(400, "POST", path, {"reason": 1}, key=key)
    admin.assign(code, "d1")
    answer = admin.post(path, {}, key=key)
    assert answer.status == 200 and not is_replay(answer)
    assert is_replay(admin.post(path, {}, key=key))


def test_who_may_not_is_not_answered_from_memory(admin, fleet, code, key):
    admin.done("POST", assign_path(code), {"driverId": "d1"}, key=key)
    fleet.driver(admin.subject).refused(403, "POST", assign_path(code), {"driverId": "d1"}, key=key)
    fleet.caller().refused(401, "POST", assign_path(code), {"driverId": "d1"}, key=key)


@pytest.mark.parametrize("size", [1, 255])
def test_the_length_of_keys(admin, code, size):
    key = fresh().ljust(size, "k")[-size:] if size > 1 else fresh()[-1]
    assert admin.put(f"/api/admin/orders/{code}", {}, key=key).status in (200, 409)
    again = admin.put(f"/api/admin/orders/{code}", {}, key=key)
    assert is_replay(again) or again.status == 409


@pytest.mark.parametrize("key", ["", "k" * 256, "k" * 3000], ids=len)
def test_keys_of_other_lengths_are_400(admin, code, key):
    if key:
        assert "dempotency" in admin.refused(400, "PUT", f"/api/admin/orders/{code}", {}, key=key)
    assert "dempotency" in admin.refused(400, "PUT", f"/api/admin/orders/{code}", {"idempotencyKey": key})
    assert admin.refused(404, "GET", f"/api/admin/orders/{code}")


@pytest.mark.parametrize("key", [1, True, [], {}], ids=repr)
def test_a_key_in_the_body_is_text(admin, code, key):
    assert "idempotencyKey" in admin.refused(400, "PUT", f"/api/admin/orders/{code}", {"idempotencyKey": key})


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_twins_at_the_same_time(admin, fleet, api, code):
    """One is done, the others wait and get its answer."""
    client = fleet.listen(admin, "admin-channel")
    callers, barrier = [fleet.admin() for _ in range(8)], threading.Barrier(8)
    for number in range(10):
        answers: list[Answer] = []

        def twin(caller: Caller, number: int = number) -> None:
            barrier.wait()
            answers.append(caller.post(assign_path(f"{code}-{number}"), {"driverId": "d1"}, key=f"{code}-{number}"))

        threads = [threading.Thread(target=twin, args=[caller]) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {answer.status for answer in answers} == {200} and len({answer.body for answer in answers}) == 1
        assert sorted(map(is_replay, answers)) == [False] + [True] * 7
        for event in ("job-assigned", "order-assigned"):
            assert client.expect_data(event)["bookingId"] == f"{code}-{number}"
    hear_nothing(api, client)


def test_twins_that_differ(admin, fleet, code):
    """Of two requests with one key at once one is done, and the other is a conflict."""
    callers, barrier, answers = [fleet.admin() for _ in range(6)], threading.Barrier(6), []

    def ask(number: int, caller: Caller) -> None:
        barrier.wait()
        answers.append(caller.post(assign_path(code), {"driverId": f"d{number}"}, key=code))

    threads = [threading.Thread(target=ask, args=pair) for pair in enumerate(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] + [409] * 5
    assert admin.seen(code)["version"] == 1


def test_across_a_restart(start_gateway, closing, code, key):
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    first = fleet.admin().post(assign_path(code), {"driverId": "d1"}, key=key)
    accepted = fleet.driver("d1").post(f"/api/driver/jobs/{code}/accept", key=key)
    gateway.stop()
    gateway = start_gateway("kept", **FLEET)
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    client = fleet.listen(fleet.admin(), "admin-channel", "driver-d1")
    for answer, body in ((fleet.admin().post(assign_path(code), {"driverId": "d1"}, key=key), first.body),
                         (fleet.driver("d1").post(f"/api/driver/jobs/{code}/accept", key=key), accepted.body)):
        assert (answer.status, answer.body) == (200, body) and is_replay(answer)
    fleet.admin().refused(409, "POST", assign_path(code), {"driverId": "d2"}, key=key)
    hear_nothing(api, client)
    assert json.loads(first.body)["data"]["order"]["version"] == 1 and fleet.admin().seen(code)["version"] == 2
