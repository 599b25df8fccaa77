"""The driver's API: accepting jobs, reporting progress, and catching up after a gap."""

import json

import pytest

from harness.concurrency import run_concurrently
from harness.fleet import (ANY_TIME, ORDER_FIELDS, SETTINGS as FLEET, TIMESTAMP, expect_event,
                           expect_no_events, unique_id, without_ids)
from harness.metrics import scrape

SETTINGS = FLEET
STEPS = ["en_route", "arrived", "loading", "in_transit", "unloading", "completed"]
STATUSES = ["available", "assigned", "accepted", *STEPS]
JOB_TAKEN = "This job has already been accepted by another driver"
ROUTE_TAKEN = "This route has already been accepted by another driver"


@pytest.fixture
def driver(fleet):
    return fleet.driver(name="Dan")


# Accepting


def test_accepting_again_is_idempotent(admin, driver, code, api, fleet):
    admin.assign(code, driver.subject)
    response = driver.accept(code)
    assert response["message"] == "Job accepted successfully" and response["correlationId"]
    version = admin.get_order(code)["version"]
    dashboard = fleet.listen(admin, "admin-channel", f"booking-{code}")
    for key in (None, "one", "other"):
        assert driver.accept(code, key=key)["message"] == "Job already accepted"
    expect_no_events(api, dashboard)
    order = admin.get_order(code)
    assert (order["status"], order["driverId"],
            order["version"]) == ("accepted", driver.subject, version)


@pytest.mark.parametrize("step", STEPS[:-1])
def test_accepting_again_after_progress_changes_nothing(admin, driver, code, step):
    admin.assign(code, driver.subject)
    driver.accept(code)
    for each in STEPS[:STEPS.index(step) + 1]:
        driver.progress(code, each)
    assert driver.accept(code)["message"] == "Job already accepted"
    assert admin.get_order(code)["status"] == step


@pytest.mark.parametrize("accepted", [False, True])
def test_accepting_another_drivers_job_is_409(admin, driver, fleet, code, accepted):
    admin.assign(code, driver.subject)
    if accepted:
        driver.accept(code)
    assert fleet.driver().expect_error(409, "POST", f"/api/driver/jobs/{code}/accept") == JOB_TAKEN


def test_accepting_an_ended_job_is_409(admin, driver, fleet, code):
    admin.assign(code, driver.subject)
    admin.order(code, "cancel-enhanced")
    for person in (driver, fleet.driver()):
        assert "cancelled" in person.expect_error(409, "POST", f"/api/driver/jobs/{code}/accept")
    done = unique_id("O")
    admin.assign(done, driver.subject)
    driver.accept(done)
    for step in STEPS:
        driver.progress(done, step)
    assert "completed" in driver.expect_error(409, "POST", f"/api/driver/jobs/{done}/accept")


def test_unknown_jobs_are_404(driver, code):
    driver.expect_error(404, "POST", f"/api/driver/jobs/{code}/accept")
    driver.expect_error(404, "POST", f"/api/driver/routes/{code}/accept")
    driver.expect_error(404, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route"})


def test_job_is_found_by_booking_id(admin, driver, code):
    """The code takes precedence over the bookingId."""
    booking = unique_id("B")
    admin.assign(code, driver.subject, bookingId=booking)
    assert driver.accept(booking)["message"] == "Job accepted successfully"
    driver.progress(booking, "en_route")
    assert admin.get_order(code)["status"] == "en_route"
    admin.assign(booking, driver.subject)
    assert driver.accept(booking)["message"] == "Job accepted successfully"
    assert (admin.get_order(booking)["status"],
            admin.get_order(code)["status"]) == ("accepted", "en_route")


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
@pytest.mark.parametrize("kind, error", [("jobs", JOB_TAKEN), ("routes", ROUTE_TAKEN)])
def test_one_of_concurrent_claims_wins(admin, fleet, api, code, kind, error):
    admin.expect_ok("PUT", f"/api/admin/{'orders' if kind == 'jobs' else 'routes'}/{code}", {})
    dashboard = fleet.listen(admin, "admin-channel")
    drivers = [fleet.driver(name=f"n{number}") for number in range(12)]
    received = run_concurrently(
        lambda person: person.post(f"/api/driver/{kind}/{code}/accept"), drivers)
    responses = {person.subject: response for person, response in zip(drivers, received)}
    winners = [subject for subject, response in responses.items() if response.status == 200]
    assert len(winners) == 1, responses
    assert all(response.status == 409 and response.json()["error"] == error
               for subject, response in responses.items() if subject not in winners)
    events = (["job-assigned", "order-assigned", "job-accepted"] if kind == "jobs"
              else ["route-assigned", "route-accepted"])
    assert [dashboard.expect_data(event)["driverId"] for event in events] == winners * len(events)
    expect_no_events(api, dashboard)


def test_claim_sends_the_events_of_an_assignment(admin, driver, fleet, api, code):
    admin.expect_ok("PUT", f"/api/admin/orders/{code}",
                    ORDER_FIELDS | {"bookingId": code, "bookingReference": code})
    dashboard, own = (fleet.listen(admin, "admin-channel"),
                      fleet.listen(driver, f"driver-{driver.subject}"))
    driver.accept(code)
    ids = {"bookingId": code, "bookingReference": code}
    for event in ("job-assigned", "order-assigned"):
        expect_event(dashboard, "private-admin-channel", event, **ids, driverId=driver.subject,
                     driverName="Dan")
    expect_event(dashboard, "private-admin-channel", "job-accepted", **ids, driverId=driver.subject,
                 driverName="Dan", step="accepted", timestamp=ANY_TIME)
    expect_no_events(api, dashboard, own)
    order = admin.get_order(code)
    assert (order["status"], order["driverId"]) == ("accepted", driver.subject)


def test_accepting_a_route(admin, driver, fleet, code):
    path = f"/api/driver/routes/{code}/accept"
    admin.route(code, "assign-driver", driverId=driver.subject)
    assert fleet.driver().expect_error(409, "POST", path) == ROUTE_TAKEN
    assert driver.expect_ok("POST", path)["message"] == "Route accepted successfully"
    assert driver.expect_ok("POST", path)["message"] == "Route already accepted"
    assert admin.get_route(code)["status"] == "accepted"
    admin.route(code, "cancel")
    assert "cancelled" in driver.expect_error(409, "POST", path)


# Progress


@pytest.mark.parametrize("state", ["assigned", "accepted", *STEPS])
def test_only_the_next_step_is_allowed(admin, driver, fleet, api, code, state):
    """Tries each step in each state; the error names the allowed step, and no event is sent. The
    last step may be repeated: see below."""
    admin.assign(code, driver.subject)
    if state != "assigned":
        driver.accept(code)
    for step in STEPS[:STEPS.index(state) + 1] if state in STEPS else []:
        driver.progress(code, step)
    path, dashboard = (f"/api/driver/jobs/{code}/progress",
                       fleet.listen(admin, "admin-channel", f"booking-{code}"))
    following = STATUSES[STATUSES.index(state) + 1] if state != "completed" else None
    for step in STATUSES:
        if step == following and step != "accepted" or step == state and step in STEPS:
            continue
        error = driver.expect_error(400, "PUT", path, {"step": step})
        if step == following:
            assert "accept" in error  # only the accept endpoint is allowed
        elif following:
            assert (
                error == f"Cannot transition from {state} to {step}. Must go to {following} first.")
        else:
            assert error == f"Cannot transition from completed to {step}. The job is completed."
    expect_no_events(api, dashboard)
    assert admin.get_order(code)["status"] == state
    if following and following != "accepted":
        assert driver.progress(code,
                               following)["data"] == {"step": following, "timestamp": ANY_TIME}
        assert admin.get_order(code)["status"] == following


def test_repeated_report_gets_the_first_response_and_does_nothing(admin, driver, fleet, api, code):
    """Apps repeat requests whose response got lost, without an idempotency key."""
    admin.assign(code, driver.subject)
    driver.accept(code)
    path = f"/api/driver/jobs/{code}/progress"
    dashboard = fleet.listen(admin, "admin-channel", f"booking-{code}")
    for step in STEPS:
        first = driver.progress(code, step)
        moment = {"en_route": ["driver-en-route"], "arrived": ["driver-arrival"],
                  "in_transit": ["trip-started"], "completed": ["trip-completed"]}.get(step, [])
        for event in ["job-progress", "job-progress", *moment]:
            dashboard.expect_data(event)
        version = admin.get_order(code)["version"]
        before = scrape(admin).total("fleetwire_transitions_total")
        for more in ({}, {"notes": "again"}):
            assert driver.progress(code, step, **more) == first
        assert driver.request("PUT", path, {"step": step},
                              headers={"If-Match": "1"}).json() == first
        assert admin.get_order(code)["version"] == version
        assert scrape(admin).total("fleetwire_transitions_total") == before
        expect_no_events(api, dashboard)
    assert scrape(admin).value("fleetwire_fleet_actions_total", action="progress",
                               outcome="repeated") >= 3 * len(STEPS)


def test_report_is_no_repetition_if_something_happened_in_between(admin, driver, code):
    admin.assign(code, driver.subject)
    driver.accept(code)
    driver.progress(code, "en_route")
    admin.expect_ok("PUT", f"/api/admin/orders/{code}", {"customerName": "Another"})
    assert driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress",
                               {"step": "en_route"}) \
        == "Cannot transition from en_route to en_route. Must go to arrived first."


def test_progress_of_a_cancelled_job_is_400(admin, driver, code):
    admin.assign(code, driver.subject)
    driver.accept(code)
    admin.order(code, "cancel-enhanced")
    assert driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route"}) \
        == "Cannot transition from cancelled to en_route. The job is cancelled."


def test_progress_of_another_drivers_job_is_403(admin, driver, fleet, code):
    admin.assign(code, driver.subject)
    driver.accept(code)
    path = f"/api/driver/jobs/{code}/progress"
    fleet.driver().expect_error(403, "PUT", path, {"step": "en_route"})
    admin.assign(code, "another-driver")
    driver.expect_error(403, "PUT", path, {"step": "en_route"})
    admin.order(code, "unassign")
    assert driver.put(path, {"step": "en_route"}).status in (403, 409)


@pytest.mark.parametrize("field, values", [
    ("step", [None, 1, [], {}, "", "flying", "En_Route", "en_route ", "cancelled"]),
    ("notes", [1, [], {}]),
    ("latitude", ["51", 90.001, -91, 1e300, [], True]),
    ("longitude", ["0", 180.5, -181, {}, False])])
def test_invalid_progress_is_400_and_names_the_field(admin, driver, code, field, values):
    admin.assign(code, driver.subject)
    driver.accept(code)
    for value in values:
        assert field in driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress",
                                            {"step": "en_route"} | {field: value}), value
    assert "step" in driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress")
    assert admin.get_order(code)["status"] == "accepted"


@pytest.mark.parametrize("more",
                         [{}, {"latitude": 90, "longitude": -180},
                          {"latitude": -90.0, "longitude": 180}, {"notes": None, "latitude": None},
                          {"notes": "ü" * 100}])
def test_valid_progress_is_accepted(admin, driver, code, more):
    admin.assign(code, driver.subject)
    driver.accept(code)
    driver.progress(code, "en_route", **more)


# Lists


def test_list_contains_open_jobs_and_routes_of_the_driver(admin, driver, fleet):
    codes, route = [unique_id("O") for _ in range(4)], unique_id("T")
    for code in codes:
        admin.assign(code, driver.subject, bookingReference=f"r-{code}")
    admin.route(route, "assign-driver", driverId=driver.subject)
    admin.assign(unique_id("O"), fleet.driver().subject)
    admin.order(codes[2], "cancel-enhanced")
    admin.order(codes[3], "unassign")
    driver.accept(codes[1])
    response = driver.expect_ok("GET", "/api/driver/jobs")
    jobs = {job.get("code") or job.get("id"): job for job in response["data"]["jobs"]}
    assert set(jobs) == {codes[0], codes[1], route} and len(response["data"]["jobs"]) == 3
    assert jobs[codes[0]]["status"] == "assigned" and jobs[codes[1]]["status"] == "accepted"
    assert jobs[codes[0]]["bookingReference"] == f"r-{codes[0]}"
    assert fleet.driver().expect_ok("GET", "/api/driver/jobs")["data"]["jobs"] == []


def notifications(driver, query: str = "") -> list[dict]:
    return driver.expect_ok("GET", f"/api/driver/notifications{query}")["data"]["notifications"]


def test_list_contains_notifications_of_the_own_channel(admin, driver, fleet):
    """Lists the events of the driver's own channel, newest first."""
    code, client = (unique_id("O"),
                    fleet.listen(driver, f"driver-{driver.subject}", "drivers-channel"))
    admin.assign(code, driver.subject)
    admin.order(code, "unassign", reason="ill")
    admin.assign(unique_id("O"), fleet.driver().subject)
    admin.expect_ok("POST", "/api/admin/notifications",
                    {"type": "NEW_BATCH_AVAILABLE", "to": {"all": True}, "data": {}})
    own = [message for message in client.receive_until_pong()
           if message["channel"] == f"private-driver-{driver.subject}"]
    found = notifications(driver)
    assert [each["event"] for each in found] == ["schedule-updated", "order-removed",
                                                 "job-assigned"]
    for each, message in zip(found, reversed(own)):
        assert each.keys() == {"id", "event", "channel", "data", "createdAt", "readAt"}
        assert (each["data"] == json.loads(message["data"])
                and each["id"] == each["data"]["notificationId"])
        assert ((each["channel"], each["readAt"]) == (f"driver-{driver.subject}", None)
                and TIMESTAMP.fullmatch(each["createdAt"]))


def test_notifications_are_paged_by_limit_and_before(admin, driver):
    for _ in range(7):
        admin.assign(unique_id("O"), driver.subject)
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
        assert "limit" in driver.expect_error(400, "GET", f"/api/driver/notifications?{query}")


def test_before_reveals_no_notification_of_another_driver(admin, driver, fleet):
    other = fleet.driver()
    for person in (driver, other, driver):
        admin.assign(unique_id("O"), person.subject)
    foreign_id = notifications(other)[0]["id"]
    response = driver.request("GET", f"/api/driver/notifications?before={foreign_id}")
    assert response.status in (200, 400), response
    if response.status == 200:
        assert all(each["channel"] == f"driver-{driver.subject}"
                   for each in response.json()["data"]["notifications"])


def test_notifications_are_marked_as_read_once(admin, driver, fleet):
    other, path = fleet.driver(), "/api/driver/notifications/read"
    for person in (driver, driver, driver, other):
        admin.assign(unique_id("O"), person.subject)
    ids, foreign_id = [each["id"] for each in notifications(driver)], notifications(other)[0]["id"]
    driver.expect_ok("POST", path, {"ids": [ids[0], foreign_id, "unknown"]})
    first = notifications(driver)
    assert (TIMESTAMP.fullmatch(first[0]["readAt"])
            and [each["readAt"] for each in first[1:]] == [None, None])
    assert notifications(other)[0]["readAt"] is None
    driver.expect_ok("POST", path, {"all": True})
    second = notifications(driver)
    assert (second[0]["readAt"] == first[0]["readAt"]
            and all(TIMESTAMP.fullmatch(each["readAt"]) for each in second))
    assert notifications(other)[0]["readAt"] is None


@pytest.mark.parametrize("body",
                         [{}, {"ids": "x"}, {"ids": [1]}, {"ids": None}, {"all": "yes"}, {"all": 1},
                          {"all": False}, {"ids": {}}],
                         ids=json.dumps)
def test_invalid_read_marks_are_400(driver, body):
    error = driver.expect_error(400, "POST", "/api/driver/notifications/read", body)
    assert "ids" in error or "all" in error


@pytest.mark.parametrize("method, path",
                         [("GET", "/api/driver/jobs"), ("GET", "/api/driver/notifications"),
                          ("POST", "/api/driver/notifications/read"),
                          ("POST", "/api/driver/jobs/X/accept"),
                          ("PUT", "/api/driver/jobs/X/progress")])
def test_endpoints_require_role_driver(fleet, admin, method, path):
    for caller in (admin, fleet.customer(), fleet.ops()):
        caller.expect_error(403, method, path, {} if method != "GET" else None)


def test_driver_catches_up_after_a_gap(admin, driver, fleet):
    """The two lists contain everything that the device missed, with the ids of the missed events.
    """
    client, code = fleet.listen(driver, f"driver-{driver.subject}"), unique_id("O")
    first = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    assert client.expect_data("job-assigned")["notificationId"] == first
    client.close()
    second = admin.order(code, "remove-driver")["data"]["notificationIds"][0]
    third = admin.assign(code, driver.subject)["data"]["notificationIds"][0]
    assert [notification["id"] for notification in notifications(driver)] == [third, second, first]
    jobs = driver.expect_ok("GET", "/api/driver/jobs")["data"]["jobs"]
    assert [job["code"] for job in jobs] == [code]
    removal = without_ids(notifications(driver)[1]["data"])
    assert removal["message"] == "You have been removed from this job"


def test_a_former_driver_does_not_see_the_customer(admin, driver, fleet, code):
    """The list leaves out who the customer is and where; what the device missed is replayed as it was sent."""
    private = {name: ORDER_FIELDS[name] for name in ("customerName", "pickupAddress", "dropoffAddress")}

    def listed(person) -> list[dict]:
        return [{name: each["data"][name] for name in private} for each in notifications(person)
                if each["event"] == "job-assigned"]

    other, hidden = fleet.driver(), dict.fromkeys(private)
    admin.assign(code, driver.subject, **private)
    assert listed(driver) == [private]
    admin.assign(code, other.subject)
    assert (listed(driver), listed(other)) == ([hidden], [private])
    client = fleet.listen(driver, f"driver-{driver.subject}")
    assert private.items() <= client.expect_data("job-assigned").items()
    admin.assign(code, driver.subject)
    assert (listed(driver), listed(other)) == ([private] * 2, [hidden])
    driver.accept(code)
    for step in STEPS:
        driver.progress(code, step)
    assert listed(driver) == [private] * 2, "the driver has completed the job"
    cancelled = unique_id("O")
    admin.assign(cancelled, other.subject, **private)
    admin.order(cancelled, "cancel-enhanced")
    assert listed(other) == [hidden] * 2
