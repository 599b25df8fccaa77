"""A Prometheus that scrapes gateways every second, and promtool."""

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


def shortened(*names: str) -> str:
    """Returns these rules with seconds instead of minutes, and an age of 5 s instead of 300 s."""
    text = RULES.read_text()
    rules = re.split(r"(?=      - alert: )", text)
    kept = [re.split(r"\n\n|\n  - name", rule)[0] for rule in rules[1:]
            if re.match(r"      - alert: (\w+)", rule)[1] in names]
    assert len(kept) == len(names)
    whole = "groups:\n  - name: shortened\n    rules:\n" + "\n".join(kept) + "\n"
    whole = re.sub(r"\[(\d+)m\]", lambda match: f"[{int(match[1]) * 6}s]", whole)
    whole = re.sub(r"for: (\d+)m", lambda match: f"for: {match[1]}s", whole)
    return whole.replace("> 300", "> 5")


def firing(alert: str) -> str:
    return f'ALERTS{{alertname="{alert}", alertstate="firing"}}'


class Prometheus:
    """`rules` is the text of a file of rules. Without `token`, gateways serve requests of this machine."""

    def __init__(self, folder: Path, gateways: Gateway | list[Gateway], token: str | None,
                 rules: str = "groups: []"):
        folder.mkdir(parents=True)
        (folder / "rules.yaml").write_text(rules)
        gateways = gateways if isinstance(gateways, list) else [gateways]
        target = {"job_name": "fleetwire",
                  "static_configs": [{"targets": [each.url.partition("//")[2] for each in gateways]}]}
        if token:
            (folder / "token").write_text(token)
            target["authorization"] = {"credentials_file": "token"}
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
