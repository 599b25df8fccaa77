"""Webhooks about pushes: `notification_failed` and `device_removed`."""

import pytest

from harness.push import apns, fcm
from harness.push.devices import Device
from harness.push.push_fleet import PushFleet, registered_devices
from harness.webhook_receiver import WebhookReceiver, webhook


@pytest.fixture
def fleet(start_push_fleet, webhook_receiver) -> PushFleet:
    """One endpoint per event type, and one for all."""
    webhooks = [webhook(webhook_receiver.url + "/failed", events=["notification_failed"]),
                webhook(webhook_receiver.url + "/removed", events=["device_removed"]),
                webhook(webhook_receiver.url + "/all")]
    return start_push_fleet(first={"webhooks": webhooks})


def user(device: Device) -> str:
    return f"{device.owner.role}:{device.owner.subject}"


def expect_failed(receiver: WebhookReceiver, device: Device, notification: str,
                  reason: str) -> None:
    provider = "apns" if device.uses_apns else "fcm"
    receiver.expect_event("/failed", None, "notification_failed", notificationId=notification,
                          userId=user(device), provider=provider, reason=reason)


def expect_removed(receiver: WebhookReceiver, device: Device, masked: str, reason: str) -> None:
    provider = "apns" if device.uses_apns else "fcm"
    receiver.expect_event("/removed", None, "device_removed", userId=user(device),
                          provider=provider, token=masked, reason=reason)


def expect_nothing_else(receiver: WebhookReceiver, fleet: PushFleet) -> None:
    """Expects no other event: those of a new device come next."""
    other = fleet.ios()
    [registration] = registered_devices(other)
    expect_failed(receiver, other,
                  fleet.fail_next_push(other, apns.refusal(413, "PayloadTooLarge")),
                  "PayloadTooLarge")
    other.unregister()
    expect_removed(receiver, other, registration["token"], "unregistered")


@pytest.mark.parametrize("kind, response, reason", [
    ("ios", apns.refusal(413, "PayloadTooLarge"), "PayloadTooLarge"),
    ("android", fcm.error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.android.ttl"),
     "INVALID_ARGUMENT message.android.ttl")])
def test_failed_push_sends_notification_failed(fleet, webhook_receiver, kind, response, reason):
    device = fleet.device(kind)
    fleet.warm_up(device)
    expect_failed(webhook_receiver, device, fleet.fail_next_push(device, response, reason), reason)
    expect_nothing_else(webhook_receiver, fleet)


@pytest.mark.parametrize("kind, response, reason", [
    ("ios", apns.refusal(400, "BadDeviceToken"), "BadDeviceToken"),
    ("android", fcm.error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED")])
def test_invalid_token_sends_both_events(fleet, webhook_receiver, kind, response, reason):
    device = fleet.device(kind)
    fleet.warm_up(device)
    [registration] = registered_devices(device)
    expect_failed(webhook_receiver, device, fleet.fail_next_push(device, response, reason), reason)
    expect_removed(webhook_receiver, device, registration["token"], reason)
    assert device.token not in "".join(post.body.decode()
                                       for post in webhook_receiver.history["/all"])
    expect_nothing_else(webhook_receiver, fleet)


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_unregistering_sends_device_removed(fleet, webhook_receiver, kind):
    device = fleet.device(kind)
    [registration] = registered_devices(device)
    for _ in range(2):
        device.unregister()
    expect_removed(webhook_receiver, device, registration["token"], "unregistered")
    expect_nothing_else(webhook_receiver, fleet)


def test_new_owner_sends_device_removed(fleet, webhook_receiver):
    device = fleet.android()
    [registration] = registered_devices(device)
    former_owner = user(device)
    device.register(fleet.driver())
    webhook_receiver.expect_event("/removed", None, "device_removed", userId=former_owner,
                                  provider="fcm", token=registration["token"], reason="new_owner")
    expect_nothing_else(webhook_receiver, fleet)


def test_accepted_push_sends_nothing(fleet, webhook_receiver):
    device = fleet.ios()
    fleet.warm_up(device)
    expect_nothing_else(webhook_receiver, fleet)
