"""`server.outgoing_bytes`: what clients have not taken yet is bounded, over events and responses."""

import time

from harness.api import Api, signed_target
from harness.apps import FIRST
from harness.fleet import wait_until
from harness.gateway import logs_limit
from harness.hostile.bystander import resident_bytes
from harness.metrics import count_limited, scrape, wait_for_metric
from harness.timing import divided
from harness.wire import Wire, request

TIMING_DIVISOR = 2
LIMIT = 16 << 20
# What lists may take of it.
LISTS = LIMIT // 8 * 7


def publish(api: Api, channel: str, count: int) -> None:
    for _ in range(count):
        api.publish(channel, data="x" * 10_000)


def deaf(gateway, closing, channel: str) -> Wire:
    """A subscriber that reads nothing more."""
    wire = closing(Wire(gateway, receive_buffer=4096))
    wire.open()
    wire.subscribe(channel)
    return wire


def test_lists_that_nobody_reads_take_bounded_memory(start_gateway, closing):
    gateway = start_gateway(loops=1, server={"outgoing_bytes": LIMIT})
    subscriber = closing(Wire(gateway))
    subscriber.open()
    for number in range(5_000):
        subscriber.subscribe(f"{number}-{'x' * 190}")
    api = closing(Api(gateway))
    response = api.get_signed("channels")
    size = len(response.text)
    assert response.status == 200 and size > 900_000
    before = resident_bytes(gateway)
    # Their sockets may hold as much as the gateway may queue.
    deaf_clients = [closing(Wire(gateway, receive_buffer=4096)) for _ in range(4 * LIMIT // size)]
    listing = request("GET", signed_target(FIRST, "GET", "/apps/1001/channels", b""))
    for client in deaf_clients:
        client.send(listing)
    wait_until(lambda: count_limited(api, "outgoing_bytes"), "a list is refused")
    metrics = scrape(api)
    held = metrics.total("fleetwire_outbox_bytes")
    assert metrics.total("fleetwire_outbox_bytes_max") == LIMIT and LISTS - size < held <= LISTS
    assert resident_bytes(gateway) - before < LIMIT * 2
    # Who reads gets 503, too, while the memory is full; short responses and events still get through.
    response = api.get_signed("channels")
    assert response.status == 503 and response.headers["retry-after"] == "1", response
    assert response.text.startswith("Overloaded: there is no memory for a list of ")
    assert api.get_signed("channels", filter_by_prefix="1-").status == 200
    assert scrape(api).total("fleetwire_slow_consumer_total") == 0
    wait_until(lambda: logs_limit(gateway, "outgoing_bytes"), "the log reports the limit")
    for client in deaf_clients:
        client.close()
    wait_for_metric(api, "fleetwire_outbox_bytes", 0)
    assert api.get_signed("channels").status == 200


def test_clients_with_the_most_are_dropped(start_gateway, closing):
    gateway = start_gateway(loops=1, server={"outgoing_bytes": LIMIT}, limits={"outbox_bytes": LIMIT})
    api = closing(Api(gateway))
    modest = [deaf(gateway, closing, "modest") for _ in range(3)]
    for _ in range(2):
        deaf(gateway, closing, "greedy")
    publish(api, "modest", 150)
    wait_until(lambda: scrape(api).total("fleetwire_outbox_bytes") > 0, "something is queued")
    while not scrape(api).total("fleetwire_slow_consumer_total"):
        publish(api, "greedy", 50)
        assert scrape(api).total("fleetwire_outbox_bytes") <= LIMIT
    assert count_limited(api, "outgoing_bytes") >= 1
    # Only as many are dropped as have to be, and the others miss nothing.
    wait_for_metric(api, "fleetwire_connected", 4)
    for wire in modest:
        for _ in range(150):
            wire.expect("event")
    assert scrape(api).total("fleetwire_connected") == 4


def test_a_client_that_takes_a_little_now_and_then_is_dropped(start_gateway, closing):
    """It would keep its memory forever. It has ten seconds for all of it."""
    gateway = start_gateway(loops=1, limits={"outbox_bytes": 65_536})
    api, trickling = closing(Api(gateway)), deaf(gateway, closing, "flood")
    publish(api, "flood", 90)
    start, sips = time.monotonic(), 0
    while not scrape(api).total("fleetwire_slow_consumer_total"):
        time.sleep(divided(0.2))  # the pace of the client is what is tested
        # The kernel tells the gateway of the room in a socket this small only now and then.
        if trickling.readable():
            assert trickling.socket.recv(2_000), "it is dropped, but not counted"
            sips += 1
        assert time.monotonic() - start < divided(10) + 30, "it is not dropped"
    assert time.monotonic() - start > divided(8) and sips > 3
    wait_for_metric(api, "fleetwire_outbox_bytes", 0)


def test_a_client_that_takes_all_in_time_is_kept(start_gateway, closing):
    gateway = start_gateway(loops=1, limits={"outbox_bytes": 65_536})
    api, late = closing(Api(gateway)), deaf(gateway, closing, "flood")
    for _ in range(3):
        publish(api, "flood", 90)
        assert scrape(api).total("fleetwire_outbox_bytes") > 65_536
        time.sleep(divided(4))  # the time that it may take is what is tested
        for _ in range(90):
            late.expect("event")
    assert scrape(api).total("fleetwire_slow_consumer_total") == 0
    assert scrape(api).total("fleetwire_connected") == 1
