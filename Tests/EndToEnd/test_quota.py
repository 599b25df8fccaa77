"""C10: how many connections an application may have."""

import time

import pytest

from harness.api import Api
from harness.apps import PATIENCE, SECOND
from harness.client import Client
from harness.guest import Guest
from harness.wire import CLOSE, TEXT, Wire, upgrade


@pytest.fixture
def limited(start_gateway):
    """Starts a gateway whose first application may have three connections."""
    return lambda loops=2, **limits: start_gateway(loops=loops, limits={"connections": 3} | limits)


def refused(gateway, protocol: int = 7) -> int:
    """The close code of one too many; below protocol 6 an error event with the same code comes first [C7]."""
    client = Client.dial(gateway, protocol=protocol)
    try:
        error = client.expect_error() if protocol < 6 else None
        code, reason = client.closed()
        assert reason and reason.isprintable()
        assert error is None or error["code"] == code
        return code
    finally:
        client.close()


def takes_one(gateway) -> Client:
    """Again and again until there is a place: how a client with a back-off behaves. Until then it is refused in order."""
    deadline = time.monotonic() + PATIENCE
    while True:
        client = Client.dial(gateway)
        try:
            client.greet()
            return client
        except AssertionError as failure:
            client.close()
            assert "4100" in str(failure), failure
            assert time.monotonic() < deadline, "no place became free"


@pytest.mark.parametrize("loops", [1, 2, 4])
@pytest.mark.parametrize("limits, code", [({}, 4100), ({"over_quota_close": 4100}, 4100), ({"over_quota_close": 4004}, 4004)],
                         ids=["by default", "4100", "4004"])
def test_C10_one_too_many_is_closed(limited, closing, loops, limits, code):
    gateway = limited(loops, **limits)
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    for _ in range(3):
        assert refused(gateway) == code
    for client in clients:
        client.expect_nothing()


def test_C10_below_6_a_pusher_error_comes_first(limited, closing):
    gateway = limited()
    _ = [closing(Client.connect(gateway)) for _ in range(3)]
    assert refused(gateway, protocol=5) == 4100


@pytest.mark.parametrize("go", [lambda guest: guest.say_goodbye(), lambda guest: guest.close(), lambda guest: guest.reset()],
                         ids=["close frame", "end of stream", "reset"])
def test_C10_a_place_is_free_again_as_soon_as_a_connection_ends(limited, closing, go):
    gateway = limited()
    guests = [closing(Guest(gateway)) for _ in range(3)]
    for guest in guests:
        go(guest)
        closing(takes_one(gateway))
    assert refused(gateway) == 4100


def test_C10_the_refused_take_no_place(limited, closing):
    gateway = limited()
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    for _ in range(20):
        assert refused(gateway) == 4100
    clients[0].close()
    closing(takes_one(gateway)).expect_nothing()
    assert refused(gateway) == 4100


def test_C10_other_refusals_take_no_place_either(limited, closing):
    gateway = limited()
    for _ in range(5):
        client = Client.dial(gateway, protocol=8)
        assert client.closed()[0] == 4007
        client.close()
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    assert refused(gateway) == 4100
    for client in clients:
        client.expect_nothing()


def test_C10_it_is_the_applications(limited, closing):
    gateway = limited()
    _ = [closing(Client.connect(gateway)) for _ in range(3)]
    assert refused(gateway) == 4100
    for _ in range(5):
        closing(Client.connect(gateway, SECOND)).expect_nothing()


def test_C10_the_API_still_works(limited, closing):
    gateway = limited()
    clients, api = [closing(Client.connect(gateway)) for _ in range(3)], closing(Api(gateway))
    clients[0].subscribe("x")
    assert refused(gateway) == 4100
    api.publish("x")
    clients[0].expect("event")


@pytest.mark.parametrize("loops", [1, 4])
def test_C10_of_many_at_once_exactly_as_many_are_taken(limited, closing, loops):
    gateway = limited(loops)
    wires = [closing(Wire(gateway)) for _ in range(30)]
    for wire in wires:
        wire.send(upgrade())
    outcomes = []
    for wire in wires:
        assert wire.answer().status == 101
        opcode, payload = wire.next_frame()
        assert opcode in (TEXT, CLOSE)
        outcomes.append("greeted" if opcode == TEXT else int.from_bytes(payload[:2], "big"))
    assert outcomes.count("greeted") == 3 and outcomes.count(4100) == 27
