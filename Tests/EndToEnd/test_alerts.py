"""The alerts of deploy/prometheus: by promtool, and in a Prometheus that scrapes a gateway."""

import itertools
import re
import sqlite3
import subprocess

import pytest

from harness.deployed import DEPLOY
from harness.fleet import unique_id
from harness.gateway import run
from harness.prometheus import RULES, Prometheus, names_in, promtool
from harness.push import apns
from test_metrics_list import documented

TESTS = RULES.with_name("fleetwire.rules.test.yaml")
RUNBOOKS = DEPLOY.parent / "docs/runbooks.md"
TOKEN = "a-token-of-prometheus"


def alerts() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text())


# The files


def test_promtool_accepts_rules_and_configuration(tmp_path):
    promtool("check", "rules", RULES.name)
    configuration = (RULES.parent / "prometheus.yml").read_text()
    (tmp_path / "token").write_text("x")
    (tmp_path / RULES.name).write_text(RULES.read_text())
    file = "credentials_file: /etc/prometheus/fleetwire_token"
    assert configuration.count(file) == 1
    (tmp_path / "prometheus.yml").write_text(
        configuration.replace(file, "credentials_file: token"))
    promtool("check", "config", "prometheus.yml", folder=tmp_path)


def test_alerts_fire_and_stay_silent_in_their_tests():
    promtool("test", "rules", TESTS.name)


@pytest.mark.parametrize("alert", alerts())
def test_its_tests_notice_a_moved_threshold(tmp_path, alert):
    """Moves each threshold, and each least number of cases, down and up by a twentieth; where a
    share must be high, by a twentieth of what is missing.
    """
    text = RULES.read_text()
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    rule = re.search(rf"- alert: {alert}\n.*?labels:", text, re.DOTALL)
    thresholds = list(re.compile(r"([<>]=?) ([0-9.]+)").finditer(text, *rule.span()))
    assert thresholds
    for found, factor in itertools.product(thresholds, (0.95, 1.05)):
        value = float(found[2])
        moved = 1 - (1 - value) * factor if found[1] == "<" else value * factor
        (tmp_path / RULES.name).write_text(f"{text[:found.start(2)]}{moved:g}{text[found.end():]}")
        result = subprocess.run(["promtool", "test", "rules", TESTS.name], cwd=tmp_path,
                                capture_output=True, text=True, timeout=120)
        assert result.returncode != 0, f"no test notices {moved:g} for {found[0]}"
        assert 'ALERTS{alertstate=' in result.stdout + result.stderr, result


def test_every_alert_has_its_runbook():
    sections = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    assert sorted(sections) == sorted(alerts())
    links = re.findall(r"runbook: docs/runbooks.md#(\w+)", RULES.read_text())
    assert links == [alert.lower() for alert in alerts()]


def test_expressions_name_existing_metrics():
    assert names_in(RULES.read_text()) <= documented().keys()


def test_runbooks_and_descriptions_name_what_exists():
    """Each word with an underscore, and what `journal` looks for, is a metric or in the gateway's
    sources: an event of the log, or a field of one.
    """
    sources = "".join(file.read_text() for file in (DEPLOY.parent / "Sources").rglob("*.swift"))
    runbooks = RUNBOOKS.read_text()
    text = runbooks + "".join(re.findall("description: .*", RULES.read_text()))
    words = {re.sub("^fleetwire_|_bucket$", "", word)
             for word in re.findall(r"[a-z]+(?:_[a-z]+)+", text)} - {"histogram_quantile"}
    for looked_for in re.findall(r"`journal '?([a-z_|]+)'?`", runbooks):
        words |= set(looked_for.split("|"))
    assert {word for word in words - documented().keys() if f'"{word}"' not in sources} == set()


def test_commands_and_queries_of_runbooks_run(watched):
    """All but those of the system: `journal`, `df` and `systemctl`."""
    fleet, prometheus = watched("FleetwireErrorRate")
    code, response = fleet.order(fleet.driver())
    words = {"CODE": code, "ID": response["data"]["notificationIds"][0]}
    ran = set()
    for name, rest in re.findall(r"`(ops|fleetwire|sum|histogram_quantile)([ (][^`]+)`",
                                 RUNBOOKS.read_text()):
        ran.add(name)
        if name == "ops":
            fleet.ops().expect_ok("GET", "/api/ops/" + rest.strip(" '"))
        elif name == "fleetwire":
            arguments = [words.get(word, word) for word in rest.split()]
            done = run(*arguments, "--config", fleet.gateway.config)
            assert done.returncode == 0 and done.stdout, done
        else:
            prometheus.query(name + rest)
    assert ran == {"ops", "fleetwire", "sum", "histogram_quantile"}


def test_readme_lists_every_alert():
    text = (DEPLOY.parent / "README.md").read_text()
    assert set(re.findall(r"`(Fleetwire\w+)`", text)) == set(alerts())


# In a Prometheus


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


@pytest.fixture
def watched(start_push_fleet, tmp_path, closing):
    """Starts a fleet and a Prometheus with shortened rules."""
    def start(*names: str) -> tuple:
        fleet = start_push_fleet(metrics={"token": TOKEN})
        return fleet, closing(Prometheus(tmp_path / "prometheus", fleet.gateway, TOKEN,
                                         shortened(*names)))

    return start


def firing(alert: str) -> str:
    return f'ALERTS{{alertname="{alert}", alertstate="firing"}}'


def logs(fleet, event: str) -> bool:
    """Returns whether `journal` of the runbooks finds such lines."""
    return f'"event":"{event}"' in fleet.gateway.log()


def assign(fleet, *statuses: int) -> None:
    """Assigns 20 orders, whose responses must have one of these statuses."""
    for _ in range(20):
        path = f"/api/admin/orders/{unique_id('o')}/assign-driver"
        response = fleet.dispatcher.post(path, {"driverId": "42"})
        assert response.status in statuses, response


@pytest.mark.timeout(480)
def test_store_that_cannot_write_raises_the_error_rate(watched):
    fleet, prometheus = watched("FleetwireErrorRate")
    prometheus.wait_for("fleetwire_requests_total", "the first scrape")
    enough = "sum(increase(fleetwire_requests_total[30s])) >= 100"
    prometheus.wait_for(enough, "100 requests in the scrapes", meanwhile=lambda: assign(fleet, 200))
    assert prometheus.query(firing("FleetwireErrorRate")) == []
    database = sqlite3.connect(fleet.gateway.database_path, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        [found] = prometheus.wait_for(firing("FleetwireErrorRate"), "the alert", 120,
                                      lambda: assign(fleet, 503))
        assert found["metric"]["severity"] == "critical"
        assert logs(fleet, "store_unavailable")
    finally:
        database.execute("ROLLBACK")
        database.close()
    prometheus.wait_for_none(firing("FleetwireErrorRate"), "the alert ends", 120,
                             lambda: assign(fleet, 200, 503))


@pytest.mark.timeout(480)
def test_provider_that_rejects_pushes_raises_an_alert(watched):
    fleet, prometheus = watched("FleetwirePushFailing")
    good, bad = fleet.android(), fleet.ios()
    fleet.warm_up(good, bad)
    accepted = 'sum(increase(fleetwire_push_total{provider="apns",outcome="accepted"}[60s])) > 0'

    def push() -> None:
        for device in (good, bad):
            fleet.announce(device)

    prometheus.wait_for(accepted, "pushes in the scrapes", meanwhile=push)
    assert prometheus.query(firing("FleetwirePushFailing")) == []
    rejections = fleet.apns.script(apns.refusal(400, "TopicDisallowed"), apns.to(bad.token))
    [found] = prometheus.wait_for(firing("FleetwirePushFailing"), "the alert fires", 120, push)
    assert found["metric"]["provider"] == "apns"
    assert logs(fleet, "push_rejected")
    rejections.times = 0
    prometheus.wait_for_none(firing("FleetwirePushFailing"), "the alert ends", 180, push)


@pytest.mark.timeout(480)
def test_provider_that_is_unreachable_raises_an_alert(watched):
    fleet, prometheus = watched("FleetwirePushStuck")
    device = fleet.android()
    fleet.warm_up(device)
    prometheus.wait_for("fleetwire_push_queue_oldest_seconds", "the first scrape")
    assert prometheus.query(firing("FleetwirePushStuck")) == []
    fleet.fcm.stop_listening()
    notification = fleet.announce(device)
    [found] = prometheus.wait_for(firing("FleetwirePushStuck"), "the alert fires")
    assert found["metric"]["provider"] == "fcm" and found["metric"]["severity"] == "critical"
    assert logs(fleet, "push_paused")
    fleet.fcm.listen()
    fleet.wait_for_accepted(notification, seconds=60)
    prometheus.wait_for_none(firing("FleetwirePushStuck"), "the alert ends")
