"""Limits per address, and clients behind proxies."""

import ipaddress
import struct

import pytest

from harness.api import Api
from harness.fleet import SECTIONS, token, wait_until
from harness.gateway import check_log
from harness.metrics import Metrics, scrape, wait_for_metric
from harness.wire import Wire, request, upgrade

HEALTH = request("GET", "/healthz")


@pytest.fixture
def limited(start_gateway):
    """Starts a gateway with two connections per address."""
    def start(**server):
        return start_gateway(server={"connections_per_ip": 2} | server)
    return start


def proxy_header(source: str | None, command: int = 1, tls: int | None = None) -> bytes:
    """Builds a header of the PROXY protocol, version 2, for a TCP connection from this address; with
    the client's flags in PP2_TYPE_SSL as haproxy's `send-proxy-v2-ssl` sends them.
    """
    addresses, family = b"", 0
    if source is not None:
        address = ipaddress.ip_address(source)
        family = 0x11 if address.version == 4 else 0x21
        addresses = address.packed * 2 + struct.pack("!HH", 40_000, 443)
    if tls is not None:
        version = b"TLSv1.3"
        value = struct.pack("!BI", tls, 0) + struct.pack("!BH", 0x21, len(version)) + version
        addresses += struct.pack("!BH", 0x20, len(value)) + value
    return (b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x20 | command, family])
            + struct.pack("!H", len(addresses)) + addresses)


def rejections(gateway) -> int:
    """Returns the rejections by connections_per_ip that the log has, as soon as there are some."""
    def counts() -> list[int]:
        return [entry["count"] for entry in check_log(gateway.log())
                if entry["event"] == "limit_reached" and entry["limit"] == "connections_per_ip"]

    wait_until(counts, "the log reports the limit")
    return sum(counts())


def test_connections_of_an_address_are_limited(limited, closing):
    gateway = limited()
    api, second = closing(Api(gateway)), closing(Wire(gateway))
    second.send(HEALTH)
    assert second.read_response().status == 200
    third = closing(Wire(gateway))
    third.send_ignoring_reset(HEALTH)
    assert third.at_end()
    assert rejections(gateway) == 1
    samples = scrape(api).samples
    assert ("fleetwire_limited_total", '{limit="connections_per_ip"}', 1.0) in samples
    second.close()
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    replacement = closing(Wire(gateway))
    replacement.send(HEALTH)
    assert replacement.read_response().status == 200


def test_handshakes_of_an_address_are_limited(start_gateway, closing):
    gateway = start_gateway(server={"handshakes_per_ip_per_second": 5})
    wires = [closing(Wire(gateway)) for _ in range(10)]
    for wire in wires:
        wire.send_ignoring_reset(HEALTH)
    responses = [wire.read_response() for wire in wires]
    assert 5 <= sum(response is not None for response in responses) < 10, responses


def test_websockets_behind_a_proxy_count_for_their_clients(limited, closing):
    gateway = limited(behind_proxy=True)

    def status(client: str) -> int:
        wire = closing(Wire(gateway))
        wire.send(upgrade(**{"X_Forwarded_For": client}))
        return wire.read_response().status

    assert [status("203.0.113.1") for _ in range(3)] == [101, 101, 429]
    # What stands further left was sent by the client, and may be forged.
    assert status("203.0.113.2, 203.0.113.1") == 429
    assert status("203.0.113.2") == 101
    assert rejections(gateway) >= 1


def test_addresses_are_not_believed_without_a_proxy(limited, closing):
    gateway = limited()
    wires = [closing(Wire(gateway)) for _ in range(3)]
    for number, wire in enumerate(wires):
        wire.send_ignoring_reset(upgrade(**{"X_Forwarded_For": f"203.0.113.{number}"}))
    assert [wire.read_response() is None for wire in wires] == [False, False, True]


# PROXY protocol


@pytest.fixture
def proxied(limited):
    return limited(proxy_protocol=True)


@pytest.mark.parametrize("pieces", [1, 30], ids="{} pieces".format)
def test_proxy_header_precedes_requests(proxied, closing, pieces):
    wire = closing(Wire(proxied))
    data = proxy_header("203.0.113.1") + HEALTH
    size = -(-len(data) // pieces)
    for start in range(0, len(data), size):
        wire.send(data[start:start + size])
    assert wire.read_response().status == 200


def test_proxy_header_names_the_client(proxied, closing):
    def accepts(source: str | None, command: int = 1) -> bool:
        wire = closing(Wire(proxied))
        wire.send_ignoring_reset(proxy_header(source, command) + HEALTH)
        return wire.read_response() is not None

    assert [accepts("203.0.113.1") for _ in range(3)] == [True, True, False]
    assert [accepts("2001:db8::1"), accepts("2001:db8::2"), accepts("2001:db8::3")] == [
        True, True, False], "the addresses of a /64 count as one"
    assert all(accepts(None, command=0) for _ in range(4)), "health checks of the proxy itself"


@pytest.mark.parametrize("data", [HEALTH, proxy_header("203.0.113.1").replace(b"QUIT", b"QUIP"),
                                  b"PROXY TCP4 203.0.113.1 203.0.113.2 1 2\r\n" + HEALTH],
                         ids=["no header", "other signature", "version 1"])
def test_connection_without_a_proxy_header_is_closed(proxied, closing, data):
    wire = closing(Wire(proxied))
    wire.send_ignoring_reset(data)
    assert wire.at_end()


def refused_headers(gateway) -> list[dict]:
    return [line for line in check_log(gateway.log()) if line["event"] == "proxy_header_refused"]


def test_proxy_header_of_an_untrusted_peer_is_rejected(start_gateway, closing):
    gateway = start_gateway(server={"proxy_protocol": True, "trusted_proxies": ["10.0.0.0/8"]})
    wire = closing(Wire(gateway))
    wire.send_ignoring_reset(proxy_header("203.0.113.1") + HEALTH)
    assert wire.at_end()
    wait_until(lambda: refused_headers(gateway), "it is logged")
    [line] = refused_headers(gateway)
    assert (line["peer"], line["reason"], line["level"]) == ("127.0.0.1", "untrusted_peer", "warning")


def test_refused_proxy_headers_are_counted_and_logged(start_gateway, closing):
    gateway = start_gateway(server={"proxy_protocol": True}, sections=SECTIONS)
    for data in (HEALTH, b"PROXY TCP4 203.0.113.1 203.0.113.2 1 2\r\n" + HEALTH, proxy_header("203.0.113.1")[:12] + b"\x31"):
        wire = closing(Wire(gateway))
        wire.send_ignoring_reset(data)
        assert wire.at_end()
    wait_until(lambda: len(refused_headers(gateway)) == 3, "all are logged")
    assert [line["reason"] for line in refused_headers(gateway)] == ["missing", "version_1", "invalid"]
    wire = closing(Wire(gateway))
    wire.send(proxy_header("203.0.113.1") + request(
        "GET", "/metrics", headers=[f"Authorization: Bearer {token('ops', 'oz')}"]))
    metrics = Metrics(wire.read_response().text)
    for reason in ("missing", "version_1", "invalid"):
        assert metrics.value("fleetwire_proxy_headers_refused_total", reason=reason) == 1


@pytest.mark.parametrize("tls, code", [(1, None), (7, None), (0, 4000), (6, 4000), (None, 4000)])
def test_proxy_header_says_whether_the_client_uses_tls(start_gateway, closing, tls, code):
    """For `tls_only`, behind a balancer that ends TLS and does not know HTTP."""
    gateway = start_gateway(server={"proxy_protocol": True}, first={"tls_only": True})
    wire = closing(Wire(gateway))
    wire.send(proxy_header("203.0.113.1", tls=tls) + upgrade())
    assert wire.read_response().status == 101
    if code is None:
        wire.expect("pusher:connection_established")
        wire.subscribe("news")
    else:
        assert wire.close_code() == code


def test_tls_of_an_untrusted_header_does_not_count(start_gateway, closing):
    gateway = start_gateway(server={"behind_proxy": True}, first={"tls_only": True})
    wire = closing(Wire(gateway))
    wire.send_ignoring_reset(proxy_header("203.0.113.1", tls=1) + upgrade())
    response = wire.read_response()
    assert response is None or response.status == 400
