"""Starting and, above all, ending well."""

import pytest

from harness.api import Api
from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.gateway import check_log
from harness.wire import CLOSE, TEXT, Wire, frame, request, upgrade

LOOPS = pytest.mark.parametrize("loops", [1, 2, 4], ids="loops={}".format)


def crowd(gateway, closing, size: int, channel: str = "crowd") -> list[Wire]:
    """Connections that are greeted and subscribed."""
    peers = [closing(Wire(gateway)) for _ in range(size)]
    for peer in peers:
        peer.send(upgrade())
    for peer in peers:
        peer.greeting()
        peer.subscribe(channel)
    return peers


@LOOPS
def test_SIGTERM_tells_everybody_4200_and_exits_0(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops)
    peers = crowd(gateway, closing, 200)
    gateway.terminate()
    for peer in peers:
        assert peer.close_code() == 4200
        # What a client does: it answers the close, and the stream ends.
        peer.send_as_taken(frame(CLOSE, (4200).to_bytes(2, "big")))
        assert peer.ended()
    gateway.wait()


@LOOPS
def test_SIGTERM_with_clients_that_do_not_answer(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops)
    peers = crowd(gateway, closing, 50)
    gateway.terminate()
    gateway.wait()
    assert [peer.close_code() for peer in peers] == [4200] * 50


@LOOPS
def test_SIGTERM_with_nobody_there(start_gateway, loops):
    gateway = start_gateway(loops=loops)
    gateway.terminate()
    gateway.wait()


def test_SIGTERM_twice_is_no_worse(start_gateway, closing):
    gateway = start_gateway()
    peers = crowd(gateway, closing, 20)
    gateway.terminate()
    assert peers[0].close_code() == 4200
    if gateway.process.poll() is None:
        gateway.terminate()
    gateway.stopped = True
    assert gateway.process.wait(15) >= 0, "ended by a signal"
    check_log(gateway.log())


def test_the_close_has_a_reason_and_comes_after_the_events(start_gateway, closing):
    """What was published before is delivered before the close."""
    gateway = start_gateway(loops=2)
    clients = [closing(Client.connect(gateway)) for _ in range(6)]
    for client in clients:
        client.subscribe("last-words")
    api = closing(Api(gateway))
    for number in range(50):
        api.publish("last-words", data=str(number))
    gateway.terminate()
    for client in clients:
        for number in range(50):
            client.expect("event", data=str(number))
        code, reason = client.closed()
        assert code == 4200 and reason
    gateway.wait()


def test_readiness_ends_before_the_connections_do(start_gateway, closing):
    gateway = start_gateway(loops=2, server={"drain_seconds": 3})
    prober = closing(Wire(gateway))
    prober.send(request("GET", "/readyz"))
    assert prober.answer().status == 200
    peers = crowd(gateway, closing, 40)
    gateway.terminate()
    assert peers[0].close_code() == 4200
    prober.send_as_taken(request("GET", "/readyz"))
    answer = prober.answer()
    assert answer is None or answer.status == 503
    gateway.wait()


def test_SIGTERM_amid_traffic(start_gateway, closing):
    """Half-sent requests, half-open handshakes and idle connections hold nothing up."""
    gateway = start_gateway(loops=2)
    peers = crowd(gateway, closing, 10)
    for data in (b"", b"GET /hea", request("GET", "/healthz"), upgrade()[:50], request("POST", "/apps/1001/events", b"x" * 100)[:-50]):
        closing(Wire(gateway)).send(data)
    peers[0].send(frame(TEXT, b"{", first=0))
    gateway.terminate()
    assert [peer.close_code() for peer in peers] == [4200] * 10
    gateway.wait()


def test_after_the_end_nobody_is_taken(start_gateway):
    gateway = start_gateway()
    gateway.stop()
    with pytest.raises(ConnectionRefusedError):
        Wire(gateway)


def test_starting_again_on_the_same_port_at_once(start_gateway, closing):
    first = start_gateway(loops=2)
    crowd(first, closing, 20)
    first.stop()
    second = start_gateway(loops=2, server={"port": first.port})
    assert second.port == first.port
    crowd(second, closing, 5)


def test_the_banner_comes_when_connections_are_taken(start_gateway, closing):
    for _ in range(5):
        gateway = start_gateway(loops=4)
        assert gateway.bound_to == "127.0.0.1"
        closing(Client.connect(gateway, SECOND)).expect_nothing()
        assert closing(Api(gateway, FIRST)).get("/readyz").status == 200
        gateway.stop()


def test_as_many_loops_as_cores_unless_told(start_gateway, closing):
    gateway = start_gateway(loops=0)
    peers = crowd(gateway, closing, 20)
    closing(Api(gateway)).publish("crowd")
    for peer in peers:
        peer.expect("event")
