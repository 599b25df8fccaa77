"""What existing apps read of accounts: every answer of the sign-in check, the registration, the gate and the profile, and
the errors of `/api/auth/*`.
"""

import time

import pytest

from harness.contract import (ACCOUNT_ID, MILLIS, TEXT, Events, Row, World, check, check_can_fail, check_events,
                              check_events_can_fail, event, sample)
from harness.fleet import unique_id
from harness.people import PROJECT, REGISTRATION, SIGNER, FirebaseUser
from harness.people_fixtures import module_settings, server  # noqa: F401
from harness.tokens import firebase_claims

REJECTED_TEXT = "The licence is blurred"
SUSPENDED_TEXT = "Your account has been suspended. Please contact support."
PHOTO = "https://images.example/new.jpg"


class Accounts(World):
    """A driver, whose account has the state that the words of `given` lead to."""

    def __init__(self, fleet, closing):
        super().__init__()
        self.fleet, self.closing = fleet, closing
        driver = closing(FirebaseUser(fleet.gateway))
        self.callers = {"driver": driver, "admin": fleet.admin(), "nobody": fleet.caller(),
                        "rubbish": fleet.caller(bearer="a.b.c"), "customer": fleet.customer()}
        claims = firebase_claims(PROJECT, unique_id("u"), exp=int(time.time()) - 3600)
        self.callers["expired"] = fleet.caller(bearer=SIGNER.token(claims, kid="f1"))
        self.callers["twin"] = closing(FirebaseUser(fleet.gateway, phone=driver.phone))
        self.callers["landline"] = closing(FirebaseUser(fleet.gateway, phone=None))
        self.values = {"uid": driver.uid, "phone": driver.phone.removeprefix("+91"), "key": unique_id()}

    def register(self) -> None:
        user = self.callers["driver"].register()["data"]["user"]
        self.values |= {"account": user["_id"], "createdAt": user["createdAt"]}

    def register_with_key(self) -> None:
        self.callers["driver"].post("/api/auth/register-driver", REGISTRATION, key=self.values["key"])

    def register_bare(self) -> None:
        self.values["account"] = self.callers["driver"].register(
            email=None, profileImage=None, licenseExpiryDate=None)["data"]["user"]["_id"]

    def decide(self, action: str, **fields) -> None:
        self.callers["admin"].expect_ok("POST", f"/api/admin/drivers/{self.values['uid']}/{action}", fields)

    def approve(self) -> None:
        self.decide("approve")

    def reject(self) -> None:
        self.decide("reject", reason=REJECTED_TEXT)

    def suspend(self) -> None:
        self.decide("suspend")

    def suspend_with_reason(self) -> None:
        self.decide("suspend", reason="Complaints")

    def add_token(self) -> None:
        self.callers["driver"].expect_ok("POST", "/api/auth/fcm-token", {"fcmToken": "a1b2" + "x" * 100 + "9f0e"})


def good(message: str, data) -> dict:
    return {"message": message, "data": data, "error": None}


def bad(message, error=TEXT) -> dict:
    return {"message": message, "data": None, "error": error}


def fields(**texts) -> dict:
    return bad("Validation error", {"fields": {name.replace("_0_", "[0]."): text for name, text in texts.items()}})


SYNC, REGISTER, PROFILE = "POST /api/auth/sync", "POST /api/auth/register-driver", "PUT /api/auth/profile"
PENDING_USER = {"_id": ACCOUNT_ID, "phone": "{phone}", "role": "DRIVER", "name": "Rahul Kumar", "email": "rahul@example.com",
                "status": "PENDING", "licenseNumber": "MH1420110012345", "vehicleNumber": "MH12AB1234"}
REGISTERED = good("Driver registration submitted for approval", {
    "user": PENDING_USER | {"vehicleType": "SCOOTER", "createdAt": MILLIS}, "approvalStatus": "PENDING",
    "message": "Your registration is pending admin approval. You will be notified once approved."})
KNOWN = {"isNewUser": False, "isProfileComplete": True}
DOCUMENTS = [{"type": "RC", "imageUrl": "https://images.example/rc.jpg", "expiryDate": None},
             {"type": "INSURANCE", "imageUrl": "https://images.example/i.jpg", "expiryDate": "2020-01-31"}]
WHOLE_USER = {"_id": "{account}", "phone": "{phone}", "role": "DRIVER", "name": "Rahul Kumar", "email": "rahul@example.com",
              "profileImage": "https://images.example/rahul.jpg", "status": "ACTIVE", "licenseNumber": "MH1420110012345",
              "licenseImageUrl": "https://images.example/license.jpg", "licenseExpiryDate": "2099-12-31",
              "vehicleName": "Honda Activa", "vehicleNumber": "MH12AB1234", "vehicleType": "SCOOTER",
              "vehicleDocuments": DOCUMENTS, "lastLoginAt": None, "fcmTokens": [], "createdAt": MILLIS, "updatedAt": MILLIS}
EXISTS = bad("Driver account already exists", "A driver account with this phone number already exists")
SUSPENDED = bad("Account suspended", SUSPENDED_TEXT)
NO_ACCOUNT = bad("Driver account not found", "Driver account not found")
PENDING = bad("Account pending approval", "Your registration is pending admin approval")
REJECTED = bad("Registration rejected", REJECTED_TEXT)


def wrong(text: str, field: str, value, name: str | None = None) -> Row:
    """A registration with one wrong field."""
    return Row(f"driver {REGISTER}", 400, fields(**{name or field: text}), REGISTRATION | {field: value})


ROWS = [
    # Sign-in check
    Row(f"driver {SYNC}", 200, good("User not found", {"user": None, "isNewUser": True, "isProfileComplete": False}), {}),
    Row(f"driver {SYNC}", 200, good("User not found", {"user": None, "isNewUser": True, "isProfileComplete": False})),
    Row(f"driver {SYNC}", 200, good("Driver pending approval", KNOWN | {
        "user": PENDING_USER, "approvalStatus": "PENDING"}), {"unknown": 1}, "register"),
    Row(f"driver {SYNC}", 200, good("Driver pending approval", KNOWN | {
        "user": PENDING_USER | {"email": None}, "approvalStatus": "PENDING"}), {}, "register_bare"),
    Row(f"driver {SYNC}", 200, good("Driver registration rejected", KNOWN | {
        "user": PENDING_USER | {"status": "REJECTED"}, "approvalStatus": "REJECTED",
        "rejectionReason": REJECTED_TEXT}), {}, "register reject"),
    Row(f"driver {SYNC}", 200, good("User authenticated", KNOWN | {
        "user": PENDING_USER | {"status": "ACTIVE", "profileImage": "https://images.example/rahul.jpg",
                                "vehicleType": "SCOOTER", "lastLoginAt": MILLIS},
        "approvalStatus": "APPROVED"}), {}, "register approve"),
    Row(f"driver {SYNC}", 200, good("User authenticated", KNOWN | {
        "user": PENDING_USER | {"status": "ACTIVE", "email": None, "profileImage": None, "vehicleType": "SCOOTER",
                                "lastLoginAt": MILLIS},
        "approvalStatus": "APPROVED"}), {}, "register_bare approve"),
    Row(f"driver {SYNC}", 403, SUSPENDED, {}, "register approve suspend"),
    Row(f"driver {SYNC}", 403, bad("Account suspended", "Complaints"), {}, "register approve suspend_with_reason"),
    # Registration
    Row(f"driver {REGISTER}", 200, REGISTERED, REGISTRATION),
    Row(f"driver {REGISTER}", 200, REGISTERED, REGISTRATION, "register_with_key", key="{key}",
        answered={"idempotency-replayed": "true"}),
    Row(f"driver {REGISTER}", 409, bad("Conflict"), REGISTRATION | {"name": "Other"}, "register_with_key", key="{key}"),
    Row(f"driver {REGISTER}", 200, good(REGISTERED["message"], REGISTERED["data"] | {
        "user": REGISTERED["data"]["user"] | {"_id": "{account}", "createdAt": "{createdAt}"}}),
        REGISTRATION, "register reject"),
    Row(f"driver {REGISTER}", 409, EXISTS, REGISTRATION, "register"),
    Row(f"driver {REGISTER}", 409, EXISTS, REGISTRATION, "register approve"),
    Row(f"driver {REGISTER}", 403, SUSPENDED, REGISTRATION, "register approve suspend"),
    Row(f"twin {REGISTER}", 409, EXISTS, REGISTRATION, "register"),
    Row(f"twin {REGISTER}", 409, EXISTS, REGISTRATION, "register reject"),
    Row(f"twin {REGISTER}", 409, EXISTS, REGISTRATION, "register approve suspend"),
    Row(f"driver {REGISTER}", 400, fields(name="Name is required"), REGISTRATION | {"name": None}, "register"),
    Row(f"landline {REGISTER}", 400, fields(phone="Phone number is required"), REGISTRATION),
    Row(f"driver {REGISTER}", 400, fields(
        name="Name is required", licenseNumber="License number is required", licenseImageUrl="License image is required",
        vehicleName="Vehicle name is required", vehicleNumber="Vehicle number is required",
        vehicleType="Vehicle type must be one of BIKE, SCOOTER, BICYCLE, OTHER",
        vehicleDocuments="At least one vehicle document is required"), {}),
    wrong("Name is required", "name", None),
    wrong("Name must be at least 2 characters", "name", " a "),
    wrong("Invalid email format", "email", "nobody"),
    wrong("Invalid URL", "profileImage", "ftp://images.example/x"),
    wrong("License number is required", "licenseNumber", ""),
    wrong("License image is required", "licenseImageUrl", None),
    wrong("Invalid URL", "licenseImageUrl", "nowhere"),
    wrong("License expiry date must be in the future", "licenseExpiryDate", "2020-12-31"),
    wrong("Vehicle name is required", "vehicleName", None),
    wrong("Vehicle number is required", "vehicleNumber", None),
    wrong("Invalid vehicle number format", "vehicleNumber", "12AB1234"),
    wrong("Vehicle type must be one of BIKE, SCOOTER, BICYCLE, OTHER", "vehicleType", "CAR"),
    wrong("At least one vehicle document is required", "vehicleDocuments", []),
    wrong("Invalid URL", "vehicleDocuments", [{"type": "PUC", "imageUrl": "nowhere"}], "vehicleDocuments[0].imageUrl"),
    wrong(TEXT, "vehicleDocuments", [{"type": "MAP", "imageUrl": PHOTO}], "vehicleDocuments[0].type"),
    wrong(TEXT, "vehicleDocuments", [{"type": "OTHER", "imageUrl": PHOTO, "expiryDate": "soon"}],
          "vehicleDocuments[0].expiryDate"),
    wrong(TEXT, "name", "x" * 101), wrong(TEXT, "name", 5), wrong(TEXT, "licenseExpiryDate", "soon"),
    # What an account that is not approved may not do, in both envelopes
    *(Row(f"driver {request}", 403, answer, None, given)
      for given, answer in (("register", PENDING), ("register reject", REJECTED), ("", NO_ACCOUNT),
                            ("register approve suspend", SUSPENDED))
      for request in ("GET /api/delivery/available-batches", "GET /api/delivery/my-batch")),
    *(Row("driver GET /api/driver/jobs", 403, {"success": False, "error": answer["message"]}, None, given)
      for given, answer in (("register", PENDING), ("register reject", REJECTED), ("", NO_ACCOUNT),
                            ("register approve suspend", SUSPENDED))),
    Row("driver POST /api/auth/fcm-token", 403, NO_ACCOUNT, {"fcmToken": "f" * 100}),
    Row("driver GET /api/auth/me", 404, NO_ACCOUNT),
    Row(f"driver {PROFILE}", 404, NO_ACCOUNT, {}),
    # Profile
    Row("driver GET /api/auth/me", 200, good("User profile", {"user": WHOLE_USER}), None, "register approve"),
    Row("driver GET /api/auth/me", 200, good("User profile", {"user": WHOLE_USER | {"fcmTokens": ["a1b2…9f0e"]}}), None,
        "register approve add_token"),
    Row("driver GET /api/auth/me", 200, good("User profile", {"user": WHOLE_USER | {
        "email": None, "profileImage": None, "licenseExpiryDate": None, "status": "PENDING"}}), None, "register_bare"),
    Row(f"driver {PROFILE}", 200, good("Profile updated", {"user": WHOLE_USER | {
        "name": "R. Kumar", "email": None, "profileImage": PHOTO}}),
        {"name": "R. Kumar", "email": None, "profileImage": PHOTO, "unknown": 1}, "register approve"),
    Row(f"driver {PROFILE}", 200, good("Profile updated", {"user": WHOLE_USER}), {}, "register approve"),
    Row(f"driver {PROFILE}", 400, fields(
        name="Name is required", email="Invalid email format", profileImage="Invalid URL",
        **dict.fromkeys(["licenseNumber", "vehicleNumber", "vehicleType"], "This field cannot be changed here")),
        {"name": None, "email": "x", "profileImage": "x", "licenseNumber": "L", "vehicleNumber": "MH12AB9999",
         "vehicleType": "BIKE"}, "register approve"),
    # Devices
    Row("driver POST /api/auth/fcm-token", 200, good("FCM token registered", None), {"fcmToken": "f" * 100}, "register"),
    Row("driver DELETE /api/auth/fcm-token", 200, good("FCM token removed", None), {"fcmToken": "f" * 100}, "register"),
    Row("driver DELETE /api/auth/fcm-token", 200, good("FCM token removed", None), {"fcmToken": "f" * 100},
        "register approve suspend"),
    # Errors of /api/auth/* and /api/delivery/*
    *(Row(f"{who} {request}", 401, bad(message), None, answered={
        "www-authenticate": f'Bearer error="invalid_token", error_description="{reason}"'})
      for who, message, reason in (("nobody", "Invalid token", "invalid"), ("rubbish", "Invalid token", "invalid"),
                                   ("expired", "Token expired", "expired"))
      for request in (SYNC, "GET /api/auth/me", "GET /api/delivery/my-batch")),
    *(Row(f"{who} GET /api/driver/jobs", 401, {"success": False, "error": TEXT}, answered={
        "www-authenticate": f'Bearer error="invalid_token", error_description="{reason}"'})
      for who, reason in (("nobody", "invalid"), ("rubbish", "invalid"), ("expired", "expired"))),
    Row("customer GET /api/delivery/my-batch", 403, bad("Forbidden")),
    Row("driver GET /api/auth/unknown", 404, bad("Resource not found"), None, "register approve"),
    Row("driver GET /api/delivery/unknown", 404, bad("Resource not found"), None, "register approve"),
    Row("driver GET /api/auth/sync", 405, bad("Method not allowed"), None, "register approve", answered={"allow": "POST"}),
    Row(f"driver {SYNC}", 413, bad("Request too large"), b'{"x":"' + b"x" * 300_000 + b'"}'),
    Row(f"driver {REGISTER}", 400, bad(TEXT), b"[]"),
]

EVENTS = [
    Events(f"driver {REGISTER}", [event("admin-channel", "driver-registered", driverId="{uid}", name="Rahul Kumar",
                                        phone="{phone}", vehicleNumber="MH12AB1234", createdAt=MILLIS)], REGISTRATION),
    Events("admin POST /api/admin/drivers/{uid}/approve", [
        event("driver-{uid}", "driver-approved", driverId="{uid}", action="navigate_home")], {}, "register"),
    Events("admin POST /api/admin/drivers/{uid}/reject", [
        event("driver-{uid}", "driver-rejected", driverId="{uid}", action="navigate_rejection", reason="Blurred")],
        {"reason": "Blurred"}, "register"),
    Events("admin POST /api/admin/drivers/{uid}/suspend", [
        event("admin-channel", "driver-suspended", driverId="{uid}", reason="Complaints", openJobs=0)],
        {"reason": "Complaints"}, "register approve"),
]


@pytest.fixture
def world(fleet, closing) -> Accounts:
    return Accounts(fleet, closing)


@pytest.fixture
def listener(fleet, world):
    return fleet.listen(fleet.admin(), f"driver-{world.values['uid']}", "admin-channel")


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_answers(world, row):
    check(world, row)


@pytest.mark.parametrize("row", EVENTS, ids=str)
def test_events(world, row, listener, api):
    check_events(world, row, listener, api)


@pytest.mark.parametrize("row", sample(ROWS), ids=str)
def test_an_answer_that_differs_in_anything_fails(world, row):
    check_can_fail(world, row)


@pytest.mark.parametrize("row", EVENTS[:2], ids=str)
def test_an_event_that_differs_in_anything_fails(world, row, listener, api):
    check_events_can_fail(world, row, listener, api)
