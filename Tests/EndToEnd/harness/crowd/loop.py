"""One thread that serves connections and timers."""

import heapq
import itertools
import select
import time
from collections.abc import Callable

from .connection import Connection


class Loop:
    def __init__(self):
        self.poll, self.connections = select.epoll(), {}
        # (when, a number that makes the order total, what)
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers = itertools.count()

    def register(self, connection: Connection):
        self.connections[connection.socket.fileno()] = connection
        self.poll.register(connection.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
        return connection

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.numbers), what))

    def turn(self, longest: float | None = None) -> bool:
        """Serves what is ready, and waits for it so many seconds at most. Returns False if the loop is to end."""
        wait = max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else longest
        wait = wait if longest is None else min(wait, longest)
        # A descriptor may be closed and used again while its events are handled.
        ready = [(self.connections.get(descriptor), events) for descriptor, events in self.poll.poll(wait, 256)]
        for connection, events in ready:
            if connection is None:
                if not self.called():
                    return False
            elif connection.is_open:
                self._serve(connection, events)
        while self.timers and self.timers[0][0] <= time.monotonic():
            heapq.heappop(self.timers)[2]()
        return True

    def called(self) -> bool:
        """Handles a descriptor that is no connection. Returns False if the loop is to end."""
        raise NotImplementedError

    def _serve(self, connection: Connection, events: int) -> None:
        if not connection.is_connected:
            if events & (select.EPOLLERR | select.EPOLLHUP):
                return connection.end()
            connection.writable()
            if connection.is_open:
                self.poll.modify(connection.socket.fileno(), select.EPOLLIN)
        else:
            connection.readable()
