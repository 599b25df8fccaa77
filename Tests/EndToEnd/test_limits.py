"""Where something runs out: descriptors, and the patience for those who do not read."""

import select
import time

import pytest

from harness.api import Api
from harness.apps import PATIENCE
from harness.client import Client
from harness.metrics import eventually, scrape
from harness.wire import Wire, upgrade


def answered(peers: list[Wire], quiet: float) -> list[Wire]:
    """Those who have heard something by the time nobody new has for `quiet` seconds; somebody must."""
    waiting, heard = list(peers), []
    while waiting and (ready := select.select(waiting, [], [], quiet if heard else PATIENCE)[0]):
        heard += ready
        waiting = [peer for peer in waiting if peer not in ready]
    return heard


def dial_many(gateway, closing, count: int) -> list[Wire]:
    """Connections that have asked for an upgrade; refused ones are left out."""
    peers = []
    for _ in range(count):
        try:
            peer = closing(Wire(gateway))
            peer.send(upgrade())
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            continue
        peers.append(peer)
    return peers


def assert_takes_newcomers(gateway, closing) -> None:
    """Again and again until one is greeted: how a client with a back-off behaves."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            closing(Client.connect(gateway)).expect_nothing()
            return
        except (OSError, EOFError) as refused:
            assert time.monotonic() < deadline, f"no newcomer is taken: {refused!r}"
            time.sleep(0.1)


@pytest.mark.parametrize("loops", [1, 2])
def test_at_the_descriptor_limit_others_are_served_and_nothing_spins(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops, descriptors=128)
    api, watcher = closing(Api(gateway)), closing(Client.connect(gateway))
    watcher.subscribe("watched")

    peers = dial_many(gateway, closing, 200)
    taken = answered(peers, quiet=1.0)
    assert 40 <= len(taken) < 128
    greeted = [peer for peer in taken if (answer := peer.answer()) and answer.status == 101]
    assert len(greeted) >= 40
    gateway.assert_calm()
    api.publish("watched", "full")
    watcher.expect("full")
    assert api.get("/healthz").status == 200
    for peer in greeted:
        peer.expect("pusher:connection_established")

    # Places become free: those who wait are taken, and then anybody who comes.
    waiting = [peer for peer in peers if peer not in taken]
    for peer in greeted[:30]:
        peer.close()
    if waiting:
        assert answered(waiting, quiet=3.0), "those in the queue are not taken"
    for peer in waiting + greeted[30:]:
        peer.close()
    assert_takes_newcomers(gateway, closing)
    gateway.assert_calm()
    api.publish("watched", "again")
    watcher.expect("again")


def test_the_descriptor_limit_again_and_again(start_gateway, closing):
    """Nothing is lost from round to round: as many are taken as at first."""
    gateway = start_gateway(loops=2, descriptors=128)
    api = closing(Api(gateway))
    taken = []
    for _ in range(4):
        peers = dial_many(gateway, closing, 150)
        greeted = answered(peers, quiet=1.0)
        taken.append(len(greeted))
        for peer in peers:
            peer.reset()
        eventually(api, "fleetwire_connected", 0)
    assert min(taken) >= taken[0] - 5 and min(taken) >= 40, taken
    assert_takes_newcomers(gateway, closing)
    gateway.assert_calm()


def test_idle_HTTP_connections_count_too(start_gateway, closing):
    gateway = start_gateway(loops=2, descriptors=128)
    watcher, api = closing(Client.connect(gateway)), closing(Api(gateway))
    watcher.subscribe("watched")
    silent = []
    for _ in range(200):
        try:
            silent.append(closing(Wire(gateway)))
        except (ConnectionRefusedError, ConnectionResetError):
            pass
    api.publish("watched", "full")
    watcher.expect("full")
    gateway.assert_calm()
    for peer in silent:
        peer.close()
    assert_takes_newcomers(gateway, closing)


@pytest.mark.parametrize("loops", [1, 2])
def test_who_never_reads_is_dropped_and_the_others_get_everything(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops, limits={"outbox_bytes": 262_144})
    api, events = closing(Api(gateway)), 1500
    readers = [closing(Client.connect(gateway)) for _ in range(3)]
    sleeper = closing(Wire(gateway, receive_buffer=4096))
    sleeper.open()
    sleeper.subscribe("flood")
    for reader in readers:
        reader.subscribe("flood")

    for number in range(events):
        data = str(number).ljust(10_000, ".")
        api.publish("flood", data=data)
        for reader in readers:
            reader.expect("event", data=data)

    eventually(api, "fleetwire_connected", 3)
    assert scrape(api).total("fleetwire_slow_consumer_total") == 1
    # He finds what fitted the buffers, then the end, without a close frame.
    count = 0
    while got := sleeper.next_frame():
        assert got[0] == 1, f"a close frame cannot have passed a full buffer: {got}"
        count += 1
    assert count < events
    for reader in readers:
        reader.expect_nothing()
    gateway.assert_calm()


def test_who_reads_slowly_but_reads_is_not_dropped(start_gateway, closing):
    """The outbox takes what the socket does not, as long as it is not too much."""
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


def test_a_sleeper_who_is_dropped_frees_his_memory(start_gateway, closing):
    gateway = start_gateway(loops=1, limits={"outbox_bytes": 262_144})
    api = closing(Api(gateway))
    sleepers = [closing(Wire(gateway, receive_buffer=4096)) for _ in range(20)]
    for sleeper in sleepers:
        sleeper.open()
        sleeper.subscribe("flood")
    before = resident_bytes(gateway)
    for number in range(1000):
        api.publish("flood", data=str(number).ljust(10_000, "."))
    eventually(api, "fleetwire_connected", 0)
    # Twenty outboxes of a quarter of a megabyte, and some slack.
    assert resident_bytes(gateway) - before < 40_000_000


def resident_bytes(gateway) -> int:
    with open(f"/proc/{gateway.process.pid}/statm") as file:
        return int(file.read().split()[1]) * 4096
