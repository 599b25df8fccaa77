"""The errors of `/api/auth/*`, expired tokens, and how refusals are logged."""

import json
import threading
import time

import pytest

from harness.fleet import SETTINGS as FLEET, Caller, Fleet, token, wait_until
from harness.gateway import check_log
from harness.jwks import KeyServer, key_set
from harness.tokens import HS256, RS256, claims

SETTINGS = FLEET
TOKEN = "/api/auth/fcm-token"


def expired(role: str = "driver") -> str:
    return HS256().token(claims(role, "d1") | {"exp": 1_700_000_000})


def test_all_invalid_fields_are_listed(fleet):
    response = fleet.driver().post(TOKEN, {"fcmToken": "a b", "deviceId": ""})
    body = response.json()
    assert response.status == 400 and body["message"] == "Validation error" and body["data"] is None
    assert set(body["error"]) == {"fields"} and set(body["error"]["fields"]) == {
        "fcmToken", "deviceId"}


def test_message_is_the_same_for_all_errors_of_a_kind(fleet, gateway):
    driver, long = fleet.driver(), b" " * 100_000
    cases = [(400, driver.post(TOKEN, b"{"), None),
             (401, fleet.caller().post(TOKEN, {}), "Invalid token"),
             (401, fleet.caller(bearer=token("driver", "d") + "x").post(TOKEN, {}), "Invalid token"),
             (401, fleet.caller(bearer=expired()).post(TOKEN, {}), "Token expired"),
             (403, fleet.admin().post(TOKEN, {}), "Forbidden"),
             (404, driver.post("/api/auth/nowhere", {}), "Resource not found"),
             (404, driver.post("/api/delivery/x", {}), "Resource not found"),
             (405, driver.put(TOKEN, {}), "Method not allowed"),
             (413, fleet.driver().post(TOKEN, long), "Request too large")]
    for status, response, message in cases:
        body = response.json()
        assert response.status == status and list(body) == ["message", "data", "error"], response
        assert body["message"] == (message or body["error"]) and body["data"] is None
        assert isinstance(body["error"], str) and body["error"]


@pytest.mark.parametrize("path", ["/api/driver/jobs", "/api/admin/orders/x", "/api/ops/stats",
                                  "/app-register-device", TOKEN, "/pusher/auth"])
def test_every_app_can_tell_an_expired_token(fleet, path):
    for bearer, reason in ((expired(), "expired"), (expired() + "x", "invalid"), ("x", "invalid")):
        response = fleet.caller(bearer=bearer).request("GET", path)
        assert response.status == 401 and response.headers["www-authenticate"] == (
            f'Bearer error="invalid_token", error_description="{reason}"')


def records(gateway, event: str) -> list[dict]:
    whole = "".join(line for line in gateway.log().splitlines(keepends=True)
                    if line.endswith("\n"))
    return [entry for entry in check_log(whole) if entry["event"] == event]


def test_refusals_are_logged_with_a_limit(start_gateway, closing):
    """Every refusal is in the log: ten lines a second, and one that counts the rest."""
    gateway = start_gateway(**FLEET)
    fleet = Fleet(gateway, closing)
    driver, anonymous, count = fleet.driver("d1"), fleet.caller(), 100
    driver.request("GET", "/api/admin/orders/x?secret=1", headers={"X-Correlation-ID": "wrong-role"})
    for _ in range(count):
        anonymous.request("GET", "/api/driver/jobs")

    def logged() -> int:
        return sum(each.get("omitted", 1) for each in records(gateway, "request_refused"))

    wait_until(lambda: logged() == count + 1, "a line for each refusal, or the number of the rest")
    whole = records(gateway, "request_refused")
    named = [each for each in whole if each.get("correlation_id") == "wrong-role"]
    assert len(named) == 1 and {name: named[0][name] for name in named[0] if name != "time"} == {
        "level": "info", "event": "request_refused", "method": "GET",
        "path": "/api/admin/orders/x", "status": 403, "actor": "driver:d1",
        "correlation_id": "wrong-role"}
    assert len(whole) < count and "secret" not in json.dumps(whole)
    assert all("actor" not in each for each in whole if each.get("status") == 401)


def test_slow_requests_are_logged(start_gateway, closing):
    """A request whose token's key has to be fetched waits for it: here for more than a second."""
    key = RS256()
    server = closing(KeyServer(jwks=key_set(key.jwk("k1"))))
    server.may_respond.clear()
    gateway = start_gateway(sections={"auth": {"jwt": {
        "algorithm": "RS256", "jwks_url": f"{server.url}/jwks"}}})
    bearer = key.token(claims("driver", "d1"), kid="k1")
    caller = closing(Caller(gateway, "driver", "d1", bearer=bearer))
    started = time.monotonic()
    timer = threading.Timer(1.2, server.may_respond.set)
    timer.start()
    caller.request("GET", "/api/driver/jobs?x=1", headers={"X-Correlation-ID": "slow"})
    timer.join()
    # The log has a thread of its own, and the client may have the response before the loop has noted its end.
    wait_until(lambda: records(gateway, "slow_request") != [], "the slow request is logged")
    elapsed = (time.monotonic() - started) * 1_000
    [found] = records(gateway, "slow_request")
    assert 1_000 < found.pop("milliseconds") <= elapsed
    assert found.pop("bytes") > 0 and found.pop("time")
    assert found == {"level": "warning", "event": "slow_request", "method": "GET",
                     "endpoint": "/api/driver/jobs", "status": 200, "actor": "driver:d1",
                     "correlation_id": "slow"}
    caller.request("GET", "/api/driver/jobs")
    assert len(records(gateway, "slow_request")) == 1


def test_refused_transitions_are_logged(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    fleet = Fleet(gateway, closing)
    admin, driver = fleet.admin(), fleet.driver("d1")
    admin.assign("O1", "d1")
    error = driver.expect_error(400, "PUT", "/api/driver/jobs/O1/progress", {"step": "loading"})
    fleet.driver("d2").expect_error(403, "PUT", "/api/driver/jobs/O1/progress", {"step": "arrived"})
    # The log has a thread of its own, which writes the action after the transition.
    wait_until(lambda: len(records(gateway, "action")) == 3, "the last line")
    found = records(gateway, "transition_refused")
    assert [(each["level"], each["subject"], each["actor"], each["from"], each["wanted"])
            for each in found] == [("warning", "O1", "driver:d1", "assigned", "loading"),
                                   ("warning", "O1", "driver:d2", "assigned", "arrived")]
    actions = records(gateway, "action")
    assert [(each["action"], each["outcome"], each.get("from"), each.get("to"), each.get("driver"),
             each.get("refusal")) for each in actions] == [
        ("assign", "done", None, "assigned", "d1", None),
        ("progress", "invalid", "assigned", None, None, error),
        ("progress", "forbidden", "assigned", None, None, "This job is not yours")]
