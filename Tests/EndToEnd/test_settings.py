"""Settings of protocol features: valid values are accepted, invalid ones rejected by key name."""

import pytest

from harness.apps import FIRST
from harness.gateway import SERVER, expect_invalid_config, run

NO_SECRET = {"id": "1001", "key": "key1"}


VALID = {
    "features": {"client_events": True, "subscription_counts": True, "tls_only": True},
    "features off": {"client_events": False, "subscription_counts": False, "tls_only": False},
    "origins": {"allowed_origins": ["https://a.example", "http://localhost:3000"]},
    "any origin": {"allowed_origins": ["*"]},
    "limits": {
        "limits": {"connections": 10, "over_quota_close": 4004, "batch_events": 10,
                   "presence_members": 100, "presence_info_bytes": 1024,
                   "client_events_per_second": 10, "cache_bytes": 67108864}},
}


@pytest.mark.parametrize("more", VALID.values(), ids=VALID)
def test_valid_application_settings_are_accepted(config, more):
    result = run("check-config", "--config", config(apps=[FIRST.entry(**more)]))
    assert result.returncode == 0, result.stderr


def test_two_secrets_are_accepted(config):
    assert run("check-config", "--config",
               config(apps=[NO_SECRET | {"secrets": ["new", "old"]}])).returncode == 0


@pytest.mark.parametrize("seconds", [1, 120, 3600])
def test_C4_activity_seconds_from_1_to_3600_are_accepted(config, seconds):
    assert run("check-config", "--config",
               config(server=SERVER | {"activity_seconds": seconds})).returncode == 0


def test_C4_environment_overrides_activity_seconds(config):
    assert run("check-config", "--config", config(),
               FLEETWIRE_SERVER_ACTIVITY_SECONDS="60").returncode == 0
    result = run("check-config", "--config", config(), FLEETWIRE_SERVER_ACTIVITY_SECONDS="0")
    assert result.returncode == 78 and "activity_seconds" in result.stderr.lower()


def test_C11_tls_files_are_accepted(config, tls):
    assert run("check-config", "--config",
               config(server=SERVER | {"tls": tls, "behind_proxy": True})).returncode == 0


INVALID = {
    "activity_seconds 0": ({"server": SERVER | {"activity_seconds": 0}}, ["activity_seconds"]),
    "an unknown key of tls": ({"server": SERVER | {"tls": {"certificat": "c.pem"}}},
                              ["certificat", "certificate"]),
    "trusted_proxies: name": ({"server": SERVER | {"trusted_proxies": ["10.0.0.0/8", "proxy"]}},
                              ["trusted_proxies[1]", "proxy", "10.0.0.0/8"]),
}


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("sections, words", INVALID.values(), ids=INVALID)
def test_invalid_setting_exits_78_and_names_the_key(config, command, sections, words):
    expect_invalid_config(command, config(**sections), *words)


@pytest.mark.parametrize("given, missing", [("certificate", "key"), ("key", "certificate")])
def test_C11_certificate_and_key_are_both_required(config, tls, given, missing):
    result = run("check-config", "--config", config(server=SERVER | {"tls": {given: tls[given]}}))
    assert result.returncode == 78, result
    assert f"server.tls.{missing}" in result.stderr, result.stderr


@pytest.mark.parametrize("content", [None, "", "no certificate"],
                         ids=["missing", "empty", "nonsense"])
def test_C11_invalid_certificate_exits_78(config, tls, tmp_path, content):
    """Detected at startup at the latest."""
    path = tmp_path / "broken.pem"
    if content is not None:
        path.write_text(content)
    result = run("serve", "--config",
                 config(server=SERVER | {"tls": tls | {"certificate": str(path)}}))
    assert result.returncode == 78, result
    assert "server.tls.certificate" in result.stderr and "listening" not in result.stdout
