"""Batches of orders under races, and killed at any instant: one wins, and nothing is half done."""

import contextlib
import datetime
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from harness.batches import (Batch, accept, batch_fields, batch_in, deliver, fail, hire, my_batch,
                             object_id, ok, order, pick_up, refused, report, returning)
from harness.concurrency import run_concurrently
from harness.fleet import JWT, Caller, wait_until
from harness.metrics import scrape
from harness.people import account_settings
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

TAKEN = (400, "Batch already taken or not available",
         "This batch has been assigned to another driver")
EVENTS = {"accept": ["batch-accepted", "batch-taken"], "pickup": ["batch-picked-up"]}


def notifications(gateway, event: str, batch: Batch) -> int:
    return gateway.query("SELECT COUNT(*) FROM notifications WHERE event = ? AND data LIKE ?",
                         event, f"%{batch.id}%")[0][0]


def audit(gateway, batch: Batch, action: str | None = None) -> list[str]:
    """The actions on the batch, the oldest first."""
    rows = gateway.query("SELECT action FROM audit WHERE batch_id = ? ORDER BY id", batch.id)
    return [found for found, in rows if action in (None, found)]


def test_of_100_drivers_one_gets_the_batch(gateway, driver, admin, fleet):
    drivers = [driver() for _ in range(100)]
    batch = Batch(admin, 3).ready()
    races = scrape(admin).total("fleetwire_batch_accept_races_total")
    responses = run_concurrently(lambda each: accept(each, batch), drivers)
    won = [each for each, response in zip(drivers, responses) if response.status == 200]
    assert len(won) == 1, Counter(response.status for response in responses)
    assert [refused(each) for each in responses if each.status != 200] == [TAKEN] * 99
    stored = batch.get()
    assert (stored["driverId"], stored["status"]) == (won[0].subject, "DISPATCHED")
    assert stored["version"] == 3
    assert [each for each in drivers if my_batch(each)["batch"]] == won
    assert audit(gateway, batch) == ["update", "ready", "accept", "acknowledge"]
    assert [notifications(gateway, each, batch) for each in EVENTS["accept"]] == [1, 1]
    assert scrape(admin).total("fleetwire_batch_accept_races_total") == races + 99


def test_of_10_batches_a_driver_gets_one(driver, admin, fleet):
    """The driver accepts all at once, on ten connections."""
    mine, batches = driver(), [Batch(admin).ready() for _ in range(10)]
    callers = [fleet.caller("driver", mine.subject, bearer=mine.bearer) for _ in batches]
    responses = run_concurrently(lambda pair: accept(*pair), zip(callers, batches))
    assert sorted(each.status for each in responses) == [200] + [400] * 9
    assert {refused(each)[1] for each in responses if each.status == 400} == {
        "Driver already has an active batch"}
    assert sorted(each.status for each in batches) == ["DISPATCHED"] + ["READY_FOR_DISPATCH"] * 9


def test_one_report_sent_20_times_is_one_report(gateway, driver, admin, fleet):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 1)
    callers = [fleet.caller("driver", mine.subject, bearer=mine.bearer) for _ in range(20)]
    responses = run_concurrently(lambda each: deliver(each, batch.orders[0]), callers)
    assert {each.status for each in responses} == {200}
    assert len({each.body for each in responses}) == 1
    assert audit(gateway, batch, "status") == ["status"]
    assert notifications(gateway, "batch-completed", batch) == 1 and batch.status == "COMPLETED"


def test_of_two_contrary_reports_one_holds(gateway, driver, admin, fleet):
    for _ in range(10):
        mine = driver()
        batch = batch_in("IN_PROGRESS", admin, mine, 1)
        callers = [fleet.caller("driver", mine.subject, bearer=mine.bearer) for _ in range(2)]
        responses = run_concurrently(lambda pair: pair[1](pair[0], batch.orders[0]),
                                     zip(callers, (deliver, fail)))
        assert sorted(each.status for each in responses) == [200, 400]
        held = "DELIVERED" if responses[0].status == 200 else "FAILED"
        assert batch.get()["orders"][0]["status"] == held
        [lost] = [each for each in responses if each.status == 400]
        wanted = "FAILED" if held == "DELIVERED" else "DELIVERED"
        assert refused(lost)[2] == f"Cannot change status from {held} to {wanted}"


def test_of_many_guesses_at_once_five_are_compared(driver, admin, fleet):
    """Codes are counted when they come, not when they are answered."""
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, [order(deliveryOtp="4821")])
    callers = [fleet.caller("driver", mine.subject, bearer=mine.bearer) for _ in range(30)]
    responses = run_concurrently(
        lambda pair: deliver(pair[0], batch.orders[0], type="OTP", otp=f"{pair[1]:04}"),
        zip(callers, range(30)))
    assert Counter(each.status for each in responses) == {400: 5, 429: 25}


def test_accept_against_cancel(driver, admin, fleet):
    """In either order: a batch that was cancelled has no driver's work left."""
    for _ in range(10):
        mine, batch = driver(), Batch(admin).ready()
        office = fleet.admin()
        got, cancelled = run_concurrently(
            lambda work: work(), [lambda: accept(mine, batch),
                                  lambda: office.post(f"{batch.path}/cancel", {})])
        assert cancelled.status == 200 and batch.status == "CANCELLED"
        assert my_batch(mine)["batch"] is None
        told = [each["event"] for each in mine.expect_ok(
            "GET", "/api/driver/notifications")["data"]["notifications"]]
        assert ("batch-cancelled" in told) == (got.status == 200)
        if got.status != 200:
            assert refused(got) == TAKEN


def test_reports_against_reassignment(driver, admin, fleet):
    """A report counts for the driver who has the batch at that instant."""
    for _ in range(10):
        old, new, office = driver(), driver(), fleet.admin()
        batch = batch_in("IN_PROGRESS", admin, old, 1)
        reported, moved = run_concurrently(
            lambda work: work(), [lambda: deliver(old, batch.orders[0]),
                                  lambda: office.post(f"{batch.path}/reassign",
                                                      {"driverId": new.subject})])
        stored = batch.get()
        if reported.status == 200:
            # It ended the batch, before the reassignment or else after it was refused.
            assert (moved.status, stored["driverId"]) == (409, old.subject)
            assert stored["status"] == "COMPLETED"
        else:
            assert refused(reported)[0] == 403 and moved.status == 200
            assert stored["driverId"] == new.subject and stored["status"] == "IN_PROGRESS"


def test_last_reports_of_a_batch_at_once_end_it_once(gateway, driver, admin, fleet):
    mine = driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 20)
    callers = [fleet.caller("driver", mine.subject, bearer=mine.bearer) for _ in batch.orders]
    responses = run_concurrently(lambda pair: deliver(*pair), zip(callers, batch.orders))
    delivered = sorted(ok(each)["batchProgress"]["delivered"] for each in responses)
    assert delivered == list(range(1, 21)) and batch.status == "COMPLETED"
    assert notifications(gateway, "batch-completed", batch) == 1


def test_an_order_that_two_batches_want_is_in_one(admin, fleet):
    for _ in range(10):
        wanted, offices = order(), [fleet.admin() for _ in range(4)]
        paths = [f"/api/admin/batches/{object_id()}" for _ in offices]
        responses = run_concurrently(
            lambda pair: pair[0].put(pair[1], batch_fields([wanted, order()])), zip(offices, paths))
        assert sorted(each.status for each in responses) == [200, 409, 409, 409]
        found = [admin.request("GET", path).status for path in paths]
        assert sorted(found) == [200, 404, 404, 404]


def test_a_driver_who_gets_two_batches_at_once_keeps_one(driver, admin, fleet):
    """Two are reassigned to the driver, who accepts a third meanwhile."""
    for _ in range(10):
        mine, offices = driver(), [fleet.admin() for _ in range(2)]
        given = [batch_in("DISPATCHED", admin, driver()) for _ in offices]
        third = Batch(admin).ready()
        work = [lambda office=office, batch=batch: office.post(
            f"{batch.path}/reassign", {"driverId": mine.subject})
            for office, batch in zip(offices, given)] + [lambda: accept(mine, third)]
        statuses = [each.status for each in run_concurrently(lambda each: each(), work)]
        assert statuses.count(200) == 1 and set(statuses) <= {200, 400, 409}
        held = [each.id for each in (*given, third) if each.get()["driverId"] == mine.subject]
        assert held == [my_batch(mine)["batch"]["_id"]]


# Kills

WORKERS, ROUNDS = 4, 6


# So many that the steps of one driver stay within the limit of requests.
BATCHES = 10


class Evening:
    """Drivers who accept, pick up and deliver until the gateway is killed under them."""

    def __init__(self, gateway, admin, drivers: list):
        self.gateway, self.batches = gateway, [[] for _ in drivers]
        # What each driver was answered, by batch and step.
        self.answers: dict = {}
        self.kill_at, self.is_due = 0, threading.Event()
        for mine, batches in zip(drivers, self.batches):
            batches += [Batch(admin, 3).ready() for _ in range(BATCHES)]

    def work(self, mine, batches: list[Batch]) -> None:
        with contextlib.suppress(HTTPException, OSError), contextlib.closing(mine):
            for batch in batches:
                self.keep(batch, "accept", accept(mine, batch))
                self.keep(batch, "pickup", pick_up(mine, batch))
                for number, each in enumerate(batch.orders):
                    self.keep(batch, f"en route {number}", report(mine, each, "EN_ROUTE"))
                    self.keep(batch, f"deliver {number}", deliver(mine, each))

    def keep(self, batch: Batch, step: str, response) -> None:
        assert response.status == 200, response
        self.answers[batch.id, step] = response.json()
        if len(self.answers) >= self.kill_at:
            self.is_due.set()

    def run(self, drivers: list, kill_at: int) -> None:
        """Kills the gateway after so many answers."""
        self.kill_at = kill_at
        with ThreadPoolExecutor(len(drivers)) as pool:
            workers = [pool.submit(self.work, *pair) for pair in zip(drivers, self.batches)]
            assert self.is_due.wait(60)
            self.gateway.kill()
        for each in workers:
            each.result()


STEPS = ["accept", "pickup"] + [f"{what} {number}" for number in range(3)
                                for what in ("en route", "deliver")]


def expected(done: int) -> dict:
    """What a batch is after so many steps: its state, its orders', its audit and its events."""
    orders = ["READY" if done < 2 else "PICKED_UP"] * 3
    for step in STEPS[2:done]:
        what, number = step.rsplit(" ", 1)
        orders[int(number)] = "EN_ROUTE" if what == "en route" else "DELIVERED"
    state = ("READY_FOR_DISPATCH" if done == 0 else "DISPATCHED" if done == 1 else
             "COMPLETED" if done == len(STEPS) else "IN_PROGRESS")
    return {"state": state, "orders": orders, "counts": orders.count("DELIVERED"),
            "audit": ["update", "ready", "accept", "pickup", *["status"] * 6][:2 + done],
            "events": (int(done >= 1), int(done >= 1), int(done >= 2), int(done == len(STEPS)))}


def found(gateway, admin, batch: Batch) -> dict:
    stored = admin.expect_ok("GET", batch.path)["data"]["batch"]
    return {"state": stored["status"], "orders": [each["status"] for each in stored["orders"]],
            "counts": stored["summary"]["delivered"], "audit": audit(gateway, batch),
            "events": tuple(notifications(gateway, each, batch) for each in (
                "batch-accepted", "batch-taken", "batch-picked-up", "batch-completed"))}


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_during_accepts_and_reports_nothing_is_half_done(
        start_gateway, server, closing, seed):
    """Each batch is after a whole number of steps, not before what was answered and at most one
    step behind it; every repeated step gets the same answer as before the kill.
    """
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    admin = closing(Caller(gateway, "admin", "ada"))
    drivers = [hire(gateway, admin) for _ in range(WORKERS)]
    evening = Evening(gateway, admin, drivers)
    evening.run(drivers, random.Random(seed).randint(1, WORKERS * BATCHES * len(STEPS) // 2))
    # It was killed while they worked.
    assert 0 < len(evening.answers) < WORKERS * BATCHES * len(STEPS)
    gateway = start_gateway("kept", **settings)
    admin = closing(Caller(gateway, "admin", "ada"))
    for mine, batches in zip(drivers, evening.batches):
        again = closing(returning(gateway, mine))
        for batch in batches:
            answered = sum((batch.id, step) in evening.answers for step in STEPS)
            now = found(gateway, admin, batch)
            assert now in (expected(answered), expected(min(answered + 1, len(STEPS)))), answered
            for number, each in enumerate(batch.orders):
                said = evening.answers.get((batch.id, f"deliver {number}"))
                if said:
                    assert deliver(again, each).json() == said
            # The driver finishes the batch that was cut off.
            if now["state"] in ("DISPATCHED", "IN_PROGRESS"):
                assert accept(again, batch).status == 200
                if now["state"] == "DISPATCHED":
                    ok(pick_up(again, batch))
                for each in batch.orders:
                    ok(deliver(again, each))
            assert now["state"] == "READY_FOR_DISPATCH" or (
                admin.expect_ok("GET", batch.path)["data"]["batch"]["status"] == "COMPLETED")


def test_killed_during_a_race_one_driver_has_the_batch(start_gateway, server, closing):
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    admin = closing(Caller(gateway, "admin", "ada"))
    drivers = [hire(gateway, admin) for _ in range(20)]
    batches = [Batch(admin).ready() for _ in range(20)]
    winners, ready = {}, threading.Barrier(len(drivers) + 1)

    def race(mine) -> None:
        ready.wait()
        with contextlib.suppress(HTTPException, OSError), contextlib.closing(mine):
            for batch in batches:
                if accept(mine, batch).status == 200:
                    winners.setdefault(batch.id, []).append(mine)
                    return

    with ThreadPoolExecutor(len(drivers)) as pool:
        runs = [pool.submit(race, each) for each in drivers]
        ready.wait()
        time.sleep(0.02)  # draws the instant of the kill
        gateway.kill()
        for each in runs:
            each.result()
    assert all(len(each) == 1 for each in winners.values())
    gateway = start_gateway("kept", **settings)
    admin, holders = closing(Caller(gateway, "admin", "ada")), []
    for batch in batches:
        now = admin.expect_ok("GET", batch.path)["data"]["batch"]
        told = [won.subject for won in winners.get(batch.id, [])]
        assert told in ([], [now["driverId"]])
        taken = now["status"] == "DISPATCHED"
        assert taken == (now["driverId"] is not None)
        assert audit(gateway, batch, "accept") == ["accept"] * taken
        assert notifications(gateway, "batch-taken", batch) == taken
        holders += [now["driverId"]] * taken
    assert len(set(holders)) == len(holders)


def test_killed_while_windows_end_each_batch_is_announced_once(start_gateway, server, closing):
    """100 windows end at once; the gateway is killed between the first batch and the last."""
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    admin = closing(Caller(gateway, "admin", "ada"))
    time_ = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=2)
    end = time_.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    batches = [Batch(admin, 1, windowEndTime=end) for _ in range(100)]
    announced = "SELECT COUNT(*) FROM notifications WHERE event = 'new-batch-available'"
    wait_until(lambda: gateway.query(announced) > [(0,)], "the first is announced")
    gateway.kill()
    gateway = start_gateway("kept", **settings)
    wait_until(lambda: gateway.query(announced) == [(100,)], "all are announced")
    gateway.kill()
    assert gateway.query("SELECT status, version, COUNT(*) FROM batches GROUP BY status, version"
                         ) == [("READY_FOR_DISPATCH", 2, 100)]
    assert {len(audit(gateway, each)) for each in batches} == {2}
    assert {notifications(gateway, "new-batch-available", each) for each in batches} == {1}
