"""The driver's side: accepting, getting on, and finding everything again after a gap."""

import json
import threading

import pytest

from harness.fleet import MOMENT, NOW, ORDER_FIELDS, SETTINGS as FLEET, fresh, hear, hear_nothing, without_ids

SETTINGS = FLEET
STEPS = ["en_route", "arrived", "loading", "in_transit", "unloading", "completed"]
WAY = ["available", "assigned", "accepted", *STEPS]
TAKEN = "This job has already been accepted by another driver"
ROUTE_TAKEN = "This route has already been accepted by another driver"


@pytest.fixture
def admin(fleet):
    return fleet.admin()


@pytest.fixture
def driver(fleet):
    return fleet.driver(name="Dan")


@pytest.fixture
def code():
    return fresh("O")


# Accepting


def test_accept_and_again(admin, driver, code, api, fleet):
    admin.assign(code, driver.subject)
    answer = driver.accept(code)
    assert answer["message"] == "Job accepted successfully" and answer["correlationId"]
    version = admin.seen(code)["version"]
    dashboard = fleet.listen(admin, "admin-channel", f"booking-{code}")
    for key in (None, "one", "other"):
        assert driver.accept(code, key=key)["message"] == "Job already accepted"
    hear_nothing(api, dashboard)
    order = admin.seen(code)
    assert (order["status"], order["driverId"], order["version"]) == ("accepted", driver.subject, version)


@pytest.mark.parametrize("step", STEPS[:-1])
def test_accept_again_on_the_way_changes_nothing(admin, driver, code, step):
    admin.assign(code, driver.subject)
    driver.accept(code)
    for each in STEPS[:STEPS.index(step) + 1]:
        driver.progress(code, each)
    assert driver.accept(code)["message"] == "Job already accepted"
    assert admin.seen(code)["status"] == step


@pytest.mark.parametrize("accepted", [False, True])
def test_anothers_job_is_taken(admin, driver, fleet, code, accepted):
    admin.assign(code, driver.subject)
    if accepted:
        driver.accept(code)
    assert fleet.driver().refused(409, "POST", f"/api/driver/jobs/{code}/accept") == TAKEN


def test_what_is_over_cannot_be_accepted(admin, driver, fleet, code):
    admin.assign(code, driver.subject)
    admin.order(code, "cancel-enhanced")
    for person in (driver, fleet.driver()):
        assert "cancelled" in person.refused(409, "POST", f"/api/driver/jobs/{code}/accept")
    done = fresh("O")
    admin.assign(done, driver.subject)
    driver.accept(done)
    for step in STEPS:
        driver.progress(done, step)
    assert "completed" in driver.refused(409, "POST", f"/api/driver/jobs/{done}/accept")


def test_unknown_jobs(driver, code):
    driver.refused(404, "POST", f"/api/driver/jobs/{code}/accept")
    driver.refused(404, "POST", f"/api/driver/routes/{code}/accept")
    driver.refused(404, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route"})


def test_a_job_by_its_bookingId(admin, driver, code):
    """The code goes before the bookingId."""
    booking = fresh("B")
    admin.assign(code, driver.subject, bookingId=booking)
    assert driver.accept(booking)["message"] == "Job accepted successfully"
    driver.progress(booking, "en_route")
    assert admin.seen(code)["status"] == "en_route"
    admin.assign(booking, driver.subject)
    assert driver.accept(booking)["message"] == "Job accepted successfully"
    assert (admin.seen(booking)["status"], admin.seen(code)["status"]) == ("accepted", "en_route")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
@pytest.mark.parametrize("kind, taken", [("jobs", TAKEN), ("routes", ROUTE_TAKEN)])
def test_of_many_who_claim_one_wins(admin, fleet, api, code, kind, taken):
    admin.done("PUT", f"/api/admin/{'orders' if kind == 'jobs' else 'routes'}/{code}", {})
    dashboard = fleet.listen(admin, "admin-channel")
    drivers, answers, barrier = [fleet.driver(name=f"n{number}") for number in range(12)], {}, threading.Barrier(12)

    def claim(person) -> None:
        barrier.wait()
        answers[person.subject] = person.post(f"/api/driver/{kind}/{code}/accept")

    threads = [threading.Thread(target=claim, args=[person]) for person in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [subject for subject, answer in answers.items() if answer.status == 200]
    assert len(winners) == 1, answers
    assert all(answer.status == 409 and answer.json()["error"] == taken for subject, answer in answers.items() if subject not in winners)
    events = ["job-assigned", "order-assigned", "job-accepted"] if kind == "jobs" else ["route-assigned", "route-accepted"]
    assert [dashboard.expect_data(event)["driverId"] for event in events] == winners * len(events)
    hear_nothing(api, dashboard)


def test_a_claim_is_told_like_an_assignment(admin, driver, fleet, api, code):
    admin.done("PUT", f"/api/admin/orders/{code}", ORDER_FIELDS | {"bookingId": code, "bookingReference": code})
    dashboard, own = fleet.listen(admin, "admin-channel"), fleet.listen(driver, f"driver-{driver.subject}")
    driver.accept(code)
    ids = {"bookingId": code, "bookingReference": code}
    for event in ("job-assigned", "order-assigned"):
        hear(dashboard, "private-admin-channel", event, **ids, driverId=driver.subject, driverName="Dan")
    hear(dashboard, "private-admin-channel", "job-accepted", **ids, driverId=driver.subject, driverName="Dan", step="accepted", timestamp=NOW)
    hear_nothing(api, dashboard, own)
    order = admin.seen(code)
    assert (order["status"], order["driverId"]) == ("accepted", driver.subject)


def test_a_route_is_accepted_likewise(admin, driver, fleet, code):
    path = f"/api/driver/routes/{code}/accept"
    admin.route(code, "assign-driver", driverId=driver.subject)
    assert fleet.driver().refused(409, "POST", path) == ROUTE_TAKEN
    assert driver.done("POST", path)["message"] == "Route accepted successfully"
    assert driver.done("POST", path)["message"] == "Route already accepted"
    assert admin.seen_route(code)["status"] == "accepted"
    admin.route(code, "cancel")
    assert "cancelled" in driver.refused(409, "POST", path)


# Progress


@pytest.mark.parametrize("state", ["assigned", "accepted", *STEPS])
def test_only_the_next_step(admin, driver, fleet, api, code, state):
    """From each state each step; a refusal says what would be allowed, and tells nobody."""
    admin.assign(code, driver.subject)
    if state != "assigned":
        driver.accept(code)
    for step in STEPS[:STEPS.index(state) + 1] if state in STEPS else []:
        driver.progress(code, step)
    path, dashboard = f"/api/driver/jobs/{code}/progress", fleet.listen(admin, "admin-channel", f"booking-{code}")
    following = WAY[WAY.index(state) + 1] if state != "completed" else None
    for step in ["accepted", *STEPS]:
        if step == following and step != "accepted":
            continue
        error = driver.refused(400, "PUT", path, {"step": step})
        if step == following:
            assert "accept" in error  # by accept, and by nothing else
        elif following:
            assert error == f"Cannot transition from {state} to {step}. Must go to {following} first."
        else:
            assert error == f"Cannot transition from completed to {step}. The job is completed."
    hear_nothing(api, dashboard)
    assert admin.seen(code)["status"] == state
    if following and following != "accepted":
        assert driver.progress(code, following)["data"] == {"step": following, "timestamp": NOW}
        assert admin.seen(code)["status"] == following


def test_progress_of_a_cancelled_job(admin, driver, code):
    admin.assign(code, driver.subject)
    driver.accept(code)
    admin.order(code, "cancel-enhanced")
    assert driver.refused(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route"}) \
        == "Cannot transition from cancelled to en_route. The job is cancelled."


def test_progress_of_anothers_job(admin, driver, fleet, code):
    admin.assign(code, driver.subject)
    driver.accept(code)
    path = f"/api/driver/jobs/{code}/progress"
    fleet.driver().refused(403, "PUT", path, {"step": "en_route"})
    admin.assign(code, "somebody-else")
    driver.refused(403, "PUT", path, {"step": "en_route"})
    admin.order(code, "unassign")
    assert driver.put(path, {"step": "en_route"}).status in (403, 409)


@pytest.mark.parametrize("field, values", [
    ("step", [None, 1, [], {}, "", "flying", "En_Route", "en_route ", "available", "assigned", "cancelled"]), ("notes", [1, [], {}]),
    ("latitude", ["51", 90.001, -91, 1e300, [], True]), ("longitude", ["0", 180.5, -181, {}, False])])
def test_wrong_reports_are_400_and_name_the_field(admin, driver, code, field, values):
    admin.assign(code, driver.subject)
    driver.accept(code)
    for value in values:
        assert field in driver.refused(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route"} | {field: value}), value
    assert "step" in driver.refused(400, "PUT", f"/api/driver/jobs/{code}/progress")
    assert admin.seen(code)["status"] == "accepted"


@pytest.mark.parametrize("more", [{}, {"latitude": 90, "longitude": -180}, {"latitude": -90.0, "longitude": 180}, {"notes": None, "latitude": None}, {"notes": "ü" * 100}])
def test_right_ones_are_taken(admin, driver, code, more):
    admin.assign(code, driver.subject)
    driver.accept(code)
    driver.progress(code, "en_route", **more)


# Finding it again


def test_the_list_of_jobs(admin, driver, fleet):
    codes, route = [fresh("O") for _ in range(4)], fresh("T")
    for code in codes:
        admin.assign(code, driver.subject, bookingReference=f"r-{code}")
    admin.route(route, "assign-driver", driverId=driver.subject)
    admin.assign(fresh("O"), fleet.driver().subject)
    admin.order(codes[2], "cancel-enhanced")
    admin.order(codes[3], "unassign")
    driver.accept(codes[1])
    answer = driver.done("GET", "/api/driver/jobs")
    jobs = {job.get("code") or job.get("id"): job for job in answer["data"]["jobs"]}
    assert set(jobs) == {codes[0], codes[1], route} and len(answer["data"]["jobs"]) == 3
    assert jobs[codes[0]]["status"] == "assigned" and jobs[codes[1]]["status"] == "accepted"
    assert jobs[codes[0]]["bookingReference"] == f"r-{codes[0]}"
    assert fleet.driver().done("GET", "/api/driver/jobs")["data"]["jobs"] == []


def notifications(driver, query: str = "") -> list[dict]:
    return driver.done("GET", f"/api/driver/notifications{query}")["data"]["notifications"]


def test_the_list_of_notifications(admin, driver, fleet):
    """What was said on the driver's own channel, as it was said, newest first."""
    code, client = fresh("O"), fleet.listen(driver, f"driver-{driver.subject}", "drivers-channel")
    admin.assign(code, driver.subject)
    admin.order(code, "unassign", reason="ill")
    admin.assign(fresh("O"), fleet.driver().subject)
    admin.done("POST", "/api/admin/notifications", {"type": "NEW_BATCH_AVAILABLE", "to": {"all": True}, "data": {}})
    own = [message for message in client.until_pong() if message["channel"] == f"private-driver-{driver.subject}"]
    found = notifications(driver)
    assert [each["event"] for each in found] == ["schedule-updated", "order-removed", "job-assigned"]
    for each, message in zip(found, reversed(own)):
        assert each.keys() == {"id", "event", "channel", "data", "createdAt", "readAt"}
        assert each["data"] == json.loads(message["data"]) and each["id"] == each["data"]["notificationId"]
        assert (each["channel"], each["readAt"]) == (f"driver-{driver.subject}", None) and MOMENT.fullmatch(each["createdAt"])


def test_paging(admin, driver):
    for _ in range(7):
        admin.assign(fresh("O"), driver.subject)
    everything = [each["id"] for each in notifications(driver)]
    assert len(everything) == 7 and everything == sorted(everything, reverse=True)
    found, before = [], ""
    while page := notifications(driver, f"?limit=3{before}"):
        assert len(page) <= 3
        found += [each["id"] for each in page]
        before = f"&before={page[-1]['id']}"
    assert found == everything
    assert len(notifications(driver, "?limit=1")) == 1
    for query in ("limit=x", "limit=-1", "limit=1.5", "limit="):
        assert "limit" in driver.refused(400, "GET", f"/api/driver/notifications?{query}")


def test_nobody_pages_by_anothers_notifications(admin, driver, fleet):
    other = fleet.driver()
    for person in (driver, other, driver):
        admin.assign(fresh("O"), person.subject)
    theirs = notifications(other)[0]["id"]
    answer = driver.ask("GET", f"/api/driver/notifications?before={theirs}")
    assert answer.status in (200, 400), answer
    if answer.status == 200:
        assert all(each["channel"] == f"driver-{driver.subject}" for each in answer.json()["data"]["notifications"])


def test_read_marks(admin, driver, fleet):
    other, path = fleet.driver(), "/api/driver/notifications/read"
    for person in (driver, driver, driver, other):
        admin.assign(fresh("O"), person.subject)
    ids, theirs = [each["id"] for each in notifications(driver)], notifications(other)[0]["id"]
    driver.done("POST", path, {"ids": [ids[0], theirs, "unknown"]})
    first = notifications(driver)
    assert MOMENT.fullmatch(first[0]["readAt"]) and [each["readAt"] for each in first[1:]] == [None, None]
    assert notifications(other)[0]["readAt"] is None
    driver.done("POST", path, {"all": True})
    second = notifications(driver)
    assert second[0]["readAt"] == first[0]["readAt"] and all(MOMENT.fullmatch(each["readAt"]) for each in second)
    assert notifications(other)[0]["readAt"] is None


@pytest.mark.parametrize("body", [{}, {"ids": "x"}, {"ids": [1]}, {"ids": None}, {"all": "yes"}, {"all": 1}, {"all": False}, {"ids": {}}], ids=json.dumps)
def test_read_marks_of_nonsense(driver, body):
    error = driver.refused(400, "POST", "/api/driver/notifications/read", body)
    assert "ids" in error or "all" in error


@pytest.mark.parametrize("method, path", [("GET", "/api/driver/jobs"), ("GET", "/api/driver/notifications"), ("POST", "/api/driver/notifications/read"),
                                          ("POST", "/api/driver/jobs/X/accept"), ("PUT", "/api/driver/jobs/X/progress")])
def test_nobody_but_drivers(fleet, admin, method, path):
    for caller in (admin, fleet.customer(), fleet.ops()):
        caller.refused(403, method, path, {} if method != "GET" else None)


def test_a_driver_rebuilds_after_a_gap(admin, driver, fleet):
    """All that a phone missed is in the two lists, with the ids it would have heard."""
    client, code = fleet.listen(driver, f"driver-{driver.subject}"), fresh("O")
    first = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    assert client.expect_data("job-assigned")["notificationId"] == first
    client.close()
    second = admin.order(code, "remove-driver")["data"]["notificationIds"][0]
    third = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    assert [each["id"] for each in notifications(driver)] == [third, second, first]
    assert [job["code"] for job in driver.done("GET", "/api/driver/jobs")["data"]["jobs"]] == [code]
    assert without_ids(notifications(driver)[1]["data"])["message"] == "You have been removed from this job"
