"""Every state of a batch and every call; every state of an order and every report."""

import pytest

from harness.batches import (ASSIGNMENT_STATES, BATCH_STATES, PHOTO, Batch, accept, arrange,
                             batch_in, complete, deliver, ok, order_in, pick_up, read,
                             refused, report)
from harness.people import FirebaseUser
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

COLLECTING, READY, DISPATCHED, IN_PROGRESS, COMPLETED, PARTIAL, CANCELLED = BATCH_STATES
OPEN, ENDS = BATCH_STATES[:4], BATCH_STATES[4:]


def lines(gateway, batch: Batch) -> int:
    """Counts the lines of the batch in the audit."""
    return gateway.query("SELECT COUNT(*) FROM audit WHERE batch_id = ?", batch.id)[0][0]


# The dispatcher's calls. A state that is not in the table is refused with 409.

SAME = "the same state"
DISPATCHER = {
    "ready": {COLLECTING: READY, READY: "already"},
    "reassign": {DISPATCHED: SAME, IN_PROGRESS: SAME},
    "unassign": {DISPATCHED: READY},
    # That a cancelled batch cannot be cancelled may be said with either status.
    "cancel": dict.fromkeys(OPEN, CANCELLED) | {CANCELLED: "already or 409"},
    "orders/{}/cancel": dict.fromkeys(OPEN, SAME),
    "orders/{}/return": {PARTIAL: SAME}}


@pytest.mark.parametrize("action", DISPATCHER)
@pytest.mark.parametrize("state", BATCH_STATES)
def test_dispatcher(gateway, driver, admin, state, action):
    expected, other = DISPATCHER[action].get(state, 409), driver()
    batch = batch_in(state, admin, driver())
    before, logged = batch.get(), lines(gateway, batch)
    path = f"{batch.path}/{action.format(batch.orders[0])}"
    response = admin.post(path, {"driverId": other.subject} if action == "reassign" else {})
    after = batch.get()
    if expected == 409 or expected == "already or 409" and response.status == 409:
        assert response.status == 409 and response.json()["success"] is False, response
        # The text names the state of what is in the way.
        first = before["orders"][0]["status"]
        assert state in response.json()["error"] or first in response.json()["error"]
    else:
        assert response.status == 200, response
        data = response.json()["data"]
        assert data["batch"] == after
        if expected not in ("already", "already or 409"):
            assert after["status"] == (state if expected == SAME else expected)
            assert after["version"] == before["version"] + 1
            assert lines(gateway, batch) == logged + 1
            return
        assert "already" in response.json()["message"] and data["notificationIds"] == []
    assert after == before and lines(gateway, batch) == logged


# The drivers' calls: the status, the message and the error that the batch's driver gets (before
# there is one, any driver), and that another driver gets. None as a text: it is not fixed.

TAKEN = (400, "Batch already taken or not available",
         "This batch has been assigned to another driver")
NOT_YOURS = (403, "Not assigned to this batch", "You are not assigned to this batch")
PENDING = (403, "Account pending approval", "Your registration is pending admin approval")
PICKED = (400, "Batch must be in DISPATCHED status", "Cannot mark as picked up. Current status: {}")
LEFT = (400, "Batch has pending deliveries", "2 deliveries are still pending")
TRANSITION = (400, "Invalid status transition", "Cannot change status from {} to EN_ROUTE")
OK = (200,)
CALLS = {
    "accept": accept, "details": read, "pickup": pick_up, "complete": complete,
    "sequence": lambda driver, batch: arrange(driver, batch, *batch.orders),
    "report": lambda driver, batch: report(driver, batch.orders[0], "EN_ROUTE")}
OWN = {
    "accept": {READY: OK, DISPATCHED: OK, IN_PROGRESS: OK}
    | dict.fromkeys([COLLECTING, *ENDS], TAKEN),
    "details": dict.fromkeys(BATCH_STATES, OK) | {COLLECTING: NOT_YOURS},
    "pickup": {COLLECTING: NOT_YOURS, READY: NOT_YOURS, DISPATCHED: OK}
    | dict.fromkeys([IN_PROGRESS, *ENDS], PICKED),
    "complete": {COLLECTING: NOT_YOURS, READY: NOT_YOURS, DISPATCHED: LEFT, IN_PROGRESS: LEFT,
                 COMPLETED: OK, PARTIAL: OK, CANCELLED: (400, None, None)},
    "sequence": {COLLECTING: NOT_YOURS, READY: NOT_YOURS, DISPATCHED: OK, IN_PROGRESS: OK}
    | dict.fromkeys(ENDS, (400, None, None)),
    "report": {COLLECTING: NOT_YOURS, READY: NOT_YOURS,
               DISPATCHED: (400, "Order has not been picked up", None), IN_PROGRESS: OK,
               COMPLETED: TRANSITION, PARTIAL: TRANSITION,
               CANCELLED: (409, "Order cancelled", None)}}
OTHER = {name: dict.fromkeys(BATCH_STATES, NOT_YOURS) for name in CALLS} | {
    "accept": dict.fromkeys(BATCH_STATES, TAKEN) | {READY: OK},
    "details": dict.fromkeys(BATCH_STATES, NOT_YOURS) | {READY: OK}}
# Calls that change nothing although they succeed.
QUIET = {("details", state) for state in BATCH_STATES if state != DISPATCHED} | {
    ("accept", DISPATCHED), ("accept", IN_PROGRESS)}


def check(gateway, batch: Batch, name: str, caller, expected: tuple, before: dict) -> None:
    """Makes the call. What is refused changes nothing, what succeeds is one line of the audit."""
    logged, response = lines(gateway, batch), CALLS[name](caller, batch)
    state, after = before["status"], batch.get()
    if expected == OK:
        ok(response)
        if (name, state) in QUIET:
            assert after == before and lines(gateway, batch) == logged
        elif name != "details":
            assert after["version"] > before["version"] and lines(gateway, batch) == logged + 1
        return
    status, *texts = refused(response)
    assert status == expected[0], response
    for text, wanted in zip(texts, expected[1:]):
        found = before["orders"][0]["status"] if name == "report" else state
        assert wanted is None or text == wanted.format(found), response
    assert after == before and lines(gateway, batch) == logged


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("state", BATCH_STATES)
def test_drivers(gateway, driver, admin, closing, state, name):
    """A driver without an account's approval first, then another driver, then the batch's own."""
    mine, other, pending = driver(), driver(), closing(FirebaseUser(gateway))
    pending.register()
    batch = batch_in(state, admin, mine)
    check(gateway, batch, name, pending, PENDING, batch.get())
    check(gateway, batch, name, other, OTHER[name][state], batch.get())
    if (name, state) != ("accept", READY):
        check(gateway, batch, name, mine, OWN[name][state], batch.get())


@pytest.mark.parametrize("state", BATCH_STATES)
def test_what_a_driver_finds(driver, admin, state):
    """In the list of waiting batches and as the current batch."""
    mine = driver()
    batch = batch_in(state, admin, mine)
    listed = ok(mine.request("GET", "/api/delivery/available-batches"))["batches"]
    assert (batch.id in [each["_id"] for each in listed]) == (state == READY)
    current = ok(mine.request("GET", "/api/delivery/my-batch"))["batch"]
    is_current = current is not None and current["_id"] == batch.id
    assert is_current == (state in (DISPATCHED, IN_PROGRESS))


# Reports

ALLOWED = {"PICKED_UP": {"EN_ROUTE", "ARRIVED", "DELIVERED", "FAILED"},
           "EN_ROUTE": {"ARRIVED", "DELIVERED", "FAILED"}, "ARRIVED": {"DELIVERED", "FAILED"}}
REPORTS = {"EN_ROUTE": {}, "ARRIVED": {}, "DELIVERED": {"proofOfDelivery": PHOTO},
           "FAILED": {"failureReason": "ADDRESS_NOT_FOUND"}}


def shown_status(state: str) -> str:
    return "READY" if state in ("ASSIGNED", "ACKNOWLEDGED") else state


@pytest.mark.parametrize("wanted", REPORTS)
@pytest.mark.parametrize("state", ASSIGNMENT_STATES)
def test_reports(gateway, driver, admin, state, wanted):
    mine = driver()
    batch, first = order_in(state, admin, mine)
    before, logged = batch.get(), lines(gateway, batch)
    assert before["orders"][0]["status"] == shown_status(state)
    response = report(mine, first, wanted, **REPORTS[wanted])
    if wanted in ALLOWED.get(state, ()):
        assert ok(response)["assignment"]["status"] == wanted
        after = batch.get()["orders"][0]
        assert (after["status"], after["assignment"]["status"]) == (wanted, wanted)
        assert lines(gateway, batch) == logged + 1
        return
    if state == wanted:
        assert ok(response)["order"]["status"] == wanted
    elif state in ("ASSIGNED", "ACKNOWLEDGED"):
        assert refused(response)[:2] == (400, "Order has not been picked up")
    elif state == "CANCELLED":
        assert refused(response)[:2] == (409, "Order cancelled")
    else:
        assert refused(response) == (400, "Invalid status transition",
                                     f"Cannot change status from {state} to {wanted}")
    assert batch.get() == before and lines(gateway, batch) == logged


# The dispatcher's calls about one order

@pytest.mark.parametrize("action", ["cancel", "return"])
@pytest.mark.parametrize("state", ASSIGNMENT_STATES)
def test_one_order(gateway, driver, admin, state, action):
    """Only what is open can be cancelled, and only what has failed can be returned."""
    batch, first = order_in(state, admin, driver())
    before, logged = batch.get(), lines(gateway, batch)
    response = admin.post(f"{batch.path}/orders/{first}/{action}", {})
    after = batch.get()
    is_open = state in ("ASSIGNED", "ACKNOWLEDGED", "PICKED_UP", "EN_ROUTE", "ARRIVED")
    if is_open if action == "cancel" else state == "FAILED":
        assert response.status == 200, response
        expected = "CANCELLED" if action == "cancel" else "RETURNED"
        found = after["orders"][0]
        assert found["status"] == found["assignment"]["status"] == expected
        assert lines(gateway, batch) == logged + 1
    elif action == "return" and state == "RETURNED" and response.status == 200:
        assert "already" in response.json()["message"] and after == before
    else:
        assert response.status == 409 and shown_status(state) in response.json()["error"]
        assert after == before and lines(gateway, batch) == logged


def test_acknowledged_by_the_first_reading(driver, admin):
    """By my-batch or by the details, not by the list and not by a repeated accept."""
    for reading in ("/api/delivery/my-batch", "/api/delivery/batches/{}"):
        mine = driver()
        batch = batch_in("DISPATCHED", admin, mine)
        ok(accept(mine, batch))
        ok(mine.request("GET", "/api/delivery/available-batches"))

        def states() -> list[str]:
            return [each["assignment"]["status"] for each in batch.get()["orders"]]

        assert states() == ["ASSIGNED"] * 2
        data = ok(mine.request("GET", reading.format(batch.id)))
        assert [each["assignmentStatus"] for each in data["orders"]] == ["ACKNOWLEDGED"] * 2
        assert states() == ["ACKNOWLEDGED"] * 2
        version = batch.get()["version"]
        ok(mine.request("GET", reading.format(batch.id)))
        assert batch.get()["version"] == version


def test_an_unassigned_batch_starts_anew(driver, admin):
    first, second = driver(), driver()
    batch, _ = order_in("ACKNOWLEDGED", admin, first)
    batch.act("unassign")
    ok(accept(second, batch))
    stored = batch.get()
    assert [each["assignment"]["status"] for each in stored["orders"]] == ["ASSIGNED"] * 2
    assert stored["driverId"] == second.subject
    ok(pick_up(second, batch))
    for each in batch.orders:
        ok(deliver(second, each))
    assert batch.status == "COMPLETED"
