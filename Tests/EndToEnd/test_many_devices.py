"""Clients name their devices themselves: an owner has a place in a channel for twenty of them."""

import pytest

from harness.api import Api
from harness.fleet import SECTIONS, Fleet, unique_id, wait_until
from harness.metrics import count_limited
from harness.owner import Owner


@pytest.fixture
def fleet(start_gateway, closing):
    return Fleet(start_gateway(sections=SECTIONS), closing)


def subscribe(fleet, closing, driver, device: str) -> Owner:
    owner = closing(Owner(fleet.gateway, driver, device=device))
    owner.subscribe(f"private-driver-{driver.subject}")
    return owner


def test_ever_new_devices_of_a_driver_take_twenty_places(fleet, closing):
    driver, admin, code = fleet.driver(), fleet.admin(), unique_id("O")
    first = subscribe(fleet, closing, driver, "first")
    admin.assign(code, driver.subject)
    first.expect_jobs(code)
    first.close()
    for number in range(40):
        owner = subscribe(fleet, closing, driver, f"d{number}")
        owner.close()
    count = "SELECT COUNT(*) FROM cursors WHERE owner = ?"
    assert fleet.gateway.query(count, f"driver:{driver.subject}") == [(20,)]
    api = closing(Api(fleet.gateway))
    wait_until(lambda: count_limited(api, "devices") == 21, "the forgotten devices are counted")
    # A repetition, not a loss.
    subscribe(fleet, closing, driver, "first").expect_jobs(code)
