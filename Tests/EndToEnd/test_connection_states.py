"""Connections that end, wait or are full in unusual states."""

import time

import pytest

from harness.api import Api
from harness.client import Client
from harness.fleet import SECTIONS, token
from harness.metrics import wait_for_metric
from harness.raw_client import RawClient
from harness.wire import CLOSE, PING, PONG, TEXT, Wire, frame, request, upgrade

HEALTH = request("GET", "/healthz")
PING_EVENT = b'{"event":"pusher:ping","data":{}}'


def jobs(correlation_id: str, driver: str = "42") -> bytes:
    """A request whose response comes from another thread."""
    bearer = token("driver", driver)
    return request("GET", "/api/driver/jobs",
                   headers=[f"Authorization: Bearer {bearer}", f"X-Correlation-ID: {correlation_id}"])


def test_late_response_never_reaches_the_next_connection(start_gateway, closing):
    """A client resets while a response is owed, and another client gets its slot at once."""
    gateway = start_gateway(loops=1, sections=SECTIONS)
    for number in range(200):
        first = Wire(gateway)
        # Another driver each time, because one driver's queries have a rate.
        first.send(HEALTH + jobs(f"first-{number}", driver=f"{number}"))
        first.reset()
        second = closing(Wire(gateway))
        second.send(jobs(f"second-{number}", driver=f"{number}"))
        response = second.read_response()
        assert (response.status, response.headers["x-correlation-id"]) == (200, f"second-{number}")
        second.close()
    started = time.monotonic()
    gateway.stop()
    assert time.monotonic() - started < 5, "an abandoned request delays the drain"


def test_websocket_behind_a_waiting_request_is_read(start_gateway, closing):
    wire = closing(Wire(start_gateway(sections=SECTIONS)))
    wire.send(jobs("jobs") + upgrade())
    assert wire.read_response().status == 200
    wire.expect_established()
    wire.send(frame(TEXT, PING_EVENT))
    wire.expect("pusher:pong")


def test_client_that_closes_with_a_full_socket_is_disconnected(start_gateway, closing):
    gateway = start_gateway(loops=1)
    api, wire = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    wire.send(upgrade())
    wire.expect_established()
    wire.subscribe("flood")
    for _ in range(100):
        api.publish("flood", data="x" * 10_000)
    wire.send(frame(CLOSE, b"\x03\xe8"))
    wait_for_metric(api, "fleetwire_connected", 0)
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)


def test_slowly_read_responses_are_complete(start_gateway, closing):
    """Waits twelve seconds: longer than the deadline of a head."""
    gateway = start_gateway(loops=1)
    wire = closing(Wire(gateway, receive_buffer=4096))
    wire.send(request("GET", "/metrics") * 200)
    assert wire.readable(12)
    time.sleep(12)
    assert [wire.read_response().status for _ in range(200)] == [200] * 200


def test_last_response_is_complete_although_the_client_has_finished_sending(start_gateway, closing):
    gateway = start_gateway(loops=1)
    wire = closing(Wire(gateway, receive_buffer=4096))
    wire.send(request("GET", "/metrics") * 199 + request("GET", "/metrics", headers=["Connection: close"]))
    wire.close_write()
    assert [wire.read_response().status for _ in range(200)] == [200] * 200
    assert wire.at_end()


def test_each_request_has_a_deadline_of_its_own(start_gateway, closing):
    """Each segment ends in the middle of a head; the requests take 12 seconds together."""
    wire = closing(Wire(start_gateway()))
    half = len(HEALTH) // 2
    wire.send(HEALTH[:half])
    started = time.monotonic()
    while time.monotonic() - started < 12:
        wire.send(HEALTH[half:] + HEALTH[:half])
        assert wire.read_response().status == 200


@pytest.mark.cost
def test_only_the_last_of_many_pings_is_answered(start_gateway, closing):
    wire = closing(Wire(start_gateway()))
    wire.send(upgrade())
    wire.expect_established()
    wire.send(b"".join(frame(PING, b"%d" % number) for number in range(1000)))
    payloads = []
    while not payloads or payloads[-1] != b"999":
        opcode, payload = wire.next_frame()
        assert opcode == PONG
        payloads.append(payload)
    assert len(payloads) < 100 and payloads == sorted(payloads, key=int)


def test_empty_line_after_a_body_is_no_request(start_gateway, closing):
    """Waits twelve seconds: longer than the deadline of a head."""
    wire = closing(Wire(start_gateway()))
    wire.send(HEALTH + b"\r\n")
    assert wire.read_response().status == 200
    assert not wire.readable(12)
    wire.send(HEALTH)
    assert wire.read_response().status == 200


@pytest.mark.parametrize("header, status", [("Content-Length: 0", 101), ("Content-Length: 1", 426)])
def test_upgrade_has_no_body(start_gateway, closing, header, status):
    wire = closing(Wire(start_gateway()))
    wire.send(upgrade().replace(b"\r\n\r\n", b"\r\n" + header.encode() + b"\r\n\r\n"))
    assert wire.read_response().status == status


def test_rejected_websocket_closes_as_soon_as_the_client_answers(start_gateway, closing):
    wire = closing(Wire(start_gateway()))
    wire.send(upgrade("/app/unknown?protocol=7") + frame(TEXT, PING_EVENT) * 2)
    wire.send(frame(CLOSE, b"\x0f\xa1"))
    started = time.monotonic()
    wire.read_to_end()
    assert time.monotonic() - started < 4, "only after the deadline of the close"


def test_presence_member_leaves_when_the_server_closes(start_gateway, closing):
    """The member does not answer the close frame; the others are told at once."""
    gateway = start_gateway()
    member, observer = closing(RawClient(gateway)), closing(Client.connect(gateway))
    member.join("presence-x", "member")
    observer.join("presence-x", "observer")
    start = time.monotonic()
    member.send(frame(2, b"binary"))
    observer.expect("pusher_internal:member_removed")
    assert time.monotonic() - start < 4, "only after the deadline of the close"


def test_pipelining_client_does_not_delay_others(start_gateway, closing):
    """1,500 requests arrive at once with another client's. libev handles the event that came last
    first. The generated correlation ids count a loop's requests.
    """
    gateway = start_gateway(loops=1)
    busy, other = closing(Wire(gateway)), closing(Wire(gateway))
    for wire in (busy, other):
        wire.send(HEALTH)
        assert wire.read_response().status == 200
    gateway.freeze()
    other.send(HEALTH)
    busy.send(HEALTH * 1_500)
    gateway.thaw()
    count = int(other.read_response().headers["x-correlation-id"].rpartition("-")[2], 16)
    assert count < 1_000, "the pipelined requests came first"
    assert [busy.read_response().status for _ in range(1_500)] == [200] * 1_500


def test_client_that_reads_gets_all_events_before_the_close_frame(start_gateway, closing):
    """It reads for longer than the deadline of a close."""
    gateway = start_gateway(loops=1)
    api, wire = closing(Api(gateway)), closing(Wire(gateway, receive_buffer=4096))
    wire.send(upgrade())
    wire.expect_established()
    wire.subscribe("channel")
    for _ in range(60):
        api.publish("channel", data="x" * 10_000)
    wire.send(frame(2, b"binary"))
    events, started = 0, time.monotonic()
    while (got := wire.next_frame())[0] != CLOSE:
        events += got[0] == TEXT
        time.sleep(0.12)
    assert events == 60 and time.monotonic() - started > 6 and got[1][:2] == b"\x03\xeb"
