"""Actions answered 200 survive crashes, restarts and disk errors."""

import contextlib
import os
import re
import signal
import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from harness.api import Api
from harness.client import Client
from harness.fleet import (SETTINGS as FLEET, TIMESTAMP, Caller, Fleet, error_message,
                           expect_no_events, unique_id, wait_until)
from harness.full_disk import FileSizeLimit, FullTmpfs
from harness.gateway import check_log, needs_file, run, write_config

def stored_in(path, **more) -> dict:
    """Returns settings with the database at this path."""
    return {"sections": FLEET["sections"] | {"store": {"path": str(path)} | more}}


def database(path, write: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode={'rw' if write else 'ro'}", uri=True)


# Restarts


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_restart_keeps_everything(start_gateway, closing, end):
    gateway = start_gateway("kept", **FLEET)
    fleet = Fleet(gateway, closing)
    admin, driver = fleet.admin(), fleet.driver("d1")
    code, route, key = unique_id("O"), unique_id("T"), unique_id("k")
    ids = admin.assign(code, "d1", customerName="Ann Öz", totalGBP=1.50)["data"]["notificationIds"]
    driver.accept(code)
    driver.progress(code, "en_route")
    admin.route(route, "assign-driver", driverId="d1", routeNumber="7")
    response = admin.put(f"/api/admin/orders/{code}", {"customerName": "Bea"}, key=key)
    driver.expect_ok("POST", "/api/driver/notifications/read", {"ids": ids[:1]})
    driver.expect_ok("POST", "/api/driver/notifications/log", {
        "notificationId": ids[0], "type": "new_job", "entityId": code, "event": "received",
        "timestamp": "2026-01-01T00:00:00Z"})
    paths = [f"/api/admin/orders/{code}", f"/api/admin/routes/{route}",
             *(f"/api/ops/notifications/{notification}" for notification in ids)]
    before = [admin.expect_ok("GET", path) for path in paths]
    own = [driver.expect_ok("GET", path)
           for path in ("/api/driver/jobs", "/api/driver/notifications")]
    gateway.stop() if end == "SIGTERM" else gateway.kill()

    fleet = Fleet(start_gateway("kept", **FLEET), closing)
    admin, driver = fleet.admin(), fleet.driver("d1")
    assert [admin.expect_ok("GET", path) for path in paths] == before
    assert [driver.expect_ok("GET", path)
            for path in ("/api/driver/jobs", "/api/driver/notifications")] == own
    again = admin.put(f"/api/admin/orders/{code}", {"customerName": "Bea"}, key=key)
    assert again.body == response.body and again.headers["idempotency-replayed"] == "true"
    driver.progress(code, "arrived")


def test_sequences_continue_after_a_restart(start_gateway, closing):
    """A channel's sequence numbers have no gaps and no duplicates."""
    sequences = []
    for _ in range(3):
        gateway = start_gateway("kept", **FLEET)
        admin = Fleet(gateway, closing).admin()
        for _ in range(3):
            first = admin.assign(unique_id("O"), "d1")["data"]["notificationIds"][0]
            sequences.append(
                admin.expect_ok("GET",
                                f"/api/ops/notifications/{first}")["notification"]["sequence"])
        gateway.stop()
    assert sequences == list(range(sequences[0], sequences[0] + 9))


@needs_file
def test_store_path_is_relative_to_the_configuration_and_its_folder_is_created(
        start_gateway, closing):
    gateway = start_gateway("kept", **stored_in("deep/down/fleet.db"))
    Fleet(gateway, closing).admin().assign("O1", "d1")
    found = gateway.config.parent / "deep/down/fleet.db"
    assert found.exists()
    with contextlib.closing(database(found)) as opened:
        assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert opened.execute("SELECT status FROM orders WHERE code = 'O1'").fetchone() == (
            "assigned",)
    mode = found.stat().st_mode & 0o777
    assert mode & 0o007 == 0, f"the database is world-readable: {mode:o}"


# Unusable database files


def expect_startup_error(config, *words: str) -> str:
    done = run("serve", "--config", config)
    assert done.returncode not in (0, None) and done.returncode > 0, done
    assert "listening" not in done.stdout
    for word in words:
        assert word in done.stderr, (word, done.stderr)
    assert len(done.stderr) < 3000 and "Fatal error" not in done.stderr, done.stderr
    return done.stderr


@pytest.fixture
def existing_database(start_gateway, closing, tmp_path):
    """The database of a gateway that has stopped, and the configuration to serve it again."""
    gateway = start_gateway("kept", **stored_in(tmp_path / "fleet.db"))
    admin = Fleet(gateway, closing).admin()
    for number in range(50):
        admin.assign(f"O{number}", "d1", customerName="x" * 200)
    gateway.stop()
    return tmp_path / "fleet.db", gateway.config


@needs_file
def test_two_gateways_do_not_share_a_store(start_gateway, closing, tmp_path):
    gateway = start_gateway(**stored_in(tmp_path / "fleet.db"))
    admin = Fleet(gateway, closing).admin()
    expect_startup_error(gateway.config, "fleet.db")
    admin.assign("O1", "d1")
    # Read-only access is allowed.
    assert run("audit", "--config", gateway.config, "--order", "O1").returncode == 0


@needs_file
@pytest.mark.parametrize("damage",
                         ["nonsense", "another header", "random pages", "truncated",
                          "another program's"])
def test_damaged_or_foreign_database_is_rejected_unchanged(existing_database, damage):
    path, config = existing_database
    content = path.read_bytes()
    for rest in path.parent.glob("fleet.db-*"):
        rest.unlink()
    changed = {
        "nonsense": b"nonsense" * 1000, "another header": b"SQLite format 4\0" + content[16:],
        "truncated": content[:len(content) // 2 + 100],
        "random pages": content[:4096] + os.urandom(len(content) - 4096),
        "another program's": b""}[damage]
    path.write_bytes(changed)
    if damage == "another program's":
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE orders (x)")
            other.commit()
        changed = path.read_bytes()
    expect_startup_error(config, "fleet.db")
    assert path.read_bytes() == changed, "the gateway changed the file"


@needs_file
def test_database_of_a_newer_version_is_rejected(existing_database):
    path, config = existing_database
    with contextlib.closing(database(path, write=True)) as opened:
        opened.execute(
            "INSERT INTO schema_migrations SELECT 999, MAX(applied_at) FROM schema_migrations")
        opened.commit()
    expect_startup_error(config, "fleet.db", "999")
    with contextlib.closing(database(path, write=True)) as opened:
        assert opened.execute("SELECT MAX(version) FROM schema_migrations").fetchone() == (999,)
        opened.execute("DELETE FROM schema_migrations WHERE version = 999")
        opened.commit()


@pytest.fixture
def tmpfs(tmp_path):
    """Mounts a small file system: `tmpfs("4m")`; unmounts it after the test."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    with contextlib.ExitStack() as stack:
        def mount(size: str, *options: str):
            place = tmp_path / unique_id("disk")
            place.mkdir()
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs",
                 place],
                capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"cannot mount a file system here: {done.stderr.strip()}")
            stack.callback(subprocess.run, ["umount", "--lazy", place], check=True)
            return place

        yield mount


@needs_file
def test_unwritable_folder_is_rejected(tmp_path, tmpfs):
    (tmp_path / "file").write_text("")
    for folder in (tmpfs("1m", "ro"), tmp_path / "file", "/proc"):
        config = write_config(tmp_path / "fleetwire.yaml", server={"port": 0},
                              apps=[{"id": "1", "key": "k", "secret": "s"}],
                              store={"path": f"{folder}/fleet.db"}, **FLEET["sections"])
        expect_startup_error(config, "fleet.db")


# A full disk


@needs_file
@pytest.mark.parametrize("kind", ["a full file system", "a limit of file sizes"])
def test_full_disk_is_503_until_space_is_free(request, start_gateway, closing, tmp_path, kind):
    place = request.getfixturevalue("tmpfs")("12m") if "system" in kind else tmp_path
    path = place / "fleet.db"
    gateway = start_gateway("kept", **stored_in(path))
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    admin, driver = fleet.admin(), fleet.driver("d1")
    admin.assign("before", "d1")
    first = fleet.listen(admin, "admin-channel", "driver-d1", "drivers-channel")
    disk = FullTmpfs(place) if "system" in kind else FileSizeLimit(gateway, path)
    disk.fill()

    # Actions succeed while they fit into the write-ahead log. The first that does not fit gets 503; a
    # smaller one may still fit after it.
    done, rejected = [], None
    while rejected is None:
        code = f"O{len(done)}"
        response = admin.post(f"/api/admin/orders/{code}/assign-driver",
                              {"driverId": "d1", "customerName": "x" * 3000}, key=code)
        if response.status == 200:
            done.append(response.json())
            assert len(done) < 5000, "the disk is not full"
        else:
            rejected = code
            assert response.status == 503, response
            assert (int(response.headers["retry-after"]) >= 1
                    and error_message("/api/admin/", response))
    for response in done:
        for _ in response["data"]["notificationIds"]:
            first.receive()
    expect_no_events(api, first)
    for caller, method, path_, body in (
            (admin, "PUT", "/api/admin/orders/before", {"customerName": "x"}),
            # Before the cancellation, which may still fit: an accept would then get 409.
            (driver, "POST", "/api/driver/jobs/before/accept", {}),
            (admin, "POST", "/api/admin/orders/before/cancel-enhanced", {}),
            (admin, "POST", "/api/admin/notifications",
             {"type": "DRIVER_APPROVED", "to": {"all": True}, "data": {}})):
        response = caller.request(method, path_, body)
        assert response.status in (503, 200), response
        if response.status == 200:
            first.receive_until_pong()
    expect_no_events(api, first)
    # Realtime messages and reads still work.
    closing(Client.connect(gateway)).subscribe("elsewhere")
    api.publish("driver-d1", "realtime")
    first.expect("realtime")
    admin.expect_error(404, "GET", f"/api/admin/orders/{rejected}")
    assert admin.get_order("before")["driverId"] == "d1" and api.get("/healthz").status == 200
    assert driver.expect_ok("GET", "/api/driver/jobs")["data"]["jobs"]
    gateway.assert_idle()

    disk.free()
    # Repeats the same request, without a restart.
    def again() -> bool:
        response = admin.post(f"/api/admin/orders/{rejected}/assign-driver",
                              {"driverId": "d1", "customerName": "x" * 3000}, key=rejected)
        assert response.status in (200, 503), response
        return response.status == 200 and "idempotency-replayed" not in response.headers

    wait_until(again, "the request succeeds once there is space")
    assert [first.receive()["event"]
            for _ in range(3)] == ["job-assigned", "job-assigned", "order-assigned"]
    gateway.stop()
    gateway = start_gateway("kept", **stored_in(path))
    admin = Fleet(gateway, closing).admin()
    for response in done:
        assert admin.get_order(response["data"]["order"]["code"])["status"] == "assigned"
        for notification in response["data"]["notificationIds"]:
            admin.expect_ok("GET", f"/api/ops/notifications/{notification}")
    assert admin.get_order(rejected)["version"] == 1
    gateway.stop()  # before its disk is unmounted: a store that is gone is an error


# Syncing


def synced_paths(lines: list[str]):
    """Yields each line with the file whose sync it completes, or None."""
    waiting: dict[str, str] = {}
    for line in lines:
        thread = line.split(maxsplit=1)[0]
        started = re.search(r"f(?:data)?sync\(\d+<([^>]*)>", line)
        if started and "unfinished" in line:
            waiting[thread] = started[1]
        elif started and line.rstrip().endswith("= 0"):
            yield line, started[1]
            continue
        elif re.search(r"f(?:data)?sync resumed.*= 0$", line.rstrip()):
            yield line, waiting.pop(thread, "")
            continue
        yield line, None


@pytest.fixture
def strace(strace_program, tmp_path):
    """A command that runs the gateway and traces its reads, writes and syncs."""
    return [strace_program, "-D", "-f", "-y", "-s", "200", "-e",
            "trace=fsync,fdatasync,read,recvfrom,recvmsg,write,writev,sendto,sendmsg", "-o",
            tmp_path / "trace"]


@needs_file
def test_write_ahead_log_is_synced_before_the_response(start_gateway, closing, strace, tmp_path):
    gateway = start_gateway(loops=1, wrapper=strace, **FLEET)
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    for number in range(10):
        admin.assign(f"Sync{number}", "d1")
    gateway.stop()
    number, paths, synced = 0, False, False
    trace, end = (tmp_path / "trace",
                  re.compile(rf"^{gateway.process.pid} +\+\+\+ exited", re.MULTILINE))
    wait_until(lambda: end.search(trace.read_text(errors="replace")),
               "strace has written the whole trace")
    for line, path in synced_paths(trace.read_text(errors="replace").splitlines()):
        if f"POST /api/admin/orders/Sync{number}/" in line:
            paths, synced = True, False
        elif paths and path and path.endswith("-wal"):
            synced = True
        elif paths and "HTTP/1.1 200" in line:
            assert synced, f"response before the write-ahead log was synced: {line}"
            number, paths = number + 1, False
    assert number == 10, f"only {number} of 10 requests are in the trace"


@needs_file
def test_third_signal_exits_while_the_disk_hangs(start_gateway, closing, strace, tmp_path):
    """Loops keep serving while the store waits for the disk; a third signal ends the
    process without waiting for the store.
    """
    gateway = start_gateway(loops=1, **FLEET)
    pid, trace = gateway.process.pid, tmp_path / "stuck"
    slow = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=60000000"]
    tracer = subprocess.Popen([strace[0], "-f", "-p", str(pid), "-o", str(trace), *slow],
                              stderr=subprocess.PIPE, text=True)
    try:
        assert "attached" in tracer.stderr.readline()
        caller = closing(Caller(gateway, "admin", "ada"))

        def act() -> None:
            with contextlib.suppress(HTTPException, OSError):
                caller.post("/api/admin/orders/Stuck/assign-driver", {"driverId": "d1"})

        acting = threading.Thread(target=act)
        acting.start()
        wait_until(lambda: trace.exists() and "sync(" in trace.read_text(),
                   "the store waits for the disk")
        with contextlib.closing(Api(gateway)) as other:
            assert other.get("/healthz").status == 200
        gateway.terminate()

        def has_exited_by_force() -> bool:
            gateway.process.send_signal(signal.SIGTERM)
            return "forced_exit" in gateway.log()

        wait_until(has_exited_by_force, "the process exits by force")
        tracer.kill()  # strace still holds the thread that it delays
        gateway.process.wait(10)
        acting.join()
        gateway.stopped = True
        gateway.process.stdout.close()
        assert (gateway.process.returncode == 1
                and "forced_exit" in [entry["event"] for entry in check_log(gateway.log())])
    finally:
        tracer.kill()
        tracer.communicate()


def test_drain_loses_no_answered_action(start_gateway, closing):
    """Sends SIGTERM while actions are in flight."""
    gateway = start_gateway("kept", **FLEET)
    done, started = [], threading.Barrier(9)

    def act(worker: int) -> None:
        caller = Caller(gateway, "admin", "ada")
        with contextlib.closing(caller), contextlib.suppress(HTTPException, OSError):
            for number in range(100_000):
                if number == 20:
                    started.wait()
                code = f"W{worker}-{number}"
                response = caller.post(f"/api/admin/orders/{code}/assign-driver",
                                       {"driverId": f"d{worker}"}, key=code)
                if response.status != 200:
                    assert response.status == 503, response
                    return
                done.append((code, response.json()["data"]["notificationIds"]))

    with ThreadPoolExecutor(8) as pool:
        workers = [pool.submit(act, number) for number in range(8)]
        started.wait()
        gateway.terminate()
    for worker in workers:
        worker.result()
    gateway.wait()
    admin = Fleet(start_gateway("kept", **FLEET), closing).admin()
    assert len(done) >= 8 * 20
    for code, ids in done:
        assert admin.get_order(code)["status"] == "assigned"
        for notification in ids:
            admin.expect_ok("GET", f"/api/ops/notifications/{notification}")


# Audit


def test_audit_lists_actor_action_and_time(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    fleet = Fleet(gateway, closing)
    admin, driver, code = fleet.admin("ada"), fleet.driver("d1"), unique_id("O")
    admin.assign(code, "d1")
    fleet.admin("bea").assign(unique_id("O"), "d2")
    driver.accept(code)
    driver.progress(code, "en_route")
    driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "completed"})
    fleet.admin("bea").order(code, "cancel-enhanced", reason="rain in Leeds")
    for running in (True, False):
        done = run("audit", "--config", gateway.config, "--order", code)
        assert done.returncode == 0, done
        lines = done.stdout.strip().splitlines()
        entries = [line for line in lines if TIMESTAMP.search(line)]
        assert len(entries) == 4, done.stdout
        for line, words in zip(entries,
                               (["admin:ada", "assign", "d1"], ["driver:d1", "accept"],
                                ["driver:d1", "progress", "en_route"],
                                ["admin:bea", "cancel", "rain in Leeds"])):
            assert all(word in line for word in words), (line, words)
        times = [TIMESTAMP.search(line)[0] for line in entries]
        assert times == sorted(times)
        if running:
            gateway.stop()


def test_audit_of_an_unknown_order_is_empty(start_gateway, tmp_path):
    gateway = start_gateway(**FLEET)
    done = run("audit", "--config", gateway.config, "--order", "unknown")
    assert done.returncode in (0, 1) and not TIMESTAMP.search(done.stdout), done
    assert run("audit", "--config", gateway.config).returncode == 64
    assert run("audit", "--config", tmp_path / "missing.yaml", "--order", "x").returncode == 78
