"""What Apple answers, and what becomes of the push, of the phone and of the lane: PUSH.md section 1."""

import time

import pytest

from harness.push.apns import refusal, to
from harness.push.conduct import Say
from harness.push.scene import devices


@pytest.fixture
def scene(pushing):
    return pushing()


def now() -> int:
    return int(time.time() * 1000)


# Dead tokens


@pytest.mark.parametrize("status, reason, more", [
    (410, "Unregistered", {"timestamp": 0}), (410, "ExpiredToken", {"timestamp": 0}), (410, "Unregistered", {}), (400, "BadDeviceToken", {}),
    (400, "DeviceTokenNotForTopic", {})], ids=lambda value: str(value))
def test_a_dead_token_goes_and_is_never_sent_to_again(scene, status, reason, more):
    phone, other = scene.ios(), scene.ios()
    scene.warm(phone, other)
    more = {"timestamp": now() + 1_000} if "timestamp" in more else more
    scene.fails(phone, refusal(status, reason, **more), reason)
    assert devices(phone) == []
    scene.is_not_pushed(scene.announce(phone))
    scene.reaches("push_token_removals_total", 1, reason=reason)
    # The fake itself minds whatever comes to it from now on.
    other.next(scene.announce(other))
    scene.apns.revive(phone.token)
    phone.register()
    each = scene.announce(phone)
    scene.accepted(each)
    assert phone.pushes[-1].notification == each


def test_what_else_was_queued_for_a_dead_token_is_cancelled(scene):
    phone = scene.ios()
    scene.apns.refuse()
    ids = [scene.announce(phone) for _ in range(30)]
    scene.apns.script(refusal(410, "Unregistered", timestamp=now() + 60_000), to(phone.token))
    scene.apns.listen()
    for each in ids[1:]:
        [step] = scene.became(each, "push_cancelled", seconds=40)
        assert step["detail"]["reason"] == "device_removed"
    assert len(phone.sent) == 1, "a connection that is new has one request at a time"


def test_who_registered_again_since_then_keeps_his_token(scene):
    """Apple says since when the token has been dead; a later registration wins."""
    phone = scene.ios()
    before = now() - 60_000
    scene.warm(phone)
    scene.fails(phone, refusal(410, "Unregistered", timestamp=before))
    assert len(devices(phone)) == 1
    scene.apns.revive(phone.token)
    scene.accepted(each := scene.announce(phone))
    assert phone.pushes[-1].notification == each
    assert scene.figure("push_token_removals_total") == 0


# What fails, and nothing else


@pytest.mark.parametrize("answer, reason", [
    (Say(400), ""), (Say(400, b"not JSON"), ""), (Say(400, b"[" * 5_000), ""), (Say(400, {"reason": 7}), ""), (refusal(400, "SomethingNew"), "SomethingNew"),
    (refusal(400, "BadCollapseId"), "BadCollapseId"), (refusal(400, "PayloadEmpty"), "PayloadEmpty"), (refusal(413, "PayloadTooLarge"), "PayloadTooLarge"),
    (refusal(404, "BadPath"), "BadPath"), (Say(418), "")], ids=lambda value: str(value)[:50])
def test_what_is_not_the_tokens_fault_keeps_it(scene, answer, reason):
    phone = scene.ios()
    scene.warm(phone)
    scene.fails(phone, answer, reason)
    assert len(devices(phone)) == 1
    phone.next(scene.announce(phone))


@pytest.mark.parametrize("reason", ["TopicDisallowed", "MissingTopic"])
def test_a_wrong_topic_fails_that_one_and_raises_an_alarm(scene, reason):
    phone = scene.ios()
    scene.warm(phone)
    scene.fails(phone, refusal(400, reason), reason)
    scene.until_logged(reason, "error")
    assert len(devices(phone)) == 1
    phone.next(scene.announce(phone))


# What is tried again


@pytest.mark.parametrize("answer", [refusal(500, "InternalServerError"), refusal(503, "ServiceUnavailable"), Say(502, b"<html>"), Say(599)], ids=str)
def test_5xx_is_tried_again_with_the_same_id(scene, answer):
    phone = scene.ios()
    scene.warm(phone)
    scene.apns.script(answer, to(phone.token), times=2)
    each = scene.announce(phone)
    assert phone.next(each)
    [step] = scene.accepted(each)
    first, second, third = tries = phone.sent[-3:]
    assert len({request.headers["apns-id"] for request in tries}) == len({request.headers["apns-collapse-id"] for request in tries}) == 1
    assert second.at - first.at >= 0.9 and third.at - second.at >= 1.9, "1 s, then 2 s, plus jitter"
    assert step["detail"]["attempts"] == 3
    assert scene.figure("push_total", provider="apns", outcome="retried") == 2


def test_too_many_to_one_phone_delay_only_that_phone(scene):
    busy, other = scene.ios(), scene.ios()
    scene.warm(busy, other)
    scene.apns.script(refusal(429, "TooManyRequests"), to(busy.token), times=2)
    waiting = scene.announce(busy)
    scene.apns.until(lambda: len(busy.sent) == 2, "the first try")
    behind = scene.announce(busy)
    ids = [scene.announce(other) for _ in range(20)]
    assert [other.next().notification for _ in ids] == ids
    assert len(busy.sent) <= 3 and scene.lane("apns")["state"] == "running"
    scene.accepted(waiting)
    scene.accepted(behind)
    tries = [request for request in busy.sent if not request.taken]
    assert len(tries) == 2 and tries[1].at - tries[0].at >= 0.9


def test_too_many_new_tokens_are_not_answered_by_another(scene):
    phone = scene.ios()
    scene.warm(phone)
    scene.apns.script(refusal(429, "TooManyProviderTokenUpdates"), times=1)
    phone.next(scene.announce(phone))
    assert len(scene.apns.provider_tokens) == 1


def test_shutdown_is_another_connection_at_once(scene):
    phone = scene.ios()
    scene.warm(phone)
    scene.apns.script(refusal(503, "Shutdown"), times=1)
    push = phone.next(scene.announce(phone))
    assert push.request.connection is not phone.sent[0].connection
    assert push.request.headers["apns-id"] == phone.sent[-2].headers["apns-id"]


# Who we are


def test_one_token_for_everything(scene):
    """Signed once, for both environments and all connections."""
    phones = [scene.ios(environment=name) for name in ("production", "sandbox") for _ in range(10)]
    for _ in range(5):
        for phone in phones:
            scene.announce(phone)
    for phone in phones:
        phone.wait(5)
    assert len(set(scene.apns.provider_tokens + scene.sandbox.provider_tokens)) == 1
    scene.reaches("push_credential_renewals_total", 1, kind="apns_jwt")


def test_an_expired_token_is_renewed_once_and_at_once(scene):
    phones = [scene.ios() for _ in range(40)]
    scene.warm(*phones[:2])
    [old] = scene.apns.provider_tokens
    scene.apns.script(refusal(403, "ExpiredProviderToken"), lambda request: request.headers["authorization"] == old)
    began = time.monotonic()
    ids = scene.announce_many([phone.owner.subject for phone in phones])
    for phone, each in zip(phones, ids):
        scene.apns.until(lambda: any(push.notification == each for push in phone.pushes), "every push")
    assert time.monotonic() - began < 5
    assert len(scene.apns.provider_tokens) == 2, "one renewal for all that went with the old one"
    for each in ids:
        # The renewal was not their fault.
        [step] = scene.accepted(each)
        assert step["detail"]["attempts"] == 1, step
    assert all(device for device in map(devices, phones))


def test_a_token_that_expires_again_at_once_stops_the_lane(scene):
    """It is the clock then: none is made again for 20 minutes."""
    phone = scene.ios()
    scene.apns.script(refusal(403, "ExpiredProviderToken"))
    each = scene.announce(phone)
    scene.lane_is("apns", "stopped")
    scene.until_logged("ExpiredProviderToken|clock", "error")
    assert len(scene.apns.provider_tokens) <= 2
    assert scene.steps(each)[-1]["step"] == "push_queued"


@pytest.mark.parametrize("reason", ["InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "Forbidden", "BadCertificate"])
def test_who_is_refused_stops_and_keeps_his_queue(scene, reason):
    phones, android = [scene.ios() for _ in range(10)], scene.android()
    scene.apns.script(refusal(403, reason))
    ids = [scene.announce(phone) for phone in phones]
    lane = scene.lane_is("apns", "stopped")
    assert reason in lane["lastError"]["reason"], lane
    scene.until_logged(reason, "error")
    for _ in range(20):
        android.next(scene.announce(android))
    assert len(scene.apns.requests) == 1, "the first was one too many"
    assert len(scene.logged(reason, "error")) == 1
    assert all(scene.steps(each)[-1]["step"] == "push_queued" for each in ids) and all(devices(phone) for phone in phones)
    scene.reaches("push_queue_depth", 10, provider="apns")


@pytest.mark.parametrize("answer", [Say(200, b"<html>Sign in</html>"), Say(204), Say(302)], ids=["200 page", "204", "302"])
def test_who_answers_in_apples_place_is_no_phone(scene, answer):
    """Its own 200 has no body, and it redirects nobody."""
    phone = scene.ios()
    scene.apns.script(answer, times=1)
    each = scene.announce(phone)
    lane = scene.lane_is("apns", "stopped")
    assert lane["lastError"]["reason"] == f"HTTP {answer.status}, not of the provider"
    scene.until_logged("not of the provider", "error")
    assert scene.steps(each)[-1]["step"] == "push_queued"


def test_a_stopped_lane_probes_and_goes_on_when_it_may(scene):
    phones = [scene.ios() for _ in range(10)]
    rule = scene.apns.script(refusal(403, "InvalidProviderToken"), times=2)
    ids = [scene.announce(phone) for phone in phones]
    scene.lane_is("apns", "stopped")
    first = scene.apns.requests[0]
    scene.apns.until(lambda: len(scene.apns.requests) == 2, "a probe", seconds=40)
    assert 25 < scene.apns.requests[1].at - first.at < 40 and rule.times == 0
    for each in ids:
        scene.accepted(each, seconds=45)
    assert scene.lane("apns")["state"] == "running"
