"""Batches of orders: the kitchen's backend, and the drivers' app."""

import contextlib
import itertools
import secrets
import sqlite3

from .fleet import Caller
from .people import FirebaseUser

KITCHEN = {"_id": "6" * 24, "name": "Kitchen One", "phone": "+912233445566", "address": {
    "street": "4 Mill Rd", "area": "Andheri", "city": "Mumbai", "state": "MH", "pincode": "400053",
    "latitude": 19.1364, "longitude": 72.8296}}
ZONE = {"_id": "7" * 24, "name": "Andheri West", "city": "Mumbai"}
ADDRESS = {"name": "Asha Rao", "phone": "+919812345678", "flatNumber": "B-1204",
           "street": "12 Lake View", "landmark": "Near the park", "area": "Andheri",
           "city": "Mumbai", "state": "MH", "pincode": "400058", "latitude": 19.12,
           "longitude": 72.83}
ITEMS = [{"menuItemId": "m1", "name": "Thali", "quantity": 2, "price": 149.5}]
PHOTO = {"type": "PHOTO", "photoUrl": "https://images.example/door.jpg"}
NUMBERS = itertools.count(1)


def object_id() -> str:
    """Returns an id of 24 hexadecimal digits that no other test uses."""
    return secrets.token_hex(12)


def order(**changes) -> dict:
    return {"_id": object_id(), "orderNumber": f"ORD-{next(NUMBERS)}", "deliveryAddress": ADDRESS,
            "items": ITEMS} | changes


def batch_fields(orders: int | list = 2, **changes) -> dict:
    """The body with which the kitchen creates a batch."""
    orders = [order() for _ in range(orders)] if isinstance(orders, int) else orders
    return {"batchNumber": f"BATCH-{next(NUMBERS)}", "mealWindow": "DINNER",
            "windowEndTime": "2099-01-01T12:00:00.000Z", "estimatedEarnings": 450.5,
            "kitchen": KITCHEN, "zone": ZONE, "orders": orders} | changes


class Batch:
    """A batch of the kitchen, with the dispatcher's calls."""

    def __init__(self, admin: Caller, orders: int | list = 2, **changes):
        self.admin, self.id = admin, object_id()
        self.fields = batch_fields(orders, **changes)
        self.orders = [each["_id"] for each in self.fields["orders"]]
        self.path = f"/api/admin/batches/{self.id}"
        admin.expect_ok("PUT", self.path, self.fields)

    def act(self, action: str, **fields) -> dict:
        return self.admin.expect_ok("POST", f"{self.path}/{action}", fields)

    def get(self) -> dict:
        return self.admin.expect_ok("GET", self.path)["data"]["batch"]

    @property
    def status(self) -> str:
        return self.get()["status"]

    def ready(self) -> "Batch":
        self.act("ready")
        return self


# The drivers' app

def accept(driver: Caller, batch: Batch):
    return driver.request("POST", f"/api/delivery/batches/{batch.id}/accept", {})


def pick_up(driver: Caller, batch: Batch, **fields):
    return driver.request("PATCH", f"/api/delivery/batches/{batch.id}/pickup", fields)


def complete(driver: Caller, batch: Batch, **fields):
    return driver.request("PATCH", f"/api/delivery/batches/{batch.id}/complete", fields)


def report(driver: Caller, order_id: str, status: str, **fields):
    return driver.request("PATCH", f"/api/delivery/orders/{order_id}/status",
                          {"status": status} | fields)


def deliver(driver: Caller, order_id: str, **proof):
    return report(driver, order_id, "DELIVERED", proofOfDelivery=proof or PHOTO)


def fail(driver: Caller, order_id: str, reason: str = "CUSTOMER_UNAVAILABLE", **fields):
    return report(driver, order_id, "FAILED", failureReason=reason, **fields)


def ok(response) -> dict:
    """The data of a successful response to a driver."""
    body = response.json()
    assert response.status == 200 and body["error"] is None, response
    return body["data"]


def refused(response) -> tuple:
    """The status and both texts of a refusal of a driver."""
    body = response.json()
    assert body.keys() == {"message", "data", "error"} and body["data"] is None, response
    return response.status, body["message"], body["error"]


def read(driver: Caller, batch: Batch):
    return driver.request("GET", f"/api/delivery/batches/{batch.id}")


def my_batch(driver: Caller) -> dict:
    return ok(driver.request("GET", "/api/delivery/my-batch"))


def arrange(driver: Caller, batch: Batch, *order_ids: str):
    """Puts the orders into this sequence."""
    return driver.request("PATCH", f"/api/delivery/batches/{batch.id}/sequence", {"sequence": [
        {"orderId": each, "sequenceNumber": number} for number, each in enumerate(order_ids, 1)]})


def answer(message: str, **data) -> dict:
    """The whole body of a successful response to a driver."""
    return {"message": message, "data": data, "error": None}


def hire(gateway, admin: Caller, **more) -> FirebaseUser:
    """A driver who has registered and is approved. `account` is the `_id`."""
    driver = FirebaseUser(gateway, **more)
    driver.account = driver.register()["data"]["user"]["_id"]
    admin.expect_ok("POST", f"/api/admin/drivers/{driver.subject}/approve", {})
    return driver


def returning(gateway, driver: FirebaseUser) -> FirebaseUser:
    """The same driver after a restart of the gateway."""
    again = FirebaseUser(gateway, driver.uid, driver.phone)
    again.account = driver.account
    return again


def age_wrong_codes(gateway, milliseconds: int) -> None:
    """Lets the wrong codes of all orders be so much older. The gateway must not run."""
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        stored = database.execute("SELECT order_id, times FROM wrong_codes").fetchall()
        assert stored
        for each, times in stored:
            times = ",".join(str(int(time) - milliseconds) for time in times.split(","))
            database.execute("UPDATE wrong_codes SET times = ?, updated_at = updated_at - ? "
                             "WHERE order_id = ?", (times, milliseconds, each))


# The states of batches and of assignments, and how they are reached

BATCH_STATES = ["COLLECTING", "READY_FOR_DISPATCH", "DISPATCHED", "IN_PROGRESS", "COMPLETED",
                "PARTIAL_COMPLETE", "CANCELLED"]
ASSIGNMENT_STATES = ["ASSIGNED", "ACKNOWLEDGED", "PICKED_UP", "EN_ROUTE", "ARRIVED", "DELIVERED",
                     "FAILED", "RETURNED", "CANCELLED"]


def batch_in(state: str, admin: Caller, driver: Caller, orders: int = 2, **changes) -> Batch:
    """A batch in this state. `driver` has or had it, if it was accepted."""
    batch, number = Batch(admin, orders, **changes), BATCH_STATES.index(state)
    if state == "CANCELLED":
        number = 3
    if number >= 1:
        batch.ready()
    if number >= 2:
        ok(accept(driver, batch))
    if number >= 3:
        ok(pick_up(driver, batch))
    if state in ("COMPLETED", "PARTIAL_COMPLETE"):
        for each in batch.orders[1:]:
            ok(deliver(driver, each))
        ok((deliver if state == "COMPLETED" else fail)(driver, batch.orders[0]))
    if state == "CANCELLED":
        batch.act("cancel")
    assert batch.status == state
    return batch


def order_in(state: str, admin: Caller, driver: Caller) -> tuple[Batch, str]:
    """A batch of two orders whose first is in this state of its assignment; the second is open."""
    batch = batch_in("DISPATCHED" if state in ("ASSIGNED", "ACKNOWLEDGED") else "IN_PROGRESS",
                     admin, driver)
    first = batch.orders[0]
    if state == "ACKNOWLEDGED":
        my_batch(driver)
    elif state in ("EN_ROUTE", "ARRIVED"):
        ok(report(driver, first, state))
    elif state == "DELIVERED":
        ok(deliver(driver, first))
    elif state in ("FAILED", "RETURNED"):
        ok(fail(driver, first))
        if state == "RETURNED":
            batch.act(f"orders/{first}/return")
    elif state == "CANCELLED":
        batch.act(f"orders/{first}/cancel", by="admin")
    shown = {each["_id"]: each for each in batch.get()["orders"]}
    assert shown[first]["assignment"]["status"] == state
    return batch, first
