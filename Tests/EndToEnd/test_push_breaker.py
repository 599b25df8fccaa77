"""Rejections of a kind that is normally rare: they concern a device or a push or, if most pushes get
them, the configuration.
"""

from harness.push.apns import refusal, to
from harness.push.fcm import error
from harness.push.push_fleet import registered_devices


def test_restart_ends_the_quarantine(start_push_fleet):
    """The operator may have corrected the configuration before the restart: nothing is lost."""
    fleet = start_push_fleet("kept")
    devices = [fleet.ios() for _ in range(6)]
    fleet.apns.script(refusal(400, "DeviceTokenNotForTopic"))
    ids = fleet.announce_to_drivers([device.owner.subject for device in devices])
    fleet.apns.wait_until(lambda: len(fleet.apns.requests) == 6, "six rejections")
    fleet.gateway.stop()
    fleet.apns.clear_rules()
    fleet.apns.invalid_tokens.clear()
    fleet = start_push_fleet("kept")
    for notification in ids:
        fleet.wait_for_accepted(notification)
    assert fleet.metric("push_token_removals_total") == 0


def test_single_invalid_token_does_not_stop_the_lane(start_push_fleet):
    fleet = start_push_fleet()
    device, other = fleet.ios(), fleet.ios()
    fleet.apns.script(refusal(400, "DeviceTokenNotForTopic"), to(device.token), times=1)
    [_, notification] = [fleet.announce(device), fleet.announce(other)]
    other.next(notification)
    fleet.wait_for_metric("push_token_removals_total", 1, reason="DeviceTokenNotForTopic")
    assert registered_devices(device) == [] and fleet.lane("apns")["state"] == "running"


def test_one_user_with_invalid_tokens_does_not_stop_the_lane(start_push_fleet):
    fleet = start_push_fleet()
    hostile, other = fleet.driver(), fleet.ios()
    invalid = [fleet.ios(hostile) for _ in range(20)]
    for device in invalid:
        fleet.apns.script(refusal(400, "DeviceTokenNotForTopic"), to(device.token))
    for _ in range(3):
        fleet.announce(hostile)
        other.next(fleet.announce(other))
    fleet.wait_for_metric("push_token_removals_total", 20, reason="DeviceTokenNotForTopic")
    assert fleet.lane("apns")["state"] == "running"
    assert fleet.log_entries("rejects most pushes", "error") == []
