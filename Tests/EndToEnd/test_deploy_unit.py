"""deploy/systemd/fleetwire.service, and the production configuration that it starts."""

import ctypes
import errno
import os
import re
import shutil
import subprocess

import pytest

from harness.api import Api, event_body
from harness.client import Client
from harness.deployed import (CONFIG, DEPLOY, SECRETS, UNIT, DeployedGateway, install,
                              skip_unless_release)
from harness.fleet import Caller, wait_until
from harness.gateway import BINARY, run
from harness.service_manager import Manager


@pytest.fixture
def deploy(tmp_path, closing):
    """Starts the gateway as the unit does."""
    started = []

    def start(**settings) -> DeployedGateway:
        started.append(DeployedGateway(tmp_path / "etc", **settings))
        return started[-1]

    yield start
    for gateway in started:
        gateway.stop()


@pytest.fixture(scope="module")
def systemd_analyze() -> str:
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("no systemd-analyze on this machine")
    return program


def test_systemd_accepts_the_units(systemd_analyze, tmp_path):
    """Only the program's path is another one here. The manual page is not installed."""
    unit = tmp_path / "fleetwire.service"
    text = (DEPLOY / "systemd/fleetwire.service").read_text()
    unit.write_text(text.replace("/usr/local/bin/fleetwire", str(BINARY)))
    socket_unit = shutil.copy(DEPLOY / "systemd/fleetwire.socket", tmp_path)
    result = subprocess.run([systemd_analyze, "verify", "--man=no", unit, socket_unit], capture_output=True,
                            text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_unit_is_hardened(systemd_analyze):
    """The exposure of a service without any of these directives is 9.6."""
    result = subprocess.run(
        [systemd_analyze, "security", "--offline=true", "--no-pager", "--threshold=13",
         DEPLOY / "systemd/fleetwire.service"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_limits_of_the_unit_fit_the_configuration():
    settings = dict(re.findall(r"^  (\w+): +(\d+)", CONFIG.read_text(), re.MULTILINE))
    hard_limit = int(UNIT.value("LimitNOFILE").split(":")[1])
    assert hard_limit >= int(settings["connections"]) + 100
    assert int(UNIT.value("TimeoutStopSec")) >= int(settings["drain_seconds"]) + 10


def test_check_config_accepts_the_production_configuration(tmp_path):
    result = run("check-config", "--production", "--config", install(tmp_path / "etc"))
    assert result.returncode == 0 and "warning" not in result.stdout, result


@pytest.mark.parametrize("name, key", list(zip(SECRETS, [
    "apps[0].secret", "auth.jwt.secret", "store.encryption_keys[0].key", "metrics.token"])))
def test_check_config_names_a_missing_secret(tmp_path, name, key):
    config = install(tmp_path / "etc")
    (config.parent / "secrets" / name).unlink()
    result = run("check-config", "--production", "--config", config)
    assert result.returncode == 78 and f"{key}: cannot read" in result.stderr, result


def test_credentials_of_systemd_are_accepted(tmp_path):
    config = install(tmp_path / "etc")
    config.write_text(config.read_text().replace("file:secrets/",
                                                 "file:${CREDENTIALS_DIRECTORY}/"))
    folder = (config.parent / "secrets").rename(tmp_path / "credentials")
    result = run("check-config", "--production", "--config", config,
                 CREDENTIALS_DIRECTORY=str(folder))
    assert result.returncode == 0, result.stderr


def test_systemd_hears_of_start_reload_and_stop(deploy, closing, tmp_path):
    """With Type=notify, systemd expects no message about a reload."""
    assert UNIT.value("Type") == "notify"
    manager = closing(Manager(tmp_path))
    microseconds = str(int(UNIT.value("WatchdogSec")) * 1_000_000)
    gateway = deploy(variables=manager.variables | {"WATCHDOG_USEC": microseconds})
    assert [manager.next() for _ in range(2)] == ["READY=1", "WATCHDOG=1"]
    assert gateway.reload() == 0
    wait_until(lambda: '"reloaded"' in gateway.log(), "the log has the reload")
    gateway.terminate()
    assert set(manager.until_stopping()) <= {"WATCHDOG=1", "STOPPING=1"}


def test_reload_fails_if_the_configuration_is_invalid(deploy, closing):
    gateway = deploy()
    gateway.config.write_text(gateway.config.read_text().replace("behind_proxy", "behind_proxi"))
    assert gateway.reload() == 78
    assert closing(Api(gateway)).get("/readyz").status == 200
    assert "reload" not in gateway.log(), "the gateway got no signal"


def use(gateway: DeployedGateway, closing) -> None:
    """Makes the gateway serve, store and publish."""
    client = closing(Client.dial(gateway, gateway.app.key, {"X-Forwarded-Proto": "https"}))
    client.expect_established()
    assert closing(Api(gateway, gateway.app)).post(event_body("c", "e")).status == 200
    caller = closing(Caller(gateway, bearer=gateway.token("admin", "ann")))
    caller.expect_ok("POST", "/api/admin/orders/A-1/assign-driver", {"driverId": "42"})
    client.expect_nothing()


def test_the_gateway_serves_with_MemoryDenyWriteExecute(deploy, closing):
    """The kernel's own form of that restriction, which systemd builds from a system call filter."""
    skip_unless_release()
    assert UNIT.value("MemoryDenyWriteExecute") == "yes"
    set_mdwe, refuse_exec_gain = 65, 1
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    trial = subprocess.run(["true"], preexec_fn=lambda: os._exit(
        ctypes.get_errno() if prctl(set_mdwe, refuse_exec_gain, 0, 0, 0) else 0))
    if trial.returncode == errno.EINVAL:
        pytest.skip("the kernel cannot refuse executable memory (before Linux 6.3)")
    use(deploy(prepare=lambda: prctl(set_mdwe, refuse_exec_gain, 0, 0, 0)), closing)


def allowed_calls(systemd_analyze: str) -> set[str]:
    """Returns the system calls that the unit's SystemCallFilter allows."""
    listing = subprocess.run([systemd_analyze, "syscall-filter", "--no-pager"], check=True,
                             capture_output=True, text=True).stdout
    groups = {lines[0]: [line.strip() for line in lines[1:] if not line.strip().startswith("#")]
              for lines in (part.splitlines() for part in listing.split("\n\n"))
              if lines and lines[0].startswith("@")}

    def members(name: str) -> set[str]:
        return set().union(*map(members, groups[name])) if name.startswith("@") else {name}

    calls: set[str] = set()
    for value in UNIT.values("SystemCallFilter"):
        for name in value.lstrip("~").split():
            calls = calls - members(name) if value.startswith("~") else calls | members(name)
    return calls


def test_the_gateway_needs_only_allowed_system_calls(deploy, closing, systemd_analyze,
                                                     strace_program, tmp_path):
    trace = tmp_path / "trace"
    gateway = deploy(wrapper=[strace_program, "-D", "-f", "-qq", "-o", str(trace)])
    use(gateway, closing)
    assert gateway.reload() == 0
    gateway.stop()
    text = trace.read_text()
    calls = set(re.findall(r"^\d+ +(\w+)\(", text, re.MULTILINE))
    families = set(re.findall(r" socket\((AF_\w+)", text))
    assert "sendto" in calls and "AF_INET" in families, "the trace has the gateway's threads"
    # SQLite gives its files to the directory's owner only if it runs as root, as tests may do.
    assert calls - allowed_calls(systemd_analyze) <= {"fchown"}
    assert families <= set(UNIT.value("RestrictAddressFamilies").split())
