"""A PostgreSQL server of a test's own, and a proxy that breaks connections to it."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

from .freezing import freeze

TIMEOUT = 30
# The server accepts any; no output may contain it.
PASSWORD = "correct-horse-7f3a"
# The end of the message `Query` of PostgreSQL's protocol that commits.
COMMIT = b"COMMIT\x00"


class Postgres:
    """A running server with an empty database `test`.

    It listens on a socket in a temporary directory, below `folder` if that is given. By default it does not sync its files:
    tests kill its processes, not the machine. `variables` are environment variables of its processes.
    """

    database = "test"
    port = 5432

    def __init__(self, folder: Path | None = None, syncs: bool = False, variables: dict[str, str] | None = None):
        self.bin = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.directory = Path(tempfile.mkdtemp(prefix="fleetwire-postgres-", dir=folder))
        self.options = "-c track_wal_io_timing=on" if syncs else "-c fsync=off"
        self.variables = variables or {}
        self.data = self.directory / "data"
        # The server refuses to run as root.
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        try:
            self._run("initdb", "--pgdata", self.data, "--auth", "trust", "--username", "postgres",
                      "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")
            self.start()
            self._run("createdb", "--host", self.directory, "--port", str(self.port), "--username", "postgres", self.database)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Postgres":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The database's connection URI."""
        return f"postgresql://postgres@/{self.database}?host={self.directory}&port={self.port}"

    @property
    def socket_path(self) -> Path:
        return self.directory / f".s.PGSQL.{self.port}"

    @property
    def processes(self) -> list[int]:
        """The server's processes, the first of which has started the others."""
        first = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def query(self, sql: str) -> list[str]:
        """Returns the rows of a query; the columns of a row are separated by `|`."""
        done = subprocess.run([self.bin / "psql", "--no-align", "--tuples-only", "--quiet", self.url, "--command", sql],
                              env=os.environ | {"PGOPTIONS": "-c default_transaction_read_only=off"},
                              check=True, capture_output=True, text=True, timeout=TIMEOUT)
        return done.stdout.splitlines()

    def start(self) -> None:
        self._control("start", "--log", self.directory / "server.log", "--options",
                      f"-k {self.directory} -p 5432 -c listen_addresses= -c max_connections=300 {self.options}")

    def stop(self) -> None:
        """Stops the server as its operator does."""
        self._control("stop", "--mode", "fast")

    def kill(self) -> None:
        """Kills the server's processes, and removes what stops the next start."""
        for process in reversed(self.processes):
            _signal(process, signal.SIGKILL)
        subprocess.run(["sh", "-c", f"while kill -0 {self.processes[0]} 2>/dev/null; do sleep 0.01; done"],
                       check=True, timeout=TIMEOUT)
        (self.data / "postmaster.pid").unlink()
        self.socket_path.unlink(missing_ok=True)

    def freeze(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                freeze(process)

    def thaw(self) -> None:
        for process in reversed(self.processes):
            _signal(process, signal.SIGCONT)

    def close(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.thaw()
            self._control("stop", "--mode", "immediate")
        shutil.rmtree(self.directory)

    def _control(self, *arguments) -> None:
        self._run("pg_ctl", "--pgdata", self.data, "--wait", "--silent", *arguments)

    def _run(self, program: str, *arguments) -> None:
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        subprocess.run([self.bin / program, *arguments], check=True, timeout=TIMEOUT, cwd=self.directory,
                       env=os.environ | self.variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **identity)


def _signal(process: int, number: signal.Signals) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


class PostgresProxy:
    """Forwards TCP connections to a server. Armed, it breaks the connection at the COMMIT of a transaction whose
    parameters contain a text: before the server gets it, or when the server has executed it.
    """

    def __init__(self, server: Postgres):
        self.server = server
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.armed: tuple[bytes, str] | None = None
        self.cut = threading.Event()
        self.is_open = True
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self.listener.getsockname()[1]}/test?sslmode=disable"

    def arm(self, text: str, moment: str) -> None:
        """`moment` is "before" or "after"."""
        self.cut.clear()
        self.armed = (text.encode(), moment)

    def refuse(self) -> None:
        """Breaks all connections, and refuses new ones until `admit`."""
        self.is_open = False
        self._break()

    def admit(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self.listener.close()
        self._break()

    def _break(self) -> None:
        for connection in self.sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                if not self.is_open:
                    raise ConnectionRefusedError
                server.connect(str(self.server.socket_path))
            except OSError:
                client.close()
                server.close()
                continue
            self.sockets += [client, server]
            state = {"is_swallowing": False}
            threading.Thread(target=self._to_server, args=(client, server, state), daemon=True).start()
            threading.Thread(target=self._to_client, args=(server, client, state), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket, state: dict) -> None:
        seen = False
        while data := _receive(client):
            armed = self.armed  # the main thread may replace it meanwhile
            seen = seen or armed is not None and armed[0] in data
            if armed and seen and COMMIT in data:
                self.armed = None
                if armed[1] == "before":
                    break
                state["is_swallowing"] = True
            if COMMIT in data:
                seen = False
            try:
                server.sendall(data)
            except OSError:
                break
        self._end(client, server, state)

    def _to_client(self, server: socket.socket, client: socket.socket, state: dict) -> None:
        while data := _receive(server):
            if state["is_swallowing"]:
                break
            try:
                client.sendall(data)
            except OSError:
                break
        self._end(client, server, state)

    def _end(self, client: socket.socket, server: socket.socket, state: dict) -> None:
        for connection in (client, server):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self.armed is None:
            self.cut.set()


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except OSError:
        return b""
