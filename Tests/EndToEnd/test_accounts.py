"""Drivers' accounts: registration with a Firebase token, approval by a dispatcher, and what a
driver may do before.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.fleet import JWT, error_message, expect_event, join, sign_in, unique_id
from harness.client import Client
from harness.people import REGISTRATION, FirebaseUser, account_settings, unique_phone
from harness.people_fixtures import module_settings, server  # noqa: F401

PENDING = ("Account pending approval", "Your registration is pending admin approval")
NONE = ("Driver account not found", "Driver account not found")
TAKEN = {"message": "Driver account already exists", "data": None,
         "error": "A driver account with this phone number already exists"}
SUSPENDED_TEXT = "Your account has been suspended. Please contact support."


@pytest.fixture
def user(gateway, closing):
    """Makes Firebase users: `user()`, `user("uid", phone="+91…")`."""
    return lambda *args, **more: closing(FirebaseUser(gateway, *args, **more))


@pytest.fixture
def driver(user, admin):
    """Makes drivers with an account of this status: `driver("ACTIVE")`; None for no account."""
    def make(status: str | None = "PENDING", **more) -> FirebaseUser:
        driver = user(**more)
        if status:
            driver.register()
        for action in {"ACTIVE": ["approve"], "REJECTED": ["reject"],
                       "SUSPENDED": ["approve", "suspend"]}.get(status, []):
            decide(admin, driver, action)
        return driver
    return make


def decide(admin, driver, action: str, **fields) -> dict:
    body = {"reason": "Blurred license"} if action == "reject" else {}
    return admin.expect_ok("POST", f"/api/admin/drivers/{driver.subject}/{action}", body | fields)


def stored(admin, driver) -> dict:
    return admin.expect_ok("GET", f"/api/admin/drivers/{driver.subject}/account")["data"]["driver"]


def test_a_driver_registers_and_is_approved(fleet, user, admin):
    """The flow of the apps."""
    driver = user()
    assert driver.sync() == {"message": "User not found", "error": None, "data": {
        "user": None, "isNewUser": True, "isProfileComplete": False}}
    office = fleet.listen(admin, "admin-channel")
    registered = driver.register()
    account = registered["data"]["user"]
    identifier, created = account["_id"], account["createdAt"]
    assert len(identifier) == 24 and int(identifier, 16) >= 0
    phone = driver.phone.removeprefix("+91")
    pending = {"_id": identifier, "phone": phone, "role": "DRIVER", "name": "Rahul Kumar",
               "email": "rahul@example.com", "status": "PENDING",
               "licenseNumber": "MH1420110012345", "vehicleNumber": "MH12AB1234"}
    assert registered == {
        "message": "Driver registration submitted for approval", "error": None, "data": {
            "user": pending | {"vehicleType": "SCOOTER", "createdAt": created},
            "approvalStatus": "PENDING",
            "message": "Your registration is pending admin approval. You will be notified once "
                       "approved."}}
    expect_event(office, "private-admin-channel", "driver-registered", driverId=driver.uid,
                 name="Rahul Kumar", phone=phone, vehicleNumber="MH12AB1234", createdAt=created)
    assert driver.sync() == {"message": "Driver pending approval", "error": None, "data": {
        "user": pending, "isNewUser": False, "isProfileComplete": True,
        "approvalStatus": "PENDING"}}
    assert driver.request("GET", "/api/driver/jobs").status == 403
    own = fleet.signed_in(driver, f"driver-{driver.uid}")
    answer = decide(admin, driver, "approve")
    expect_event(own, f"driver-{driver.uid}", "driver-approved", driverId=driver.uid,
                 action="navigate_home")
    assert answer["message"] == "Driver approved" and len(answer["data"]["notificationIds"]) == 1
    assert answer["data"]["driver"]["status"] == "ACTIVE"
    assert answer["data"]["driver"]["version"] == 2
    synced = driver.sync()
    login = synced["data"]["user"].pop("lastLoginAt")
    assert login >= created
    assert synced == {"message": "User authenticated", "error": None, "data": {
        "user": pending | {"status": "ACTIVE", "vehicleType": "SCOOTER",
                           "profileImage": "https://images.example/rahul.jpg"},
        "isNewUser": False, "isProfileComplete": True, "approvalStatus": "APPROVED"}}
    assert driver.sync()["data"]["user"]["lastLoginAt"] == login  # at most one write a minute
    assert driver.expect_ok("GET", "/api/driver/jobs")["data"]["jobs"] == []
    own.subscribe("drivers-channel")
    actions = fleet.gateway.query(
        "SELECT action, status_before, status_after FROM audit WHERE account_id = ? ORDER BY id",
        identifier)
    assert actions == [("register", None, "PENDING"), ("approve", "PENDING", "ACTIVE")]


@pytest.mark.parametrize("field, value, text", [
    ("name", None, "Name is required"), ("email", "x", "Invalid email format"),
    ("name", "Rahul\u202e Kumar", "Name must not contain control or format characters"),
    ("vehicleDocuments", [], "At least one vehicle document is required")])
def test_wrong_fields_are_named(user, field, value, text):
    response = user().post("/api/auth/register-driver", REGISTRATION | {field: value})
    assert response.status == 400
    assert response.json() == {"message": "Validation error", "data": None,
                               "error": {"fields": {field: text}}}


def test_all_wrong_fields_are_listed_at_once(user):
    response = user(phone=None).post("/api/auth/register-driver", {
        "vehicleDocuments": [{"type": "RC", "imageUrl": "nowhere"}, 3]})
    fields = response.json()["error"]["fields"]
    assert fields["phone"] == "Phone number is required"
    assert fields["vehicleDocuments[0].imageUrl"] == "Invalid URL"
    assert set(fields) >= {"name", "licenseNumber", "licenseImageUrl", "vehicleName",
                           "vehicleNumber", "vehicleType", "vehicleDocuments[1].type"}


@pytest.mark.parametrize("body", [
    b"[]", b"{", b'{"name":"\xff\xfe"}', b'{"name":"a\\u0000b"}', {"name": 5, "email": []},
    b'{"name":' + b"[" * 200 + b"]" * 200 + b"}", REGISTRATION | {"name": "x" * 101},
    REGISTRATION | {"vehicleDocuments": REGISTRATION["vehicleDocuments"] * 6},
    REGISTRATION | {"vehicleDocuments": {"0": 1}},
    REGISTRATION | {"licenseExpiryDate": "2099-13-45"},
    REGISTRATION | {"profileImage": "javascript:alert(1)"}])
def test_hostile_registrations_are_refused(user, body):
    response = user().post("/api/auth/register-driver", body)
    assert response.status == 400 and response.json()["data"] is None, response


def test_of_20_registrations_of_one_phone_one_succeeds(gateway, user):
    phone = unique_phone()
    users = [user(phone=phone) for _ in range(20)]
    with ThreadPoolExecutor(20) as pool:
        responses = list(pool.map(
            lambda user: user.post("/api/auth/register-driver", REGISTRATION), users))
    assert sorted(response.status for response in responses) == [200] + [409] * 19
    assert [r.json() for r in responses if r.status == 409] == [TAKEN] * 19
    assert len(gateway.query("SELECT id FROM accounts WHERE phone = ?",
                             phone.removeprefix("+91"))) == 1


def test_a_rejected_driver_registers_anew(fleet, driver, admin):
    rejected = driver("REJECTED")
    account = stored(admin, rejected)
    synced = rejected.sync()
    assert synced["message"] == "Driver registration rejected"
    assert synced["data"]["approvalStatus"] == "REJECTED"
    assert synced["data"]["rejectionReason"] == "Blurred license"
    registered = rejected.register(name="Rahul K.")["data"]["user"]
    assert (registered["_id"], registered["createdAt"]) == (account["_id"], account["createdAt"])
    again = stored(admin, rejected)
    assert (again["status"], again["reason"], again["name"]) == ("PENDING", None, "Rahul K.")
    response = rejected.post("/api/auth/register-driver", REGISTRATION)
    assert (response.status, response.json()) == (409, TAKEN)


def test_decisions_are_pushed(start_push_fleet, server, closing):
    """The driver registers the phone before the approval, and gets the pushes of both decisions."""
    settings = account_settings(server, JWT)
    fleet = start_push_fleet(auth=settings["auth"], accounts=settings["accounts"])
    approved, rejected = [closing(FirebaseUser(fleet.gateway)) for _ in range(2)]
    for driver, action in ((approved, "approve"), (rejected, "reject")):
        driver.register()
        device = fleet.android(driver)
        answer = decide(fleet.dispatcher, driver, action)
        push = device.next(answer["data"]["notificationIds"][0])
        expected = ({"type": "DRIVER_APPROVED", "action": "navigate_home"} if action == "approve"
                    else {"type": "DRIVER_REJECTED", "action": "navigate_rejection",
                          "reason": "Blurred license"})
        assert push.data.items() >= expected.items(), push
        assert push.title == ("Registration Approved!" if action == "approve"
                              else "Registration Update")


def test_a_decision_survives_a_kill(start_push_fleet, server, closing):
    """Killed right after the answer, the gateway pushes the approval when it starts again."""
    settings = account_settings(server, JWT)
    settings = {"auth": settings["auth"], "accounts": settings["accounts"]}
    fleet = start_push_fleet("kept", **settings)
    driver = closing(FirebaseUser(fleet.gateway))
    driver.register()
    device = fleet.android(driver)
    notification = decide(fleet.dispatcher, driver, "approve")["data"]["notificationIds"][0]
    fleet.gateway.kill()
    fleet = start_push_fleet("kept", **settings)
    assert device.next(notification).data["type"] == "DRIVER_APPROVED"
    again = closing(FirebaseUser(fleet.gateway, driver.uid, phone=driver.phone))
    assert again.sync()["message"] == "User authenticated"
    client = fleet.listen(again, f"driver-{driver.uid}")
    assert client.expect_data("driver-approved")["notificationId"] == notification


def test_admins_may_name_a_driver_by_the_account(fleet, driver, admin):
    subject = driver("ACTIVE")
    account, code, route = stored(admin, subject)["_id"], unique_id("O"), unique_id("T")
    assert admin.assign(code, account)["data"]["order"]["driverId"] == subject.uid
    admin.route(route, "assign-driver", driverId=account)
    assert admin.get_route(route)["driverId"] == subject.uid
    admin.expect_ok("PUT", f"/api/admin/drivers/{account}", {"name": "Rahul"})
    assert admin.expect_ok("GET", f"/api/admin/drivers/{subject.uid}") == admin.expect_ok(
        "GET", f"/api/admin/drivers/{account}")
    client = fleet.listen(subject, f"driver-{subject.uid}")
    for event in ("driver-approved", "job-assigned", "route-assigned"):
        client.expect_data(event)
    admin.expect_ok("POST", "/api/admin/notifications", {
        "type": "DRIVER_APPROVED", "to": {"drivers": [account]}, "data": {"message": "Hello"}})
    assert client.expect_data("driver-approved")["message"] == "Hello"


# Every state and every decision

ALLOWED, ALREADY, CONFLICT = 200, "already", 409
DECISIONS = {
    "PENDING": {"approve": "ACTIVE", "reject": "REJECTED", "suspend": 409, "reinstate": 409},
    "ACTIVE": {"approve": ALREADY, "reject": 409, "suspend": "SUSPENDED", "reinstate": ALREADY},
    "REJECTED": {"approve": "ACTIVE", "reject": ALREADY, "suspend": 409, "reinstate": 409},
    "SUSPENDED": {"approve": 409, "reject": 409, "suspend": ALREADY, "reinstate": "ACTIVE"}}


@pytest.mark.parametrize("status, action", [(status, action) for status in DECISIONS
                                            for action in DECISIONS[status]])
def test_decisions(driver, admin, status, action):
    subject, expected = driver(status), DECISIONS[status][action]
    before = stored(admin, subject)
    response = admin.post(f"/api/admin/drivers/{before['_id']}/{action}", {"reason": "Other"})
    after = stored(admin, subject)
    if expected == CONFLICT:
        assert response.status == 409 and status in response.json()["error"]
        assert after == before
    elif expected == ALREADY:
        assert response.status == 200 and "already" in response.json()["message"]
        assert response.json()["data"]["notificationIds"] == [] and after == before
    else:
        assert response.status == 200 and after["status"] == expected
        assert after["version"] == before["version"] + 1


def test_decisions_check_version_reason_and_driver(driver, admin):
    subject = driver()
    path = f"/api/admin/drivers/{subject.uid}"
    assert admin.post(f"{path}/approve", {}, headers={"If-Match": "7"}).status == 409
    for reason in ({}, {"reason": ""}, {"reason": "x" * 501}):
        assert admin.post(f"{path}/reject", reason).status == 400
    assert admin.post("/api/admin/drivers/nobody/approve", {}).status == 404
    assert admin.request("GET", "/api/admin/drivers/nobody/account").status == 404


def test_lists_of_accounts(driver, admin):
    first, second = driver(), driver()
    listed = admin.expect_ok("GET", "/api/admin/drivers?status=PENDING&limit=2")["data"]["drivers"]
    assert [account["driverId"] for account in listed] == [second.uid, first.uid]
    assert listed[0] == stored(admin, second)
    older = admin.expect_ok("GET", f"/api/admin/drivers?limit=1&before={listed[0]['_id']}")
    assert older["data"]["drivers"][0]["driverId"] == first.uid
    for query in ("status=KING", "limit=0", "limit=x", "before=nobody"):
        assert admin.request("GET", f"/api/admin/drivers?{query}").status == 400


# The gate

OPEN = ["POST /api/auth/sync", "POST /api/auth/register-driver"]
OWN = ["GET /api/auth/me", "PUT /api/auth/profile"]
DEVICES = ["POST /api/auth/fcm-token", "POST /app-register-device", "DELETE /app-register-device",
           "GET /api/driver/devices", "GET /api/driver/preferences", "PUT /api/driver/preferences",
           "GET /api/driver/notifications", "POST /pusher/user-auth", "POST /pusher/auth"]
REMOVAL = ["DELETE /api/auth/fcm-token"]
REST = ["GET /api/driver/jobs", "POST /api/driver/jobs/x/accept", "POST /api/driver/location",
        "PUT /api/driver/jobs/x/progress", "POST /api/driver/routes/x/accept",
        "POST /api/driver/notifications/read", "POST /api/driver/notifications/log",
        "GET /app-trip-status?reference=x", "GET /api/admin/drivers", "GET /api/ops/stats",
        "GET /api/driver/unknown", "POST /api/unknown"]


def refusal(driver, endpoint: str):
    """Returns the status and the texts with which the gate refuses; None if it does not."""
    method, path = endpoint.split(" ")
    response = driver.request(method, path, {})
    if response.status not in (403, 404):
        return None
    body = response.json()
    text = body["error"]
    return response.status, body.get("message") or text, text


@pytest.mark.parametrize("endpoint", OPEN + OWN + DEVICES + REMOVAL + REST)
def test_the_gate(driver, endpoint):
    speaks_messages = "/api/auth/" in endpoint

    def refused(status: int, texts: tuple[str, str]):
        return (status, *texts) if speaks_messages else (status, texts[0], texts[0])

    none, pending = refusal(driver(None), endpoint), refusal(driver("PENDING"), endpoint)
    rejected = refusal(driver("REJECTED"), endpoint)
    suspended = refusal(driver("SUSPENDED"), endpoint)
    assert suspended == (None if endpoint in REMOVAL
                         else refused(403, ("Account suspended", SUSPENDED_TEXT)))
    if endpoint in OPEN:
        assert none is None
    else:
        assert none == refused(404 if endpoint in OWN else 403, NONE)
    if endpoint in REST:
        assert pending == refused(403, PENDING)
        assert rejected == refused(403, ("Registration rejected", "Blurred license"))
    else:
        assert pending is None and rejected is None


def test_approved_drivers_and_other_issuers_are_not_restricted(fleet, driver):
    approved = driver("ACTIVE")
    assert approved.request("GET", "/api/driver/unknown").status == 404
    assert approved.request("GET", "/api/admin/drivers").status == 403
    fleet.listen(approved, "drivers-channel")
    fleet.listen(fleet.driver(), "drivers-channel")


def test_a_pending_driver_joins_only_the_own_channel(fleet, driver, connect):
    pending = driver()
    client = fleet.listen(pending, f"driver-{pending.uid}")
    for channel in ("private-drivers-channel", "private-driver-other", "private-tracking-R1"):
        response = pending.channel_auth(client.socket_id, channel)
        assert (response.status, response.json()) == (403, {"error": PENDING[0]})
    signed_in = fleet.signed_in(pending, f"driver-{pending.uid}")
    signed_in.send("pusher:subscribe", {"channel": "drivers-channel"})
    error = signed_in.expect_error()
    assert error["code"] is None and "may not subscribe to drivers-channel" in error["message"]


def test_suspension_ends_subscriptions(fleet, driver, admin):
    subject, office = driver("ACTIVE"), fleet.listen(admin, "admin-channel")
    other = fleet.listen(driver("ACTIVE"), "drivers-channel")
    clients = [fleet.listen(subject, "drivers-channel", f"driver-{subject.uid}"),
               fleet.signed_in(subject, "drivers-channel", f"driver-{subject.uid}")]
    clients[0].expect_data("driver-approved")
    code = unique_id("O")
    admin.assign(code, subject.uid)
    for client in clients:
        client.expect_data("job-assigned")
    while office.receive()["event"] != "order-assigned":
        pass
    decide(admin, subject, "suspend", reason="Complaints")
    expect_event(office, "private-admin-channel", "driver-suspended", driverId=subject.uid,
                 reason="Complaints", openJobs=1)
    for client in clients:
        ended = {client.expect_error()["message"].split(" ")[3] for _ in range(2)}
        assert {name.removeprefix("private-") for name in ended} == {
            f"driver-{subject.uid}", "drivers-channel"}
    response = subject.post("/api/auth/sync", {})
    assert response.json() == {"message": "Account suspended", "data": None, "error": "Complaints"}
    assert admin.get_order(code)["driverId"] == subject.uid
    decide(admin, subject, "reinstate")
    fleet.listen(subject, "drivers-channel")
    admin.order(code, "unassign")
    assert other.expect_data("job-available-again")


def test_suspensions_and_reinstatements_take_effect_at_once(fleet, driver, admin):
    subject = driver("ACTIVE")
    for _ in range(20):
        client = fleet.listen(subject, "drivers-channel")
        decide(admin, subject, "suspend")
        client.expect_error()
        assert subject.channel_auth(client.socket_id, "private-drivers-channel").status == 403
        decide(admin, subject, "reinstate")


def test_an_old_signature_does_not_help_a_suspended_driver(driver, admin, gateway, closing):
    subject, client = driver("ACTIVE"), closing(Client.connect(gateway))
    signed = subject.channel_auth(client.socket_id, "private-drivers-channel").json()
    decide(admin, subject, "suspend")
    client.send("pusher:subscribe", {"channel": "private-drivers-channel"} | signed)
    assert "account is not approved" in client.expect_error()["message"]


def test_states_survive_a_restart(start_gateway, server, closing):
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    pending = closing(FirebaseUser(gateway))
    pending.register()
    gateway.kill()
    gateway = start_gateway("kept", **settings)
    again = closing(FirebaseUser(gateway, pending.uid, phone=pending.phone))
    assert again.sync()["message"] == "Driver pending approval"
    assert again.request("GET", "/api/driver/jobs").status == 403
    client = closing(Client.connect(gateway))
    assert again.channel_auth(client.socket_id, "private-drivers-channel").status == 403
    sign_in(client, again)
    join(client, again, f"private-driver-{again.uid}")


def test_a_driver_who_registers_anew_may_have_a_new_id(fleet, driver, user, admin):
    """The operator gave the user a `driver_id` after the rejection."""
    rejected = driver("REJECTED")
    renamed = user(rejected.uid, phone=rejected.phone, driver_id=unique_id("d"))
    renamed.register()
    assert refusal(renamed, "GET /api/driver/jobs") == (403, PENDING[0], PENDING[0])
    decide(admin, renamed, "approve")
    fleet.listen(renamed, "drivers-channel")
    # The former id is nobody's account any more.
    fleet.listen(fleet.driver(rejected.uid), "drivers-channel")


def test_users_of_another_default_role_need_no_account(start_gateway, server, closing):
    """A project of customers, some of whom are drivers."""
    gateway = start_gateway(sections=account_settings(server, JWT, role="customer",
                                                      require_claim="known"))
    known = closing(FirebaseUser(gateway, known=True))
    unknown = closing(FirebaseUser(gateway))
    assert known.request("GET", "/api/customer/notifications").status == 200
    assert unknown.request("GET", "/api/customer/notifications").status == 403
    assert unknown.sync()["message"] == "User not found"
    unknown.register()
    assert refusal(unknown, "GET /api/driver/jobs") == (403, PENDING[0], PENDING[0])
    assert unknown.request("GET", "/api/driver/notifications").status == 200


def test_a_repeated_registration_gets_the_stored_answer(user):
    driver, key = user(), unique_id()
    first, second = [driver.post("/api/auth/register-driver", REGISTRATION, key=key)
                     for _ in range(2)]
    assert (first.status, second.status) == (200, 200) and first.json() == second.json()
    assert second.headers.get("idempotency-replayed") == "true"


# The profile


def test_profile(driver, admin):
    subject = driver("ACTIVE")
    token = "fcm-" + unique_id() * 6
    subject.expect_ok("POST", "/api/auth/fcm-token", {"fcmToken": token})
    me = subject.expect_ok("GET", "/api/auth/me")
    assert (me["message"], me["error"]) == ("User profile", None)
    user = me["data"]["user"]
    assert list(user) == [
        "_id", "phone", "role", "name", "email", "profileImage", "status", "licenseNumber",
        "licenseImageUrl", "licenseExpiryDate", "vehicleName", "vehicleNumber", "vehicleType",
        "vehicleDocuments", "lastLoginAt", "fcmTokens", "createdAt", "updatedAt"]
    assert len(user["fcmTokens"]) == 1 and token not in user["fcmTokens"][0]
    assert user["vehicleDocuments"] == [
        {"expiryDate": None} | REGISTRATION["vehicleDocuments"][0],
        REGISTRATION["vehicleDocuments"][1]]
    changed = subject.expect_ok("PUT", "/api/auth/profile", {"name": "R. Kumar", "email": None,
                                                             "unknown": 1})
    assert changed["message"] == "Profile updated"
    assert changed["data"]["user"] == user | {
        "name": "R. Kumar", "email": None, "updatedAt": changed["data"]["user"]["updatedAt"]}
    assert changed["data"]["user"]["updatedAt"] > user["updatedAt"]
    unchanged = subject.expect_ok("PUT", "/api/auth/profile", {})
    assert unchanged["data"] == changed["data"]
    response = subject.put("/api/auth/profile", {"name": None, "vehicleNumber": "MH12AB9999"})
    assert response.json()["error"]["fields"] == {
        "name": "Name is required", "vehicleNumber": "This field cannot be changed here"}


# Tokens


def test_the_account_and_the_claims_decide_the_role(user, driver, fleet):
    admin = user(role="admin")
    assert admin.request("GET", "/api/admin/drivers").status == 200
    assert admin.sync()["message"] == "User not found"
    assert admin.post("/api/auth/register-driver", REGISTRATION).status == 403
    claimed = user(role="driver")
    assert refusal(claimed, "GET /api/driver/jobs") == (403, NONE[0], NONE[0])
    response = fleet.driver().post("/api/auth/sync", {})
    assert (response.status, response.json()["error"]) == (403, "Requires a Firebase token")
    named = driver("ACTIVE", driver_id=unique_id("d"))
    client = fleet.listen(named, f"driver-{named.subject}")
    assert client.expect_data("driver-approved")["driverId"] == named.subject


def test_without_accounts_their_paths_are_unknown(start_gateway, closing):
    gateway = start_gateway(sections={"auth": {"jwt": JWT}})
    from harness.fleet import Caller
    driver, admin = closing(Caller(gateway, "driver", "d")), closing(Caller(gateway, "admin", "a"))
    for caller, endpoint in ((driver, "POST /api/auth/sync"), (driver, "GET /api/auth/me"),
                             (driver, "POST /api/auth/register-driver"),
                             (driver, "PUT /api/auth/profile"), (admin, "GET /api/admin/drivers"),
                             (admin, "GET /api/admin/drivers/d/account"),
                             (admin, "POST /api/admin/drivers/d/approve")):
        method, path = endpoint.split(" ")
        response = caller.request(method, path, {} if method != "GET" else None)
        assert response.status == 404, (endpoint, response)
        assert error_message(path, response)


# Erasure


@pytest.mark.parametrize("by_account", [False, True])
def test_erasure_ends_the_account(gateway, user, admin, by_account, fleet):
    name = f"Zebedee {unique_id()}"
    subject = user()
    account = subject.register(name=name, email="zebedee@example.org")["data"]["user"]
    decide(admin, subject, "approve")
    client = fleet.listen(subject, "drivers-channel")
    admin.expect_ok("DELETE", "/api/admin/people/driver/"
                              + (account["_id"] if by_account else subject.uid))
    assert "has ended" in client.expect_error()["message"]
    assert refusal(subject, "GET /api/driver/jobs") == (403, NONE[0], NONE[0])
    from harness.fleet import wait_until

    def everything() -> str:
        tables = gateway.query("SELECT name FROM sqlite_master WHERE type = 'table'")
        return "\n".join(str(row) for (table,) in tables
                         for row in gateway.query(f"SELECT * FROM {table}"))
    wait_until(lambda: name not in everything(), "the name is erased")
    for text in ("zebedee@", account["phone"], name):
        assert text not in everything()
    assert subject.sync()["message"] == "User not found"
    assert subject.register()["data"]["user"]["_id"] != account["_id"]
