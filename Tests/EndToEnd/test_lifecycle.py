"""Start and shutdown."""

import os

import pytest

from harness.api import Api
from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.gateway import check_log
from harness.wire import CLOSE, TEXT, Wire, frame, request, upgrade

LOOPS = pytest.mark.parametrize("loops", [1, 2, 4], ids="loops={}".format)


def subscribed_clients(gateway, closing, size: int, channel: str = "channel") -> list[Wire]:
    """Returns connected and subscribed clients."""
    peers = [closing(Wire(gateway)) for _ in range(size)]
    for peer in peers:
        peer.send(upgrade())
    for peer in peers:
        peer.expect_established()
        peer.subscribe(channel)
    return peers


@LOOPS
def test_sigterm_closes_all_and_exits_0(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops)
    peers = subscribed_clients(gateway, closing, 200)
    gateway.terminate()
    for peer in peers:
        assert peer.close_code() == gateway.drain_code
        # Like a client: answers the close frame, then the stream ends.
        peer.send_ignoring_reset(frame(CLOSE, gateway.drain_code.to_bytes(2, "big")))
        assert peer.at_end()
    gateway.wait()


@LOOPS
def test_sigterm_with_unresponsive_clients_exits_0(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops)
    peers = subscribed_clients(gateway, closing, 50)
    gateway.terminate()
    gateway.wait()
    assert [peer.close_code() for peer in peers] == [gateway.drain_code] * 50


@LOOPS
def test_sigterm_without_clients_exits_0(start_gateway, loops):
    gateway = start_gateway(loops=loops)
    gateway.terminate()
    gateway.wait()


def test_second_sigterm_is_no_crash(start_gateway, closing):
    gateway = start_gateway()
    peers = subscribed_clients(gateway, closing, 20)
    gateway.terminate()
    assert peers[0].close_code() == gateway.drain_code
    if gateway.process.poll() is None:
        gateway.terminate()
    gateway.stopped = True
    assert gateway.process.wait(15) >= 0, "killed by a signal"
    check_log(gateway.log())


def test_close_has_a_reason_and_follows_the_events(start_gateway, closing):
    """Events published before SIGTERM are delivered before the close."""
    gateway = start_gateway(loops=2)
    clients = [closing(Client.connect(gateway)) for _ in range(6)]
    for client in clients:
        client.subscribe("last-events")
    api = closing(Api(gateway))
    for number in range(50):
        api.publish("last-events", data=str(number))
    gateway.terminate()
    for client in clients:
        for number in range(50):
            client.expect("event", data=str(number))
        code, reason = client.expect_close()
        assert code == gateway.drain_code and reason
    gateway.wait()


def test_readyz_is_no_longer_200_when_the_first_client_is_closed(start_gateway, closing):
    gateway = start_gateway(loops=2, server={"drain_seconds": 3})
    probe = closing(Wire(gateway))
    probe.send(request("GET", "/readyz"))
    assert probe.read_response().status == 200
    peers = subscribed_clients(gateway, closing, 40)
    gateway.terminate()
    assert peers[0].close_code() == gateway.drain_code
    probe.send_ignoring_reset(request("GET", "/readyz"))
    response = probe.read_response()
    assert response is None or response.status == 503
    gateway.wait()


def test_partial_requests_do_not_delay_the_exit(start_gateway, closing):
    """Partial requests, partial handshakes and idle connections do not delay the exit."""
    gateway = start_gateway(loops=2)
    peers = subscribed_clients(gateway, closing, 10)
    for data in (b"", b"GET /hea", request("GET", "/healthz"), upgrade()[:50],
                 request("POST", "/apps/1001/events", b"x" * 100)[:-50]):
        closing(Wire(gateway)).send(data)
    peers[0].send(frame(TEXT, b"{", first=0))
    gateway.terminate()
    assert [peer.close_code() for peer in peers] == [gateway.drain_code] * 10
    gateway.wait()


def test_no_connections_after_exit(start_gateway):
    gateway = start_gateway()
    gateway.stop()
    with pytest.raises(ConnectionRefusedError):
        Wire(gateway)


def test_port_can_be_reused_after_a_restart(start_gateway, closing):
    first = start_gateway(loops=2)
    subscribed_clients(first, closing, 20)
    first.stop()
    second = start_gateway(loops=2, server={"port": first.port})
    assert second.port == first.port
    subscribed_clients(second, closing, 5)


def test_connections_are_accepted_when_the_banner_is_printed(start_gateway, closing):
    for _ in range(5):
        gateway = start_gateway(loops=4)
        assert gateway.bound_to == "127.0.0.1"
        closing(Client.connect(gateway, SECOND)).expect_nothing()
        assert closing(Api(gateway, FIRST)).get("/readyz").status == 200
        gateway.stop()


def test_default_is_one_loop_per_core(start_gateway, closing):
    gateway = start_gateway(loops=0)
    metrics = closing(Api(gateway)).get("/metrics").text
    assert metrics.count("fleetwire_connected{loop=") == os.sysconf("SC_NPROCESSORS_ONLN")
    peers = subscribed_clients(gateway, closing, 20)
    closing(Api(gateway)).publish("channel")
    for peer in peers:
        peer.expect("event")
