"""Around batches of orders: pushes, repeated requests, audit, metrics, and who may call."""

import contextlib
import sqlite3

import pytest

from harness.api import Api
from harness.batches import (BATCH_STATES, PHOTO, ZONE, Batch, accept, arrange, batch_fields,
                             batch_in, complete, deliver, fail, hire, my_batch, object_id, ok,
                             pick_up, refused, report)
from harness.fleet import JWT, Caller, Fleet, unique_id, wait_until
from harness.gateway import run
from harness.metrics import scrape
from harness.people import FirebaseUser, account_settings
from harness.people_fixtures import driver, module_settings, server  # noqa: F401

PENDING = (403, "Account pending approval", "Your registration is pending admin approval")
CALLS = ["GET available-batches", "GET my-batch", "GET summary?range=all", "GET availability",
         "PUT availability", "POST batches/{id}/accept", "GET batches/{id}",
         "PATCH batches/{id}/pickup", "PATCH batches/{id}/complete", "PATCH batches/{id}/sequence",
         "PATCH orders/{id}/status"]


def call(caller: Caller, endpoint: str, identifier: str = "a" * 24):
    method, path = endpoint.format(id=identifier).split(" ")
    body = {"online": True, "status": "EN_ROUTE", "sequence": []}
    return caller.request(method, f"/api/delivery/{path}", None if method == "GET" else body)


# Pushes

def test_the_pushes(start_push_fleet, server, closing):
    """Title, body and data of every push about a batch."""
    settings = account_settings(server, JWT)
    fleet = start_push_fleet(auth=settings["auth"], accounts=settings["accounts"])
    admin = fleet.dispatcher
    first, second = [closing(hire(fleet.gateway, admin)) for _ in range(2)]
    phones = [fleet.android(each) for each in (first, second)]
    batch = Batch(admin, 3)
    number, about = batch.fields["batchNumber"], {"batchId": batch.id}

    def expect(phone, kind: str, title: str | None, text: str | None, entity: str = batch.id,
               **data):
        push = phone.next()
        assert push.data["type"] == kind and push.data["entityId"] == entity, push
        assert push.data.items() >= data.items(), push
        assert title in (None, push.title) and text in (None, push.text), push
        return push

    available = about | {"batchNumber": number, "zone": ZONE["name"], "orderCount": "3"}
    batch.ready()
    for phone in phones:
        expect(phone, "NEW_BATCH_AVAILABLE", "New Batch Available!",
               f"{number} in Andheri West (3 orders)", **available)
    ok(accept(first, batch))
    batch.act("unassign")
    expect(phones[0], "BATCH_REASSIGNED", "Batch Reassigned",
           "Your batch has been reassigned by admin", **about)
    # An action pushes once to a driver: the first has heard that the batch is gone.
    expect(phones[1], "NEW_BATCH_AVAILABLE", None, None, **available)
    ok(accept(first, batch))
    batch.act("reassign", driverId=second.subject)
    expect(phones[0], "BATCH_REASSIGNED", "Batch Reassigned", None, **about)
    expect(phones[1], "new_route", None, None)
    for index, by in enumerate(("customer", "admin")):
        cancelled = batch.orders[index]
        batch.act(f"orders/{cancelled}/cancel", by=by)
        expect(phones[1], "ORDER_CANCELLED", "Order Cancelled",
               f"Order #{batch.fields['orders'][index]['orderNumber']} has been cancelled by {by}",
               entity=cancelled, orderId=cancelled, **about)
    batch.act("cancel", reason="Rain")
    expect(phones[1], "job_update", None, None)
    fleet.expect_no_pushes(*phones)


# Repeated requests

def test_requests_with_a_key_are_performed_once(driver, admin):
    """Every POST and PATCH: the answer is repeated as it was, and another request is refused."""
    mine, key = driver(), unique_id
    batch = Batch(admin, 3)

    def twice(caller, method: str, path: str, body: dict, other: dict) -> None:
        name = key("k")
        got, again = [caller.request(method, path, body, key=name) for _ in range(2)]
        assert got.status == 200 and again.status == 200, got
        assert got.headers.get("idempotency-replayed") is None
        assert again.headers.get("idempotency-replayed") == "true", (path, again)
        assert again.body == got.body, path
        assert caller.request(method, path, other, key=name).status == 409, path

    route, first = f"/api/delivery/batches/{batch.id}", batch.orders[0]
    status = f"/api/delivery/orders/{first}/status"
    twice(admin, "POST", f"{batch.path}/ready", {}, {"reason": "x"})
    twice(mine, "POST", f"{route}/accept", {}, {"x": 1})
    order_ids = [{"orderId": each, "sequenceNumber": number}
                 for number, each in enumerate(reversed(batch.orders), 1)]
    twice(mine, "PATCH", f"{route}/sequence", {"sequence": order_ids},
          {"sequence": list(reversed(order_ids))})
    twice(mine, "PATCH", f"{route}/pickup", {}, {"notes": "x"})
    twice(mine, "PATCH", status, {"status": "EN_ROUTE"}, {"status": "ARRIVED"})
    twice(mine, "PATCH", status, {"status": "DELIVERED", "proofOfDelivery": PHOTO},
          {"status": "FAILED", "failureReason": "OTHER", "notes": "x"})
    twice(admin, "POST", f"{batch.path}/orders/{batch.orders[1]}/cancel", {}, {"reason": "x"})
    ok(fail(mine, batch.orders[2]))
    twice(admin, "POST", f"{batch.path}/orders/{batch.orders[2]}/return", {}, {"x": 1})
    other = batch_in("DISPATCHED", admin, mine)
    twice(admin, "POST", f"{other.path}/reassign", {"driverId": driver().subject},
          {"driverId": "x"})
    twice(admin, "POST", f"{other.path}/unassign", {}, {"reason": "x"})
    twice(admin, "POST", f"{other.path}/cancel", {}, {"reason": "x"})


def test_a_key_belongs_to_one_driver(driver, admin):
    batch, name = Batch(admin).ready(), unique_id()
    first, second = driver(), driver()
    path = f"/api/delivery/batches/{batch.id}/accept"
    assert first.post(path, {}, key=name).status == 200
    assert refused(second.post(path, {}, key=name))[0] == 400


def test_a_repeated_accept_does_not_undo_a_reassignment(driver, admin):
    """An accept that is repeated after the batch went to another driver must not undo that."""
    first, second, name = driver(), driver(), unique_id()
    batch = Batch(admin).ready()
    path = f"/api/delivery/batches/{batch.id}/accept"
    assert first.post(path, {}, key=name).status == 200
    batch.act("reassign", driverId=second.subject)
    first.post(path, {}, key=name)
    assert batch.get()["driverId"] == second.subject and my_batch(first)["batch"] is None


# Audit and metrics

def test_one_audit_line_per_action(gateway, driver, admin):
    mine, other = driver(), driver()
    batch = Batch(admin, 3).ready()
    ok(accept(mine, batch))
    ok(accept(mine, batch))
    refused(accept(other, batch))
    ok(arrange(mine, batch, *reversed(batch.orders)))
    ok(pick_up(mine, batch, notes="Warm"))
    ok(report(mine, batch.orders[0], "EN_ROUTE"))
    ok(report(mine, batch.orders[0], "EN_ROUTE"))
    batch.act("reassign", driverId=other.subject, reason="Flat tyre")
    ok(deliver(other, batch.orders[0]))
    batch.act(f"orders/{batch.orders[1]}/cancel", by="admin", reason="Sold out")
    ok(fail(other, batch.orders[2], "WRONG_ADDRESS"))
    batch.act(f"orders/{batch.orders[2]}/return")
    ok(complete(other, batch))
    ok(complete(other, batch))
    result = run("audit", "--config", gateway.config, "--batch", batch.id)
    assert result.returncode == 0, result
    lines = [line.split("  ") for line in result.stdout.splitlines()]
    actors = [line[1] for line in lines]
    driven, moved, office = f"driver:{mine.subject}", f"driver:{other.subject}", "admin:ada"
    expected = [(office, "update"), (office, "ready"), (driven, "accept"), (driven, "sequence"),
                (driven, "pickup"), (driven, "status"), (office, "reassign"), (moved, "status"),
                (office, "cancel_order"), (moved, "status"), (office, "return_order"),
                (moved, "complete")]
    assert len(actors) == len(expected), result.stdout
    assert [(line[1], line[2]) for line in lines] == expected, result.stdout
    for text in ("Warm", "Flat tyre", "Sold out", "WRONG_ADDRESS", "EN_ROUTE"):
        assert text in result.stdout
    unknown = run("audit", "--config", gateway.config, "--batch", object_id())
    assert unknown.stdout.count("\n") <= 1 and batch.id not in unknown.stdout


def test_metrics(gateway, driver, admin):
    def figures() -> dict:
        metrics = scrape(admin)
        prefix = "fleetwire_"
        return {
            "accepts": metrics.value(f"{prefix}batch_actions_total", action="accept"),
            "delivered": metrics.value(f"{prefix}deliveries_total", status="DELIVERED"),
            "failed": metrics.value(f"{prefix}deliveries_total", status="FAILED",
                                    reason="CUSTOMER_REFUSED"),
            "races": metrics.total(f"{prefix}batch_accept_races_total")}

    before, mine = figures(), driver()
    batch = batch_in("IN_PROGRESS", admin, mine, 3)
    for _ in range(2):
        ok(deliver(mine, batch.orders[0]))
    ok(fail(mine, batch.orders[1], "CUSTOMER_REFUSED"))
    refused(accept(driver(), batch))
    after = figures()
    assert {name: after[name] - before[name] for name in after} == {
        "accepts": 2, "delivered": 1, "failed": 1, "races": 1}


# Who may call

@pytest.mark.parametrize("endpoint", CALLS)
def test_only_approved_drivers(gateway, driver, admin, fleet, closing, endpoint):
    pending, nobody = [closing(FirebaseUser(gateway)) for _ in range(2)]
    pending.register()
    assert refused(call(pending, endpoint)) == PENDING
    assert refused(call(nobody, endpoint))[:2] == (403, "Driver account not found")
    suspended, rejected = driver(), closing(FirebaseUser(gateway))
    rejected.register()
    for each, action in ((suspended, "suspend"), (rejected, "reject")):
        admin.expect_ok("POST", f"/api/admin/drivers/{each.subject}/{action}", {"reason": "Papers"})
    assert refused(call(suspended, endpoint)) == (403, "Account suspended", "Papers")
    assert refused(call(rejected, endpoint)) == (403, "Registration rejected", "Papers")
    for caller in (admin, fleet.customer(), fleet.ops()):
        assert refused(call(caller, endpoint))[:2] == (403, "Forbidden"), caller.role
    response = call(fleet.caller(), endpoint)
    assert refused(response)[:2] == (401, "Invalid token")
    assert response.headers["www-authenticate"].endswith('"invalid"')
    expired = call(fleet.driver(ttl=-60), endpoint)
    assert refused(expired)[:2] == (401, "Token expired")


@pytest.mark.parametrize("endpoint", [
    "PUT", "GET", "POST /ready", "POST /reassign", "POST /unassign", "POST /cancel",
    "POST /orders/{id}/cancel", "POST /orders/{id}/return"])
def test_only_admins_dispatch(driver, fleet, admin, endpoint):
    batch = Batch(admin)
    method, _, action = endpoint.partition(" ")
    path = batch.path + action.format(id=batch.orders[0])
    for caller in (driver(), fleet.customer(), fleet.ops(), fleet.driver()):
        assert caller.request(method, path, None if method == "GET" else {}).status == 403
    assert fleet.caller().request(method, path).status == 401
    assert batch.get()["version"] == 1


def test_drivers_of_other_issuers(driver, admin, fleet):
    """A token of another issuer acts for the account that has its id; without one it is refused."""
    stranger, mine = fleet.driver(), driver()
    twin = fleet.driver(mine.subject)
    for action, text in (("suspend", "Account suspended"), ("reinstate", None)):
        admin.expect_ok("POST", f"/api/admin/drivers/{mine.subject}/{action}", {})
        response = call(twin, "GET my-batch")
        assert response.status == 200 if text is None else refused(response)[:2] == (403, text)
    assert refused(call(stranger, "GET available-batches"))[0] in (403, 404)
    batch = Batch(admin).ready()
    assert refused(accept(stranger, batch))[0] in (403, 404)
    assert batch.status == "READY_FOR_DISPATCH"
    data = ok(accept(twin, batch))
    assert data["batch"]["driverId"] == mine.account
    assert my_batch(mine)["batch"]["_id"] == batch.id
    assert ok(pick_up(mine, batch))["batch"]["status"] == "IN_PROGRESS"


def test_without_accounts_their_paths_are_unknown(start_gateway, closing):
    gateway = start_gateway(sections={"auth": {"jwt": JWT}})
    fleet = Fleet(gateway, closing)
    for endpoint in CALLS:
        assert refused(call(fleet.driver(), endpoint))[0] == 404, endpoint
    admin, path = fleet.admin(), f"/api/admin/batches/{object_id()}"
    for method, action in (("PUT", ""), ("GET", ""), ("POST", "/ready"), ("POST", "/cancel")):
        body = None if method == "GET" else batch_fields()
        assert admin.request(method, path + action, body).status == 404


def test_browsers_may_patch(gateway, closing, driver):
    api = closing(Api(gateway))
    for path in (f"/api/delivery/batches/{'a' * 24}/pickup", "/api/delivery/availability"):
        response = api.call("OPTIONS", path, headers={
            "Origin": "https://app.example", "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization,idempotency-key,content-type"})
        assert response.status in (200, 204), response
        assert response.headers.get("access-control-allow-methods", "").upper() == (
            "GET, POST, PUT, PATCH, DELETE, OPTIONS"), response


def test_wrong_methods(driver, admin):
    mine, batch = driver(), Batch(admin)
    for method, path in (("GET", f"batches/{batch.id}/accept"), ("POST", "my-batch"),
                         ("POST", f"batches/{batch.id}/pickup"),
                         ("PUT", f"orders/{batch.orders[0]}/status"),
                         ("DELETE", f"batches/{batch.id}"), ("POST", "available-batches")):
        assert refused(mine.request(method, f"/api/delivery/{path}", {}))[:2] == (
            405, "Method not allowed")
    for path in ("batches", "batches/", f"batches/{batch.id}/", f"batches//{batch.id}",
                 f"batches/{batch.id}/accept/x", f"orders/{batch.orders[0]}", ""):
        response = mine.request("GET", f"/api/delivery/{path}")
        assert refused(response)[0] == 404, path


def test_notifications_of_a_batch_are_listed(driver, admin):
    mine, other = driver(), driver()
    batch = batch_in("DISPATCHED", admin, mine)
    batch.act(f"orders/{batch.orders[0]}/cancel", by="customer")
    batch.act("reassign", driverId=other.subject)
    batch.act("cancel")

    def listed(driver) -> list[str]:
        got = driver.expect_ok("GET", "/api/driver/notifications")["data"]["notifications"]
        assert {each["channel"] for each in got} == {f"driver-{driver.subject}"}
        return [each["event"] for each in got]

    assert listed(mine) == ["batch-reassigned", "order-cancelled", "driver-approved"]
    assert listed(other) == ["batch-cancelled", "batch-assigned", "driver-approved"]


def test_retention(start_gateway, server, closing):
    """As for orders: what ended long ago is deleted; what has not ended stays."""
    settings = {"sections": account_settings(server, JWT)}
    gateway = start_gateway("kept", **settings)
    admin = Fleet(gateway, closing).admin()
    batches = {state: batch_in(state, admin, closing(hire(gateway, admin)))
               for state in BATCH_STATES}
    recent = batch_in("COMPLETED", admin, closing(hire(gateway, admin)))
    gateway.stop()
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        database.execute("UPDATE batches SET updated_at = updated_at - ? WHERE id <> ?",
                         (31 * 86_400_000, recent.id))
    gateway = start_gateway("kept", **settings)
    rows = "SELECT id FROM batches UNION SELECT batch_id FROM batch_orders"
    left = {batches[state].id for state in BATCH_STATES[:4]} | {recent.id}
    wait_until(lambda: {each for each, in gateway.query(rows)} == left, "old batches are deleted")
    again = Fleet(gateway, closing).admin()
    assert again.request("GET", batches["COMPLETED"].path).status == 404
    # The order's id may be used again.
    assert again.put(f"/api/admin/batches/{object_id()}",
                     batch_fields(batches["COMPLETED"].fields["orders"])).status == 200
