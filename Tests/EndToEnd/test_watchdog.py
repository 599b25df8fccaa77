"""The watchdog: threads that are stuck, and the protocol of systemd."""

import contextlib
import signal
import subprocess
import threading
import time
from http.client import HTTPException

import pytest

from harness.api import Api
from harness.apps import TIMEOUT
from harness.fleet import SETTINGS as FLEET, Caller, wait_until
from harness.gateway import check_log
from harness.service_manager import Manager


@pytest.mark.parametrize("is_abstract", [False, True], ids=["path", "abstract"])
def test_systemd_hears_of_start_life_and_stop(start_gateway, closing, tmp_path, is_abstract):
    manager = closing(Manager(tmp_path, is_abstract))
    gateway = start_gateway(variables=manager.variables)
    assert [manager.next() for _ in range(3)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]
    gateway.terminate()
    assert set(manager.until_stopping()) <= {"WATCHDOG=1", "STOPPING=1"}
    gateway.wait()


def test_systemd_without_a_watchdog_hears_only_start_and_stop(start_gateway, closing, tmp_path):
    manager = closing(Manager(tmp_path))
    gateway = start_gateway(variables={"NOTIFY_SOCKET": manager.path})
    assert manager.next() == "READY=1"
    gateway.terminate()
    assert manager.next() == "STOPPING=1"
    gateway.wait()


@contextlib.contextmanager
def slow_disk(gateway, strace_program, tmp_path, seconds: int):
    """Delays syncs, and makes the store's writer sync."""
    trace = tmp_path / "stuck"
    tracer = subprocess.Popen(
        [strace_program, "-f", "-p", str(gateway.process.pid), "-o", str(trace),
         "-e", "trace=fsync,fdatasync",
         "-e", f"inject=fsync,fdatasync:delay_enter={seconds * 1_000_000}:when=1"],
        stderr=subprocess.PIPE, text=True)

    def act() -> None:
        with contextlib.suppress(HTTPException, OSError), \
                contextlib.closing(Caller(gateway, "admin", "ada")) as caller:
            caller.post("/api/admin/orders/Stuck/assign-driver", {"driverId": "d1"})

    acting = threading.Thread(target=act)
    try:
        assert "attached" in tracer.stderr.readline()
        acting.start()
        yield tracer
    finally:
        tracer.kill()
        tracer.communicate()
        acting.join()


def events(gateway) -> list[tuple[str, str]]:
    """The watchdog's records: event and thread."""
    return [(entry["event"], entry["thread"]) for entry in check_log(gateway.log())
            if entry["event"] in ("thread_stalled", "thread_recovered", "watchdog_abort")]


def test_a_stuck_store_writer_fails_the_health_check_until_it_recovers(
        start_gateway, closing, strace_program, tmp_path):
    manager = closing(Manager(tmp_path))
    gateway = start_gateway(server={"watchdog_seconds": 0}, variables=manager.variables, **FLEET)
    api = closing(Api(gateway))
    assert api.get("/healthz").status == 200
    with slow_disk(gateway, strace_program, tmp_path, seconds=9):
        wait_until(lambda: api.get("/healthz").status == 503, "the health check fails")
        assert events(gateway) == [("thread_stalled", "store-writer")]
        assert api.get("/readyz").status == 200
        assert manager.waiting().count("WATCHDOG=1") >= 3
        wait_until(lambda: api.get("/healthz").status == 200, "the health check succeeds")
        assert len(manager.waiting()) <= 1, "systemd hears of life only while no thread is stuck"
    assert events(gateway) == [("thread_stalled", "store-writer"),
                               ("thread_recovered", "store-writer")]


def test_a_stuck_store_writer_aborts_the_process(start_gateway, strace_program, tmp_path):
    gateway = start_gateway(server={"watchdog_seconds": 6}, **FLEET)
    gateway.stopped = True
    with slow_disk(gateway, strace_program, tmp_path, seconds=60) as tracer:
        wait_until(lambda: ("watchdog_abort", "store-writer") in events(gateway),
                   "the watchdog aborts")
        tracer.kill()  # strace still holds the thread that it delays
        assert gateway.process.wait(TIMEOUT) == -signal.SIGABRT
    gateway.process.stdout.close()
    assert events(gateway) == [("thread_stalled", "store-writer"),
                               ("watchdog_abort", "store-writer")]


def test_a_suspended_process_is_not_stuck(start_gateway, closing, tmp_path):
    manager = closing(Manager(tmp_path))
    gateway = start_gateway(server={"watchdog_seconds": 5}, variables=manager.variables)
    assert manager.next() == "READY=1"
    gateway.freeze()
    time.sleep(7)  # the time of a suspension that the watchdog must not count
    gateway.thaw()
    for _ in range(4):
        assert manager.next() == "WATCHDOG=1"
    assert events(gateway) == []
