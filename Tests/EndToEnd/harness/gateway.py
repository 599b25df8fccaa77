"""The program under test: one process, started on a free port and stopped with SIGTERM."""

import contextlib
import hashlib
import json
import os
import random
import re
import resource
import selectors
import signal
import sqlite3
import ssl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .apps import DISABLED, FIRST, SECOND, TIMEOUT
from .freezing import freeze
from .packing import shown

FOLDER = Path(__file__).resolve().parent.parent
BINARY = Path(os.environ.get("FLEETWIRE_BINARY")
              or FOLDER / "../../.build/release/fleetwire").resolve()
STORE_VARIABLES = {"FLEETWIRE_STORE_PATH", "FLEETWIRE_STORE_URL"}
BANNER = re.compile(r"Fleetwire (\S+) listening on (\S+):(\d+)\n")
# Clock ticks per second, the unit of CPU times in /proc.
TICKS = os.sysconf("SC_CLK_TCK")
# The section `server` of a valid configuration.
SERVER = {"host": "127.0.0.1", "port": 0, "loops": 1, "drain_seconds": 1}


def environment(**variables: str) -> dict[str, str]:
    """Returns the environment with these variables, and without others that override the gateway's
    configuration. Swift's runtime prints no backtrace of a process that aborts: it is not JSON.
    """
    return {name: value for name, value in os.environ.items()
            if not name.startswith("FLEETWIRE_")} | {"SWIFT_BACKTRACE": "enable=no"} | variables


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    """Runs a command of the program, with these environment variables, until it exits."""
    if arguments[0] in ("audit", "watch", "trust-clock", "token") and STORE_VARIABLES.isdisjoint(variables):
        variables |= on_postgres(Path(arguments[arguments.index("--config") + 1]).parent)
    return subprocess.run([BINARY, *arguments], env=environment(**variables), text=True,
                          capture_output=True, timeout=TIMEOUT)


def expect_invalid_config(command: str, config: Path, *words: str) -> None:
    """Runs a command with a configuration that it must reject: exit code 78, nothing on stdout, and
    an error message with the file's name and these words.
    """
    result = run(command, "--config", config)
    assert result.returncode == 78, result
    assert result.stdout == "", result
    for word in [config.name, *words]:
        assert word in result.stderr, f"{word!r} is not in {result.stderr!r}"


def yaml_flow(value) -> str:
    """Formats a value as YAML in flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(yaml_flow(inner) for inner in value) + "]"
    return json.dumps(value)


def write_config(path: Path, **sections) -> Path:
    path.write_text("".join(f"{name}: {yaml_flow(value)}\n" for name, value in sections.items()))
    return path


# For tests of the store's file: its path, its mode, a full disk.
needs_file = pytest.mark.skipif("FLEETWIRE_TEST_POSTGRES" in os.environ, reason="needs an SQLite file")


def on_postgres(directory: Path) -> dict[str, str]:
    """Returns the variables with which the gateway of a directory uses a schema of its own in the database of
    `dev/with-postgres`; none without that.
    """
    database = os.environ.get("FLEETWIRE_TEST_POSTGRES")
    if not database:
        return {}
    schema = "e2e_" + hashlib.sha256(bytes(directory)).hexdigest()[:16]
    subprocess.run(["psql", "--quiet", database, "-c", f"CREATE SCHEMA IF NOT EXISTS {schema}"],
                   env=os.environ | {"PGOPTIONS": "-c client_min_messages=warning"}, check=True, timeout=TIMEOUT)
    return {"FLEETWIRE_STORE_URL": f"{database}&options=-csearch_path%3D{schema}"}


# Whether gateways are plain Pusher servers, without a fleet, unless a test configures one (`make e2e-plain`).
IS_PLAIN = "FLEETWIRE_TEST_PLAIN" in os.environ

# With `dev/with-cluster`, this number of nodes stands for one gateway.
NODES = 3


def on_nats(store: dict[str, str]) -> dict:
    """Returns the section `cluster` for the gateways on a database of `dev/with-cluster`; an empty one without that."""
    url = os.environ.get("FLEETWIRE_TEST_NATS")
    if not (url and store):
        return {}
    name = "e2e-" + hashlib.sha256(store["FLEETWIRE_STORE_URL"].encode()).hexdigest()[:16]
    return {"cluster": {"nats": [url], "name": name, "heartbeat_seconds": 1}}


class Gateway:
    """A running gateway. `limits` and `first` configure the first application, `server` that
    section; `apps` are additional ones.

    `sections` are further sections of the configuration; `wrapper` is a command that runs the
    program, such as strace, and gets the descriptors `pass_fds`; `stderr` is a descriptor that gets the log instead of a file;
    `variables` are environment variables. With `production`, only the first application is
    configured, because the secrets of the others are short. In a `directory` that another gateway used before, it
    opens that gateway's database.
    """

    # The further nodes of a cluster, with their ports.
    others: tuple[tuple[subprocess.Popen, int], ...] = ()
    # Whether it runs without a fleet.
    is_plain = False

    def __init__(self, directory: Path, loops: int = 2, limits: dict | None = None,
                 server: dict | None = None, descriptors: int | None = None,
                 first: dict | None = None, apps: list[dict] | None = None,
                 sections: dict | None = None, wrapper: list | None = None, pass_fds: tuple[int, ...] = (),
                 stderr: int | None = None, variables: dict[str, str] | None = None,
                 production: bool = False):
        directory.mkdir(parents=True, exist_ok=True)
        self.loops = loops
        store = on_postgres(directory) if STORE_VARIABLES.isdisjoint(variables or {}) else {}
        if store:
            sections = sections or {}
            keys = {"encryption_keys": [{"id": "e2e", "key": "ZTJlLWtleS1lMmUta2V5LWUyZS1rZXktZTJlLWtleS0="}]}
            sections = on_nats(store) | sections | {"store": keys | sections.get("store", {})}
        variables = store | (variables or {})
        self.is_plain = IS_PLAIN and "fleet" not in (sections or {})
        if self.is_plain:
            sections = {"fleet": {"enabled": False}} | (sections or {})
        first = FIRST.entry(**({"limits": limits} if limits else {}), **(first or {}))
        self.config = write_config(
            directory / "fleetwire.yaml",
            server=SERVER | {"loops": loops} | (server or {}),
            apps=[first, *([] if production else [SECOND.entry(), DISABLED.entry()]), *(apps or [])],
            **(sections or {}))
        self.log_path = directory / "stderr.log"

        def limit() -> None:
            # A write beyond RLIMIT_FSIZE must fail like a write to a full disk; Popen would restore
            # SIGXFSZ, which kills.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

        pairs = (server or {}).get("tls", [])
        # Clients trust only these certificates.
        self.tls = ssl.create_default_context() if pairs else None
        for pair in [pairs] if isinstance(pairs, dict) else pairs:
            self.tls.load_verify_locations(pair["certificate"])
        command = [*(wrapper or []), BINARY, "serve", "--config", self.config, *(["--production"] if production else [])]
        self._start(command, directory, variables, stderr=stderr, prepare=limit, pass_fds=pass_fds)
        if "cluster" in (sections or {}) and "FLEETWIRE_TEST_NATS" in os.environ:
            self._start_others(command, directory, variables, limit)

    def _start_others(self, command: list, directory: Path, variables: dict[str, str],
                      prepare: Callable[[], None]) -> None:
        """Starts the other nodes of a cluster, and waits until all know each other."""
        first, others = (self.process, self.port), []
        for _ in range(NODES - 1):
            self._start(command, directory, variables, log_mode="ab", prepare=prepare)
            others.append((self.process, self.port))
        self.process, self.port_of_first = first
        self.others = tuple(others)
        deadline = time.monotonic() + TIMEOUT
        while self.log().count('"event":"node_came"') < NODES * (NODES - 1):
            assert time.monotonic() < deadline, f"the nodes do not know each other; log:\n{self.log()}"
            time.sleep(0.01)

    @property
    def port(self) -> int:
        """The port of the gateway; that of a random node of a cluster."""
        ports = [self.port_of_first, *(port for _, port in self.others)]
        return random.choice(ports)

    @port.setter
    def port(self, port: int) -> None:
        self.port_of_first = port

    def _start(self, command: list, directory: Path, variables: dict[str, str],
               log_mode: str = "wb", stderr: int | None = None,
               prepare: Callable[[], None] | None = None, pass_fds: tuple[int, ...] = ()) -> None:
        """Starts the process, and waits until it listens."""
        if log_mode == "wb":
            self.log_path.write_bytes(b"")
        # Appended, because the nodes of a cluster share the file.
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environment(**variables), cwd=directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log if stderr is None else stderr,
                preexec_fn=prepare, pass_fds=pass_fds)
        self.host, self.stopped = "127.0.0.1", False
        try:
            self.version, self.bound_to, self.port = self._banner()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def _banner(self) -> tuple[str, str, int]:
        # Not select(), which knows no descriptors above 1,023.
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            assert selector.select(TIMEOUT), f"nothing on stdout within {TIMEOUT} s"
        line = self.process.stdout.readline().decode()
        match = BANNER.fullmatch(line)
        assert match, f"stdout began with {line!r}; stderr:\n{self.log()}"
        return match[1], match[2], int(match[3])

    @property
    def database_path(self) -> Path:
        """The database, unless `store.path` is set."""
        if "FLEETWIRE_TEST_POSTGRES" in os.environ:
            pytest.skip("needs an SQLite file")
        return self.config.parent / "var/fleetwire.db"

    def query(self, sql: str, *values) -> list[tuple]:
        """Queries the database, read-only; the gateway may run or have stopped."""
        with contextlib.closing(
                sqlite3.connect(f"file:{self.database_path}?mode=ro", uri=True)) as database:
            return shown(database).execute(sql, values).fetchall()

    @property
    def drain_code(self) -> int:
        """The code with which it closes clients when it stops. A node of a cluster sends them to other nodes."""
        return 4200 if self.others else 4100

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def assert_idle(self) -> None:
        """Checks that no loop spins while there are no requests.

        The pause is a measuring window, not a wait: a spinning loop uses all of every window.
        """
        shares = []
        for _ in range(10):
            cpu, wall = self.cpu_seconds(), time.monotonic()
            time.sleep(0.15)
            shares.append((self.cpu_seconds() - cpu) / (time.monotonic() - wall))
            if shares[-1] < 0.3:
                return
        raise AssertionError("the gateway is busy although no request is open: it used "
                             f"{[round(share, 2) for share in shares]} of a core")

    def assert_alive(self) -> None:
        code = self.process.poll()
        assert code is None, f"the gateway exited with code {code}; end of its log:\n{self.log()[-3000:]}"
        if self.is_plain:
            assert not (self.config.parent / "var").exists(), "a plain Pusher server has created a file"

    def terminate(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)

    @property
    def processes(self) -> list[subprocess.Popen]:
        return [self.process, *(process for process, _ in self.others)]

    def freeze(self) -> None:
        """Stops the gateway's process until ``thaw``."""
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the gateway with SIGKILL."""
        self.stopped = True
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            process.stdout.close()

    def wait(self, expected: int = 0) -> None:
        """Waits for an orderly exit: with this exit code, and nothing but JSON on stderr."""
        self.stopped = True
        for process in self.processes:
            self._wait(process, expected)
        check_log(self.log())

    def _wait(self, process: subprocess.Popen, expected: int) -> None:
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(
                f"still running {TIMEOUT} s after SIGTERM; stderr:\n{self.log()[-3000:]}") from None
        assert code == expected, f"exit code {code}; stderr:\n{self.log()[-3000:]}"
        more = process.stdout.read().decode()
        assert more == "", f"stdout contains more than the banner: {more!r}"

    def stop(self) -> None:
        if not self.stopped:
            self.terminate()
            self.wait()


def check_log(text: str) -> list[dict]:
    """Parses the log: every line must be an object with a time, a level and an event. No name may
    occur twice: parsers would keep only the last value.
    """
    def unique(members: list[tuple]) -> dict:
        assert len(dict(members)) == len(members), f"a name occurs twice in a log line: {members}"
        return dict(members)

    entries = []
    for line in text.splitlines():
        try:
            entry = json.loads(line, object_pairs_hook=unique)
        except ValueError:
            raise AssertionError(f"a log line is not JSON: {line!r}") from None
        assert (isinstance(entry, dict)
                and {"time", "level",
                     "event"} <= entry.keys()), f"a log line lacks fields: {line!r}"
        entries.append(entry)
    return entries


def logs_limit(gateway: Gateway, limit: str) -> bool:
    """Returns whether the log reports that a limit was reached."""
    return any(entry["event"] == "limit_reached" and entry["limit"] == limit
               for entry in check_log(gateway.log()))
