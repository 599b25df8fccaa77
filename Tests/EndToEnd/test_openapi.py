"""docs/openapi.yaml: valid, and true of requests that succeed and of the gateway's responses."""

import json
from contextlib import closing as closed

import pytest
from openapi_spec_validator import validate

from harness import batches, codes
from harness.api import Api, event_body, signed_target
from harness.apps import FIRST
from harness.batches import PHOTO, Batch, hire
from harness.codes_fixtures import adapter  # noqa: F401
from harness.deployed import DEPLOY
from harness.fleet import JWT, ORDER_FIELDS, Caller, report, unique_id, wait_until
from harness.openapi import check, check_request, open_objects, operation, specification
from harness.people import REGISTRATION, FirebaseUser, account_settings, key_server
from harness.push.apns import refusal
from harness.sms_adapter import Phone
from harness.trips import Trip, position

GOLDEN = DEPLOY.parent / "Tests/HTTPAPITests/Golden"


def test_the_file_is_valid():
    validate(specification())


def test_every_operation_has_an_id():
    # The validator reports two operations with one id.
    for path, item in specification()["paths"].items():
        for method in item.keys() - {"parameters"}:
            assert operation(method, path)["operationId"], (method, path)


def test_responses_have_no_other_members():
    found = {place for name, response in specification()["components"]["responses"].items()
             for content in response.get("content", {}).values()
             for place in open_objects(content["schema"], name)}
    # The data of a notification depends on its event, a step's detail on the step.
    assert found == {"InboxEntry.data", "Notification.data", "NotificationStep.detail"}


@pytest.fixture
def fleet(start_push_fleet):
    with closed(key_server()) as server:
        yield start_push_fleet(**account_settings(server, JWT))


@pytest.fixture
def call():
    """Makes a request, and checks its response: `call(caller, "GET", "/api/x/{id}", id="7")`."""
    def call(caller: Caller, method: str, path: str, body=None, status: int = 200, query: str = "",
             **parameters: str):
        response = caller.request(method, path.format(**parameters) + query, body)
        assert response.status == status, response
        if status == 200:
            check_request(method, path, body)
        check(method, path, status, response.text, response.headers["content-type"].split(";")[0])
        return response.json()

    return call


def test_responses_of_orders_and_jobs(fleet, call):
    admin, driver, code = fleet.admin(), fleet.driver(), unique_id("o")
    order = "/api/admin/orders/{code}"
    job = "/api/driver/jobs/{id}"
    call(admin, "PUT", order, ORDER_FIELDS | {"pickupAddress": None}, code=code)
    call(admin, "POST", order + "/assign-driver", {
        "driverId": driver.subject, "driverName": "Dan", "pickupLatitude": 51.5,
        "pickupLongitude": 0}, code=code)
    call(admin, "GET", order, code=code)
    call(admin, "GET", order, status=404, code="none")
    call(driver, "GET", order, status=403, code=code)
    call(fleet.caller(), "GET", order, status=401, code=code)
    call(admin, "POST", order + "/assign-driver", {}, status=400, code=code)
    call(driver, "GET", "/api/driver/jobs")
    call(driver, "POST", job + "/accept", id=code)
    call(driver, "POST", job + "/accept", id=code)
    call(fleet.driver(), "POST", job + "/accept", status=409, id=code)
    call(driver, "PUT", job + "/progress", {
        "step": "en_route", "latitude": 51.5, "longitude": 0.1, "notes": "soon"}, id=code)
    call(driver, "PUT", job + "/progress", {"step": "unloading"}, status=400, id=code)
    call(driver, "PUT", job + "/progress", {"step": "arrived"}, id=code)
    call(admin, "GET", order, code=code)
    for action in ("remove-driver", "assign-driver", "unassign", "cancel-enhanced"):
        call(admin, "POST", f"{order}/{action}", {"driverId": driver.subject, "reason": "no"},
             code=code)


def test_responses_of_routes(fleet, call):
    admin, driver, route = fleet.admin(), fleet.driver(), unique_id("r")
    path = "/api/admin/routes/{routeId}"
    fields = {"routeNumber": "R-1", "bookingsCount": 2, "dropsCount": 3, "earningsAdjustment": 2.5}
    call(admin, "PUT", path, fields, routeId=route)
    call(admin, "POST", path + "/assign-driver", {"driverId": driver.subject}, routeId=route)
    call(driver, "POST", "/api/driver/routes/{id}/accept", id=route)
    call(driver, "GET", "/api/driver/jobs")
    call(admin, "POST", path + "/drops/{dropId}/remove", {}, routeId=route, dropId="7")
    call(admin, "GET", path, routeId=route)
    for action in ("unassign", "cancel"):
        call(admin, "POST", f"{path}/{action}", {}, routeId=route)


@pytest.mark.parametrize("role", ["driver", "customer"])
def test_responses_of_people(fleet, call, role):
    person, root = fleet.caller(role, unique_id("p")), f"/api/{role}"
    call(person, "POST", "/api/auth/fcm-token", {"fcmToken": unique_id("t"), "deviceId": "d"})
    call(person, "POST", "/api/auth/fcm-token", {"fcmToken": "a b"}, status=400)
    call(person, "DELETE", "/api/auth/fcm-token", {"fcmToken": unique_id("t")})
    call(person, "PUT", root + "/preferences", {"types": {"job_update": False}})
    call(person, "PUT", root + "/preferences",
         {"types": {"job_update": None}, "quietHours": {"to": None}})
    call(person, "GET", root + "/preferences")
    device = {"deviceToken": unique_id("t"), "platform": "android", "deviceId": "d"}
    call(person, "POST", "/app-register-device", device)
    call(person, "POST", "/app-register-device", {"deviceToken": "t"}, status=400)
    call(person, "GET", root + "/devices")
    call(person, "DELETE", "/app-register-device", {"deviceToken": device["deviceToken"]})
    call(person, "DELETE", "/app-register-device", query=f"?deviceToken={device['deviceToken']}")
    notification = fleet.announce({role: person.subject})
    fleet.announce({role: person.subject})
    call(person, "GET", root + "/notifications", query="?limit=1")
    call(person, "POST", root + "/notifications/read", {"all": True})
    call(person, "GET", root + "/notifications")
    step = {"notificationId": notification, "type": "new_job", "entityId": "e1",
            "event": "received", "timestamp": "2026-03-01T10:00:00Z", "metadata": None}
    call(person, "POST", root + "/notifications/log", step)
    call(person, "POST", root + "/notifications/log",
         {"events": [step | {"metadata": {"title": "Approved", "message": None}}]})
    call(fleet.admin(), "DELETE", f"/api/admin/people/{role}/{{id}}", id=person.subject)


def test_responses_of_trips(fleet, call):
    admin = fleet.admin()
    trip = Trip(fleet, admin).go_to("en_route")
    card, own = "/api/admin/drivers/{id}", f"?reference={trip.reference}"
    call(admin, "PUT", card, {
        "name": "Dan", "phoneNumber": "+441632960001", "vehicleMake": "Ford",
        "vehicleModel": "Transit", "vehicleColor": None, "licensePlate": "AB12 CDE"}, id=trip.driver.subject)
    call(admin, "GET", card, id=trip.driver.subject)
    call(trip.customer, "GET", "/app-trip-status", query=own)
    call(trip.driver, "POST", "/api/driver/location", position(500))
    call(trip.driver, "POST", "/api/driver/location", {"positions": [
        position(450, recordedAt="2026-01-01T10:30:00Z"), position(400, heading=10, speed=8.5)]})
    call(trip.driver, "POST", "/api/driver/location", {"latitude": 200}, status=400)
    shown = call(trip.customer, "GET", "/app-trip-status", query=own)
    assert shown["driver_location"] and shown["driver_info"]
    call(fleet.customer(), "GET", "/app-trip-status", status=404, query="?reference=x")
    assert call(admin, "GET", "/api/admin/drivers/positions")["data"]["positions"]
    trip.go_to("completed")
    call(trip.customer, "GET", "/app-trip-status", query=own)


def test_responses_of_push_lanes(fleet, call):
    device = fleet.ios()
    fleet.warm_up(device)
    call(device.owner, "GET", "/api/driver/devices")
    failed = fleet.fail_next_push(device, refusal(400, "BadDeviceToken"))
    call(fleet.ops(), "GET", "/api/ops/notifications/{id}", id=failed)

    def apns() -> dict:
        return call(fleet.ops(), "GET", "/api/ops/push")["lanes"][0]

    wait_until(lambda: apns()["lastError"] and apns()["lastAcceptedAt"], "the lane has both")


def test_responses_for_operators(fleet, call):
    ops, driver = fleet.ops(), fleet.driver()
    fleet.android(driver)
    client = fleet.listen(driver, f"driver-{driver.subject}")
    client.join(f"presence-{unique_id('p')}", "7")
    notification = fleet.announce(driver)
    client.expect("driver-approved")
    client.receive_until_pong()
    fleet.wait_for_accepted(notification)
    report(driver, notification, "received", "DRIVER_APPROVED")
    for name in ("stats", "push", "connections", "channels", "notifications", "delivery"):
        call(ops, "GET", f"/api/ops/{name}")
    for path in ("/healthz", "/readyz", "/metrics"):
        response = ops.request("GET", path)
        check("GET", path, response.status, response.text, "text/plain")
    fleet.listen(driver)
    assert call(ops, "GET", "/api/ops/connections", query="?limit=1")["next"]
    call(ops, "GET", "/api/ops/connections", status=400, query="?limit=0")
    call(ops, "GET", "/api/ops/notifications/{id}", id=notification)
    broadcast = fleet.announce({"all": True})
    call(ops, "GET", "/api/ops/notifications/{id}/recipients", id=broadcast)
    call(fleet.admin(), "POST", "/api/admin/notifications/{id}/remind", id=broadcast)
    call(fleet.admin(), "POST", "/api/admin/notifications",
         {"type": "DRIVER_APPROVED", "to": {"driver": driver.subject}, "data": {}})
    call(fleet.admin(), "POST", "/api/admin/notifications",
         {"type": "DRIVER_APPROVED", "to": {"drivers": [driver.subject, unique_id("d")]}})


def test_responses_to_pusher_clients(fleet, call, closing):
    client = fleet.listen(fleet.driver())
    caller = fleet.admin()
    body = {"socket_id": client.socket_id, "channel_name": "private-admin-channel"}
    call(caller, "POST", "/pusher/auth", body)
    presence = body | {"channel_name": unique_id("presence-")}
    assert call(caller, "POST", "/pusher/auth", presence)["channel_data"]
    call(fleet.driver(), "POST", "/pusher/auth", body, status=403)
    call(caller, "POST", "/pusher/user-auth", {"socket_id": client.socket_id})
    call(caller, "POST", "/pusher/user-auth", {"socket_id": "1"}, status=400)
    call(caller, "GET", "/console/config.json")


def test_responses_to_backends(fleet, closing):
    api, client = closing(Api(fleet.gateway)), fleet.listen(fleet.driver())
    presence, cache = unique_id("presence-"), unique_id("cache-")
    client.join(presence, "7")
    client.subscribe(cache)

    def signed(method: str, path: str, body: bytes = b"", status: int = 200, query=None, **names):
        target = signed_target(FIRST, method, path.format(id=FIRST.id, **names), body, query)
        response = api.call(method, target, body or None)
        assert response.status == status, response
        if body and status == 200:
            check_request(method, path, json.loads(body))
        check(method, path, status, response.text, response.headers["content-type"].split(";")[0])

    events, channels = "/apps/{id}/events", "/apps/{id}/channels"
    signed("POST", events, event_body([cache, presence]))
    signed("POST", events, event_body(cache, info="subscription_count", socket_id="1.1"))
    signed("POST", events, b"[]", status=400)
    signed("POST", events, event_body(cache), status=401, query={"auth_key": "x"})
    batch = [json.loads(event_body(presence, info="user_count")), json.loads(event_body(cache))]
    signed("POST", "/apps/{id}/batch_events", json.dumps({"batch": batch}).encode())
    signed("GET", channels)
    signed("GET", channels, query={"filter_by_prefix": "presence-", "info": "user_count"})
    signed("GET", channels + "/{channel}", channel=presence, query={"info": "user_count"})
    for name in (cache, unique_id("cache-")):
        signed("GET", channels + "/{channel}", channel=name,
               query={"info": "subscription_count,cache"})
    signed("GET", channels + "/{channel}/users", channel=presence)
    signed("GET", channels + "/{channel}/users", channel=cache, status=400)
    signed("POST", "/apps/{id}/users/{user}/terminate_connections", b"{}", user="7")


def test_responses_of_accounts(fleet, call, closing):
    user, admin = closing(FirebaseUser(fleet.gateway)), fleet.admin()
    auth, account = "/api/auth", "/api/admin/drivers/{id}"
    call(user, "POST", f"{auth}/sync")
    call(user, "POST", f"{auth}/register-driver", REGISTRATION | {"name": ""}, status=400)
    call(user, "POST", f"{auth}/register-driver", REGISTRATION)
    call(user, "POST", f"{auth}/register-driver", REGISTRATION, status=409)
    call(user, "GET", "/api/driver/jobs", status=403)
    call(admin, "GET", "/api/admin/drivers", query="?status=PENDING")
    call(admin, "POST", account + "/reject", {}, status=400, id=user.subject)
    for action, reason in [("reject", {"reason": "Blurred"}), ("approve", None),
                           ("suspend", {"reason": "Late"}), ("reinstate", None)]:
        call(admin, "POST", f"{account}/{action}", reason, id=user.subject)
        if action != "suspend":
            call(user, "POST", f"{auth}/sync")
    call(user, "POST", f"{auth}/fcm-token", {"fcmToken": unique_id("t") + "x" * 100})
    call(admin, "GET", account + "/account", id=user.subject)
    call(user, "PUT", f"{auth}/profile", {"name": "Rahul", "email": None})
    for path in (f"{auth}/me", "/api/driver/notifications"):
        call(user, "GET", path)


def test_responses_of_batches(fleet, call, closing):
    admin = fleet.admin()
    driver, other = (closing(hire(fleet.gateway, admin)) for _ in range(2))
    batch = Batch(admin, [batches.order(deliveryOtp="4821"), *(batches.order() for _ in range(4))])
    coded, photographed, signed, failed, cancelled = batch.orders
    path, own = "/api/admin/batches/{batchId}", BATCH + "/batches/{batchId}"
    each = path + "/orders/{orderId}"

    def tell(order_id: str, status: str, expected: int = 200, **fields):
        call(driver, "PATCH", BATCH + "/orders/{orderId}/status", {"status": status} | fields,
             status=expected, orderId=order_id)

    call(admin, "PUT", path, batch.fields, batchId=batch.id)
    call(admin, "PUT", path, {"orders": 1}, status=400, batchId=batch.id)
    call(admin, "GET", path, batchId=batch.id)
    call(admin, "POST", path + "/ready", batchId=batch.id)
    call(driver, "GET", f"{BATCH}/my-batch")
    call(driver, "PUT", f"{BATCH}/availability", {"online": True})
    for sort in ("orders", "nearest&latitude=19&longitude=72.5"):
        call(driver, "GET", f"{BATCH}/available-batches", query=f"?sort={sort}")
    call(driver, "GET", own, batchId=batch.id)
    call(other, "POST", own + "/accept", batchId=batch.id)
    call(driver, "POST", own + "/accept", status=400, batchId=batch.id)
    call(admin, "POST", path + "/unassign", {"reason": "late"}, batchId=batch.id)
    call(other, "POST", own + "/accept", batchId=batch.id)
    call(admin, "POST", path + "/reassign", {"driverId": driver.subject}, batchId=batch.id)
    call(admin, "POST", each + "/cancel", {"by": "customer", "reason": "changed plans"},
         batchId=batch.id, orderId=cancelled)
    call(driver, "GET", f"{BATCH}/my-batch")
    call(driver, "PATCH", own + "/pickup", {"notes": "hot"}, batchId=batch.id)
    call(driver, "PATCH", own + "/sequence", {"sequence": [
        {"orderId": order_id, "sequenceNumber": number}
        for number, order_id in enumerate([failed, coded, photographed, signed], 1)]}, batchId=batch.id)
    tell(coded, "EN_ROUTE")
    tell(coded, "ARRIVED")
    tell(coded, "DELIVERED", proofOfDelivery={"type": "OTP", "otp": "4821"})
    tell(photographed, "DELIVERED", proofOfDelivery=PHOTO)
    signature = {"type": "SIGNATURE", "signatureUrl": "https://images.example/signature.png"}
    tell(signed, "DELIVERED", proofOfDelivery=signature)
    tell(failed, "GONE", 400)
    call(driver, "GET", f"{BATCH}/my-batch")
    tell(failed, "FAILED", failureReason="OTHER", notes="no bell")
    call(driver, "PATCH", own + "/complete", {}, batchId=batch.id)
    call(admin, "POST", each + "/return", batchId=batch.id, orderId=failed)
    for one in (own, f"{BATCH}/summary", f"{BATCH}/availability"):
        call(driver, "GET", one, batchId=batch.id)
    call(admin, "GET", path, batchId=batch.id)
    call(admin, "POST", path + "/cancel", {}, batchId=Batch(admin).id)


def test_responses_of_codes(start_gateway, adapter, call, closing):  # noqa: F811
    gateway = start_gateway(**codes.settings(adapter))
    phone = closing(Phone(gateway, adapter))
    auth, registration = PHONE + "/auth", PHONE + "/user/registration"
    sent = call(phone, "POST", f"{auth}/login-or-register", phone.form())["data"]
    call(phone, "POST", f"{auth}/login-or-register", phone.form(phone_country=None), status=400)
    session = {"temp_user_id": sent["temp_user_id"]}
    call(phone, "POST", f"{auth}/resend-otp", session, status=429)
    code = adapter.code(phone.number)
    call(phone, "POST", f"{auth}/verify-otp", session | {"otp": codes.wrong(code)}, status=400)
    codes.age(gateway, phone, 61)
    call(phone, "POST", f"{auth}/resend-otp", session)
    code = adapter.code(phone.number)
    verified = call(phone, "POST", f"{auth}/verify-otp", session | {"otp": code})
    phone.bearer = verified["data"]["token"]
    call(phone, "POST", f"{registration}/basic-details", {"name": "Ann", "email": "a@example.com"})
    call(phone, "POST", f"{registration}/credit-card", {"payment_token": "tok_1", "last4": "4242"})
    call(phone, "POST", f"{auth}/refresh")
    call(phone, "DELETE", f"{auth}/session")
    call(phone, "POST", f"{auth}/refresh", status=401)


# The golden files of the shapes that existing apps parse.

ACCOUNT, BATCH, PHONE = "/api/auth", "/api/delivery", "/api/mobile/v1"
SHAPES = {
    "accounts/account": ("get", "/api/admin/drivers/{id}/account"),
    "accounts/decided": ("post", "/api/admin/drivers/{id}/approve"),
    "accounts/list": ("get", "/api/admin/drivers"),
    "accounts/me": ("get", f"{ACCOUNT}/me"), "accounts/profile": ("put", f"{ACCOUNT}/profile"),
    "accounts/registered": ("post", f"{ACCOUNT}/register-driver"),
    "batches/accepted": ("post", BATCH + "/batches/{batchId}/accept"),
    "batches/admin": ("post", "/api/admin/batches/{batchId}/cancel"),
    "batches/admin-get": ("get", "/api/admin/batches/{batchId}"),
    "batches/available": ("get", f"{BATCH}/available-batches"),
    "batches/available-nearest": ("get", f"{BATCH}/available-batches"),
    "batches/available-none": ("get", f"{BATCH}/available-batches"),
    "batches/availability": ("get", f"{BATCH}/availability"),
    "batches/availability-updated": ("put", f"{BATCH}/availability"),
    "batches/completed": ("patch", BATCH + "/batches/{batchId}/complete"),
    "batches/details": ("get", BATCH + "/batches/{batchId}"),
    "batches/details-for-others": ("get", BATCH + "/batches/{batchId}"),
    "batches/my-batch": ("get", f"{BATCH}/my-batch"),
    "batches/my-batch-none": ("get", f"{BATCH}/my-batch"),
    "batches/my-batch-under-way": ("get", f"{BATCH}/my-batch"),
    "batches/picked-up": ("patch", BATCH + "/batches/{batchId}/pickup"),
    "batches/sequence": ("patch", BATCH + "/batches/{batchId}/sequence"),
    "batches/summary": ("get", f"{BATCH}/summary"),
    "batches/summary-none": ("get", f"{BATCH}/summary"),
    "codes/details": ("post", f"{PHONE}/user/registration/basic-details"),
    "codes/payment": ("post", f"{PHONE}/user/registration/credit-card"),
    "codes/ended": ("delete", f"{PHONE}/auth/session"),
    "codes/refreshed": ("post", f"{PHONE}/auth/refresh"),
    "codes/resent": ("post", f"{PHONE}/auth/resend-otp"),
    "codes/sent": ("post", f"{PHONE}/auth/login-or-register"),
} | {f"batches/report-{name}": ("patch", BATCH + "/orders/{orderId}/status")
     for name in ("delivered", "en-route", "failed", "photo")
     } | {f"accounts/sync-{name}": ("post", f"{ACCOUNT}/sync")
          for name in ("active", "none", "pending", "rejected")
          } | {f"codes/verified{name}": ("post", f"{PHONE}/auth/verify-otp")
               for name in ("", "-complete")}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_golden_shape(name):
    method, path = SHAPES[name]
    check(method, path, 200, (GOLDEN / f"{name}.json").read_text())


def test_every_golden_file_is_checked():
    assert sorted(SHAPES) == sorted(
        f"{file.parent.name}/{file.stem}" for file in GOLDEN.rglob("*.json"))
