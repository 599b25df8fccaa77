"""What a trip needs to know: the coordinates of an order, and the card of a driver."""

import pytest

from harness.fleet import SETTINGS as FLEET, unique_id, wait_until

SETTINGS = FLEET

PLACES = {"pickupLatitude": 51.5074, "pickupLongitude": -0.1278,
          "dropoffLatitude": 47.3769, "dropoffLongitude": 8.5417}


def places(order: dict) -> dict:
    return {name: order[name] for name in PLACES}


def path(code: str) -> str:
    return f"/api/admin/orders/{code}"


def update(admin, code: str, **fields) -> dict:
    return admin.expect_ok("PUT", path(code), fields)["data"]["order"]


# Coordinates of an order

def test_an_order_without_coordinates_shows_nulls(admin, code):
    order = update(admin, code)
    assert places(order) == places(admin.get_order(code)) == dict.fromkeys(PLACES)


@pytest.mark.parametrize("action", ["assign-driver", "unassign", "remove-driver",
                                    "cancel-enhanced"])
def test_every_action_takes_coordinates_and_its_events_do_not_have_them(
        admin, fleet, code, action):
    driver = fleet.driver()
    if action != "assign-driver":
        admin.assign(code, driver.subject)
    response = admin.order(code, action, driverId=driver.subject, **PLACES)
    assert places(response["data"]["order"]) == places(admin.get_order(code)) == PLACES
    sent = dict(fleet.gateway.query("SELECT id, data FROM notifications"))
    assert response["data"]["notificationIds"]
    for data in (sent[notification] for notification in response["data"]["notificationIds"]):
        assert "Latitude" not in data and "51.5074" not in data


def test_numbers_are_shown_as_they_were_sent(admin, code):
    sent = b'{"pickupLatitude":51.50740,"pickupLongitude":-1.278e-1}'
    assert admin.put(path(code), sent).status == 200
    assert b'"pickupLatitude":51.50740,"pickupLongitude":-1.278e-1' in admin.request(
        "GET", path(code)).body


def test_pairs_are_kept_and_cleared_one_by_one(admin, code):
    assert update(admin, code, **PLACES)["version"] == 1
    order = update(admin, code, customerName="Ann")
    assert places(order) == PLACES and order["version"] == 2
    order = update(admin, code, dropoffLatitude=None, dropoffLongitude=None)
    assert places(order) == PLACES | {"dropoffLatitude": None, "dropoffLongitude": None}
    assert update(admin, code, dropoffLatitude=None, dropoffLongitude=None)["version"] == 3
    order = update(admin, code, pickupLatitude=0, pickupLongitude=0)
    assert (order["pickupLatitude"], order["pickupLongitude"], order["version"]) == (0, 0, 4)


@pytest.mark.parametrize("fields, error", [
    ({"pickupLatitude": 1}, 'Expected "pickupLongitude": a number is required'),
    ({"pickupLongitude": 1}, 'Expected "pickupLatitude": a number is required'),
    ({"dropoffLatitude": 1, "dropoffLongitude": None},
     'Expected "dropoffLongitude": a number is required'),
    ({"dropoffLatitude": None}, 'Expected "dropoffLongitude" to be null, like "dropoffLatitude"'),
    ({"dropoffLongitude": None}, 'Expected "dropoffLatitude" to be null, like "dropoffLongitude"'),
    ({"pickupLatitude": 90.1, "pickupLongitude": 0},
     'Expected "pickupLatitude" to be from -90 to 90'),
    ({"pickupLatitude": 0, "pickupLongitude": -181},
     'Expected "pickupLongitude" to be from -180 to 180'),
    ({"pickupLatitude": "51", "pickupLongitude": 0}, 'Expected "pickupLatitude" to be a number'),
])
def test_half_a_place_is_rejected_and_changes_nothing(admin, code, fields, error):
    before = update(admin, code, **PLACES)
    assert admin.expect_error(400, "PUT", path(code), fields) == error
    body = fields | {"driverId": "d1"}
    assert admin.expect_error(400, "POST", path(code) + "/assign-driver", body) == error
    assert admin.get_order(code) == before


def test_the_driver_sees_the_coordinates_of_a_job(admin, fleet, code):
    driver = fleet.driver()
    admin.assign(code, driver.subject, **PLACES)
    [job] = driver.expect_ok("GET", "/api/driver/jobs")["data"]["jobs"]
    assert places(job) == PLACES
    driver.accept(code)
    assert places(admin.get_order(code)) == PLACES


def test_erasing_a_customer_removes_coordinates_of_orders_that_are_over(admin, fleet, code):
    customer, open_code = fleet.customer(), unique_id("O")
    for order, latitude in ((code, 51.918273), (open_code, 51.645546)):
        admin.put(path(order), {"customerId": customer.subject} | PLACES
                  | {"pickupLatitude": latitude}, key=unique_id("k"))
    admin.order(code, "cancel-enhanced")
    admin.expect_ok("DELETE", f"/api/admin/people/customer/{customer.subject}")
    assert places(admin.get_order(code)) == dict.fromkeys(PLACES)
    assert admin.get_order(open_code)["pickupLatitude"] == 51.645546

    def stored(text: str) -> bool:
        return any(text in str(row) for table in ("orders", "idempotency", "audit", "notifications")
                   for row in fleet.gateway.query(f"SELECT * FROM {table}"))
    wait_until(lambda: not stored("51.918273"), "the coordinates are erased from stored responses")
    assert stored("51.645546")
