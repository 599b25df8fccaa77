"""The pages of the documentation, and a shell that runs the blocks of one page.

    page.blocks()                            the fenced blocks, in order
    PageShell(directory, gateway).run(block) runs one; variables and background processes stay

Tests/EndToEnd/README.md describes how a page says what is run.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .apps import TIMEOUT
from .examples import EXAMPLES
from .fleet import wait_until
from .gateway import BINARY, FOLDER, Gateway, environment

ROOT = FOLDER.parent.parent
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = "Not run in a test:"
SAVED_AS = re.compile(r"\bas\s+`([\w.-]+)`:$")
QUOTED = re.compile(r"\bFrom\s+\[`([\w./-]+)`\]\(\S+\):$")
# The port in the pages, and in config/fleetwire.yaml.
PORT = "6001"
# How long a block may run. Generous: the machine is shared with other tests.
SECONDS = 4 * TIMEOUT


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the paragraph above it."""
    page: str
    line: int
    language: str
    text: str
    above: str

    @property
    def is_run(self) -> bool:
        return not (self.source or self.above.endswith(NOT_RUN))

    @property
    def file(self) -> str | None:
        """The name of the file in which the reader saves the block."""
        match = SAVED_AS.search(self.above)
        return match and match[1]

    @property
    def source(self) -> Path | None:
        """The file of the repository that the block quotes."""
        match = QUOTED.search(self.above)
        return ROOT / match[1] if match else None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Page:
    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> "Page":
        return cls(str(path.relative_to(ROOT)), path.read_text())

    def blocks(self) -> list[Block]:
        return [
            Block(self.name, self.text[:match.start()].count("\n") + 2, match[1], match[2],
                  self.text[:match.start()].rstrip().rpartition("\n\n")[2])
            for match in FENCE.finditer(self.text)]

    def anchors(self) -> set[str]:
        """The names by which links reach the headings, as forges make them."""
        headings = re.findall(r"^#+ (.*)$", self.without_blocks(), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def without_blocks(self) -> str:
        """The text, with an empty line for each line of a block."""
        return FENCE.sub(lambda match: "\n" * match[0].count("\n"), self.text)


def pattern(shown: str) -> str:
    """Returns the regular expression of an output that a page shows: … is any text, and space is
    any space or none.
    """
    words = shown.split()
    return r"\s*".join(".*?".join(re.escape(part) for part in word.split("…")) for word in words)


class RepositoryGateway(Gateway):
    """A gateway on a free port, in a directory that looks like a clone of the repository in which
    `make run` and `make build` have been called. `changes` replaces texts of the configuration.
    """

    def __init__(self, directory: Path, changes: dict[str, str]):
        (directory / ".build/release").mkdir(parents=True)
        for name in (".build/fleetwire", ".build/release/fleetwire"):
            (directory / name).symlink_to(BINARY)
        shutil.copytree(ROOT / "config", directory / "config",
                        ignore=shutil.ignore_patterns("var"))
        self.config = directory / "config/fleetwire.yaml"
        text = self.config.read_text()
        for before, after in changes.items():
            assert text.count(before) == 1, f"{before!r} is not once in {self.config.name}"
            text = text.replace(before, after)
        self.config.write_text(text)
        self.log_path = directory / "stderr.log"
        self.tls = None
        self.directory = directory
        self._serve(0)

    def _serve(self, port: int) -> None:
        self._start([".build/fleetwire", "serve", "--port", str(port)], self.directory, {}, log_mode="ab")

    def restart(self) -> None:
        """Starts the gateway again, on the same port, after it was killed."""
        self._serve(self.port)


class PageShell:
    """A bash that runs the blocks of one page in the gateway's directory."""

    def __init__(self, directory: Path, gateway: Gateway, skipped: dict[str, str],
                 ports: dict[str, str]):
        """`skipped` are the first words of lines that are left out; `ports` replaces further ports
        of the page.
        """
        self.directory, self.gateway, self.skipped = directory, gateway, tuple(skipped)
        self.ports = {PORT: str(gateway.port)} | ports
        (directory / EXAMPLES.name).mkdir()
        for example in EXAMPLES.glob("*.*"):
            (directory / EXAMPLES.name / example.name).write_text(self._adapted(example.read_text()))
        self.number, self.begin = 0, 0
        # Why the last block has failed, if it has.
        self.failure: str | None = None
        self.log_path = directory / "output.log"
        # Blocks call plain curl and python3: an error status fails the call, of which curl prints
        # nothing but the body, and the packages are those of the tests.
        (directory / ".curlrc").write_text("silent\nfail-with-body\n")
        search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                ["bash"], cwd=directory, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True,
                env=environment(HOME=str(directory), PATH=search, PYTHONUNBUFFERED="1",
                                FLEETWIRE_SERVER_PORT=str(gateway.port)),
                start_new_session=True)
        self._send("set -Euo pipefail; trap 'failed=1' ERR")

    def run(self, block: Block) -> None:
        """Runs a block, saves it as a file, or waits for the output that it shows."""
        self.failure = None
        if block.language == "text":
            self._expect(block)
        elif block.file:
            (self.directory / block.file).write_text(self._adapted(block.text))
        elif block.language == "python":
            self._run(block, f"python3 - <<'END'\n{self._adapted(block.text)}END\n")
        else:
            assert block.language == "sh", f"{block.place}: {block.language} is not run"
            lines = self._adapted(block.text).splitlines(keepends=True)
            self._run(block, "".join(line for line in lines if not line.startswith(self.skipped)))

    def _run(self, block: Block, script: str) -> None:
        self.number += 1
        self.begin = self.log_path.stat().st_size
        path, status = (self.directory / f"{kind}{self.number}" for kind in ("block", "status"))
        path.write_text(script)
        # Sourced, so that variables stay. The status appears when it is complete.
        self._send(f"failed=0; . ./{path.name} </dev/null; echo $failed > {status.name}.new; "
                   f"mv {status.name}.new {status.name}")
        try:
            wait_until(lambda: status.exists() or self.process.poll() is not None, "its end",
                       SECONDS)
            assert status.exists(), "the shell has exited"
        except AssertionError as error:
            raise AssertionError(self._report(block, str(error))) from None
        if status.read_text() != "0\n":
            self.failure = self._report(block, "a command has failed")

    def _expect(self, block: Block) -> None:
        shown = re.compile(pattern(self._adapted(block.text)), re.DOTALL)
        try:
            wait_until(lambda: shown.search(self.output()), "the output that the page shows")
        except AssertionError as error:
            raise AssertionError(self._report(block, str(error))) from None

    def check(self) -> None:
        """Checks the exit statuses of the last block, unless the page shows what it prints."""
        assert self.failure is None, self.failure

    def output(self) -> str:
        """Returns what has been printed since the last block began."""
        return self.log_path.read_bytes()[self.begin:].decode(errors="replace")

    def _adapted(self, text: str) -> str:
        return re.sub(r"\b(" + "|".join(self.ports) + r")\b", lambda match: self.ports[match[1]],
                      text)

    def _send(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def _report(self, block: Block, problem: str) -> str:
        return (f"{block.place}: {problem}\n{block.text}\nprinted:\n{self.output()}\n"
                f"end of the gateway's log:\n{self.gateway.log()[-1500:]}")

    def close(self) -> None:
        """Ends the shell and everything that its blocks have started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdin.close()
        self.process.wait()
