"""deploy/cluster: three nodes behind nginx, as processes with the example's own files and commands."""

import contextlib
import difflib
import re
import shutil
import socket
import subprocess
import threading

import pytest

from harness.api import Api
from harness.deployed import CONFIG, DEPLOY
from harness.deployed_cluster import EXAMPLE, HAS_NGINX, NODES, DeployedCluster
from harness.deployed_load import DeployedLoad
from harness.fleet import Caller, unique_id, wait_until
from harness.gateway import BINARY, check_log
from harness.metrics import Metrics
from harness.nats_client import NatsClient
from harness.nginx import SITE, Nginx
from harness.pysher_client import PysherClient
from harness.raw_client import RawClient
from harness.systemctl import Unit
from harness.wire import Wire, request

needs_nginx = pytest.mark.skipif(not HAS_NGINX, reason="no nginx on this machine: run dev/packages test")


@pytest.fixture(scope="module")
def cluster():
    with contextlib.closing(DeployedCluster()) as cluster:
        yield cluster


@pytest.fixture
def load(cluster):
    """A load on nodes that all know each other."""
    for node in cluster.nodes:
        cluster.wait_until_known(node)
    return DeployedLoad(cluster)


# The files.


@needs_nginx
def test_nginx_accepts_its_file(cluster):
    checked = subprocess.run(["nginx", "-t", "-p", cluster.nginx.directory, "-c", "nginx.conf", "-e", "stderr"],
                             capture_output=True, text=True)
    assert checked.returncode == 0 and "test is successful" in checked.stderr, checked


@pytest.mark.parametrize("machine", NODES)
def test_nats_accepts_its_file(cluster, machine):
    program = shutil.which("nats-server") or "/usr/sbin/nats-server"
    config = cluster.network.folder(machine) / "nats-server.conf"
    checked = subprocess.run([program, "-t", "-c", config], capture_output=True, text=True)
    assert checked.returncode == 0 and "is valid" in checked.stderr, checked


def test_the_nodes_accept_their_file_and_connect(cluster):
    checked = cluster.check_config()
    assert checked.returncode == 0, checked
    for machine in NODES:
        assert f"tls://{cluster.network.address(machine)}:" in checked.stdout.partition("cluster.nats: connected to")[2]


def added(before: str, after: str) -> tuple[list[str], list[str]]:
    """Returns the lines, without comments, that a file has more than another, and those that it has not."""
    lines = [[line.split("#")[0].strip() for line in text.splitlines()] for text in (before, after)]
    found = [line for line in difflib.ndiff(*lines) if line[0] in "+-" and line[2:]]
    return [line[2:] for line in found if line[0] == "+"], [line[2:] for line in found if line[0] == "-"]


def test_the_files_differ_from_those_of_one_gateway_only_where_they_must():
    more, fewer = added(SITE.read_text(), (EXAMPLE / "nginx.conf").read_text())
    assert fewer == ["server 127.0.0.1:6001;", "location / { proxy_pass http://fleetwire; }"]
    assert not [line for line in more if re.search("ip_hash|hash|sticky|non_idempotent|http_5", line)]
    more, fewer = added(CONFIG.read_text(), (EXAMPLE / "fleetwire.yaml").read_text())
    assert fewer == ["host: 127.0.0.1", "trusted_proxies: [127.0.0.1]", "path: /var/lib/fleetwire/fleetwire.db"]
    assert [line.split(":")[0] for line in more] == [
        "host", "trusted_proxies", "url", "cluster", "nats", "user", "password", "ca_file"]


def test_systemd_accepts_the_unit_with_the_drop_in(tmp_path):
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("no systemd-analyze on this machine")
    text = (DEPLOY / "systemd/fleetwire.service").read_text()
    unit = tmp_path / "fleetwire.service"
    unit.write_text(text.replace("/usr/local/bin/fleetwire", str(BINARY)))
    (tmp_path / "fleetwire.service.d").mkdir()
    shutil.copy(EXAMPLE / "node.conf", tmp_path / "fleetwire.service.d")
    result = subprocess.run([program, "verify", "--man=no", unit], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert Unit(EXAMPLE / "node.conf").value("Environment") == "FLEETWIRE_CLUSTER_NODE=%l"


def sessions(cluster) -> str:
    return "".join(cluster.postgres.query("SELECT ssl, count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
                                          "WHERE usename = 'fleetwire' GROUP BY ssl"))


def test_the_database_has_the_settings_and_the_sessions_of_the_page(cluster):
    settings = cluster.postgres.query(
        "SELECT name, setting FROM pg_settings WHERE sourcefile LIKE '%/conf.d/%' ORDER BY name")
    assert set(settings) >= {"client_connection_check_interval|1000", "fsync|on", "max_connections|100", "ssl|on",
                             "synchronous_commit|on"}
    # The page says how many a node has: one that writes, four that read.
    wait_until(lambda: sessions(cluster) == f"t|{5 * len(cluster.nodes)}", "each node has five encrypted sessions")


def test_the_database_admits_only_encrypted_connections_with_the_password(cluster):
    url = (cluster.config.parent / "secrets/store_url").read_text().strip()
    for wrong, reason in [(url.replace("sslmode=verify-full", "sslmode=disable"), "no pg_hba.conf entry"),
                          (re.sub(r"fleetwire:\w+@", "fleetwire:wrong@", url), "password authentication failed"),
                          (url.replace("//fleetwire:", "//postgres:"), "no pg_hba.conf entry")]:
        assert url != wrong
        done = subprocess.run([cluster.postgres.bin / "psql", wrong, "-c", "SELECT 1"], capture_output=True, text=True)
        assert done.returncode and reason in done.stderr, done


# Clients.


def connections(node) -> int:
    """Returns how many clients a node has."""
    api = Api(node)
    try:
        response = api.call("GET", "/metrics", headers={"Authorization": f"Bearer {node.secret('metrics_token')}"})
    finally:
        api.close()
    return int(Metrics(response.text).total("fleetwire_connected"))


@needs_nginx
def test_a_stock_client_gets_assignments_from_all_nodes(cluster, closing, monkeypatch):
    """pysher, over TLS through nginx. Each node gets one of the actions; the client is connected to one of them."""
    for name in ("REQUESTS_CA_BUNDLE", "WEBSOCKET_CLIENT_CA_BUNDLE"):
        monkeypatch.setenv(name, cluster.nginx.certificate)
    driver = cluster.nodes[0].token("driver", "42")
    client = closing(PysherClient(cluster.nginx, cluster.app))
    wait_until(lambda: sorted(map(connections, cluster.nodes)) == [0, 0, 1], "one node has the client")
    response = closing(Caller(cluster.nginx, bearer=driver)).channel_auth(client.socket_id, "private-driver-42")
    client.subscribe("private-driver-42", "job-assigned", **response.json())
    for node in cluster.nodes:
        code = unique_id("A")
        admin = closing(Caller(node, bearer=node.token("admin", "ann")))
        admin.assign(code, "42", bookingReference=code)
        channel, event, data = client.next()
        assert (channel, event) == ("private-driver-42", "job-assigned") and code in data


@needs_nginx
def test_clients_are_spread_over_the_nodes(cluster, closing):
    wait_until(lambda: not any(map(connections, cluster.nodes)), "earlier clients have left")
    for _ in range(9):
        closing(RawClient(cluster.nginx, cluster.app))
    assert min(map(connections, cluster.nodes)) >= 2


@needs_nginx
def test_a_rolling_restart_loses_no_notification(cluster, load):
    with load.running():
        load.wait_for_more()
        for node in cluster.nodes:
            node.stop()
            load.wait_for_more()
            node.start()
            cluster.wait_until_used(node)
            load.wait_for_more()
    load.check()
    assert all(driver.connections > 1 for driver in load.drivers), "each driver's node was restarted"
    # Nor has a message between the nodes been lost.
    for node in cluster.nodes:
        assert "cluster_gap" not in [entry["event"] for entry in check_log(node.log())]


@needs_nginx
@pytest.mark.parametrize("number", range(len(NODES)))
def test_a_killed_node_loses_no_notification(cluster, load, number):
    node, others = cluster.nodes[number], [node for node in cluster.nodes if node is not cluster.nodes[number]]
    with load.running():
        load.wait_for_more()
        node.kill()
        load.wait_for_more()
        for other in others:
            cluster.wait_until_known(other, 2)
        load.wait_for_more()
        node.start()
        cluster.wait_until_known(node)
        load.wait_for_more()
    load.check()


# What nginx sends again.


class Node:
    """Stands for a node: it counts requests by method, and breaks the connection, or is silent."""

    def __init__(self, is_silent: bool = False):
        self.is_silent, self.methods, self.kept = is_silent, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.methods.append(connection.recv(65_536).split()[0].decode())
            if self.is_silent:
                self.kept.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.kept:
            connection.close()


def nginx_before(directory, *addresses: str, **replaced: str) -> Nginx:
    """Starts nginx with the example's file before three servers. All of them stay in use after a failure."""
    servers = {f"10.0.0{machine}:6001 max_fails=1": f"{address} max_fails={replaced.pop('max_fails', 0)}"
               for machine, address in zip(NODES, addresses, strict=True)}
    return Nginx(directory, None, servers | replaced, EXAMPLE / "nginx.conf")


def status(nginx: Nginx, method: str) -> int:
    """Makes a request, whose body nginx has together with the head. Returns the response's status."""
    wire = Wire(nginx)
    try:
        wire.send(request(method, "/api/admin/orders/A-1", b"" if method in ("GET", "DELETE") else b"{}"))
        return wire.read_response().status
    finally:
        wire.close()


@needs_nginx
@pytest.mark.parametrize("is_silent", [False, True])
def test_nginx_sends_no_request_twice_that_may_have_been_executed(tmp_path, closing, is_silent):
    nodes = [closing(Node(is_silent)) for _ in NODES]
    nginx = closing(nginx_before(tmp_path / "site", *[node.address for node in nodes],
                                 **{"proxy_read_timeout 30s": "proxy_read_timeout 300ms"}))
    for method, times in [("GET", 3), ("POST", 1), ("PUT", 1), ("PATCH", 1), ("DELETE", 1)]:
        assert status(nginx, method) == (504 if is_silent else 502)
        assert [each for node in nodes for each in node.methods] == [method] * times
        for node in nodes:
            node.methods.clear()


@needs_nginx
def test_a_request_goes_to_the_node_that_does_not_refuse_it(cluster, tmp_path, closing):
    """Two of three nodes are away. A request without a token gets 401 of the third."""
    with contextlib.ExitStack() as stack:
        closed = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in closed:
            each.bind(("127.0.0.1", 0))  # bound, but not listening
        away = ["127.0.0.1:%d" % each.getsockname()[1] for each in closed]
        nginx = closing(nginx_before(tmp_path / "site", *away, "%s:%d" % cluster.nodes[2].address))
        for method in ["GET", "POST", "POST", "PATCH"] * 3:
            assert status(nginx, method) in (401, 404, 405), method
        # These are sent once, wherever.
        assert {status(nginx, method) for method in ["PUT", "DELETE"] * 3} <= {401, 404, 405, 502}


@needs_nginx
def test_a_node_that_refused_a_request_gets_none_for_a_while(cluster, tmp_path, closing):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        away = "127.0.0.1:%d" % bound.getsockname()[1]
        live = ["%s:%d" % node.address for node in cluster.nodes[1:]]
        nginx = closing(nginx_before(tmp_path / "site", away, *live, max_fails="1"))
        failed = [status(nginx, "PUT") for _ in range(30)].count(502)
        assert failed <= 1


# The rights at NATS.


def bus(cluster, closing, **more: str) -> NatsClient:
    fields = {"user": "fleetwire", "pass": (cluster.config.parent / "secrets/nats_password").read_text().strip()}
    return closing(NatsClient(cluster.servers[0], cluster.network.address(NODES[0]), cluster.tls(), **fields | more))


def test_nats_demands_tls_and_the_password(cluster, closing):
    for wrong in [{"user": "other"}, {"pass": "wrong"}]:
        with pytest.raises(OSError, match="Authorization Violation"):
            bus(cluster, closing, **wrong)
    with pytest.raises(OSError):
        NatsClient(cluster.servers[0], cluster.network.address(NODES[0]))


def answers_to_route(cluster, tls) -> bool:
    """Connects to a server as another server does. Returns whether it answers after the handshake."""
    address = (cluster.network.address(NODES[0]), cluster.network.ports[6222])
    with socket.create_connection(address, timeout=15) as connection:
        try:
            # With TLS 1.3, the server looks at the certificate after the client's end of the handshake.
            with tls.wrap_socket(connection, server_hostname=address[0]) as wrapped:
                wrapped.sendall(b'CONNECT {"verbose":false,"name":"other","cluster":"fleetwire"}\r\nPING\r\n')
                return bool(wrapped.recv(65_536))
        except OSError:
            return False


def test_nats_gives_no_route_to_a_server_without_a_certificate(cluster):
    assert not answers_to_route(cluster, cluster.tls())
    with_certificate = cluster.tls()
    folder = cluster.network.folder(NODES[1]) / "nats"
    with_certificate.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    assert answers_to_route(cluster, with_certificate)


def violations(cluster) -> list[str]:
    """The lines of the servers' logs about subjects that a user may not use."""
    return [line for server in cluster.servers for line in (server.directory / "server.log").read_text().splitlines()
            if re.search("(Publish|Subscription) Violation", line)]


@needs_nginx
def test_nats_refuses_nothing_that_the_nodes_need(cluster, load):
    with load.running():
        load.wait_for_more()
    load.check()
    assert violations(cluster) == []


def test_nats_refuses_what_no_node_needs(cluster, closing):
    client = bus(cluster, closing)
    channel = "fleetwire.1001.c.bmV3cw"
    for allowed in (channel, "fleetwire.nodes", "fleetwire.nodes.0123456789abcdef"):
        client.subscribe(allowed)
    client.publish(channel, b"")
    client.flush()
    assert client.errors == []
    for refused in (">", "fleetwire.>", "other.nodes", "other.1001.c.bmV3cw", "_INBOX.>", "$SYS.>", "$JS.API.>"):
        client.subscribe(refused)
        assert f'Permissions Violation for Subscription to "{refused}"' in client.errors.pop().replace("'", "")
        assert client.errors == []
    for refused in ("other.nodes", "other.1001.c.bmV3cw", "fleetwire", "fleetwire.1001.x", "_INBOX.a", "$SYS.REQ.SERVER.PING"):
        client.publish(refused, b"")
        client.flush()
        assert f'Permissions Violation for Publish to "{refused}"' in client.errors.pop()
        assert client.errors == []
