"""The table of actions and events: exactly these, to exactly those, in this order. The names and fields are those of existing apps."""

import json
import queue

import pysher
import pytest

from harness.apps import FIRST, PATIENCE, SECOND
from harness.fleet import NOW, SETTINGS as FLEET, ULID, Fleet, fresh, hear, hear_nothing, join
from harness.gateway import Gateway

SETTINGS = FLEET


class Scene:
    """One order and one route, two drivers, the customer and a dashboard; a witness of everything on one connection; two who are not concerned."""

    def __init__(self, fleet: Fleet, api):
        self.fleet, self.api, self.admin = fleet, api, fleet.admin()
        self.code, self.booking, self.reference = fresh("O"), fresh("B"), fresh("R")
        self.route = fresh("T")
        self.old, self.new, third = fresh("d"), fresh("d"), fresh("d")
        self.ids = {"bookingId": self.booking, "bookingReference": self.reference}
        self.places = {"customerName": "Ann Öz 🚚", "pickupAddress": "1 \"High\" St", "dropoffAddress": "2 Low Rd"}
        self.fields = self.ids | self.places | {"scheduledAt": "2026-03-01T09:30:00+01:00", "totalGBP": 42.5}
        self.route_ids = {"routeId": self.route, "routeNumber": "RT-7"}
        self.route_fields = {"routeNumber": "RT-7", "bookingsCount": 3, "dropsCount": 5, "earningsAdjustment": -4.25}
        customer = fleet.customer(bookings=[self.reference])
        self.drivers = [f"driver-{driver}" for driver in (self.old, self.new)]
        self.dashboards, booking = ["admin-channel"], [f"tracking-{self.reference}", f"booking-{self.reference}"]
        everything = [*self.drivers, "drivers-channel", *booking, "admin-channel"]
        self.listeners = [(fleet.listen(caller, *channels), channels) for caller, channels in [
            (fleet.driver(self.old), [self.drivers[0], "drivers-channel"]), (fleet.driver(self.new), [self.drivers[1], "drivers-channel"]),
            (fleet.driver(third), [f"driver-{third}", "drivers-channel"]), (customer, [*booking, f"customer-{customer.subject}"]),
            (fleet.customer(bookings=["another"]), ["tracking-another", "booking-another"]), (self.admin, self.dashboards), (self.admin, everything)]]

    def expect(self, answer: dict, *rows: tuple[str, str, dict]) -> None:
        """Each listener hears the rows of its channels in their order and nothing else; the answer names them all in the same order."""
        ids = answer["data"]["notificationIds"]
        assert len(ids) == len(set(ids)) == len(rows), (ids, rows)
        assert all(ULID.fullmatch(each) for each in ids), ids
        for client, channels in self.listeners:
            for (channel, event, data), each in zip(rows, ids):
                if channel in channels:
                    said = hear(client, f"private-{channel}", event, **data)
                    assert (said["notificationId"], said["correlationId"]) == (each, answer["correlationId"])
        hear_nothing(self.api, *(client for client, _ in self.listeners))

    def assigned(self, driver: str, name: str | None = None) -> list[tuple]:
        """The rows of `assign`."""
        said = self.ids | {"driverId": driver, "driverName": name}
        return [(f"driver-{driver}", "job-assigned", self.fields | {"message": "New job assigned to you"}),
                ("admin-channel", "job-assigned", said), ("admin-channel", "order-assigned", said)]

    def assign(self, driver: str, **more) -> dict:
        """An order that somebody has; what was said then has been heard."""
        answer = self.admin.assign(self.code, driver, **self.fields, **more)
        self.expect(answer, *self.assigned(driver, more.get("driverName")))
        return answer

    def assign_route(self, driver: str) -> dict:
        answer = self.admin.route(self.route, "assign-driver", driverId=driver, **self.route_fields)
        self.expect(answer, *self.route_assigned(driver))
        return answer

    def route_assigned(self, driver: str) -> list[tuple]:
        counts = {"bookingsCount": 3, "dropsCount": 5}
        return [(f"driver-{driver}", "route-assigned", self.route_ids | counts | {"message": "New route assigned to you"}),
                ("admin-channel", "route-assigned", self.route_ids | {"driverId": driver, "driverName": None, "reason": None})]

    def route_unassigned(self, driver: str) -> tuple:
        return (f"driver-{driver}", "route-unassigned", self.route_ids | {
            "message": "Route unassigned by admin", "bookingsCount": 3, "dropsCount": 5, "earningsAdjustment": -4.25})


@pytest.fixture
def scene(fleet, api):
    return Scene(fleet, api)


LOOPS = pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)


@LOOPS
def test_assign(scene):
    answer = scene.assign(scene.old, driverName="Dan")
    order = answer["data"]["order"]
    assert answer.keys() == {"success", "message", "data", "correlationId"} and answer["data"].keys() == {"order", "notificationIds"}
    assert (order["code"], order["status"], order["driverId"], order["version"]) == (scene.code, "assigned", scene.old, 1)
    assert {name: order[name] for name in scene.fields} == scene.fields


@LOOPS
def test_reassign(scene):
    scene.assign(scene.old, driverName="Dan")
    answer = scene.admin.assign(scene.code, scene.new)
    removed = scene.ids | {"reason": "Reassigned to another driver", "message": "This job has been reassigned"}
    scene.expect(answer, (scene.drivers[0], "job-removed", removed), *scene.assigned(scene.new))
    assert answer["data"]["order"]["driverId"] == scene.new


def test_assign_to_who_has_it_already(scene):
    first = scene.assign(scene.old)
    answer = scene.admin.assign(scene.code, scene.old, customerName="Bea")
    assert "already assigned" in answer["message"]
    scene.expect(answer)
    assert scene.admin.seen(scene.code)["customerName"] == "Bea"
    assert answer["data"]["order"]["version"] == first["data"]["order"]["version"] + 1


@LOOPS
def test_unassign(scene):
    scene.assign(scene.old)
    answer = scene.admin.order(scene.code, "unassign", reason="ill")
    scene.expect(
        answer,
        (scene.drivers[0], "order-removed", {"orderRef": scene.reference, "message": "Order has been removed from your schedule by admin", "reason": "ill"}),
        (scene.drivers[0], "schedule-updated", {"type": "order_removed", "orderRef": scene.reference, "timestamp": NOW}),
        ("drivers-channel", "job-available-again", scene.ids | {"message": "This job is now available"}),
        ("admin-channel", "order-unassigned", scene.ids | {"driverId": scene.old, "reason": "ill"}))
    order = answer["data"]["order"]
    assert (order["status"], order["driverId"]) == ("available", None)


@LOOPS
def test_cancel(scene):
    scene.assign(scene.old)
    answer = scene.admin.order(scene.code, "cancel-enhanced", reason="rain")
    scene.expect(
        answer,
        (scene.drivers[0], "job-cancelled", scene.ids | {"reason": "rain", "message": "Your assigned job has been cancelled"}),
        (scene.drivers[0], "job-removed-from-list", scene.ids | {"message": "This job has been removed from your active jobs"}), *cancelled(scene, scene.old, "rain"))
    assert answer["data"]["order"]["status"] == "cancelled"


def cancelled(scene: Scene, driver: str | None, reason: str | None) -> list[tuple]:
    return [("drivers-channel", "job-cancelled", scene.ids | {"reason": reason, "message": "This job has been cancelled and is no longer available"}),
            (f"tracking-{scene.reference}", "tracking-stopped", {"reason": "booking_cancelled", "message": "Tracking stopped due to booking cancellation"}),
            ("admin-channel", "order-cancelled", scene.ids | {"driverId": driver, "reason": reason})]


def test_cancel_what_nobody_has(scene):
    scene.admin.done("PUT", f"/api/admin/orders/{scene.code}", scene.fields)
    scene.expect(scene.admin.order(scene.code, "cancel-enhanced"), *cancelled(scene, None, None))


@LOOPS
def test_remove_driver(scene):
    scene.assign(scene.old)
    answer = scene.admin.order(scene.code, "remove-driver", reason="late")
    scene.expect(
        answer,
        (scene.drivers[0], "job-removed", scene.ids | {"reason": "late", "removedAt": NOW, "message": "You have been removed from this job"}),
        ("drivers-channel", "job-available-again", scene.ids | scene.places | {"availableAt": NOW, "message": "This job is now available again"}),
        (f"booking-{scene.reference}", "driver-removed", {"reason": "late", "removedAt": NOW, "message": "Your driver has been changed"}),
        ("admin-channel", "driver-removed", scene.ids | {"driverId": scene.old, "reason": "late"}))
    assert answer["data"]["order"]["status"] == "available"


# Routes


@LOOPS
def test_assign_a_route(scene):
    route = scene.assign_route(scene.old)["data"]["route"]
    assert (route["id"], route["status"], route["driverId"], route["version"]) == (scene.route, "assigned", scene.old, 1)


def test_reassign_a_route(scene):
    scene.assign_route(scene.old)
    answer = scene.admin.route(scene.route, "assign-driver", driverId=scene.new)
    scene.expect(answer, scene.route_unassigned(scene.old), *scene.route_assigned(scene.new))


def test_assign_a_route_to_who_has_it_already(scene):
    scene.assign_route(scene.old)
    answer = scene.admin.route(scene.route, "assign-driver", driverId=scene.old)
    assert "already assigned" in answer["message"]
    scene.expect(answer)


def test_unassign_a_route(scene):
    scene.assign_route(scene.old)
    answer = scene.admin.route(scene.route, "unassign", reason="merged")
    scene.expect(answer, scene.route_unassigned(scene.old),
                 ("admin-channel", "route-unassigned", scene.route_ids | {"driverId": scene.old, "reason": "merged"}))
    assert answer["data"]["route"]["status"] == "available"


def test_cancel_a_route(scene):
    scene.assign_route(scene.old)
    answer = scene.admin.route(scene.route, "cancel", reason="snow")
    scene.expect(answer, (scene.drivers[0], "route-cancelled", scene.route_ids | {
        "message": "Route has been cancelled by admin", "reason": "snow", "bookingsCount": 3, "cancelledAt": NOW}),
        ("admin-channel", "route-cancelled", scene.route_ids | {"driverId": scene.old, "reason": "snow"}))
    assert answer["data"]["route"]["status"] == "cancelled"


def test_remove_a_drop(scene):
    scene.assign_route(scene.old)
    answer = scene.admin.route(scene.route, "drops/D9/remove", reason="closed")
    ids = scene.route_ids | {"dropId": "D9"}
    scene.expect(
        answer, (scene.drivers[0], "drop-removed", ids | {"reason": "closed", "message": "A drop has been removed from your route"}),
        (scene.drivers[0], "schedule-updated", {"type": "drop_removed", "routeId": scene.route, "timestamp": NOW}),
        ("admin-channel", "drop-removed", ids | {"driverId": scene.old, "reason": "closed"}))
    assert answer["data"]["route"]["status"] == "assigned"


@pytest.mark.parametrize("deed, event, more", [("cancel", "route-cancelled", {}), ("drops/D9/remove", "drop-removed", {"dropId": "D9"})])
def test_a_route_that_nobody_has(scene, deed, event, more):
    ids = {"routeId": scene.route, "routeNumber": None} | more
    scene.expect(scene.admin.route(scene.route, deed), ("admin-channel", event, ids | {"driverId": None, "reason": None}))


# The driver's own doing


@pytest.mark.parametrize("who", ["assigned", "nobody's"])
def test_accept(scene, who):
    if who == "assigned":
        scene.assign(scene.old, driverName="Dan")
    else:
        scene.admin.done("PUT", f"/api/admin/orders/{scene.code}", scene.fields)
    answer = scene.fleet.driver(scene.old, name="Dan").accept(scene.code)
    said = {"driverName": "Dan", "step": "accepted", "timestamp": NOW}
    scene.expect(answer, *(scene.assigned(scene.old, "Dan")[1:] if who == "nobody's" else []),
                 ("admin-channel", "job-accepted", scene.ids | {"driverId": scene.old} | said), (f"booking-{scene.reference}", "job-accepted", scene.ids | said))


def test_progress(scene):
    """Of every step the dashboard and the customer hear; of arriving, the customer hears twice."""
    scene.assign(scene.old, driverName="Dan")
    driver = scene.fleet.driver(scene.old, name="Dan")
    driver.accept(scene.code)
    for client, channels in scene.listeners:
        for channel in sorted({"admin-channel", f"booking-{scene.reference}"} & set(channels)):
            client.expect("job-accepted", channel=f"private-{channel}")
    for step in ("en_route", "arrived", "loading", "in_transit", "unloading", "completed"):
        answer = driver.progress(scene.code, step, notes="n", latitude=51.5, longitude=-0.12)
        assert answer["message"] == "Progress updated" and answer["data"] == {"step": step, "timestamp": NOW}, answer
        said = {"driverName": "Dan", "step": step, "timestamp": answer["data"]["timestamp"]}
        for client, channels in scene.listeners:
            if "admin-channel" in channels:
                hear(client, "private-admin-channel", "job-progress", **scene.ids, driverId=scene.old, **said)
            if f"booking-{scene.reference}" in channels:
                hear(client, f"private-booking-{scene.reference}", "job-progress", **scene.ids, **said)
                if step == "arrived":
                    arrival = client.expect_data("driver-arrival", channel=f"private-booking-{scene.reference}")
                    assert arrival["reference"] == scene.reference and ULID.fullmatch(arrival["notificationId"])
        hear_nothing(scene.api, *(client for client, _ in scene.listeners))


def test_accept_a_route(scene):
    scene.assign_route(scene.old)
    answer = scene.fleet.driver(scene.old, name="Dan").done("POST", f"/api/driver/routes/{scene.route}/accept")
    assert answer["message"] == "Route accepted successfully"
    scene.expect(answer, ("admin-channel", "route-accepted", scene.route_ids | {
        "driverId": scene.old, "driverName": "Dan", "step": "accepted", "timestamp": NOW}))


# Values


def test_what_nobody_said_is_null_and_ids_default_to_the_code(scene):
    code, dashboard = fresh("N"), scene.listeners[-2][0]
    witness = scene.fleet.listen(scene.admin, f"driver-{scene.old}-n")
    answer = scene.admin.assign(code, f"{scene.old}-n")
    ids = {"bookingId": code, "bookingReference": code}
    nothing = dict.fromkeys(["customerName", "pickupAddress", "dropoffAddress", "scheduledAt", "totalGBP"])
    hear(witness, f"private-driver-{scene.old}-n", "job-assigned", **ids, **nothing, message="New job assigned to you")
    hear(dashboard, "private-admin-channel", "job-assigned", **ids, driverId=f"{scene.old}-n", driverName=None)
    assert len(answer["data"]["notificationIds"]) == 3


@pytest.mark.parametrize("number", ["42.50", "42", "1e2", "0.1", "-0.0", "12345678901234567890.123456789", "1E+2"])
def test_numbers_go_out_as_they_came_in(fleet, number):
    admin, code, driver = fleet.admin(), fresh("M"), fresh("d")
    client = fleet.listen(admin, f"driver-{driver}")
    answer = admin.post(f"/api/admin/orders/{code}/assign-driver", f'{{"driverId":"{driver}","totalGBP":{number}}}'.encode())
    assert f'"totalGBP":{number},' in answer.text.replace("}", ","), answer
    data = client.expect("job-assigned")["data"]
    assert f'"totalGBP":{number},' in data.replace("}", ","), data
    assert f'"totalGBP":{number}' in admin.ask("GET", f"/api/admin/orders/{code}").text


def test_the_senders_correlation_id_is_in_answer_header_and_events(scene):
    said = scene.admin.ask("POST", f"/api/admin/orders/{scene.code}/assign-driver", scene.fields | {"driverId": scene.old}, headers={"X-Correlation-ID": "mine 1"})
    assert said.headers["x-correlation-id"] == said.json()["correlationId"] == "mine 1"
    scene.expect(said.json(), *scene.assigned(scene.old))


# Plain and private names


def test_the_two_names_of_a_channel_mirror_each_other(scene, api, connect):
    """What is published to either reaches both, each under its own name; REST lists what is subscribed."""
    driver = scene.fleet.driver()
    names = [f"driver-{driver.subject}", f"private-driver-{driver.subject}"]
    plain, private = scene.fleet.signed_in(driver, names[0]), scene.fleet.listen(driver, names[0])
    for name in names:
        api.publish(name, "said", name)
        plain.expect("said", channel=names[0], data=name)
        private.expect("said", channel=names[1], data=name)
    private.send("pusher:unsubscribe", {"channel": names[1]})
    hear_nothing(api, plain, private)
    assert set(api.ask("channels", filter_by_prefix="private-driver-").json()["channels"]).isdisjoint(names)
    assert names[0] in api.ask("channels", filter_by_prefix="driver-").json()["channels"]
    scene.admin.assign(scene.code, driver.subject)
    plain.expect("job-assigned", channel=names[0])


def test_under_both_names_it_comes_once_each(fleet, api):
    driver, admin = fleet.driver(), fleet.admin()
    names = [f"driver-{driver.subject}", f"private-driver-{driver.subject}"]
    client = fleet.signed_in(driver, names[0])
    join(client, driver, names[1])
    admin.assign(fresh("O"), driver.subject)
    heard = [client.expect("job-assigned") for _ in names]
    assert sorted(message["channel"] for message in heard) == sorted(names)
    assert len({json.loads(message["data"])["notificationId"] for message in heard}) == 1
    hear_nothing(api, client)


def test_publishing_to_several_names_and_in_batches_mirrors_too(fleet, api):
    driver = fleet.driver()
    client, names = fleet.listen(driver, f"driver-{driver.subject}"), [f"driver-{driver.subject}", "elsewhere"]
    api.publish(names, "one")
    client.expect("one", channel=f"private-{names[0]}")
    assert api.tell("batch_events", json.dumps({"batch": [{"channel": names[0], "name": "two", "data": "x"}]}).encode()).status == 200
    client.expect("two", channel=f"private-{names[0]}")
    api.publish(names[0], "three", socket_id=client.socket_id)
    hear_nothing(api, client)


def test_other_apps_have_no_fleet(fleet, connect, api_of):
    client = connect(SECOND)
    client.subscribe("driver-42")
    api_of(SECOND).publish(["driver-42", "private-driver-42"], "theirs")
    client.expect("theirs", channel="driver-42")
    client.expect_nothing()


# A stock client


class App:
    """pysher as a driver's app has it: what its channels hear comes in one queue."""

    def __init__(self, gateway: Gateway):
        self.heard, connected = queue.Queue(), queue.Queue()
        self.pusher = pysher.Pusher(FIRST.key, secure=False, custom_host=gateway.host, port=gateway.port)
        self.pusher.connection.bind("pusher:connection_established", connected.put)
        self.pusher.connect()
        self.socket_id = json.loads(connected.get(timeout=PATIENCE))["socket_id"]

    def subscribe(self, caller, name: str, *events: str) -> None:
        """See `test_sdk_pysher`: the channel is known before it is asked for."""
        channel = pysher.channel.Channel(name, self.pusher.connection)
        for event in ("pusher_internal:subscription_succeeded", *events):
            channel.bind(event, lambda data, event=event: self.heard.put((name, event, data)))
        self.pusher.channels[name] = channel
        self.pusher.connection.send_event("pusher:subscribe", {"channel": name} | caller.channel_auth(self.socket_id, name).json())
        assert self.heard.get(timeout=PATIENCE)[:2] == (name, "pusher_internal:subscription_succeeded")

    def close(self) -> None:
        self.pusher.connection.disconnect_called = True
        self.pusher.connection.socket.sock.send_close()
        self.pusher.connection.join(PATIENCE)


def test_pysher_hears_a_cancellation(fleet, gateway, closing):
    driver, admin, code = fleet.driver(), fleet.admin(), fresh("O")
    app, own = closing(App(gateway)), f"private-driver-{driver.subject}"
    app.subscribe(driver, own, "job-assigned", "job-cancelled", "job-removed-from-list")
    app.subscribe(driver, "private-drivers-channel", "job-cancelled")
    admin.assign(code, driver.subject, customerName="Ann")
    admin.order(code, "cancel-enhanced", reason="rain")
    heard = [app.heard.get(timeout=PATIENCE) for _ in range(4)]
    assert [said[:2] for said in heard] == [(own, "job-assigned"), (own, "job-cancelled"), (own, "job-removed-from-list"), ("private-drivers-channel", "job-cancelled")]
    assert json.loads(heard[0][2])["customerName"] == "Ann" and json.loads(heard[3][2])["reason"] == "rain"
    assert app.heard.empty()
