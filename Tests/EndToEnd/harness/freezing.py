"""Stops processes."""

import os
import signal
import time
from pathlib import Path

TIMEOUT = 10


def freeze(process: int) -> None:
    """Stops all threads of a process, and waits until they are: on a busy machine, a thread that was not told yet goes on for
    some milliseconds, and answers.
    """
    os.kill(process, signal.SIGSTOP)
    deadline = time.monotonic() + TIMEOUT
    while not all(state(thread) in "TtZX" for thread in Path(f"/proc/{process}/task").iterdir()):
        assert time.monotonic() < deadline, f"process {process} does not stop"


def state(thread: Path) -> str:
    """The state of a thread, one letter: see proc(5). X if it has ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
