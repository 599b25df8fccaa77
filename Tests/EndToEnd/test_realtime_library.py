"""The library product `Realtime`: the program of examples/realtime, a package of its own that depends on it."""

import contextlib
import json
import subprocess

import pusher
import pytest
from harness.documents import ROOT
from websockets.sync.client import connect

PROGRAM = ROOT / ".build/example/debug/chat-server"


@pytest.fixture
def chat(tmp_path):
    """The running program, and the port that it listens on."""
    assert PROGRAM.exists(), "make test-build builds it"
    process = subprocess.Popen([PROGRAM, "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            record = json.loads(line)
            if record["event"] == "listening":
                break
        yield process, record["port"]
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def subscribed(port, channel, sign=None):
    """A connection that is subscribed to a channel.

    `sign` makes the signature for a socket_id.
    """
    with connect(f"ws://127.0.0.1:{port}/app/chat-key?protocol=7") as socket:
        socket_id = json.loads(json.loads(socket.recv(timeout=10))["data"])["socket_id"]
        data = {"channel": channel} | ({"auth": sign(socket_id)} if sign else {})
        socket.send(json.dumps({"event": "pusher:subscribe", "data": data}))
        assert json.loads(socket.recv(timeout=10))["event"] == "pusher_internal:subscription_succeeded"
        yield socket


def test_the_program_publishes_to_its_clients(chat):
    with subscribed(chat[1], "uptime") as socket:
        first, second = (json.loads(socket.recv(timeout=10)) for _ in range(2))
    assert first["event"] == second["event"] == "second"
    assert int(second["data"]) == int(first["data"]) + 1


def test_clients_and_backends_publish_to_each_other(chat):
    backend = pusher.Pusher("1", "chat-key", "chat-secret", ssl=False, host="127.0.0.1", port=chat[1])

    def sign(socket_id):
        return backend.authenticate("private-room", socket_id)["auth"]

    with subscribed(chat[1], "private-room", sign) as one, subscribed(chat[1], "private-room", sign) as other:
        one.send(json.dumps({"event": "client-message", "channel": "private-room", "data": "good evening"}))
        assert json.loads(other.recv(timeout=10))["data"] == "good evening"
        backend.trigger("private-room", "notice", {"text": "closing time"})
        for socket in (one, other):
            assert json.loads(json.loads(socket.recv(timeout=10))["data"]) == {"text": "closing time"}


def test_it_needs_no_database_and_leaves_no_file(chat, tmp_path):
    libraries = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout
    assert "libwebsockets" in libraries and "sqlite" not in libraries and "libpq" not in libraries
    chat[0].terminate()
    assert chat[0].wait(timeout=30) == 0
    assert list(tmp_path.iterdir()) == []
