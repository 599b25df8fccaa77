"""Tests/Mutants: the list of defects fits the sources and the tests, so that it cannot rot before anybody runs it."""

import re
import sys

import pytest

from harness.documents import ROOT

sys.path.append(str(ROOT / "Tests/Mutants"))

from mutants import MUTANTS, Mutant  # noqa: E402

each_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)


@each_mutant
def test_text_occurs_once(mutant: Mutant):
    assert (ROOT / "Sources" / mutant.file).read_text().count(mutant.text) == 1
    assert mutant.replacement != mutant.text


@each_mutant
def test_suite_exists(mutant: Mutant):
    *target, suite = mutant.suite.split("::" if mutant.is_end_to_end else ".")
    if mutant.is_end_to_end:
        file = ROOT / "Tests/EndToEnd" / (target or [suite])[0]
        assert file.is_file() and (not target or f"def {suite}(" in file.read_text())
    else:
        files = (ROOT / "Tests").glob(f"{target[0] if target else '*'}/**/*.swift")
        assert (ROOT / "Tests" / suite).is_dir() or any(
            re.search(rf"(struct|class) {suite}\b", file.read_text()) for file in files)


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_every_module_has_one():
    """System libraries have none: they contain no logic. The simulations' program is not installed."""
    sources = ROOT / "Sources"
    folders = [*(sources / "Base").iterdir(), *(sources / "Realtime").iterdir(), *(sources / "Fleet").iterdir(),
               *(folder for folder in sources.iterdir() if folder.name not in ("Base", "Realtime", "Fleet", "fleetwire-sim"))]
    modules = {folder.name for folder in folders if any(folder.rglob("*.swift"))}
    assert {mutant.module for mutant in MUTANTS} == modules | {"CConsole"}
