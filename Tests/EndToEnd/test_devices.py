"""Device registration: request formats, ownership, authorization. Needs no push provider."""

import json
import secrets
import time

import pytest

from harness.gateway import needs_file
from harness.fleet import SETTINGS as FLEET, TIMESTAMP, Caller, Fleet, unique_id
from harness.push.devices import APP_DEVICE, FCM_TOKEN, android_token, ios_token

SETTINGS = FLEET
REGISTERED = {"message": "FCM token registered", "data": None, "error": None}
REMOVED = {"message": "FCM token removed", "data": None, "error": None}
SUCCESS = {"success": True}


def devices(caller: Caller) -> list[dict]:
    response = caller.expect_ok("GET", f"/api/{caller.role}/devices")
    assert (response.keys() >= {"success", "data"}
            and response["data"].keys() == {"devices"}), response
    for device in response["data"]["devices"]:
        assert device.keys() == {"provider", "platform", "environment", "token", "registeredAt",
                                 "lastSeenAt"}, device
        assert (TIMESTAMP.fullmatch(device["registeredAt"])
                and TIMESTAMP.fullmatch(device["lastSeenAt"])), device
    return response["data"]["devices"]


def tokens(caller: Caller) -> list[str]:
    return sorted(device["token"] for device in devices(caller))


def masked(*texts: str) -> list[str]:
    return sorted(f"{text[:4]}…{text[-4:]}" for text in texts)


@pytest.fixture(params=["driver", "customer"])
def owner(request, fleet):
    return fleet.driver() if request.param == "driver" else fleet.customer()


# Registration


def test_fcm_token_is_registered(owner):
    token = android_token()
    assert owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token}) == REGISTERED
    [device] = devices(owner)
    assert (device["provider"], device["platform"], device["environment"],
            device["token"]) == ("fcm", None, None, f"{token[:4]}…{token[-4:]}")


@pytest.mark.parametrize("fields, expected", [
    ({"platform": "ios"}, ("apns", "ios", None)),
    ({"platform": "ios", "environment": "production"}, ("apns", "ios", "production")),
    ({"platform": "ios", "environment": "sandbox"}, ("apns", "ios", "sandbox")),
    ({"platform": "android"}, ("fcm", "android", None))],
                         ids=str)
def test_app_device_is_registered(owner, fields, expected):
    token = ios_token()
    assert owner.expect_ok("POST", APP_DEVICE, {"deviceToken": token} | fields) == SUCCESS
    [device] = devices(owner)
    assert ((device["provider"], device["platform"], device["environment"]) == expected
            and device["token"] == f"{token[:4]}…{token[-4:]}")


def test_registering_again_updates_last_seen_at(owner):
    token = android_token()
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    [first] = devices(owner)
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    [again] = devices(owner)
    assert (again["registeredAt"] == first["registeredAt"]
            and again["lastSeenAt"] >= first["lastSeenAt"])


def test_ios_tokens_ignore_case(owner):
    token = ios_token()
    for written in (token.upper(), token, token.upper()):
        owner.expect_ok("POST", APP_DEVICE, {"deviceToken": written, "platform": "ios"})
    assert tokens(owner) == masked(token)


@pytest.mark.parametrize("digits", [16, 64, 200, 400])
def test_ios_tokens_of_16_to_400_digits_are_accepted(owner, digits):
    owner.expect_ok("POST", APP_DEVICE,
                    {"deviceToken": secrets.token_hex(digits // 2), "platform": "ios"})
    assert len(devices(owner)) == 1


@pytest.mark.parametrize("length", [1, 4_096])
def test_fcm_tokens_of_1_to_4096_characters_are_accepted(owner, length):
    token = (("x" + secrets.token_hex(2_048))[:length] if length > 1
             else secrets.choice("abcdefghijklmnopqrstuvwxyz"))
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    [device] = devices(owner)
    assert token not in device["token"] or length == 1


def test_new_token_of_a_device_id_replaces_the_old(owner):
    first, second, other = android_token(), android_token(), android_token()
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": first, "deviceId": "device-1"})
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": other, "deviceId": "device-2"})
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": second, "deviceId": "device-1"})
    assert tokens(owner) == masked(second, other)


def test_device_id_is_scoped_to_its_owner(fleet):
    for owner in (first := fleet.driver(), second := fleet.driver()):
        owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": android_token(), "deviceId": "device-1"})
    assert len(devices(first)) == len(devices(second)) == 1


def test_token_belongs_to_the_last_registering_user(fleet):
    first, second, token = fleet.driver(), fleet.customer(), android_token()
    first.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    second.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    assert devices(first) == [] and tokens(second) == masked(token)


def test_driver_and_customer_with_the_same_id_are_two_users(fleet):
    subject = unique_id("p")
    fleet.driver(subject).expect_ok("POST", FCM_TOKEN, {"fcmToken": android_token()})
    assert devices(fleet.customer(subject)) == []


def wait_for_next_millisecond() -> None:
    """Devices registered in the same millisecond have no order of age."""
    since = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == since:
        pass


def test_twenty_devices_at_most_oldest_is_removed(owner):
    all_tokens = [android_token() for _ in range(21)]
    for token in all_tokens[:20]:
        owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
        wait_for_next_millisecond()
    # Registering again makes the first device the newest.
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": all_tokens[0]})
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": all_tokens[20]})
    assert tokens(owner) == masked(*(token for token in all_tokens if token != all_tokens[1]))


# Removal


def test_removing_an_fcm_token_is_idempotent(owner):
    kept, gone = android_token(), android_token()
    for token in (kept, gone):
        owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    for _ in range(2):
        assert owner.expect_ok("DELETE", FCM_TOKEN, {"fcmToken": gone}) == REMOVED
        assert tokens(owner) == masked(kept)


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_removing_an_app_device_is_idempotent(owner, platform):
    token = ios_token()
    owner.expect_ok("POST", APP_DEVICE, {"deviceToken": token, "platform": platform})
    for _ in range(2):
        assert owner.expect_ok("DELETE", APP_DEVICE,
                               {"deviceToken": token.upper() if platform == "ios" else token,
                                "platform": platform}) == SUCCESS
        assert devices(owner) == []


def test_removing_another_users_token_has_no_effect(fleet):
    owner, other, token, apple = fleet.driver(), fleet.driver(), android_token(), ios_token()
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    owner.expect_ok("POST", APP_DEVICE, {"deviceToken": apple, "platform": "ios"})
    assert other.expect_ok("DELETE", FCM_TOKEN, {"fcmToken": token}) == REMOVED
    assert other.expect_ok("DELETE", APP_DEVICE,
                           {"deviceToken": apple, "platform": "ios"}) == SUCCESS
    assert tokens(owner) == masked(token, apple)


# Rejections


BAD_FCM = [None, 1, "with space"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("token", BAD_FCM, ids=lambda token: ascii(token)[:12])
def test_invalid_fcm_tokens_are_400(owner, method, token):
    response = owner.request(method, FCM_TOKEN, {"fcmToken": token})
    assert response.status == 400, response
    received = response.json()
    assert received.keys() == {"message", "data", "error"} and received["data"] is None, received
    assert (list(received["error"]) == ["fields"]
            and list(received["error"]["fields"]) == ["fcmToken"]
            and received["error"]["fields"]["fcmToken"]), received
    assert devices(owner) == []


@pytest.mark.parametrize("device", ["", 1, [], {}, False, "x" * 151, "a\x00b", "a\nb"],
                         ids=lambda device: ascii(device)[:12])
def test_invalid_device_ids_are_400(owner, device):
    response = owner.request("POST", FCM_TOKEN, {"fcmToken": android_token(), "deviceId": device})
    assert (response.status == 400
            and list(response.json()["error"]["fields"]) == ["deviceId"]), response
    assert devices(owner) == []


@pytest.mark.parametrize("token",
                         [None, 1, "xy" * 32],
                         ids=lambda token: ascii(token)[:12])
def test_invalid_ios_tokens_are_400(owner, token):
    assert "deviceToken" in owner.expect_error(400, "POST", APP_DEVICE,
                                               {"deviceToken": token, "platform": "ios"})
    assert devices(owner) == []


@pytest.mark.parametrize("field, value", [
    ("platform", "windows"), ("environment", 1), ("deviceToken", None)], ids=str)
def test_invalid_app_device_is_400_and_names_the_field(owner, field, value):
    body = {"deviceToken": ios_token(), "platform": "ios"} | {field: value}
    assert field in owner.expect_error(400, "POST", APP_DEVICE, body)
    body.pop(field)
    if field != "environment":
        assert field in owner.expect_error(400, "POST", APP_DEVICE, body)
    assert devices(owner) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff"], ids=str)
def test_bodies_that_are_no_objects_are_400(owner, body):
    for path in (FCM_TOKEN, APP_DEVICE):
        owner.expect_error(400, "POST", path, body)


def test_unknown_fields_are_ignored(owner):
    owner.expect_ok("POST", FCM_TOKEN,
                    {"fcmToken": android_token(), "model": "X", "deep": {"a": [1]}})
    owner.expect_ok("POST", APP_DEVICE,
                    {"deviceToken": ios_token(), "platform": "ios", "appVersion": 7})
    assert len(devices(owner)) == 2


@pytest.mark.parametrize("path, body",
                         [(FCM_TOKEN, {"fcmToken": "t"}),
                          (APP_DEVICE, {"deviceToken": "ab" * 32, "platform": "ios"})],
                         ids=["fcm", "app"])
def test_registration_requires_driver_or_customer(fleet, path, body):
    for method in ("POST", "DELETE"):
        fleet.caller().expect_error(401, method, path, body)
        fleet.caller(bearer="nonsense").expect_error(401, method, path, body)
        for caller in (fleet.admin(), fleet.ops()):
            caller.expect_error(403, method, path, body)
    for method in ("GET", "PUT", "PATCH"):
        fleet.driver().expect_error(405, method, path, body)


def test_list_of_devices_requires_its_role(fleet):
    driver, customer = fleet.driver(), fleet.customer()
    for path, others in [("/api/driver/devices", [customer, fleet.admin(), fleet.ops()]),
                         ("/api/customer/devices", [driver, fleet.admin(), fleet.ops()])]:
        fleet.caller().expect_error(401, "GET", path)
        for caller in others:
            caller.expect_error(403, "GET", path)
    driver.expect_error(405, "POST", "/api/driver/devices", {})


def test_cors_allows_delete(fleet, gateway):
    """A web view sends a preflight request first."""
    for path in (FCM_TOKEN, APP_DEVICE):
        preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "DELETE",
                     "Access-Control-Request-Headers": "authorization"}
        response = fleet.caller().request("OPTIONS", path, headers=preflight)
        if path.startswith("/api/"):
            assert (response.status in (200, 204)
                    and "DELETE" in response.headers["access-control-allow-methods"]), response


def test_registrations_ignore_an_idempotency_key(fleet):
    """A stored response would claim that the device is registered although it was removed since."""
    owner = fleet.driver()
    for path, body in ((FCM_TOKEN, {"fcmToken": android_token()}),
                       (APP_DEVICE, {"deviceToken": ios_token(), "platform": "ios"})):
        for _ in range(2):
            response = owner.post(path, body, key="the same")
            assert response.status == 200 and "idempotency-replayed" not in response.headers
            assert len(devices(owner)) == 1
            owner.expect_ok("DELETE", path, body)
        assert devices(owner) == []


# At rest


@needs_file
def test_tokens_are_stored_encrypted(start_gateway, closing):
    """No token in the database, the log, the list of devices, or stored responses; no key in the
    database.
    """
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    owner, android, apple = fleet.driver("d1"), android_token(), ios_token()
    owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": android, "deviceId": "device"}, key="k1")
    owner.expect_ok("POST", APP_DEVICE, {"deviceToken": apple, "platform": "ios"}, key="k2")
    owner.expect_error(400, "POST", APP_DEVICE, {"deviceToken": apple + "xx", "platform": "ios"})
    owner.expect_ok("DELETE", FCM_TOKEN, {"fcmToken": android_token()})
    received = json.dumps(devices(owner)) + fleet.admin().request("GET", "/api/ops/stats").text
    folder = gateway.config.parent
    for running in (True, False):
        files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert any(path.suffix == ".db" for path in files)
        for secret in (android.encode(), apple.encode(), apple.upper().encode(),
                       bytes.fromhex(apple), android[30:90].encode(), apple[20:50].encode()):
            assert secret not in received.encode()
            assert not [path for path, content in files.items() if secret in content], secret
        if running:
            gateway.stop()
    # The devices are stored nevertheless.
    assert len(devices(Fleet(start_gateway("kept", **FLEET), closing).driver("d1"))) == 2


@needs_file
def test_development_key_is_readable_only_by_its_owner(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    Fleet(gateway, closing).driver().expect_ok("POST", FCM_TOKEN, {"fcmToken": android_token()})
    beside = [path for path in (gateway.config.parent / "var").iterdir() if ".db" not in path.suffix
              and path.is_file()]
    keys = [path for path in beside if "key" in path.name]
    assert keys and all(path.stat().st_mode & 0o777 == 0o600 for path in keys), beside


def test_devices_survive_a_restart(start_gateway, closing):
    gateway = start_gateway("kept", **FLEET)
    owner = Fleet(gateway, closing).driver("d1")
    for token in (android_token(), android_token()):
        owner.expect_ok("POST", FCM_TOKEN, {"fcmToken": token})
    before = devices(owner)
    gateway.kill()
    assert devices(Fleet(start_gateway("kept", **FLEET), closing).driver("d1")) == before
