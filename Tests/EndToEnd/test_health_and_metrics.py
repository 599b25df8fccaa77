"""Operators' endpoints: liveness, readiness and metrics."""

import socket

import pytest

from harness.api import Api, event_body
from harness.apps import SECOND
from harness.client import Client
from harness.metrics import scrape, wait_for_metric
from harness.wire import Wire, request

COUNTERS = ["new_connections_total", "new_disconnections_total", "ws_messages_received_total",
            "ws_messages_sent_total", "http_calls_received_total"]
FAMILIES = ["connected", *COUNTERS, "socket_received_bytes", "socket_transmitted_bytes",
            "http_received_bytes", "http_transmitted_bytes"]


@pytest.fixture(params=[1, 4], ids="loops={}".format)
def gateway(request, start_gateway):
    """A gateway that no other test uses, so that its metrics are predictable."""
    return start_gateway(loops=request.param)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_and_readiness_need_no_authentication(api, path):
    assert api.get(path).status == 200
    assert api.get(path + "?x=1").status == 200


def test_every_metric_exists_from_the_start(api):
    metrics = scrape(api)
    for family in FAMILIES:
        assert f"fleetwire_{family}" in metrics.types, family
    assert metrics.types["fleetwire_connected"] == "gauge"
    for family in COUNTERS:
        assert metrics.types[f"fleetwire_{family}"] == "counter", family


def test_counters_never_decrease(api, connect, channel):
    counters = [f"fleetwire_{family}" for family in COUNTERS]
    before = scrape(api)
    for _ in range(5):
        client = connect()
        client.subscribe(channel)
        api.publish(channel)
        client.expect("event")
        client.close()
        after = scrape(api)
        assert all(after.total(family) >= before.total(family) for family in counters)
        before = after


def test_connected_counts_connections(gateway, api, connect):
    assert scrape(api).total("fleetwire_connected") == 0
    clients = [connect() for _ in range(5)] + [connect(SECOND) for _ in range(2)]
    wait_for_metric(api, "fleetwire_connected", 7)
    assert scrape(api).total("fleetwire_new_connections_total") == 7
    assert scrape(api).total("fleetwire_new_disconnections_total") == 0
    for client in clients[:3]:
        client.close()
    wait_for_metric(api, "fleetwire_connected", 4)
    wait_for_metric(api, "fleetwire_new_disconnections_total", 3)


def test_connected_excludes_reset_connections(gateway, api, wire):
    peers = [wire() for _ in range(6)]
    for peer in peers:
        peer.open()
    wait_for_metric(api, "fleetwire_connected", 6)
    for peer in peers:
        peer.reset()
    wait_for_metric(api, "fleetwire_connected", 0)
    wait_for_metric(api, "fleetwire_new_disconnections_total", 6)


def test_messages_sent_counts_every_delivery(api, connect, channel):
    clients = [connect() for _ in range(3)]
    for client in clients:
        client.subscribe(channel)
        client.expect_nothing()
    # connection_established, subscription_succeeded and pong for each.
    wait_for_metric(api, "fleetwire_ws_messages_sent_total", 9)
    for _ in range(10):
        api.publish(channel)
    for client in clients:
        for _ in range(10):
            client.expect("event")
    wait_for_metric(api, "fleetwire_ws_messages_sent_total", 39)


def test_received_counts_client_messages(api, connect, channel):
    client = connect()
    client.subscribe(channel)
    for _ in range(7):
        client.expect_nothing()
    client.send("pusher:nonsense")
    client.expect_error()
    wait_for_metric(api, "fleetwire_ws_messages_received_total", 9)


def test_http_calls_are_counted(api, open_api, channel):
    other = open_api()
    before = scrape(api).total("fleetwire_http_calls_received_total")
    for _ in range(10):
        other.publish(channel)
    for _ in range(5):
        assert other.post(b"{").status == 400
    after = scrape(api).total("fleetwire_http_calls_received_total")
    # It is unspecified whether scraping counts as a call.
    assert after - before in (15, 16)


def test_bytes_are_counted(api, connect, channel):
    client = connect()
    client.subscribe(channel)
    client.expect_nothing()
    before = scrape(api)
    for _ in range(10):
        api.publish(channel, data="x" * 10_000)
    for _ in range(10):
        client.expect("event")
    client.send("pusher:ping", "x" * 20_000)
    client.expect("pusher:pong")
    after = scrape(api)

    def increase(family: str) -> float:
        return after.total(f"fleetwire_{family}") - before.total(f"fleetwire_{family}")

    assert 100_000 <= increase("socket_transmitted_bytes") < 110_000
    assert 20_000 <= increase("socket_received_bytes") < 21_000
    assert 100_000 <= increase("http_received_bytes") < 120_000
    assert 0 < increase("http_transmitted_bytes") < 100_000


def test_metrics_are_for_the_loopback_only(start_gateway, closing):
    own = socket.gethostbyname_ex(socket.gethostname())[2] + [outbound_address()]
    address = next((address for address in own if address and not address.startswith("127.")), None)
    if not address:
        pytest.skip("this machine has no other address")
    gateway = start_gateway(server={"host": "0.0.0.0"}, first={"secret": "no demo secret"})
    assert scrape(closing(Api(gateway)))
    gateway.host = address
    for headers in ([], ["X-Forwarded-For: 127.0.0.1"], ["Forwarded: for=127.0.0.1"],
                    ["X-Real-IP: 127.0.0.1"], ["Authorization: Bearer "]):
        wire = closing(Wire(gateway))
        wire.send(request("GET", "/metrics", headers=headers))
        response = wire.read_response()
        assert response.status in (401, 403, 404), headers
        assert b"fleetwire_connected" not in response.body
    assert closing(Api(gateway)).get("/healthz").status == 200
    closing(Client.connect(gateway)).expect_nothing()


@pytest.mark.parametrize("field", ["Forwarded: for=203.0.113.1", "X-Forwarded-For: 203.0.113.1",
                                   "X-Forwarded-Proto: https", "X-Real-IP: 203.0.113.1"])
def test_requests_of_an_undeclared_proxy_are_not_local(gateway, closing, field):
    """Such a proxy on this machine may forward requests from anywhere."""
    for path in ("/metrics", "/api/ops/stats", "/api/ops/push"):
        wire = closing(Wire(gateway))
        wire.send(request("GET", path))
        assert wire.read_response().status == 200, path
        wire.send(request("GET", path, headers=[field]))
        assert wire.read_response().status in (401, 403), path


def outbound_address() -> str | None:
    """Returns the address this machine uses for outbound connections; sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]


def test_rejected_publishes_send_nothing(api, connect, channel):
    client = connect()
    client.subscribe(channel)
    wait_for_metric(api, "fleetwire_ws_messages_sent_total", 2)
    assert api.post(event_body(channel, data="x" * 20_000)).status == 413
    assert api.post(event_body("not a channel")).status == 400
    client.expect_nothing()
    wait_for_metric(api, "fleetwire_ws_messages_sent_total", 3)


@pytest.mark.parametrize("path", ["/metrics", "/api/ops/stats", "/api/ops/push"])
def test_pages_that_rebind_their_name_to_this_machine_read_nothing(gateway, closing, path):
    """A browser on this machine sends the name of the page as Host."""
    for host, status in [("localhost", 200), (f"127.0.0.1:{gateway.port}", 200), ("[::1]:6001", 200), ("evil.example", None),
                         ("127.0.0.1.evil.example", None)]:
        wire = closing(Wire(gateway))
        wire.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        response = wire.read_response()
        assert response.status == 200 if status else response.status in (401, 403), (host, response)
