#!/usr/bin/env python3
"""Plants each defect of `mutants.py` alone into a copy of the committed sources. Its suite must find it.

Prints a line for each defect: whether its suite failed, and how long it took. Exits with 1 if one was missed. The copy
is a git worktree in `.build/mutants`, which is kept, so that the next run builds less.
"""

import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from mutants import MUTANTS, Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_SECONDS = 3_600
SUITE_SECONDS = 300


def run(command: list[str], directory: pathlib.Path, seconds: int, **environment: str) -> tuple[int | None, str]:
    """The exit code of a program, None after too long, and what it has printed. What it has started ends with it."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=directory, env=os.environ | environment, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        status = None
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Not only its process group: `swift test` puts the tests into one of their own.
            for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
                with contextlib.suppress(ProcessLookupError):
                    if os.getsid(pid) == process.pid:
                        os.kill(pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return status, output.read().decode(errors="replace")


class Workshop:
    """A copy of the sources, where they are changed, built and tested."""

    def __init__(self, tree: pathlib.Path, scratch: str = ".build"):
        self.tree, self.scratch = tree, scratch

    @classmethod
    def of(cls, revision: str) -> "Workshop":
        tree = ROOT / ".build/mutants"
        revision = subprocess.run(["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=ROOT, check=True,
                                  capture_output=True, text=True).stdout.strip()
        if tree.exists():
            subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", revision], cwd=tree, check=True)
        else:
            subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
        return cls(tree)

    def source(self, mutant: Mutant) -> pathlib.Path:
        return self.tree / "Sources" / mutant.file

    def fits(self, mutant: Mutant) -> bool:
        file = self.source(mutant)
        return file.exists() and file.read_text().count(mutant.text) == 1

    def build(self, mutant: Mutant | None = None) -> str:
        """Builds what the suite of the mutant needs, or everything. Returns the compiler's errors, "" if there are none."""
        product = ["--product", "fleetwire"] if mutant and mutant.is_end_to_end else ["--build-tests"]
        status, output = run(["swift", "build", "--scratch-path", self.scratch, *product], self.tree, BUILD_SECONDS)
        return "" if status == 0 else output or "the build did not end"

    def test(self, suites: list[str], is_end_to_end: bool) -> tuple[bool, str]:
        """Whether all tests of the suites pass, and what they have printed."""
        if is_end_to_end:
            status, output = run([sys.executable, "-m", "pytest", "-q", "-x", *suites], self.tree / "Tests/EndToEnd",
                                 SUITE_SECONDS, FLEETWIRE_BINARY=str(self.tree / self.scratch / "debug/fleetwire"))
            return status == 0, output
        filters = [argument for suite in suites for argument in ("--filter", suite)]
        status, output = run(["swift", "test", "--skip-build", "--disable-xctest", "--scratch-path", self.scratch, *filters],
                             self.tree, SUITE_SECONDS)
        return status == 0, output

    def broken(self, suites: list[str], is_end_to_end: bool) -> list[str]:
        """The suites that fail without a defect."""
        suites = sorted(set(suites))
        if not suites or self.test(suites, is_end_to_end)[0]:
            return []
        return [suite for suite in suites if not self.test([suite], is_end_to_end)[0]]

    def judge(self, mutant: Mutant) -> str:
        """Plants a defect, and returns "found", "missed" or why neither can be said."""
        file = self.source(mutant)
        original = file.read_text()
        file.write_text(original.replace(mutant.text, mutant.replacement))
        try:
            if errors := self.build(mutant):
                return "NOT COMPILED\n" + "\n".join(line for line in errors.splitlines() if "error:" in line)
            return "MISSED" if self.test([mutant.suite], mutant.is_end_to_end)[0] else "found"
        finally:
            file.write_text(original)


def judge_all(workshop: Workshop, mutants: list[Mutant]) -> dict[str, list[str]]:
    """Judges the mutants that fit, and returns their names by verdict."""
    verdicts: dict[str, list[str]] = {}

    def note(mutant: Mutant, verdict: str, seconds: float = 0) -> None:
        verdicts.setdefault(verdict.split("\n")[0], []).append(mutant.name)
        print(f"{mutant.module:16} {mutant.name:22} {mutant.suite.split('::')[0]:38} {seconds:4.0f} s  {verdict}", flush=True)

    fitting = [mutant for mutant in mutants if workshop.fits(mutant)]
    for mutant in mutants:
        if mutant not in fitting:
            note(mutant, "DOES NOT FIT")
    print("Building without a defect", flush=True)
    if errors := workshop.build():
        sys.exit(errors)
    broken = [suite for kind in (False, True)
              for suite in workshop.broken([mutant.suite for mutant in fitting if mutant.is_end_to_end == kind], kind)]
    for mutant in fitting:
        if mutant.suite in broken:
            note(mutant, "FAILS WITHOUT IT")
            continue
        begin = time.monotonic()
        verdict = workshop.judge(mutant)
        note(mutant, verdict, time.monotonic() - begin)
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names or modules of the defects; none: all")
    parser.add_argument("--revision", default="HEAD", help="plant them into another revision, with its own tests")
    options = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS
               if not options.names or any(part.lower() in f"{mutant.module} {mutant.name}".lower() for part in options.names)]
    if not mutants:
        sys.exit(f"no defect is called {' or '.join(options.names)}")
    # Those of one module follow one another, so that a build compiles few modules.
    modules = list(dict.fromkeys(mutant.module for mutant in MUTANTS))
    mutants.sort(key=lambda mutant: modules.index(mutant.module))
    verdicts = judge_all(Workshop.of(options.revision), mutants)
    print(f"\n{len(mutants)} defects:", ", ".join(f"{len(names)} {verdict}" for verdict, names in verdicts.items()))
    for verdict, names in verdicts.items():
        if verdict != "found":
            print(f"{verdict}: {' '.join(names)}")
    # Another revision may have other texts and fewer tests; what its tests miss is the answer, not a failure.
    sys.exit(options.revision == "HEAD" and set(verdicts) != {"found"})


if __name__ == "__main__":
    main()
