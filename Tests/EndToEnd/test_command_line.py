"""Exit codes and output: 0 success, 64 invalid usage, 78 invalid configuration."""

import mmap
import re
import shutil
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from harness.apps import FIRST
from harness.client import Client
from harness.gateway import BINARY, SERVER, TIMEOUT, environment, expect_invalid_config, run

def test_version_prints_the_version():
    result = run("--version")
    assert result.returncode == 0 and result.stderr == ""
    assert re.fullmatch(r"(Fleetwire )?\d+\.\d+\.\d+\S*", result.stdout.strip())


def test_banner_has_the_same_version(start_gateway):
    assert run("--version").stdout.strip().endswith(start_gateway().version)


@pytest.mark.parametrize("arguments",
                         [["nonsense"], ["--nonsense"], ["serve", "--nonsense"],
                          ["serve", "--config"], ["serve", "--port", "x"], ["send"],
                          ["check-config", "--nonsense", "x"]],
                         ids=" ".join)
def test_invalid_usage_exits_64(config, arguments):
    if arguments[:2] == ["serve", "--port"]:
        arguments = ["serve", "--config", config(), "--port", "x"]
    result = run(*arguments)
    assert result.returncode == 64
    assert result.stderr.strip() and result.stdout == ""


def test_check_config_accepts_valid_configuration(config):
    assert run("check-config", "--config", config()).returncode == 0


@pytest.mark.parametrize("command", ["serve", "check-config"])
def test_missing_file_exits_78(tmp_path, command):
    result = run(command, "--config", tmp_path / "missing.yaml")
    assert result.returncode == 78
    assert "missing.yaml" in result.stderr and result.stdout == ""


BAD = {
    "an unknown key": ({"server": SERVER | {"prot": 1}}, ["prot", "port"]),
    "port: string": ({"server": SERVER | {"port": "http"}}, ["port", "http"]),
    "two apps with one id": ({"apps": [FIRST.entry(), FIRST.entry() | {"key": "key2"}]}, ["1001"]),
}


@pytest.mark.parametrize("command", ["serve", "check-config"])
@pytest.mark.parametrize("sections, words", BAD.values(), ids=BAD)
def test_invalid_configuration_exits_78_and_names_the_key(config, command, sections, words):
    expect_invalid_config(command, config(**sections), *words)


@pytest.mark.parametrize("text",
                         ["server: {port: ", "\t- x\n  y: [", "server: port: 1", "\x00",
                          "just text", "- 1\n- 2\n", "a: &a [*a]"],
                         ids=ascii)
def test_invalid_yaml_exits_78(tmp_path, text):
    path = tmp_path / "test.yaml"
    path.write_text(text)
    result = run("check-config", "--config", path)
    assert result.returncode == 78
    assert "test.yaml" in result.stderr


def test_environment_overrides_configuration(config):
    path = config()
    assert run("check-config", "--config", path, FLEETWIRE_SERVER_LOOPS="3").returncode == 0
    result = run("check-config", "--config", path, FLEETWIRE_SERVER_LOOPS="three")
    assert result.returncode == 78
    assert "three" in result.stderr


def test_second_instance_on_the_same_port_fails(start_gateway, closing):
    first = start_gateway()
    client = closing(Client.connect(first))
    result = run("serve", "--config", first.config, "--port", str(first.port))
    assert result.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGILL,
                                     -signal.SIGTRAP)
    assert "listening" not in result.stdout
    assert str(first.port) in result.stderr
    client.expect_nothing()
    closing(Client.connect(first)).expect_nothing()


@pytest.mark.parametrize("status", [200, 500])
def test_send_shows_no_control_characters_of_a_server(config, status):
    """The server may be anybody's, and a terminal obeys what it is sent."""
    class Hostile(BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802
            self.rfile.read(int(self.headers["Content-Length"]))
            body = "a\x1b[31mb\nc\u202ed".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            result = run("send", "--config", config(), "--url", f"http://127.0.0.1:{server.server_port}",
                         "--channel", "c", "--event", "e")
        finally:
            server.shutdown()
    assert r"a\u{1b}[31mb\u{a}c\u{202e}d" in (result.stdout if status == 200 else result.stderr), result


# The simulations are another program, so that the shipped one has no code of tests.

@pytest.fixture
def alone(tmp_path):
    """The program in a folder of its own, called by a link from another one."""
    (tmp_path / "bin").mkdir()
    shutil.copy(BINARY, tmp_path / "fleetwire")
    (tmp_path / "bin/fleetwire").symlink_to(tmp_path / "fleetwire")
    return tmp_path / "bin/fleetwire"


@pytest.mark.parametrize("arguments", [["--seed", "7", "--seeds=2"], ["--help"], ["--", "a b", ""], []], ids=" ".join)
def test_simulate_becomes_the_simulator_beside_it(alone, arguments):
    simulator = alone.parent.parent / "fleetwire-sim"
    simulator.write_text("#!/bin/sh\nprintf '%s\\n' $$ \"$0\" \"$@\"\nexit 3\n")
    simulator.chmod(0o755)
    process = subprocess.Popen([alone, "simulate", *arguments], env=environment(), text=True, stdout=subprocess.PIPE)
    output, _ = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 3
    assert output.removesuffix("\n").split("\n") == [str(process.pid), str(simulator), *arguments]


def test_simulate_without_the_simulator_says_what_to_do(alone):
    result = subprocess.run([alone, "simulate", "--seed", "7"], env=environment(), text=True, capture_output=True,
                            timeout=TIMEOUT)
    assert result.returncode == 1 and result.stdout == ""
    assert str(alone.parent.parent / "fleetwire-sim") in result.stderr and "No such file" in result.stderr
    assert "swift build --product fleetwire-sim" in result.stderr


def test_simulate_reproduces_a_run():
    if not (BINARY.parent / "fleetwire-sim").exists():
        pytest.skip("no fleetwire-sim beside the program")
    first, second = (run("simulate", "--seed", "7", "--steps", "50") for _ in range(2))
    assert first.returncode == 0 and first.stdout.startswith("seed 7: 50 steps") and first.stdout == second.stdout
    assert run("simulate", "--steps", "-1").returncode == 64


def test_the_program_has_no_code_of_tests():
    """The names of the simulation's types would be in it."""
    names = [b"ReferenceModel", b"SimulatedUsers", b"SplitMix"]
    with open(BINARY, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as program:
        assert [name for name in names if program.find(name) >= 0] == []
