"""What `--production` refuses and advises, through the command line: rules that read files, and what the documents show.

`ProductionTests` and `AdviceTests` have a case for each line of docs/operations.md.
"""

import base64
import json
import os
import resource
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from harness.api import Api
from harness.apps import FIRST
from harness.deployed import CONFIG, DEPLOY, install
from harness.documents import ROOT, Page
from harness.fleet import wait_until
from harness.gateway import BINARY, SERVER, Gateway, check_log, environment, run
from harness.metrics import scrape

SECRET, OTHER = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
ZEROS = base64.b64encode(bytes(32)).decode()
STORE = {"encryption_keys": [{"id": "k", "key": KEY}]}
SAFE = {"server": SERVER, "apps": [FIRST.entry(secret=SECRET)], "store": STORE}


def checked(config: Path, *more: str) -> subprocess.CompletedProcess:
    return run("check-config", "--production", *more, "--config", config)


@pytest.mark.parametrize("command", ["serve", "check-config"])
def test_what_a_bank_asks_for_is_refused_at_once(config, command):
    path = config(
        server=SERVER | {"host": "0.0.0.0", "behind_proxy": True},
        apps=[FIRST.entry(secret=SECRET, webhooks=[{"url": "http://example.com/x"}], encryption_master_key=ZEROS,
                          allowed_origins=["https://*.com"]),
              {"id": "2", "key": "k2", "secret": SECRET}],
        auth={"jwt": {"secret": "a" * 32}},
        store={"url": "postgresql://u:pw-7f3a@db.example.com/f", "encryption_keys": [{"id": "k", "key": ZEROS}]},
        cluster={"nats": ["nats://10.0.0.1:4222"]}, metrics={"token": "x"})
    result = run(command, "--production", "--config", path)
    assert result.returncode == 78 and result.stdout == "", result
    for line in ["server.trusted_proxies: expected", "apps[0].encryption_master_key: expected at least 16 different bytes",
                 "apps[1].secret: expected a secret of its own, found that of apps[0].secret",
                 "auth.jwt.secret: expected at least 8 different bytes, found 1",
                 "store.encryption_keys[0].key: expected at least 16 different bytes",
                 "metrics.token: expected at least 16 bytes, found 1", "store.url: expected sslmode=verify-full",
                 "cluster.nats: expected tls://", "cluster.user: expected a user",
                 "apps[0].webhooks[0].url: expected https",
                 "apps[0].allowed_origins[0]: expected a domain of your own"]:
        assert f"test.yaml: {line}" in result.stderr, (line, result.stderr)
    assert len(result.stderr.splitlines()) == 11, result.stderr
    assert SECRET not in result.stderr and "pw-7f3a" not in result.stderr


# Equal secrets in development.


def test_development_warns_of_equal_secrets(config, start_gateway):
    equal = {"auth": {"jwt": {"secret": SECRET}}, "metrics": {"token": OTHER}}
    result = run("check-config", "--config", config(server=SERVER, apps=[FIRST.entry(secret=SECRET)], **equal))
    [warning] = [line for line in result.stdout.splitlines() if line.startswith("warning: ")]
    assert result.returncode == 0 and warning.startswith("warning: equal_secrets: auth.jwt.secret is that of apps[0].secret")
    gateway = start_gateway(first={"secret": SECRET}, sections=equal)
    wait_until(lambda: '"equal_secrets"' in gateway.log(), "the log has the warning")
    [entry] = [entry for entry in check_log(gateway.log()) if entry["event"] == "equal_secrets"]
    assert (entry["level"], entry["key"], entry["other"]) == ("warning", "auth.jwt.secret", "apps[0].secret")
    assert SECRET not in gateway.log()


# Files.


@pytest.fixture
def deployed(tmp_path) -> Path:
    """The shipped production configuration, with its secrets."""
    return install(tmp_path / "etc")


@pytest.mark.parametrize("name, key", [("app_secret", "apps[0].secret"), ("store_key", "store.encryption_keys[0].key")])
def test_a_secret_that_others_may_write_is_refused(deployed, name, key):
    path = deployed.parent / "secrets" / name
    path.chmod(0o646)
    result = checked(deployed)
    assert result.returncode == 78 and result.stdout == "", result
    [line] = result.stderr.splitlines()
    assert f"fleetwire.yaml: {key}: expected a file that no other user may change, found mode 0646 of" in line
    assert line.endswith(f'/{name}": chmod o-w')


def test_the_configuration_and_tls_files_that_others_may_write_are_refused(deployed, tls):
    text = deployed.read_text().replace("server:\n", f"server:\n  tls: {json.dumps(tls)}\n")
    deployed.write_text(text)
    for path, key in [(deployed, "no other user"), (Path(tls["key"]), "server.tls.key"),
                      (Path(tls["certificate"]), "server.tls.certificate")]:
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o002)
        result = checked(deployed)
        path.chmod(mode & ~0o006)
        assert result.returncode == 78 and key in result.stderr and len(result.stderr.splitlines()) == 1, result
    assert checked(deployed).returncode == 0


def test_a_secret_that_everybody_may_read_is_advised_against(deployed):
    (deployed.parent / "secrets" / "jwt_secret").chmod(0o644)
    result = checked(deployed)
    [warning] = [line for line in result.stdout.splitlines() if line.startswith("warning: ")]
    assert result.returncode == 0 and "production_advice: auth.jwt.secret: every user of this machine may read" in warning


def test_the_start_logs_what_it_advises(start_gateway):
    gateway = start_gateway(production=True, first={"secret": SECRET, "client_events": True},
                            sections={"store": STORE, "log": {"level": "debug"}})

    def advice() -> dict[str, dict]:
        return {entry["key"]: entry for entry in check_log(gateway.log()) if entry["event"] == "production_advice"}

    keys = {"apps[0].client_events", "apps[0].allowed_origins", "metrics.token", "log.level", "channels"}
    wait_until(lambda: keys <= advice().keys(), "the log has the advice")
    assert all(entry["level"] == "warning" and entry["hint"] for entry in advice().values())
    development = start_gateway(first={"client_events": True})
    assert "production_advice" not in development.log()


# The documents.


def merged(base: dict, changes: dict) -> dict:
    return base | {key: merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
                   for key, value in changes.items()}


PAGES = ["SECURITY.md", "docs/operations.md", "docs/cluster.md", "docs/postgres.md"]
BLOCKS = [block for name in PAGES for block in Page.read(ROOT / name).blocks() if block.language == "yaml"]


@pytest.fixture
def etc(tmp_path) -> Path:
    """A directory with all files that the shipped configurations and the pages name."""
    folder = install(tmp_path / "etc").parent
    url = "postgresql://fleetwire:pw@10.0.0.20/fleetwire?sslmode=verify-full&sslrootcert=/etc/fleetwire/ca.pem"
    for name, text in [("nats_password", base64.b64encode(secrets.token_bytes(32)).decode()), ("store_url", url)]:
        (folder / "secrets" / name).write_text(text + "\n")
        (folder / "secrets" / name).chmod(0o640)
    (folder / "ca.pem").write_text("")
    return folder


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_the_configuration_of_a_page_is_accepted_in_production(etc, block):
    base = yaml.safe_load(CONFIG.read_text())
    changes = yaml.safe_load(block.text)
    if "url" in changes.get("store", {}):
        del base["store"]["path"]
    config = etc / "fleetwire.yaml"
    config.write_text(json.dumps(merged(base, changes)))
    result = checked(config)
    assert result.returncode == 0 and "warning" not in result.stdout, f"{block.place}\n{result.stdout}{result.stderr}"


def test_the_pages_have_configurations():
    assert len(BLOCKS) >= 2 and len(SHIPPED) == 2


SHIPPED = [path for path in sorted(DEPLOY.rglob("fleetwire*.yaml")) if "\napps:" in path.read_text()]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_the_shipped_configurations_are_accepted_in_production(etc, path):
    shutil.copy(path, etc / "fleetwire.yaml")
    result = checked(etc / "fleetwire.yaml")
    assert result.returncode == 0 and "warning" not in result.stdout, result


# Core dumps.


@pytest.fixture
def unprivileged():
    """Starts gateways as a user that is not root, because the kernel shows root's processes as root's in any case."""
    directory = Path(tempfile.mkdtemp(prefix="fleetwire-dumpable-"))
    directory.chmod(0o777)
    wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if wrapper and subprocess.run([*wrapper, BINARY, "--version"], env=environment(), capture_output=True).returncode:
        pytest.skip("another user cannot run the program here")
    started = []

    def start(**settings) -> Gateway:
        folder = directory / str(len(started))
        folder.mkdir()
        folder.chmod(0o777)
        started.append(Gateway(folder, wrapper=wrapper, **settings))
        return started[-1]

    yield start
    for gateway in started:
        gateway.stop()
    shutil.rmtree(directory)


@pytest.mark.parametrize("production, core_dumps, is_dumpable, limit", [
    (True, False, False, "0"), (False, False, True, "0"), (True, True, True, "unlimited")])
def test_memory_stays_out_of_core_files(unprivileged, closing, production, core_dumps, is_dumpable, limit):
    """The kernel gives the files of a process that is not dumpable to root (proc(5))."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    gateway = unprivileged(production=production, first={"secret": SECRET}, server={"core_dumps": core_dumps},
                           sections={"store": STORE})
    resource.setrlimit(resource.RLIMIT_CORE, before)
    process = Path(f"/proc/{gateway.process.pid}")
    assert ((process / "environ").stat().st_uid != 0) == is_dumpable
    [limits] = [line.split()[4:6] for line in (process / "limits").read_text().splitlines() if line.startswith("Max core")]
    assert limits == ["0", "0"] if limit == "0" else limits[0] != "0" or before[1] == 0
    # The process still reads what it tells of itself.
    metrics = scrape(closing(Api(gateway)))
    for name in ("open_fds", "resident_memory_bytes", "cpu_seconds_total"):
        assert metrics.total(f"fleetwire_process_{name}") > 0, name
    assert metrics.total("fleetwire_process_start_time_seconds") > 1_700_000_000
    assert "core_dumps_not_forbidden" not in gateway.log()
