#!/usr/bin/env python3
"""Stands in for systemctl where no systemd runs: starts, reloads and stops the gateway as its unit says, and nginx.

It knows only what docs/operations.md uses. Of the unit it obeys the commands, the user, the state directory, the umask
and the protocol of Type=notify; `systemd-analyze` checks the rest.
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

UNITS = Path("/etc/systemd/system")
TIMEOUT = 60


class Unit:
    """An installed unit, and its process."""

    def __init__(self, name: str):
        self.lines = [line.split("=", 1) for line in (UNITS / f"{name}.service").read_text().splitlines()
                      if "=" in line and not line.startswith("#")]
        self.pid_file = Path(f"/run/{name}.pid")

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
                open(f"/var/log/{self.pid_file.stem}.log", "ab") as log:
            manager.bind("\0notify")
            manager.settimeout(TIMEOUT)
            process = subprocess.Popen(
                shlex.split(self.value("ExecStart")), cwd="/", stdin=subprocess.DEVNULL,
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
    match verb, *names:
        case ["daemon-reload"]:
            pass
        case ["restart", "nginx"]:
            subprocess.run(["nginx"], check=True)  # which does not run yet
        case ["enable" | "start", name]:
            Unit(name).start()
        case ["restart", name]:
            Unit(name).stop()
            Unit(name).start()
        case ["reload", name]:
            Unit(name).reload()
        case ["stop", name]:
            Unit(name).stop()
        case _:
            sys.exit(f"systemctl: this stand-in does not know {verb} {' '.join(names)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
