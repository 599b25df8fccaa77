"""Announcements by admins, telemetry of devices, and the operators' view."""

import json
import re

import pytest

from harness.apps import SECOND
from harness.fleet import (SETTINGS as FLEET, TIMESTAMP, ULID, Caller, Fleet, error_message,
                           expect_event, expect_no_events, unique_id)
from harness.metrics import Metrics

SETTINGS = FLEET
ANNOUNCE, LOG = "/api/admin/notifications", "/api/driver/notifications/log"
CATALOGUE = ["NEW_BATCH_AVAILABLE", "DRIVER_APPROVED", "DRIVER_REJECTED", "BATCH_REASSIGNED",
             "ORDER_CANCELLED"]
# What the catalogue adds to an announcement's data.
ADDED = {"DRIVER_APPROVED": {"action": "navigate_home"},
         "DRIVER_REJECTED": {"action": "navigate_rejection"}}


def announce(admin: Caller, to: dict, kind: str = "NEW_BATCH_AVAILABLE", **data) -> dict:
    return admin.expect_ok("POST", ANNOUNCE, {"type": kind, "to": to, "data": data})


# Announcements


@pytest.mark.parametrize("kind", CATALOGUE)
def test_event_name_is_the_type_in_kebab_case(admin, fleet, api, kind):
    driver = fleet.driver()
    client, other = (fleet.listen(driver, f"driver-{driver.subject}", "drivers-channel"),
                     fleet.listen(fleet.driver(), "drivers-channel"))
    data = {"batchId": "B1", "count": 3, "price": 1.5, "deep": {"a": [1, None, "ü"]},
            "nothing": None}
    response = announce(admin, {"driver": driver.subject}, kind, **data)
    received = expect_event(client, f"private-driver-{driver.subject}",
                            kind.lower().replace("_", "-"), **data, **ADDED.get(kind, {}))
    assert (response["data"]["notificationIds"] == [received["notificationId"]]
            and received["correlationId"] == response["correlationId"])
    expect_no_events(api, client, other)


def test_announce_to_several_drivers_is_one_notification_each(admin, fleet, api):
    people, other = [fleet.driver() for _ in range(3)], fleet.driver()
    clients = [fleet.listen(person, f"driver-{person.subject}", "drivers-channel")
               for person in [*people, other]]
    response = announce(admin, {"drivers": [person.subject for person in people]}, x=1)
    received = [expect_event(client, f"private-driver-{person.subject}", "new-batch-available", x=1)
                for client, person in zip(clients, people)]
    assert ([event["notificationId"] for event in received] == response["data"]["notificationIds"]
            and len(set(response["data"]["notificationIds"])) == 3)
    expect_no_events(api, *clients)


def test_announce_to_a_customer_uses_the_customers_channel(admin, fleet, api):
    customer = fleet.customer()
    client = fleet.listen(customer, f"customer-{customer.subject}")
    announce(admin, {"customer": customer.subject}, "ORDER_CANCELLED", orderId="o")
    expect_event(client, f"private-customer-{customer.subject}", "order-cancelled", orderId="o")
    expect_no_events(api, client)


def test_announce_to_all_is_one_notification(admin, fleet, api):
    clients = [fleet.listen(person, f"driver-{person.subject}", "drivers-channel")
               for person in (fleet.driver(), fleet.driver())]
    response = announce(admin, {"all": True}, y="z")
    received = {
        expect_event(client, "private-drivers-channel", "new-batch-available",
                     y="z")["notificationId"] for client in clients}
    assert received == set(response["data"]["notificationIds"]) and len(received) == 1
    expect_no_events(api, *clients)


def test_data_cannot_override_the_ids(admin, fleet):
    driver = fleet.driver()
    client = fleet.listen(driver, f"driver-{driver.subject}")
    response = announce(admin, {"driver": driver.subject}, notificationId="forged",
                        correlationId="forged", z=1)
    received = expect_event(client, f"private-driver-{driver.subject}", "new-batch-available", z=1)
    assert (received["notificationId"] == response["data"]["notificationIds"][0]
            and received["correlationId"] == response["correlationId"] != "forged")


@pytest.mark.parametrize("body, field", [
    ({"type": "UNKNOWN_TYPE"}, "type"), ({"to": {"driver": 1.5}}, "driver"),
    ({"data": {"x": "y" * 10_240}}, "data")],
                         ids=lambda value: json.dumps(value)[:40])
def test_invalid_announcements_are_400(admin, fleet, api, body, field):
    client = fleet.listen(admin, "driver-d1", "drivers-channel")
    assert field in admin.expect_error(400, "POST", ANNOUNCE,
                                       {"type": "DRIVER_APPROVED", "to": {"driver": "d1"},
                                        "data": {}} | body)
    expect_no_events(api, client)


# Telemetry


def report(notification: str, **more) -> dict:
    return {"notificationId": notification, "type": "new_job", "entityId": "e1",
            "event": "received", "timestamp": "2026-03-01T10:00:00.000Z"} | more


def history(caller: Caller, notification: str) -> tuple[dict, list[dict]]:
    received = caller.expect_ok("GET", f"/api/ops/notifications/{notification}")
    assert received.keys() == {"notification", "steps"}
    return received["notification"], received["steps"]


def test_history_lists_creation_and_reports(admin, fleet):
    driver, code = fleet.driver(), unique_id("O")
    response = admin.request("POST", f"/api/admin/orders/{code}/assign-driver",
                             {"driverId": driver.subject},
                             headers={"X-Correlation-ID": "life-1"}).json()
    first = response["data"]["notificationIds"][0]
    received, steps = history(admin, first)
    assert (received["id"], received["event"], received["channel"],
            received["correlationId"]) == (first, "job-assigned", f"driver-{driver.subject}",
                                           "life-1")
    assert (received["data"]["bookingId"] == code and received["data"]["notificationId"] == first
            and received["actor"] == "admin:ada" and received["action"] == "assign")
    assert steps[0]["step"] == "created" and all(TIMESTAMP.fullmatch(step["at"]) for step in steps)
    assert (TIMESTAMP.fullmatch(received["createdAt"])
            and TIMESTAMP.fullmatch(received["expiresAt"])
            and received["createdAt"] < received["expiresAt"])
    for event in ("received", "action_view_now", "action_accept", "action_dismiss"):
        assert driver.expect_ok("POST", LOG,
                                report(first, event=event,
                                       metadata={"title": "t", "message": "m"}))["success"] is True
    names = [step["step"] for step in history(admin, first)[1]]
    assert [name for name in names
            if name.startswith(("received", "action"))] == [
        "received", "action_view_now", "action_accept", "action_dismiss"]


def test_report_is_recorded_once_per_driver_and_event(admin, fleet):
    driver, other = fleet.driver(), fleet.driver()
    first = admin.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]
    for _ in range(3):
        driver.expect_ok("POST", LOG, report(first))
    other.expect_ok("POST", LOG, report(first))
    steps = [step for step in history(admin, first)[1] if step["step"] == "received"]
    assert sorted(step["by"]
                  for step in steps) == sorted(
        [f"driver:{driver.subject}", f"driver:{other.subject}"])


def test_reports_of_unknown_notifications_are_accepted(fleet):
    fleet.driver().expect_ok("POST", LOG,
                             report("01J00000000000000000000000", type="DRIVER_APPROVED"))
    fleet.driver().expect_ok("POST", LOG, report("whatever"))


@pytest.mark.parametrize("count", [1, 100])
def test_report_batch_records_each_event_once(admin, fleet, count):
    driver = fleet.driver()
    ids = [admin.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]
           for _ in range(min(count, 5))]
    assert driver.expect_ok("POST", LOG,
                            {"events": [report(ids[number % len(ids)])
                                        for number in range(count)]})["success"] is True
    for notification in ids:
        assert [step["step"] for step in history(admin, notification)[1]].count("received") == 1


@pytest.mark.parametrize("events", [[], {}, "x", [None], [[]], [report("x")] * 101],
                         ids=lambda events: json.dumps(events)[:12])
def test_invalid_report_batches_are_400(fleet, events):
    assert "events" in fleet.driver().expect_error(400, "POST", LOG, {"events": events})


BAD = {"notificationId": [None, "", 1, [], {}], "type": [None, "", 1, "unknown", []],
       "entityId": [None, 1, []], "event": [None, "", "Received", "opened", 1, []],
       "timestamp": [None, "", "yesterday", 1, []],
       "metadata": ["x", 1, [], {"title": 1}, {"message": []}]}


@pytest.mark.parametrize("field", BAD)
def test_invalid_report_is_400_and_names_the_field(admin, fleet, field):
    """Also in a batch, of which then no report is recorded."""
    driver = fleet.driver()
    first = admin.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]
    missing = report(first)
    missing.pop(field, None)
    for bad in [report(first, **{field: value}) for value in BAD[field]
                if (field, value) != ("metadata", None)] + (
        [missing] if field != "metadata" else []):
        names = [field, *(bad["metadata"] if isinstance(bad.get("metadata"), dict) else [])]
        for body in (bad, {"events": [report(first), bad, report(first, event="action_accept")]}):
            error = driver.expect_error(400, "POST", LOG, body)
            assert any(name in error for name in names), (error, body)
    assert all(not step["step"].startswith(("received", "action"))
               for step in history(admin, first)[1])


# Operators


STATS = ["connections", "channels", "subscriptions", "users"]


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_stats_count_connections_channels_subscriptions_and_users(admin, fleet, gateway, connect):
    def stats() -> dict:
        return admin.expect_ok("GET", "/api/ops/stats")

    before = stats()
    assert all(type(before[name]) is int for name in STATS), before
    driver = fleet.driver()
    clients = [fleet.signed_in(driver, f"driver-{driver.subject}")
               for _ in range(2)] + [connect(), connect(SECOND)]
    clients[2].subscribe(unique_id("x"))
    clients[3].subscribe(unique_id("y"))
    after = stats()
    assert {name: after[name] - before[name]
            for name in STATS} == {"connections": 4, "channels": 3, "subscriptions": 4, "users": 1}
    text = json.dumps(after)
    assert '"loops"' in text and '"apps"' in text, after
    assert len(after["loops"]) == gateway.loops
    assert sum(loop["connections"] for loop in after["loops"]) == after["connections"]
    apps = ({app["id"]: app for app in after["apps"]} if isinstance(after["apps"], list)
            else after["apps"])
    assert (sum(app["connections"] for app in apps.values()) == after["connections"]
            and apps["1001"]["connections"] >= 3 and apps["1002"]["connections"] >= 1)


def test_ops_endpoints_require_metrics_token_admin_or_ops(start_gateway, closing):
    """The rule that /metrics is open on the loopback does not apply when a metrics token is
    configured.
    """
    gateway = start_gateway(
        **{"sections": FLEET["sections"] | {"metrics": {"token": "metrics-token"}}})
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    first = admin.assign("O1", "d1")["data"]["notificationIds"][0]
    paths = ["/api/ops/stats", f"/api/ops/notifications/{first}", "/api/ops/notifications"]
    for caller in (admin, fleet.ops(), fleet.caller(bearer="metrics-token")):
        for path in paths:
            assert caller.request("GET", path).status == 200, path
        assert caller.request("GET", "/metrics").status == 200
    for caller in (fleet.driver("d1"), fleet.customer()):
        for path in paths:
            assert (error_message(path, caller.request("GET", path))
                    and caller.request("GET", path).status == 403)
        assert caller.request("GET", "/metrics").status in (401, 403)
    for caller in (fleet.caller(), fleet.caller(bearer="metrics-toke"), fleet.caller(bearer="")):
        for path in paths:
            assert caller.request("GET", path).status == 401
        assert caller.request("GET", "/metrics").status in (401, 403)


def test_loopback_needs_no_token_but_rejects_invalid_ones(fleet, api):
    """As for /metrics. A token that is sent is always checked."""
    assert api.get("/metrics").status == 200
    assert fleet.caller().request("GET", "/api/ops/stats").status in (200, 401)
    fleet.caller(bearer="nonsense").expect_error(401, "GET", "/api/ops/stats")
    fleet.driver().expect_error(403, "GET", "/api/ops/stats")
    assert fleet.ops().expect_ok("GET", "/api/ops/stats")


def test_unknown_notification_is_404(fleet):
    """The connection closes after an invalid path, so each request uses a new one."""
    for each in ("01J00000000000000000000404", "x", "%00", "x" * 500, "'%20OR%201=1"):
        response = fleet.admin().request("GET", f"/api/ops/notifications/{each}")
        assert response.status in (400, 404), response
        assert error_message("/api/ops/notifications", response)


def test_notifications_are_listed_newest_first(admin, fleet):
    driver = fleet.driver()
    ids = [admin.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]
           for _ in range(3)]
    path = f"/api/ops/notifications?channel=driver-{driver.subject}"
    found = admin.expect_ok("GET", path)["notifications"]
    assert [each["id"] for each in found] == list(reversed(ids))
    newest = admin.expect_ok("GET", "/api/ops/notifications?limit=2")["notifications"]
    assert len(newest) == 2 and all(ULID.fullmatch(each["id"]) for each in newest)


def test_metrics_count_events_and_rejections(admin, fleet):
    def scrape() -> Metrics:
        return Metrics(admin.request("GET", "/metrics").text)

    def labelled(metrics: Metrics, *words: str) -> float:
        return sum(value for _, labels, value in metrics.samples
                   if all(word in labels for word in words))

    driver, code = fleet.driver(), unique_id("O")
    before = scrape()
    admin.assign(code, driver.subject)
    driver.expect_error(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "completed"})
    fleet.driver().expect_error(403, "POST", ANNOUNCE, {})
    fleet.caller().expect_error(401, "POST", ANNOUNCE, {})
    after = scrape()
    for words in (['"job-assigned"'], ['"order-assigned"']):
        assert labelled(after, *words) > labelled(before, *words), words
    assert after.total("fleetwire_notifications_total") > before.total(
        "fleetwire_notifications_total")
    known = {(name, labels): value for name, labels, value in before.samples}
    grown = [name for name, labels, value in after.samples
             if re.search("transition|refus|reject|denied|fail", name + labels)
             and value > known.get((name, labels), 0)]
    assert grown, "no counter of failed transitions or rejections"
    assert "fleetwire_store_commit_seconds" in after.types


# Correlation ids


PATHS = [("GET", "/healthz"), ("GET", "/metrics"), ("GET", "/nowhere"), ("POST", "/pusher/auth"),
         ("POST", "/pusher/user-auth"), ("GET", "/api/admin/orders/X9"),
         ("POST", "/api/admin/orders/X9/unassign"), ("PUT", "/api/admin/orders/a%20b"),
         ("POST", "/api/admin/nowhere"), ("DELETE", "/api/admin/orders/X9"),
         ("GET", "/api/driver/jobs"), ("GET", "/api/ops/stats"),
         ("GET", "/api/ops/notifications/X"), ("POST", "/api/auth/fcm-token"),
         ("POST", "/app-register-device"), ("POST", "/apps/1001/events"),
         ("GET", "/apps/1001/channels"), ("GET", "/apps/1001/nowhere")]


@pytest.mark.parametrize("method, path", PATHS, ids=lambda value: value)
def test_each_response_has_a_correlation_id(fleet, admin, method, path):
    for caller in (admin, fleet.caller()):
        for given in ("a", "x" * 128, "Ab-1_.:/+="):
            response = caller.request(method, path, headers={"X-Correlation-ID": given})
            assert response.headers["x-correlation-id"] == given, response
        generated = {caller.request(method, path).headers["x-correlation-id"] for _ in range(3)}
        assert len(generated) == 3 and all(1 <= len(each) <= 128 for each in generated)


@pytest.mark.parametrize("given", ["", "x" * 129, "tab\there", "\xfc", "x" * 3000, "a b", "<b>", "'x'", "a\"b"],
                         ids=lambda given: ascii(given[:9]))
@pytest.mark.parametrize("method, path", [PATHS[0], PATHS[5], PATHS[15]], ids=lambda value: value)
def test_invalid_correlation_ids_are_replaced(admin, method, path, given):
    generated = admin.request(method, path,
                              headers={"X-Correlation-ID": given.encode("latin-1")}).headers[
        "x-correlation-id"]
    assert (generated != given and 1 <= len(generated) <= 128 and generated.isascii()
            and generated.isprintable())


def test_correlation_id_is_logged(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    admin = Fleet(gateway, closing).admin()
    assert admin.post("/api/admin/orders/L1/assign-driver", {"driverId": "d1"},
                      headers={"X-Correlation-ID": "look-for-me"}).status == 200
    gateway.stop()
    assert "look-for-me" in gateway.log()
