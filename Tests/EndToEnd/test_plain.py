"""`fleet: {enabled: false}`: a plain Pusher server, without the fleet's API, channel rules, pushes and store."""

import pytest
from harness.api import Api
from harness.client import Client
from harness.gateway import expect_invalid_config

PLAIN = {"fleet": {"enabled": False}}


@pytest.fixture
def plain(start_gateway):
    return start_gateway(sections=PLAIN)


def test_clients_and_backends_are_served(plain, closing):
    client, api = closing(Client.connect(plain)), closing(Api(plain))
    client.subscribe("driver-42")
    client.subscribe_private("private-driver-42")
    for channel in ("driver-42", "private-driver-42"):
        api.publish(channel, "e", "d")
        client.expect("e", channel=channel, data="d")
    client.expect_nothing()  # the names are two channels


def test_nothing_of_the_fleet_is_there(plain, closing):
    api = closing(Api(plain))
    for path in ("/api/driver/jobs", "/api/ops/stats", "/api/admin/orders/A-1", "/pusher/auth", "/pusher/user-auth",
                 "/app-trip-status", "/console", "/console/"):
        response = api.get(path)
        assert response.status == 404 and response.body.startswith(b"Unknown path"), path
    metrics = api.get("/metrics").body.decode()
    assert "_connected{" in metrics and "_store_" not in metrics and "_push_" not in metrics
    assert api.get("/readyz").body == b"ready\n" and api.get("/healthz").body == b"ok\n"


def test_no_file_is_created(plain):
    plain.stop()
    assert {path.name for path in plain.config.parent.iterdir()} == {"fleetwire.yaml", "stderr.log"}


def test_several_nodes_need_the_fleets_store(config):
    path = config(**PLAIN, cluster={"nats": ["nats://127.0.0.1:1"]})
    for command in ("serve", "check-config"):
        expect_invalid_config(command, path, "cluster.nats", "several nodes need the fleet's store", "fleet.enabled: true")


def test_production_asks_for_nothing_of_the_fleet(start_gateway):
    secret = "b7Qm2VxkLw9Tz4RfYd8CsNpHj6GaE3uX"
    start_gateway(sections=PLAIN, first={"secret": secret}, production=True).assert_alive()
