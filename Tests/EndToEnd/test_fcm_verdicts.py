"""What Google answers, and what becomes of the push, of the phone and of the lane: PUSH.md section 2."""

import time

import pytest

from harness.push.conduct import Hang, Proceed, Say
from harness.push.fcm import error, logins, sends, to
from harness.push.scene import devices


@pytest.fixture
def scene(pushing):
    return pushing()


# Dead tokens


@pytest.mark.parametrize("answer, reason", [
    (error(404, "NOT_FOUND", "UNREGISTERED"), "UNREGISTERED"), (error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"), "SENDER_ID_MISMATCH"),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message="The registration token is not a valid FCM registration token"), "INVALID_ARGUMENT"),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.token"), "INVALID_ARGUMENT")], ids=lambda value: str(value)[-80:])
def test_a_dead_token_goes_and_is_never_sent_to_again(scene, answer, reason):
    phone, other = scene.android(), scene.android()
    scene.warm(phone, other)
    scene.fails(phone, answer, reason)
    assert devices(phone) == []
    scene.is_not_pushed(scene.announce(phone))
    scene.reaches("push_token_removals_total", 1, reason=reason)
    other.next(scene.announce(other))
    scene.fcm.revive(phone.token)
    phone.register()
    scene.accepted(each := scene.announce(phone))
    assert phone.pushes[-1].notification == each


def test_who_registers_again_while_it_is_on_its_way_keeps_his_token(scene):
    """Only what was registered before the request goes by its answer."""
    phone = scene.android()
    scene.warm(phone)
    answer = error(404, "NOT_FOUND", "UNREGISTERED", after=1.0)
    scene.fcm.script(answer, to(phone.token), times=1)
    each = scene.announce(phone)
    scene.fcm.until(lambda: len(phone.sent) == 2, "the request")
    phone.register()
    scene.became(each, "push_failed")
    assert len(devices(phone)) == 1
    scene.fcm.revive(phone.token)
    scene.accepted(scene.announce(phone))


# What fails, and nothing else


@pytest.mark.parametrize("answer, reason", [
    (error(404, "NOT_FOUND"), "NOT_FOUND"), (Say(404, b"<html>not here</html>"), ""), (error(400, "INVALID_ARGUMENT"), "INVALID_ARGUMENT"), (Say(400), ""),
    (error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field="message.android.ttl"), "INVALID_ARGUMENT"), (Say(400, {"error": []}), ""),
    (Say(400, {"error": {"details": [7, {"@type": 1}]}}), "")], ids=lambda value: str(value)[-80:])
def test_what_is_not_the_tokens_fault_keeps_it(scene, answer, reason):
    phone = scene.android()
    scene.warm(phone)
    scene.fails(phone, answer, reason)
    assert len(devices(phone)) == 1
    phone.next(scene.announce(phone))


def test_what_Firebase_lacks_for_Apple_fails_that_one_and_raises_an_alarm(scene):
    """Our own credential is good: it is not renewed, and the token stays."""
    phone = scene.android()
    scene.warm(phone)
    scene.fails(phone, error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"), "THIRD_PARTY_AUTH_ERROR")
    scene.until_logged("THIRD_PARTY_AUTH_ERROR", "error")
    phone.next(scene.announce(phone))
    assert len(scene.fcm.logins) == 1 and len(devices(phone)) == 1


# What is tried again


@pytest.mark.parametrize("answer", [error(500, "INTERNAL", "INTERNAL"), error(503, "UNAVAILABLE", "UNAVAILABLE"), error(503, "UNAVAILABLE"), Say(502, b"x"),
                                    error(500, "UNKNOWN", "UNSPECIFIED_ERROR")], ids=lambda value: str(value)[-80:])
def test_5xx_is_tried_again(scene, answer):
    phone = scene.android()
    scene.warm(phone)
    scene.fcm.script(answer, to(phone.token), times=2)
    phone.next(each := scene.announce(phone))
    scene.accepted(each)
    first, second, third = phone.sent[-3:]
    assert second.at - first.at >= 0.9 and third.at - second.at >= 1.9, "1 s, then 2 s, plus jitter"
    assert first.json["message"]["android"]["notification"]["tag"] == third.json["message"]["android"]["notification"]["tag"]


@pytest.mark.parametrize("answer", [error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", headers={"retry-after": "4"}),
                                    error(503, "UNAVAILABLE", "UNAVAILABLE", headers={"retry-after": "4"})], ids=["429", "503"])
def test_it_waits_as_long_as_it_is_asked_to(scene, answer):
    phone, other = scene.android(), scene.android()
    scene.warm(phone, other)
    scene.fcm.script(answer, to(phone.token), times=1)
    each = scene.announce(phone)
    scene.fcm.until(lambda: len(phone.sent) == 2, "the first try")
    other.next(scene.announce(other))
    phone.next(each)
    assert 4 <= phone.sent[-1].at - phone.sent[-2].at < 12


def test_a_date_is_as_good_as_seconds(scene):
    phone = scene.android()
    scene.warm(phone)
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 5))
    scene.fcm.script(error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", headers={"retry-after": date}), to(phone.token), times=1)
    phone.next(scene.announce(phone))
    assert phone.sent[-1].at - phone.sent[-2].at >= 3


def test_a_quota_without_a_word_of_when_is_a_minute(scene):
    phone, other = scene.android(), scene.android()
    scene.warm(phone, other)
    scene.fcm.script(error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), to(phone.token), times=1)
    each = scene.announce(phone)
    scene.fcm.until(lambda: len(phone.sent) == 2, "the first try")
    for _ in range(3):
        # Time goes by: an ordinary failure would have been tried again.
        scene.fcm.script(error(500, "INTERNAL", "INTERNAL"), to(other.token), times=1)
        other.next(scene.announce(other))
    assert len(phone.sent) == 2 and scene.steps(each)[-1]["step"] == "push_queued"


# Who we are


def test_one_login_for_everything(providers, pushing):
    providers.fcm.script(Proceed(after=0.5), logins)
    scene = pushing()
    phones = [scene.android() for _ in range(50)]
    ids = scene.announce_many([phone.owner.subject for phone in phones])
    for each in ids:
        scene.accepted(each)
    assert len(scene.fcm.logins) == 1
    scene.reaches("push_credential_renewals_total", 1, kind="fcm_oauth")


def test_an_access_token_that_is_refused_is_renewed_once(scene):
    phones = [scene.android() for _ in range(30)]
    scene.warm(*phones[:2])
    scene.fcm.forget_logins()
    ids = scene.announce_many([phone.owner.subject for phone in phones])
    for each in ids:
        [step] = scene.accepted(each)
        assert step["detail"]["attempts"] == 1, step
    assert len(scene.fcm.logins) == 2
    assert all(devices(phone) for phone in phones)


def test_it_is_renewed_before_it_runs_out(providers, pushing):
    """At 80 % of its life: nobody sees a 401."""
    providers.fcm.life = 5
    scene = pushing()
    phone = scene.android()
    began = time.monotonic()
    while time.monotonic() - began < 11:
        phone.next(scene.announce(phone))
    apart = [later.at - earlier.at for earlier, later in zip(scene.fcm.logins, scene.fcm.logins[1:])]
    assert 2 <= len(apart) <= 3 and all(3.9 <= seconds < 5 for seconds in apart), apart
    assert [request for request in scene.fcm.requests if not request.taken] == []


@pytest.mark.parametrize("answer", [Say(503, b""), Say(500, {"error": "internal_failure"})], ids=["503", "500"])
def test_a_login_that_fails_for_a_moment_is_tried_again(providers, pushing, answer):
    providers.fcm.script(answer, logins, times=2)
    scene = pushing()
    phone = scene.android()
    phone.next(scene.announce(phone))
    first, second, third = scene.fcm.logins
    assert second.at - first.at >= 0.9 and scene.fcm.sends[0].at >= third.at


@pytest.mark.parametrize("answer, reason", [
    (Say(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}), "invalid_grant"), (Say(400, {"error": "invalid_scope"}), "invalid_scope"),
    (Say(401, {"error": "invalid_client"}), "")], ids=lambda value: str(value)[:60])
def test_who_may_not_log_in_stops_and_keeps_his_queue(providers, pushing, answer, reason):
    providers.fcm.script(answer, logins)
    scene = pushing()
    phone, apple = scene.android(), scene.ios()
    each = scene.announce(phone)
    lane = scene.lane_is("fcm", "stopped")
    assert reason in lane["lastError"]["reason"]
    scene.until_logged(reason or "fcm", "error")
    for _ in range(20):
        apple.next(scene.announce(apple))
    assert len(scene.fcm.requests) == 1 and scene.steps(each)[-1]["step"] == "push_queued"


def test_a_login_that_hangs_is_given_up(providers, pushing):
    providers.fcm.script(Hang(), logins, times=1)
    scene = pushing()
    phone = scene.android()
    each = scene.announce(phone)
    scene.accepted(each, seconds=40)
    assert len(scene.fcm.logins) == 2 and scene.fcm.logins[1].at - scene.fcm.logins[0].at >= 9


@pytest.mark.parametrize("answer, words", [
    (error(403, "PERMISSION_DENIED"), "PERMISSION_DENIED"), (Say(403, b"<html>"), "HTTP 403"),
    # Somebody else answers: at a wrong address, or on the way.
    (Say(200, b"<html>Sign in</html>"), "HTTP 200"), (error(200, "UNAVAILABLE"), "HTTP 200"), (Say(302), "HTTP 302")],
    ids=["PERMISSION_DENIED", "403", "200 page", "200 error", "302"])
def test_who_is_forbidden_stops_and_keeps_his_queue(scene, answer, words):
    phones, apple = [scene.android() for _ in range(5)], scene.ios()
    scene.fcm.script(answer, sends)
    ids = [scene.announce(phone) for phone in phones]
    scene.lane_is("fcm", "stopped")
    scene.until_logged(words, "error")
    for _ in range(20):
        apple.next(scene.announce(apple))
    assert len(scene.fcm.sends) == 1
    assert all(scene.steps(each)[-1]["step"] == "push_queued" for each in ids) and all(map(devices, phones))


def test_one_that_is_forbidden_though_others_are_not_fails_alone(scene):
    bad, good = scene.android(), scene.android()
    scene.warm(bad, good)
    scene.fcm.script(error(403, "PERMISSION_DENIED"), to(bad.token))
    each = scene.announce(bad)
    scene.lane_is("fcm", "stopped")
    scene.accepted(scene.announce(good), seconds=75)
    [step] = scene.became(each, "push_failed", seconds=15)
    assert step["detail"]["reason"] == "PERMISSION_DENIED"
    scene.until_logged("others are not", "error")
    assert scene.lane("fcm")["state"] == "running" and len(devices(bad)) == 1
    scene.accepted(scene.announce(good), seconds=5)


def test_connections_end_daily(scene):
    """GOAWAY is routine at Google."""
    phones = [scene.android() for _ in range(40)]
    scene.warm(phones[0])
    for keeping in (True, False, True):
        scene.fcm.delay = 0.2
        ids = scene.announce_many([phone.owner.subject for phone in phones])
        scene.fcm.until(lambda: len(scene.fcm.sends) > 10, "requests")
        scene.fcm.all_go_away(keeping)
        scene.fcm.delay = 0.0
        for each in ids:
            scene.accepted(each, seconds=40)
    assert [requests for requests in scene.fcm.taken().values() if len(requests) > 1] == []
    assert len(scene.fcm.logins) == 1
