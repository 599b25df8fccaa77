"""The store in a PostgreSQL database: what the server's faults and the operator's mistakes do."""

import contextlib
import json
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.api import Api
from harness.apps import FIRST
from harness.client import Client
from harness.documents import ROOT, Page
from harness.fleet import SECTIONS, Fleet, expect_no_events, unique_id, wait_until
from harness.gateway import BINARY, SERVER, check_log, environment, expect_invalid_config, run, write_config
from harness.postgres import PASSWORD, Postgres, PostgresProxy

KEYS = [{"id": "e2e", "key": "ZTJlLWtleS1lMmUta2V5LWUyZS1rZXktZTJlLWtleS0="}]


@pytest.fixture
def postgres():
    with Postgres() as server:
        yield server


@pytest.fixture
def proxy(postgres, closing):
    return closing(PostgresProxy(postgres))


def stored_at(url: str, **more) -> dict:
    """Returns settings with the store at this URL."""
    return {"sections": SECTIONS | {"store": {"url": url, "encryption_keys": KEYS} | more}}


def end_sessions(postgres) -> None:
    """Ends all sessions but this one's, as a failover does."""
    postgres.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                   "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")


def events(gateway) -> list[str]:
    return [entry["event"] for entry in check_log(gateway.log())]


def acting(start_gateway, closing, proxy) -> tuple:
    """Returns a gateway behind the proxy, an admin, a listener to the admins' channel, and an order's code."""
    gateway = start_gateway(**stored_at(proxy.url))
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    return gateway, admin, fleet.listen(admin, "admin-channel"), unique_id("O")


@contextlib.contextmanager
def ending(stop: threading.Event):
    """Sets the event at the end, also after a failure: threads would go on for ever."""
    try:
        yield
    finally:
        stop.set()


def received(client: Client, name: str, codes: list[str]) -> list[str]:
    """Returns the orders of the events with this name, until one with the last of the codes has come."""
    found = []
    while not found or found[-1] != codes[-1]:
        event = client.receive()
        if event["event"] == name:
            found.append(json.loads(event["data"])["bookingId"])
    return found


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_restart_keeps_everything(start_gateway, closing, postgres, end):
    gateway = start_gateway("kept", **stored_at(postgres.url))
    fleet = Fleet(gateway, closing)
    admin, driver, code, key = fleet.admin(), fleet.driver("d1"), unique_id("O"), unique_id("k")
    ids = admin.assign(code, "d1", customerName="Ann Öz", totalGBP=1.50)["data"]["notificationIds"]
    driver.accept(code)
    driver.progress(code, "en_route")
    response = admin.put(f"/api/admin/orders/{code}", {"customerName": "Bea"}, key=key)
    paths = [f"/api/admin/orders/{code}", *(f"/api/ops/notifications/{each}" for each in ids)]
    before = [admin.expect_ok("GET", path) for path in paths]
    gateway.stop() if end == "SIGTERM" else gateway.kill()

    gateway = start_gateway("kept", **stored_at(postgres.url))
    admin = Fleet(gateway, closing).admin()
    assert [admin.expect_ok("GET", path) for path in paths] == before
    replayed = admin.put(f"/api/admin/orders/{code}", {"customerName": "Bea"}, key=key)
    assert replayed.headers["idempotency-replayed"] == "true" and replayed.body == response.body
    audit = run("audit", "--config", gateway.config, "--order", code)
    assert audit.returncode == 0 and "progress" in audit.stdout, audit
    watch = run("watch", "--once", "--notification", ids[0], "--config", gateway.config)
    assert watch.returncode == 0 and "job-assigned" in watch.stdout, watch


def test_one_gateway_uses_a_database(start_gateway, closing, postgres):
    gateway = start_gateway(**stored_at(postgres.url))
    second = run("serve", "--port", "0", "--config", gateway.config)
    assert second.returncode == 1 and second.stdout == "", second
    assert "in use by another process" in second.stderr and "set store.url to another database" in second.stderr
    Fleet(gateway, closing).admin().assign(unique_id("O"), "d1")


def test_newer_and_foreign_databases_are_rejected(start_gateway, postgres):
    gateway = start_gateway(**stored_at(postgres.url))
    gateway.stop()
    postgres.query("INSERT INTO schema_migrations VALUES (99, 0)")
    newer = run("serve", "--port", "0", "--config", gateway.config)
    assert newer.returncode == 1 and "written by a newer Fleetwire (schema 99" in newer.stderr, newer
    postgres.query("DROP TABLE schema_migrations")
    foreign = run("serve", "--port", "0", "--config", gateway.config)
    assert foreign.returncode == 1 and "a database of another program" in foreign.stderr, foreign


def test_passwords_are_not_shown(tmp_path, start_gateway, postgres, proxy):
    gateway = start_gateway(**stored_at(proxy.url))
    second = run("serve", "--port", "0", "--config", gateway.config)
    proxy.refuse()
    unreachable = run("audit", "--order", "A", "--config", gateway.config)
    backup = run("backup", str(tmp_path / "copy"), "--config", gateway.config)
    for done, text in [(second, "in use by"), (unreachable, "postgresql://postgres@127.0.0.1:"), (backup, "pg_dump")]:
        assert done.returncode == 1 and text in done.stderr and PASSWORD not in done.stdout + done.stderr, done
    wait_until(lambda: "store_unreadable" in gateway.log() or "store_unavailable" in gateway.log(), "the log says so")
    assert PASSWORD not in gateway.log()


@pytest.mark.parametrize("store", [{"url": "postgresql://h", "path": "a.db", "encryption_keys": KEYS},
                                   {"url": "postgresql://h"}, {"url": "mysql://h", "encryption_keys": KEYS}])
def test_invalid_configurations(tmp_path, store):
    expect_invalid_config("check-config", write_config(tmp_path / "c.yaml", store=store), "store")


def test_check_config_connects(tmp_path, start_gateway, postgres, proxy):
    gateway = start_gateway(**stored_at(proxy.url))
    done = run("check-config", "--connect", "--config", gateway.config)
    assert done.returncode == 0 and "store.url: connected" in done.stdout, done
    proxy.refuse()
    done = run("check-config", "--connect", "--config", gateway.config)
    assert done.returncode == 1 and "store.url" in done.stderr and done.stdout == "", done
    assert run("check-config", "--config", gateway.config).returncode == 0


def refused(tmp_path, url: str, *words: str) -> None:
    """Checks that the start and `check-config --connect` refuse a database, and say why."""
    config = write_config(tmp_path / "c.yaml", server=SERVER, apps=[FIRST.entry()], store={"url": url, "encryption_keys": KEYS})
    for command in (["serve"], ["check-config", "--connect"]):
        done = run(*command, "--config", config)
        assert done.returncode == 1 and "in use" not in done.stderr and "Check store.url" not in done.stderr, done
        assert all(word in done.stderr for word in words), (words, done)
    assert run("check-config", "--config", config).returncode == 0


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_store_all_texts_is_refused(tmp_path, postgres, encoding):
    postgres.query(f"CREATE DATABASE other ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    refused(tmp_path, postgres.url.replace("/test?", "/other?"), f"has the encoding {encoding}", "--encoding UTF8")


def test_a_database_without_its_schema_is_refused(tmp_path, postgres):
    refused(tmp_path, f"{postgres.url}&options=-csearch_path%3Dgone", "no schema of the search_path exists", "gone")


def test_a_user_who_may_not_create_tables_is_refused(tmp_path, postgres, start_gateway):
    """As long as some are missing: later the right may be taken away."""
    postgres.query("CREATE ROLE reader LOGIN")
    postgres.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    url = postgres.url.replace("postgres@", "reader@")
    refused(tmp_path, url, "the user reader may not create tables in the schema public", "GRANT CREATE")
    postgres.query("GRANT CREATE ON SCHEMA public TO reader")
    gateway = start_gateway("reader", **stored_at(url))
    gateway.stop()
    postgres.query("REVOKE CREATE ON SCHEMA public FROM reader")
    done = run("check-config", "--connect", "--config", gateway.config)
    assert done.returncode == 0, done
    start_gateway("reader", **stored_at(url))


@pytest.mark.parametrize("parameters, words", [
    ("pgbouncer=true&sslmode=disable", ["libpq does not know", "remove them: pgbouncer", "pool_mode = session"]),
    ("connection_limit=5&schema=x", ["connection_limit, schema", "store.pool", "search_path"])])
def test_parameters_of_other_libraries_are_named(tmp_path, parameters, words):
    config = write_config(tmp_path / "c.yaml", store={"url": f"postgresql://u:{PASSWORD}@h/f?{parameters}",
                                                      "encryption_keys": KEYS})
    expect_invalid_config("check-config", config, "store.url", *words)
    assert PASSWORD not in run("check-config", "--config", config).stderr


@pytest.mark.parametrize("fault", ["restart", "kill", "connections"])
def test_no_action_is_lost_or_published_twice(start_gateway, closing, postgres, proxy, fault):
    """While an admin acts, the server goes away and comes back."""
    gateway = start_gateway(**stored_at(proxy.url))
    fleet = Fleet(gateway, closing)
    listener = fleet.listen(fleet.admin(), "admin-channel")
    stop, done, refused = threading.Event(), [], []

    def act(number: int) -> None:
        admin = fleet.admin(f"a{number}")
        while not stop.is_set():
            code = unique_id("O")
            response = admin.post(f"/api/admin/orders/{code}/assign-driver", {"driverId": f"d{number}"})
            if response.status == 200:
                done.append(code)
            else:
                assert response.status == 503 and "retry-after" in response.headers, response
                refused.append(code)

    with ThreadPoolExecutor(4) as pool, ending(stop):
        actors = [pool.submit(act, number) for number in range(4)]
        wait_until(lambda: len(done) > 50, "actions are done")
        for _ in range(3):
            if fault == "connections":
                proxy.refuse()
            else:
                postgres.stop() if fault == "restart" else postgres.kill()
            count = len(refused)
            wait_until(lambda: len(refused) > count, "actions are refused")
            proxy.admit() if fault == "connections" else postgres.start()
            count = len(done)
            wait_until(lambda: len(done) > count + 50, "actions are done again")
    for actor in actors:
        actor.result()
    last = unique_id("O")
    fleet.admin().assign(last, "d1")
    published = received(listener, "job-assigned", [last])
    assert len(published) == len(set(published)), "an action was published twice"
    assert set(done) <= set(published), "an action was lost"
    stored = set(postgres.query("SELECT code FROM orders"))
    assert stored == set(published), "what is stored is what was published"
    assert events(gateway).count("store_recovered") >= 3


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_commit_that_breaks_is_done_or_refused_not_both(start_gateway, closing, postgres, proxy, moment):
    gateway, admin, listener, code = acting(start_gateway, closing, proxy)
    proxy.arm(code, moment)
    response = admin.post(f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"})
    assert proxy.cut.wait(10)
    stored = postgres.query(f"SELECT version FROM orders WHERE code = '{code}'")
    if moment == "after":
        assert response.status == 200 and stored == ["1"], (response, stored)
        assert received(listener, "job-assigned", [code]) == [code]
    else:
        assert response.status == 503 and stored == [], (response, stored)
        expect_no_events(closing(Api(gateway)), listener)
    other = unique_id("O")
    wait_until(lambda: admin.post(f"/api/admin/orders/{other}/assign-driver", {"driverId": "d1"}).status == 200,
               "the next action is done")
    assert received(listener, "job-assigned", [other]) == [other]


def test_an_unknown_commit_is_published_when_the_server_is_back(start_gateway, closing, postgres, proxy):
    """The server has committed, and is away before it can say so."""
    gateway, admin, listener, code = acting(start_gateway, closing, proxy)
    proxy.is_open = False
    proxy.arm(code, "after")
    response = admin.post(f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"})
    assert response.status == 503 and "Idempotency-Key" in response.json()["error"], response
    assert admin.call("GET", "/readyz").status == 503
    expect_no_events(closing(Api(gateway)), listener)
    proxy.admit()
    assert received(listener, "job-assigned", [code]) == [code]
    wait_until(lambda: admin.call("GET", "/readyz").status == 200, "the gateway is ready")
    assert admin.get_order(code)["version"] == 1


def test_a_frozen_server_stops_actions_only(start_gateway, closing, postgres):
    gateway = start_gateway(**stored_at(postgres.url))
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    listener = fleet.listen(admin, "admin-channel")
    admin.assign(unique_id("O"), "d1")
    listener.expect("job-assigned")
    listener.expect("order-assigned")
    postgres.freeze()
    with ThreadPoolExecutor(8) as pool:
        responses = [pool.submit(fleet.admin(f"a{number}").post, f"/api/admin/orders/F{number}/assign-driver",
                                 {"driverId": "d1"}) for number in range(8)]
        expect_no_events(closing(Api(gateway)), listener)  # publishes go on
        assert {response.result(25).status for response in responses} == {503}
    wait_until(lambda: admin.call("GET", "/readyz").status == 503, "the gateway is not ready")
    assert admin.call("GET", "/healthz").status == 200, "no thread is stuck"
    postgres.thaw()
    last = unique_id("O")
    wait_until(lambda: admin.post(f"/api/admin/orders/{last}/assign-driver", {"driverId": "d1"}).status == 200,
               "actions are done again")
    published = received(listener, "job-assigned", [last])
    assert len(published) == len(set(published))
    assert set(published) <= set(postgres.query("SELECT code FROM orders"))
    wait_until(lambda: admin.call("GET", "/readyz").status == 200, "the gateway is ready")


def test_a_server_that_was_read_only_is_used_again(start_gateway, closing, postgres):
    gateway = start_gateway(**stored_at(postgres.url))
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    admin.assign(unique_id("O"), "d1")
    postgres.query("ALTER DATABASE test SET default_transaction_read_only = on")
    end_sessions(postgres)
    wait_until(lambda: admin.call("GET", "/readyz").status == 503, "an idle gateway is not ready")
    admin.expect_error(503, "POST", f"/api/admin/orders/{unique_id('O')}/assign-driver", {"driverId": "d1"})
    postgres.query("ALTER DATABASE test RESET default_transaction_read_only")
    code = unique_id("O")
    wait_until(lambda: admin.post(f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"}).status == 200,
               "actions are done again")


def test_a_commit_is_unknown_until_its_mark_is_read(start_gateway, closing, postgres, proxy):
    """The server has committed, and then cannot say so for another reason than that it is away."""
    gateway, admin, listener, code = acting(start_gateway, closing, proxy)
    proxy.is_open = False
    proxy.arm(code, "after")
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(admin.post, f"/api/admin/orders/{code}/assign-driver", {"driverId": "d1"})
        assert proxy.cut.wait(10)
        wait_until(lambda: postgres.query(f"SELECT version FROM orders WHERE code = '{code}'") == ["1"], "it is committed")
        postgres.query("ALTER TABLE commit_marks RENAME TO hidden")
        proxy.admit()
        wait_until(lambda: "commit_marks" in gateway.log(), "the reason is logged")
        postgres.query("ALTER TABLE hidden RENAME TO commit_marks")
        assert response.result(25).status == 200
    assert received(listener, "job-assigned", [code]) == [code]


def test_an_orderly_stop_while_the_server_is_away(start_gateway, closing, postgres, proxy):
    gateway = start_gateway(**stored_at(proxy.url))
    Fleet(gateway, closing).admin().assign(unique_id("O"), "d1")
    proxy.refuse()
    gateway.stop()


def test_the_page_describes_what_works(tmp_path, start_gateway, closing, postgres):
    """Runs the blocks of docs/postgres.md, in their order, with the program on the path."""
    create, settings, check, dump, restore = Page.read(ROOT / "docs/postgres.md").blocks()

    def shell(block) -> str:
        path = f"{BINARY.parent}:{postgres.bin}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-e", "-c", block.text], cwd=tmp_path, check=True, capture_output=True, text=True,
                              env=environment(PATH=path, PGHOST=str(postgres.directory), PGUSER="postgres"), timeout=60)
        return done.stdout

    shell(create)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "store_url").write_text(f"postgresql://fleetwire:{PASSWORD}@/fleetwire?host={postgres.directory}")
    (secrets / "store_key").write_text(KEYS[0]["key"])
    (tmp_path / "fleetwire.yaml").write_text(settings.text)
    assert "store.url: connected to postgresql://fleetwire@/fleetwire\n" in shell(check)
    url = (secrets / "store_url").read_text()
    gateway = start_gateway(**stored_at(url))
    admin, code = Fleet(gateway, closing).admin(), unique_id("O")
    admin.assign(code, "d1")
    shell(dump)
    gateway.stop()
    shell(restore)
    restored = start_gateway(**stored_at(url.replace("/fleetwire?", "/restored?")))
    assert Fleet(restored, closing).admin().get_order(code)["version"] == 1
