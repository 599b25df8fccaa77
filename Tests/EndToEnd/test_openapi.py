"""docs/openapi.yaml: valid, and true of requests that succeed and of the gateway's responses."""

import functools
import json
from contextlib import closing as closed

import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from harness import codes
from harness.api import Api, event_body, signed_target
from harness.apps import FIRST
from harness.batches import PHOTO, Batch, hire
from harness.codes_fixtures import adapter  # noqa: F401
from harness.deployed import DEPLOY
from harness.fleet import JWT, Caller, report, unique_id
from harness.people import REGISTRATION, FirebaseUser, account_settings, key_server
from harness.sms_adapter import Phone
from harness.trips import Trip, position

FILE = DEPLOY.parent / "docs/openapi.yaml"
GOLDEN = DEPLOY.parent / "Tests/HTTPAPITests/Golden"


@functools.cache
def specification() -> dict:
    return yaml.safe_load(FILE.read_text())


@functools.cache
def registry() -> Registry:
    return Registry().with_resource("urn:api", Resource(specification(), DRAFT202012))


def resolved(node: dict) -> dict:
    """Follows a reference within the file."""
    if "$ref" not in node:
        return node
    found = specification()
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def operation(method: str, path: str) -> dict:
    return specification()["paths"][path][method.lower()]


def validate_body(content: dict, body: str) -> None:
    # References in a schema are relative to the whole file.
    schema = json.loads(json.dumps(content["schema"]).replace('"#/', '"urn:api#/'))
    Draft202012Validator(schema, registry=registry()).validate(json.loads(body))


def check_request(method: str, path: str, body) -> None:
    """Checks the body of a request that has succeeded against the schema of its operation. One that
    is described as required must be there.
    """
    described = resolved(operation(method, path).get("requestBody", {}))
    if body is not None:
        validate_body(described["content"]["application/json"], json.dumps(body))
    else:
        assert not described.get("required"), (method, path)


def check(method: str, path: str, status: int, body: str,
          kind: str = "application/json") -> None:
    """Checks the body of a response against the schema of its operation. A success must have a
    status that the file has.
    """
    responses = operation(method, path)["responses"]
    assert str(status) in responses or status >= 400, (method, path, status, list(responses))
    response = resolved(responses.get(str(status)) or responses["default"])
    assert kind in response["content"], (method, path, status, kind)
    if kind == "application/json":
        validate_body(response["content"][kind], body)


def test_the_file_is_valid():
    validate(specification())


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
    call(admin, "PUT", order, {"customerName": "Ann"}, code=code)
    call(admin, "POST", order + "/assign-driver", {"driverId": driver.subject}, code=code)
    call(admin, "GET", order, code=code)
    call(admin, "GET", order, status=404, code="none")
    call(driver, "GET", order, status=403, code=code)
    call(fleet.caller(), "GET", order, status=401, code=code)
    call(admin, "POST", order + "/assign-driver", {}, status=400, code=code)
    call(driver, "GET", "/api/driver/jobs")
    call(driver, "POST", job + "/accept", id=code)
    call(driver, "POST", job + "/accept", id=code)
    call(fleet.driver(), "POST", job + "/accept", status=409, id=code)
    call(driver, "PUT", job + "/progress", {"step": "en_route"}, id=code)
    call(driver, "PUT", job + "/progress", {"step": "loading"}, status=400, id=code)
    for action in ("unassign", "cancel-enhanced"):
        call(admin, "POST", f"{order}/{action}", {"reason": "no"}, code=code)


def test_responses_of_routes(fleet, call):
    admin, driver, route = fleet.admin(), fleet.driver(), unique_id("r")
    path = "/api/admin/routes/{routeId}"
    call(admin, "PUT", path, {"routeNumber": "R-1", "dropsCount": 3}, routeId=route)
    call(admin, "POST", path + "/assign-driver", {"driverId": driver.subject}, routeId=route)
    call(driver, "POST", "/api/driver/routes/{id}/accept", id=route)
    call(driver, "GET", "/api/driver/jobs")
    call(admin, "POST", path + "/drops/{dropId}/remove", {}, routeId=route, dropId="7")
    call(admin, "GET", path, routeId=route)
    call(admin, "POST", path + "/cancel", {}, routeId=route)


def test_responses_of_people(fleet, call):
    driver = fleet.driver()
    fleet.ios(driver)
    call(driver, "POST", "/api/auth/fcm-token", {"fcmToken": unique_id("t"), "deviceId": "d"})
    call(driver, "POST", "/api/auth/fcm-token", {"fcmToken": "a b"}, status=400)
    call(driver, "DELETE", "/api/auth/fcm-token", {"fcmToken": unique_id("t")})
    call(driver, "GET", "/api/driver/devices")
    call(driver, "PUT", "/api/driver/preferences", {"types": {"job_update": False}})
    call(driver, "PUT", "/api/driver/preferences",
         {"types": {"job_update": None}, "quietHours": {"to": None}})
    call(driver, "GET", "/api/driver/preferences")
    device = {"deviceToken": unique_id("t"), "platform": "android", "deviceId": "d"}
    call(driver, "POST", "/app-register-device", device)
    call(driver, "POST", "/app-register-device", {"deviceToken": "t"}, status=400)
    call(driver, "DELETE", "/app-register-device", {"deviceToken": device["deviceToken"]})
    call(driver, "DELETE", "/app-register-device", query=f"?deviceToken={device['deviceToken']}")
    notification = fleet.announce(driver)
    fleet.announce(driver)
    call(driver, "GET", "/api/driver/notifications", query="?limit=1")
    call(driver, "POST", "/api/driver/notifications/read", {"all": True})
    call(driver, "POST", "/api/driver/notifications/log", {
        "notificationId": notification, "type": "DRIVER_APPROVED", "event": "received",
        "timestamp": "2026-03-01T10:00:00Z"})
    call(fleet.admin(), "PUT", "/api/admin/drivers/{id}", {"name": "Dan"}, id=driver.subject)
    call(fleet.admin(), "GET", "/api/admin/drivers/{id}", id=driver.subject)
    call(fleet.admin(), "DELETE", "/api/admin/people/driver/{id}", id=driver.subject)


def test_responses_of_trips(fleet, call):
    trip = Trip(fleet, fleet.admin()).go_to("en_route")
    call(trip.driver, "POST", "/api/driver/location", position(500))
    call(trip.driver, "POST", "/api/driver/location", {"latitude": 200}, status=400)
    call(trip.customer, "GET", "/app-trip-status", query=f"?reference={trip.reference}")
    call(fleet.customer(), "GET", "/app-trip-status", status=404, query="?reference=x")
    call(fleet.admin(), "GET", "/api/admin/drivers/positions")


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
    call(ops, "GET", "/api/ops/connections", status=400, query="?limit=0")
    call(ops, "GET", "/api/ops/notifications/{id}", id=notification)
    broadcast = fleet.announce({"all": True})
    call(ops, "GET", "/api/ops/notifications/{id}/recipients", id=broadcast)
    call(fleet.admin(), "POST", "/api/admin/notifications/{id}/remind", id=broadcast)
    call(fleet.admin(), "POST", "/api/admin/notifications",
         {"type": "DRIVER_APPROVED", "to": {"driver": driver.subject}, "data": {}})


def test_responses_to_pusher_clients(fleet, call, closing):
    client = fleet.listen(fleet.driver())
    caller = fleet.admin()
    body = {"socket_id": client.socket_id, "channel_name": "private-admin-channel"}
    call(caller, "POST", "/pusher/auth", body)
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
    call(admin, "POST", account + "/reject", {"reason": "Blurred"}, id=user.subject)
    for action in ("approve", "suspend", "reinstate"):
        call(admin, "POST", f"{account}/{action}", id=user.subject)
    call(admin, "GET", account + "/account", id=user.subject)
    call(user, "PUT", f"{auth}/profile", {"name": "Rahul", "email": None})
    for path in (f"{auth}/me", "/api/driver/notifications"):
        call(user, "GET", path)


def test_responses_of_batches(fleet, call, closing):
    admin = fleet.admin()
    driver, other = (closing(hire(fleet.gateway, admin)) for _ in range(2))
    batch = Batch(admin, 2)
    path, own = "/api/admin/batches/{batchId}", BATCH + "/batches/{batchId}"
    order = path + "/orders/{orderId}"
    call(admin, "PUT", path, batch.fields, batchId=batch.id)
    call(admin, "PUT", path, {"orders": 1}, status=400, batchId=batch.id)
    call(admin, "GET", path, batchId=batch.id)
    call(admin, "POST", path + "/ready", batchId=batch.id)
    call(driver, "PUT", f"{BATCH}/availability", {"online": True})
    call(driver, "GET", f"{BATCH}/available-batches", query="?sort=orders")
    call(driver, "POST", own + "/accept", batchId=batch.id)
    call(other, "POST", own + "/accept", status=400, batchId=batch.id)
    tour = [{"orderId": each, "sequenceNumber": number}
            for number, each in enumerate(batch.orders, 1)]
    call(driver, "PATCH", own + "/sequence", {"sequence": tour}, batchId=batch.id)
    call(driver, "PATCH", own + "/pickup", {"notes": "hot"}, batchId=batch.id)
    call(driver, "PATCH", f"{BATCH}/orders/{{orderId}}/status",
         {"status": "DELIVERED", "proofOfDelivery": PHOTO}, orderId=batch.orders[0])
    call(driver, "PATCH", f"{BATCH}/orders/{{orderId}}/status", {"status": "GONE"}, status=400,
         orderId=batch.orders[1])
    call(driver, "PATCH", f"{BATCH}/orders/{{orderId}}/status",
         {"status": "FAILED", "failureReason": "WRONG_ADDRESS"}, orderId=batch.orders[1])
    call(admin, "POST", order + "/return", batchId=batch.id, orderId=batch.orders[1])
    call(driver, "PATCH", own + "/complete", {}, batchId=batch.id)
    for path in (own, f"{BATCH}/my-batch", f"{BATCH}/summary", f"{BATCH}/availability"):
        call(driver, "GET", path, batchId=batch.id)


def test_responses_of_codes(start_gateway, adapter, call, closing):  # noqa: F811
    phone = closing(Phone(start_gateway(**codes.settings(adapter)), adapter))
    auth, registration = PHONE + "/auth", PHONE + "/user/registration"
    sent = call(phone, "POST", f"{auth}/login-or-register", phone.form())["data"]
    call(phone, "POST", f"{auth}/login-or-register", phone.form(phone_country=None), status=400)
    session = {"temp_user_id": sent["temp_user_id"]}
    call(phone, "POST", f"{auth}/resend-otp", session, status=429)
    code = adapter.code(phone.number)
    call(phone, "POST", f"{auth}/verify-otp", session | {"otp": codes.wrong(code)}, status=400)
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
