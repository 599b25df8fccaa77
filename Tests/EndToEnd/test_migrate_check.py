"""`fleetwire migrate-check`: its output is a configuration with which the other server's apps and backends go on. What
docs/migration says of the gateway.
"""

import json
import resource
import subprocess

import pytest

from harness.api import Api
from harness.apps import App
from harness.client import Client
from harness.fleet import SECTIONS, Caller
from harness.gateway import BINARY, Gateway, environment, run

SECRET = "hunter2-of-the-other-server"


def check(path, **variables) -> str:
    """Returns the configuration that the command prints, which `check-config` must accept."""
    result = run("migrate-check", str(path))
    assert (result.returncode, result.stderr) == (0, ""), result
    assert "hunter2" not in result.stdout
    config = path.parent / "migrated.yaml"
    config.write_text(result.stdout)
    checked = run("check-config", "--config", config, **variables)
    assert checked.returncode == 0, (checked, result.stdout)
    return result.stdout


class Migrated(Gateway):
    """A gateway with a configuration that the command has printed."""

    def __init__(self, directory, text: str, **variables: str):
        self.config = directory / "fleetwire.yaml"
        self.config.write_text(text)
        self.log_path, self.tls = directory / "stderr.log", None
        self._start([BINARY, "serve", "--config", self.config, "--port", "0"], directory, variables)


@pytest.fixture
def soketi(tmp_path):
    path = tmp_path / "soketi.json"
    path.write_text(json.dumps({"port": 6001, "appManager.array.apps": [
        {"id": "a1", "key": "k1", "secret": SECRET, "enableClientMessages": True, "webhooks": [
            {"url": f"https://hooks.example/?key={SECRET}", "event_types": ["channel_occupied"]}]}]}))
    return path


def test_apps_and_backends_go_on_with_key_and_secret(soketi, tmp_path, closing):
    variables = {"SOKETI_DEFAULT_APP_SECRET": SECRET, "WEBHOOK_0_URL": "https://hooks.example/"}
    text = check(soketi, **variables)
    app = App("a1", "k1", SECRET)
    gateway = Migrated(tmp_path, text, **variables)
    try:
        api = closing(Api(gateway, app))
        client = closing(Client.connect(gateway, app))
        for channel in ("news", "driver-1", "admin-channel"):  # no name is special
            client.subscribe(channel)
        client.subscribe_private("private-room", app)
        api.publish("news", "e", "x" * 100_000)
        assert client.expect("e", channel="news")["data"] == "x" * 100_000
        other = closing(Client.connect(gateway, app))
        other.subscribe_private("private-room", app)
        other.send("client-typing", {"by": "b"}, channel="private-room")
        client.expect("client-typing", channel="private-room")
        # A whisper on a public channel, which Soketi, Reverb and Laravel WebSockets deliver.
        other.subscribe("news")
        other.send("client-typing", {}, channel="news")
        other.expect_error()
    finally:
        gateway.stop()


def test_a_recording_of_an_app_that_never_signs_suggests_what_lets_it_in(tmp_path, closing):
    messages = [{"type": "send", "data": json.dumps({"event": "pusher:subscribe", "data": {"channel": channel}})}
                for channel in ("driver-42", "admin-channel")]
    path = tmp_path / "page.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": [
        {"request": {"method": "GET", "url": "wss://ws.example/app/k1?protocol=7", "headers": []},
         "response": {"status": 101}, "_webSocketMessages": messages}]}}))
    variables = {"PUSHER_APP_SECRET": SECRET}
    text = check(path, **variables)
    assert text.count("channels: []") == 3  # in two comments, and as the rule that is set
    configuration, rules = text.split("# channels:\n")
    taken = configuration.replace("\nchannels: []", "\nchannels:\n" + rules.replace("# ", "") + "#", 1)
    gateway = Migrated(tmp_path, taken, **variables)
    try:
        app = App("app-id", "k1", SECRET)
        client, api = closing(Client.connect(gateway, app)), closing(Api(gateway, app))
        client.subscribe("driver-42")
        client.send_subscribe("admin-channel")
        assert client.expect("pusher:error")["data"]["code"] is None
        api.publish("driver-42", "e", "x")
        client.expect("e", channel="driver-42")
    finally:
        gateway.stop()


def test_paths_of_other_servers_do_not_exist(start_gateway, closing):
    gateway = start_gateway(sections=SECTIONS)
    api = closing(Api(gateway))
    assert api.get_signed("connections").status == 404
    for path in ("/", "/ready", "/up", "/health", "/usage", "/accept-traffic"):
        assert api.get(path).status == 404, path
    for path in ("/healthz", "/readyz"):
        assert api.get(path).status == 200, path
    stats = closing(Caller(gateway, "ops", "o")).expect_ok("GET", "/api/ops/stats")
    assert "connections" in json.dumps(stats)
    assert closing(Client.dial(gateway, protocol=None)).expect_close()[0] == 4008


@pytest.mark.parametrize("content, words", [
    (b"", "is empty"), (b"\x00\xff\x00", "neither JSON nor text in UTF-8"), (b"A=\xff", "neither JSON nor text in UTF-8"),
    (b"{", "invalid JSON"), (b"{}", "neither a browser's recording"), (b'{"log":' + b"[" * 100_000, "invalid JSON"),
    (b"APP_KEY=hunter2", "no variable of Pusher"), (b"PUSHER_APP_KEY hunter2", "no line is NAME=value")])
def test_a_hostile_file_gets_a_clear_error(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_bytes(content)
    result = run("migrate-check", str(path))
    assert (result.returncode, result.stdout) == (1, ""), result
    assert words in result.stderr and "hunter2" not in result.stderr


@pytest.mark.parametrize("url, credential, expected", [
    ("wss://x:99999/app/k1?protocol=7", "Bearer hunter2", "Authorization: Bearer, answered"),
    ("wss://x/app/k1?protocol=7", "hunter2_live_0123456789", "Authorization, answered"),
    ("wss://x/ws/app/k1?protocol=7", "x", 'path_prefix: "/ws"')], ids=["port", "credential", "prefix"])
def test_a_strange_recording_becomes_a_configuration_that_is_accepted(tmp_path, url, credential, expected):
    authorization = {"method": "POST", "url": "https://a.example/auth", "postData": {"text": "socket_id=1.2"},
                     "headers": [{"name": "Authorization", "value": credential}]}
    requests = [{"method": "GET", "url": url, "headers": []}, authorization]
    path = tmp_path / "page.har"
    path.write_text(json.dumps({"log": {"entries": [{"request": request, "response": {}} for request in requests]}}))
    assert expected in check(path, PUSHER_APP_SECRET=SECRET)


def test_an_app_with_an_index_beyond_all_lists_is_left_out(tmp_path):
    path = tmp_path / "soketi.json"
    path.write_text('{"appManager.array.apps.9223372036854775807.id":"x"}')
    assert "no number up to 99999 is left out" in check(path, SOKETI_DEFAULT_APP_SECRET=SECRET)


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nonexistent"])
def test_only_regular_files_are_read(path):
    result = run("migrate-check", path)
    assert result.returncode == 1 and result.stderr.startswith(f"fleetwire: cannot read {path}: ")


@pytest.mark.cost
def test_a_large_recording_takes_bounded_memory(tmp_path):
    """64 MB of content beside one connection: the file is in memory once, and little else."""
    entry = json.dumps({"request": {"method": "GET", "url": "https://a.example/", "headers": [
        {"name": "Cookie", "value": SECRET}]}, "response": {"status": 200, "content": {"text": "x" * 1_000_000}}})
    socket = json.dumps({"request": {"method": "GET", "url": "wss://ws.example/app/k1?protocol=7", "headers": []}})
    path = tmp_path / "page.har"
    path.write_text('{"log":{"version":"1.2","entries":[' + ",".join([entry] * 64 + [socket]) + "]}}")
    size = 512 * 1_048_576

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))

    result = subprocess.run([BINARY, "migrate-check", path], env=environment(), text=True, capture_output=True,
                            timeout=300, preexec_fn=limit)
    assert (result.returncode, result.stderr) == (0, ""), result.stderr
    assert "wss://ws.example with the key k1" in result.stdout and "hunter2" not in result.stdout
    assert len(result.stdout) < 10_000


def test_a_file_that_is_too_large_is_refused(tmp_path):
    path = tmp_path / "page.har"
    with path.open("wb") as file:
        file.truncate(134_217_729)
    result = run("migrate-check", str(path))
    assert result.returncode == 1 and "134217729 bytes: at most 134217728 are read" in result.stderr
