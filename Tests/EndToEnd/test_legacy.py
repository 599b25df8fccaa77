"""Apps that never sign: the rule's `legacy` lets them in for a while, and hides what they need not see."""

import datetime
import json

import pytest

from harness.api import Api
from harness.apps import FIRST
from harness.client import Client
from harness.fleet import JWT, Fleet, expect_no_events, sign_in, wait_until
from harness.gateway import SERVER, check_log, expect_invalid_config, write_config
from harness.metrics import scrape
from harness.pysher_client import PysherClient
from harness.trips import Trip, position
from harness.wall_clock import WallClock

TOMORROW = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).date().isoformat()


def rule(pattern: str = "driver-*", access: str = "own-driver", **legacy) -> dict:
    return {"pattern": pattern, "access": access, "durable": access == "own-driver",
            "legacy": {"until": TOMORROW, "keys": [FIRST.key]} | legacy}


def sections(*rules: dict) -> dict:
    return {"auth": {"jwt": JWT}, "channels": [*rules, {"pattern": "admin-channel", "access": "admin"}]}


@pytest.fixture
def fleet(start_gateway, closing):
    """Starts a gateway with these rules: `fleet(rule())`."""
    return lambda *rules, **settings: Fleet(start_gateway(sections=sections(*rules), **settings), closing)


def refusal(client: Client, channel: str) -> dict:
    """What a subscription is refused with. It has no code: stock clients end their connection at some."""
    client.send_subscribe(channel)
    data = client.expect("pusher:error")["data"]
    assert data["code"] is None, data
    return data


def test_an_app_that_never_signs_gets_its_jobs(fleet, closing):
    """pysher is such an app: it has no sign-in."""
    fleet = fleet(rule())
    app = closing(PysherClient(fleet.gateway))
    app.subscribe("driver-42", "job-assigned")
    fleet.admin().assign("A-1", "42")
    channel, event, data = app.next()
    assert (channel, event) == ("driver-42", "job-assigned") and json.loads(data)["bookingId"] == "A-1"


def test_hidden_members_are_null_only_for_those_who_never_sign(fleet, closing):
    fleet = fleet(rule(hide=["customerName", "pickupAddress"]))
    admin, driver = fleet.admin(), fleet.driver("42")
    legacy = closing(Client.connect(fleet.gateway))
    legacy.subscribe("driver-42")
    others = [fleet.signed_in(driver, "driver-42"), fleet.listen(driver, "driver-42")]
    admin.assign("A-1", "42", customerName="Cleo", pickupAddress="1 High St", dropoffAddress="2 Low St")
    whole = [other.expect_data("job-assigned") for other in others]
    hidden = legacy.expect_data("job-assigned")
    assert whole[0] == whole[1] and whole[0]["customerName"] == "Cleo"
    assert hidden == whole[0] | {"customerName": None, "pickupAddress": None}


def test_events_of_backends_are_hidden_in_part_too(fleet, closing):
    fleet = fleet(rule(hide=["customerName"]))
    legacy = closing(Client.connect(fleet.gateway))
    legacy.subscribe("driver-42")
    api = closing(Api(fleet.gateway))
    for data, expected in [('{"a": {"customerName": "C"}, "b": 1}', '{"a":{"customerName":null},"b":1}'),
                           ("customerName", "customerName"), ('{"customerName": "C", "a": NaN}', "null")]:
        api.publish("driver-42", "note", data)
        assert legacy.expect("note", channel="driver-42")["data"] == expected


def test_the_position_of_a_tracking_channel_is_hidden_in_part(fleet, closing):
    fleet = fleet(rule("tracking-*", "booking", hide=["latitude"]), rule())
    trip = Trip(fleet, fleet.admin()).go_to("en_route")
    trip.locate(position(500))
    legacy = closing(Client.connect(fleet.gateway))
    legacy.subscribe(f"tracking-{trip.reference}")
    data = legacy.expect_data("location-updated", channel=f"tracking-{trip.reference}")
    assert data["latitude"] is None and data["longitude"] is not None


def test_a_sign_in_shows_the_whole(fleet, closing):
    fleet = fleet(rule(hide=["customerName"]))
    driver, client = fleet.driver("42"), closing(Client.connect(fleet.gateway))
    client.subscribe("driver-42")
    sign_in(client, driver)
    fleet.admin().assign("A-1", "42", customerName="Cleo")
    assert client.expect_data("job-assigned")["customerName"] == "Cleo"


@pytest.mark.parametrize("legacy", [
    {"until": "2026-01-01"}, {"addresses": ["10.0.0.0/8"]}, {"until": "2026-01-01", "addresses": ["127.0.0.0/8"]}])
def test_it_is_as_if_legacy_were_absent(fleet, closing, legacy):
    """The time is over, or the client comes from elsewhere."""
    fleet = fleet(rule(**legacy))
    client = closing(Client.connect(fleet.gateway))
    assert "sign in" in refusal(client, "driver-42")["message"]
    expect_no_events(closing(Api(fleet.gateway)), client)


def test_a_client_behind_a_proxy_counts_by_its_own_address(fleet, closing):
    fleet = fleet(rule(addresses=["10.1.0.0/16"]), server={"behind_proxy": True, "trusted_proxies": ["127.0.0.1"]})
    for address, is_in in [("10.1.2.3", True), ("10.2.2.3", False)]:
        client = closing(Client.dial(fleet.gateway, headers={"X-Forwarded-For": address}))
        client.expect_established()
        if is_in:
            client.subscribe("driver-42")
        else:
            refusal(client, "driver-42")


def test_a_signed_in_user_may_only_what_the_user_may(fleet, closing):
    fleet = fleet(rule())
    client = fleet.signed_in(fleet.driver("7"))
    assert "may not subscribe" in refusal(client, "driver-42")["message"]


def test_it_belongs_to_nobody(fleet, closing):
    """Nothing is confirmed by it, so the driver still gets what was sent meanwhile."""
    fleet = fleet(rule())
    legacy = closing(Client.connect(fleet.gateway))
    legacy.subscribe("driver-42")
    fleet.admin().assign("A-1", "42")
    legacy.expect_data("job-assigned")
    legacy.send("pusher:ping")
    legacy.expect("pusher:pong")
    driver = closing(Client.connect(fleet.gateway))
    signature = fleet.driver("42").channel_auth(driver.socket_id, "private-driver-42").json()
    driver.subscribe("private-driver-42", **signature)
    assert driver.expect_data("job-assigned")["bookingId"] == "A-1"


def test_operators_see_who_is_left(fleet, closing):
    fleet = fleet(rule(), rule("tracking-*", "booking"))
    api, clients = closing(Api(fleet.gateway)), [closing(Client.connect(fleet.gateway)) for _ in range(2)]
    clients[0].subscribe("driver-42")
    for client in clients:
        client.subscribe("driver-43")
    clients[0].unsubscribe("driver-42")
    stats = fleet.ops().expect_ok("GET", "/api/ops/stats")
    assert stats["legacy"] == [{"pattern": "driver-*", "connections": 2}, {"pattern": "tracking-*", "connections": 0}]
    metrics = scrape(api)
    assert metrics.value("fleetwire_legacy_subscriptions", pattern="driver-*") == 2
    assert metrics.value("fleetwire_legacy_subscriptions_total", pattern="driver-*") == 3
    wait_until(lambda: fleet.gateway.log().count("legacy_subscriptions") == 2, "the log has a line for each rule")
    lines = [entry for entry in check_log(fleet.gateway.log()) if entry["event"] == "legacy_subscriptions"]
    assert [(line["pattern"], line["daysLeft"]) for line in lines] == [
        ("driver-*", 1), ("tracking-*", 1)]
    assert lines[0]["until"] == f"{TOMORROW}T00:00:00Z" and lines[0]["level"] == "warning" and "openNow" in lines[0]


def test_it_ends_on_its_day(fleet, closing, tmp_path):
    """Subscriptions end while the gateway runs, and no new one begins. Those of a rule without an end stay."""
    clock = WallClock(tmp_path / "clock")
    fleet = fleet(rule(), rule("tracking-*", "booking", until=""), wrapper=clock.wrapper)
    client = closing(Client.connect(fleet.gateway))
    client.subscribe("driver-42")
    client.subscribe("tracking-R1")
    clock.move(seconds=86_400)
    error = client.expect("pusher:error")["data"]
    assert error == {"code": None, "message": "Your subscription to driver-42 has ended: apps must sign in by now"}
    assert "sign in" in refusal(client, "driver-42")["message"]
    metrics = scrape(closing(Api(fleet.gateway)))
    for pattern, count in (("driver-*", 0), ("tracking-*", 1)):
        assert metrics.value("fleetwire_legacy_subscriptions", pattern=pattern) == count


def test_a_configuration_with_a_wrong_key_is_refused(tmp_path):
    config = write_config(tmp_path / "fleetwire.yaml", server=SERVER, apps=[FIRST.entry()],
                          channels=[rule(keys=["another"])])
    expect_invalid_config("check-config", config, "channels[0].legacy.keys", "another")
