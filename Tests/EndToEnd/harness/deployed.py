"""The gateway as deploy/ starts it: with the command line of the unit and the production
configuration.
"""

import base64
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .apps import App
from .gateway import BINARY, FOLDER, Gateway, environment
from .systemctl import Unit

DEPLOY = FOLDER.parent.parent / "deploy"
UNIT = Unit(DEPLOY / "systemd/fleetwire.service")
CONFIG = DEPLOY / "fleetwire.production.yaml"
SECRETS = ["app_secret", "jwt_secret", "store_key", "metrics_token"]


def skip_unless_release() -> None:
    """Skips the test if the program uses the toolchain's Swift libraries, as debug builds do: only
    release builds are deployed.
    """
    libraries = subprocess.run(["ldd", BINARY], capture_output=True, text=True).stdout
    if "libswiftCore" in libraries:
        pytest.skip("the program is no release build")


def install(directory: Path) -> Path:
    """Installs the configuration, and makes its secrets as docs/operations.md does."""
    (directory / "secrets").mkdir(parents=True)
    for name in SECRETS:
        secret = base64.b64encode(secrets.token_bytes(32)).decode()
        path = directory / "secrets" / name
        path.write_text(secret + "\n")
        path.chmod(0o640)
    return Path(shutil.copy(CONFIG, directory / "fleetwire.yaml"))


def command(line: str, config: Path) -> list[str]:
    """Returns a command line of the unit, for this binary and this configuration."""
    paths = {"/usr/local/bin/fleetwire": str(BINARY), "/etc/fleetwire/fleetwire.yaml": str(config)}
    return [paths.get(word, word) for word in shlex.split(line)]


class DeployedGateway(Gateway):
    """A gateway that runs the unit's ExecStart on a free port, with its data in `directory`."""

    def __init__(self, directory: Path, wrapper: list[str] | None = None,
                 variables: dict[str, str] | None = None,
                 prepare: Callable[[], None] | None = None):
        self.config = install(directory)
        self.log_path = directory / "stderr.log"
        self.variables = {"FLEETWIRE_STORE_PATH": str(self.database_path)} | (variables or {})
        self.tls = None
        self._start(
            [*(wrapper or []), *command(UNIT.value("ExecStart"), self.config), "--port", "0"],
            Path("/"), self.variables, log_mode="ab", prepare=prepare)
        self.app = App("1001", "fleet", self.secret("app_secret"))

    def secret(self, name: str) -> str:
        return (self.config.parent / "secrets" / name).read_text().strip()

    def token(self, role: str, subject: str) -> str:
        """Returns a JWT of `fleetwire token`."""
        return subprocess.run(
            [BINARY, "token", "--config", self.config, "--role", role, "--subject", subject],
            env=environment(), check=True, capture_output=True, text=True).stdout.strip()

    def reload(self) -> int:
        """Runs the unit's ExecReload as systemd does: up to the first command that fails. Returns
        its exit status, or 0.
        """
        for line in UNIT.values("ExecReload"):
            line = line.replace("$MAINPID", str(self.process.pid))
            result = subprocess.run(command(line, self.config), env=environment(**self.variables),
                                    capture_output=True)
            if result.returncode:
                return result.returncode
        return 0
