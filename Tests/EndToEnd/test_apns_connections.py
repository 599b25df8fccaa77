"""HTTP/2 connections to APNs: streams, closes and timeouts. Every push arrives, and only once if
that can be known.
"""

import subprocess
import time
from pathlib import Path

import pytest
from h2.errors import ErrorCodes

from harness.push.apns import to
from harness.push.behavior import Abort, GoAway, PassThrough, Reset, Respond
from harness.push.devices import Device
from harness.push.push_fleet import PushFleet, poll_until


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


def announce_to_all(fleet: PushFleet, devices: list[Device]) -> list[str]:
    return fleet.announce_to_drivers([device.owner.subject for device in devices])


def expect_each_once(fleet: PushFleet, ids: list[str], seconds: float = 15.0) -> None:
    """Expects each notification to be accepted exactly once."""
    for each in ids:
        fleet.wait_for_accepted(each, seconds=seconds)
    accepted = fleet.apns.accepted()
    assert sorted(notification for _, notification in accepted
                  if notification in ids) == sorted(ids)
    assert [requests for requests in accepted.values() if len(requests) > 1] == []


def expect_each_once_unless_response_lost(fleet: PushFleet, ids: list[str]) -> None:
    """Expects each notification to be accepted; again, with the same id, only if the response may
    not have been read.
    """
    for each in ids:
        fleet.wait_for_accepted(each, seconds=40)
    accepted = fleet.apns.accepted()
    assert {notification for _, notification in accepted} >= set(ids)
    for requests in accepted.values():
        assert len({request.headers["apns-id"] for request in requests}) == 1
        assert all(request.response_may_be_lost for request in requests[:-1]), requests


def ios_devices(fleet: PushFleet, count: int) -> list[Device]:
    """Returns devices of one lane, on a connection that has accepted a push."""
    devices = [fleet.ios() for _ in range(count)]
    fleet.warm_up(devices[0])
    return devices


# Streams


def test_new_connection_sends_one_request_first(fleet):
    """APNs allows one stream until it has accepted a token. Left to itself, libcurl would open a
    connection per request; the fake counts connections and refused streams.
    """
    devices = [fleet.ios() for _ in range(300)]
    fleet.apns.stop_listening()
    ids = announce_to_all(fleet, devices)
    fleet.wait_for_lane_state("apns", "paused")
    fleet.apns.delay = 0.05
    fleet.apns.listen()
    expect_each_once(fleet, ids, seconds=40)
    first = fleet.apns.requests[0]
    assert all(request.at > first.responded_at for request in fleet.apns.requests[1:]
               if request.connection is first.connection)
    assert fleet.apns.refused_streams == 0 and len(fleet.apns.connections) <= 4


def test_many_requests_are_in_flight(fleet):
    """300 responses of 0.5 s each take seconds, not minutes."""
    devices = ios_devices(fleet, 300)
    fleet.apns.delay = 0.5
    started = time.monotonic()
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=40)
    assert time.monotonic() - started < 15
    assert len(fleet.apns.connections) <= 4


def test_changed_stream_limit_is_followed(fleet):
    devices = ios_devices(fleet, 60)
    fleet.apns.delay = 0.2
    ids = announce_to_all(fleet, devices)
    fleet.apns.wait_until(lambda: len(fleet.apns.requests) > 20, "requests")
    fleet.apns.set_stream_limit(2)
    expect_each_once(fleet, ids, seconds=40)
    fleet.apns.delay = 0.02
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=40)
    fleet.apns.set_stream_limit(1_000)
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=40)
    assert len(fleet.apns.connections) <= 10, "a lower limit must not open more connections"


@pytest.fixture(scope="session")
def distant_servers(tmp_path_factory):
    """A command that runs a program with small send buffers, like connections to a distant server.
    """
    library = tmp_path_factory.mktemp("send-buffers") / "small_send_buffers.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", "-o", library,
         Path(__file__).parent / "harness/small_send_buffers.c", "-ldl"],
        check=True)
    return ["env", f"LD_PRELOAD={library}"]


@pytest.mark.pace
def test_send_buffers_limit_the_requests_in_flight(start_push_fleet, distant_servers):
    """Also while the provider reads nothing: no push is lost, truncated or sent twice, on one
    connection.
    """
    fleet = start_push_fleet(wrapper=distant_servers)
    fleet.apns.stop_listening()
    fleet.apns.receive_buffer = 16_384
    fleet.apns.listen()
    devices = ios_devices(fleet, 400)
    drivers = [device.owner.subject for device in devices]
    for _ in range(2):
        # Each response makes room in the send buffer for one more request.
        expect_each_once(fleet, announce_to_all(fleet, devices), seconds=60)
    fleet.apns.set_reading(False)
    ids = [each for _ in range(3) for each in fleet.announce_to_drivers(drivers, text="x" * 3_500)]
    poll_until(lambda: fleet.lane("apns")["inFlight"] > 800,
               lambda: f"most are in flight: {fleet.lane('apns')}", 15)
    fleet.apns.set_reading(True)
    expect_each_once(fleet, ids, seconds=60)
    assert len(fleet.apns.connections) == 1


# Closed connections


@pytest.mark.parametrize("process_open", [True, False], ids=["graceful", "with rejected streams"])
@pytest.mark.parametrize("busy", [True, False], ids=["in flight", "idle"])
def test_goaway_loses_and_duplicates_nothing(fleet, process_open, busy):
    devices = ios_devices(fleet, 60)
    old = fleet.apns.connections[-1]
    ids = []
    if busy:
        fleet.apns.delay = 0.3
        ids = announce_to_all(fleet, devices)
        fleet.apns.wait_until(lambda: len(fleet.apns.requests) > 20, "requests")
    fleet.apns.send_goaway(process_open)
    fleet.apns.delay = 0.0
    ids += announce_to_all(fleet, devices)
    expect_each_once(fleet, ids, seconds=30)
    assert fleet.apns.requests[-1].connection is not old and len(fleet.apns.connections) <= 5
    assert fleet.metric("push_total", provider="apns", outcome="rejected") == 0


@pytest.mark.parametrize("process_open", [True, False], ids=["graceful", "with rejected streams"])
def test_goaway_on_the_first_request_loses_and_duplicates_nothing(fleet, process_open):
    devices = [fleet.ios() for _ in range(20)]
    fleet.apns.script(GoAway(process_open, reason="Shutdown"), times=1)
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=30)


def test_repeated_goaways_lose_and_duplicate_nothing(fleet):
    """Routine at some providers: no push is lost and the lane does not pause."""
    devices = ios_devices(fleet, 100)
    for _ in range(10):
        fleet.apns.skip(9)
        fleet.apns.script(GoAway(), times=1)
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=60)


def test_goaway_with_immediate_close_repeats_unread_responses(fleet):
    """A reset of a connection discards responses that the client has not read: those pushes are
    repeated with their ids.
    """
    devices = ios_devices(fleet, 100)
    for _ in range(10):
        fleet.apns.skip(9)
        fleet.apns.script(GoAway(close_at_once=True), times=1)
    expect_each_once_unless_response_lost(fleet, announce_to_all(fleet, devices))


@pytest.mark.parametrize("code",
                         [ErrorCodes.INTERNAL_ERROR, ErrorCodes.REFUSED_STREAM, ErrorCodes.CANCEL],
                         ids=lambda code: code.name)
def test_reset_stream_is_retried_with_the_same_id(fleet, code):
    devices = ios_devices(fleet, 20)
    fleet.apns.script(Reset(code), to(devices[7].token), times=1)
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=30)
    if len(devices[7].sent) > 1:
        assert len({request.headers["apns-id"] for request in devices[7].sent}) == 1


def test_aborted_connection_repeats_its_pushes_with_the_same_id(fleet):
    """The provider may have accepted them: each is repeated with its id, and its collapse id shows
    it once.
    """
    devices = ios_devices(fleet, 50)
    fleet.apns.delay = 0.2
    fleet.apns.script(Abort(accepted=True), to(devices[30].token), times=1)
    expect_each_once_unless_response_lost(fleet, announce_to_all(fleet, devices))
    assert fleet.metric("push_total", provider="apns", outcome="rejected") == 0


def test_connection_closed_while_idle_is_reopened(fleet):
    devices = ios_devices(fleet, 2)
    for number in range(3):
        fleet.apns.send_goaway(close_at_once=True)
        fleet.apns.wait_until(lambda: not fleet.apns.open_connections, "the end of the connection")
        devices[1].next(fleet.announce(devices[1]))


# Timeouts


def test_slow_responses_are_awaited(fleet):
    """Up to 10 s, without sending twice."""
    devices = ios_devices(fleet, 5)
    fleet.apns.script(PassThrough(after=7.0), times=5)
    expect_each_once(fleet, announce_to_all(fleet, devices), seconds=40)
    assert len(fleet.apns.requests) == 6


# Rejections


def test_503_pauses_the_lane_and_saves_attempts(fleet):
    """After ten in a row the lane pauses and probes instead of trying every job."""
    devices = ios_devices(fleet, 200)
    fleet.apns.script(Respond(503, {"reason": "ServiceUnavailable"}), seconds=6)
    ids = announce_to_all(fleet, devices)
    fleet.wait_for_lane_state("apns", "paused")
    for notification in ids:
        fleet.wait_for_accepted(notification, seconds=90)
    rejected = [request for request in fleet.apns.requests if request.status == 503]
    assert len(rejected) < 300, f"{len(rejected)} requests in six seconds of outage"
    expect_each_once(fleet, ids)


def test_untrusted_certificate_pauses_the_lane(start_push_fleet, tls):
    fleet = start_push_fleet(apns={"ca_file": "/etc/ssl/certs/ca-certificates.crt"})
    device = fleet.ios()
    notification = fleet.announce(device)
    fleet.wait_for_lane_state("apns", "paused")
    assert fleet.apns.requests == [] and fleet.steps(notification)[-1]["step"] == "push_queued"
    fleet.apns.violations.clear()  # the failed handshake is expected


def test_server_without_http2_pauses_the_lane(fleet):
    fleet.apns.context.set_alpn_protocols(["http/1.1"])
    device = fleet.ios()
    notification = fleet.announce(device)
    fleet.apns.wait_until(lambda: fleet.apns.violations, "a connection")
    fleet.wait_for_lane_state("apns", "paused")
    assert fleet.apns.requests == [] and fleet.steps(notification)[-1]["step"] == "push_queued"
    fleet.apns.context.set_alpn_protocols(["h2"])
    fleet.wait_for_accepted(notification, seconds=40)
    assert all("instead of h2" in violation for violation in fleet.apns.violations)
    fleet.apns.violations.clear()
