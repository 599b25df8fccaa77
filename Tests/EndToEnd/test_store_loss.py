"""The store's files are moved, replaced, deleted or damaged while the gateway runs: an outage that everybody sees."""

import contextlib
import os
import secrets
import sqlite3

import pytest

from harness.api import Api
from harness.fleet import SECTIONS, Fleet, unique_id
from harness.gateway import check_log, run
from harness.metrics import scrape


@pytest.fixture
def fleet(start_gateway, closing):
    return Fleet(start_gateway(sections=SECTIONS), closing)


def alarms(gateway, event: str) -> list[dict]:
    return [entry for entry in check_log(gateway.log()) if entry["event"] == event and entry["level"] == "error"]


def assign(fleet) -> int:
    return fleet.admin().post(f"/api/admin/orders/{unique_id('O')}/assign-driver", {"driverId": "d1"}).status


def check_outage(fleet, closing, reason: str) -> None:
    """Commands get 503, the gateway is not ready and says why, one alarm is in the log, and the exit code is 1."""
    gateway = fleet.gateway
    assert {assign(fleet) for _ in range(30)} == {503}
    api = closing(Api(gateway))
    ready = api.get("/readyz")
    assert ready.status == 503 and f"see store_{reason} in the log" in ready.text, ready
    assert api.get("/healthz").status == 200, "a restart repairs nothing"
    assert scrape(api).value("fleetwire_store_outage", reason=reason) == 1
    assert scrape(api).total("fleetwire_store_outage") == 1
    assert len(alarms(gateway, f"store_{reason}")) == 1
    gateway.terminate()
    gateway.wait(expected=1)
    assert len(alarms(gateway, f"store_{reason}")) == 1


def delete_log(path) -> None:
    path.with_name(path.name + "-wal").unlink()


def delete_all(path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink()


def replace(path) -> None:
    """As an operator who restores a backup and forgets to stop the gateway."""
    copy = path.with_name("copy.db")
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"VACUUM INTO '{copy}'")
    os.replace(copy, path)


@pytest.mark.parametrize("deed", [delete_log, delete_all, replace])
def test_lost_files_are_an_outage(fleet, closing, deed):
    assert assign(fleet) == 200
    deed(fleet.gateway.database_path)
    check_outage(fleet, closing, "lost")


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_what_was_answered_before_the_log_was_deleted_is_stored(start_gateway, closing, end):
    gateway, code = start_gateway("kept", sections=SECTIONS), unique_id("O")
    fleet = Fleet(gateway, closing)
    fleet.admin().assign(code, "d1")
    delete_log(gateway.database_path)
    assert assign(fleet) == 503
    if end == "SIGKILL":
        gateway.kill()
    else:
        gateway.terminate()
        gateway.wait(expected=1)
    admin = Fleet(start_gateway("kept", sections=SECTIONS), closing).admin()
    assert admin.get_order(code)["driverId"] == "d1"


def test_a_second_gateway_is_refused_without_the_lock_file(fleet):
    gateway = fleet.gateway
    gateway.database_path.with_name(gateway.database_path.name + ".lock").unlink()
    second = run("serve", "--port", "0", "--config", gateway.config)
    assert second.returncode == 1 and "in use by another process" in second.stderr, second
    assert assign(fleet) == 200


def test_other_commands_work_beside_a_gateway(fleet, tmp_path):
    gateway, code = fleet.gateway, unique_id("O")
    fleet.admin().assign(code, "d1")
    for arguments in (["backup", tmp_path / "copy.db"], ["audit", "--order", code], ["trust-clock"], ["check-config"]):
        done = run(*map(str, arguments), "--config", gateway.config)
        assert done.returncode == 0, done
    assert assign(fleet) == 200


# Damage.


def damage(path, name: str) -> None:
    """Overwrites the first page of a table or an index of a store that is closed."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        [(page,)] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name])
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(secrets.token_bytes(4096))


def damaged(start_gateway, closing, name: str) -> Fleet:
    gateway = start_gateway("damaged", sections=SECTIONS)
    assert assign(Fleet(gateway, closing)) == 200
    gateway.stop()
    damage(gateway.database_path, name)
    return Fleet(start_gateway("damaged", sections=SECTIONS), closing)


@pytest.mark.parametrize("name", ["audit_by_age", "channel_sequences"])
def test_damage_that_a_command_meets_is_an_outage(start_gateway, closing, name):
    check_outage(damaged(start_gateway, closing, name), closing, "damaged")


def test_damage_that_a_query_meets_is_an_outage(start_gateway, closing):
    fleet = damaged(start_gateway, closing, "sqlite_autoindex_drivers_1")
    assert fleet.admin().request("GET", "/api/admin/drivers/d1").status == 503
    check_outage(fleet, closing, "damaged")


# Backups.


def test_metrics_show_the_age_of_the_last_good_backup(fleet, closing, tmp_path):
    api = closing(Api(fleet.gateway))
    assert scrape(api).total("fleetwire_store_backup_age_seconds") == float("inf")
    assert run("backup", str(tmp_path / "copy.db"), "--config", fleet.gateway.config).returncode == 0
    assert 0 <= scrape(api).total("fleetwire_store_backup_age_seconds") < 60
