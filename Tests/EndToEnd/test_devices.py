"""Who registers which phone, how it is said, and who may see it. No provider is needed for any of it."""

import json
import secrets
import time

import pytest

from harness.fleet import MOMENT, SETTINGS as FLEET, Caller, Fleet, fresh
from harness.push.phones import APP_DEVICE, FCM_TOKEN, android_token, ios_token

SETTINGS = FLEET
REGISTERED = {"message": "FCM token registered", "data": None, "error": None}
REMOVED = {"message": "FCM token removed", "data": None, "error": None}
TAKEN = {"success": True}


def devices(caller: Caller) -> list[dict]:
    answer = caller.done("GET", f"/api/{caller.role}/devices")
    assert answer.keys() >= {"success", "data"} and answer["data"].keys() == {"devices"}, answer
    for device in answer["data"]["devices"]:
        assert device.keys() == {"provider", "platform", "environment", "token", "registeredAt", "lastSeenAt"}, device
        assert MOMENT.fullmatch(device["registeredAt"]) and MOMENT.fullmatch(device["lastSeenAt"]), device
    return answer["data"]["devices"]


def tokens(caller: Caller) -> list[str]:
    return sorted(device["token"] for device in devices(caller))


def masked(*texts: str) -> list[str]:
    return sorted(f"{text[:4]}…{text[-4:]}" for text in texts)


@pytest.fixture(params=["driver", "customer"])
def owner(request, fleet):
    return fleet.driver() if request.param == "driver" else fleet.customer()


# Registering


def test_an_FCM_token(owner):
    token = android_token()
    assert owner.done("POST", FCM_TOKEN, {"fcmToken": token}) == REGISTERED
    [device] = devices(owner)
    assert (device["provider"], device["platform"], device["environment"], device["token"]) == ("fcm", None, None, f"{token[:4]}…{token[-4:]}")


@pytest.mark.parametrize("said, expected", [
    ({"platform": "ios"}, ("apns", "ios", "production")), ({"platform": "ios", "environment": "production"}, ("apns", "ios", "production")),
    ({"platform": "ios", "environment": "sandbox"}, ("apns", "ios", "sandbox")), ({"platform": "android"}, ("fcm", "android", None))], ids=str)
def test_an_app_device(owner, said, expected):
    token = ios_token()
    assert owner.done("POST", APP_DEVICE, {"deviceToken": token} | said) == TAKEN
    [device] = devices(owner)
    assert (device["provider"], device["platform"], device["environment"]) == expected and device["token"] == f"{token[:4]}…{token[-4:]}"


def test_again_is_the_same_device_seen_again(owner):
    token = android_token()
    owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    [first] = devices(owner)
    owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    [again] = devices(owner)
    assert again["registeredAt"] == first["registeredAt"] and again["lastSeenAt"] >= first["lastSeenAt"]


def test_an_iOS_token_in_capitals_is_the_same(owner):
    token = ios_token()
    for written in (token.upper(), token, token.upper()):
        owner.done("POST", APP_DEVICE, {"deviceToken": written, "platform": "ios"})
    assert tokens(owner) == masked(token)


@pytest.mark.parametrize("digits", [16, 64, 200, 400])
def test_iOS_tokens_have_many_lengths(owner, digits):
    owner.done("POST", APP_DEVICE, {"deviceToken": secrets.token_hex(digits // 2), "platform": "ios"})
    assert len(devices(owner)) == 1


@pytest.mark.parametrize("length", [1, 4_096])
def test_FCM_tokens_have_many_lengths(owner, length):
    token = ("x" + secrets.token_hex(2_048))[:length] if length > 1 else secrets.choice("abcdefghijklmnopqrstuvwxyz")
    owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    [device] = devices(owner)
    assert token not in device["token"] or length == 1


def test_a_new_token_of_the_same_phone_replaces_the_old(owner):
    first, second, other = android_token(), android_token(), android_token()
    owner.done("POST", FCM_TOKEN, {"fcmToken": first, "deviceId": "phone-1"})
    owner.done("POST", FCM_TOKEN, {"fcmToken": other, "deviceId": "phone-2"})
    owner.done("POST", FCM_TOKEN, {"fcmToken": second, "deviceId": "phone-1"})
    assert tokens(owner) == masked(second, other)


def test_the_same_deviceId_of_somebody_else_is_another_phone(fleet):
    for owner in (first := fleet.driver(), second := fleet.driver()):
        owner.done("POST", FCM_TOKEN, {"fcmToken": android_token(), "deviceId": "phone-1"})
    assert len(devices(first)) == len(devices(second)) == 1


def test_a_token_belongs_to_who_registered_it_last(fleet):
    first, second, token = fleet.driver(), fleet.customer(), android_token()
    first.done("POST", FCM_TOKEN, {"fcmToken": token})
    second.done("POST", FCM_TOKEN, {"fcmToken": token})
    assert devices(first) == [] and tokens(second) == masked(token)


def test_a_driver_and_a_customer_of_one_id_are_two(fleet):
    subject = fresh("p")
    fleet.driver(subject).done("POST", FCM_TOKEN, {"fcmToken": android_token()})
    assert devices(fleet.customer(subject)) == []


def pass_a_millisecond() -> None:
    """Of two devices of one millisecond neither is the older."""
    since = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == since:
        pass


def test_twenty_at_most_and_the_oldest_goes(owner):
    all_tokens = [android_token() for _ in range(21)]
    for token in all_tokens[:20]:
        owner.done("POST", FCM_TOKEN, {"fcmToken": token})
        pass_a_millisecond()
    # Who was seen again is not the oldest any more.
    owner.done("POST", FCM_TOKEN, {"fcmToken": all_tokens[0]})
    owner.done("POST", FCM_TOKEN, {"fcmToken": all_tokens[20]})
    assert tokens(owner) == masked(*(token for token in all_tokens if token != all_tokens[1]))


# Removing


def test_removing_an_FCM_token(owner):
    kept, gone = android_token(), android_token()
    for token in (kept, gone):
        owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    for _ in range(2):
        assert owner.done("DELETE", FCM_TOKEN, {"fcmToken": gone}) == REMOVED
        assert tokens(owner) == masked(kept)


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_removing_an_app_device(owner, platform):
    token = ios_token()
    owner.done("POST", APP_DEVICE, {"deviceToken": token, "platform": platform})
    for _ in range(2):
        assert owner.done("DELETE", APP_DEVICE, {"deviceToken": token.upper() if platform == "ios" else token, "platform": platform}) == TAKEN
        assert devices(owner) == []


def test_removing_what_is_anothers_has_no_effect(fleet):
    owner, other, token, apple = fleet.driver(), fleet.driver(), android_token(), ios_token()
    owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    owner.done("POST", APP_DEVICE, {"deviceToken": apple, "platform": "ios"})
    assert other.done("DELETE", FCM_TOKEN, {"fcmToken": token}) == REMOVED
    assert other.done("DELETE", APP_DEVICE, {"deviceToken": apple, "platform": "ios"}) == TAKEN
    assert tokens(owner) == masked(token, apple)


# Refusals


BAD_FCM = [None, "", 1, [], {}, True, "x" * 4_097, "with space", "tab\there", "emoji🚚", "line\n"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("token", BAD_FCM, ids=lambda token: ascii(token)[:12])
def test_bad_FCM_tokens(owner, method, token):
    answer = owner.ask(method, FCM_TOKEN, {"fcmToken": token})
    assert answer.status == 400, answer
    said = answer.json()
    assert said.keys() == {"message", "data", "error"} and said["data"] is None, said
    assert list(said["error"]) == ["fields"] and list(said["error"]["fields"]) == ["fcmToken"] and said["error"]["fields"]["fcmToken"], said
    assert devices(owner) == []


@pytest.mark.parametrize("device", ["", 1, [], {}, False, "x" * 151, "a\x00b", "a\nb"], ids=lambda device: ascii(device)[:12])
def test_bad_device_ids(owner, device):
    answer = owner.ask("POST", FCM_TOKEN, {"fcmToken": android_token(), "deviceId": device})
    assert answer.status == 400 and list(answer.json()["error"]["fields"]) == ["deviceId"], answer
    assert devices(owner) == []


@pytest.mark.parametrize("token", [None, "", 1, [], "ab" * 7, "ab" * 201, "abc" * 21, "xy" * 32, "ab " * 22, "ab" * 16 + "g0", "０" * 32],
                         ids=lambda token: ascii(token)[:12])
def test_bad_iOS_tokens(owner, token):
    assert "deviceToken" in owner.refused(400, "POST", APP_DEVICE, {"deviceToken": token, "platform": "ios"})
    assert devices(owner) == []


@pytest.mark.parametrize("field, value", [
    ("platform", None), ("platform", ""), ("platform", "windows"), ("platform", "IOS"), ("platform", 1), ("environment", "development"),
    ("environment", ""), ("environment", 1), ("deviceToken", None)], ids=str)
def test_bad_app_devices_name_the_field(owner, field, value):
    body = {"deviceToken": ios_token(), "platform": "ios"} | {field: value}
    assert field in owner.refused(400, "POST", APP_DEVICE, body)
    body.pop(field)
    if field != "environment":
        assert field in owner.refused(400, "POST", APP_DEVICE, body)
    assert devices(owner) == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff"], ids=str)
def test_bodies_that_are_no_object(owner, body):
    for path in (FCM_TOKEN, APP_DEVICE):
        owner.refused(400, "POST", path, body)


def test_unknown_fields_are_ignored(owner):
    owner.done("POST", FCM_TOKEN, {"fcmToken": android_token(), "model": "X", "deep": {"a": [1]}})
    owner.done("POST", APP_DEVICE, {"deviceToken": ios_token(), "platform": "ios", "appVersion": 7})
    assert len(devices(owner)) == 2


@pytest.mark.parametrize("path, body", [(FCM_TOKEN, {"fcmToken": "t"}), (APP_DEVICE, {"deviceToken": "ab" * 32, "platform": "ios"})], ids=["fcm", "app"])
def test_who_may(fleet, path, body):
    for method in ("POST", "DELETE"):
        fleet.caller().refused(401, method, path, body)
        fleet.caller(bearer="nonsense").refused(401, method, path, body)
        for caller in (fleet.admin(), fleet.ops()):
            caller.refused(403, method, path, body)
    for method in ("GET", "PUT", "PATCH"):
        fleet.driver().refused(405, method, path, body)


def test_who_may_list(fleet):
    driver, customer = fleet.driver(), fleet.customer()
    for path, others in [("/api/driver/devices", [customer, fleet.admin(), fleet.ops()]), ("/api/customer/devices", [driver, fleet.admin(), fleet.ops()])]:
        fleet.caller().refused(401, "GET", path)
        for caller in others:
            caller.refused(403, "GET", path)
    driver.refused(405, "POST", "/api/driver/devices", {})


def test_pages_may_delete(fleet, gateway):
    """CORS: a web view asks first."""
    for path in (FCM_TOKEN, APP_DEVICE):
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "authorization"}
        answer = fleet.caller().ask("OPTIONS", path, headers=asked)
        if path.startswith("/api/"):
            assert answer.status in (200, 204) and "DELETE" in answer.headers["access-control-allow-methods"], answer


# At rest


def test_tokens_are_nowhere_to_be_read(start_gateway, closing):
    """Not in the database, the log, the list of devices, or the stored answers; nor the key in the database."""
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    owner, android, apple = fleet.driver("d1"), android_token(), ios_token()
    owner.done("POST", FCM_TOKEN, {"fcmToken": android, "deviceId": "phone"}, key="k1")
    owner.done("POST", APP_DEVICE, {"deviceToken": apple, "platform": "ios"}, key="k2")
    owner.refused(400, "POST", APP_DEVICE, {"deviceToken": apple + "xx", "platform": "ios"})
    owner.done("DELETE", FCM_TOKEN, {"fcmToken": android_token()})
    said = json.dumps(devices(owner)) + fleet.admin().ask("GET", "/api/ops/stats").text
    folder = gateway.config.parent
    for running in (True, False):
        files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert any(path.suffix == ".db" for path in files)
        for secret in (android.encode(), apple.encode(), apple.upper().encode(), bytes.fromhex(apple), android[30:90].encode(), apple[20:50].encode()):
            assert secret not in said.encode()
            assert not [path for path, content in files.items() if secret in content], secret
        if running:
            gateway.stop()
    # And yet they are there.
    assert len(devices(Fleet(start_gateway("kept", **FLEET), closing).driver("d1"))) == 2


def test_the_development_key_is_readable_by_nobody_else(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    Fleet(gateway, closing).driver().done("POST", FCM_TOKEN, {"fcmToken": android_token()})
    beside = [path for path in (gateway.config.parent / "var").iterdir() if ".db" not in path.suffix and path.is_file()]
    keys = [path for path in beside if "key" in path.name]
    assert keys and all(path.stat().st_mode & 0o777 == 0o600 for path in keys), beside


def test_devices_survive_a_restart(start_gateway, closing):
    gateway = start_gateway("kept", **FLEET)
    owner = Fleet(gateway, closing).driver("d1")
    for token in (android_token(), android_token()):
        owner.done("POST", FCM_TOKEN, {"fcmToken": token})
    before = devices(owner)
    gateway.kill()
    assert devices(Fleet(start_gateway("kept", **FLEET), closing).driver("d1")) == before
