"""State machine of orders and routes: the result of each action, and the actions that are rejected.
"""

import json
import time

import pytest

from harness.concurrency import run_concurrently
from harness.fleet import (ORDER_FIELDS, SETTINGS as FLEET, Caller, expect_no_events, unique_id,
                           without_ids)

SETTINGS = FLEET
STEPS = ["en_route", "arrived", "loading", "in_transit", "unloading", "completed"]
STATES = ["available", "assigned", "accepted", *STEPS, "cancelled"]
ACTIONS = ["assign-driver", "unassign", "remove-driver", "cancel-enhanced"]


def bring(fleet, admin: Caller, code: str, state: str, driver: str) -> None:
    """Brings an order into this state; if the state has a driver, it is `driver`."""
    if state == "available":
        admin.expect_ok("PUT", f"/api/admin/orders/{code}", {})
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
@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_in_each_state(fleet, admin, code, state, action):
    driver, other = unique_id("d"), unique_id("d")
    bring(fleet, admin, code, state, driver)
    before = admin.get_order(code)
    assert before["status"] == state
    path = f"/api/admin/orders/{code}/{action}"
    body = {"driverId": other} if action == "assign-driver" else {}
    if state in ("completed", "cancelled"):
        assert state in admin.expect_error(409, "POST", path, body)
    elif state == "available" and action in ("unassign", "remove-driver"):
        admin.expect_error(409, "POST", path, body)
    else:
        after = admin.expect_ok("POST", path, body)["data"]["order"]
        status = {"assign-driver": "assigned",
                  "cancel-enhanced": "cancelled"}.get(action, "available")
        assert (after["status"], after["version"]) == (status, before["version"] + 1)
        if action != "cancel-enhanced":
            assert after["driverId"] == (other if action == "assign-driver" else None)
        assert admin.get_order(code) == after
        return
    assert admin.get_order(code) == before


@pytest.mark.parametrize("state", ["accepted", "in_transit"])
def test_assigning_the_current_driver_keeps_the_status(fleet, admin, code, state):
    driver = unique_id("d")
    bring(fleet, admin, code, state, driver)
    received = admin.assign(code, driver, totalGBP=7)
    assert "already assigned" in received["message"] and received["data"]["notificationIds"] == []
    order = admin.get_order(code)
    assert (order["status"], order["driverId"], order["totalGBP"]) == (state, driver, 7)


def test_rejected_action_stores_nothing(admin, code):
    """Neither its fields nor a new order."""
    for action, status, more in (("unassign", 409, {}), ("remove-driver", 409, {}),
                                 ("assign-driver", 400, {}),
                                 ("assign-driver", 400, {"driverId": "d", "totalGBP": "x"})):
        admin.expect_error(status, "POST", f"/api/admin/orders/{code}/{action}",
                           {"customerName": "Bea"} | more)
    admin.expect_error(404, "GET", f"/api/admin/orders/{code}")
    admin.order(code, "cancel-enhanced", customerName="Ann")
    admin.expect_error(409, "POST", f"/api/admin/orders/{code}/assign-driver",
                       {"driverId": "d", "customerName": "Bea"})
    assert admin.get_order(code)["customerName"] == "Ann"


@pytest.mark.parametrize("action, status",
                         [("unassign", "available"), ("remove-driver", "available"),
                          ("cancel-enhanced", "cancelled")])
def test_action_on_an_unknown_order_creates_it_and_notifies_the_driver_of_the_body(
        fleet, admin, code, action, status):
    driver = unique_id("d")
    client = fleet.listen(fleet.driver(driver), f"driver-{driver}")
    response = admin.order(code, action, driverId=driver, customerName="Ann")
    assert client.receive()["channel"] == f"private-driver-{driver}"
    order = admin.get_order(code)
    assert (order["status"], order["version"], order["customerName"]) == (status, 1, "Ann")
    assert order == response["data"]["order"]


@pytest.mark.parametrize("action", ["unassign", "remove-driver", "cancel-enhanced"])
def test_stored_driver_takes_precedence_over_the_body(fleet, admin, api, code, action):
    driver, other = unique_id("d"), unique_id("d")
    admin.assign(code, driver)
    notified, not_notified = (fleet.listen(fleet.driver(each), f"driver-{each}")
                              for each in (driver, other))
    admin.order(code, action, driverId=other)
    assert notified.receive()["channel"] == f"private-driver-{driver}"
    expect_no_events(api, not_notified)


def test_driver_name_is_that_of_the_last_assignment(admin, code):
    assert admin.assign(code, "d1", driverName="Dan")["data"]["order"]["driverName"] == "Dan"
    assert admin.assign(code, "d2")["data"]["order"]["driverName"] is None
    assert admin.order(code, "unassign")["data"]["order"]["driverName"] is None


# PUT and GET


def test_put_creates_and_merges(admin, code):
    path = f"/api/admin/orders/{code}"
    first = admin.expect_ok("PUT", path, ORDER_FIELDS)["data"]["order"]
    assert (first["code"], first["status"], first["driverId"],
            first["version"]) == (code, "available", None, 1)
    assert {name: first[name] for name in ORDER_FIELDS} == ORDER_FIELDS
    second = admin.expect_ok("PUT", path,
                             {"customerName": "Bea", "customerId": "c-1"})["data"]["order"]
    assert second == first | {"customerName": "Bea", "customerId": "c-1", "version": 2}
    assert admin.get_order(code) == second


@pytest.mark.parametrize("field", ORDER_FIELDS)
def test_null_clears_a_field(admin, code, field):
    path = f"/api/admin/orders/{code}"
    admin.expect_ok("PUT", path, ORDER_FIELDS)
    order = admin.expect_ok("PUT", path, {field: None})["data"]["order"]
    assert order[field] == (code if field in ("bookingId", "bookingReference") else None)
    assert {name: order[name] for name in ORDER_FIELDS
            if name != field} == {name: value for name, value in ORDER_FIELDS.items()
                                  if name != field}


def test_put_ignores_status_and_driver(admin, code):
    admin.assign(code, "d1")
    for body in ({"status": "completed", "driverId": "d2"}, {"status": None, "driverId": None},
                 {"version": 99, "code": "other", "unknown": [1], "driverName": "x"}):
        order = admin.expect_ok("PUT", f"/api/admin/orders/{code}", body)["data"]["order"]
        assert (order["code"], order["status"], order["driverId"]) == (code, "assigned", "d1")


def test_put_sends_no_events(fleet, admin, api, code):
    admin.assign(code, "d1")
    client = fleet.listen(admin, "driver-d1", "drivers-channel", "admin-channel",
                          f"tracking-{code}", f"booking-{code}")
    admin.expect_ok("PUT", f"/api/admin/orders/{code}", ORDER_FIELDS)
    admin.expect_ok("PUT", f"/api/admin/routes/{code}", {"routeNumber": "1"})
    expect_no_events(api, client)


def test_missing_body_is_an_empty_object(admin, code):
    assert admin.request("PUT", f"/api/admin/orders/{code}").status == 200
    assert admin.request("POST", f"/api/admin/orders/{code}/cancel-enhanced").status == 200


def test_fields_of_actions_are_stored(admin, code):
    admin.assign(code, "d1", **ORDER_FIELDS)
    admin.order(code, "unassign", customerName="Bea")
    admin.order(code, "cancel-enhanced", {"pickupAddress": None})
    order = admin.get_order(code)
    assert (order["customerName"], order["pickupAddress"],
            order["dropoffAddress"]) == ("Bea", None, ORDER_FIELDS["dropoffAddress"])


def test_put_route_creates_and_merges(admin, code):
    fields = {"routeNumber": "RT-1", "bookingsCount": 2, "dropsCount": 4, "earningsAdjustment": 1.5}
    route = admin.expect_ok("PUT", f"/api/admin/routes/{code}", fields)["data"]["route"]
    assert (route["id"], route["status"], route["driverId"],
            route["version"]) == (code, "available", None, 1)
    assert {name: route[name] for name in fields} == fields
    changes = {"dropsCount": None, "status": "cancelled", "driverId": "x"}
    route = admin.expect_ok("PUT", f"/api/admin/routes/{code}", changes)["data"]["route"]
    assert (route["dropsCount"], route["bookingsCount"], route["status"], route["driverId"],
            route["version"]) == (None, 2, "available", None, 2)
    assert admin.get_route(code) == route
    admin.expect_error(404, "GET", f"/api/admin/routes/{code}x")


@pytest.mark.parametrize("action", ["assign-driver", "unassign", "cancel", "drops/D1/remove"])
@pytest.mark.parametrize("state", ["available", "assigned", "accepted", "cancelled"])
def test_each_route_action_in_each_state(fleet, admin, code, state, action):
    driver = unique_id("d")
    admin.expect_ok("PUT", f"/api/admin/routes/{code}", {})
    if state != "available":
        admin.route(code, "assign-driver", driverId=driver)
    if state == "accepted":
        response = fleet.driver(driver).expect_ok("POST", f"/api/driver/routes/{code}/accept")
        assert response["message"] == "Route accepted successfully"
    if state == "cancelled":
        admin.route(code, "cancel")
    before, path = admin.get_route(code), f"/api/admin/routes/{code}/{action}"
    assert before["status"] == state
    body = {"driverId": unique_id("d")} if action == "assign-driver" else {}
    if state == "cancelled" or (state == "available" and action == "unassign"):
        error = admin.expect_error(409, "POST", path, body)
        assert state != "cancelled" or "cancelled" in error
        assert admin.get_route(code) == before
    else:
        after = admin.expect_ok("POST", path, body)["data"]["route"]
        assert after["status"] == {"assign-driver": "assigned", "unassign": "available",
                                   "cancel": "cancelled"}.get(action, state)


# Versions


def test_if_match_must_be_the_current_version(admin, code):
    path = f"/api/admin/orders/{code}"
    admin.assign(code, "d1")
    for wrong in ("0", "2", "999999"):
        admin.expect_error(409, "PUT", path, {"customerName": "x"}, headers={"If-Match": wrong})
        admin.expect_error(409, "POST", f"{path}/unassign", headers={"If-Match": wrong})
    assert admin.get_order(code)["version"] == 1
    assert admin.expect_ok("PUT", path, {"customerName": "y"},
                           headers={"If-Match": "1"})["data"]["order"]["version"] == 2
    assert admin.expect_ok("POST", f"{path}/unassign",
                           headers={"If-Match": "2"})["data"]["order"]["version"] == 3
    admin.expect_ok("PUT", f"/api/admin/routes/{code}", {}, headers={})
    admin.expect_error(409, "PUT", f"/api/admin/routes/{code}", {"routeNumber": "1"},
                       headers={"If-Match": "7"})


@pytest.mark.parametrize("version",
                         ["x", "-1", "1.5", "1 2", "99999999999999999999999", "0x1", "١"])
def test_if_match_must_be_a_number(admin, code, version):
    admin.assign(code, "d1")
    assert "If-Match" in admin.expect_error(400, "PUT", f"/api/admin/orders/{code}", {},
                                            headers={
        "If-Match": version.encode().decode("latin-1")})


# Invalid fields and names


@pytest.mark.parametrize("field, values", [
    ("driverId", [1.5, -1, True, [], {}, "", "a b", "ü", "x" * 151, "a/b", "a:b", "d\u0000"]),
    ("bookingReference", [1, [], {}, "", "a b", "r/1", "x" * 151]),
    ("bookingId", [7, "", "a b", "x" * 151]), ("customerId", [7, False, "", "c c"]),
    ("customerName", [7, True, [], {}]), ("pickupAddress", [1, []]),
    ("dropoffAddress", [1, {}]), ("reason", [1, [], {}]), ("driverName", [1, []]),
    ("totalGBP", ["42", True, [], {}]),
    ("scheduledAt", [1, "", "tomorrow", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
                     "2026-01-01T25:00:00Z", "2026-01-01 noon", [], {}])])
def test_invalid_fields_are_400_and_named(admin, code, field, values):
    for value in values:
        body = {"driverId": "d1"} | {field: value}
        assert field in admin.expect_error(400, "POST", f"/api/admin/orders/{code}/assign-driver",
                                           body), value
    admin.expect_error(404, "GET", f"/api/admin/orders/{code}")


@pytest.mark.parametrize("scheduled",
                         ["2026-03-01T09:30:00Z", "2026-03-01T09:30:00.123Z",
                          "2026-03-01T09:30:00+01:00", "2024-02-29T23:59:59-11:30"])
def test_times_keep_their_format(admin, code, scheduled):
    assert admin.assign(code, "d1",
                        scheduledAt=scheduled)["data"]["order"]["scheduledAt"] == scheduled


@pytest.mark.parametrize("name", ["a", "A_b-c=d@e,f.g;h", "0", "x" * 150, "a..b", "-", "null"])
def test_valid_ids_are_accepted(admin, name):
    driver = "d" + name[:149]
    response = admin.assign(name, driver, bookingReference=name, bookingId=name)
    assert response["data"]["order"]["code"] == name
    admin.order(name, "cancel-enhanced")


@pytest.mark.parametrize("name",
                         ["a%20b", "%00", "a%2Fb", "%C3%BC", "x" * 151, "a:b", "a%25b", "a'b",
                          "a%22b", "%2e%2e%2fx", "a+b", "a*b", "%0a"])
def test_invalid_ids_are_rejected(fleet, name):
    """400; 404 or 405 if the decoded name contains a slash; the connection closes after an invalid path, so each
    request uses a new one.
    """
    for action in ACTIONS:
        response = fleet.admin().post(f"/api/admin/orders/{name}/{action}", {"driverId": "d1"})
        assert response.status in (400, 404, 405), response


def test_field_too_large_for_an_event_is_rejected_by_the_request_that_sets_it(admin, code):
    for field in ("customerName", "pickupAddress", "driverName", "dropoffAddress"):
        assert field in admin.expect_error(400, "POST", f"/api/admin/orders/{code}/assign-driver",
                                           {"driverId": "d1", field: "x" * 10_240})
    assert "reason" in admin.expect_error(400, "POST", f"/api/admin/orders/{code}/unassign",
                                          {"driverId": "d1", "reason": "ü" * 6_000})
    admin.expect_error(404, "GET", f"/api/admin/orders/{code}")
    assert admin.assign(code, "d1",
                        customerName="x" * 9_000)["data"]["order"]["customerName"] == "x" * 9_000
    assert "pickupAddress" in admin.expect_error(400, "PUT", f"/api/admin/orders/{code}",
                                                 {"pickupAddress": "y" * 2_000})
    admin.order(code, "remove-driver")


# Concurrency


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_concurrent_dispatchers_produce_one_history(fleet, admin, api, code):
    """All subscribers receive the events in order of the versions, on any loop."""
    drivers, done = ["ann", "bob"], []
    dashboards = [fleet.listen(admin, "admin-channel", f"driver-{code}-ann", f"driver-{code}-bob")
                  for _ in range(4)]

    def dispatch(caller: Caller) -> None:
        for number in range(40):
            response = caller.post(
                f"/api/admin/orders/{code}/"
                + ("assign-driver" if number % 2 == 0 else "unassign"),
                {"driverId": f"{code}-{caller.subject}"})
            assert response.status in (200, 409), response
            if response.status == 200 and response.json()["data"]["notificationIds"]:
                # Without events it was "already assigned".
                done.append(response.json())

    run_concurrently(dispatch, [fleet.admin(driver) for driver in drivers])
    done.sort(key=lambda response: response["data"]["order"]["version"])
    versions = [response["data"]["order"]["version"] for response in done]
    assert len(set(versions)) == len(versions)
    # The third event of an unassignment goes to drivers-channel, to which the dashboards do not
    # subscribe.
    expected = [each for response in done
                for place, each in enumerate(response["data"]["notificationIds"])
                if response["data"]["order"]["status"] == "assigned" or place != 2]
    for dashboard in dashboards:
        assert [json.loads(dashboard.receive()["data"])["notificationId"]
                for _ in expected] == expected
    expect_no_events(api, *dashboards)
    assert admin.get_order(code)["version"] == versions[-1]


def test_concurrent_updates_are_not_lost(fleet, admin, code):
    admin.expect_ok("PUT", f"/api/admin/orders/{code}", {})
    fields = ["customerName", "pickupAddress", "dropoffAddress", "customerId"]

    def write(caller: Caller) -> None:
        field = caller.subject
        for number in range(1, 31):
            assert caller.expect_ok("PUT", f"/api/admin/orders/{code}",
                                    {field: f"{number}"})["data"]["order"][field] == f"{number}"

    run_concurrently(write, [fleet.admin(field) for field in fields])
    order = admin.get_order(code)
    assert [order[field] for field in fields] == ["30"] * 4 and order["version"] == 1 + 4 * 30


def test_if_match_serializes_read_modify_write(fleet, admin, code):
    """Read, add one, write unless the version changed: no increment is lost or doubled."""
    path = f"/api/admin/orders/{code}"
    admin.expect_ok("PUT", path, {"totalGBP": 0})

    def count(caller: Caller) -> None:
        done, deadline = 0, time.monotonic() + 60
        while done < 15:
            assert time.monotonic() < deadline
            order = caller.get_order(code)
            status = caller.put(path, {"totalGBP": order["totalGBP"] + 1},
                                headers={"If-Match": str(order["version"])}).status
            assert status in (200, 409)
            done += status == 200

    run_concurrently(count, [fleet.admin(str(number)) for number in range(4)])
    assert admin.get_order(code)["totalGBP"] == 60


def test_concurrent_cancellations_send_events_once(fleet, admin, api, code):
    """One of several requests cancels; the others get 409, and no event is sent twice."""
    admin.assign(code, "d1")
    dashboard = fleet.listen(admin, "admin-channel")
    responses = run_concurrently(
        lambda caller: caller.post(f"/api/admin/orders/{code}/cancel-enhanced", {}),
        [fleet.admin(str(number)) for number in range(8)])
    assert sorted(response.status for response in responses) == [200] + [409] * 7
    received = dashboard.expect_data("order-cancelled", channel="private-admin-channel")
    assert without_ids(received) == {"bookingId": code, "bookingReference": code, "driverId": "d1",
                                     "reason": None}
    expect_no_events(api, dashboard)
