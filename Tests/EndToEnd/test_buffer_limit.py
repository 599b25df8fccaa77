"""`server.buffer_bytes`: what a loop keeps of incomplete requests and messages is bounded."""

import pytest

from harness.api import Api
from harness.hostile.bystander import resident_bytes
from harness.metrics import wait_for_metric
from harness.wire import TEXT, Wire, frame, request

LIMIT = 16 << 20
MESSAGE = frame(TEXT, b"x" * 60_000)
UNFINISHED = MESSAGE[:-1_000]
HEAD = request("GET", "/healthz", headers=["X-Filler: " + "x" * 7_000])


def get_in_pieces(wire: Wire):
    wire.send(HEAD[:7_000])
    wire.send(HEAD[7_000:])
    return wire.read_response()


@pytest.mark.cost
def test_incomplete_messages_take_bounded_memory(start_gateway, closing):
    gateway = start_gateway(loops=1, server={"buffer_bytes": LIMIT})
    api = closing(Api(gateway))
    before, fitting = resident_bytes(gateway), LIMIT // len(UNFINISHED)
    clients = [closing(Wire(gateway)) for _ in range(3 * fitting)]
    for client in clients:
        client.open()
    for client in clients[:fitting]:
        client.send(UNFINISHED)
    wait_for_metric(api, "fleetwire_socket_received_bytes", fitting * len(UNFINISHED))
    for client in clients[fitting:]:
        client.send(UNFINISHED)
        assert client.close_code() == 4100
    assert not any(client.readable() for client in clients[:fitting])
    assert resident_bytes(gateway) - before < LIMIT * 5 // 2
    wait_for_metric(api, "fleetwire_limited_total", 2 * fitting)

    # A message that ends gives its memory back, and the connection goes on.
    clients[0].send(MESSAGE[-1_000:])
    clients[0].expect("pusher:error")
    for client in clients:
        client.close()
    wait_for_metric(api, "fleetwire_connected", 0)
    assert get_in_pieces(closing(Wire(gateway))).status == 200
