"""The alerts of deploy/prometheus, by promtool, and what the documents say of them."""

import itertools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.deployed import DEPLOY
from harness.gateway import run
from harness.prometheus import RULES, Prometheus, names_in, promtool
from test_metrics_list import documented

TESTS = RULES.with_name("fleetwire.rules.test.yaml")
RUNBOOKS = DEPLOY.parent / "docs/runbooks.md"


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


def rule(alert: str) -> str:
    """Returns the alert's expression and time."""
    return re.search(rf"- alert: {alert}\n.*?labels:", RULES.read_text(), re.DOTALL)[0]


def concerned(rule: str) -> str:
    """Returns the tests that give values to a metric of a rule: the others cannot notice a change of it."""
    document = yaml.load(TESTS.read_text(), yaml.CSafeLoader)
    document["tests"] = [test for test in document["tests"]
                         if any(names_in(series["series"]) & names_in(rule) for series in test["input_series"])]
    assert document["tests"], f"no test is about {rule}"
    return yaml.dump(document, Dumper=yaml.CSafeDumper)


def expect_noticed(folder: Path, before: str, after: str, what: str) -> None:
    """The tests of the rules must fail when a rule is changed so."""
    text = RULES.read_text()
    assert text.count(before) == 1 and before != after
    (folder / TESTS.name).write_text(concerned(before))
    (folder / RULES.name).write_text(text.replace(before, after))
    result = subprocess.run(["promtool", "test", "rules", TESTS.name], cwd=folder,
                            capture_output=True, text=True, timeout=120)
    assert result.returncode != 0, f"no test notices {what}"
    assert 'ALERTS{alertstate=' in result.stdout + result.stderr, result


def moved(comparison: str, value: float, counts: bool, sign: int) -> float:
    if counts and value == int(value) <= 10:
        return value + sign
    share = 1 + sign / 20
    return 1 - (1 - value) * share if comparison == "<" else value * share


@pytest.mark.parametrize("alert", alerts())
def test_its_tests_notice_a_moved_threshold(tmp_path, alert):
    """Moves each threshold, and each least number of cases, down and up by a twentieth; where a
    share must be high, by a twentieth of what is missing; where few things are counted, by one.
    """
    text = rule(alert)
    thresholds = list(re.finditer(r"([<>]=?) ([0-9.]+)", text))
    assert thresholds
    for found, sign in itertools.product(thresholds, (-1, 1)):
        value = moved(found[1], float(found[2]), "quantile" not in text, sign)
        expect_noticed(tmp_path, text, f"{text[:found.start(2)]}{value:g}{text[found.end():]}",
                       f"{value:g} for {found[0]}")


@pytest.mark.parametrize("alert", alerts())
def test_its_tests_notice_another_time_and_a_missing_guard(tmp_path, alert):
    """Moves `for` by a minute, and removes each condition, and the zero of a missing series."""
    text = rule(alert)
    for found, sign in itertools.product(re.finditer(r"(?<=for: )(\d+)(?=m)", text), (-1, 1)):
        minutes = int(found[1]) + sign
        expect_noticed(tmp_path, text, f"{text[:found.start()]}{minutes}{text[found.end():]}",
                       f"{minutes} minutes")
    for found in re.finditer(r"\n +and .*| or vector\(0\)", text):
        expect_noticed(tmp_path, text, text[:found.start()] + text[found.end():],
                       f"that there is no {found[0].strip()}")


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
    # Queries of the database have names of its tables.
    text = re.sub(r"```.*?```|`database [^`]+`", "", runbooks, flags=re.DOTALL)
    text += "".join(re.findall("description: .*", RULES.read_text()))
    words = {re.sub("^fleetwire_|_(bucket|sum)$", "", word)
             for word in re.findall(r"[a-z]+(?:_[a-z]+)+", text)} - {"histogram_quantile"}
    for looked_for in re.findall(r"`journal '?([a-z_|]+)'?`", runbooks):
        words |= set(looked_for.split("|"))
    assert {word for word in words - documented().keys() if f'"{word}"' not in sources} == set()


def run_commands(fleet, prometheus: Prometheus, notification: str, code: str,
                 query: Callable[[str], list[str]] | None = None) -> set[str]:
    """Runs the commands of the runbooks, but those of the system: `journal`, `df` and `systemctl`.
    `query` asks the database, if it is PostgreSQL. Returns the names of those that have run.
    """
    words, ran = {"CODE": code, "ID": notification}, set()
    names = "ops|fleetwire|database|sum|min|max|rate|histogram_quantile"
    for name, rest in re.findall(rf"`({names})([ (][^`]+)`", RUNBOOKS.read_text()):
        if name == "database" and not query:
            continue
        ran.add(name)
        if name == "ops":
            fleet.ops().expect_ok("GET", "/api/ops/" + rest.strip(" '"))
        elif name == "fleetwire":
            arguments = [words.get(word, word) for word in rest.split()]
            done = run(*arguments, "--config", fleet.gateway.config)
            assert done.returncode == 0 and done.stdout, done
        elif name == "database":
            assert query(rest.strip(" '")), rest
        else:
            prometheus.query(name + rest)
    return ran


def test_the_table_of_the_runbooks_has_every_alert():
    rows = re.findall(r"^\| `Fleetwire.*", RUNBOOKS.read_text(), re.MULTILINE)
    assert sorted(re.findall(r"`(Fleetwire\w+)`", "\n".join(rows))) == sorted(alerts())
