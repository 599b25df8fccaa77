"""The proxies that Debian offers, in front of a gateway: nginx, and haproxy as a proxy of HTTP and of TCP."""

import contextlib
import http.client
import os
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

from . import certificates
from .apps import TIMEOUT
from .fleet import wait_until
from .gateway import Gateway

PREFIX = "/ws"


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin")


class Proxy:
    """A running proxy. Clients use it as if it were the gateway: it has an address, and `tls` if it ends TLS.

    It inherits its listening socket, so that no port is chosen before it is bound, and so that it has the same one after a
    restart. `idle_seconds` is how long it lets a connection be silent.
    """

    prefix = ""

    def __init__(self, directory: Path, gateway: Gateway, is_secure: bool = False, idle_seconds: float = 30):
        directory.mkdir(parents=True)
        self.directory, self.host = directory, "127.0.0.1"
        self.listener = socket.create_server((self.host, 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.files = certificates.make(directory / "tls") if is_secure else None
        self.tls = ssl.create_default_context(cafile=self.files["certificate"]) if is_secure else None
        self.log_path = directory / "proxy.log"
        self.configure(gateway, idle_seconds)
        self.start()

    def configure(self, gateway: Gateway, idle_seconds: float) -> None:
        raise NotImplementedError

    def command(self) -> list:
        raise NotImplementedError

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}{self.prefix}"

    def start(self) -> None:
        number = self.listener.fileno()
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[number],
                env=os.environ | {"NGINX": f"{number};"})
        wait_until(self.answers, "the proxy answers")

    def answers(self) -> bool:
        """Returns whether a request comes through. The socket accepts connections before the proxy runs."""
        assert self.process.poll() is None, self.log_path.read_text()
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        with contextlib.closing(kind(*self.address, timeout=1, **({"context": self.tls} if self.tls else {}))) as connection:
            try:
                connection.request("GET", f"{self.prefix}/healthz")
                return connection.getresponse().status == 200
            except OSError:
                return False

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT)

    def restart(self) -> None:
        """Ends all connections, and begins anew."""
        self.stop()
        self.start()

    def close(self) -> None:
        assert self.process.poll() is None, self.log_path.read_text()
        self.stop()
        self.listener.close()


NGINX = """
daemon off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 100; }}
http {{
    access_log off;
    {temporary}
    map $http_upgrade $how {{ default upgrade; "" ""; }}
    server {{
        listen {host}:{port}{secure};
        {certificate}
        location {prefix}/ {{
            proxy_pass http://127.0.0.1:{gateway}/;
            proxy_http_version 1.1;
            proxy_set_header Host $host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $how;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_read_timeout {idle}s;
            proxy_send_timeout {idle}s;
        }}
    }}
}}
"""


class NginxProxy(Proxy):
    """nginx as a proxy of HTTP. With `prefix`, what is below a path goes to the gateway, without the path."""

    def __init__(self, directory: Path, gateway: Gateway, prefix: str = "", **more):
        self.prefix = prefix
        super().__init__(directory, gateway, **more)

    def configure(self, gateway: Gateway, idle_seconds: float) -> None:
        temporary = ["client_body", "proxy", "fastcgi", "scgi", "uwsgi"]
        text = NGINX.format(
            host=self.host, port=self.port, gateway=gateway.port, prefix=self.prefix, idle=idle_seconds,
            secure=" ssl" if self.files else "",
            certificate="ssl_certificate {certificate}; ssl_certificate_key {key};".format(**self.files) if self.files else "",
            temporary=" ".join(f"{name}_temp_path {name};" for name in temporary))
        (self.directory / "nginx.conf").write_text(text)

    def command(self) -> list:
        return [program("nginx"), "-p", self.directory, "-c", "nginx.conf", "-e", "stderr"]


HAPROXY = """
global
    maxconn 200
defaults
    mode {mode}
    timeout connect 5s
    timeout client {idle}s
    timeout server {idle}s
    timeout tunnel {idle}s
frontend clients
    bind fd@{number}{secure}
    {http}
    default_backend gateway
backend gateway
    server gateway 127.0.0.1:{gateway} {send}
"""
FORWARDED = """option forwardfor
    http-request set-header X-Forwarded-Proto https if { ssl_fc }
    http-request set-header X-Forwarded-Proto http unless { ssl_fc }"""


class HAProxy(Proxy):
    """haproxy: a proxy of HTTP, or of TCP with `send`, the option of its server line that states the client."""

    def __init__(self, directory: Path, gateway: Gateway, send: str = "", **more):
        self.send = send
        super().__init__(directory, gateway, **more)

    def configure(self, gateway: Gateway, idle_seconds: float) -> None:
        secure = ""
        if self.files:
            pair = self.directory / "pair.pem"
            pair.write_text("".join(Path(self.files[name]).read_text() for name in ("certificate", "key")))
            secure = f" ssl crt {pair}"
        text = HAPROXY.format(
            mode="tcp" if self.send else "http", idle=idle_seconds, number=self.listener.fileno(), secure=secure,
            gateway=gateway.port, send=self.send, http="" if self.send else FORWARDED)
        (self.directory / "haproxy.cfg").write_text(text)

    def command(self) -> list:
        return [program("haproxy"), "-db", "-f", "haproxy.cfg"]
