"""docs/openapi.yaml: valid, and true of the gateway's responses."""

import functools
import json
from contextlib import closing as closed

import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from harness.api import Api
from harness.deployed import DEPLOY
from harness.fleet import JWT, Caller, report, unique_id
from harness.people import account_settings, key_server
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


def check(method: str, path: str, status: int, body: str) -> None:
    """Checks the body of a response against the schema of its operation."""
    responses = specification()["paths"][path][method.lower()]["responses"]
    response = resolved(responses.get(str(status)) or responses["default"])
    [(kind, content)] = response["content"].items()
    if kind != "application/json":
        return
    # References in a schema are relative to the whole file.
    schema = json.loads(json.dumps(content["schema"]).replace('"#/', '"urn:api#/'))
    Draft202012Validator(schema, registry=registry()).validate(json.loads(body))


def test_the_file_is_valid():
    validate(specification())


@pytest.fixture
def fleet(start_push_fleet):
    with closed(key_server()) as server:
        settings = account_settings(server, JWT)
        yield start_push_fleet(auth=settings["auth"])


@pytest.fixture
def call():
    """Makes a request, and checks its response: `call(caller, "GET", "/api/x/{id}", id="7")`."""
    def call(caller: Caller, method: str, path: str, body=None, status: int = 200, query: str = "",
             **parameters: str):
        response = caller.request(method, path.format(**parameters) + query, body)
        assert response.status == status, response
        check(method, path, status, response.text)
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
    call(driver, "GET", "/api/driver/preferences")
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
    assert closing(Api(fleet.gateway)).get("/console/config.json").status == 200


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
    [status, *_] = specification()["paths"][path][method]["responses"]
    check(method, path, int(status), (GOLDEN / f"{name}.json").read_text())


def test_every_golden_file_is_checked():
    assert sorted(SHAPES) == sorted(
        f"{file.parent.name}/{file.stem}" for file in GOLDEN.rglob("*.json"))
