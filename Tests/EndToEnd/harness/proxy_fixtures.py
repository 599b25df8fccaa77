"""The proxies of the tests by name, and a fixture that starts one in front of a gateway."""

import pusher.requests
import pytest

from .fleet import SECTIONS
from .proxies import PREFIX, HAProxy, NginxProxy, program

# Not all of the loopback network: some clients come from there.
BEHIND = {"behind_proxy": True, "trusted_proxies": ["127.0.0.1"]}
PROXY_PROTOCOL = BEHIND | {"proxy_protocol": True}
KINDS = {
    "nginx": (NginxProxy, {}, BEHIND), "nginx tls": (NginxProxy, {"is_secure": True}, BEHIND),
    "nginx path": (NginxProxy, {"prefix": PREFIX}, BEHIND),
    "haproxy": (HAProxy, {}, BEHIND), "haproxy tls": (HAProxy, {"is_secure": True}, BEHIND),
    "haproxy PROXY": (HAProxy, {"send": "send-proxy-v2"}, PROXY_PROTOCOL),
    "haproxy tls PROXY": (HAProxy, {"send": "send-proxy-v2", "is_secure": True}, PROXY_PROTOCOL),
}
# With the extension that says whether the client's connection has TLS.
EXTENDED = {
    "haproxy PROXY ssl": (HAProxy, {"send": "send-proxy-v2-ssl"}, PROXY_PROTOCOL),
    "haproxy tls PROXY ssl": (HAProxy, {"send": "send-proxy-v2-ssl", "is_secure": True}, PROXY_PROTOCOL),
}
HTTP = [kind for kind in KINDS if "PROXY" not in kind]


@pytest.fixture
def through(start_gateway, tmp_path, closing, monkeypatch):
    """Starts a gateway, and a proxy of a kind in front of it. The SDKs trust its certificate."""
    def start(kind: str, server: dict | None = None, first: dict | None = None, **more):
        proxy, settings, needed = (KINDS | EXTENDED)[kind]
        if not program("nginx" if proxy is NginxProxy else "haproxy"):
            pytest.skip("the program is not on this machine: run dev/packages test")
        gateway = start_gateway(server=needed | (server or {}), first=first, sections=SECTIONS)
        running = closing(proxy(tmp_path / "proxy", gateway, **settings, **more))
        if running.files:
            monkeypatch.setenv("WEBSOCKET_CLIENT_CA_BUNDLE", running.files["certificate"])
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", running.files["certificate"])
            monkeypatch.setattr(pusher.requests, "CERT_PATH", running.files["certificate"])
        return running

    return start
