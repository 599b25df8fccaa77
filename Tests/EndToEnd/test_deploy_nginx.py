"""deploy/nginx/fleetwire.conf: nginx in front of the gateway in production mode."""

import re
import shutil
import socket
import ssl

import pytest

from harness.api import Api, event_body
from harness.apps import TIMEOUT
from harness.browser import Browser
from harness.console import Console
from harness.deployed import CONFIG, DeployedGateway
from harness.fleet import SECTIONS, Caller, Fleet, token, unique_id, wait_until
from harness.gateway import FOLDER
from harness.nginx import SITE, Nginx
from harness.raw_client import RawClient
from harness.wire import Wire, request, upgrade


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    """Starts a gateway, with two WebSockets per address, and nginx in front of it."""
    if not (shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")):
        pytest.fail("no nginx on this machine: run dev/packages test")
    gateway = DeployedGateway(tmp_path_factory.mktemp("deployed") / "etc",
                              variables={"FLEETWIRE_SERVER_CONNECTIONS_PER_IP": "2"})
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def nginx(behind, tmp_path_factory):
    nginx = Nginx(tmp_path_factory.mktemp("nginx") / "site", behind)
    yield nginx
    nginx.close()


@pytest.fixture
def api(behind, nginx, closing):
    return closing(Api(nginx, behind.app))


def websocket(nginx: Nginx, behind, closing, source: str, **headers: str) -> int:
    """Opens a WebSocket from this address of the loopback network. Returns the status."""
    wire = closing(Wire(nginx, source=source))
    wire.send(upgrade(f"/app/{behind.app.key}?protocol=7", **headers))
    return wire.read_response().status


def test_a_client_gets_events_over_wss(behind, nginx, api, closing):
    client = closing(RawClient(nginx, behind.app))
    channel = "private-orders"
    client.send_event("pusher:subscribe", {
        "channel": channel, "auth": behind.app.auth(client.socket_id, channel)})
    client.expect("pusher_internal:subscription_succeeded")
    assert api.post(event_body(channel, "moved", "{}")).status == 200
    assert client.expect("moved")["channel"] == channel


def test_rest_works_over_https(behind, nginx, closing):
    caller = closing(Caller(nginx, bearer=behind.token("admin", "ann")))
    response = caller.request("POST", "/api/admin/orders/A-1/assign-driver", {"driverId": "42"})
    assert response.status == 200, response
    assert response.headers["strict-transport-security"] == "max-age=31536000"
    assert response.headers["server"] == "nginx"
    assert caller.request("GET", "/readyz").status == 200


def test_the_gateway_counts_the_real_addresses_of_clients(behind, nginx, closing):
    assert [websocket(nginx, behind, closing, "127.0.0.2") for _ in range(3)] == [101, 101, 429]
    assert websocket(nginx, behind, closing, "127.0.0.3") == 101
    forged = {"X_Forwarded_For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    assert websocket(nginx, behind, closing, "127.0.0.2", **forged) == 429


def test_the_access_log_has_the_address_and_no_query(nginx, api):
    api.get_signed("channels")
    wait_until(lambda: "/apps/1001/channels" in nginx.access_log.read_text(),
               "nginx logs the request")
    [line] = [line for line in nginx.access_log.read_text().splitlines()
              if "/apps/1001/channels" in line]
    assert re.fullmatch(r'127\.0\.0\.1 \S+ "GET /apps/1001/channels" 200 \d+ [\d.]+', line), line


@pytest.mark.parametrize("target", ["/metrics", "//metrics", "/metrics?x=1", "/%6detrics",
                                    "/./metrics", "/x/../metrics", "/metrics/", "/metrics;x"])
def test_metrics_are_not_reachable_from_outside(behind, nginx, api, target):
    headers = {"Authorization": f"Bearer {behind.secret('metrics_token')}"}
    response = api.call("GET", target, headers=headers)
    assert response.status == 404 and b"fleetwire_" not in response.body, response


def test_prometheus_on_the_machine_scrapes_the_gateway(behind, closing):
    headers = {"Authorization": f"Bearer {behind.secret('metrics_token')}"}
    response = closing(Api(behind)).call("GET", "/metrics", headers=headers)
    assert response.status == 200 and b"fleetwire_connected" in response.body


def test_a_request_is_refused_by_its_head(nginx, closing):
    """The body never comes: nginx must not wait for it."""
    wire = closing(Wire(nginx))
    wire.send(request("POST", "/api/admin/orders/A-1/assign-driver", length=False,
                      headers=["Content-Length: 60000"]))
    assert wire.read_response().status == 401


def test_bodies_are_not_written_to_disk(behind, nginx, closing):
    """Larger than nginx's buffer of 16 KiB."""
    body = event_body("c", "e", "x" * 10_000)
    batch = b'{"batch":[' + b",".join([body] * 10) + b"]}"
    assert closing(Api(nginx, behind.app)).post_signed("batch_events", batch).status == 200
    assert not nginx.has_written_files()


def test_too_large_a_body_is_refused_by_nginx(nginx, closing):
    wire = closing(Wire(nginx))
    wire.send(request("POST", "/apps/1001/events", length=False,
                      headers=[f"Content-Length: {16 * 1024 * 1024 + 1}"]))
    assert wire.read_response().status == 413


@pytest.mark.parametrize("path", ["deploy/nginx/fleetwire.conf", "deploy/cluster/nginx.conf"])
def test_shipped_files_have_the_ciphers_of_the_gateway(path):
    """TLS 1.2 with forward secrecy only, as clients get it without nginx in front."""
    root = FOLDER.parent.parent
    [own] = re.findall(r'SSL_CTX_set_cipher_list\(context, "([^"]+)"\)', (root / "Sources/Base/CTLS/shim.h").read_text())
    assert re.findall(r"^ *ssl_ciphers (\S+);", (root / path).read_text(), re.MULTILINE) == [own]


@pytest.mark.parametrize("cipher, is_accepted", [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", True), ("ECDHE-ECDSA-CHACHA20-POLY1305", True), ("ECDHE-ECDSA-AES128-SHA", False),
    ("ECDHE-ECDSA-AES256-SHA384", False), ("ECDHE-ECDSA-AES128-CCM", False)])
def test_nginx_agrees_on_the_same_ciphers(nginx, cipher, is_accepted):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(cipher + ":@SECLEVEL=0")
    with socket.create_connection(nginx.address, timeout=TIMEOUT) as connection:
        if is_accepted:
            with context.wrap_socket(connection) as secure:
                assert secure.cipher()[0] == cipher
        else:
            with pytest.raises(ssl.SSLError):
                context.wrap_socket(connection)


def test_plain_http_is_redirected(nginx, closing):
    def get(target: str):
        wire = closing(Wire(Plain(nginx)))
        wire.send(request("GET", target).replace(b"localhost", b"fleet.example.com"))
        return wire.read_response()

    response = get("/console?x=1")
    assert response.status == 301
    assert response.headers["location"] == "https://fleet.example.com/console?x=1"
    # For the challenges of a CA there are files; here nginx's user may not even look for one.
    assert get("/.well-known/acme-challenge/x").status in (403, 404)


class Plain:
    """The port of nginx without TLS."""

    def __init__(self, nginx: Nginx):
        self.host, self.tls, self.address = nginx.host, None, (nginx.host, nginx.plain_port)


def test_connections_of_an_address_are_limited(behind, closing, tmp_path):
    nginx = closing(Nginx(tmp_path / "limited", behind,
                          {"limit_conn fleetwire 1000": "limit_conn fleetwire 1"}))
    first, second = closing(Wire(nginx)), closing(Wire(nginx))
    # nginx counts a connection while a request is under way: here one whose body is not complete.
    first.send(upgrade(f"/app/{behind.app.key}?protocol=7"))
    assert first.read_response().status == 101
    second.send(request("GET", "/healthz"))
    assert second.read_response().status == 429


def seconds(directive: str) -> int:
    [value] = re.findall(rf"^ +{directive} (\d+)s;", SITE.read_text(), re.MULTILINE)
    return int(value)


def test_time_outs_fit_those_of_the_gateway():
    assert "activity_seconds" not in CONFIG.read_text(), "production has the default"
    defaults = (FOLDER.parent.parent / "config/fleetwire.yaml").read_text()
    [activity] = map(int, re.findall(r"^  activity_seconds: (\d+)", defaults, re.MULTILINE))
    # The gateway closes a silent WebSocket after 1.5 times as long, an idle connection after 60 s.
    assert seconds("proxy_read_timeout") > 1.5 * activity
    assert seconds("proxy_send_timeout") > 1.5 * activity
    assert seconds("keepalive_timeout") < 60


def test_the_console_is_live_over_tls(start_gateway, tmp_path, closing):
    """Page, API and WebSocket of the console by https and wss."""
    gateway = start_gateway(server={"behind_proxy": True}, sections=SECTIONS)
    nginx = closing(Nginx(tmp_path / "site", gateway))
    # The certificate is made on the spot, and for another name.
    browser = closing(Browser(tmp_path / "browser", "--ignore-certificate-errors"))
    console = Console(browser, nginx).sign_in(token("ops", "oz"))
    assert console.run("location.protocol") == "https:"
    fleet, code = Fleet(gateway, closing), unique_id("o")
    [notification, *_] = fleet.admin().assign(code, "42")["data"]["notificationIds"]
    console.go(f"notifications/{notification}")
    console.wait_for("timeline().length === 1", "the timeline")
    assert fleet.ops().expect_ok("GET", "/api/ops/stats")["connections"] == 1
