"""The harness itself, where a defect of it made other tests fail now and then."""

import queue
import sys
import threading

import pytest

from harness.webhook_receiver import SharedDefaultDict


@pytest.fixture
def eager_thread_switches():
    """Lets Python switch between threads after a microsecond instead of five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_two_threads_get_the_same_value_of_a_missing_key(eager_thread_switches):
    """With `defaultdict` this fails about once in 20 rounds."""
    for _ in range(1_000):
        queues, start = SharedDefaultDict(queue.Queue), threading.Barrier(2)

        def put() -> None:
            start.wait()
            queues["key"].put("value")

        thread = threading.Thread(target=put)
        thread.start()
        start.wait()
        found = queues["key"]
        thread.join()
        assert found.get_nowait() == "value"
