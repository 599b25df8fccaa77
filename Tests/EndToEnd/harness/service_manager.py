"""The protocol of systemd's Type=notify and WatchdogSec."""

import contextlib
import itertools
import os
import socket

from .apps import TIMEOUT


class Manager:
    """A service manager: receives the notifications of `sd_notify(3)`."""

    numbers = itertools.count()

    def __init__(self, directory, is_abstract: bool = False):
        name = f"notify{os.getpid()}-{next(self.numbers)}"
        self.path = f"@{name}" if is_abstract else str(directory / name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path.replace("@", "\0", 1))
        self.socket.settimeout(TIMEOUT)
        self.variables = {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": "10000000"}

    def next(self) -> str:
        return self.socket.recv(4096).decode()

    def waiting(self) -> list[str]:
        """Returns the messages that have arrived."""
        messages = []
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                messages.append(self.next())
        self.socket.settimeout(TIMEOUT)
        return messages

    def until_stopping(self) -> list[str]:
        messages = [self.next()]
        while messages[-1] != "STOPPING=1":
            messages.append(self.next())
        return messages

    def close(self) -> None:
        self.socket.close()
