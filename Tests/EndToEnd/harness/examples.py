"""The programs of examples/, run as their readers run them."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from .apps import TIMEOUT
from .freezing import freeze
from .gateway import FOLDER, environment

EXAMPLES = FOLDER.parent.parent / "examples"


class Program:
    """A running example. `lines` are those that it has printed, on both outputs."""

    def __init__(self, directory: Path, name: str, *arguments: str):
        """`directory` looks like a clone of the repository."""
        self.lines: list[str] = []
        self.position, self.has_more = 0, threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, EXAMPLES / name, *arguments], cwd=directory, env=environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self.has_more:
                self.lines.append(line.rstrip("\n"))
                self.has_more.notify_all()

    def expect(self, pattern: str) -> re.Match:
        """Waits for a line that matches as a whole, behind the one that was expected last."""
        deadline = time.monotonic() + TIMEOUT
        with self.has_more:
            while True:
                while self.position < len(self.lines):
                    self.position += 1
                    if match := re.fullmatch(pattern, self.lines[self.position - 1]):
                        return match
                assert self.has_more.wait(deadline - time.monotonic()), (
                    f"{pattern!r} was not printed:\n" + "\n".join(self.lines))

    def freeze(self) -> None:
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def wait(self) -> int:
        """Waits for its end. Returns the exit code."""
        code = self.process.wait(TIMEOUT)
        self.thread.join()
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
