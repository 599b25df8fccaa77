"""The stored push queue: outages, crashes, restarts, order and expiry."""

import time

import pytest

from harness.fleet import wait_until
from harness.push.behavior import Hang, Respond
from harness.push.fcm import error, is_send_request


def announce_to_owners(fleet, devices) -> list[str]:
    return fleet.announce_to_drivers([device.owner.subject for device in devices])


def test_pushes_of_one_recipient_keep_their_order(start_push_fleet):
    fleet = start_push_fleet()
    device, other = fleet.ios(), fleet.ios()
    fleet.apns.stop_listening()
    ids = [fleet.announce(device, number=number) for number in range(100)]
    fleet.announce(other)
    fleet.apns.listen()
    assert [push.notification for push in device.wait(100, seconds=40)] == ids
    assert [push.data["number"] for push in device.pushes] == [str(number) for number in range(100)]


def test_many_pushes_of_one_driver_do_not_delay_another(start_push_fleet):
    fleet = start_push_fleet()
    busy, quiet = fleet.ios(), fleet.ios()
    fleet.apns.stop_listening()
    for number in range(500):
        fleet.announce(busy)
    notification = fleet.announce(quiet)
    fleet.apns.listen()
    [push] = quiet.wait(1, seconds=40)
    assert push.notification == notification and push.request.number < 10, push.request


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_new_owner_does_not_get_pushes_of_the_old(start_push_fleet, kind):
    fleet = start_push_fleet()
    old, new = fleet.driver(), fleet.driver()
    device = fleet.device(kind, old)
    device.fake.stop_listening()
    ids = [fleet.announce(old) for _ in range(3)]
    device.register(new)
    for notification in ids:
        [step] = fleet.wait_for_step(notification, "push_cancelled")
        assert step["detail"]["reason"] == "new_owner", step
    new_push = fleet.announce(new)
    device.fake.listen()
    assert [push.notification for push in device.wait(1, seconds=40)] == [new_push]


def test_unregistering_cancels_queued_pushes(start_push_fleet):
    fleet = start_push_fleet()
    device = fleet.ios()
    fleet.apns.stop_listening()
    notification = fleet.announce(device)
    device.unregister()
    [step] = fleet.wait_for_step(notification, "push_cancelled")
    # The lane or the store cancels it, depending on which of them holds the job.
    assert step["detail"]["reason"] in ("unregistered", "device_removed"), step


def test_new_token_of_a_device_gets_queued_pushes(start_push_fleet):
    fleet = start_push_fleet()
    owner = fleet.driver()
    old = fleet.android(owner, deviceId="device-1")
    fleet.fcm.stop_listening()
    notification = fleet.announce(owner)
    new = fleet.android(owner, deviceId="device-1")
    fleet.fcm.listen()
    assert new.wait(1, seconds=40)[0].notification == notification and old.sent == []


def test_404_for_a_replaced_token_retries_the_new_one(start_push_fleet):
    fleet = start_push_fleet()
    owner = fleet.driver()
    old = fleet.android(owner, deviceId="device-1")
    fleet.fcm.script(error(404, "NOT_FOUND", "UNREGISTERED", after=1.5), is_send_request, times=1)
    notification = fleet.announce(owner)
    fleet.fcm.wait_until(lambda: old.sent, "the request")
    new = fleet.android(owner, deviceId="device-1")
    assert new.wait(1)[0].notification == notification
    [step] = fleet.wait_for_accepted(notification)
    assert step["detail"]["attempts"] == 2, step
    fleet.wait_for_metric("push_total", 1, outcome="accepted")
    assert (fleet.metric("push_total", outcome="rejected") == 0
            and fleet.metric("push_total", outcome="retried") == 1)
    assert fleet.log_entries("push_rejected") == []


# Restarts


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_queued_pushes_are_sent_after_a_restart(start_push_fleet, end):
    fleet = start_push_fleet("kept")
    apples, androids = [fleet.ios() for _ in range(50)], [fleet.android() for _ in range(50)]
    fleet.apns.stop_listening()
    fleet.fcm.stop_listening()
    ids = announce_to_owners(fleet,
                             apples) + announce_to_owners(fleet, androids) + [
        fleet.announce({"all": True})]
    fleet.gateway.stop() if end == "SIGTERM" else fleet.gateway.kill()
    fleet.apns.listen()
    fleet.fcm.listen()
    fleet = start_push_fleet("kept")
    for notification in ids[:-1]:
        fleet.wait_for_accepted(notification, seconds=40)
    fleet.wait_for_accepted(ids[-1], 100, seconds=40)
    for device in apples + androids:
        assert len(device.pushes) == 2


def test_kill_before_the_response_repeats_with_the_same_ids(start_push_fleet):
    """The provider may have accepted it: the repeated push has the same apns-id and collapse id."""
    fleet = start_push_fleet("kept")
    device, other = fleet.ios(), fleet.android()
    fleet.apns.script(Hang(), times=1)
    fleet.fcm.script(Hang(), is_send_request, times=1)
    ids = [fleet.announce(device), fleet.announce(other)]
    for each in (device, other):
        each.fake.wait_until(lambda: each.sent, "the request")
    fleet.gateway.kill()
    fleet = start_push_fleet("kept")
    for each in ids:
        fleet.wait_for_accepted(each)
    first, second = device.sent
    assert all(first.headers[name] == second.headers[name]
               for name in ("apns-id", "apns-collapse-id", "apns-expiration"))
    first, second = (request.json["message"] for request in other.sent)
    assert first["android"]["notification"]["tag"] == second["android"]["notification"]["tag"]


def test_sigterm_waits_for_responses_and_sends_no_new_pushes(start_push_fleet):
    fleet = start_push_fleet("kept", server={"drain_seconds": 8})
    devices = [fleet.ios() for _ in range(60)]
    fleet.warm_up(devices[0])
    fleet.apns.set_stream_limit(10)
    fleet.apns.delay = 1.0
    ids = announce_to_owners(fleet, devices)
    fleet.apns.wait_until(lambda: len(fleet.apns.requests) > 8, "requests")
    fleet.gateway.terminate()
    # Only pushes already in flight are completed during the drain.
    fleet.gateway.wait()
    fleet.apns.delay = 0.0
    fleet.apns.set_stream_limit(1_000)
    fleet = start_push_fleet("kept")
    for notification in ids:
        fleet.wait_for_accepted(notification, seconds=40)
    assert [requests for requests in fleet.apns.accepted().values()
            if len(requests) > 1] == [], "a received response was not recorded"
    assert [request for request in fleet.apns.requests
            if request.status != 200] == [], "a request was abandoned"


def test_sigterm_waits_at_most_drain_seconds(start_push_fleet):
    fleet = start_push_fleet("kept", server={"drain_seconds": 2})
    device = fleet.ios()
    fleet.apns.script(Hang())
    notification = fleet.announce(device)
    fleet.apns.wait_until(lambda: device.sent, "the request")
    started = time.monotonic()
    fleet.gateway.stop()
    assert time.monotonic() - started < 6
    fleet.apns.clear_rules()
    fleet = start_push_fleet("kept")
    fleet.wait_for_accepted(notification)


def test_sigterm_during_an_outage_exits_at_once(start_push_fleet):
    fleet = start_push_fleet("kept", server={"drain_seconds": 5})
    devices = [fleet.ios(), fleet.android()]
    fleet.apns.stop_listening()
    fleet.fcm.stop_listening()
    announce_to_owners(fleet, devices)
    started = time.monotonic()
    fleet.gateway.stop()
    assert time.monotonic() - started < 4, "there is nothing to wait for"


# Expiry and replacement


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_retry_is_superseded_by_a_newer_notification(start_push_fleet, kind):
    """Both have the order's collapse id: a late retry would replace the cancellation with the new
    job.
    """
    fleet = start_push_fleet()
    device = fleet.device(kind)
    device.fake.script(Respond(503, headers={"retry-after": "3"}),
                       is_send_request if kind == "android" else None, times=1)
    code, response = fleet.order(device.owner)
    old = response["data"]["notificationIds"][0]
    fleet.wait_for_metric("push_total", 1, outcome="retried")
    new = fleet.dispatcher.order(code, "cancel-enhanced")["data"]["notificationIds"][0]
    assert device.next(new).collapse_id == f"order:{code}"
    [step] = fleet.wait_for_step(old, "push_cancelled")
    assert step["detail"]["reason"] == "superseded" and step["detail"]["attempts"] == 1, step
    fleet.expect_no_pushes(device)
    assert fleet.metric("push_total", outcome="cancelled") == 1


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_pushes_of_one_order_are_on_their_way_one_after_another(start_push_fleet, kind):
    """Streams and connections keep no order: together, the older one could arrive last, and replace
    the newer one on the screen.
    """
    fleet = start_push_fleet()
    device, other = fleet.device(kind), fleet.device(kind)
    fleet.warm_up(device, other)
    device.fake.delay = 1.0
    code, _ = fleet.order(device.owner)
    device.fake.wait_until(lambda: len(device.sent) == 2, "the new job")
    ids = fleet.dispatcher.order(code, "cancel-enhanced")["data"]["notificationIds"]
    fleet.announce(other)
    assert device.next().collapse_id == device.next(ids[0]).collapse_id == f"order:{code}"
    older, newer = device.sent[-2:]
    assert newer.at >= older.responded_at
    assert other.next().request.at < older.responded_at, "other devices do not wait"


def test_expired_push_is_not_sent(start_push_fleet):
    fleet = start_push_fleet(
        catalogue={"DRIVER_APPROVED": {"title": "T", "lifetime": "2s"},
                   "DRIVER_REJECTED": {"title": "R", "lifetime": "1h"}})
    device, android = fleet.ios(), fleet.android()
    fleet.apns.stop_listening()
    fleet.fcm.script(Respond(503), is_send_request)
    short, long = (fleet.announce(device, "DRIVER_APPROVED"),
                   fleet.announce(device, "DRIVER_REJECTED"))
    tried = fleet.announce(android, "DRIVER_APPROVED")
    for notification in (short, tried):
        fleet.wait_for_step(notification, "push_expired")
    fleet.apns.listen()
    assert [push.notification for push in device.wait(1, seconds=40)] == [long]
    assert fleet.metric("push_total", provider="apns",
                        outcome="expired") == fleet.metric(
        "push_total", provider="fcm", outcome="expired") == 1
    assert fleet.steps(short)[-1]["step"] == "push_expired" and len(device.sent) == 1


def test_retries_have_the_remaining_lifetime(start_push_fleet):
    """A retry must not restart the lifetime."""
    fleet = start_push_fleet()
    device = fleet.android()
    fleet.fcm.script(Respond(503), is_send_request, times=2)
    fleet.announce(device)
    device.next()
    lifetimes = [float(request.json["message"]["android"]["ttl"][:-1]) for request in device.sent]
    ends = {request.json["message"]["apns"]["headers"]["apns-expiration"]
            for request in device.sent}
    assert lifetimes[0] >= lifetimes[1] + 1 > lifetimes[2] + 2 and len(ends) == 1, lifetimes


def test_repeated_request_queues_no_second_push(start_push_fleet):
    """The Idempotency-Key returns the stored response."""
    fleet = start_push_fleet()
    device = fleet.ios()
    body = {"type": "DRIVER_APPROVED",
            "to": {"drivers": [device.owner.subject, device.owner.subject]}, "data": {}}
    first = fleet.dispatcher.post("/api/admin/notifications", body, key="once").json()
    again = fleet.dispatcher.post("/api/admin/notifications", body, key="once").json()
    assert first == again and len(first["data"]["notificationIds"]) == 1
    device.next(first["data"]["notificationIds"][0])
    fleet.expect_no_pushes(device)


def test_actions_do_not_wait_for_providers(start_push_fleet):
    fleet = start_push_fleet()
    device = fleet.ios()
    fleet.apns.script(Hang())
    started = time.monotonic()
    for _ in range(50):
        fleet.announce(device)
    assert time.monotonic() - started < 5
    wait_until(lambda: fleet.metric("push_queue_depth", provider="apns") > 0,
               "the queue is not empty")
