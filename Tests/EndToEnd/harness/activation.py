"""Socket activation: a service manager that keeps the listening socket between two processes."""

import socket

from .apps import TIMEOUT
from .systemctl import ACTIVATE


class ListeningSocket:
    """A `ListenStream` of a socket unit."""

    def __init__(self, count: int = 1, host: str = "127.0.0.1"):
        self.socket = socket.create_server((host, 0), backlog=4096)
        self.port = self.socket.getsockname()[1]
        self.settings = {
            "wrapper": [*ACTIVATE, str(self.socket.fileno()), str(count)],
            "pass_fds": (self.socket.fileno(),),
        }

    def dial(self) -> socket.socket:
        """Opens a connection, which waits until a process accepts it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)

    def close(self) -> None:
        self.socket.close()
