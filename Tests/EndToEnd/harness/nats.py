"""A NATS server of a test's own, and a proxy that delays or cuts connections to it."""

import json
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .freezing import freeze

TIMEOUT = 30


class Nats:
    """A running nats-server on a free port of the loopback, which it keeps when it is started again."""

    def __init__(self, *options: str):
        self.directory = Path(tempfile.mkdtemp(prefix="fleetwire-nats-"))
        self.options = options
        self.port = -1
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Nats":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server, and waits until it accepts connections."""
        with (self.directory / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [shutil.which("nats-server") or "/usr/sbin/nats-server", "--addr", "127.0.0.1", "--port", str(self.port),
                 "--ports_file_dir", str(self.directory), *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ports = self.directory / f"nats-server_{self.process.pid}.ports"
        deadline = time.monotonic() + TIMEOUT
        while not (ports.exists() and ports.read_text().strip()):
            assert self.process.poll() is None, (self.directory / "server.log").read_text()
            assert time.monotonic() < deadline, "nats-server did not start"
            time.sleep(0.01)
        if self.port < 0:
            [url, *_] = json.loads(ports.read_text())["nats"]
            self.port = int(url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        freeze(self.process.pid)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        if hasattr(self, "process") and self.process.poll() is None:
            self.thaw()
            self.kill()
        shutil.rmtree(self.directory)


class NatsProxy:
    """Forwards TCP connections to a server, each chunk after a delay in seconds; cut, it forwards none."""

    def __init__(self, server: Nats, delay: float = 0):
        self.server, self.delay = server, delay
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.is_cut = False
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.listener.getsockname()[1]}"

    def cut(self) -> None:
        """Breaks all connections, and refuses further ones."""
        self.is_cut = True
        for each in self.sockets:
            _shut(each)
        self.sockets.clear()

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self.listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.is_cut:
                _shut(client)
                continue
            try:
                upstream = socket.create_connection(("127.0.0.1", self.server.port))
            except OSError:
                _shut(client)
                continue
            self.sockets += [client, upstream]
            for one, other in [(client, upstream), (upstream, client)]:
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        chunks: list[tuple[float, bytes]] = []
        ready = threading.Condition()

        def send() -> None:
            while True:
                with ready:
                    ready.wait_for(lambda: chunks)
                    due, chunk = chunks.pop(0)
                # The delay of a line, which the test is about.
                time.sleep(max(0, due - time.monotonic()))
                if not chunk:
                    return _shut(target)
                try:
                    target.sendall(chunk)
                except OSError:
                    return

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                chunk = source.recv(65_536)
            except OSError:
                chunk = b""
            with ready:
                chunks.append((time.monotonic() + self.delay, chunk))
                ready.notify()
            if not chunk:
                return


class NatsFilter:
    """Forwards connections to a server, except the messages that clients publish and `drops(subject, payload)` names."""

    def __init__(self, server: Nats):
        self.server = server
        self.drops: Callable[[str, bytes], bool] = lambda subject, payload: False
        self.dropped = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.listener.getsockname()[1]}"

    def close(self) -> None:
        _shut(self.listener)
        for each in self.sockets:
            _shut(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                upstream = socket.create_connection(("127.0.0.1", self.server.port))
            except OSError:
                _shut(client)
                continue
            self.sockets += [client, upstream]
            threading.Thread(target=self._to_server, args=(client, upstream), daemon=True).start()
            threading.Thread(target=self._to_client, args=(upstream, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with client.makefile("rb") as reader:
            try:
                while line := reader.readline():
                    if not line.startswith(b"PUB "):
                        server.sendall(line)
                        continue
                    subject, size = line.split()[1], line.split()[-1]
                    payload = reader.read(int(size) + 2)
                    if self.drops(subject.decode(), payload[:-2]):
                        self.dropped += 1
                    else:
                        server.sendall(line + payload)
            except OSError:
                pass
        _shut(server)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while chunk := server.recv(65_536):
                client.sendall(chunk)
        except OSError:
            pass
        _shut(client)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()

