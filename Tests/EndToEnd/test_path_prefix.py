"""A gateway that a proxy serves below a path: `server.path_prefix`."""

import json
import re

import pytest

from harness.api import Api, event_body, signed_target
from harness.apps import FIRST, SECOND
from harness.client import Client
from harness.fleet import JWT
from harness.wire import Wire, upgrade

SETTINGS = {"server": {"path_prefix": "/ws"}, "sections": {"auth": {"jwt": JWT}}}


def publish(gateway, closing, sent: str, signed: str, channel: str) -> int:
    """Publishes by a request to the path `sent`, whose signature is that of the path `signed`."""
    body = event_body(channel, "event", "{}")
    target = signed_target(FIRST, "POST", signed, body)
    return closing(Api(gateway)).call("POST", sent + target[target.index("?"):], body).status


@pytest.mark.parametrize("sent", ["", "/ws"])
@pytest.mark.parametrize("signed", ["", "/ws"])
def test_signatures_count_with_the_prefix_and_without(gateway, closing, channel, sent, signed):
    """The proxy removes the prefix or not, and the SDK signs it or not."""
    client = closing(Client(gateway, f"{sent}/app/{FIRST.key}?protocol=7"))
    client.expect_established()
    client.subscribe(channel)
    assert publish(gateway, closing, sent + "/apps/1001/events", signed + "/apps/1001/events", channel) == 200
    client.expect("event")


@pytest.mark.parametrize("signed", ["/wss/apps/1001/events", "/ws/ws/apps/1001/events", "ws/apps/1001/events", "/WS/apps/1001/events"])
def test_other_prefixes_do_not_count(gateway, closing, channel, signed):
    assert publish(gateway, closing, "/apps/1001/events", signed, channel) == 401


def test_every_path_has_the_prefix_and_needs_none(gateway, closing, fleet):
    api, driver = closing(Api(gateway)), fleet.driver()
    for prefix in ("", "/ws"):
        assert api.get(prefix + "/healthz").status == 200 and api.get(prefix + "/metrics").status == 200
        assert driver.request("GET", prefix + "/api/driver/jobs").status == 200
        assert api.get(prefix + "/api/driver/jobs").json().keys() == {"success", "error"}
    for path in ("/ws", "/wsx/healthz", "/ws/ws/healthz", "/x/ws/healthz", "//ws/healthz"):
        assert api.get(path).status == 404, path


def test_without_the_setting_there_is_no_prefix(start_gateway, closing):
    gateway = start_gateway()
    wire = closing(Wire(gateway))
    wire.send(upgrade(f"/ws/app/{SECOND.key}?protocol=7"))
    assert wire.read_response().status == 404
    assert publish(gateway, closing, "/apps/1001/events", "/ws/apps/1001/events", "channel") == 401


def test_the_console_finds_its_files_below_the_prefix(gateway, closing):
    api = closing(Api(gateway))
    page = api.get("/ws/console/").body.decode()
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert len(files) == 2 and all(file.startswith("/ws/console/") for file in files), files
    for file in files:
        assert api.get(file).status == 200
    assert "key" in json.loads(api.get("/ws/console/config.json").body)
