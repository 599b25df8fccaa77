"""The Makefile: `make help` lists what can be called, and no target is the name of a file."""

import os
import re
import subprocess

from harness.documents import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
DESCRIBED = dict(re.findall(r"^([\w-]+):.*?## (.+)$", MAKEFILE, re.MULTILINE))


def make(*arguments: str) -> str:
    """Returns what make prints. It does not take over the options of a make that runs the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def dry_run(*arguments: str) -> str:
    """Returns what make would do, without doing it."""
    return make("--dry-run", *arguments)


def test_help_lists_every_target_with_its_text():
    listed = make("--silent", "help")
    assert dict(line.split(maxsplit=1) for line in listed.splitlines()) == DESCRIBED


def test_help_is_the_default():
    assert dry_run() == dry_run("help")


def test_every_described_target_is_phony():
    """A file of that name would make make believe that there is nothing to do."""
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)[1].replace("\\", " ").split()
    assert set(phony) == set(DESCRIBED)


def test_selections_reach_the_test_programs():
    assert "pytest -q test_data.py -k order\n" in dry_run("e2e", "TESTS=test_data.py -k order")
    assert "--parallel --filter StoreTests 2>&1" in dry_run("unit", "FILTER=StoreTests")
