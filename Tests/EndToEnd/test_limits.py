"""Resource limits: file descriptors, and outboxes of slow consumers."""

import json
import select
import time

import pytest

from harness.api import Api
from harness.apps import TIMEOUT
from harness.client import Client
from harness.gateway import check_log
from harness.metrics import scrape, wait_for_metric
from harness.wire import CLOSE, TEXT, Wire, frame, upgrade


def wait_for_data(peers: list[Wire], quiet: float) -> list[Wire]:
    """Returns the clients that have received data once no other has for `quiet` seconds; fails if
    none has.
    """
    waiting, received = list(peers), []
    while waiting and (ready := select.select(waiting, [], [], quiet if received else TIMEOUT)[0]):
        received += ready
        waiting = [peer for peer in waiting if peer not in ready]
    return received


def dial_many(gateway, closing, count: int) -> list[Wire]:
    """Opens connections that request an upgrade; connections the kernel refuses are left out."""
    peers = []
    for _ in range(count):
        try:
            peer = closing(Wire(gateway))
            peer.send(upgrade())
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            continue
        peers.append(peer)
    return peers


def expect_new_clients_served(gateway, closing) -> None:
    """Retries until one is connected, like a client with back-off."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            closing(Client.connect(gateway)).expect_nothing()
            return
        except (OSError, EOFError) as refused:
            assert time.monotonic() < deadline, f"no new client is served: {refused!r}"
            time.sleep(0.1)


@pytest.mark.parametrize("loops", [1, 2])
def test_descriptor_limit_affects_no_open_connection(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops, descriptors=128)
    api, watcher = closing(Api(gateway)), closing(Client.connect(gateway))
    watcher.subscribe("watched")

    peers = dial_many(gateway, closing, 200)
    accepted = wait_for_data(peers, quiet=1.0)
    assert 40 <= len(accepted) < 128
    established = [peer for peer in accepted if (response := peer.read_response())
                   and response.status == 101]
    assert len(established) >= 40
    gateway.assert_idle()
    api.publish("watched", "full")
    watcher.expect("full")
    assert api.get("/healthz").status == 200
    for peer in established:
        peer.expect("pusher:connection_established")

    # Descriptors become free: queued clients are served, then new ones.
    waiting = [peer for peer in peers if peer not in accepted]
    for peer in established[:30]:
        peer.close()
    if waiting:
        assert wait_for_data(waiting, quiet=3.0), "queued clients are not served"
    for peer in waiting + established[30:]:
        peer.close()
    expect_new_clients_served(gateway, closing)
    gateway.assert_idle()
    api.publish("watched", "again")
    watcher.expect("again")


def test_descriptor_limit_leaks_no_descriptors(start_gateway, closing):
    """No descriptor leaks: each round accepts as many clients as the first."""
    gateway = start_gateway(loops=2, descriptors=128)
    api = closing(Api(gateway))
    accepted = []
    for _ in range(4):
        peers = dial_many(gateway, closing, 150)
        established = wait_for_data(peers, quiet=1.0)
        accepted.append(len(established))
        for peer in peers:
            peer.reset()
        wait_for_metric(api, "fleetwire_connected", 0)
    assert min(accepted) >= accepted[0] - 5 and min(accepted) >= 40, accepted
    expect_new_clients_served(gateway, closing)
    gateway.assert_idle()


def test_idle_http_connections_count_as_descriptors(start_gateway, closing):
    gateway = start_gateway(loops=2, descriptors=128)
    watcher, api = closing(Client.connect(gateway)), closing(Api(gateway))
    watcher.subscribe("watched")
    idle = []
    for _ in range(200):
        try:
            idle.append(closing(Wire(gateway)))
        except (ConnectionRefusedError, ConnectionResetError):
            pass
    api.publish("watched", "full")
    watcher.expect("full")
    gateway.assert_idle()
    for peer in idle:
        peer.close()
    expect_new_clients_served(gateway, closing)


@pytest.mark.parametrize("loops", [1, 2])
def test_slow_consumer_is_closed_and_others_receive_everything(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops, limits={"outbox_bytes": 262_144})
    api, events = closing(Api(gateway)), 1500
    readers = [closing(Client.connect(gateway)) for _ in range(3)]
    slow_consumer = closing(Wire(gateway, receive_buffer=4096))
    slow_consumer.open()
    slow_consumer.subscribe("flood")
    for reader in readers:
        reader.subscribe("flood")

    for number in range(events):
        data = str(number).ljust(10_000, ".")
        api.publish("flood", data=data)
        for reader in readers:
            reader.expect("event", data=data)

    wait_for_metric(api, "fleetwire_connected", 3)
    assert scrape(api).total("fleetwire_slow_consumer_total") == 1
    # It reads what fitted the buffers, and the close frame if that has not waited too long.
    count = 0
    while (got := slow_consumer.next_frame()) and got[0] == TEXT:
        count += 1
    assert count < events
    assert got is None or got[0] == CLOSE
    for reader in readers:
        reader.expect_nothing()
    gateway.assert_idle()


@pytest.mark.parametrize("limit", ["outbox_bytes", "outgoing_bytes"])
def test_slow_consumer_that_reads_gets_a_close_frame(start_gateway, closing, limit):
    """Between whole frames: it learns why it was closed, and that it is to come back."""
    limits = ({"limits": {"outbox_bytes": 65_536}} if limit == "outbox_bytes"
              else {"server": {"outgoing_bytes": 16 << 20}, "limits": {"outbox_bytes": 16 << 20}})
    gateway = start_gateway(loops=1, **limits)
    api, slow = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("flood")
    published = 0
    while not scrape(api).total("fleetwire_slow_consumer_total"):
        for _ in range(50):
            api.publish("flood", data=str(published).ljust(10_000, "."))
            published += 1
    received = 0
    while (got := slow.next_frame()) and got[0] == TEXT:
        assert int(json.loads(got[1])["data"].rstrip(".")) == received
        received += 1
    assert got and got[0] == CLOSE and got[1][:2] == (4100).to_bytes(2, "big"), got
    assert received < published and b"too slowly" in got[1]
    slow.send(frame(CLOSE, got[1][:2]))
    assert slow.at_end()
    assert scrape(api).value("fleetwire_close_total", code="4100") == 1
    wait_for_metric(api, "fleetwire_outbox_bytes", 0)
    gateway.assert_idle()


def test_slow_reader_within_the_limit_is_kept(start_gateway, closing):
    """The outbox buffers what the socket does not accept, up to its limit."""
    gateway = start_gateway(loops=2, limits={"outbox_bytes": 1_048_576})
    api, slow = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("flood")
    for number in range(300):
        api.publish("flood", data=str(number).ljust(10_000, "."))
        if number % 60 == 59:
            for expected in range(number - 59, number + 1):
                assert int(slow.expect("event")["data"].rstrip(".")) == expected
    assert scrape(api).total("fleetwire_slow_consumer_total") == 0


def test_closing_slow_consumers_frees_their_memory(start_gateway, closing):
    gateway = start_gateway(loops=1, limits={"outbox_bytes": 262_144})
    api = closing(Api(gateway))
    slow_consumers = [closing(Wire(gateway, receive_buffer=4096)) for _ in range(20)]
    for slow_consumer in slow_consumers:
        slow_consumer.open()
        slow_consumer.subscribe("flood")
    before = resident_bytes(gateway)
    for number in range(1000):
        api.publish("flood", data=str(number).ljust(10_000, "."))
    wait_for_metric(api, "fleetwire_connected", 0)
    # Twenty outboxes of 256 KB, with a margin.
    assert resident_bytes(gateway) - before < 40_000_000


def resident_bytes(gateway) -> int:
    with open(f"/proc/{gateway.process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_server_connections_limits_open_connections(start_gateway, closing):
    gateway = start_gateway(server={"connections": 20})
    api = closing(Api(gateway))
    peers = dial_many(gateway, closing, 40)
    accepted = wait_for_data(peers, quiet=1.0)
    assert len(accepted) == 19  # the API's connection is the twentieth
    wait_for_metric(api, "fleetwire_descriptors_in_use", 20)
    for peer in peers:
        peer.reset()
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    assert '"connections":20}' in gateway.log()
    assert "descriptor_limit_too_low" not in gateway.log()


def test_a_descriptor_limit_below_the_configured_connections_is_logged(start_gateway):
    gateway = start_gateway(server={"connections": 1000}, descriptors=128)
    gateway.stop()
    warning, = [line for line in check_log(gateway.log())
                if line["event"] == "descriptor_limit_too_low"]
    assert warning["connections"] == 1000 and warning["possible"] < 128
