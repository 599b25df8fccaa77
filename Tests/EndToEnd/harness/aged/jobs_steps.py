"""What dispatchers and drivers do with orders, routes and trips."""

from ..fleet import report, unique_id
from ..trips import DROPOFF, PICKUP, STEPS, position
from .world import People

ADDRESSES = {"customerName": "Ann Öz", "pickupAddress": "1 High St", "dropoffAddress": "2 Low Rd",
             "pickupLatitude": PICKUP[0], "pickupLongitude": PICKUP[1], "dropoffLatitude": DROPOFF[0],
             "dropoffLongitude": DROPOFF[1]}


def orders(people: People, turn: int) -> None:
    """Orders of the store, and new ones."""
    aged, admin = people.aged, people.admin
    number, other = aged.heavy + turn, aged.heavy + 100 + turn
    for special, code in [("an old order", f"O{7 + turn}"), ("an open order", aged.open_order(other))]:
        with people.step(special):
            admin.get_order(code)
            admin.expect_ok("PUT", f"/api/admin/orders/{code}", {"customerName": "Anna"})
    open_order = aged.open_order(other)
    with people.step("an open order"):
        for action in ("assign-driver", "remove-driver", "assign-driver", "unassign", "cancel-enhanced"):
            admin.order(open_order, action, driverId=f"a{number}", reason="no")
    new = unique_id("O")
    with people.step("a new order"):
        admin.expect_ok("PUT", f"/api/admin/orders/{new}", ADDRESSES)
        for action in ("assign-driver", "cancel-enhanced"):
            admin.order(new, action, driverId=f"a{turn % aged.heavy}")
    with people.step("repeated with its key"):
        repeated = f"/api/admin/orders/{unique_id('K')}/assign-driver"
        answers = {admin.post(repeated, {"driverId": f"a{number}"}, key=f"repeat{turn}").body for _ in range(3)}
        assert len(answers) == 1, answers
    with people.step("a stored response"):
        stored = people.caller("admin", f"w{turn}")
        stored.expect_error(409, "POST", f"/api/admin/orders/{new}/unassign", {}, key=f"k{turn}")


def routes(people: People, turn: int) -> None:
    aged, admin, number = people.aged, people.admin, people.aged.heavy + turn
    driver, route = people.driver(number), unique_id("T")
    admin.get_route(f"T{turn}")
    admin.expect_ok("PUT", f"/api/admin/routes/{route}", {"routeNumber": "R-1", "bookingsCount": 2})
    admin.route(route, "assign-driver", driverId=f"a{number}")
    driver.expect_ok("POST", f"/api/driver/routes/{route}/accept")
    admin.route(route, "drops/7/remove")
    admin.route(route, "unassign")
    admin.route(route, "cancel")
    with people.step("an open route"):
        admin.route(aged.open_route(number + 1), "assign-driver", driverId=f"a{number}")


def trips(people: People, turn: int) -> None:
    """A trip of the store's newest order of a driver, and a customer who follows it."""
    aged, admin, number = people.aged, people.admin, people.aged.heavy + 200 + turn
    driver, code = people.driver(number), aged.open_order(number)
    customer = people.customer(aged.customer(int(code[1:])), bookings=[f"R{code[1:]}"])
    with people.step("open"):
        driver.expect_ok("GET", "/api/driver/jobs")
    with people.step("a heavy driver's"):
        people.driver(turn % aged.heavy).expect_ok("GET", "/api/driver/jobs")
    driver.accept(code)
    with people.step("repeated"):
        driver.accept(code)
    for step in STEPS:
        driver.progress(code, step, notes="soon")
        if step == "arrived":
            driver.expect_ok("PUT", f"/api/driver/jobs/{code}/progress", {"step": "en_route", "undo": True})
            driver.progress(code, step)
            admin.expect_ok("POST", f"/api/admin/orders/{code}/correct", {"step": "en_route", "reason": "no"})
            driver.progress(code, step)
        if step in ("en_route", "in_transit"):
            driver.expect_ok("POST", "/api/driver/location", position(500))
            with people.step("under way"):
                customer.expect_ok("GET", f"/app-trip-status?reference=R{code[1:]}")
    with people.step("over"):
        customer.expect_ok("GET", f"/app-trip-status?reference=R{code[1:]}")
        admin.expect_ok("GET", f"/app-trip-status?reference=R{7 + turn}")
    admin.expect_ok("GET", "/api/admin/drivers/positions")


def cards(people: People, turn: int) -> None:
    admin, path = people.admin, f"/api/admin/drivers/a{people.aged.heavy + turn}"
    admin.expect_ok("GET", path)
    admin.expect_ok("PUT", path, {"name": "Dana", "vehicleMake": "Skoda"})


def telemetry(people: People, turn: int) -> None:
    """Steps of notifications under each of the ids that a phone knows."""
    aged = people.aged
    driver = people.driver(aged.heavy + turn)
    customer = people.customer(aged.customer(0))
    for special, id in aged.reported_ids(turn).items():
        with people.step(special):
            for event in ("received", "action_view_now", "action_accept"):
                report(driver, id, event)
    with people.step("a broadcast"):
        report(driver, aged.broadcast_id, "action_view_now", "DRIVER_APPROVED")
    report(customer, aged.reported_ids(turn)["the newest"], "received")
