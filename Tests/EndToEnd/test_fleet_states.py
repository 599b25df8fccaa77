"""What an order or a route is after what was done to it, and what may not be done."""

import json
import threading
import time

import pytest

from harness.fleet import ORDER_FIELDS, SETTINGS as FLEET, Caller, fresh, hear_nothing, without_ids

SETTINGS = FLEET
STEPS = ["en_route", "arrived", "loading", "in_transit", "unloading", "completed"]
STATES = ["available", "assigned", "accepted", *STEPS, "cancelled"]
DEEDS = ["assign-driver", "unassign", "remove-driver", "cancel-enhanced"]


@pytest.fixture
def admin(fleet):
    return fleet.admin()


@pytest.fixture
def code():
    return fresh("O")


def bring(fleet, admin: Caller, code: str, state: str, driver: str) -> None:
    """An order in this state; its driver, if it has one, is `driver`."""
    if state == "available":
        admin.done("PUT", f"/api/admin/orders/{code}", {})
        return
    admin.assign(code, driver)
    if state in ("assigned", "cancelled"):
        if state == "cancelled":
            admin.order(code, "cancel-enhanced")
        return
    person = fleet.driver(driver)
    person.accept(code)
    for step in STEPS[:STEPS.index(state) + 1] if state != "accepted" else []:
        person.progress(code, step)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("deed", DEEDS)
def test_every_deed_in_every_state(fleet, admin, code, state, deed):
    driver, other = fresh("d"), fresh("d")
    bring(fleet, admin, code, state, driver)
    before = admin.seen(code)
    assert before["status"] == state
    path = f"/api/admin/orders/{code}/{deed}"
    body = {"driverId": other} if deed == "assign-driver" else {}
    if state in ("completed", "cancelled"):
        assert state in admin.refused(409, "POST", path, body)
    elif state == "available" and deed in ("unassign", "remove-driver"):
        admin.refused(409, "POST", path, body)
    else:
        after = admin.done("POST", path, body)["data"]["order"]
        status = {"assign-driver": "assigned", "cancel-enhanced": "cancelled"}.get(deed, "available")
        assert (after["status"], after["version"]) == (status, before["version"] + 1)
        if deed != "cancel-enhanced":
            assert after["driverId"] == (other if deed == "assign-driver" else None)
        assert admin.seen(code) == after
        return
    assert admin.seen(code) == before


@pytest.mark.parametrize("state", ["accepted", "in_transit"])
def test_the_present_driver_again_changes_no_step(fleet, admin, code, state):
    driver = fresh("d")
    bring(fleet, admin, code, state, driver)
    said = admin.assign(code, driver, totalGBP=7)
    assert "already assigned" in said["message"] and said["data"]["notificationIds"] == []
    order = admin.seen(code)
    assert (order["status"], order["driverId"], order["totalGBP"]) == (state, driver, 7)


def test_one_refused_has_stored_nothing(admin, code):
    """Neither the fields it brought nor an order that nobody knew."""
    for deed, status, more in (("unassign", 409, {}), ("remove-driver", 409, {}), ("assign-driver", 400, {}), ("assign-driver", 400, {"driverId": "d", "totalGBP": "x"})):
        admin.refused(status, "POST", f"/api/admin/orders/{code}/{deed}", {"customerName": "Bea"} | more)
    admin.refused(404, "GET", f"/api/admin/orders/{code}")
    admin.order(code, "cancel-enhanced", customerName="Ann")
    admin.refused(409, "POST", f"/api/admin/orders/{code}/assign-driver", {"driverId": "d", "customerName": "Bea"})
    assert admin.seen(code)["customerName"] == "Ann"


@pytest.mark.parametrize("deed, status", [("unassign", "available"), ("remove-driver", "available"), ("cancel-enhanced", "cancelled")])
def test_an_unknown_order_is_created_and_the_body_names_its_driver(fleet, admin, code, deed, status):
    driver = fresh("d")
    client = fleet.listen(fleet.driver(driver), f"driver-{driver}")
    answer = admin.order(code, deed, driverId=driver, customerName="Ann")
    assert client.receive()["channel"] == f"private-driver-{driver}"
    order = admin.seen(code)
    assert (order["status"], order["version"], order["customerName"]) == (status, 1, "Ann")
    assert order == answer["data"]["order"]


@pytest.mark.parametrize("deed", ["unassign", "remove-driver", "cancel-enhanced"])
def test_the_state_knows_the_driver_better_than_the_body(fleet, admin, api, code, deed):
    driver, other = fresh("d"), fresh("d")
    admin.assign(code, driver)
    told, untold = (fleet.listen(fleet.driver(each), f"driver-{each}") for each in (driver, other))
    admin.order(code, deed, driverId=other)
    assert told.receive()["channel"] == f"private-driver-{driver}"
    hear_nothing(api, untold)


def test_the_name_is_what_this_assignment_said(admin, code):
    assert admin.assign(code, "d1", driverName="Dan")["data"]["order"]["driverName"] == "Dan"
    assert admin.assign(code, "d2")["data"]["order"]["driverName"] is None
    assert admin.order(code, "unassign")["data"]["order"]["driverName"] is None


# PUT and GET


def test_PUT_creates_and_merges(admin, code):
    path = f"/api/admin/orders/{code}"
    first = admin.done("PUT", path, ORDER_FIELDS)["data"]["order"]
    assert (first["code"], first["status"], first["driverId"], first["version"]) == (code, "available", None, 1)
    assert {name: first[name] for name in ORDER_FIELDS} == ORDER_FIELDS
    second = admin.done("PUT", path, {"customerName": "Bea", "customerId": "c-1"})["data"]["order"]
    assert second == first | {"customerName": "Bea", "customerId": "c-1", "version": 2}
    assert admin.seen(code) == second


@pytest.mark.parametrize("field", ORDER_FIELDS)
def test_null_clears_a_field(admin, code, field):
    path = f"/api/admin/orders/{code}"
    admin.done("PUT", path, ORDER_FIELDS)
    order = admin.done("PUT", path, {field: None})["data"]["order"]
    assert order[field] == (code if field in ("bookingId", "bookingReference") else None)
    assert {name: order[name] for name in ORDER_FIELDS if name != field} == {name: value for name, value in ORDER_FIELDS.items() if name != field}


def test_PUT_leaves_status_and_driver_alone(admin, code):
    admin.assign(code, "d1")
    for body in ({"status": "completed", "driverId": "d2"}, {"status": None, "driverId": None}, {"version": 99, "code": "other", "unknown": [1], "driverName": "x"}):
        order = admin.done("PUT", f"/api/admin/orders/{code}", body)["data"]["order"]
        assert (order["code"], order["status"], order["driverId"]) == (code, "assigned", "d1")


def test_PUT_tells_nobody(fleet, admin, api, code):
    admin.assign(code, "d1")
    client = fleet.listen(admin, "driver-d1", "drivers-channel", "admin-channel", f"tracking-{code}", f"booking-{code}")
    admin.done("PUT", f"/api/admin/orders/{code}", ORDER_FIELDS)
    admin.done("PUT", f"/api/admin/routes/{code}", {"routeNumber": "1"})
    hear_nothing(api, client)


def test_no_body_is_an_empty_one(admin, code):
    assert admin.ask("PUT", f"/api/admin/orders/{code}").status == 200
    assert admin.ask("POST", f"/api/admin/orders/{code}/cancel-enhanced").status == 200


def test_fields_of_deeds_are_stored(admin, code):
    admin.assign(code, "d1", **ORDER_FIELDS)
    admin.order(code, "unassign", customerName="Bea")
    admin.order(code, "cancel-enhanced", {"pickupAddress": None})
    order = admin.seen(code)
    assert (order["customerName"], order["pickupAddress"], order["dropoffAddress"]) == ("Bea", None, ORDER_FIELDS["dropoffAddress"])


def test_a_route_by_PUT(admin, code):
    fields = {"routeNumber": "RT-1", "bookingsCount": 2, "dropsCount": 4, "earningsAdjustment": 1.5}
    route = admin.done("PUT", f"/api/admin/routes/{code}", fields)["data"]["route"]
    assert (route["id"], route["status"], route["driverId"], route["version"]) == (code, "available", None, 1)
    assert {name: route[name] for name in fields} == fields
    route = admin.done("PUT", f"/api/admin/routes/{code}", {"dropsCount": None, "status": "cancelled", "driverId": "x"})["data"]["route"]
    assert (route["dropsCount"], route["bookingsCount"], route["status"], route["driverId"], route["version"]) == (None, 2, "available", None, 2)
    assert admin.seen_route(code) == route
    admin.refused(404, "GET", f"/api/admin/routes/{code}x")


@pytest.mark.parametrize("deed", ["assign-driver", "unassign", "cancel", "drops/D1/remove"])
@pytest.mark.parametrize("state", ["available", "assigned", "accepted", "cancelled"])
def test_every_deed_on_a_route_in_every_state(fleet, admin, code, state, deed):
    driver = fresh("d")
    admin.done("PUT", f"/api/admin/routes/{code}", {})
    if state != "available":
        admin.route(code, "assign-driver", driverId=driver)
    if state == "accepted":
        assert fleet.driver(driver).done("POST", f"/api/driver/routes/{code}/accept")["message"] == "Route accepted successfully"
    if state == "cancelled":
        admin.route(code, "cancel")
    before, path = admin.seen_route(code), f"/api/admin/routes/{code}/{deed}"
    assert before["status"] == state
    body = {"driverId": fresh("d")} if deed == "assign-driver" else {}
    if state == "cancelled" or (state == "available" and deed == "unassign"):
        error = admin.refused(409, "POST", path, body)
        assert state != "cancelled" or "cancelled" in error
        assert admin.seen_route(code) == before
    else:
        after = admin.done("POST", path, body)["data"]["route"]
        assert after["status"] == {"assign-driver": "assigned", "unassign": "available", "cancel": "cancelled"}.get(deed, state)


# Versions


def test_If_Match(admin, code):
    path = f"/api/admin/orders/{code}"
    admin.assign(code, "d1")
    for wrong in ("0", "2", "999999"):
        admin.refused(409, "PUT", path, {"customerName": "x"}, headers={"If-Match": wrong})
        admin.refused(409, "POST", f"{path}/unassign", headers={"If-Match": wrong})
    assert admin.seen(code)["version"] == 1
    assert admin.done("PUT", path, {"customerName": "y"}, headers={"If-Match": "1"})["data"]["order"]["version"] == 2
    assert admin.done("POST", f"{path}/unassign", headers={"If-Match": "2"})["data"]["order"]["version"] == 3
    admin.done("PUT", f"/api/admin/routes/{code}", {}, headers={})
    admin.refused(409, "PUT", f"/api/admin/routes/{code}", {"routeNumber": "1"}, headers={"If-Match": "7"})


@pytest.mark.parametrize("version", ["x", "-1", "1.5", "1 2", "99999999999999999999999", "0x1", "١"])
def test_If_Match_is_a_number(admin, code, version):
    admin.assign(code, "d1")
    assert "If-Match" in admin.refused(400, "PUT", f"/api/admin/orders/{code}", {}, headers={"If-Match": version.encode().decode("latin-1")})


# What is no order


@pytest.mark.parametrize("field, values", [
    ("driverId", [1, True, [], {}, "", "a b", "ü", "x" * 151, "a/b", "a:b", "d\u0000"]), ("bookingReference", [1, [], {}, "", "a b", "r/1", "x" * 151]),
    ("bookingId", [7, "", "a b", "x" * 151]), ("customerId", [7, False, "", "c c"]), ("customerName", [7, True, [], {}]), ("pickupAddress", [1, []]),
    ("dropoffAddress", [1, {}]), ("reason", [1, [], {}]), ("driverName", [1, []]), ("totalGBP", ["42", True, [], {}]),
    ("scheduledAt", [1, "", "tomorrow", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01 noon", [], {}])])
def test_wrong_fields_are_400_and_named(admin, code, field, values):
    for value in values:
        body = {"driverId": "d1"} | {field: value}
        assert field in admin.refused(400, "POST", f"/api/admin/orders/{code}/assign-driver", body), value
    admin.refused(404, "GET", f"/api/admin/orders/{code}")


@pytest.mark.parametrize("scheduled", ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.123Z", "2026-03-01T09:30:00+01:00", "2024-02-29T23:59:59-11:30"])
def test_times_are_kept_as_sent(admin, code, scheduled):
    assert admin.assign(code, "d1", scheduledAt=scheduled)["data"]["order"]["scheduledAt"] == scheduled


@pytest.mark.parametrize("name", ["a", "A_b-c=d@e,f.g;h", "0", "x" * 150, "a..b", "-", "null"])
def test_names_may_hold(admin, name):
    driver = "d" + name[:149]
    answer = admin.assign(name, driver, bookingReference=name, bookingId=name)
    assert answer["data"]["order"]["code"] == name
    admin.order(name, "cancel-enhanced")


@pytest.mark.parametrize("name", ["a%20b", "%00", "a%2Fb", "%C3%BC", "x" * 151, "a:b", "a%25b", "a'b", "a%22b", "%2e%2e%2fx", "a+b", "a*b", "%0a"])
def test_and_nothing_else(fleet, name):
    """400, or no such path, or another one: after those that the library makes something else of, it closes."""
    for deed in DEEDS:
        answer = fleet.admin().post(f"/api/admin/orders/{name}/{deed}", {"driverId": "d1"})
        assert answer.status in (400, 404, 405), answer


def test_what_would_make_an_event_too_large_is_refused_when_it_is_said(admin, code):
    for field in ("customerName", "pickupAddress", "driverName", "dropoffAddress"):
        assert field in admin.refused(400, "POST", f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1", field: "x" * 10_240})
    assert "reason" in admin.refused(400, "POST", f"/api/admin/orders/{code}/unassign", {"driverId": "d1", "reason": "ü" * 6_000})
    admin.refused(404, "GET", f"/api/admin/orders/{code}")
    assert admin.assign(code, "d1", customerName="x" * 9_000)["data"]["order"]["customerName"] == "x" * 9_000
    assert "pickupAddress" in admin.refused(400, "PUT", f"/api/admin/orders/{code}", {"pickupAddress": "y" * 2_000})
    admin.order(code, "remove-driver")


# Two at once


def together(*deeds) -> None:
    """All at the same time; the first failure is the test's."""
    failures, barrier = [], threading.Barrier(len(deeds))

    def run(deed) -> None:
        barrier.wait()
        try:
            deed()
        except BaseException as failure:  # noqa: B036: told below
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[deed]) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_two_dispatchers_on_one_order_make_one_history(fleet, admin, api, code):
    """Everybody hears the events in the order of the versions, whichever loop they are on."""
    drivers, done = ["ann", "bob"], []
    dashboards = [fleet.listen(admin, "admin-channel", f"driver-{code}-ann", f"driver-{code}-bob") for _ in range(4)]

    def dispatch(caller: Caller, driver: str):
        def run() -> None:
            for number in range(40):
                answer = caller.post(f"/api/admin/orders/{code}/" + ("assign-driver" if number % 2 == 0 else "unassign"), {"driverId": f"{code}-{driver}"})
                assert answer.status in (200, 409), answer
                if answer.status == 200 and answer.json()["data"]["notificationIds"]:
                    # Without events it was "already assigned".
                    done.append(answer.json())
        return run

    together(*(dispatch(fleet.admin(driver), driver) for driver in drivers))
    done.sort(key=lambda answer: answer["data"]["order"]["version"])
    versions = [answer["data"]["order"]["version"] for answer in done]
    assert len(set(versions)) == len(versions)
    # Of an unassignment's events the third goes to all drivers, where none of these listens.
    expected = [each for answer in done for place, each in enumerate(answer["data"]["notificationIds"])
                if answer["data"]["order"]["status"] == "assigned" or place != 2]
    for dashboard in dashboards:
        assert [json.loads(dashboard.receive()["data"])["notificationId"] for _ in expected] == expected
    hear_nothing(api, *dashboards)
    assert admin.seen(code)["version"] == versions[-1]


def test_no_update_is_lost(fleet, admin, code):
    admin.done("PUT", f"/api/admin/orders/{code}", {})
    fields = ["customerName", "pickupAddress", "dropoffAddress", "customerId"]

    def write(caller: Caller, field: str):
        def run() -> None:
            for number in range(1, 31):
                assert caller.done("PUT", f"/api/admin/orders/{code}", {field: f"{number}"})["data"]["order"][field] == f"{number}"
        return run

    together(*(write(fleet.admin(field), field) for field in fields))
    order = admin.seen(code)
    assert [order[field] for field in fields] == ["30"] * 4 and order["version"] == 1 + 4 * 30


def test_If_Match_makes_a_counter(fleet, admin, code):
    """Read, add one, write if nobody else has: nothing is counted twice or not at all."""
    path = f"/api/admin/orders/{code}"
    admin.done("PUT", path, {"totalGBP": 0})

    def count(caller: Caller):
        def run() -> None:
            done, deadline = 0, time.monotonic() + 60
            while done < 15:
                assert time.monotonic() < deadline
                order = caller.seen(code)
                status = caller.put(path, {"totalGBP": order["totalGBP"] + 1}, headers={"If-Match": str(order["version"])}).status
                assert status in (200, 409)
                done += status == 200
        return run

    together(*(count(fleet.admin(str(number))) for number in range(4)))
    assert admin.seen(code)["totalGBP"] == 60


def test_events_of_a_race_to_cancel(fleet, admin, api, code):
    """One of many cancels; the others hear that it is cancelled, and nobody is told twice."""
    admin.assign(code, "d1")
    dashboard = fleet.listen(admin, "admin-channel")
    answers = []
    callers = [fleet.admin(str(number)) for number in range(8)]
    together(*(lambda caller=caller: answers.append(caller.post(f"/api/admin/orders/{code}/cancel-enhanced", {})) for caller in callers))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 7
    said = dashboard.expect_data("order-cancelled", channel="private-admin-channel")
    assert without_ids(said) == {"bookingId": code, "bookingReference": code, "driverId": "d1", "reason": None}
    hear_nothing(api, dashboard)
