"""All provider faults at once while a fleet gets notifications; afterwards every push is accounted
for.
"""

import json
import math
import random
import secrets
import time

from h2.errors import ErrorCodes

from harness.push import apns, fcm
from harness.push.behavior import Abort, GoAway, Hang, Reset
from harness.push.push_fleet import poll_until

DEVICES, ROUNDS = 150, 8
# The faults end so many seconds after the last push was queued. Of 1,200 pushes, one may have failed
# six times in a row by then, and waits up to 48 s for its next attempt, which then succeeds. If the
# faults went on, a seventh failure would put the end of that push after any limit of the test.
FAULTS_SECONDS, END_SECONDS = 20, 100


class RandomFaults:
    """Rules that apply with given probabilities while the faults last; other requests get the
    default behavior.
    """

    def __init__(self, dice: random.Random):
        self.dice, self.end = dice, math.inf

    def rules(self, responses: list[tuple[float, object]]):
        return [(response, lambda _, share=share: self.occurs(share))
                for share, response in responses]

    def occurs(self, share: float) -> bool:
        return self.dice.random() < share and time.monotonic() < self.end


def test_no_push_is_lost_under_random_faults(start_push_fleet):
    """Each push is accepted exactly once, unless a response was lost; none goes to an invalid
    token; connections stay within the limit; credentials are renewed only when needed.
    """
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # pytest prints it on failure
    dice = random.Random(seed)
    fleet = start_push_fleet()
    devices = fleet.register_devices(DEVICES)
    invalid = {device.token for device in dice.sample(devices, 15)}
    faults = RandomFaults(dice)
    common = [(0.02, Abort()), (0.02, Abort(accepted=True)),
              (0.03, Reset(ErrorCodes.INTERNAL_ERROR)), (0.03, Reset(ErrorCodes.REFUSED_STREAM)),
              (0.02, GoAway()), (0.02, GoAway(False)), (0.002, Hang())]
    for response, matches in faults.rules([*common,
                                           (0.05, apns.refusal(503, "ServiceUnavailable")),
                                           (0.03, apns.refusal(429, "TooManyRequests"))]):
        fleet.apns.script(response, matches)
    for response, matches in faults.rules([*common,
                                           (0.05, fcm.error(503, "UNAVAILABLE", "UNAVAILABLE")),
                                           (0.02, fcm.error(500, "INTERNAL", "INTERNAL"))]):
        fleet.fcm.script(response,
                         lambda request, matches=matches: fcm.is_send_request(request)
                         and matches(request))
    fleet.apns.delay = fleet.fcm.delay = lambda: dice.uniform(0, 0.05)
    ids = []
    for number in range(ROUNDS):
        ids += fleet.announce_to_drivers([device.owner.subject for device in devices],
                                         number=number)
        for _ in range(20):
            # Other actions continue meanwhile.
            fleet.order(fleet.driver())
        if number == 2:
            invalidate(fleet, invalid)
        if number == 4:
            fleet.fcm.expire_access_tokens()
        if number == 5:
            fleet.apns.set_stream_limit(3)
        if number == 6:
            fleet.apns.set_stream_limit(1_000)
            fleet.apns.stop_listening()
            fleet.apns.listen()
    started = time.monotonic()
    faults.end = started + FAULTS_SECONDS
    ends = {notification: wait_for_end(fleet, notification, started + END_SECONDS)
            for notification in ids}
    print(f"{len(fleet.apns.requests) + len(fleet.fcm.requests)} requests, "
          f"{time.monotonic() - started:.0f} s after the last was queued")
    check_results(fleet, devices, ends, invalid)


def invalidate(fleet, invalid: set[str]) -> None:
    """Makes these tokens invalid for good."""
    invalid_since = int(time.time() * 1000) + 600_000
    rule = fleet.apns.script(apns.refusal(410, "Unregistered", timestamp=invalid_since),
                             lambda request: request.path.rpartition("/")[2] in invalid)
    fleet.apns.rules.insert(0, fleet.apns.rules.pop(fleet.apns.rules.index(rule)))
    rule = fleet.fcm.script(fcm.error(404, "NOT_FOUND", "UNREGISTERED"),
                            lambda request: fcm.is_send_request(request)
                            and request.json["message"]["token"] in invalid)
    fleet.fcm.rules.insert(0, fleet.fcm.rules.pop(fleet.fcm.rules.index(rule)))


def wait_for_end(fleet, notification: str, deadline: float) -> str:
    """Waits for the last step of the notification's push; "nothing" if its device was removed."""
    def last() -> str:
        return ([step["step"] for step in fleet.steps(notification)] or ["nothing"])[-1]

    poll_until(lambda: last() != "push_queued",
               lambda: f"the push ends: {fleet.steps(notification)}", deadline - time.monotonic())
    return last()


def check_results(fleet, devices, ends: dict[str, str], invalid: set[str]) -> None:
    accepted = fleet.apns.accepted() | fleet.fcm.accepted()
    for index, (each, last) in enumerate(ends.items()):
        device = devices[index % len(devices)]
        requests = accepted.get((device.token, each), [])
        if device.token not in invalid:
            assert last == "push_accepted" and requests, (each, fleet.steps(each))
        assert (last == "push_accepted") <= bool(requests), each
        for lost in requests[:-1]:
            assert lost.responded_at is None or lost.response_may_be_lost, (
                f"{each} was accepted {len(requests)} times: {requests}")
    removals = fleet.metric("push_token_removals_total")
    assert removals == len(invalid), f"{removals} devices removed, {len(invalid)} were invalid"
    assert len(fleet.apns.provider_tokens) == 1
    # One access token at first, one when it has expired; not one for each request that FCM refuses. A fault may end the
    # connection before a response has arrived; then the token is fetched again.
    fetches = fleet.fcm.token_requests
    assert 2 <= len(fetches) <= 4, fetches
    assert fleet.metric("push_total", outcome="expired") == 0
    assert json.dumps(fleet.dispatcher.expect_ok("GET", "/api/ops/push")).count('"running"') == 3
