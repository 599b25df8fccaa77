"""`fleetwire backup`: copies of the store while the gateway runs, and what restores them."""

import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import threading

import pytest

from harness.apps import TIMEOUT
from harness.fleet import SECTIONS, Fleet, unique_id
from harness.gateway import BINARY, environment, run


@pytest.fixture
def fleet(start_gateway, closing):
    return Fleet(start_gateway(sections=SECTIONS), closing)


def backup(gateway, file):
    return run("backup", str(file), "--config", str(gateway.config))


def assigned(fleet, count: int) -> list[str]:
    codes = [unique_id("o") for _ in range(count)]
    for code in codes:
        fleet.admin().assign(code, "42")
    return codes


def test_restored_gateway_has_what_was_stored(fleet, start_gateway, closing, tmp_path):
    before = assigned(fleet, 3)
    file = tmp_path / "copy.db"
    result = backup(fleet.gateway, file)
    assert result.returncode == 0 and "checked" in result.stdout, result
    assert ".db.key" in result.stderr, "the key of the tokens is not part of the copy"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.with_name("copy.db.part").exists()
    [after] = assigned(fleet, 1)
    fleet.gateway.stop()
    restored = tmp_path / "restored/var"
    restored.mkdir(parents=True)
    shutil.copy(file, restored / fleet.gateway.database_path.name)
    admin = Fleet(start_gateway("restored", sections=SECTIONS), closing).admin()
    for code in before:
        assert admin.get_order(code)["driverId"] == "42"
    admin.expect_error(404, "GET", f"/api/admin/orders/{after}")


def test_copies_under_load_have_one_state(fleet, tmp_path):
    """An order and its notifications are one transaction, so every copy has both or neither."""
    ended = threading.Event()

    def assign() -> None:
        admin = fleet.admin()
        while not ended.is_set():
            admin.assign(unique_id("o"), "42")

    threads = [threading.Thread(target=assign) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        assigned(fleet, 20)
        for number in range(5):
            file = tmp_path / f"{number}.db"
            assert backup(fleet.gateway, file).returncode == 0
            copy = sqlite3.connect(file)
            [orders], [notifications] = (
                copy.execute("SELECT COUNT(*) FROM orders").fetchone(),
                copy.execute("SELECT COUNT(*) FROM notifications").fetchone())
            copy.close()
            assert orders >= 20 and notifications == 3 * orders
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_works_while_the_gateway_is_down(fleet, tmp_path):
    assigned(fleet, 1)
    fleet.gateway.kill()
    assert backup(fleet.gateway, tmp_path / "copy.db").returncode == 0


def test_existing_file_is_kept(fleet, tmp_path):
    file = tmp_path / "copy.db"
    file.write_text("mine")
    result = backup(fleet.gateway, file)
    assert result.returncode == 1 and "exists" in result.stderr, result
    assert file.read_text() == "mine" and os.listdir(tmp_path).count("copy.db") == 1


def test_two_backups_to_one_file(fleet, tmp_path):
    """One writes the file, the other one says so, and neither harms the other."""
    file = tmp_path / "copy.db"
    with (tmp_path / "copy.db.part").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        result = backup(fleet.gateway, file)
        assert result.returncode == 1 and "another backup" in result.stderr, result
    assert not file.exists() and backup(fleet.gateway, file).returncode == 0


def test_link_in_the_place_of_the_copy_is_not_followed(fleet, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "copy.db.part").symlink_to(tmp_path / "mine")
    assert backup(fleet.gateway, tmp_path / "copy.db").returncode == 1
    assert (tmp_path / "mine").read_text() == "mine"


def test_interrupted_copy_is_replaced(fleet, tmp_path):
    (tmp_path / "copy.db.part").write_text("half of a copy")
    assert backup(fleet.gateway, tmp_path / "copy.db").returncode == 0
    assert not (tmp_path / "copy.db.part").exists()


def test_copy_that_was_interrupted_at_its_last_step_is_kept(fleet, tmp_path):
    """It then has both names, and an operator who moves it away still has a backup."""
    assigned(fleet, 1)
    assert backup(fleet.gateway, tmp_path / "copy.db").returncode == 0
    os.link(tmp_path / "copy.db", tmp_path / "copy.db.part")
    before = (tmp_path / "copy.db").read_bytes()
    (tmp_path / "copy.db").rename(tmp_path / "archive.db")
    assigned(fleet, 1)
    assert backup(fleet.gateway, tmp_path / "copy.db").returncode == 0
    assert (tmp_path / "archive.db").read_bytes() == before
    assert (tmp_path / "copy.db").read_bytes() != before


def test_store_is_not_taken_for_the_leftover_of_a_backup(fleet, tmp_path):
    store = fleet.gateway.database_path
    os.link(store, tmp_path / "copy.db.part")
    result = backup(fleet.gateway, tmp_path / "copy.db")
    assert result.returncode == 1 and "it is the store" in result.stderr, result
    assigned(fleet, 1)
    assert (tmp_path / "copy.db.part").samefile(store)


def test_name_that_looks_like_a_uri(fleet, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    result = subprocess.run([BINARY, "backup", "file:copy.db?mode=ro", "--config", fleet.gateway.config],
                            cwd=folder, env=environment(), capture_output=True, text=True,
                            timeout=TIMEOUT)
    assert result.returncode == 0, result
    assert os.listdir(folder) == ["file:copy.db?mode=ro"]
    assert (folder / "file:copy.db?mode=ro").stat().st_size > 10_000


@pytest.mark.parametrize("file", ["/nonexistent/copy.db", "/proc/copy.db"])
def test_file_that_cannot_be_written(fleet, file):
    result = backup(fleet.gateway, file)
    assert result.returncode == 1 and f"cannot write {file}" in result.stderr, result


def test_missing_store(tmp_path, config):
    file = config(store={"path": str(tmp_path / "none.db")})
    result = run("backup", str(tmp_path / "copy.db"), "--config", str(file))
    assert result.returncode == 1 and "none.db" in result.stderr, result
    assert not (tmp_path / "copy.db").exists()
