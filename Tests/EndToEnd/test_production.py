"""What `serve` and `check-config` refuse because it would let strangers in."""

import contextlib
import socket
import time

import pytest

from harness.api import Api
from harness.apps import FIRST
from harness.fleet import Caller, error_message, wait_until
from harness.gateway import SERVER, expect_invalid_config, logs_limit, run
from harness.jwks import KeyServer
from harness.tokens import RS256, firebase_claims

SECRET = "0123456789abcdef0123456789abcdef"
STORE = {"encryption_keys": [{"id": "k", "key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}]}
SAFE = {"server": SERVER, "apps": [FIRST.entry(secret=SECRET)], "store": STORE}


def refused(command: str, config, *more: str) -> str:
    """Runs a command that must exit with 78 and print nothing but errors. Returns these."""
    result = run(command, "--config", config, *more)
    assert result.returncode == 78 and result.stdout == "", result
    return result.stderr


@pytest.mark.parametrize("command", ["serve", "check-config"])
def test_production_names_all_unsafe_keys_at_once(config, command):
    unsafe = config(server=SERVER | {"host": "0.0.0.0"},
                    apps=[FIRST.entry(), {"id": "2", "key": "k2", "secrets": [SECRET, "short"]}],
                    channels=[{"pattern": "*", "access": "open"}],
                    auth={"jwt": {"secret": "development-secret-change-me-0123456789"},
                          "firebase": {"project_id": "p"}})
    errors = refused(command, unsafe, "--production")
    for key in ("server.tls", "apps[0].secret", "apps[1].secrets[1]", "auth.jwt.secret",
                "channels[0].access", "auth.firebase.require_claim", "store.encryption_keys"):
        assert f"test.yaml: {key}: expected" in errors, (key, errors)
    assert len(errors.splitlines()) == 7 and SECRET not in errors


def test_production_accepts_a_safe_configuration(config):
    for sections in (SAFE, SAFE | {"server": SERVER | {"host": "0.0.0.0", "behind_proxy": True,
                                                                "trusted_proxies": ["10.0.0.1"]}}):
        result = run("check-config", "--production", "--config", config(**sections))
        assert result.returncode == 0, result


def test_production_serves_and_limits_the_handshakes_of_an_address(start_gateway, closing):
    gateway = start_gateway(production=True, first={"secret": SECRET}, sections={"store": STORE})
    assert closing(Api(gateway)).get("/healthz").status == 200

    def is_limited() -> bool:
        for _ in range(200):
            socket.create_connection(gateway.address).close()
        return logs_limit(gateway, "handshakes_per_ip_per_second")

    wait_until(is_limited, "the log reports the limit")


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("sections, key", [
    ({"apps": [FIRST.entry()]}, "apps[0].secret"),
    ({"apps": [FIRST.entry(secret=SECRET)],
      "auth": {"jwt": {"secret": "development-secret-change-me-0123456789"}}}, "auth.jwt.secret")],
                         ids=["app", "tokens"])
def test_demo_secrets_are_refused_on_a_public_address(config, command, sections, key):
    public = config(server=SERVER | {"host": "0.0.0.0"}, **sections)
    expect_invalid_config(command, public, key)
    result = run("check-config", "--config", public, FLEETWIRE_SERVER_HOST="127.0.0.1")
    assert result.returncode == 0, result


def test_other_commands_work_with_an_unsafe_configuration(config):
    public = config(server=SERVER | {"host": "0.0.0.0"},
                    auth={"jwt": {"secret": "development-secret-change-me-0123456789"}})
    result = run("token", "--config", public, "--role", "driver", "--subject", "42")
    assert result.returncode == 0 and result.stdout.count(".") == 2, result


def test_firebase_users_need_the_required_claim(start_gateway, closing):
    """Without the claim the token is valid, so apps must not take the answer for a logout."""
    signer = RS256()
    server = closing(KeyServer(certificates={"f1": signer.certificate()}))
    gateway = start_gateway(sections={"auth": {"firebase": {
        "project_id": "fleet-test", "certificates_url": f"{server.url}/certificates",
        "require_claim": "driver_id"}}})

    def call(**more):
        token = signer.token(firebase_claims("fleet-test", **more), kid="f1")
        with contextlib.closing(Caller(gateway, bearer=token)) as caller:
            return caller.request("GET", "/api/driver/jobs")

    refusal = call()
    assert refusal.status == 403 and "driver_id" in error_message("/api/driver/jobs", refusal)
    assert call(exp=int(time.time()) - 1000).status == 401
    assert call(driver_id="42").status == 200
    assert call(role="driver").status == 200
