"""A Prometheus that scrapes a gateway every second, and promtool."""

import contextlib
import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from .deployed import DEPLOY
from .gateway import Gateway, yaml_flow

RULES = DEPLOY / "prometheus/fleetwire.rules.yaml"
LISTENING = re.compile(r'msg="Listening on" address=(\S+)')


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
        self.log_path = folder / "log"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                 "--web.listen-address=127.0.0.1:0"],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.url = self.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def wait_until_ready(self) -> str:
        """Returns the address, which is in the log. Prometheus listens before it is ready; until
        then it responds 503.
        """
        deadline = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < deadline:
            if listening := LISTENING.search(self.log_path.read_text()):
                url = f"http://{listening[1]}"
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{url}/-/ready", timeout=30).close()
                    return url
            time.sleep(0.05)
        raise AssertionError(self.log_path.read_text())

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

    def wait_for_none(self, expression: str, what: str, seconds: float = 60.0,
                      meanwhile: Callable[[], None] = lambda: None) -> None:
        """Waits until a query has no result."""
        self.wait_for(f"absent({expression})", what, seconds, meanwhile)

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
