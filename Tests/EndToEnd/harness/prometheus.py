"""A Prometheus that scrapes a gateway every second, and promtool."""

import contextlib
import json
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from .deployed import DEPLOY
from .gateway import Gateway, yaml_flow

RULES = DEPLOY / "prometheus/fleetwire.rules.yaml"


def promtool(*arguments: str, folder: Path = RULES.parent) -> str:
    """Runs promtool, which must succeed. Returns its output."""
    result = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True,
                            timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def names_in(expression: str) -> set[str]:
    """Returns the families that an expression names."""
    return {re.sub("_(bucket|sum|count)$", "", name)
            for name in re.findall(r"\bfleetwire_([a-z_]+)", expression)}


class Prometheus:
    """`rules` is the text of a file of rules."""

    def __init__(self, folder: Path, gateway: Gateway, token: str, rules: str = "groups: []"):
        folder.mkdir(parents=True)
        (folder / "token").write_text(token)
        (folder / "rules.yaml").write_text(rules)
        target = {"job_name": "fleetwire", "authorization": {"credentials_file": "token"},
                  "static_configs": [{"targets": [f"{gateway.host}:{gateway.port}"]}]}
        settings = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": ["rules.yaml"], "scrape_configs": [target]}
        (folder / "prometheus.yml").write_text(
            "".join(f"{name}: {yaml_flow(value)}\n" for name, value in settings.items()))
        self.log = (folder / "log").open("w")
        self.process, self.url = self.start(folder)

    def start(self, folder: Path) -> tuple[subprocess.Popen, str]:
        """Prometheus does not print a port that it chose itself, so a free one is tried; another
        process may take it first.
        """
        for _ in range(10):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            process = subprocess.Popen(
                ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"],
                cwd=folder, stdout=self.log, stderr=self.log)
            url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/-/ready", timeout=5).close()
                    return process, url
                time.sleep(0.05)
            process.kill()
            process.wait()
        raise AssertionError((folder / "log").read_text())

    def query(self, expression: str) -> list[dict]:
        """Returns the result of an instant query: `metric` and `value` of each series."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{query}", timeout=30) as response:
            body = json.load(response)
        assert body["status"] == "success" and not body.get("warnings"), body
        assert body["data"]["resultType"] == "vector", expression
        return body["data"]["result"]

    def wait_for(self, expression: str, what: str, seconds: float = 60.0,
                 meanwhile: Callable[[], None] = lambda: None) -> list[dict]:
        """Waits until a query has a result. Calls `meanwhile` before each look."""
        deadline = time.monotonic() + seconds
        while not (found := self.query(expression)):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            meanwhile()
            time.sleep(0.2)
        return found

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.log.close()
