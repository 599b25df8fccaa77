"""What the fleet's backend is told of pushes: `notification_failed` and `device_removed`."""

import pytest

from harness.push import apns, fcm
from harness.push.phones import Phone
from harness.push.scene import PushFleet, devices
from harness.receiver import Receiver, webhook


@pytest.fixture
def scene(pushing, own_receiver) -> PushFleet:
    """Each of both kinds goes to an endpoint of its own, and so do all kinds."""
    webhooks = [webhook(own_receiver.url + "/failed", events=["notification_failed"]),
                webhook(own_receiver.url + "/removed", events=["device_removed"]), webhook(own_receiver.url + "/all")]
    return pushing(first={"webhooks": webhooks})


def user(phone: Phone) -> str:
    return f"{phone.owner.role}:{phone.owner.subject}"


def is_told(receiver: Receiver, phone: Phone, notification: str, reason: str) -> None:
    provider = "apns" if phone.by_apns else "fcm"
    receiver.hear("/failed", None, "notification_failed", notificationId=notification, userId=user(phone), provider=provider, reason=reason)


def is_told_gone(receiver: Receiver, phone: Phone, masked: str, reason: str) -> None:
    provider = "apns" if phone.by_apns else "fcm"
    receiver.hear("/removed", None, "device_removed", userId=user(phone), provider=provider, token=masked, reason=reason)


def nothing_else(receiver: Receiver, scene: PushFleet) -> None:
    """What happens to somebody new is what is told next."""
    stranger = scene.ios()
    [device] = devices(stranger)
    is_told(receiver, stranger, scene.fails(stranger, apns.refusal(413, "PayloadTooLarge")), "PayloadTooLarge")
    stranger.unregister()
    is_told_gone(receiver, stranger, device["token"], "unregistered")


@pytest.mark.parametrize("kind, answer, reason", [
    ("ios", apns.refusal(413, "PayloadTooLarge"), "PayloadTooLarge"),
    ("android", fcm.error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.android.ttl"), "INVALID_ARGUMENT message.android.ttl")])
def test_a_push_that_fails(scene, own_receiver, kind, answer, reason):
    phone = scene.phone(kind)
    scene.warm(phone)
    is_told(own_receiver, phone, scene.fails(phone, answer, reason), reason)
    nothing_else(own_receiver, scene)


@pytest.mark.parametrize("kind, answer, reason", [
    ("ios", apns.refusal(400, "BadDeviceToken"), "BadDeviceToken"), ("android", fcm.error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED")])
def test_a_token_that_is_dead(scene, own_receiver, kind, answer, reason):
    phone = scene.phone(kind)
    scene.warm(phone)
    [device] = devices(phone)
    is_told(own_receiver, phone, scene.fails(phone, answer, reason), reason)
    is_told_gone(own_receiver, phone, device["token"], reason)
    assert phone.token not in "".join(post.body.decode() for post in own_receiver.history["/all"])
    nothing_else(own_receiver, scene)


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_who_logs_out(scene, own_receiver, kind):
    phone = scene.phone(kind)
    [device] = devices(phone)
    for _ in range(2):
        phone.unregister()
    is_told_gone(own_receiver, phone, device["token"], "unregistered")
    nothing_else(own_receiver, scene)


def test_a_token_that_goes_to_another(scene, own_receiver):
    phone = scene.android()
    [device] = devices(phone)
    loser = user(phone)
    phone.register(scene.driver())
    own_receiver.hear("/removed", None, "device_removed", userId=loser, provider="fcm", token=device["token"], reason="new_owner")
    nothing_else(own_receiver, scene)


def test_a_push_that_is_taken_is_no_news(scene, own_receiver):
    phone = scene.ios()
    scene.warm(phone)
    nothing_else(own_receiver, scene)
