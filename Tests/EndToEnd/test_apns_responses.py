"""APNs responses and their effect on the push, the device and the lane (Apple's
"Handling notification responses from APNs").
"""

import time

import pytest

from harness.push.apns import refusal, to
from harness.push.behavior import Respond
from harness.push.push_fleet import registered_devices


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


def now() -> int:
    return int(time.time() * 1000)


# Invalid tokens


@pytest.mark.parametrize("status, reason, more", [
    (410, "Unregistered", {"timestamp": 0}), (410, "ExpiredToken", {"timestamp": 0}),
    (410, "Unregistered", {}), (400, "BadDeviceToken", {}),
    (400, "DeviceTokenNotForTopic", {})], ids=lambda value: str(value))
def test_invalid_token_is_removed_and_never_used_again(fleet, status, reason, more):
    device, other = fleet.ios(), fleet.ios()
    fleet.warm_up(device, other)
    more = {"timestamp": now() + 1_000} if "timestamp" in more else more
    fleet.fail_next_push(device, refusal(status, reason, **more), reason)
    assert registered_devices(device) == []
    fleet.expect_not_pushed(fleet.announce(device))
    fleet.wait_for_metric("push_token_removals_total", 1, reason=reason)
    # From now on the fake reports any push to this token as a violation.
    other.next(fleet.announce(other))
    fleet.apns.mark_valid(device.token)
    device.register()
    notification = fleet.announce(device)
    fleet.wait_for_accepted(notification)
    assert device.pushes[-1].notification == notification


def test_queued_pushes_of_an_invalid_token_are_cancelled(fleet):
    device = fleet.ios()
    fleet.apns.stop_listening()
    ids = [fleet.announce(device) for _ in range(30)]
    fleet.apns.script(refusal(410, "Unregistered", timestamp=now() + 60_000), to(device.token))
    fleet.apns.listen()
    for notification in ids[1:]:
        [step] = fleet.wait_for_step(notification, "push_cancelled", seconds=40)
        assert step["detail"]["reason"] == "device_removed"
    assert len(device.sent) == 1, "a new connection has one request at a time"


def test_410_keeps_token_registered_later(fleet):
    """APNs returns the time since when the token has been invalid; a later registration wins."""
    device = fleet.ios()
    before = now() - 60_000
    fleet.warm_up(device)
    fleet.fail_next_push(device, refusal(410, "Unregistered", timestamp=before))
    assert len(registered_devices(device)) == 1
    fleet.apns.mark_valid(device.token)
    fleet.wait_for_accepted(notification := fleet.announce(device))
    assert device.pushes[-1].notification == notification
    assert fleet.metric("push_token_removals_total") == 0


# Failures that keep the token


@pytest.mark.parametrize("response, reason", [
    (Respond(400), ""), (Respond(400, b"not JSON"), ""), (Respond(400, b"[" * 5_000), ""),
    (Respond(400, {"reason": 7}), ""), (refusal(400, "SomethingNew"), "SomethingNew"),
    (refusal(400, "BadCollapseId"), "BadCollapseId"),
    (refusal(400, "PayloadEmpty"), "PayloadEmpty"),
    (refusal(413, "PayloadTooLarge"), "PayloadTooLarge"),
    (refusal(404, "BadPath"), "BadPath"), (Respond(418), "")], ids=lambda value: str(value)[:50])
def test_other_errors_keep_the_token(fleet, response, reason):
    device = fleet.ios()
    fleet.warm_up(device)
    fleet.fail_next_push(device, response, reason)
    assert len(registered_devices(device)) == 1
    device.next(fleet.announce(device))


@pytest.mark.parametrize("reason", ["TopicDisallowed", "MissingTopic"])
def test_wrong_topic_fails_the_push_and_logs_an_error(fleet, reason):
    device = fleet.ios()
    fleet.warm_up(device)
    fleet.fail_next_push(device, refusal(400, reason), reason)
    fleet.wait_for_log_entry(reason, "error")
    assert len(registered_devices(device)) == 1
    device.next(fleet.announce(device))


# Retries


@pytest.mark.parametrize("response",
                         [refusal(500, "InternalServerError"), refusal(503, "ServiceUnavailable"),
                          Respond(502, b"<html>"), Respond(599)],
                         ids=str)
def test_5xx_is_retried_with_the_same_id(fleet, response):
    device = fleet.ios()
    fleet.warm_up(device)
    fleet.apns.script(response, to(device.token), times=2)
    notification = fleet.announce(device)
    assert device.next(notification)
    [step] = fleet.wait_for_accepted(notification)
    first, second, third = attempts = device.sent[-3:]
    assert len({request.headers["apns-id"] for request in attempts}) == len(
        {request.headers["apns-collapse-id"] for request in attempts}) == 1
    assert second.at - first.at >= 0.9 and third.at - second.at >= 1.9, "1 s, then 2 s, plus jitter"
    assert step["detail"]["attempts"] == 3
    assert fleet.metric("push_total", provider="apns", outcome="retried") == 2


def test_429_for_one_device_delays_only_that_device(fleet):
    busy, other = fleet.ios(), fleet.ios()
    fleet.warm_up(busy, other)
    fleet.apns.script(refusal(429, "TooManyRequests"), to(busy.token), times=2)
    waiting = fleet.announce(busy)
    fleet.apns.wait_until(lambda: len(busy.sent) == 2, "the first attempt")
    queued = fleet.announce(busy)
    ids = [fleet.announce(other) for _ in range(20)]
    assert [other.next().notification for _ in ids] == ids
    assert len(busy.sent) <= 3 and fleet.lane("apns")["state"] == "running"
    fleet.wait_for_accepted(waiting)
    fleet.wait_for_accepted(queued)
    attempts = [request for request in busy.sent if not request.accepted]
    assert len(attempts) == 2 and attempts[1].at - attempts[0].at >= 0.9


def test_too_many_provider_token_updates_creates_no_new_token(fleet):
    device = fleet.ios()
    fleet.warm_up(device)
    fleet.apns.script(refusal(429, "TooManyProviderTokenUpdates"), times=1)
    device.next(fleet.announce(device))
    assert len(fleet.apns.provider_tokens) == 1


def test_503_shutdown_is_retried_later_on_a_new_connection(fleet):
    device = fleet.ios()
    fleet.warm_up(device)
    fleet.apns.script(refusal(503, "Shutdown"), times=1)
    notification = fleet.announce(device)
    push = device.next(notification)
    assert push.request.connection is not device.sent[0].connection
    assert push.request.headers["apns-id"] == device.sent[-2].headers["apns-id"]
    assert push.request.at - device.sent[-2].at >= 0.9, "1 s plus jitter, as for ServiceUnavailable"
    [step] = fleet.wait_for_accepted(notification)
    assert step["detail"]["attempts"] == 2


# Tokens of an unknown environment


def environment(device) -> str | None:
    [registration] = registered_devices(device)
    return registration["environment"]


def test_token_of_the_sandbox_is_found_by_trying(fleet):
    device = fleet.ios()
    assert environment(device) is None
    fleet.apns.script(refusal(400, "BadDeviceToken"), to(device.token))
    notification = fleet.announce(device)
    [step] = fleet.wait_for_accepted(notification)
    assert step["detail"]["attempts"] == 2, step
    assert environment(device) == "sandbox"
    fleet.wait_for_metric("push_environment_found_total", 1, environment="sandbox")
    # From now on the fake of production reports any push to this token as a violation.
    fleet.wait_for_accepted(later := fleet.announce(device))
    sent = fleet.sandbox.sent_to(device.token)
    assert [request.json["notificationId"] for request in sent] == [notification, later]
    # Apps register at every start, each time without the environment.
    device.register()
    assert environment(device) == "sandbox"
    assert fleet.metric("push_token_removals_total") == 0


def test_token_of_production_is_found_by_trying(fleet):
    device = fleet.ios()
    fleet.warm_up(device)
    assert environment(device) == "production" and fleet.sandbox.requests == []
    fleet.wait_for_metric("push_environment_found_total", 1, environment="production")
    assert fleet.metric("push_environment_found_total", environment="sandbox") == 0


def test_token_that_both_environments_reject_is_removed(fleet):
    device = fleet.ios()
    for fake in (fleet.apns, fleet.sandbox):
        fake.script(refusal(400, "BadDeviceToken"), to(device.token))
    [step] = fleet.wait_for_step(fleet.announce(device), "push_failed")
    assert step["detail"]["reason"] == "BadDeviceToken" and step["detail"]["attempts"] == 2, step
    assert registered_devices(device) == []
    assert len(device.sent) == len(fleet.sandbox.sent_to(device.token)) == 1


def test_stated_environment_is_not_doubted(fleet):
    device = fleet.ios(environment="production")
    fleet.fail_next_push(device, refusal(400, "BadDeviceToken"), "BadDeviceToken")
    assert registered_devices(device) == [] and fleet.sandbox.requests == []


# Provider tokens


def test_one_provider_token_for_all_connections(fleet):
    """Signed once, for both environments and all connections."""
    devices = [fleet.ios(environment=name) for name in ("production", "sandbox") for _ in range(10)]
    for _ in range(5):
        for device in devices:
            fleet.announce(device)
    for device in devices:
        device.wait(5)
    assert len(set(fleet.apns.provider_tokens + fleet.sandbox.provider_tokens)) == 1
    fleet.wait_for_metric("push_credential_renewals_total", 1, kind="apns_jwt")


def test_expired_provider_token_is_renewed_once(fleet):
    devices = [fleet.ios() for _ in range(40)]
    fleet.warm_up(*devices[:2])
    [old] = fleet.apns.provider_tokens
    fleet.apns.script(refusal(403, "ExpiredProviderToken"),
                      lambda request: request.headers["authorization"] == old)
    started = time.monotonic()
    ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
    for device, notification in zip(devices, ids):
        fleet.apns.wait_until(
            lambda: any(push.notification == notification for push in device.pushes), "every push")
    assert time.monotonic() - started < 5
    assert len(
        fleet.apns.provider_tokens) == 2, "one renewal for all pushes sent with the old token"
    for notification in ids:
        # The renewal counts no attempt of the push.
        [step] = fleet.wait_for_accepted(notification)
        assert step["detail"]["attempts"] == 1, step
    assert all(registration for registration in map(registered_devices, devices))


def test_second_expiry_at_once_stops_the_lane(fleet):
    """The cause is then the gateway's clock: it makes no new token for 20 minutes."""
    device = fleet.ios()
    fleet.apns.script(refusal(403, "ExpiredProviderToken"))
    notification = fleet.announce(device)
    fleet.wait_for_lane_state("apns", "stopped")
    fleet.wait_for_log_entry("ExpiredProviderToken|clock", "error")
    assert len(fleet.apns.provider_tokens) <= 2
    assert fleet.steps(notification)[-1]["step"] == "push_queued"


@pytest.mark.parametrize("reason",
                         ["InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
                          "BadEnvironmentKeyIdInToken", "Forbidden", "BadCertificate"])
def test_rejected_provider_token_stops_the_lane_and_keeps_the_queue(fleet, reason):
    devices, android = [fleet.ios() for _ in range(10)], fleet.android()
    fleet.apns.script(refusal(403, reason))
    ids = [fleet.announce(device) for device in devices]
    lane = fleet.wait_for_lane_state("apns", "stopped")
    assert reason in lane["lastError"]["reason"], lane
    fleet.wait_for_log_entry(reason, "error")
    for _ in range(20):
        android.next(fleet.announce(android))
    assert len(fleet.apns.requests) == 1, "the lane stops after the first rejection"
    assert len(fleet.log_entries(reason, "error")) == 1
    assert (all(fleet.steps(notification)[-1]["step"] == "push_queued" for notification in ids)
            and all(registered_devices(device) for device in devices))
    fleet.wait_for_metric("push_queue_depth", 10, provider="apns")


# A 200 of APNs has no body, a 403 has a reason, and APNs never redirects.
FOREIGN = pytest.mark.parametrize(
    "response", [Respond(200, b"<html>Sign in</html>"), Respond(204), Respond(302), Respond(403, b"<html>")],
    ids=["200 page", "204", "302", "403 page"])


@FOREIGN
def test_one_non_apns_response_delays_its_push_only(fleet, response):
    device = fleet.ios()
    fleet.apns.script(response, times=1)
    notification = fleet.announce(device)
    [step] = fleet.wait_for_accepted(notification)
    assert step["detail"]["attempts"] == 2, step
    assert fleet.lane("apns")["state"] == "running"
    first, second = fleet.apns.requests
    assert second.at - first.at >= 0.9
    assert fleet.log_entries("stopped", "error") == []


@FOREIGN
def test_two_non_apns_responses_stop_the_lane(fleet, response):
    device = fleet.ios()
    fleet.apns.script(response, times=2)
    notification = fleet.announce(device)
    lane = fleet.wait_for_lane_state("apns", "stopped")
    assert lane["lastError"]["reason"] == f"HTTP {response.status}: not a response of the provider"
    fleet.wait_for_log_entry("not a response of the provider", "error")
    assert fleet.steps(notification)[-1]["step"] == "push_queued"

