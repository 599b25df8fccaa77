"""Concurrent calls, each on a separate thread."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor


def run_concurrently(work: Callable, arguments: Iterable) -> list:
    """Calls `work(argument)` for each argument; all calls start together. Returns their results in
    the order of the arguments; raises the first failure in that order.
    """
    arguments = list(arguments)
    start = threading.Barrier(len(arguments))

    def run(argument):
        start.wait()
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(run, arguments))
