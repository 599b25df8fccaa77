#!/usr/bin/env python3
"""Stands in for systemctl where no systemd runs: starts, reloads and stops the gateway as its unit
says, and starts nginx.

It knows only what docs/operations.md uses. Of the unit it obeys the commands, the user, the state
directory, the umask and the protocol of Type=notify; of the socket unit, the address.
test_deploy_unit.py checks the rest.
"""

import os
import pwd
import select
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

TIMEOUT = 60
# Runs a program with a descriptor where sd_listen_fds(3) expects it. The process that it replaces
# keeps its id. It is a shell, because the unit's user may not be able to read this Python.
ACTIVATE = ["bash", "-c", 'exec 3<&"$1"; LISTEN_PID=$$ LISTEN_FDS=$2 exec "${@:3}"', "activate"]


class SocketUnit:
    """A socket unit's file, and the process that keeps its socket: it gives it to all that connect."""

    def __init__(self, path: Path):
        [self.stream] = [line.split("=", 1)[1] for line in path.read_text().splitlines()
                         if line.startswith("ListenStream=")]
        self.name = f"\0{path.name}"
        self.pid_file = Path(f"/run/{path.name}.pid")

    def start(self) -> None:
        host, port = self.stream.rsplit(":", 1)
        listener = socket.create_server((host, int(port)), backlog=4096)
        keeper = socket.socket(socket.AF_UNIX)
        keeper.bind(self.name)
        keeper.listen()
        if pid := os.fork():
            self.pid_file.write_text(str(pid))
            return
        os.setsid()
        for descriptor in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        while True:
            receiver, _ = keeper.accept()
            socket.send_fds(receiver, [b"socket"], [listener.fileno()])
            receiver.close()

    def stop(self) -> None:
        os.kill(int(self.pid_file.read_text()), signal.SIGKILL)

    @classmethod
    def descriptor(cls, name: str) -> int | None:
        """The socket of a unit that was started; None without one."""
        with socket.socket(socket.AF_UNIX) as receiver:
            try:
                receiver.connect(f"\0{name}.socket")
            except ConnectionRefusedError:
                return None
            return socket.recv_fds(receiver, 10, 1)[1][0]


class Unit:
    """A unit's file, and its process."""

    def __init__(self, path: Path):
        self.lines = [line.split("=", 1) for line in path.read_text().splitlines()
                      if "=" in line and not line.startswith("#")]
        self.name = path.stem
        self.pid_file = Path(f"/run/{self.name}.pid")

    def values(self, key: str) -> list[str]:
        return [value for name, value in self.lines if name == key]

    def value(self, key: str) -> str:
        [value] = self.values(key)
        return value

    @property
    def pid(self) -> int:
        return int(self.pid_file.read_text())

    def start(self) -> None:
        """Starts the process, and returns when it has reported that it is ready."""
        user = pwd.getpwnam(self.value("User"))
        state = Path("/var/lib") / self.value("StateDirectory")
        state.mkdir(exist_ok=True)
        state.chmod(int(self.value("StateDirectoryMode"), 8))
        os.chown(state, user.pw_uid, user.pw_gid)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, \
                open(f"/var/log/{self.name}.log", "ab") as log:
            manager.bind("\0notify")
            manager.settimeout(TIMEOUT)
            passed = SocketUnit.descriptor(self.name)
            wrapper = [] if passed is None else [*ACTIVATE, str(passed), "1"]
            process = subprocess.Popen(
                [*wrapper, *shlex.split(self.value("ExecStart"))], cwd="/",
                pass_fds=() if passed is None else (passed,), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                user=user.pw_uid, group=user.pw_gid, extra_groups=[],
                umask=int(self.value("UMask"), 8),
                env={"PATH": "/usr/local/bin:/usr/bin:/bin", "NOTIFY_SOCKET": "@notify"})
            assert manager.recv(4096) == b"READY=1"
        self.pid_file.write_text(str(process.pid))

    def reload(self) -> None:
        for command in self.values("ExecReload"):
            subprocess.run(shlex.split(command.replace("$MAINPID", str(self.pid))), check=True,
                           stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        """Ends the process, and returns when it has exited."""
        process = os.pidfd_open(self.pid)
        signal.pidfd_send_signal(process, signal.SIGTERM)
        assert select.select([process], [], [], TIMEOUT)[0], "the process did not stop"


def main(verb: str, *arguments: str) -> None:
    names = [argument for argument in arguments if not argument.startswith("-")]
    if verb == "daemon-reload":
        return
    if [verb, *names] == ["restart", "nginx"]:  # which does not run yet
        subprocess.run(["nginx"], check=True)
        return
    for name in names:
        unit = (SocketUnit if name.endswith(".socket") else Unit)(
            Path("/etc/systemd/system") / (name if "." in name else f"{name}.service"))
        perform(verb, unit)


def perform(verb: str, unit: Unit | SocketUnit) -> None:
    match verb:
        case "enable" | "start":
            unit.start()
        case "restart":
            unit.stop()
            unit.start()
        case "reload":
            unit.reload()
        case "stop":
            unit.stop()
        case _:
            sys.exit(f"systemctl: this stand-in does not know {verb}")


if __name__ == "__main__":
    main(*sys.argv[1:])
