"""`fleetwire drive`: a driver for development."""

import pytest

from harness.fleet import SECTIONS, wait_until
from harness.gateway import run
from harness.trips import PICKUP, Trip, position

SETTINGS = {"sections": SECTIONS}
TO = f"{PICKUP[0]},{PICKUP[1]}"


def drive(gateway, code: str, *more: str):
    return run("drive", "--config", str(gateway.config), "--url", gateway.url, "--order", code, *more)


def test_the_driver_accepts_drives_and_arrives(fleet, admin):
    trip = Trip(fleet, admin)
    start = position(250)
    result = drive(fleet.gateway, trip.code, "--to", TO, "--speed", "500", "--interval", "0.5",
                   "--from", f"{start['latitude']},{start['longitude']}")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"{trip.code}  0.3 of 0.3 km to go, at 500 km/h"
    assert lines[-2].startswith(f"{trip.code}  0.0 of 0.3 km") and "is there" in lines[-1]
    trip.wait_for("arrived")
    wait_until(lambda: trip.events()[:3] == ["driver-assigned", "tracking-started",
                                             "driver-en-route"], "the customer is told")


def test_a_job_that_is_over_is_not_driven(fleet, admin):
    trip = Trip(fleet, admin).go_to("completed")
    result = drive(fleet.gateway, trip.code, "--to", TO)
    assert result.returncode == 1 and "its job is not under way" in result.stderr


def test_an_order_without_a_driver_or_an_unknown_one_is_not_driven(fleet, admin, code):
    assert "status 404" in drive(fleet.gateway, code, "--to", TO).stderr
    admin.expect_ok("PUT", f"/api/admin/orders/{code}", {})
    result = drive(fleet.gateway, code, "--to", TO)
    assert result.returncode == 1 and "has no driver: assign one with POST" in result.stderr


@pytest.mark.parametrize("arguments, problem", [
    (["--to", "91,0"], "--to"), (["--to", "1"], "--to"), (["--to", TO, "--from", "x,0"], "--from"),
    (["--to", TO, "--speed", "0"], "--speed"), (["--to", TO, "--interval", "0.4"], "--interval"),
    ([], "--to")])
def test_wrong_arguments_are_refused(fleet, arguments, problem):
    result = drive(fleet.gateway, "O-1", *arguments)
    assert result.returncode == 64 and problem in result.stderr
