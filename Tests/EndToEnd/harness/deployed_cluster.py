"""The machines of deploy/cluster as processes on the loopback: three nodes, three NATS servers, PostgreSQL, and nginx if
this machine has it.
"""

import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from .apps import App
from .deployed import DEPLOY, UNIT, DeployedGateway, command
from .documents import ROOT, Page
from .gateway import BINARY, environment
from .nats import Nats
from .nginx import Nginx
from .postgres import Postgres
from .systemctl import Unit

EXAMPLE = DEPLOY / "cluster"
DROP_IN = Unit(EXAMPLE / "node.conf")
NGINX, POSTGRES, NODES = ".10", ".20", [".11", ".12", ".13"]
SECONDS = 60
HAS_NGINX = shutil.which("nginx") is not None


def block(first_line: str) -> str:
    """Returns the block of docs/cluster.md that begins so."""
    [found] = [block.text for block in Page.read(ROOT / "docs/cluster.md").blocks() if block.text.startswith(first_line)]
    return found


class Network:
    """A network of the loopback for 10.0.0.0/24 of the example, with other ports, and directories for /etc."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.prefix = f"127.{random.randint(1, 254)}.{random.randint(0, 254)}"
        self.ports: dict[int, int] = {}
        for port in (6001, 4222, 6222, 5432):
            # On all addresses, because the same port is used on several.
            with socket.create_server(("", 0)) as probe:
                self.ports[port] = probe.getsockname()[1]

    def address(self, machine: str) -> str:
        return self.prefix + machine

    def folder(self, machine: str) -> Path:
        """The directory for /etc on a machine. All nodes have the same files of Fleetwire: they share a directory."""
        return self.directory / machine.strip(".")

    def adapted(self, text: str, folder: Path) -> str:
        """Returns one of the example's files, or a block of its page, with the places that are used here."""
        text = text.replace("@10.0.0.20/", f"@10.0.0.20:{self.ports[5432]}/").replace("10.0.0", self.prefix)
        text = re.sub(r"\b(6001|4222|6222)\b", lambda match: str(self.ports[int(match[1])]), text)
        return text.replace("/etc/", f"{folder}/")

    def install(self, name: str, folder: Path, path: str) -> Path:
        """Writes one of the example's files to a directory."""
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.adapted((EXAMPLE / name).read_text(), folder))
        return target


class DeployedPostgres(Postgres):
    """A server with the example's files, and the database fleetwire."""

    database = "fleetwire"

    def __init__(self, network: Network, keys: Path, password: str):
        self.network, self.keys = network, keys
        self.port = network.ports[5432]
        super().__init__()
        try:
            self.query(f"CREATE ROLE fleetwire LOGIN PASSWORD '{password}'")
            self.query("ALTER DATABASE fleetwire OWNER TO fleetwire")
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        if not (self.data / "conf.d").exists():
            self._install()
        self._control("start", "--log", self.directory / "server.log", "--options", f"-k {self.directory} -p {self.port}")

    def _install(self) -> None:
        """Installs the files where Debian's package looks for them, and the certificate."""
        self.network.install("postgresql.conf", self.directory, "data/conf.d/fleetwire.conf")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("include_dir = 'conf.d'\n")
        # The nodes come from the address of the loopback; other lines would admit them without TLS and password.
        lines = self.network.adapted((EXAMPLE / "pg_hba.conf").read_text(), self.directory)
        assert lines.count(f"{self.network.prefix}.0/24") == 1
        lines = lines.replace(f"{self.network.prefix}.0/24", "127.0.0.1/32")
        (self.data / "pg_hba.conf").write_text(f"local all all trust\n{lines}")
        (self.directory / "postgresql").mkdir()
        install_certificate(self.keys, self.network.address(POSTGRES), self.directory / "postgresql")
        if self.user:
            for path in [*(self.directory / "postgresql").rglob("*"), *(self.data / "conf.d").rglob("*"),
                         self.directory / "postgresql", self.data / "conf.d"]:
                os.chown(path, self.user.pw_uid, self.user.pw_gid)


def install_certificate(keys: Path, address: str, folder: Path) -> None:
    shutil.copy(keys / f"{address}.pem", folder / "certificate.pem")
    shutil.copy(keys / f"{address}.key", folder / "key.pem")


class DeployedNode(DeployedGateway):
    """A node that runs the unit's ExecStart, with the variables of the drop-in; `start` starts it again."""

    def __init__(self, cluster: "DeployedCluster", number: int):
        self.name, self.address_here = f"node{number + 1}", cluster.network.address(NODES[number])
        self.config = cluster.config
        self.log_path = cluster.network.directory / f"{self.name}.log"
        self.tls = None
        self.app = App("1001", "fleet", self.secret("app_secret"))
        self.start()

    def start(self) -> None:
        name, value = DROP_IN.value("Environment").split("=")
        # On a machine of its own, a node may listen on all addresses.
        variables = {name: value.replace("%l", self.name), "FLEETWIRE_SERVER_HOST": self.address_here}
        self._start(command(UNIT.value("ExecStart"), self.config), Path("/"), variables, log_mode="ab")
        self.host = self.address_here


class DeployedCluster:
    """The example, running; a directory is made for it."""

    def __init__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="fleetwire-cluster-"))
        self.network = Network(self.directory)
        self.nodes: list[DeployedNode] = []
        self.servers: list[Nats] = []
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self.directory)
            self._issue()
            self.postgres = stack.enter_context(DeployedPostgres(self.network, self.keys, self._password()))
            for machine in NODES:
                self.servers.append(stack.enter_context(self._start_nats(machine)))
            if HAS_NGINX:
                self.nginx = self._start_nginx()
                stack.callback(self.nginx.close)
                self._set_domain(self.nginx)
            for number in range(len(NODES)):
                self.nodes.append(DeployedNode(self, number))
                stack.callback(self._end, self.nodes[number])
            self.stack = stack.pop_all()

    def close(self) -> None:
        self.stack.close()

    @property
    def app(self) -> App:
        return self.nodes[0].app

    def _issue(self) -> None:
        """Makes certificates and secrets by the page's commands, and installs those of Fleetwire."""
        self.keys = self.directory / "made"
        self.keys.mkdir()
        self.run(block("umask 077") + block("mkdir secrets"), self.keys)
        self.config = self.network.install("fleetwire.yaml", self.directory, "fleetwire/fleetwire.yaml")
        shutil.copytree(self.keys / "secrets", self.config.parent / "secrets")
        shutil.copy(self.keys / "ca.pem", self.config.parent)

    def _password(self) -> str:
        """The database user's, of the URL that the nodes use."""
        return (self.keys / "secrets/store_url").read_text().split(":")[2].split("@")[0]

    def _start_nats(self, machine: str) -> Nats:
        folder, address = self.network.folder(machine), self.network.address(machine)
        config = self.network.install("nats-server.conf", folder, "nats-server.conf")
        (folder / "nats").mkdir()
        install_certificate(self.keys, address, folder / "nats")
        for name in ("ca.pem", "password.conf"):
            shutil.copy(self.keys / name, folder / "nats")
        # Servers of one machine cannot all listen on all of its addresses.
        config.write_text(re.sub(r"^( *)port: (\d+)", rf'\1listen: "{address}:\2"', config.read_text(), flags=re.MULTILINE))
        return Nats("--config", str(config), "--addr", address, "--port", str(self.network.ports[4222]))

    def _start_nginx(self) -> Nginx:
        port = self.network.ports[6001]
        replaced = {f"10.0.0{machine}:6001": f"{self.network.address(machine)}:{port}" for machine in NODES}
        # The nodes trust the address of the machine with nginx.
        replaced["proxy_http_version 1.1;"] = f"proxy_http_version 1.1; proxy_bind {self.network.address(NGINX)};"
        return Nginx(self.directory / "nginx", None, replaced, EXAMPLE / "nginx.conf")

    def _set_domain(self, nginx: Nginx) -> None:
        """Lets clients use the host name, here an address, of which some send the origin."""
        text = self.config.read_text()
        assert text.count("https://fleet.example.com") == 2
        self.config.write_text(text.replace("https://fleet.example.com", nginx.url))

    @staticmethod
    def _end(node: DeployedNode) -> None:
        if not node.stopped:
            node.process.send_signal(signal.SIGCONT)
            node.kill()

    def run(self, script: str, folder: Path, **variables: str) -> str:
        """Runs a block of the page, and returns what it prints."""
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", self.network.adapted(script, self.directory)], cwd=folder,
                              env=environment(**variables), capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def wait_until_known(self, node: DeployedNode, count: int = 3) -> None:
        """Waits by the page's commands until a node knows so many nodes."""
        self._wait(node, re.sub(r"^sleep.*\n", "", block("token="), flags=re.MULTILINE).replace("= 3 ]", f"= {count} ]"))

    def wait_until_used(self, node: DeployedNode) -> None:
        """Waits by the page's commands until the next node may be restarted."""
        self._wait(node, block("token="))

    def _wait(self, node: DeployedNode, script: str) -> None:
        self.run(script.replace("127.0.0.1:6001", f"{node.host}:{node.port}"), self.directory)

    def check_config(self) -> subprocess.CompletedProcess:
        line = block("fleetwire check-config").strip()
        return subprocess.run(command(line.replace("fleetwire ", f"{BINARY} ", 1), self.config), env=environment(),
                              capture_output=True, text=True, timeout=SECONDS)

    def tls(self) -> ssl.SSLContext:
        """For connections to NATS, as those of the nodes."""
        return ssl.create_default_context(cafile=self.config.parent / "ca.pem")
