"""Encryption keys of device tokens (`store.encryption_keys`): the first encrypts, all decrypt."""

import base64

import pytest

from harness.apps import FIRST
from harness.fleet import wait_until
from harness.gateway import run, write_config


def key(name: str) -> dict:
    return {"id": name, "key": base64.b64encode(name.encode().ljust(32, b".")).decode()}


def stored_key_ids(fleet) -> list[str]:
    return [row[0] for row in fleet.gateway.query(
        "SELECT DISTINCT key_id FROM devices ORDER BY key_id")]


def test_older_key_decrypts_until_all_tokens_are_reencrypted(start_push_fleet):
    fleet = start_push_fleet("kept", store={"encryption_keys": [key("old")]})
    devices = [fleet.ios() for _ in range(20)]
    assert stored_key_ids(fleet) == ["old"]
    fleet.gateway.stop()
    fleet = start_push_fleet("kept", store={"encryption_keys": [key("new"), key("old")]})
    for device in devices:
        device.next(fleet.announce(device))
    wait_until(lambda: stored_key_ids(fleet) == ["new"],
               "all tokens are encrypted with the first key", seconds=60)
    fleet.gateway.stop()
    fleet = start_push_fleet("kept", store={"encryption_keys": [key("new")]})
    for device in devices:
        device.next(fleet.announce(device))


@pytest.mark.parametrize("other", [key("second"), {"id": "first", "key": key("second")["key"]}],
                         ids=["of another name", "of the same name"])
def test_missing_key_prevents_startup(start_push_fleet, other):
    """The error names the missing key and the setting."""
    fleet = start_push_fleet("kept", store={"encryption_keys": [key("first")]})
    device = fleet.ios()
    fleet.gateway.stop()
    config = write_config(fleet.gateway.config, server={"host": "127.0.0.1", "port": 0},
                          apps=[FIRST.entry()],
                          **fleet.providers.sections(store={"encryption_keys": [other]}))
    result = run("serve", "--config", config)
    assert result.returncode not in (0, None) and "listening" not in result.stdout, result
    assert ("first" in result.stderr and "encryption_keys" in result.stderr
            and "Fatal error" not in result.stderr), result.stderr
    assert other["key"] not in result.stderr
    fleet = start_push_fleet("kept", store={"encryption_keys": [key("first")]})
    device.next(fleet.announce(device))
