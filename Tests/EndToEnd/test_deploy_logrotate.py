"""deploy/logrotate/fleetwire: for those who keep the log in a file."""

import os
import shutil
import signal
import subprocess

import pytest

from harness.deployed import DEPLOY, DeployedGateway
from harness.fleet import wait_until
from harness.gateway import check_log


def test_no_line_is_lost_when_the_log_is_rotated(tmp_path):
    program = shutil.which("logrotate") or shutil.which("logrotate", path="/usr/sbin")
    if not program:
        pytest.fail("no logrotate on this machine: run dev/packages test")
    gateway = DeployedGateway(tmp_path / "etc")
    rules = tmp_path / "rules"
    text = (DEPLOY / "logrotate/fleetwire").read_text()
    rules.write_text(text.replace("/var/log/fleetwire.log", str(gateway.log_path)))
    rules.chmod(0o644)
    wait_until(lambda: '"listening"' in gateway.log(), "the log has the start")
    subprocess.run([program, "--force", "--state", tmp_path / "state", rules], check=True,
                   capture_output=True)
    assert gateway.log() == ""
    os.kill(gateway.process.pid, signal.SIGHUP)
    wait_until(lambda: '"reloaded"' in gateway.log(), "the log has the reload")
    rotated = subprocess.run(["zcat", f"{gateway.log_path}.1.gz"], check=True, capture_output=True,
                             text=True).stdout
    assert "listening" in [entry["event"] for entry in check_log(rotated)]
    gateway.stop()
