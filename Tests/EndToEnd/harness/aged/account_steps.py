"""What drivers with accounts and customers with phones do: sign-in, batches of orders."""



from .. import batches
from ..batches import Batch
from ..codes import age
from ..people import FirebaseUser
from ..sms_adapter import CARD, DETAILS, REFRESH, SESSION
from .world import People

ACCOUNTS = "/api/admin/drivers"


def accounts(people: People, turn: int) -> None:
    admin, user = people.admin, people.keep(FirebaseUser(people.gateway))
    user.sync()
    user.register()
    for action, reason in [("reject", {"reason": "Blurred"}), ("approve", None), ("suspend", {"reason": "Late"}),
                           ("reinstate", None)]:
        admin.expect_ok("POST", f"{ACCOUNTS}/{user.subject}/{action}", reason)
    stored = people.firebase(people.aged.heavy + turn)
    with people.step("of the store"):
        stored.sync()
        stored.expect_ok("GET", "/api/auth/me")
        stored.expect_ok("PUT", "/api/auth/profile", {"name": "Rahul", "email": None})
        admin.expect_ok("GET", f"{ACCOUNTS}/{stored.subject}/account")
    for special, query in [("all", ""), ("those who wait", "&status=PENDING"), ("the approved", "&status=ACTIVE")]:
        with people.step(special):
            page = admin.expect_ok("GET", f"{ACCOUNTS}?limit=200{query}")["data"]["drivers"]
            admin.expect_ok("GET", f"{ACCOUNTS}?limit=200{query}&before={page[-1]['_id']}")


def kitchen(people: People, turn: int) -> None:
    """A batch from its first order to its last, that changes hands on the way."""
    admin, aged = people.admin, people.aged
    first, second = (people.firebase(aged.heavy + 300 + 2 * turn + each) for each in range(2))
    for driver in (first, second):
        driver.expect_ok("PUT", "/api/delivery/availability", {"online": True})
        driver.expect_ok("GET", "/api/delivery/availability")
    batch = Batch(admin, [batches.order(deliveryOtp="4821"), *(batches.order() for _ in range(3))])
    coded, photographed, failed, cancelled = batch.orders
    batch.ready()
    for sort in ("orders", "nearest&latitude=19&longitude=72.5"):
        first.expect_ok("GET", f"/api/delivery/available-batches?sort={sort}")
    batches.ok(batches.accept(first, batch))
    batch.act("unassign", reason="late")
    batches.ok(batches.accept(second, batch))
    batch.act("reassign", driverId=first.subject)
    batch.act(f"orders/{cancelled}/cancel", by="customer", reason="changed plans")
    batches.my_batch(first)
    batches.ok(batches.pick_up(first, batch))
    batches.ok(batches.arrange(first, batch, failed, coded, photographed))
    assert batches.report(first, coded, "DELIVERED", proofOfDelivery={"type": "OTP", "otp": "0000"}).status == 400
    batches.ok(batches.deliver(first, coded, type="OTP", otp="4821"))
    batches.ok(batches.deliver(first, photographed))
    batches.ok(batches.fail(first, failed))
    batches.complete(first, batch)
    batch.act(f"orders/{failed}/return")
    batches.ok(batches.read(first, batch))
    batch.get()
    Batch(admin).act("cancel")
    with people.step("of the store"):
        admin.expect_ok("GET", f"/api/admin/batches/{aged.batch(turn)}")
        for driver in (first, people.firebase(turn % aged.heavy)):
            driver.expect_ok("GET", "/api/delivery/summary")


def codes(people: People, turn: int) -> None:
    """A new phone, and one of the store: its customer has an account."""
    for special, number in [("a new phone", None), ("a phone of the store", people.aged.customer_phone(turn)[2:])]:
        with people.step(special):
            phone = people.phone(number)
            adapter = phone.adapter
            assert phone.login().status == 200
            code = adapter.code(phone.number)
            age(people.gateway, phone, 61)
            assert phone.resend().status == 200
            code = adapter.code(phone.number)
            assert phone.verify("000000" if code != "000000" else "000001").status == 400
            response = phone.verify(code)
            assert response.status == 200, response
            phone.bearer = response.json()["data"]["token"]
            phone.expect_ok("POST", DETAILS, {"name": "Ann", "email": f"{phone.local}@example.com"})
            phone.expect_ok("POST", CARD, {"payment_token": "tok_1", "last4": "4242"})
            phone.bearer = phone.expect_ok("POST", REFRESH)["data"]["token"]
            phone.expect_ok("DELETE", SESSION)
