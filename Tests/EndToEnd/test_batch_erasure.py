"""Erasure of the people in batches of orders: `DELETE /api/admin/people/{role}/{id}`."""

import pytest

from harness.batches import (ADDRESS, PHOTO, Batch, batch_fields, batch_in, deliver, fail, hire,
                             my_batch, ok, order, pick_up, read, refused)
from harness.fleet import unique_id, wait_until
from harness.people import FirebaseUser
from harness.people_fixtures import driver, module_settings, server, start  # noqa: F401


def dump(gateway) -> str:
    """All tables as text."""
    tables = gateway.query("SELECT name FROM sqlite_master WHERE type = 'table' "
                           "AND name NOT LIKE 'sqlite%'")
    return "\n".join(f"{table}: {row}" for (table,) in tables
                     for row in gateway.query(f"SELECT * FROM {table}"))


def expect_erased(gateway, *texts: str) -> None:
    """In no table, and after an orderly stop in no file of the database."""
    def left() -> list[str]:
        return [line[:120] for line in dump(gateway).splitlines()
                if any(text in line for text in texts)]

    try:
        wait_until(lambda: not left(), "it is erased", seconds=5)
    except AssertionError:
        raise AssertionError(f"still stored: {left()}") from None
    gateway.stop()
    for file in gateway.database_path.parent.iterdir():
        found = [text for text in texts if text.encode() in file.read_bytes()]
        assert not found, (file.name, found)


def marked() -> tuple[dict, list[str]]:
    """An address whose name, phone and exact place occur nowhere else."""
    number = str(int(unique_id(), 36) % 10 ** 8).zfill(8)
    texts = [f"Zebedee {unique_id()}", "+9177" + number, f"Flat {unique_id()}", f"{unique_id()} Lane",
             f"beside {unique_id()}"]
    address = ADDRESS | dict(zip(("name", "phone", "flatNumber", "street", "landmark"), texts))
    return address | {"latitude": float(f"18.9{number}1")}, texts + [f"18.9{number}1"]


@pytest.mark.parametrize("when", ["COMPLETED", "PARTIAL_COMPLETE", "CANCELLED"])
def test_erasure_of_a_customer_without_keys(start, closing, when):
    fleet, customer = start(), unique_id("c")
    admin, (address, texts) = fleet.admin(), marked()
    mine = closing(hire(fleet.gateway, admin))
    batch_in(when, admin, mine, [order(deliveryAddress=address, customerId=customer),
                                 order(deliveryAddress=address, customerId=customer)])
    assert texts[0] in dump(fleet.gateway)
    admin.expect_ok("DELETE", f"/api/admin/people/customer/{customer}")
    expect_erased(fleet.gateway, *texts)


@pytest.mark.parametrize("when", ["COMPLETED", "PARTIAL_COMPLETE", "CANCELLED"])
def test_erasure_of_a_customer(start, closing, when):
    """Also in the answers that were stored for repeated requests."""
    fleet, customer = start(), unique_id("c")
    admin, (address, texts) = fleet.admin(), marked()
    mine = closing(hire(fleet.gateway, admin))
    fields = batch_fields([order(deliveryAddress=address, customerId=customer), order()])
    batch = Batch(admin, fields["orders"])
    admin.put(batch.path, fields, key=unique_id())
    assert admin.post(f"{batch.path}/ready", {}, key=unique_id()).status == 200
    assert mine.post(f"/api/delivery/batches/{batch.id}/accept", {}, key=unique_id()).status == 200
    ok(pick_up(mine, batch))
    assert texts[0] in dump(fleet.gateway)
    if when == "CANCELLED":
        assert admin.post(f"{batch.path}/cancel", {}, key=unique_id()).status == 200
    else:
        ok((deliver if when == "COMPLETED" else fail)(mine, batch.orders[0]))
        ok(deliver(mine, batch.orders[1]))
    admin.expect_ok("DELETE", f"/api/admin/people/customer/{customer}")
    expect_erased(fleet.gateway, *texts)


def test_erasure_of_a_customer_during_the_delivery(start, closing):
    """The driver needs the address until the order is over; then it goes, within a minute or at the
    next start.
    """
    fleet, customer = start(), unique_id("c")
    admin, (address, texts) = fleet.admin(), marked()
    mine = closing(hire(fleet.gateway, admin))
    batch = batch_in("IN_PROGRESS", admin, mine,
                     [order(deliveryAddress=address, customerId=customer), order()])
    admin.expect_ok("DELETE", f"/api/admin/people/customer/{customer}")
    wait_until(lambda: fleet.gateway.query("SELECT cursor FROM erasures") == [("~",)],
               "all has been searched, and the erasure waits")
    assert my_batch(mine)["orders"][0]["deliveryAddress"] == address
    for each in batch.orders:
        assert mine.request("PATCH", f"/api/delivery/orders/{each}/status", {
            "status": "DELIVERED", "proofOfDelivery": PHOTO}, key=unique_id()).status == 200
    assert batch.status == "COMPLETED"
    fleet.gateway.stop()
    expect_erased(start().gateway, *texts)


def test_erasure_keeps_other_customers(driver, admin):
    mine, customer = driver(), unique_id("c")
    batch = batch_in("COMPLETED", admin, mine, [order(customerId=customer), order(customerId="x")])
    admin.expect_ok("DELETE", f"/api/admin/people/customer/{customer}")
    wait_until(lambda: batch.get()["orders"][0]["deliveryAddress"]["name"] is None, "it is erased")
    first, second = [each["deliveryAddress"] for each in batch.get()["orders"]]
    assert first == ADDRESS | dict.fromkeys(
        ("name", "phone", "flatNumber", "street", "landmark", "latitude", "longitude"))
    assert second == ADDRESS
    first, second = batch.get()["orders"]
    assert (first["customerId"], first["items"]) == (None, []) and second["customerId"] == "x" and second["items"]


def test_erasure_of_a_driver(start, closing):
    """The name and phone in batches, answers and audit, and what the driver wrote."""
    fleet, name, words = start(), f"Zebedee {unique_id()}", f"words {unique_id()}"
    admin = fleet.admin()
    mine = closing(FirebaseUser(fleet.gateway))
    mine.account = mine.register(name=name)["data"]["user"]["_id"]
    admin.expect_ok("POST", f"/api/admin/drivers/{mine.account}/approve", {})
    batch = Batch(admin, 2).ready()
    assert mine.post(f"/api/delivery/batches/{batch.id}/accept", {}, key=unique_id()).status == 200
    assert name in read(mine, batch).text
    ok(pick_up(mine, batch, notes=words))
    for each in batch.orders:
        assert mine.request("PATCH", f"/api/delivery/orders/{each}/status", {
            "status": "FAILED", "failureReason": "OTHER", "notes": words},
            key=unique_id()).status == 200
    admin.expect_ok("DELETE", f"/api/admin/people/driver/{mine.subject}")
    assert batch.get()["status"] == "PARTIAL_COMPLETE"
    expect_erased(fleet.gateway, name, mine.phone.removeprefix("+91"), words)


def test_erasure_of_a_driver_with_a_batch(driver, admin):
    """The batch is not stuck: the dispatcher can give it to another driver, or cancel it."""
    mine, other = driver(), driver()
    batch = batch_in("IN_PROGRESS", admin, mine)
    admin.expect_ok("DELETE", f"/api/admin/people/driver/{mine.subject}")
    assert refused(deliver(mine, batch.orders[0]))[0] == 403
    batch.act("reassign", driverId=other.subject)
    for each in batch.orders:
        ok(deliver(other, each))
    assert batch.status == "COMPLETED"
