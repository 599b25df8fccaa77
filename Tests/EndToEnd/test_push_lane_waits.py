"""What the lanes of pushes do after a wait: outages, time-outs of requests, and probes after a configuration error."""

import time

import pytest

from harness.push import apns, fcm
from harness.push.apns import refusal
from harness.push.behavior import Blackhole, Hang
from harness.push.devices import Device
from harness.push.fcm import error, is_send_request, is_token_request
from harness.push.push_fleet import PushFleet, registered_devices
from harness.timing import divided

TIMING_DIVISOR = 5
# The constants that the tests wait for, in seconds.
TIMEOUT, PROBE = 10, 30


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


def announce_to_all(fleet: PushFleet, devices: list[Device]) -> list[str]:
    return fleet.announce_to_drivers([device.owner.subject for device in devices])


def ios_devices(fleet: PushFleet, count: int) -> list[Device]:
    """Returns devices of one lane, on a connection that has accepted a push."""
    devices = [fleet.ios() for _ in range(count)]
    fleet.warm_up(devices[0])
    return devices


@pytest.mark.parametrize("kind, response, reason", [
    ("ios", refusal(400, "DeviceTokenNotForTopic"), "DeviceTokenNotForTopic"),
    ("ios", refusal(400, "BadTopic"), "BadTopic"),
    ("android", error(404, "NOT_FOUND"), "NOT_FOUND")], ids=lambda value: str(value)[:60])
def test_wrong_configuration_stops_the_lane_and_keeps_queue_and_devices(
        start_push_fleet, kind, response, reason):
    fleet = start_push_fleet()
    devices = [fleet.device(kind) for _ in range(40)]
    fake, lane = devices[0].fake, "apns" if kind == "ios" else "fcm"
    fake.script(response, None if kind == "ios" else is_send_request)
    ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
    status = fleet.wait_for_lane_state(lane, "stopped")
    assert reason in status["lastError"]["reason"], status
    fleet.wait_for_log_entry(f"rejects most pushes.*{reason}", "error")
    for notification, device in zip(ids, devices):
        assert fleet.steps(notification)[-1]["step"] == "push_queued"
        assert len(registered_devices(device)) == 1
    # An operator corrects the configuration at the provider.
    fake.clear_rules()
    fake.invalid_tokens.clear()
    for notification in ids:
        [step] = fleet.wait_for_accepted(notification, seconds=60)
        assert step["detail"]["attempts"] == 1, "the rejection counts no attempt"
    assert fleet.lane(lane)["state"] == "running"
    assert all(len(registered_devices(device)) == 1 for device in devices)
    assert fleet.metric("push_token_removals_total") == 0
    assert fleet.metric("push_total", outcome="rejected") == 0


def test_stopped_lane_probes_and_resumes(fleet):
    devices = [fleet.ios() for _ in range(10)]
    rule = fleet.apns.script(refusal(403, "InvalidProviderToken"), times=2)
    ids = [fleet.announce(device) for device in devices]
    fleet.wait_for_lane_state("apns", "stopped")
    first = fleet.apns.requests[0]
    fleet.apns.wait_until(lambda: len(fleet.apns.requests) == 2, "a probe", seconds=40)
    assert divided(0.8 * PROBE) < fleet.apns.requests[1].at - first.at < divided(PROBE) + 10 and rule.times == 0
    for notification in ids:
        fleet.wait_for_accepted(notification, seconds=45)
    assert fleet.lane("apns")["state"] == "running"


def test_push_forbidden_while_others_succeed_fails_alone(fleet):
    bad, good = fleet.android(), fleet.android()
    fleet.warm_up(bad, good)
    fleet.fcm.script(error(403, "PERMISSION_DENIED"), fcm.to(bad.token))
    notification = fleet.announce(bad)
    fleet.wait_for_lane_state("fcm", "stopped")
    fleet.wait_for_accepted(fleet.announce(good), seconds=75)
    [step] = fleet.wait_for_step(notification, "push_failed", seconds=15)
    assert step["detail"]["reason"] == "PERMISSION_DENIED"
    fleet.wait_for_log_entry("although it accepts others", "error")
    assert fleet.lane("fcm")["state"] == "running" and len(registered_devices(bad)) == 1
    fleet.wait_for_accepted(fleet.announce(good), seconds=5)


def test_token_request_times_out_and_is_retried(providers, start_push_fleet):
    providers.fcm.script(Hang(), is_token_request, times=1)
    fleet = start_push_fleet()
    device = fleet.android()
    notification = fleet.announce(device)
    fleet.wait_for_accepted(notification, seconds=40)
    assert (len(fleet.fcm.token_requests) == 2
            and fleet.fcm.token_requests[1].at - fleet.fcm.token_requests[0].at
            >= divided(0.9 * TIMEOUT))


def test_request_without_response_delays_no_other(fleet):
    devices = ios_devices(fleet, 30)
    stuck = devices[3]
    fleet.apns.script(Hang(), apns.to(stuck.token), times=1)
    ids = announce_to_all(fleet, devices)
    for device, notification in zip(devices, ids):
        if device is not stuck:
            fleet.wait_for_accepted(notification)
    assert fleet.steps(ids[3])[-1]["step"] == "push_queued"
    fleet.wait_for_accepted(ids[3], seconds=30)
    first, second = stuck.sent
    assert divided(TIMEOUT) <= second.at - first.at < divided(TIMEOUT) + 10
    assert first.headers["apns-id"] == second.headers["apns-id"]
    assert second.connection is first.connection, "one timeout must not retire the connection"


def test_blackholed_connection_is_retired(fleet):
    """Requests time out after 10 s; two timeouts in a row retire the connection."""
    devices = ios_devices(fleet, 30)
    old = fleet.apns.connections[-1]
    fleet.apns.script(Blackhole(), times=1)
    started = time.monotonic()
    ids = announce_to_all(fleet, devices)
    for notification in ids:
        fleet.wait_for_accepted(notification, seconds=60)
    assert divided(0.9 * TIMEOUT) < time.monotonic() - started < divided(TIMEOUT) + 30
    assert fleet.apns.requests[-1].connection is not old
    fleet.wait_for_log_entry("push_connection_retired")
    again = announce_to_all(fleet, devices)
    for notification in again:
        fleet.wait_for_accepted(notification)


def test_outage_of_one_provider_delays_only_its_pushes(start_push_fleet):
    """Refused connections delay neither the other provider nor actions; afterwards every
    push arrives, once.
    """
    fleet = start_push_fleet()
    apples, androids = [fleet.ios() for _ in range(40)], [fleet.android() for _ in range(5)]
    fleet.warm_up(apples[0])
    fleet.apns.stop_listening()
    started, ids, slowest = time.monotonic(), [], 0.0
    while time.monotonic() - started < divided(30):
        ids += announce_to_all(fleet, apples[:2] if ids else apples)
        for device in androids:
            sent = time.monotonic()
            device.next(fleet.announce(device))
            slowest = max(slowest, time.monotonic() - sent)
    assert (slowest < 3 and fleet.lane("fcm")["state"] == "running"
            and fleet.lane("apns")["state"] == "paused")
    assert fleet.metric("push_queue_oldest_seconds", provider="apns") > divided(20)
    fleet.apns.listen()
    fleet.apns.wait_until(lambda: len(fleet.apns.accepted()) == len(ids) + 1, "every push",
                          seconds=60)
    assert [requests for requests in fleet.apns.accepted().values() if len(requests) > 1] == []
    attempts = [fleet.wait_for_accepted(notification)[0]["detail"]["attempts"]
                for notification in ids]
    # A push that was never sent counts no attempt; one may have been in flight on the connection
    # that broke.
    assert max(attempts) <= 2 and attempts.count(2) <= 1, attempts
