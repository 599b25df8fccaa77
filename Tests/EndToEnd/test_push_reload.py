"""SIGHUP replaces the keys of push providers."""

import signal

from harness.fleet import wait_until
from harness.push.apns import APNsFake
from harness.tokens import ES256, RS256


def reload(fleet, event: str) -> dict:
    fleet.gateway.process.send_signal(signal.SIGHUP)
    return fleet.wait_for_log_entry(f"'event': '{event}'")


def test_reload_uses_the_new_apns_key(start_push_fleet, providers):
    fleet = start_push_fleet()
    device = fleet.ios()
    fleet.warm_up(device)
    key = ES256()
    APNsFake.write_key(key, providers.key_file)
    fleet.apns.key = fleet.sandbox.key = key
    reload(fleet, "reloaded")
    assert fleet.log_entries("reload_incomplete") == []
    fleet.wait_for_accepted(fleet.announce(device))
    device.next()
    assert len(fleet.apns.provider_tokens) == 2


def test_reload_uses_the_new_service_account(start_push_fleet, providers):
    fleet = start_push_fleet()
    device = fleet.android()
    fleet.warm_up(device)
    assert len(fleet.fcm.token_requests) == 1
    fleet.fcm.key = RS256()
    fleet.fcm.write_account(providers.account_file)
    reload(fleet, "reloaded")
    fleet.wait_for_accepted(fleet.announce(device))
    device.next()
    assert len(fleet.fcm.token_requests) == 2


def test_reload_without_a_new_key_keeps_the_credentials(start_push_fleet, providers):
    """Apple refuses tokens that are issued in quick succession."""
    fleet = start_push_fleet()
    devices = fleet.ios(), fleet.android()
    fleet.warm_up(*devices)
    reload(fleet, "reloaded")
    fleet.warm_up(*devices)
    assert len(fleet.apns.provider_tokens) == 1 and len(fleet.fcm.token_requests) == 1


def test_reload_with_an_unusable_key_changes_nothing(start_push_fleet, providers):
    fleet = start_push_fleet()
    devices = fleet.ios(), fleet.android()
    fleet.warm_up(*devices)
    whole = providers.account_file.read_text(), providers.key_file.read_bytes()
    providers.key_file.write_text("no key")
    assert "push.apns.key_file" in reload(fleet, "reload_failed")["reason"]
    fleet.warm_up(*devices)
    providers.key_file.write_bytes(whole[1])
    providers.account_file.write_text(whole[0].replace("PRIVATE KEY", "PRIVATE THING"))
    fleet.gateway.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(fleet.log_entries("push.fcm.service_account_file", "error")) == 1,
               "the log names the unusable service account")
    fleet.warm_up(*devices)
    assert len(fleet.apns.provider_tokens) == 1 and len(fleet.fcm.token_requests) == 1


def test_pushes_under_way_during_a_reload_are_sent_once(start_push_fleet, providers):
    fleet = start_push_fleet()
    device = fleet.android()
    fleet.warm_up(device)
    notifications = [fleet.announce(device) for _ in range(100)]
    fleet.fcm.key = RS256()
    fleet.fcm.write_account(providers.account_file)
    reload(fleet, "reloaded")
    for notification in notifications:
        fleet.wait_for_accepted(notification)
    assert len(fleet.fcm.sent_to(device.token)) == 101


def test_disabling_a_provider_takes_effect_after_a_restart_only(start_push_fleet, providers):
    """For example, the file is truncated while it is being copied."""
    fleet = start_push_fleet()
    devices = fleet.ios(), fleet.android()
    fleet.warm_up(*devices)
    config = fleet.gateway.config
    whole = config.read_text()
    config.write_text("".join(line for line in whole.splitlines(True) if not line.startswith("push:")))
    reload(fleet, "reload_incomplete")
    fleet.warm_up(*devices)
    assert all(fleet.lane(lane)["state"] == "running" for lane in ("apns", "apns-sandbox", "fcm"))
    config.write_text(whole)
