"""Notifications that an admin words, what phones report of them, and what operators see."""

import json
import re

import pytest

from harness.apps import SECOND
from harness.fleet import MOMENT, SETTINGS as FLEET, ULID, Caller, Fleet, error_of, fresh, hear, hear_nothing
from harness.metrics import Metrics

SETTINGS = FLEET
ANNOUNCE, LOG = "/api/admin/notifications", "/api/driver/notifications/log"
CATALOGUE = ["NEW_BATCH_AVAILABLE", "DRIVER_APPROVED", "DRIVER_REJECTED", "BATCH_REASSIGNED", "ORDER_CANCELLED"]


@pytest.fixture
def admin(fleet):
    return fleet.admin()


def announce(admin: Caller, to: dict, kind: str = "NEW_BATCH_AVAILABLE", **data) -> dict:
    return admin.done("POST", ANNOUNCE, {"type": kind, "to": to, "data": data})


# What admins word


@pytest.mark.parametrize("kind", CATALOGUE)
def test_every_type_by_its_name_in_kebab(admin, fleet, api, kind):
    driver = fleet.driver()
    client, other = fleet.listen(driver, f"driver-{driver.subject}", "drivers-channel"), fleet.listen(fleet.driver(), "drivers-channel")
    data = {"batchId": "B1", "count": 3, "price": 1.5, "deep": {"a": [1, None, "ü"]}, "nothing": None}
    answer = announce(admin, {"driver": driver.subject}, kind, **data)
    said = hear(client, f"private-driver-{driver.subject}", kind.lower().replace("_", "-"), **data)
    assert answer["data"]["notificationIds"] == [said["notificationId"]] and said["correlationId"] == answer["correlationId"]
    hear_nothing(api, client, other)


def test_to_several_drivers_each_gets_his_own(admin, fleet, api):
    people, other = [fleet.driver() for _ in range(3)], fleet.driver()
    clients = [fleet.listen(person, f"driver-{person.subject}", "drivers-channel") for person in [*people, other]]
    answer = announce(admin, {"drivers": [person.subject for person in people]}, x=1)
    heard = [hear(client, f"private-driver-{person.subject}", "new-batch-available", x=1) for client, person in zip(clients, people)]
    assert [said["notificationId"] for said in heard] == answer["data"]["notificationIds"] and len(set(answer["data"]["notificationIds"])) == 3
    hear_nothing(api, *clients)


def test_to_a_customer(admin, fleet, api):
    customer = fleet.customer()
    client = fleet.listen(customer, f"customer-{customer.subject}")
    announce(admin, {"customer": customer.subject}, "ORDER_CANCELLED", orderId="o")
    hear(client, f"private-customer-{customer.subject}", "order-cancelled", orderId="o")
    hear_nothing(api, client)


def test_to_all_is_one_notification(admin, fleet, api):
    clients = [fleet.listen(person, f"driver-{person.subject}", "drivers-channel") for person in (fleet.driver(), fleet.driver())]
    answer = announce(admin, {"all": True}, y="z")
    heard = {hear(client, "private-drivers-channel", "new-batch-available", y="z")["notificationId"] for client in clients}
    assert heard == set(answer["data"]["notificationIds"]) and len(heard) == 1
    hear_nothing(api, *clients)


def test_the_senders_data_cannot_forge_the_ids(admin, fleet):
    driver = fleet.driver()
    client = fleet.listen(driver, f"driver-{driver.subject}")
    answer = announce(admin, {"driver": driver.subject}, notificationId="forged", correlationId="forged", z=1)
    said = hear(client, f"private-driver-{driver.subject}", "new-batch-available", z=1)
    assert said["notificationId"] == answer["data"]["notificationIds"][0] and said["correlationId"] == answer["correlationId"] != "forged"


@pytest.mark.parametrize("body, field", [
    ({"type": None}, "type"), ({"type": 1}, "type"), ({"type": "UNKNOWN_TYPE"}, "type"), ({"type": "new-batch-available "}, "type"), ({"type": ""}, "type"),
    ({"to": None}, "to"), ({"to": {}}, "to"), ({"to": "all"}, "to"), ({"to": ["d1"]}, "to"), ({"to": {"driver": 1}}, "driver"), ({"to": {"driver": ""}}, "driver"),
    ({"to": {"driver": "a b"}}, "driver"), ({"to": {"drivers": []}}, "drivers"), ({"to": {"drivers": "d1"}}, "drivers"), ({"to": {"drivers": ["d1", 2]}}, "drivers"),
    ({"to": {"drivers": ["d1", "a/b"]}}, "drivers"), ({"to": {"customer": []}}, "customer"), ({"to": {"all": False}}, "all"), ({"to": {"all": "yes"}}, "all"),
    ({"to": {"driver": "d1", "all": True}}, "to"), ({"data": []}, "data"), ({"data": "x"}, "data"), ({"data": {"x": "y" * 10_240}}, "data")], ids=lambda value: json.dumps(value)[:40])
def test_what_cannot_be_sent(admin, fleet, api, body, field):
    client = fleet.listen(admin, "driver-d1", "drivers-channel")
    assert field in admin.refused(400, "POST", ANNOUNCE, {"type": "DRIVER_APPROVED", "to": {"driver": "d1"}, "data": {}} | body)
    hear_nothing(api, client)


# Telemetry


def report(notification: str, **more) -> dict:
    return {"notificationId": notification, "type": "new_job", "entityId": "e1", "event": "received", "timestamp": "2026-03-01T10:00:00.000Z"} | more


def life(caller: Caller, notification: str) -> tuple[dict, list[dict]]:
    said = caller.done("GET", f"/api/ops/notifications/{notification}")
    assert said.keys() == {"notification", "steps"}
    return said["notification"], said["steps"]


def test_the_life_of_a_notification(admin, fleet):
    driver, code = fleet.driver(), fresh("O")
    answer = admin.ask("POST", f"/api/admin/orders/{code}/assign-driver", {"driverId": driver.subject}, headers={"X-Correlation-ID": "life-1"}).json()
    first = answer["data"]["notificationIds"][0]
    said, steps = life(admin, first)
    assert (said["id"], said["event"], said["channel"], said["correlationId"]) == (first, "job-assigned", f"driver-{driver.subject}", "life-1")
    assert said["data"]["bookingId"] == code and said["data"]["notificationId"] == first and said["actor"] == "admin:ada" and said["action"] == "assign"
    assert steps[0]["step"] == "created" and all(MOMENT.fullmatch(step["at"]) for step in steps)
    assert MOMENT.fullmatch(said["createdAt"]) and MOMENT.fullmatch(said["expiresAt"]) and said["createdAt"] < said["expiresAt"]
    for event in ("received", "action_view_now", "action_accept", "action_dismiss"):
        assert driver.done("POST", LOG, report(first, event=event, metadata={"title": "t", "message": "m"}))["success"] is True
    names = [step["step"] for step in life(admin, first)[1]]
    assert [name for name in names if name.startswith(("received", "action"))] == ["received", "action_view_now", "action_accept", "action_dismiss"]


def test_it_is_counted_once_per_driver_and_event(admin, fleet):
    driver, other = fleet.driver(), fleet.driver()
    first = admin.assign(fresh("O"), driver.subject)["data"]["notificationIds"][0]
    for _ in range(3):
        driver.done("POST", LOG, report(first))
    other.done("POST", LOG, report(first))
    steps = [step for step in life(admin, first)[1] if step["step"] == "received"]
    assert sorted(step["subject"] for step in steps) == sorted([f"driver:{driver.subject}", f"driver:{other.subject}"])


def test_unknown_notifications_are_taken(fleet):
    fleet.driver().done("POST", LOG, report("01J00000000000000000000000", type="DRIVER_APPROVED"))
    fleet.driver().done("POST", LOG, report("whatever"))


@pytest.mark.parametrize("count", [1, 100])
def test_batches(admin, fleet, count):
    driver = fleet.driver()
    ids = [admin.assign(fresh("O"), driver.subject)["data"]["notificationIds"][0] for _ in range(min(count, 5))]
    assert driver.done("POST", LOG, {"events": [report(ids[number % len(ids)]) for number in range(count)]})["success"] is True
    for each in ids:
        assert [step["step"] for step in life(admin, each)[1]].count("received") == 1


@pytest.mark.parametrize("events", [[], {}, "x", [None], [[]], [report("x")] * 101], ids=lambda events: json.dumps(events)[:12])
def test_batches_of_other_sizes_and_kinds(fleet, events):
    assert "events" in fleet.driver().refused(400, "POST", LOG, {"events": events})


BAD = {"notificationId": [None, "", 1, [], {}], "type": [None, "", 1, "unknown", []], "entityId": [None, 1, []], "event": [None, "", "Received", "opened", 1, []],
       "timestamp": [None, "", "yesterday", 1, []], "metadata": ["x", 1, [], {"title": 1}, {"message": []}]}


@pytest.mark.parametrize("field", BAD)
def test_a_bad_report_is_400_and_names_the_field(admin, fleet, field):
    """In a batch too, of which then none is taken."""
    driver = fleet.driver()
    first = admin.assign(fresh("O"), driver.subject)["data"]["notificationIds"][0]
    missing = report(first)
    missing.pop(field, None)
    for bad in [report(first, **{field: value}) for value in BAD[field] if (field, value) != ("metadata", None)] + ([missing] if field != "metadata" else []):
        names = [field, *(bad["metadata"] if isinstance(bad.get("metadata"), dict) else [])]
        for body in (bad, {"events": [report(first), bad, report(first, event="action_accept")]}):
            error = driver.refused(400, "POST", LOG, body)
            assert any(name in error for name in names), (error, body)
    assert all(not step["step"].startswith(("received", "action")) for step in life(admin, first)[1])


# Operators


STATS = ["connections", "channels", "subscriptions", "users"]


@pytest.mark.parametrize("gateway", [1, 2, 4], indirect=True, ids="loops={}".format)
def test_stats(admin, fleet, gateway, connect):
    def stats() -> dict:
        return admin.done("GET", "/api/ops/stats")

    before = stats()
    assert all(type(before[name]) is int for name in STATS), before
    driver = fleet.driver()
    clients = [fleet.signed_in(driver, f"driver-{driver.subject}") for _ in range(2)] + [connect(), connect(SECOND)]
    clients[2].subscribe(fresh("x"))
    clients[3].subscribe(fresh("y"))
    after = stats()
    assert {name: after[name] - before[name] for name in STATS} == {"connections": 4, "channels": 3, "subscriptions": 4, "users": 1}
    text = json.dumps(after)
    assert '"loops"' in text and '"apps"' in text, after
    assert len(after["loops"]) == gateway.loops
    assert sum(loop["connections"] for loop in after["loops"]) == after["connections"]
    apps = {app["id"]: app for app in after["apps"]} if isinstance(after["apps"], list) else after["apps"]
    assert sum(app["connections"] for app in apps.values()) == after["connections"] and apps["1001"]["connections"] >= 3 and apps["1002"]["connections"] >= 1


def test_who_may_look(start_gateway, closing):
    """The metrics token, an admin, ops; nobody else, and the loopback rule of /metrics stays."""
    gateway = start_gateway(**{"sections": FLEET["sections"] | {"metrics": {"token": "metrics-token"}}})
    fleet = Fleet(gateway, closing)
    admin = fleet.admin()
    first = admin.assign("O1", "d1")["data"]["notificationIds"][0]
    paths = ["/api/ops/stats", f"/api/ops/notifications/{first}", "/api/ops/notifications"]
    for caller in (admin, fleet.ops(), fleet.caller(bearer="metrics-token")):
        for path in paths:
            assert caller.ask("GET", path).status == 200, path
        assert caller.ask("GET", "/metrics").status == 200
    for caller in (fleet.driver("d1"), fleet.customer()):
        for path in paths:
            assert error_of(path, caller.ask("GET", path)) and caller.ask("GET", path).status == 403
        assert caller.ask("GET", "/metrics").status in (401, 403)
    for caller in (fleet.caller(), fleet.caller(bearer="metrics-toke"), fleet.caller(bearer="")):
        for path in paths:
            assert caller.ask("GET", path).status == 401
        assert caller.ask("GET", "/metrics").status in (401, 403)


def test_without_a_metrics_token_the_loopback_will_do_but_no_wrong_token(fleet, api):
    """As for /metrics. Who says who he is is judged by it."""
    assert api.get("/metrics").status == 200
    assert fleet.caller().ask("GET", "/api/ops/stats").status in (200, 401)
    fleet.caller(bearer="nonsense").refused(401, "GET", "/api/ops/stats")
    fleet.driver().refused(403, "GET", "/api/ops/stats")
    assert fleet.ops().done("GET", "/api/ops/stats")


def test_unknown_notifications_have_no_life(admin):
    for each in ("01J00000000000000000000000", "x", "%00", "x" * 500, "'%20OR%201=1"):
        answer = admin.ask("GET", f"/api/ops/notifications/{each}")
        assert answer.status in (400, 404), answer
        assert error_of("/api/ops/notifications", answer)


def test_the_list_of_all(admin, fleet):
    driver = fleet.driver()
    ids = [admin.assign(fresh("O"), driver.subject)["data"]["notificationIds"][0] for _ in range(3)]
    found = admin.done("GET", f"/api/ops/notifications?channel=driver-{driver.subject}")["notifications"]
    assert [each["id"] for each in found] == list(reversed(ids))
    newest = admin.done("GET", "/api/ops/notifications?limit=2")["notifications"]
    assert len(newest) == 2 and all(ULID.fullmatch(each["id"]) for each in newest)


def test_metrics_count_by_event_and_refusals(admin, fleet):
    def figures() -> Metrics:
        return Metrics(admin.ask("GET", "/metrics").text)

    def labelled(metrics: Metrics, *words: str) -> float:
        return sum(value for _, labels, value in metrics.samples if all(word in labels for word in words))

    driver, code = fleet.driver(), fresh("O")
    before = figures()
    admin.assign(code, driver.subject)
    driver.refused(400, "PUT", f"/api/driver/jobs/{code}/progress", {"step": "completed"})
    fleet.driver().refused(403, "POST", ANNOUNCE, {})
    fleet.caller().refused(401, "POST", ANNOUNCE, {})
    after = figures()
    for words in (['"job-assigned"'], ['"order-assigned"']):
        assert labelled(after, *words) > labelled(before, *words), words
    assert after.total("fleetwire_notifications_total") > before.total("fleetwire_notifications_total")
    known = {(name, labels): value for name, labels, value in before.samples}
    grown = [name for name, labels, value in after.samples
             if re.search("transition|refus|reject|denied|fail", name + labels) and value > known.get((name, labels), 0)]
    assert grown, "no counter of failed transitions or refusals"
    assert "fleetwire_store_commit_seconds" in after.types


# Correlation ids


PATHS = [("GET", "/healthz"), ("GET", "/metrics"), ("GET", "/nowhere"), ("POST", "/pusher/auth"), ("POST", "/pusher/user-auth"), ("GET", "/api/admin/orders/X9"),
         ("POST", "/api/admin/orders/X9/unassign"), ("PUT", "/api/admin/orders/a%20b"), ("POST", "/api/admin/nowhere"), ("DELETE", "/api/admin/orders/X9"),
         ("GET", "/api/driver/jobs"), ("GET", "/api/ops/stats"), ("GET", "/api/ops/notifications/X"), ("POST", "/api/auth/fcm-token"), ("POST", "/app-register-device"),
         ("POST", "/apps/1001/events"), ("GET", "/apps/1001/channels"), ("GET", "/apps/1001/nowhere")]


@pytest.mark.parametrize("method, path", PATHS, ids=lambda value: value)
def test_every_answer_has_one(fleet, admin, method, path):
    for caller in (admin, fleet.caller()):
        for given in ("a", "x" * 128, "Ab-1 ~!\"#"):
            answer = caller.ask(method, path, headers={"X-Correlation-ID": given})
            assert answer.headers["x-correlation-id"] == given, answer
        made = {caller.ask(method, path).headers["x-correlation-id"] for _ in range(3)}
        assert len(made) == 3 and all(1 <= len(each) <= 128 for each in made)


@pytest.mark.parametrize("given", ["", "x" * 129, "tab\there", "\xfc", "x" * 3000], ids=lambda given: ascii(given[:9]))
@pytest.mark.parametrize("method, path", [PATHS[0], PATHS[5], PATHS[15]], ids=lambda value: value)
def test_unfit_ones_are_replaced(admin, method, path, given):
    made = admin.ask(method, path, headers={"X-Correlation-ID": given.encode("latin-1")}).headers["x-correlation-id"]
    assert made != given and 1 <= len(made) <= 128 and made.isascii() and made.isprintable()


def test_it_is_in_the_log(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    admin = Fleet(gateway, closing).admin()
    assert admin.post("/api/admin/orders/L1/assign-driver", {"driverId": "d1"}, headers={"X-Correlation-ID": "look-for-me"}).status == 200
    gateway.stop()
    assert "look-for-me" in gateway.log()
