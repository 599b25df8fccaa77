"""What a trip needs to know: the coordinates of an order, and the card of a driver."""

import json

import pytest

from harness.fleet import SETTINGS as FLEET, Caller, unique_id, wait_until

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


# A driver's card

CARD = {"name": "Danuta Öz", "phoneNumber": "+41 79 000 00 00", "vehicleMake": "VW",
        "vehicleModel": "ID. Buzz", "vehicleColor": "white", "licensePlate": "ZH 123"}


@pytest.fixture
def driver_id():
    return unique_id("d")


def card_path(driver_id: str) -> str:
    return f"/api/admin/drivers/{driver_id}"


def get_card(admin, driver_id: str) -> dict:
    return admin.expect_ok("GET", card_path(driver_id))["data"]["driver"]


def test_a_card_is_created_merged_and_cleared(admin, driver_id):
    received = admin.expect_ok("PUT", card_path(driver_id), CARD,
                               headers={"X-Correlation-ID": "c-7"})
    card = {"id": driver_id} | CARD | {"version": 1}
    assert received == {"success": True, "message": "Driver updated", "data": {"driver": card},
                        "correlationId": "c-7"}
    assert list(received["data"]["driver"]) == list(card)
    assert admin.expect_ok("GET", card_path(driver_id)) == {"success": True,
                                                            "data": {"driver": card}}
    admin.expect_ok("PUT", card_path(driver_id), {"vehicleColor": "red", "phoneNumber": None})
    card |= {"vehicleColor": "red", "phoneNumber": None, "version": 2}
    assert get_card(admin, driver_id) == card
    admin.expect_ok("PUT", card_path(driver_id), {"vehicleColor": "red"})
    assert get_card(admin, driver_id) == card


def test_an_unknown_driver_is_404(admin, fleet, driver_id):
    admin.assign(unique_id("O"), driver_id)
    assert admin.expect_error(404, "GET", card_path(driver_id)) == f"Driver {driver_id} not found"


def test_if_match_and_idempotency_key(admin, driver_id):
    path = card_path(driver_id)
    for version, wanted in (("1", 409), ("0", 200), ("0", 409), ("1", 200)):
        response = admin.put(path, {"name": f"Name {version}"}, headers={"If-Match": version})
        assert response.status == wanted, (version, response)
    assert admin.expect_error(409, "PUT", path, {}, headers={"If-Match": "7"}) == (
        f"Driver {driver_id} has version 2; If-Match requires version 7")
    key = unique_id("k")
    first = admin.put(path, CARD, key=key)
    admin.expect_ok("PUT", path, {"name": "Later"})
    again = admin.put(path, CARD, key=key)
    assert again.body == first.body and again.headers["idempotency-replayed"] == "true"
    assert get_card(admin, driver_id)["name"] == "Later"
    admin.expect_error(409, "PUT", path, {"name": "Other"}, key=key)


def test_only_admins_read_and_write_cards(fleet, admin, driver_id):
    admin.expect_ok("PUT", card_path(driver_id), CARD)
    for caller in (fleet.driver(driver_id), fleet.customer(), fleet.ops()):
        caller.expect_error(403, "GET", card_path(driver_id))
        caller.expect_error(403, "PUT", card_path(driver_id), {})
    fleet.caller().expect_error(401, "GET", card_path(driver_id))
    for method in ("POST", "DELETE", "PATCH"):
        admin.expect_error(405, method, card_path(driver_id), {})


def test_wrong_texts_and_ids_are_400(admin, driver_id):
    for field in CARD:
        assert admin.expect_error(400, "PUT", card_path(driver_id), {field: "é" * 101}) == (
            f'Expected "{field}" to have at most 100 characters')
        assert admin.expect_error(400, "PUT", card_path(driver_id), {field: 1}) == (
            f'Expected "{field}" to be a string')
    admin.expect_error(404, "GET", card_path(driver_id))
    assert admin.expect_ok("PUT", card_path(driver_id), {"name": "é" * 100})
    for method in ("GET", "PUT"):
        admin.expect_error(400, method, card_path("a%20b"), {})
    for reserved in ("positions", "%70ositions"):
        assert "positions is reserved" in admin.expect_error(400, "PUT", card_path(reserved), {})


def test_a_card_survives_a_kill_and_is_audited(start_gateway, closing):
    gateway = start_gateway("kept", **FLEET)
    admin = closing(Caller(gateway, "admin", "ada"))
    admin.expect_ok("PUT", card_path("d1"), CARD)
    gateway.kill()
    gateway = start_gateway("kept", **FLEET)
    admin = closing(Caller(gateway, "admin", "ada"))
    assert get_card(admin, "d1") == {"id": "d1"} | CARD | {"version": 1}
    [(actor, details)] = gateway.query(
        "SELECT actor, details FROM audit WHERE action = 'driver_update'")
    assert actor == "admin:ada" and json.loads(details) == {"person": "driver:d1",
                                                            "fields": list(CARD)}


def test_erasing_a_driver_removes_the_card(admin, fleet, driver_id):
    texts = {field: f"{text} {driver_id}" for field, text in CARD.items()}
    admin.put(card_path(driver_id), texts, key=unique_id("k"))
    admin.assign(unique_id("O"), driver_id, reason=f"ask {texts['name']} at {texts['phoneNumber']}")
    admin.expect_ok("DELETE", f"/api/admin/people/driver/{driver_id}")
    admin.expect_error(404, "GET", card_path(driver_id))

    def stored() -> list[str]:
        rows = [str(row) for table in ("drivers", "orders", "idempotency", "audit",
                                       "notifications", "erasures")
                for row in fleet.gateway.query(f"SELECT * FROM {table}")]
        return [text for text in texts.values() if any(text in row for row in rows)]
    wait_until(lambda: stored() == [], "the card is erased from stored responses and reasons")
