"""The rates of a client's messages and of authorization requests, and what they measure."""

import select
import socket
import struct
import time

import pytest

from harness.api import Api
from harness.client import Client
from harness.fleet import JWT, Fleet, wait_until
from harness.gateway import logs_limit
from harness.metrics import count_limited, scrape, wait_for_metric
from harness.raw_client import RawClient
from harness.wire import CLOSE, PING, PONG, TEXT, Wire, frame, request

PING_EVENT = frame(TEXT, b'{"event":"pusher:ping","data":{}}')
PONG_EVENT = frame(TEXT, b'{"event":"pusher:pong","data":{}}')
FLOOD_BYTES = 64 << 20
FLOODS = {"pings": frame(PING), "pongs": frame(PONG), "pong events": PONG_EVENT,
          "empty fragments": frame(0, first=0)}


def closing_code(client: RawClient) -> int:
    """Returns the code of the close frame that comes after other frames."""
    while (received := client.next_frame())[0] != CLOSE:
        pass
    return int.from_bytes(received[1][:2], "big")


def test_messages_above_the_rate_wait_and_are_not_lost(start_gateway, closing):
    gateway = start_gateway(limits={"messages_per_second": 100, "subscriptions": 1})
    api, client = closing(Api(gateway)), closing(RawClient(gateway))
    start = time.monotonic()
    client.send(PING_EVENT * 400)
    for _ in range(400):
        client.expect("pusher:pong")
    # 101 at once, and a turn may exceed the rate by 100.
    assert time.monotonic() - start >= 1
    assert count_limited(api, "messages_per_second") >= 1
    wait_until(lambda: logs_limit(gateway, "messages_per_second"), "the log reports the limit")
    client.send(PING_EVENT)
    client.expect("pusher:pong")


@pytest.mark.parametrize("kind", FLOODS)
def test_flood_is_left_with_the_client(gateway, wire, control_client, kind):
    """The gateway stops reading: the client cannot send as much as a socket without limit takes."""
    flooder = wire()
    flooder.open()
    if kind == "empty fragments":
        flooder.send(frame(TEXT, first=0))
    flooder.socket.setblocking(False)
    chunk, sent = FLOODS[kind] * 10_000, 0
    while sent < FLOOD_BYTES and select.select([], [flooder], [], 0.5)[1]:
        sent += flooder.socket.send(chunk)
    assert sent < FLOOD_BYTES


@pytest.mark.parametrize("ends", ["closes", "resets"])
def test_flooder_that_has_gone_keeps_no_connection(start_gateway, closing, ends):
    """At its rate, reading what it has sent would take minutes."""
    gateway = start_gateway(limits={"messages_per_second": 1, "subscriptions": 1})
    api, client = closing(Api(gateway)), closing(Wire(gateway))
    client.open()
    client.send(PONG_EVENT * 1_000)
    wait_until(lambda: count_limited(api, "messages_per_second"), "the flooder is above its rate")
    if ends == "resets":
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()
    wait_for_metric(api, "fleetwire_connected", 0)


def test_client_that_floods_for_long_is_closed(start_gateway, closing):
    gateway = start_gateway(limits={"messages_per_second": 10, "subscriptions": 1})
    client = closing(RawClient(gateway))
    start = time.monotonic()
    client.send(PING_EVENT * 1_000)
    assert closing_code(client) == 4100
    assert 15 <= time.monotonic() - start <= 30
    client.close_gracefully()
    wait_for_metric(closing(Api(gateway)), "fleetwire_connected", 0)


def test_client_that_is_not_read_is_closed_in_time(start_gateway, closing):
    gateway = start_gateway(limits={"messages_per_second": 1, "subscriptions": 1})
    api, client = closing(Api(gateway)), closing(RawClient(gateway))
    client.sign_in("anna")
    client.send(PING_EVENT * 1_000)
    client.expect("pusher:pong")
    response = api.post_signed("users/anna/terminate_connections", b"{}")
    assert response.status == 200, response
    assert closing_code(client) == 4009
    client.close_gracefully()
    wait_for_metric(api, "fleetwire_connected", 0)


def test_reconnecting_dashboard_is_not_delayed(start_gateway, closing):
    """A stock client subscribes to all its channels at once."""
    gateway = start_gateway()
    api, client = closing(Api(gateway)), closing(Wire(gateway))
    client.open()
    for number in range(5_000):
        client.send_event("pusher:subscribe", {"channel": f"channel-{number}"})
    received = bytearray()
    while received.count(b"subscription_succeeded") < 5_000:
        received += client.read_exactly(1) + client.buffer
        client.buffer = b""
    assert count_limited(api, "messages_per_second") == 0


# Authorization requests


@pytest.fixture
def limited_fleet(start_gateway, closing):
    return Fleet(start_gateway(limits={"auth_requests_per_second": 1, "subscriptions": 3},
                               sections={"auth": {"jwt": JWT}}), closing)


def test_authorization_requests_of_a_subject_are_limited(limited_fleet, closing):
    driver, other = limited_fleet.driver("42"), limited_fleet.driver("43")
    start = time.monotonic()
    statuses = []
    while time.monotonic() - start < 0.5 and 429 not in statuses:
        response = driver.channel_auth("123.456", "private-driver-42")
        statuses.append(response.status)
    assert statuses == [200] * 3 + [429]
    assert response.headers["retry-after"] == "1" and "driver:42" in response.json()["error"]
    assert driver.user_auth("123.456").status == 429
    assert driver.expect_ok("GET", "/api/driver/jobs")
    assert other.channel_auth("123.456", "private-driver-43").status == 200
    assert count_limited(driver, "auth_requests_per_second") == 2
    wait_until(lambda: logs_limit(limited_fleet.gateway, "auth_requests_per_second"),
               "the log reports the limit")


def test_authorization_is_limited_before_the_body_is_read(limited_fleet, closing):
    driver = limited_fleet.driver("42")
    wait_until(lambda: driver.user_auth("123.456").status == 429, "the limit is reached")
    wire = closing(Wire(limited_fleet.gateway))
    head = request("POST", "/pusher/auth", b"x" * 1_000,
                   headers=[f"Authorization: Bearer {driver.bearer}"])[:-1_000]
    wire.send(head)
    assert wire.read_response().status == 429


# Measurements


def test_ping_rtt_is_the_time_from_ping_to_pong(start_gateway, closing):
    gateway = start_gateway(server={"activity_seconds": 2})
    api, client = closing(Api(gateway)), closing(RawClient(gateway))
    silent = closing(RawClient(gateway))
    client.send(frame(PONG))  # without a ping
    assert client.next_frame()[0] == PING
    time.sleep(0.2)  # the round trip
    client.send(frame(PONG) + PONG_EVENT)
    client.send(PING_EVENT)
    client.receive_until_pong()
    assert closing_code(silent) == 4201
    metrics = scrape(api)
    assert metrics.types["fleetwire_ping_rtt_seconds"] == "histogram"
    assert metrics.total("fleetwire_ping_rtt_seconds_count") == 1
    assert 0.2 <= metrics.total("fleetwire_ping_rtt_seconds_sum") < 1


@pytest.mark.parametrize("loops", [1, 2])
def test_fanout_time_is_sampled(start_gateway, closing, loops):
    gateway = start_gateway(loops=loops)
    api, client = closing(Api(gateway)), closing(Client.connect(gateway))
    client.subscribe("measured")
    for number in range(32):
        api.publish("measured", f"event-{number}")
        api.publish("nobody", "event")
        client.expect(f"event-{number}")
    assert scrape(api).types["fleetwire_fanout_seconds"] == "histogram"
    # One publish in 16, and those without subscribers are on no loop.
    wait_for_metric(api, "fleetwire_fanout_seconds_count", 4)
    assert 0 < scrape(api).total("fleetwire_fanout_seconds_sum") < 4


def test_reconnecting_dashboards_do_not_delay_a_backend(start_gateway, closing):
    """Their subscriptions take the loop a second; a backend publishes on its connection meanwhile."""
    gateway = start_gateway(loops=1)
    api, clients = closing(Api(gateway)), [closing(Wire(gateway)) for _ in range(1_000)]
    for client in clients:
        client.open()
    burst = b"".join(frame(TEXT, b'{"event":"pusher:subscribe","data":{"channel":"%d"}}' % number)
                     for number in range(150))
    for client in clients:
        client.send(burst)
    publishes = 0
    while scrape(api).total("fleetwire_subscriptions") < 150_000:
        api.publish("channel")
        publishes += 1
    assert publishes >= 20
