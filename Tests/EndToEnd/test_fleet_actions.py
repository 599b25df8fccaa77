"""The events of each action: exactly these, to exactly these channels, in this order. Names and
fields are those of existing apps.
"""

import json

import pytest

from harness.apps import SECOND
from harness.fleet import (ANY_SECOND, ANY_TIME, SETTINGS as FLEET, ULID, Caller, Fleet, expect_event,
                           expect_no_events, join, unique_id)
from harness.pysher_client import PysherClient

SETTINGS = FLEET


class Scenario:
    """One order and one route, two drivers, the customer and a dashboard; one connection on all
    channels; two users who must receive nothing.
    """

    def __init__(self, fleet: Fleet, api):
        self.fleet, self.api, self.admin = fleet, api, fleet.admin()
        self.code, self.booking, self.reference = unique_id("O"), unique_id("B"), unique_id("R")
        self.route = unique_id("T")
        self.old, self.new, third = unique_id("d"), unique_id("d"), unique_id("d")
        self.ids = {"bookingId": self.booking, "bookingReference": self.reference}
        self.places = {"customerName": "Ann Öz 🚚", "pickupAddress": "1 \"High\" St",
                       "dropoffAddress": "2 Low Rd"}
        self.fields = self.ids | self.places | {"scheduledAt": "2026-03-01T09:30:00+01:00",
                                                "totalGBP": 42.5}
        self.route_ids = {"routeId": self.route, "routeNumber": "RT-7"}
        self.route_fields = {"routeNumber": "RT-7", "bookingsCount": 3, "dropsCount": 5,
                             "earningsAdjustment": -4.25}
        customer = fleet.customer(bookings=[self.reference])
        self.drivers = [f"driver-{driver}" for driver in (self.old, self.new)]
        self.dashboards, booking = (["admin-channel"],
                                    [f"tracking-{self.reference}", f"booking-{self.reference}"])
        everything = [*self.drivers, "drivers-channel", *booking, "admin-channel"]
        self.listeners = [(fleet.listen(caller, *channels), channels) for caller, channels in [
            (fleet.driver(self.old), [self.drivers[0], "drivers-channel"]),
            (fleet.driver(self.new), [self.drivers[1], "drivers-channel"]),
            (fleet.driver(third), [f"driver-{third}", "drivers-channel"]),
            (customer, [*booking, f"customer-{customer.subject}"]),
            (fleet.customer(bookings=["another"]), ["tracking-another", "booking-another"]),
            (self.admin, self.dashboards), (self.admin, everything)]]

    def expect(self, response: dict, *rows: tuple[str, str, dict]) -> None:
        """Expects each listener to receive the rows of its channels in order and nothing else; the
        response lists their ids in the same order.
        """
        ids = response["data"]["notificationIds"]
        assert len(ids) == len(set(ids)) == len(rows), (ids, rows)
        assert all(ULID.fullmatch(notification) for notification in ids), ids
        for client, channels in self.listeners:
            for (channel, event, data), notification in zip(rows, ids):
                if channel in channels:
                    received = expect_event(client, f"private-{channel}", event, **data)
                    assert (received["notificationId"],
                            received["correlationId"]) == (notification, response["correlationId"])
        expect_no_events(self.api, *(client for client, _ in self.listeners))

    def assigned(self, driver: str, name: str | None = None) -> list[tuple]:
        """Returns the events of `assign`."""
        fields = self.ids | {"driverId": driver, "driverName": name}
        return [
            (f"driver-{driver}", "job-assigned",
             self.fields | {"message": "New job assigned to you"}),
            ("admin-channel", "job-assigned", fields), ("admin-channel", "order-assigned", fields)]

    def assign(self, driver: str, **more) -> dict:
        """Assigns the order and receives its events."""
        response = self.admin.assign(self.code, driver, **self.fields, **more)
        self.expect(response, *self.assigned(driver, more.get("driverName")))
        return response

    def assign_route(self, driver: str) -> dict:
        response = self.admin.route(self.route, "assign-driver", driverId=driver,
                                    **self.route_fields)
        self.expect(response, *self.route_assigned(driver))
        return response

    def route_assigned(self, driver: str) -> list[tuple]:
        counts = {"bookingsCount": 3, "dropsCount": 5}
        return [
            (f"driver-{driver}", "route-assigned",
             self.route_ids | counts | {"message": "New route assigned to you"}),
            ("admin-channel", "route-assigned",
             self.route_ids | {"driverId": driver, "driverName": None, "reason": None})]

    def route_unassigned(self, driver: str) -> tuple:
        return (f"driver-{driver}", "route-unassigned", self.route_ids | {
            "message": "Route unassigned by admin", "bookingsCount": 3, "dropsCount": 5,
            "earningsAdjustment": -4.25})


@pytest.fixture
def scenario(fleet, api):
    return Scenario(fleet, api)


LOOPS = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)


@LOOPS
def test_assign_sends_its_events(scenario):
    response = scenario.assign(scenario.old, driverName="Dan")
    order = response["data"]["order"]
    assert (response.keys() == {"success", "message", "data", "correlationId"}
            and response["data"].keys() == {"order", "notificationIds"})
    assert (order["code"], order["status"], order["driverId"],
            order["version"]) == (scenario.code, "assigned", scenario.old, 1)
    assert {name: order[name] for name in scenario.fields} == scenario.fields


@LOOPS
def test_reassign_sends_its_events(scenario):
    scenario.assign(scenario.old, driverName="Dan")
    response = scenario.admin.assign(scenario.code, scenario.new)
    removed = scenario.ids | {"reason": "Reassigned to another driver",
                              "message": "This job has been reassigned"}
    scenario.expect(response, (scenario.drivers[0], "job-removed", removed),
                    *scenario.assigned(scenario.new))
    assert response["data"]["order"]["driverId"] == scenario.new


def test_assign_same_driver_updates_fields_without_events(scenario):
    first = scenario.assign(scenario.old)
    response = scenario.admin.assign(scenario.code, scenario.old, customerName="Bea")
    assert "already assigned" in response["message"]
    scenario.expect(response)
    assert scenario.admin.get_order(scenario.code)["customerName"] == "Bea"
    assert response["data"]["order"]["version"] == first["data"]["order"]["version"] + 1


@LOOPS
def test_unassign_sends_its_events(scenario):
    scenario.assign(scenario.old)
    response = scenario.admin.order(scenario.code, "unassign", reason="ill")
    scenario.expect(
        response,
        (scenario.drivers[0], "order-removed",
         {"orderRef": scenario.reference,
          "message": "Order has been removed from your schedule by admin", "reason": "ill"}),
        (scenario.drivers[0], "schedule-updated",
         {"type": "order_removed", "orderRef": scenario.reference, "timestamp": ANY_TIME}),
        ("drivers-channel", "job-available-again",
         scenario.ids | {"message": "This job is now available"}),
        ("admin-channel", "order-unassigned",
         scenario.ids | {"driverId": scenario.old, "reason": "ill"}))
    order = response["data"]["order"]
    assert (order["status"], order["driverId"]) == ("available", None)


@LOOPS
def test_cancel_sends_its_events(scenario):
    scenario.assign(scenario.old)
    response = scenario.admin.order(scenario.code, "cancel-enhanced", reason="rain")
    scenario.expect(
        response,
        (scenario.drivers[0], "job-cancelled",
         scenario.ids | {"reason": "rain", "message": "Your assigned job has been cancelled"}),
        (scenario.drivers[0], "job-removed-from-list",
         scenario.ids | {"message": "This job has been removed from your active jobs"}),
        *cancelled(scenario, scenario.old, "rain"))
    assert response["data"]["order"]["status"] == "cancelled"


def cancelled(scenario: Scenario, driver: str | None, reason: str | None) -> list[tuple]:
    return [
        ("drivers-channel", "job-cancelled",
         scenario.ids | {"reason": reason,
                         "message": "This job has been cancelled and is no longer available"}),
        (f"tracking-{scenario.reference}", "tracking-stopped",
         {"reason": "booking_cancelled",
          "message": "Tracking stopped due to booking cancellation"}),
        ("admin-channel", "order-cancelled", scenario.ids | {"driverId": driver, "reason": reason})]


def test_cancel_unassigned_order_sends_its_events(scenario):
    scenario.admin.expect_ok("PUT", f"/api/admin/orders/{scenario.code}", scenario.fields)
    scenario.expect(scenario.admin.order(scenario.code, "cancel-enhanced"),
                    *cancelled(scenario, None, None))


@LOOPS
def test_remove_driver_sends_its_events(scenario):
    scenario.assign(scenario.old)
    response = scenario.admin.order(scenario.code, "remove-driver", reason="late")
    scenario.expect(
        response,
        (scenario.drivers[0], "job-removed",
         scenario.ids | {"reason": "late", "removedAt": ANY_TIME,
                         "message": "You have been removed from this job"}),
        ("drivers-channel", "job-available-again",
         scenario.ids | scenario.places
         | {"availableAt": ANY_TIME, "message": "This job is now available again"}),
        (f"booking-{scenario.reference}", "driver-removed",
         {"reason": "late", "removedAt": ANY_TIME, "message": "Your driver has been changed"}),
        ("admin-channel", "driver-removed",
         scenario.ids | {"driverId": scenario.old, "reason": "late"}))
    assert response["data"]["order"]["status"] == "available"


# Routes


@LOOPS
def test_assign_route_sends_its_events(scenario):
    route = scenario.assign_route(scenario.old)["data"]["route"]
    assert (route["id"], route["status"], route["driverId"],
            route["version"]) == (scenario.route, "assigned", scenario.old, 1)


def test_reassign_route_sends_its_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.admin.route(scenario.route, "assign-driver", driverId=scenario.new)
    scenario.expect(response, scenario.route_unassigned(scenario.old),
                    *scenario.route_assigned(scenario.new))


def test_assign_route_to_same_driver_sends_no_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.admin.route(scenario.route, "assign-driver", driverId=scenario.old)
    assert "already assigned" in response["message"]
    scenario.expect(response)


def test_unassign_route_sends_its_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.admin.route(scenario.route, "unassign", reason="merged")
    scenario.expect(response, scenario.route_unassigned(scenario.old),
                    ("admin-channel", "route-unassigned",
                     scenario.route_ids | {"driverId": scenario.old, "reason": "merged"}))
    assert response["data"]["route"]["status"] == "available"


def test_cancel_route_sends_its_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.admin.route(scenario.route, "cancel", reason="snow")
    scenario.expect(response, (scenario.drivers[0], "route-cancelled", scenario.route_ids | {
        "message": "Route has been cancelled by admin", "reason": "snow", "bookingsCount": 3,
        "cancelledAt": ANY_TIME}),
                    ("admin-channel", "route-cancelled",
                     scenario.route_ids | {"driverId": scenario.old, "reason": "snow"}))
    assert response["data"]["route"]["status"] == "cancelled"


def test_remove_drop_sends_its_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.admin.route(scenario.route, "drops/D9/remove", reason="closed")
    ids = scenario.route_ids | {"dropId": "D9"}
    scenario.expect(
        response, (scenario.drivers[0], "drop-removed",
                   ids | {"reason": "closed",
                          "message": "A drop has been removed from your route"}),
        (scenario.drivers[0], "schedule-updated",
         {"type": "drop_removed", "routeId": scenario.route, "timestamp": ANY_TIME}),
        ("admin-channel", "drop-removed", ids | {"driverId": scenario.old, "reason": "closed"}))
    assert response["data"]["route"]["status"] == "assigned"


@pytest.mark.parametrize("action, event, more",
                         [("cancel", "route-cancelled", {}),
                          ("drops/D9/remove", "drop-removed", {"dropId": "D9"})])
def test_actions_on_an_unassigned_route_notify_dashboards_only(scenario, action, event, more):
    ids = {"routeId": scenario.route, "routeNumber": None} | more
    scenario.expect(scenario.admin.route(scenario.route, action),
                    ("admin-channel", event, ids | {"driverId": None, "reason": None}))


# Driver actions


@pytest.mark.parametrize("state", ["assigned", "unassigned"])
def test_accept_sends_its_events(scenario, state):
    if state == "assigned":
        scenario.assign(scenario.old, driverName="Dan")
    else:
        scenario.admin.expect_ok("PUT", f"/api/admin/orders/{scenario.code}", scenario.fields)
    response = scenario.fleet.driver(scenario.old, name="Dan").accept(scenario.code)
    fields = {"driverName": "Dan", "step": "accepted", "timestamp": ANY_TIME}
    scenario.expect(response,
                    *(scenario.assigned(scenario.old, "Dan")[1:] if state == "unassigned" else []),
                    ("admin-channel", "job-accepted",
                     scenario.ids | {"driverId": scenario.old} | fields),
                    (f"booking-{scenario.reference}", "job-accepted", scenario.ids | fields),
                    (f"booking-{scenario.reference}", "driver-assigned", {
                        "reference": scenario.reference, "driver_id": scenario.old,
                        "driverName": "Dan", "timestamp": ANY_SECOND, "vehicle_make": None,
                        "vehicle_model": None, "vehicle_color": None, "license_plate": None}))


MOMENTS = {"en_route": [("tracking", "tracking-started"), ("booking", "driver-en-route")],
           "arrived": [("booking", "driver-arrival")], "in_transit": [("booking", "trip-started")],
           "completed": [("tracking", "tracking-stopped"), ("booking", "trip-completed")]}


def test_progress_sends_its_events(scenario):
    """The dashboard and the customer get an event for each step, the customer also the moments of
    the trip.
    """
    scenario.assign(scenario.old, driverName="Dan")
    driver = scenario.fleet.driver(scenario.old, name="Dan")
    driver.accept(scenario.code)
    for client, channels in scenario.listeners:
        for channel in sorted({"admin-channel", f"booking-{scenario.reference}"} & set(channels)):
            client.expect("job-accepted", channel=f"private-{channel}")
        if f"booking-{scenario.reference}" in channels:
            client.expect("driver-assigned")
    for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
        response = driver.progress(scenario.code, step, notes="n")
        assert (response["message"] == "Progress updated"
                and response["data"] == {"step": step, "timestamp": ANY_TIME}), response
        fields = {"driverName": "Dan", "step": step, "timestamp": response["data"]["timestamp"]}
        for client, channels in scenario.listeners:
            if "admin-channel" in channels:
                expect_event(client, "private-admin-channel", "job-progress", **scenario.ids,
                             driverId=scenario.old, **fields)
            if f"booking-{scenario.reference}" in channels:
                expect_event(client, f"private-booking-{scenario.reference}", "job-progress",
                             **scenario.ids, **fields)
            for kind, event in MOMENTS.get(step, []):
                channel = f"{kind}-{scenario.reference}"
                if channel in channels:
                    moment = client.expect_data(event, channel=f"private-{channel}")
                    assert ULID.fullmatch(moment["notificationId"])
                    assert kind == "tracking" or moment["reference"] == scenario.reference
        expect_no_events(scenario.api, *(client for client, _ in scenario.listeners))


def test_accept_route_sends_its_events(scenario):
    scenario.assign_route(scenario.old)
    response = scenario.fleet.driver(scenario.old,
                                     name="Dan").expect_ok(
        "POST", f"/api/driver/routes/{scenario.route}/accept")
    assert response["message"] == "Route accepted successfully"
    scenario.expect(response, ("admin-channel", "route-accepted", scenario.route_ids | {
        "driverId": scenario.old, "driverName": "Dan", "step": "accepted", "timestamp": ANY_TIME}))


# Values


def test_missing_fields_are_null_and_ids_default_to_the_code(scenario):
    code, dashboard = unique_id("N"), scenario.listeners[-2][0]
    witness = scenario.fleet.listen(scenario.admin, f"driver-{scenario.old}-n")
    response = scenario.admin.assign(code, f"{scenario.old}-n")
    ids = {"bookingId": code, "bookingReference": code}
    nulls = dict.fromkeys(
        ["customerName", "pickupAddress", "dropoffAddress", "scheduledAt", "totalGBP"])
    expect_event(witness, f"private-driver-{scenario.old}-n", "job-assigned", **ids, **nulls,
                 message="New job assigned to you")
    expect_event(dashboard, "private-admin-channel", "job-assigned", **ids,
                 driverId=f"{scenario.old}-n", driverName=None)
    assert len(response["data"]["notificationIds"]) == 3


@pytest.mark.parametrize("number",
                         ["42.50", "42", "1e2", "0.1", "-0.0", "12345678901234567890.123456789",
                          "1E+2"])
def test_numbers_keep_their_spelling(fleet, number):
    admin, code, driver = fleet.admin(), unique_id("M"), unique_id("d")
    client = fleet.listen(admin, f"driver-{driver}")
    response = admin.post(f"/api/admin/orders/{code}/assign-driver",
                          f'{{"driverId":"{driver}","totalGBP":{number}}}'.encode())
    assert f'"totalGBP":{number},' in response.text.replace("}", ","), response
    data = client.expect("job-assigned")["data"]
    assert f'"totalGBP":{number},' in data.replace("}", ","), data
    assert f'"totalGBP":{number}' in admin.request("GET", f"/api/admin/orders/{code}").text


def test_correlation_id_is_in_response_header_and_events(scenario):
    response = scenario.admin.request("POST", f"/api/admin/orders/{scenario.code}/assign-driver",
                                      scenario.fields | {"driverId": scenario.old},
                                      headers={"X-Correlation-ID": "mine-1"})
    assert response.headers["x-correlation-id"] == response.json()["correlationId"] == "mine-1"
    scenario.expect(response.json(), *scenario.assigned(scenario.old))


# Plain and private names


def test_plain_and_private_channel_mirror_each_other(scenario, api, connect):
    """An event published to either channel reaches both, each under its own name; REST lists
    subscribed channels only.
    """
    driver = scenario.fleet.driver()
    names = [f"driver-{driver.subject}", f"private-driver-{driver.subject}"]
    plain, private = (scenario.fleet.signed_in(driver, names[0]),
                      scenario.fleet.listen(driver, names[0]))
    for name in names:
        api.publish(name, "said", name)
        plain.expect("said", channel=names[0], data=name)
        private.expect("said", channel=names[1], data=name)
    private.send("pusher:unsubscribe", {"channel": names[1]})
    expect_no_events(api, plain, private)
    assert set(
        api.get_signed("channels",
                       filter_by_prefix="private-driver-").json()["channels"]).isdisjoint(names)
    assert names[0] in api.get_signed("channels", filter_by_prefix="driver-").json()["channels"]
    scenario.admin.assign(scenario.code, driver.subject)
    plain.expect("job-assigned", channel=names[0])


def test_subscriber_of_both_names_receives_each_event_once_per_channel(fleet, api):
    driver, admin = fleet.driver(), fleet.admin()
    names = [f"driver-{driver.subject}", f"private-driver-{driver.subject}"]
    client = fleet.signed_in(driver, names[0])
    join(client, driver, names[1])
    admin.assign(unique_id("O"), driver.subject)
    received = [client.expect("job-assigned") for _ in names]
    assert sorted(message["channel"] for message in received) == sorted(names)
    assert len({json.loads(message["data"])["notificationId"] for message in received}) == 1
    expect_no_events(api, client)


def test_publishing_to_several_channels_and_in_batches_mirrors(fleet, api):
    driver = fleet.driver()
    client, names = (fleet.listen(driver, f"driver-{driver.subject}"),
                     [f"driver-{driver.subject}", "elsewhere"])
    api.publish(names, "one")
    client.expect("one", channel=f"private-{names[0]}")
    assert api.post_signed("batch_events",
                           json.dumps(
        {"batch": [{"channel": names[0], "name": "two", "data": "x"}]}).encode()).status == 200
    client.expect("two", channel=f"private-{names[0]}")
    api.publish(names[0], "three", socket_id=client.socket_id)
    expect_no_events(api, client)


def test_other_apps_have_no_mirroring(fleet, connect, open_api):
    client = connect(SECOND)
    client.subscribe("driver-42")
    open_api(SECOND).publish(["driver-42", "private-driver-42"], "foreign")
    client.expect("foreign", channel="driver-42")
    client.expect_nothing()


# An unmodified client library


def subscribe(app: PysherClient, caller: Caller, name: str, *events: str) -> None:
    """Subscribes with the signature that the auth endpoint returns to this caller."""
    app.subscribe(name, *events, **caller.channel_auth(app.socket_id, name).json())


def test_pysher_receives_a_cancellation(fleet, gateway, closing):
    driver, admin, code = fleet.driver(), fleet.admin(), unique_id("O")
    app, own = closing(PysherClient(gateway)), f"private-driver-{driver.subject}"
    subscribe(app, driver, own, "job-assigned", "job-cancelled", "job-removed-from-list")
    subscribe(app, driver, "private-drivers-channel", "job-cancelled")
    admin.assign(code, driver.subject, customerName="Ann")
    admin.order(code, "cancel-enhanced", reason="rain")
    received = [app.next() for _ in range(4)]
    assert [event[:2] for event in received] == [(own, "job-assigned"), (own, "job-cancelled"),
                                                 (own, "job-removed-from-list"),
                                                 ("private-drivers-channel", "job-cancelled")]
    assert (json.loads(received[0][2])["customerName"] == "Ann"
            and json.loads(received[3][2])["reason"] == "rain")
    assert app.received.empty()
