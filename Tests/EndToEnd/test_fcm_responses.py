"""FCM responses and their effect on the push, the device and the lane (Firebase's
reference of the FCM v1 API, "ErrorCode").
"""

import time
from datetime import datetime

import pytest

from harness.push.behavior import PassThrough, Respond
from harness.push.fcm import error, is_send_request, is_token_request, to
from harness.push.push_fleet import registered_devices


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


# Invalid tokens


@pytest.mark.parametrize("response, reason", [
    (error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED"),
    (error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), "SENDER_ID_MISMATCH"),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT",
           message="The registration token is not a valid FCM registration token"),
     "INVALID_ARGUMENT"),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.token"),
     "INVALID_ARGUMENT")],
                         ids=lambda value: str(value)[-80:])
def test_invalid_token_is_removed_and_never_used_again(fleet, response, reason):
    device, other = fleet.android(), fleet.android()
    fleet.warm_up(device, other)
    fleet.fail_next_push(device, response, reason)
    assert registered_devices(device) == []
    fleet.expect_not_pushed(fleet.announce(device))
    fleet.wait_for_metric("push_token_removals_total", 1, reason=reason)
    other.next(fleet.announce(other))
    fleet.fcm.mark_valid(device.token)
    device.register()
    fleet.wait_for_accepted(notification := fleet.announce(device))
    assert device.pushes[-1].notification == notification


def test_404_keeps_token_registered_meanwhile(fleet):
    """A response only applies to registrations older than its request."""
    device = fleet.android()
    fleet.warm_up(device)
    response = error(404, "NOT_FOUND", "UNREGISTERED", after=1.0)
    fleet.fcm.script(response, to(device.token), times=1)
    notification = fleet.announce(device)
    fleet.fcm.wait_until(lambda: len(device.sent) == 2, "the request")
    device.register()
    fleet.wait_for_step(notification, "push_failed")
    assert len(registered_devices(device)) == 1
    fleet.fcm.mark_valid(device.token)
    fleet.wait_for_accepted(fleet.announce(device))


# Failures that keep the token


@pytest.mark.parametrize("response, reason", [
    (error(404, "NOT_FOUND"), "NOT_FOUND"), (Respond(404, b"<html>not here</html>"), ""),
    (error(400, "INVALID_ARGUMENT"), "INVALID_ARGUMENT"), (Respond(400), ""),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.android.ttl"),
     "INVALID_ARGUMENT"),
    (Respond(400, {"error": []}), ""),
    (Respond(400, {"error": {"details": [7, {"@type": 1}]}}), "")],
                         ids=lambda value: str(value)[-80:])
def test_other_errors_keep_the_token(fleet, response, reason):
    device = fleet.android()
    fleet.warm_up(device)
    fleet.fail_next_push(device, response, reason)
    assert len(registered_devices(device)) == 1
    device.next(fleet.announce(device))


def test_third_party_auth_error_fails_the_push_and_logs_an_error(fleet):
    """The access token is valid: it is not renewed, and the device token stays."""
    device = fleet.android()
    fleet.warm_up(device)
    fleet.fail_next_push(device, error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
                         "THIRD_PARTY_AUTH_ERROR")
    fleet.wait_for_log_entry("THIRD_PARTY_AUTH_ERROR", "error")
    device.next(fleet.announce(device))
    assert len(fleet.fcm.token_requests) == 1 and len(registered_devices(device)) == 1


# Retries


@pytest.mark.parametrize("response",
                         [error(500, "INTERNAL", "INTERNAL"),
                          error(503, "UNAVAILABLE", "UNAVAILABLE"), error(503, "UNAVAILABLE"),
                          Respond(502, b"x"), error(500, "UNKNOWN", "UNSPECIFIED_ERROR")],
                         ids=lambda value: str(value)[-80:])
def test_5xx_is_retried(fleet, response):
    device = fleet.android()
    fleet.warm_up(device)
    fleet.fcm.script(response, to(device.token), times=2)
    device.next(notification := fleet.announce(device))
    fleet.wait_for_accepted(notification)
    first, second, third = device.sent[-3:]
    assert second.at - first.at >= 0.9 and third.at - second.at >= 1.9, "1 s, then 2 s, plus jitter"
    tags = [request.json["message"]["android"]["notification"]["tag"] for request in (first, third)]
    assert tags[0] == tags[1]


@pytest.mark.parametrize("response",
                         [error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED",
                                headers={"retry-after": "4"}),
                          error(503, "UNAVAILABLE", "UNAVAILABLE", headers={"retry-after": "4"})],
                         ids=["429", "503"])
def test_retry_after_in_seconds_is_respected(fleet, response):
    device, other = fleet.android(), fleet.android()
    fleet.warm_up(device, other)
    fleet.fcm.script(response, to(device.token), times=1)
    notification = fleet.announce(device)
    fleet.fcm.wait_until(lambda: len(device.sent) == 2, "the first attempt")
    other.next(fleet.announce(other))
    device.next(notification)
    assert 4 <= device.sent[-1].at - device.sent[-2].at < 12


def test_retry_after_date_is_respected(fleet):
    device = fleet.android()
    fleet.warm_up(device)
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 5))
    fleet.fcm.script(
        error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", headers={"retry-after": date}),
        to(device.token), times=1)
    device.next(fleet.announce(device))
    assert device.sent[-1].at - device.sent[-2].at >= 3


@pytest.mark.parametrize("text", ["86400", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_retry_after_of_a_day_pauses_the_lane_for_ten_minutes(fleet, text):
    """No provider silences a lane for longer, and no push expires before its end."""
    devices = [fleet.android() for _ in range(4)]
    fleet.warm_up(devices[0])
    unavailable = error(503, "UNAVAILABLE", "UNAVAILABLE", headers={"retry-after": text})
    fleet.fcm.script(unavailable, is_send_request)
    ids = [fleet.announce(device) for device in devices]
    lane = fleet.wait_for_lane_state("fcm", "paused")
    until = datetime.fromisoformat(lane["pausedUntil"]).timestamp()
    assert 500 < until - time.time() <= 600, lane
    fleet.wait_for_log_entry("paused for 10 minutes", "error")
    fleet.wait_for_metric("push_lane_running", 0, lane="fcm")
    assert fleet.metric("push_lane_running", lane="apns") == 1
    assert all(fleet.steps(notification)[-1]["step"] == "push_queued" for notification in ids)
    assert fleet.metric("push_total", provider="fcm", outcome="expired") == 0
    assert fleet.lane("apns")["pausedUntil"] is None


def test_quota_error_without_retry_after_waits_a_minute(fleet):
    device, other = fleet.android(), fleet.android()
    fleet.warm_up(device, other)
    fleet.fcm.script(error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), to(device.token), times=1)
    notification = fleet.announce(device)
    fleet.fcm.wait_until(lambda: len(device.sent) == 2, "the first attempt")
    for _ in range(3):
        # Takes a second or more: after any other error the first push would be retried by now.
        fleet.fcm.script(error(500, "INTERNAL", "INTERNAL"), to(other.token), times=1)
        other.next(fleet.announce(other))
    assert len(device.sent) == 2 and fleet.steps(notification)[-1]["step"] == "push_queued"


# Access tokens


def test_one_access_token_for_all_pushes(providers, start_push_fleet):
    providers.fcm.script(PassThrough(after=0.5), is_token_request)
    fleet = start_push_fleet()
    devices = [fleet.android() for _ in range(50)]
    ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
    for notification in ids:
        fleet.wait_for_accepted(notification)
    assert len(fleet.fcm.token_requests) == 1
    fleet.wait_for_metric("push_credential_renewals_total", 1, kind="fcm_oauth")


def test_rejected_access_token_is_renewed_once(fleet):
    devices = [fleet.android() for _ in range(30)]
    fleet.warm_up(*devices[:2])
    fleet.fcm.expire_access_tokens()
    ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
    for notification in ids:
        [step] = fleet.wait_for_accepted(notification)
        assert step["detail"]["attempts"] == 1, step
    assert len(fleet.fcm.token_requests) == 2
    assert all(registered_devices(device) for device in devices)


def test_access_token_is_renewed_before_it_expires(providers, start_push_fleet):
    """At 80 % of its lifetime: no request gets a 401."""
    providers.fcm.token_lifetime = 5
    fleet = start_push_fleet()
    device = fleet.android()
    started = time.monotonic()
    while time.monotonic() - started < 11:
        device.next(fleet.announce(device))
    intervals = [later.at - earlier.at
                 for earlier, later in zip(fleet.fcm.token_requests, fleet.fcm.token_requests[1:])]
    assert 2 <= len(intervals) <= 3 and all(3.9 <= seconds < 5 for seconds in intervals), intervals
    assert [request for request in fleet.fcm.requests if not request.accepted] == []


@pytest.mark.parametrize("response",
                         [Respond(503, b""), Respond(500, {"error": "internal_failure"})],
                         ids=["503", "500"])
def test_failed_token_request_is_retried(providers, start_push_fleet, response):
    providers.fcm.script(response, is_token_request, times=2)
    fleet = start_push_fleet()
    device = fleet.android()
    device.next(fleet.announce(device))
    first, second, third = fleet.fcm.token_requests
    assert second.at - first.at >= 0.9 and fleet.fcm.send_requests[0].at >= third.at


@pytest.mark.parametrize("response, reason", [
    (Respond(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}),
     "invalid_grant"),
    (Respond(400, {"error": "invalid_scope"}), "invalid_scope"),
    (Respond(401, {"error": "invalid_client"}), "")], ids=lambda value: str(value)[:60])
def test_rejected_credentials_stop_the_lane_and_keep_the_queue(
        providers, start_push_fleet, response, reason):
    providers.fcm.script(response, is_token_request)
    fleet = start_push_fleet()
    device, apple = fleet.android(), fleet.ios()
    notification = fleet.announce(device)
    lane = fleet.wait_for_lane_state("fcm", "stopped")
    assert reason in lane["lastError"]["reason"]
    fleet.wait_for_log_entry(reason or "fcm", "error")
    for _ in range(20):
        apple.next(fleet.announce(apple))
    assert len(fleet.fcm.requests) == 1 and fleet.steps(notification)[-1]["step"] == "push_queued"


@pytest.mark.parametrize("response, words, sent", [
    (error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED", 1),
    # A response that is not FCM's: wrong address, or a proxy. One may be an accident.
    (Respond(403, b"<html>"), "HTTP 403", 2), (Respond(200, b"<html>Sign in</html>"), "HTTP 200", 2),
    (error(200, "UNAVAILABLE"), "HTTP 200", 2), (Respond(302), "HTTP 302", 2)],
    ids=["PERMISSION_DENIED", "403", "200 page", "200 error", "302"])
def test_forbidden_stops_the_lane_and_keeps_the_queue(fleet, response, words, sent):
    devices, apple = [fleet.android() for _ in range(5)], fleet.ios()
    fleet.fcm.script(response, is_send_request)
    ids = [fleet.announce(device) for device in devices]
    fleet.wait_for_lane_state("fcm", "stopped")
    fleet.wait_for_log_entry(words, "error")
    for _ in range(20):
        apple.next(fleet.announce(apple))
    assert len(fleet.fcm.send_requests) == sent
    assert (all(fleet.steps(notification)[-1]["step"] == "push_queued" for notification in ids)
            and all(map(registered_devices, devices)))


def test_goaway_loses_and_duplicates_nothing(fleet):
    """GOAWAY is routine at Google."""
    devices = [fleet.android() for _ in range(40)]
    fleet.warm_up(devices[0])
    for process_open in (True, False, True):
        fleet.fcm.delay = 0.2
        ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
        fleet.fcm.wait_until(lambda: len(fleet.fcm.send_requests) > 10, "requests")
        fleet.fcm.send_goaway(process_open)
        fleet.fcm.delay = 0.0
        for notification in ids:
            fleet.wait_for_accepted(notification, seconds=40)
    assert [requests for requests in fleet.fcm.accepted().values() if len(requests) > 1] == []
    assert len(fleet.fcm.token_requests) == 1
