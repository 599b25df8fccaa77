"""C10: the connection limit of an application."""

import time

import pytest

from harness.api import Api
from harness.apps import SECOND, TIMEOUT
from harness.client import Client
from harness.raw_client import CLOSES, RawClient
from harness.wire import CLOSE, TEXT, Wire, upgrade


@pytest.fixture
def limited(start_gateway):
    """Starts a gateway whose first application is limited to three connections."""
    return lambda loops=2, **limits: start_gateway(loops=loops, limits={"connections": 3} | limits)


def rejection_code(gateway, protocol: int = 7) -> int:
    """Returns the close code of a connection over the limit; below protocol 6 an error event with
    the same code precedes it [C7].
    """
    client = Client.dial(gateway, protocol=protocol)
    try:
        error = client.expect_error() if protocol < 6 else None
        code, reason = client.expect_close()
        assert reason and reason.isprintable()
        assert error is None or error["code"] == code
        return code
    finally:
        client.close()


def connect_with_retries(gateway) -> Client:
    """Retries until a connection is free, like a client with back-off. Meanwhile connections must
    be closed with 4100.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        client = Client.dial(gateway)
        try:
            client.expect_established()
            return client
        except AssertionError as failure:
            client.close()
            assert "4100" in str(failure), failure
            assert time.monotonic() < deadline, "no connection became free"


@pytest.mark.parametrize("loops", [1, 2, 4])
@pytest.mark.parametrize("limits, code",
                         [({}, 4100), ({"over_quota_close": 4100}, 4100),
                          ({"over_quota_close": 4004}, 4004)],
                         ids=["by default", "4100", "4004"])
def test_C10_connection_over_the_limit_is_closed(limited, closing, loops, limits, code):
    gateway = limited(loops, **limits)
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    for _ in range(3):
        assert rejection_code(gateway) == code
    for client in clients:
        client.expect_nothing()


def test_C10_protocol_5_gets_pusher_error_before_close(limited, closing):
    gateway = limited()
    _ = [closing(Client.connect(gateway)) for _ in range(3)]
    assert rejection_code(gateway, protocol=5) == 4100


@pytest.mark.parametrize("leave", CLOSES.values(), ids=CLOSES)
def test_C10_closed_connection_frees_its_slot(limited, closing, leave):
    gateway = limited()
    raw_clients = [closing(RawClient(gateway)) for _ in range(3)]
    for raw_client in raw_clients:
        leave(raw_client)
        closing(connect_with_retries(gateway))
    assert rejection_code(gateway) == 4100


def test_C10_rejected_connections_use_no_slot(limited, closing):
    gateway = limited()
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    for _ in range(20):
        assert rejection_code(gateway) == 4100
    clients[0].close()
    closing(connect_with_retries(gateway)).expect_nothing()
    assert rejection_code(gateway) == 4100


def test_C10_connections_with_other_errors_use_no_slot(limited, closing):
    gateway = limited()
    for _ in range(5):
        client = Client.dial(gateway, protocol=8)
        assert client.expect_close()[0] == 4007
        client.close()
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    assert rejection_code(gateway) == 4100
    for client in clients:
        client.expect_nothing()


def test_C10_limit_is_per_application(limited, closing):
    gateway = limited()
    _ = [closing(Client.connect(gateway)) for _ in range(3)]
    assert rejection_code(gateway) == 4100
    for _ in range(5):
        closing(Client.connect(gateway, SECOND)).expect_nothing()


def test_C10_api_is_served_at_the_limit(limited, closing):
    gateway = limited()
    clients, api = [closing(Client.connect(gateway)) for _ in range(3)], closing(Api(gateway))
    clients[0].subscribe("x")
    assert rejection_code(gateway) == 4100
    api.publish("x")
    clients[0].expect("event")


@pytest.mark.parametrize("loops", [1, 4])
def test_C10_concurrent_connections_up_to_the_limit_succeed(limited, closing, loops):
    gateway = limited(loops)
    wires = [closing(Wire(gateway)) for _ in range(30)]
    for wire in wires:
        wire.send(upgrade())
    outcomes = []
    for wire in wires:
        assert wire.read_response().status == 101
        opcode, payload = wire.next_frame()
        assert opcode in (TEXT, CLOSE)
        outcomes.append("established" if opcode == TEXT else int.from_bytes(payload[:2], "big"))
    assert outcomes.count("established") == 3 and outcomes.count(4100) == 27
