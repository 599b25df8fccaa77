"""How people react to what is sent to them, in /metrics and in /api/ops/stats."""

import pytest

from harness.fleet import join, report, unique_id, wait_until
from harness.metrics import Metrics


@pytest.fixture
def fleet(start_push_fleet):
    return start_push_fleet()


def increase(fleet, family: str, **labels: str):
    """Returns a function that returns by how much a metric has increased since this call."""
    before = fleet.metric(family, **labels)
    return lambda: fleet.metric(family, **labels) - before


def offered(fleet, driver) -> tuple[str, str]:
    """Assigns a job. Returns its code and the id of the notification."""
    code, response = fleet.order(driver)
    return code, response["data"]["notificationIds"][0]


# Pushes


def test_push_is_delivered_and_opened_once_per_person(fleet):
    driver = fleet.driver()
    for _ in range(2):
        fleet.android(driver)
    _, notification = offered(fleet, driver)
    fleet.wait_for_accepted(notification, count=2)
    delivered = increase(fleet, "push_delivered_total", provider="fcm", type="new_job")
    opened = increase(fleet, "push_opened_total", provider="fcm", type="new_job")
    for event in ("received", "received", "action_view_now", "action_accept", "action_dismiss"):
        report(driver, notification, event)
    assert (delivered(), opened()) == (1, 1)


def test_report_before_the_push_is_accepted_counts_when_it_is(fleet):
    driver = fleet.driver()
    device = fleet.ios(driver)
    device.fake.stop_listening()
    _, notification = offered(fleet, driver)
    report(driver, notification, "received")
    report(driver, notification, "action_accept")
    delivered = increase(fleet, "push_delivered_total", provider="apns", type="new_job")
    opened = increase(fleet, "push_opened_total", provider="apns", type="new_job")
    assert (delivered(), opened()) == (0, 0)
    device.fake.listen()
    fleet.wait_for_accepted(notification, seconds=60)
    assert (delivered(), opened()) == (1, 1)


def test_confirmation_is_a_delivery(fleet):
    driver = fleet.driver()
    fleet.android(driver)
    delivered = increase(fleet, "push_delivered_total", provider="fcm", type="new_job")
    client = fleet.listen(driver, f"driver-{driver.subject}")
    _, notification = offered(fleet, driver)
    client.expect_data("job-assigned")
    fleet.wait_for_accepted(notification)
    client.receive_until_pong()
    wait_until(lambda: delivered() == 1, "the confirmation is counted")
    report(driver, notification, "received")
    assert delivered() == 1


def test_without_a_push_nothing_is_delivered(fleet):
    driver = fleet.driver()
    _, notification = offered(fleet, driver)
    report(driver, notification)
    report(driver, notification, "action_view_now")
    assert fleet.metric("push_delivered_total") == fleet.metric("push_opened_total") == 0


# Offers


def test_accept_of_a_viewed_offer_is_timed(fleet):
    driver = fleet.driver()
    fleet.android(driver)
    code, notification = offered(fleet, driver)
    fleet.wait_for_accepted(notification)
    within = increase(fleet, "accept_within_total", within="5s", type="new_job")
    times = [increase(fleet, f"{name}_seconds_count") for name in (
        "notification_to_view", "view_to_accept", "push_to_accept")]
    report(driver, notification, "action_view_now")
    driver.accept(code)
    driver.accept(code)
    report(driver, notification, "action_accept")
    assert within() == 1 and [each() for each in times] == [1, 1, 1]


def test_offer_that_another_driver_has_taken(fleet):
    driver, winner = fleet.driver(), fleet.driver()
    code, notification = offered(fleet, driver)
    taken = increase(fleet, "accept_within_total", within="taken", type="new_job")
    report(driver, notification, "action_view_now")
    fleet.dispatcher.assign(code, winner.subject)
    winner.accept(code)
    assert driver.request("POST", f"/api/driver/jobs/{code}/accept").status == 409
    assert taken() == 1


def test_offer_that_is_cancelled_is_never_accepted(fleet):
    driver = fleet.driver()
    code, notification = offered(fleet, driver)
    never = increase(fleet, "accept_within_total", within="never", type="new_job")
    report(driver, notification, "action_view_now")
    fleet.dispatcher.order(code, "cancel-enhanced", reason="no")
    assert driver.request("POST", f"/api/driver/jobs/{code}/accept").status == 409
    assert never() == 1


def test_accept_of_a_route_is_counted(fleet):
    driver, route = fleet.driver(), unique_id("r")
    response = fleet.dispatcher.route(route, "assign-driver", driverId=driver.subject)
    within = increase(fleet, "accept_within_total", within="5s", type="new_route")
    driver.expect_ok("POST", f"/api/driver/routes/{route}/accept")
    report(driver, response["data"]["notificationIds"][0], "action_accept", "new_route")
    assert within() == 1


# Transitions and events


def test_transitions_are_counted_by_step(fleet):
    driver, other = fleet.driver(), fleet.driver()
    code, _ = offered(fleet, driver)
    driver.accept(code)
    path = f"/api/driver/jobs/{code}/progress"

    def count(before: str, to: str, outcome: str) -> float:
        return fleet.metric("transitions_total", **{"from": before, "to": to, "outcome": outcome})

    assert driver.request("PUT", path, {"step": "in_transit"}).status == 400
    assert other.request("PUT", path, {"step": "en_route"}).status == 403
    for _ in range(2):
        driver.progress(code, "en_route")
    unknown = "/api/driver/jobs/none/progress"
    assert other.request("PUT", unknown, {"step": "en_route"}).status == 404
    assert count("accepted", "in_transit", "invalid") == 1
    assert count("accepted", "en_route", "forbidden") == 1
    assert count("accepted", "en_route", "done") == 1
    assert fleet.metric("transitions_total") == 3


def test_events_are_counted_by_audience(fleet):
    driver = fleet.driver()

    def audience(event: str) -> dict:
        return fleet.dispatcher.expect_ok("GET", "/api/ops/stats")["perEvent"].get(event)

    offered(fleet, driver)
    assert audience("job-assigned") == {"subscribed": 0, "none": 2}  # also on admin-channel
    client = fleet.listen(fleet.dispatcher, "admin-channel")
    offered(fleet, driver)
    assert audience("job-assigned") == {"subscribed": 1, "none": 3}
    client.expect("job-assigned")
    client.expect("order-assigned")
    join(client, driver, f"private-driver-{driver.subject}")
    client.expect("job-assigned")
    client.expect("job-assigned")
    offered(fleet, driver)
    assert audience("job-assigned") == {"subscribed": 3, "none": 3}
    assert fleet.metric("fleet_events_total", event="job-assigned", audience="subscribed") == 3


def test_funnel_follows_a_notification(fleet):
    def funnel() -> dict:
        return fleet.dispatcher.expect_ok("GET", "/api/ops/stats")["funnel"]

    driver = fleet.driver()
    fleet.android(driver)
    before = funnel()["lastDay"]
    _, notification = offered(fleet, driver)
    fleet.wait_for_accepted(notification)
    for event in ("received", "action_view_now", "action_accept", "action_dismiss"):
        report(driver, notification, event)
    after = funnel()
    assert after["last15Minutes"] == after["lastHour"] == after["lastDay"]
    # Two of the three notifications are for admins.
    assert {name: after["lastDay"][name] - before[name] for name in before} == {
        "created": 3, "pushed": 1, "received": 1, "viewed": 1, "accepted": 1, "dismissed": 1}


# Requests


def test_requests_are_counted_by_path_method_and_status(fleet):
    driver = fleet.driver()
    path = "/api/driver/jobs/{id}/accept"
    for _ in range(2):
        assert driver.request("POST", "/api/driver/jobs/none/accept").status == 404
    fleet.caller().expect_error(401, "POST", "/api/driver/jobs/none/accept")
    assert driver.request("GET", "/api/nothing").status == 404
    # A loop counts the responses of a turn when it has sent all of them, and another loop may answer the scrape.
    fleet.wait_for_metric("requests_total", 1, endpoint="other", status="404")
    metrics: Metrics = fleet.metrics()
    counts = {"404": 2, "401": 1}
    for status, count in counts.items():
        assert metrics.value("fleetwire_requests_total", endpoint=path, method="POST",
                             status=status) == count
    assert metrics.value("fleetwire_request_seconds_count", endpoint=path, method="POST",
                         status="4xx") == 3
    assert metrics.total("fleetwire_requests_total") == metrics.total(
        "fleetwire_http_calls_received_total")


def test_upgrade_and_its_refusal_are_requests(fleet):
    fleet.listen(fleet.driver())
    assert fleet.dispatcher.request("GET", "/app/key1").status == 426
    fleet.wait_for_metric("requests_total", 1, endpoint="/app/{key}", method="GET", status="426")
    metrics = fleet.metrics()
    for status, count in (("101", 1), ("426", 1)):
        assert metrics.value("fleetwire_requests_total", endpoint="/app/{key}", method="GET",
                             status=status) == count


def test_stats_have_the_requests_of_the_last_minutes(fleet):
    http = fleet.dispatcher.expect_ok("GET", "/api/ops/stats")["http"]
    assert http.keys() == {"lastMinute", "last15Minutes"}
    for period in http.values():
        assert period.keys() == {"requests", "errors", "p50Ms", "p99Ms"}
        assert period["errors"] == 0 and 0 <= period["p50Ms"] <= period["p99Ms"]
    assert http["last15Minutes"]["requests"] >= http["lastMinute"]["requests"]
