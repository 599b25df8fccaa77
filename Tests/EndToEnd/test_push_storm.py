"""Everything at once: providers that misbehave in every way while a fleet is told things, and then the accounts."""

import json
import random
import secrets
import time

from h2.errors import ErrorCodes

from harness.push import apns, fcm
from harness.push.conduct import Abort, GoAway, Hang, Reset
from harness.push.scene import wait

PHONES, ROUNDS = 150, 8


def whims(dice: random.Random, answers: list[tuple[float, object]]):
    """A rule for every request: one of these now and then, by their shares; else what is usual."""
    return [(answer, lambda _, share=share: dice.random() < share) for share, answer in answers]


def test_nothing_is_lost_in_a_storm(pushing):
    """Accepted exactly once, unless an answer was lost; nothing to a dead token; connections within the limit; one renewal per need."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # which pytest shows when it fails
    dice = random.Random(seed)
    scene = pushing()
    phones = scene.crowd(PHONES)
    mortal = {phone.token for phone in dice.sample(phones, 15)}
    common = [(0.02, Abort()), (0.02, Abort(taken=True)), (0.03, Reset(ErrorCodes.INTERNAL_ERROR)), (0.03, Reset(ErrorCodes.REFUSED_STREAM)), (0.02, GoAway()),
              (0.02, GoAway(False)), (0.002, Hang())]
    for answer, matches in whims(dice, [*common, (0.05, apns.refusal(503, "ServiceUnavailable")), (0.03, apns.refusal(429, "TooManyRequests"))]):
        scene.apns.script(answer, matches)
    for answer, matches in whims(dice, [*common, (0.05, fcm.error(503, "UNAVAILABLE", "UNAVAILABLE")), (0.02, fcm.error(500, "INTERNAL", "INTERNAL"))]):
        scene.fcm.script(answer, lambda request, matches=matches: fcm.sends(request) and matches(request))
    scene.apns.delay = scene.fcm.delay = lambda: dice.uniform(0, 0.05)
    ids = []
    for number in range(ROUNDS):
        ids += scene.announce_many([phone.owner.subject for phone in phones], number=number)
        for _ in range(20):
            # What happens meanwhile goes on.
            scene.order(scene.driver())
        if number == 2:
            kill(scene, mortal)
        if number == 4:
            scene.fcm.forget_logins()
        if number == 5:
            scene.apns.set_limit(3)
        if number == 6:
            scene.apns.set_limit(1_000)
            scene.apns.refuse()
            scene.apns.listen()
    began = time.monotonic()
    ends = {each: end_of(scene, each, began + 100) for each in ids}
    print(f"{len(scene.apns.requests) + len(scene.fcm.requests)} requests, {time.monotonic() - began:.0f} s after the last was queued")
    settle(scene, phones, ends, mortal)


def kill(scene, mortal: set[str]) -> None:
    """These apps are gone for good."""
    gone = int(time.time() * 1000) + 600_000
    dead = scene.apns.script(apns.refusal(410, "Unregistered", timestamp=gone), lambda request: request.path.rpartition("/")[2] in mortal)
    scene.apns.rules.insert(0, scene.apns.rules.pop(scene.apns.rules.index(dead)))
    dead = scene.fcm.script(fcm.error(404, "NOT_FOUND", "UNREGISTERED"), lambda request: fcm.sends(request) and request.json["message"]["token"] in mortal)
    scene.fcm.rules.insert(0, scene.fcm.rules.pop(scene.fcm.rules.index(dead)))


def end_of(scene, notification: str, deadline: float) -> str:
    """What became of its only push; nothing, where there was no phone any more."""
    def last() -> str:
        return ([step["step"] for step in scene.steps(notification)] or ["nothing"])[-1]

    wait(lambda: last() != "push_queued", lambda: f"the end of {scene.steps(notification)}", deadline - time.monotonic())
    return last()


def settle(scene, phones, ends: dict[str, str], mortal: set[str]) -> None:
    taken = scene.apns.taken() | scene.fcm.taken()
    for index, (each, last) in enumerate(ends.items()):
        phone = phones[index % len(phones)]
        requests = taken.get((phone.token, each), [])
        if phone.token not in mortal:
            assert last == "push_accepted" and requests, (each, scene.steps(each))
        assert (last == "push_accepted") <= bool(requests), each
        for lost in requests[:-1]:
            assert lost.answered_at is None or lost.answer_may_be_lost, f"{each} was accepted {len(requests)} times: {requests}"
    devices = scene.figure("push_token_removals_total")
    assert devices == len(mortal), f"{devices} devices removed, {len(mortal)} were dead"
    assert len(scene.apns.provider_tokens) == 1 and len(scene.fcm.logins) == 2
    assert scene.figure("push_total", outcome="expired") == 0
    assert json.dumps(scene.dispatcher.done("GET", "/api/ops/push")).count('"running"') == 3
