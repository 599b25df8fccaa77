"""What waits, waits in the store: through outages, kills and restarts, in its order, and not longer than it is worth."""

import time

import pytest

from harness.fleet import eventually
from harness.push.conduct import Hang, Say
from harness.push.fcm import error, sends


def announced(scene, phones) -> list[str]:
    return scene.announce_many([phone.owner.subject for phone in phones])


# Outages


def test_refused_connections_for_half_a_minute_delay_nobody_else(pushing):
    """The outage of one provider is not the other's, nor that of the actions; afterwards everything arrives, once."""
    scene = pushing()
    apples, androids = [scene.ios() for _ in range(40)], [scene.android() for _ in range(5)]
    scene.warm(apples[0])
    scene.apns.refuse()
    began, ids, slowest = time.monotonic(), [], 0.0
    while time.monotonic() - began < 30:
        ids += announced(scene, apples[:2] if ids else apples)
        for phone in androids:
            sent = time.monotonic()
            phone.next(scene.announce(phone))
            slowest = max(slowest, time.monotonic() - sent)
    assert slowest < 3 and scene.lane("fcm")["state"] == "running" and scene.lane("apns")["state"] == "paused"
    assert scene.figure("push_queue_oldest_seconds", provider="apns") > 20
    scene.apns.listen()
    scene.apns.until(lambda: len(scene.apns.taken()) == len(ids) + 1, "everything", seconds=60)
    assert [requests for requests in scene.apns.taken().values() if len(requests) > 1] == []
    tries = [scene.accepted(each)[0]["detail"]["attempts"] for each in ids]
    # What never left was not tried; one may have been on its way over the connection that broke.
    assert max(tries) <= 2 and tries.count(2) <= 1, tries


def test_what_one_person_is_told_arrives_in_its_order(pushing):
    scene = pushing()
    phone, other = scene.ios(), scene.ios()
    scene.apns.refuse()
    ids = [scene.announce(phone, number=number) for number in range(100)]
    scene.announce(other)
    scene.apns.listen()
    assert [push.notification for push in phone.wait(100, seconds=40)] == ids
    assert [push.data["number"] for push in phone.pushes] == [str(number) for number in range(100)]


def test_a_thousand_of_one_driver_do_not_stand_before_anothers_first(pushing):
    scene = pushing()
    loud, quiet = scene.ios(), scene.ios()
    scene.apns.refuse()
    for number in range(500):
        scene.announce(loud)
    each = scene.announce(quiet)
    scene.apns.listen()
    [push] = quiet.wait(1, seconds=40)
    assert push.notification == each and push.request.number < 10, push.request


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_a_new_owner_does_not_get_what_was_the_old_ones(pushing, kind):
    scene = pushing()
    old, new = scene.driver(), scene.driver()
    phone = scene.phone(kind, old)
    phone.fake.refuse()
    ids = [scene.announce(old) for _ in range(3)]
    phone.register(new)
    for each in ids:
        [step] = scene.became(each, "push_cancelled")
        assert step["detail"]["reason"] == "new_owner", step
    his = scene.announce(new)
    phone.fake.listen()
    assert [push.notification for push in phone.wait(1, seconds=40)] == [his]


def test_who_signs_off_gets_nothing_more(pushing):
    scene = pushing()
    phone = scene.ios()
    scene.apns.refuse()
    each = scene.announce(phone)
    phone.unregister()
    [step] = scene.became(each, "push_cancelled")
    # Whether it was just in the lane's hands decides who cancels it.
    assert step["detail"]["reason"] in ("unregistered", "device_removed"), step


def test_a_new_token_of_the_same_phone_loses_nothing(pushing):
    scene = pushing()
    owner = scene.driver()
    old = scene.android(owner, deviceId="phone-1")
    scene.fcm.refuse()
    each = scene.announce(owner)
    new = scene.android(owner, deviceId="phone-1")
    scene.fcm.listen()
    assert new.wait(1, seconds=40)[0].notification == each and old.sent == []


def test_a_token_that_dies_as_it_is_replaced_is_no_failure(pushing):
    scene = pushing()
    owner = scene.driver()
    old = scene.android(owner, deviceId="phone-1")
    scene.fcm.script(error(404, "NOT_FOUND", "UNREGISTERED", after=1.5), sends, times=1)
    each = scene.announce(owner)
    scene.fcm.until(lambda: old.sent, "the request")
    new = scene.android(owner, deviceId="phone-1")
    assert new.wait(1)[0].notification == each
    [step] = scene.accepted(each)
    assert step["detail"]["attempts"] == 2, step
    scene.reaches("push_total", 1, outcome="accepted")
    assert scene.figure("push_total", outcome="rejected") == 0 and scene.figure("push_total", outcome="retried") == 1
    assert scene.logged("push_rejected") == []


# Restarts


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_what_was_queued_is_sent_after_a_restart(pushing, end):
    scene = pushing("kept")
    apples, androids = [scene.ios() for _ in range(50)], [scene.android() for _ in range(50)]
    scene.apns.refuse()
    scene.fcm.refuse()
    ids = announced(scene, apples) + announced(scene, androids) + [scene.announce({"all": True})]
    scene.gateway.stop() if end == "SIGTERM" else scene.gateway.kill()
    scene.apns.listen()
    scene.fcm.listen()
    scene = pushing("kept")
    for each in ids[:-1]:
        scene.accepted(each, seconds=40)
    scene.accepted(ids[-1], 100, seconds=40)
    for phone in apples + androids:
        assert len(phone.pushes) == 2


def test_killed_between_the_request_and_its_answer(pushing):
    """Nobody knows whether it was taken: it comes again, with the id and the collapse id that it had."""
    scene = pushing("kept")
    phone, other = scene.ios(), scene.android()
    scene.apns.script(Hang(), times=1)
    scene.fcm.script(Hang(), sends, times=1)
    ids = [scene.announce(phone), scene.announce(other)]
    for each in (phone, other):
        each.fake.until(lambda: each.sent, "the request")
    scene.gateway.kill()
    scene = pushing("kept")
    for each in ids:
        scene.accepted(each)
    first, second = phone.sent
    assert all(first.headers[name] == second.headers[name] for name in ("apns-id", "apns-collapse-id", "apns-expiration"))
    first, second = (request.json["message"] for request in other.sent)
    assert first["android"]["notification"]["tag"] == second["android"]["notification"]["tag"]


def test_SIGTERM_waits_for_answers_and_starts_nothing_new(pushing):
    scene = pushing("kept", server={"drain_seconds": 8})
    phones = [scene.ios() for _ in range(60)]
    scene.warm(phones[0])
    scene.apns.set_limit(10)
    scene.apns.delay = 1.0
    ids = announced(scene, phones)
    scene.apns.until(lambda: len(scene.apns.requests) > 8, "requests")
    scene.gateway.terminate()
    # Clients are sent away; what is asked from now on was begun before.
    scene.gateway.wait()
    scene.apns.delay = 0.0
    scene.apns.set_limit(1_000)
    scene = pushing("kept")
    for each in ids:
        scene.accepted(each, seconds=40)
    assert [requests for requests in scene.apns.taken().values() if len(requests) > 1] == [], "an answer that came was not written down"
    assert [request for request in scene.apns.requests if request.status != 200] == [], "a request was given up"


def test_SIGTERM_does_not_wait_for_ever(pushing):
    scene = pushing("kept", server={"drain_seconds": 2})
    phone = scene.ios()
    scene.apns.script(Hang())
    each = scene.announce(phone)
    scene.apns.until(lambda: phone.sent, "the request")
    began = time.monotonic()
    scene.gateway.stop()
    assert time.monotonic() - began < 6
    scene.apns.behave()
    scene = pushing("kept")
    scene.accepted(each)


def test_SIGTERM_with_the_providers_down(pushing):
    scene = pushing("kept", server={"drain_seconds": 5})
    phones = [scene.ios(), scene.android()]
    scene.apns.refuse()
    scene.fcm.refuse()
    announced(scene, phones)
    began = time.monotonic()
    scene.gateway.stop()
    assert time.monotonic() - began < 4, "there is nothing to wait for"


# Too late


@pytest.mark.parametrize("kind", ["ios", "android"])
def test_a_retry_does_not_replace_newer_news(pushing, kind):
    """Both have the order's collapse id: the phone would show a new job that has been cancelled."""
    scene = pushing()
    phone = scene.phone(kind)
    phone.fake.script(Say(503, headers={"retry-after": "3"}), sends if kind == "android" else None, times=1)
    code, answer = scene.order(phone.owner)
    old = answer["data"]["notificationIds"][0]
    scene.reaches("push_total", 1, outcome="retried")
    new = scene.dispatcher.order(code, "cancel-enhanced")["data"]["notificationIds"][0]
    assert phone.next(new).collapse == f"order:{code}"
    [step] = scene.became(old, "push_cancelled")
    assert step["detail"]["reason"] == "superseded" and step["detail"]["attempts"] == 1, step
    scene.hear_nothing(phone)
    assert scene.figure("push_total", outcome="cancelled") == 1


def test_what_is_not_worth_it_any_more_is_not_sent(pushing):
    scene = pushing(texts={"DRIVER_APPROVED": {"title": "T", "lifetime": "2s"}, "DRIVER_REJECTED": {"title": "R", "lifetime": "1h"}})
    phone, android = scene.ios(), scene.android()
    scene.apns.refuse()
    scene.fcm.script(Say(503), sends)
    short, long = scene.announce(phone, "DRIVER_APPROVED"), scene.announce(phone, "DRIVER_REJECTED")
    tried = scene.announce(android, "DRIVER_APPROVED")
    for each in (short, tried):
        scene.became(each, "push_expired")
    scene.apns.listen()
    assert [push.notification for push in phone.wait(1, seconds=40)] == [long]
    assert scene.figure("push_total", provider="apns", outcome="expired") == scene.figure("push_total", provider="fcm", outcome="expired") == 1
    assert scene.steps(short)[-1]["step"] == "push_expired" and len(phone.sent) == 1


def test_the_time_that_is_left_goes_along(pushing):
    """Not the whole lifetime anew with every try."""
    scene = pushing()
    phone = scene.android()
    scene.fcm.script(Say(503), sends, times=2)
    scene.announce(phone)
    phone.next()
    lives = [float(request.json["message"]["android"]["ttl"][:-1]) for request in phone.sent]
    ends = {request.json["message"]["apns"]["headers"]["apns-expiration"] for request in phone.sent}
    assert lives[0] >= lives[1] + 1 > lives[2] + 2 and len(ends) == 1, lives


def test_nothing_is_queued_twice_for_one_phone(pushing):
    """A repeated request is answered from what was stored."""
    scene = pushing()
    phone = scene.ios()
    body = {"type": "DRIVER_APPROVED", "to": {"drivers": [phone.owner.subject, phone.owner.subject]}, "data": {}}
    first = scene.dispatcher.post("/api/admin/notifications", body, key="once").json()
    again = scene.dispatcher.post("/api/admin/notifications", body, key="once").json()
    assert first == again and len(first["data"]["notificationIds"]) == 1
    phone.next(first["data"]["notificationIds"][0])
    scene.hear_nothing(phone)


def test_actions_do_not_wait_for_providers(pushing):
    scene = pushing()
    phone = scene.ios()
    scene.apns.script(Hang())
    began = time.monotonic()
    for _ in range(50):
        scene.announce(phone)
    assert time.monotonic() - began < 5
    eventually(lambda: scene.figure("push_queue_depth", provider="apns") > 0, "the queue is seen")
