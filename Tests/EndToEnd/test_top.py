"""`fleetwire top`: a gateway's figures on a terminal, and as text."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness.client import Client
from harness.fleet import SECTIONS, token
from harness.gateway import BINARY, Gateway, environment, run

SETTINGS = {"sections": SECTIONS}
TIMEOUT = 60
SWITCHED, RESTORED = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class Terminal:
    """A terminal in which `fleetwire top` runs."""

    def __init__(self, *arguments, size: tuple[int, int] = (24, 80)):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.mode = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [BINARY, "top", *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=environment(), start_new_session=True)
        self.shown = ""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self) -> None:
        """Reads what was written since, if anything comes within a moment."""
        if select.select([self.master], [], [], 0.1)[0]:
            self.shown += os.read(self.master, 65536).decode()

    def screens(self) -> list[list[str]]:
        """Returns the lines of each complete screen so far."""
        parts = self.shown.split("\x1b[H")[1:]
        return [part.partition("\x1b[J")[0].replace("\x1b[K", "").split("\r\n")
                for part in parts if "\x1b[J" in part]

    def expect(self, *texts: str) -> list[str]:
        """Waits for a new screen with these texts, and returns its lines."""
        before = len(self.screens())
        deadline = time.monotonic() + TIMEOUT
        while True:
            for screen in self.screens()[before:]:
                if all(text in "\n".join(screen) for text in texts):
                    return screen
            assert time.monotonic() < deadline, (texts, self.shown[-3000:])
            self.read()

    def end(self) -> int:
        """Waits for the end. Returns the exit code; the terminal must be as it was before."""
        code = self.process.wait(TIMEOUT)
        while select.select([self.master], [], [], 0)[0]:
            self.read()
        assert self.shown.startswith(SWITCHED) and self.shown.endswith(RESTORED), self.shown[-200:]
        assert termios.tcgetattr(self.slave) == self.mode
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def top(closing):
    """Runs `fleetwire top` in a terminal."""
    def start(gateway: Gateway, *more, **settings) -> Terminal:
        arguments = ["--config", gateway.config, "--url", gateway.url, *more]
        return closing(Terminal(*arguments, **settings))
    return start


def test_shows_connections_loops_lanes_and_notifications(gateway, top, connect, channel):
    terminal = top(gateway)
    for _ in range(3):
        connect().subscribe(channel)
    lines = terminal.expect("connections   now 3 ", "/s")
    assert lines[0].startswith(f"fleetwire top  {gateway.url} ") and len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    titles = [line.split("  ")[0] for line in lines]
    for title in ("connections", "channels", "messages", "bytes", "requests", "store", "push lane",
                  "apns", "apns-sandbox", "fcm", "notifications", "loop"):
        assert title in titles, lines
    # Two loops share the connections.
    loops = [line.split() for line in lines[titles.index("loop") + 1:]]
    assert [loop[0] for loop in loops] == ["0", "1"] and sum(int(loop[1]) for loop in loops) == 3
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 0


def test_rates_are_per_second(gateway, top, subscriber, api):
    terminal = top(gateway)
    terminal.expect("messages      in 0/s ", "out 0/s")
    # More than the rate is rounded by, in any second in which they are sent.
    for _ in range(200):
        api.publish(subscriber.channel, "moved")
    deadline = time.monotonic() + TIMEOUT
    while not any(rate > 0 for rate in out_rates(terminal)):
        assert time.monotonic() < deadline, terminal.screens()[-1]
        terminal.read()


def out_rates(terminal: Terminal) -> list[int]:
    """The rates of messages sent that were shown."""
    lines = [line for screen in terminal.screens() for line in screen
             if line.startswith("messages")]
    return [int(line.rpartition("out ")[2].removesuffix("/s").replace(",", "")) for line in lines
            if not line.endswith("-")]


def test_q_ends_it(gateway, top):
    terminal = top(gateway)
    terminal.expect("connections   now")
    os.write(terminal.master, b"xq")
    assert terminal.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_restore_the_terminal(gateway, top, number):
    terminal = top(gateway)
    terminal.expect("connections   now")
    terminal.process.send_signal(number)
    assert terminal.end() == 0


def test_follows_the_size_of_the_terminal(gateway, top):
    terminal = top(gateway, size=(40, 120))
    assert len(terminal.expect("push lane", "loop ")) > 12
    terminal.resize(8, 30)
    terminal.process.send_signal(signal.SIGWINCH)
    deadline = time.monotonic() + TIMEOUT
    while True:
        lines = terminal.screens()[-1]
        if len(lines) == 8 and all(len(line) <= 30 for line in lines):
            break
        assert time.monotonic() < deadline, lines
        terminal.read()
    assert lines[1].startswith("connections   now")


def test_goes_on_when_the_gateway_stops_and_starts_again(start_gateway, top):
    gateway = start_gateway("kept", sections=SECTIONS)
    terminal = top(gateway)
    terminal.expect("connections   now 0 ")
    gateway.stop()
    # The last figures stay.
    terminal.expect("The gateway does not answer: ", "connections   now 0 ")
    again = start_gateway("kept", sections=SECTIONS, server={"port": gateway.port})
    with contextlib.closing(Client.connect(again)):
        lines = terminal.expect("connections   now 1 ")
    assert "does not answer" not in "\n".join(lines)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 0


def once(gateway: Gateway, *more) -> subprocess.CompletedProcess:
    return run("top", "--once", "--url", gateway.url, *more)


def test_once_uses_no_proxy_for_this_machine(gateway):
    """It would read the token. Nothing listens on port 1."""
    result = run("top", "--once", "--url", gateway.url, "--config", gateway.config, http_proxy="http://127.0.0.1:1")
    assert result.returncode == 0, result


def test_once_prints_plain_text(gateway, connect):
    client = connect()
    result = once(gateway, "--config", gateway.config)
    assert result.returncode == 0 and result.stderr == "" and "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    assert lines[1].startswith("connections   now 1            opened ")
    assert any(line.startswith("bytes         in ") and line.endswith("B/s") for line in lines)
    assert not any(line.endswith(" ") for line in lines)
    client.close()


def test_once_reports_a_gateway_that_does_not_answer(config):
    result = run("top", "--once", "--config", config(), "--url", "http://127.0.0.1:1")
    assert result.returncode == 1 and result.stdout == ""
    assert "http://127.0.0.1:1 does not answer: " in result.stderr


def test_the_token_may_be_in_a_file(start_gateway, tmp_path):
    # With this setting, requests of this machine need a token, too.
    gateway = start_gateway(sections=SECTIONS | {"metrics": {"token": "for-metrics-only"}})
    file = tmp_path / "token"
    for text in (token("ops", "oz"), "for-metrics-only"):
        file.write_text(text + "\n")
        assert once(gateway, "--token-file", file).returncode == 0
    file.write_text("wrong")
    result = once(gateway, "--token-file", file)
    assert result.returncode == 1 and "refuses the token: status 401" in result.stderr
    result = once(gateway, "--token-file", tmp_path / "missing")
    assert result.returncode == 1 and "missing: No such file or directory" in result.stderr


@pytest.mark.parametrize("more, problem", [
    ([], "--once"), (["--once", "--url", "ws://127.0.0.1"], "http://127.0.0.1"),
    (["--once", "--url", "127.0.0.1"], "--url")], ids=["no terminal", "ws", "no scheme"])
def test_wrong_use_is_refused(gateway, more, problem):
    result = run("top", "--config", gateway.config, *more)
    assert result.returncode == 64 and problem in result.stderr and result.stdout == ""
