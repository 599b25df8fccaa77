"""nginx with a configuration of deploy/ in front of gateways."""

import os
import re
import socket
import ssl
import subprocess
from pathlib import Path

from . import certificates
from .apps import TIMEOUT
from .deployed import DEPLOY
from .gateway import Gateway

SITE = DEPLOY / "nginx/fleetwire.conf"

# What Debian's nginx.conf says around the site, for an unprivileged folder.
MAIN = """
daemon off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 100; }}
http {{
    access_log off;
    {temporary}
    include site.conf;
}}
"""
TEMPORARY = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"]


class Nginx:
    """A running nginx. Clients use it as if it were the gateway: it has its address and `tls`.

    It inherits its listening sockets, as during an upgrade of nginx, so no port is chosen before it
    is bound. `replaced` are further changes of the site's configuration; without a `gateway`, they name
    the servers behind it.
    """

    def __init__(self, directory: Path, gateway: Gateway | None,
                 replaced: dict[str, str] | None = None, site: Path = SITE):
        directory.mkdir()
        self.directory, self.host = directory, "127.0.0.1"
        files = certificates.make(directory / "tls", "fleet.example.com")
        self.certificate = files["certificate"]
        self.tls = ssl.create_default_context(cafile=self.certificate)
        sockets = [socket.create_server((self.host, 0), backlog=128) for _ in range(2)]
        self.port, self.plain_port = (listener.getsockname()[1] for listener in sockets)
        self.access_log = directory / "access.log"
        changes = ({"127.0.0.1:6001": f"127.0.0.1:{gateway.port}"} if gateway else {}) | {
            "listen 443 ssl": f"listen {self.host}:{self.port} ssl",
            "listen 80;": f"listen {self.host}:{self.plain_port};",
            "/etc/nginx/fleetwire/certificate.pem": files["certificate"],
            "/etc/nginx/fleetwire/key.pem": files["key"],
            "/var/log/nginx/fleetwire.log": str(self.access_log),
            "/var/www/html": str(directory / "html"),
        } | (replaced or {})
        text = re.sub(r"^ +listen \[::\].*\n", "", site.read_text(), flags=re.MULTILINE)
        for old, new in changes.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (directory / "site.conf").write_text(text)
        temporary = " ".join(f"{name}_temp_path {name};" for name in TEMPORARY)
        (directory / "nginx.conf").write_text(MAIN.format(temporary=temporary))
        inherited = [listener.fileno() for listener in sockets]
        self.error_log = directory / "error.log"
        with self.error_log.open("wb") as log:
            self.process = subprocess.Popen(
                ["nginx", "-p", directory, "-c", "nginx.conf", "-e", "stderr"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=inherited,
                env=os.environ | {"NGINX": "".join(f"{number};" for number in inherited)})
        for listener in sockets:
            listener.close()

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def has_written_files(self) -> bool:
        """Returns whether nginx has written a body or a response to its disk, of which it warns."""
        return "buffered to a temporary file" in self.error_log.read_text()

    def close(self) -> None:
        self.process.terminate()
        assert self.process.wait(TIMEOUT) == 0, self.error_log.read_text()
