"""What connections do: their streams, their ends, and silence. Every push arrives, and once where that can be known."""

import subprocess
import time
from pathlib import Path

import pytest
from h2.errors import ErrorCodes

from harness.push.apns import to
from harness.push.conduct import Abort, GoAway, GoDeaf, Hang, Proceed, Reset, Say
from harness.push.phones import Phone
from harness.push.scene import PushFleet, wait


@pytest.fixture
def scene(pushing):
    return pushing()


def announce_to_all(scene: PushFleet, phones: list[Phone]) -> list[str]:
    return scene.announce_many([phone.owner.subject for phone in phones])


def all_once(scene: PushFleet, ids: list[str], seconds: float = 15.0) -> None:
    """Each was accepted, and none twice."""
    for each in ids:
        scene.accepted(each, seconds=seconds)
    taken = scene.apns.taken()
    assert sorted(notification for _, notification in taken if notification in ids) == sorted(ids)
    assert [requests for requests in taken.values() if len(requests) > 1] == []


def all_unless_lost(scene: PushFleet, ids: list[str]) -> None:
    """Each was accepted: again, under the same id, only where the answer may never have been read."""
    for each in ids:
        scene.accepted(each, seconds=40)
    taken = scene.apns.taken()
    assert {notification for _, notification in taken} >= set(ids)
    for requests in taken.values():
        assert len({request.headers["apns-id"] for request in requests}) == 1
        assert all(request.answer_may_be_lost for request in requests[:-1]), requests


def warm_crowd(scene: PushFleet, count: int) -> list[Phone]:
    """Phones of one lane whose connection has proved itself."""
    phones = [scene.ios() for _ in range(count)]
    scene.warm(phones[0])
    return phones


# Streams


def test_a_cold_connection_has_one_request_then_many(scene):
    """Apple allows one stream until it has accepted a token; the fake counts, and libcurl would open a connection for each."""
    phones = [scene.ios() for _ in range(300)]
    scene.apns.refuse()
    ids = announce_to_all(scene, phones)
    scene.lane_is("apns", "paused")
    scene.apns.delay = 0.05
    scene.apns.listen()
    all_once(scene, ids, seconds=40)
    first = scene.apns.requests[0]
    assert all(request.at > first.answered_at for request in scene.apns.requests[1:] if request.connection is first.connection)
    assert scene.apns.refused_streams == 0 and len(scene.apns.connections) <= 4


def test_many_are_under_way_at_once(scene):
    """300 answers of half a second each take seconds, not minutes."""
    phones = warm_crowd(scene, 300)
    scene.apns.delay = 0.5
    began = time.monotonic()
    all_once(scene, announce_to_all(scene, phones), seconds=40)
    assert time.monotonic() - began < 15
    assert len(scene.apns.connections) <= 4


def test_a_limit_that_falls_and_rises_again(scene):
    phones = warm_crowd(scene, 60)
    scene.apns.delay = 0.2
    ids = announce_to_all(scene, phones)
    scene.apns.until(lambda: len(scene.apns.requests) > 20, "requests")
    scene.apns.set_limit(2)
    all_once(scene, ids, seconds=40)
    scene.apns.delay = 0.02
    all_once(scene, announce_to_all(scene, phones), seconds=40)
    scene.apns.set_limit(1_000)
    all_once(scene, announce_to_all(scene, phones), seconds=40)
    assert len(scene.apns.connections) <= 10, "a lower limit is no reason for connection upon connection"


@pytest.fixture(scope="session")
def far_away(tmp_path_factory):
    """A command that runs a program as if all it connects to were far away."""
    library = tmp_path_factory.mktemp("far") / "far_away.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, Path(__file__).parent / "harness/far_away.c", "-ldl"], check=True)
    return ["env", f"LD_PRELOAD={library}"]


def test_more_is_under_way_than_the_network_holds(pushing, far_away):
    """It waits for its turn, too, when the provider reads nothing for a while: nothing is lost, cut or sent twice, over one connection."""
    scene = pushing(under=far_away)
    scene.apns.refuse()
    scene.apns.receive_buffer = 16_384
    scene.apns.listen()
    phones = warm_crowd(scene, 400)
    drivers = [phone.owner.subject for phone in phones]
    for _ in range(2):
        all_once(scene, announce_to_all(scene, phones), seconds=60)  # every answer lets one more be under way
    scene.apns.read(False)
    ids = [each for _ in range(3) for each in scene.announce_many(drivers, text="x" * 3_500)]
    wait(lambda: scene.lane("apns")["inFlight"] > 800, lambda: f"most are under way: {scene.lane('apns')}", 15)
    scene.apns.read(True)
    all_once(scene, ids, seconds=60)
    assert len(scene.apns.connections) == 1


# Ends


@pytest.mark.parametrize("keeping", [True, False], ids=["graceful", "with lost streams"])
@pytest.mark.parametrize("busy", [True, False], ids=["in flight", "idle"])
def test_GOAWAY(scene, keeping, busy):
    phones = warm_crowd(scene, 60)
    old = scene.apns.connections[-1]
    ids = []
    if busy:
        scene.apns.delay = 0.3
        ids = announce_to_all(scene, phones)
        scene.apns.until(lambda: len(scene.apns.requests) > 20, "requests")
    scene.apns.all_go_away(keeping)
    scene.apns.delay = 0.0
    ids += announce_to_all(scene, phones)
    all_once(scene, ids, seconds=30)
    assert scene.apns.requests[-1].connection is not old and len(scene.apns.connections) <= 5
    assert scene.figure("push_total", provider="apns", outcome="rejected") == 0


@pytest.mark.parametrize("keeping", [True, False], ids=["graceful", "with lost streams"])
def test_GOAWAY_to_the_very_first(scene, keeping):
    phones = [scene.ios() for _ in range(20)]
    scene.apns.script(GoAway(keeping, reason="Shutdown"), times=1)
    all_once(scene, announce_to_all(scene, phones), seconds=30)


def test_GOAWAY_after_every_tenth(scene):
    """Routine at some providers. Nothing is lost, and nobody is punished with a pause for it."""
    phones = warm_crowd(scene, 100)
    for _ in range(10):
        scene.apns.skip(9)
        scene.apns.script(GoAway(), times=1)
    all_once(scene, announce_to_all(scene, phones), seconds=60)


def test_GOAWAY_and_the_door_behind_it(scene):
    """A connection that is reset under what is being written takes answers with it that nobody has read: those come again, with their ids."""
    phones = warm_crowd(scene, 100)
    for _ in range(10):
        scene.apns.skip(9)
        scene.apns.script(GoAway(hasty=True), times=1)
    all_unless_lost(scene, announce_to_all(scene, phones))


@pytest.mark.parametrize("code", [ErrorCodes.INTERNAL_ERROR, ErrorCodes.REFUSED_STREAM, ErrorCodes.CANCEL], ids=lambda code: code.name)
def test_a_stream_that_is_reset_is_tried_again_with_the_same_id(scene, code):
    phones = warm_crowd(scene, 20)
    scene.apns.script(Reset(code), to(phones[7].token), times=1)
    all_once(scene, announce_to_all(scene, phones), seconds=30)
    if len(phones[7].sent) > 1:
        assert len({request.headers["apns-id"] for request in phones[7].sent}) == 1


def test_a_connection_that_breaks_under_fifty(scene):
    """Perhaps they were taken: each comes again with its id, and its collapse id shows it once."""
    phones = warm_crowd(scene, 50)
    scene.apns.delay = 0.2
    scene.apns.script(Abort(taken=True), to(phones[30].token), times=1)
    all_unless_lost(scene, announce_to_all(scene, phones))
    assert scene.figure("push_total", provider="apns", outcome="rejected") == 0


def test_a_provider_that_closes_when_nothing_happens(scene):
    phones = warm_crowd(scene, 2)
    for number in range(3):
        scene.apns.all_go_away(hasty=True)
        scene.apns.until(lambda: not scene.apns.open_connections, "the end of the connection")
        phones[1].next(scene.announce(phones[1]))


# Silence


def test_one_that_is_never_answered_hinders_nobody(scene):
    phones = warm_crowd(scene, 30)
    stuck = phones[3]
    scene.apns.script(Hang(), to(stuck.token), times=1)
    ids = announce_to_all(scene, phones)
    for phone, each in zip(phones, ids):
        if phone is not stuck:
            scene.accepted(each)
    assert scene.steps(ids[3])[-1]["step"] == "push_queued"
    scene.accepted(ids[3], seconds=30)
    first, second = stuck.sent
    assert 10 <= second.at - first.at < 20 and first.headers["apns-id"] == second.headers["apns-id"]
    assert second.connection is first.connection, "one is not enough to give up the connection"


def test_a_connection_that_died_without_a_word_is_given_up(scene):
    """Requests are given up after 10 s; two such in a row retire the connection."""
    phones = warm_crowd(scene, 30)
    old = scene.apns.connections[-1]
    scene.apns.script(GoDeaf(), times=1)
    began = time.monotonic()
    ids = announce_to_all(scene, phones)
    for each in ids:
        scene.accepted(each, seconds=60)
    assert 9 < time.monotonic() - began < 40
    assert scene.apns.requests[-1].connection is not old
    scene.until_logged("push_connection_retired")
    again = announce_to_all(scene, phones)
    for each in again:
        scene.accepted(each)


def test_slow_answers_are_waited_for(scene):
    """Up to 10 s; and nothing is sent twice meanwhile."""
    phones = warm_crowd(scene, 5)
    scene.apns.script(Proceed(after=7.0), times=5)
    all_once(scene, announce_to_all(scene, phones), seconds=40)
    assert len(scene.apns.requests) == 6


# Refusals


def test_a_storm_of_503_does_not_reach_every_job_again_and_again(scene):
    """Ten in a row, and the lane waits and probes: the queue is not burnt."""
    phones = warm_crowd(scene, 200)
    scene.apns.script(Say(503, {"reason": "ServiceUnavailable"}), seconds=6)
    ids = announce_to_all(scene, phones)
    scene.lane_is("apns", "paused")
    for each in ids:
        scene.accepted(each, seconds=90)
    refused = [request for request in scene.apns.requests if request.status == 503]
    assert len(refused) < 300, f"{len(refused)} requests in six seconds of outage"
    all_once(scene, ids)


def test_a_server_that_no_certificate_vouches_for_gets_nothing(pushing, tls):
    scene = pushing(apns={"ca_file": "/etc/ssl/certs/ca-certificates.crt"})
    phone = scene.ios()
    each = scene.announce(phone)
    scene.lane_is("apns", "paused")
    assert scene.apns.requests == [] and scene.steps(each)[-1]["step"] == "push_queued"
    scene.apns.violations.clear()  # a handshake that failed is no fault here


def test_a_server_that_speaks_no_HTTP2_gets_nothing(scene):
    scene.apns.context.set_alpn_protocols(["http/1.1"])
    phone = scene.ios()
    each = scene.announce(phone)
    scene.apns.until(lambda: scene.apns.violations, "a connection")
    scene.lane_is("apns", "paused")
    assert scene.apns.requests == [] and scene.steps(each)[-1]["step"] == "push_queued"
    scene.apns.context.set_alpn_protocols(["h2"])
    scene.accepted(each, seconds=40)
    assert all("instead of h2" in violation for violation in scene.apns.violations)
    scene.apns.violations.clear()
