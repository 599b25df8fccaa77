"""What operators see of connections, channels and notifications, and the live figures."""

import re

import pytest

from harness.api import Api
from harness.apps import FIRST
from harness.fleet import SETTINGS, TIMESTAMP, join, unique_id, wait_until  # noqa: F401

CONNECTIONS, CHANNELS = "/api/ops/connections", "/api/ops/channels"


@pytest.fixture
def ops(fleet):
    return fleet.ops()


def connections(caller, **query) -> list[dict]:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return caller.expect_ok("GET", f"{CONNECTIONS}?{text}")["connections"]


def channels(caller, prefix: str) -> list[dict]:
    return caller.expect_ok("GET", f"{CHANNELS}?prefix={prefix}")["channels"]


def test_a_connection_is_described(fleet, ops):
    driver = fleet.driver()
    client = fleet.listen(driver, f"driver-{driver.subject}")
    [found] = connections(ops, user=f"driver:{driver.subject}")
    assert TIMESTAMP.fullmatch(found.pop("since")) and TIMESTAMP.fullmatch(found.pop("lastSeenAt"))
    assert found.pop("loop") in (0, 1)
    assert found == {"socketId": client.socket_id, "app": FIRST.id,
                     "user": f"driver:{driver.subject}", "outboxBytes": 0,
                     "channels": [f"private-driver-{driver.subject}"], "address": "127.0.0.0/24"}
    assert connections(ops, user=driver.subject)[0]["socketId"] == client.socket_id
    client.close()
    wait_until(lambda: connections(ops, user=driver.subject) == [], "the closed one is not listed")


@pytest.mark.parametrize("gateway", [1, 4], indirect=True, ids="loops={}".format)
def test_connections_of_a_channel_are_paged_newest_first(fleet, ops, connect, channel):
    clients = [connect() for _ in range(7)]
    for client in clients:
        client.subscribe(channel)
    path = f"{CONNECTIONS}?channel={channel}&limit=3"
    answer = ops.expect_ok("GET", path)
    pages = [[each["socketId"] for each in answer["connections"]]]
    while "next" in answer:
        [last] = [each for each in clients if each.socket_id == pages[-1][-1]]
        assert [each["socketId"] for each in connections(ops, channel=channel, limit=3,
                                                         before=last.socket_id)] \
            == [each["socketId"] for each in connections(ops, channel=channel, limit=3,
                                                         before=answer["next"])]
        last.close()  # the next page begins behind its place all the same
        wait_until(lambda: last.socket_id not in {each["socketId"] for each in connections(
            ops, channel=channel)}, "it is closed")
        answer = ops.expect_ok("GET", f"{path}&before={answer['next']}")
        pages.append([each["socketId"] for each in answer["connections"]])
    assert [len(page) for page in pages] == [3, 3, 1]
    assert {each for page in pages for each in page} == {each.socket_id for each in clients}
    since = [each["since"] for each in connections(ops, channel=channel)]
    assert since == sorted(since, reverse=True)


def test_page_behind_a_closed_connection_is_refused(fleet, ops, connect):
    client = connect()
    gone = client.socket_id
    client.close()
    wait_until(lambda: all(each["socketId"] != gone for each in connections(ops, limit=200)),
               "it is closed")
    assert "closed" in ops.expect_error(400, "GET", f"{CONNECTIONS}?before={gone}")


@pytest.mark.parametrize("query", ["before=1", "before=x", "channel=%20", "limit=0", "limit=201"])
def test_bad_queries_are_refused(ops, query):
    assert "Expected" in ops.expect_error(400, "GET", f"{CONNECTIONS}?{query}")


def test_prefix_must_be_ascii(ops):
    ops.expect_error(400, "GET", f"{CHANNELS}?prefix=%C3%A4")


def test_channels_count_their_recent_events(fleet, ops, api, connect):
    prefix = unique_id("list-")
    client = connect()
    for name in ("a", "b"):
        client.subscribe(f"{prefix}-{name}")
    for _ in range(3):
        api.publish(f"{prefix}-b")
    assert channels(ops, prefix) == [
        {"name": f"{prefix}-b", "app": FIRST.id, "subscriptions": 1, "eventsLast5Minutes": 3},
        {"name": f"{prefix}-a", "app": FIRST.id, "subscriptions": 1, "eventsLast5Minutes": 0}]
    connect().join(f"presence-{prefix}", "7")
    [found] = channels(ops, f"presence-{prefix}")
    assert found["users"] == 1


@pytest.mark.parametrize("path", [CONNECTIONS, CHANNELS])
def test_only_operators_may_list(fleet, path):
    for caller in (fleet.driver(), fleet.customer()):
        caller.expect_error(403, "GET", path)
    fleet.caller().expect_error(401, "GET", path)
    fleet.admin().expect_ok("GET", path)


# Live figures


def test_live_figures_come_once_a_second(fleet, ops):
    client = fleet.listen(ops, "fleetwire-ops")
    for _ in range(2):
        stats = client.expect_data("stats", channel="private-fleetwire-ops")
        assert stats.keys() == ops.expect_ok("GET", "/api/ops/stats").keys()
    assert stats["connections"] >= 1


def test_live_figures_are_for_operators(fleet, connect):
    for caller in (fleet.driver(), fleet.customer()):
        client = connect()
        assert caller.channel_auth(client.socket_id, "private-fleetwire-ops").status == 403
        client.send_subscribe("fleetwire-ops")
        client.expect_rejection("fleetwire-ops")
    client = connect()
    assert fleet.ops().channel_auth(client.socket_id, "private-admin-channel").status == 403
    assert fleet.ops().channel_auth(client.socket_id, "presence-fleetwire-ops").status == 403
    join(client, fleet.admin(), "private-fleetwire-ops")


# Notifications of an order


def test_notifications_of_an_order_are_found(fleet, ops):
    admin, code, other = fleet.admin(), unique_id("o"), unique_id("o")
    driver, second = fleet.driver(), fleet.driver()
    headers = {"X-Correlation-ID": "the-same"}
    ids = []
    for each in (code, other):
        body = {"driverId": driver.subject, "bookingReference": f"ref-{each}"}
        ids.append(admin.expect_ok("POST", f"/api/admin/orders/{each}/assign-driver", body,
                                   headers=headers)["data"]["notificationIds"])
    driver.accept(code)
    driver.progress(code, "en_route")
    ids[0] += admin.assign(code, second.subject)["data"]["notificationIds"]
    found = ops.expect_ok("GET", f"/api/ops/notifications?order={code}&limit=200")["notifications"]
    assert set(ids[0]) <= {each["id"] for each in found}
    assert not set(ids[1]) & {each["id"] for each in found}
    events = {each["event"] for each in found}
    assert {"job-assigned", "order-assigned", "job-removed", "job-accepted", "job-progress",
            "driver-en-route"} <= events
    assert [each["id"] for each in found] == sorted((each["id"] for each in found), reverse=True)
    page = ops.expect_ok("GET", f"/api/ops/notifications?order={code}&limit=2")["notifications"]
    rest = ops.expect_ok("GET", f"/api/ops/notifications?order={code}&limit=200"
                                f"&before={page[-1]['id']}")["notifications"]
    assert page + rest == found


def test_notifications_of_a_driver_are_found(fleet, ops):
    driver = fleet.driver()
    fleet.admin().assign(unique_id("o"), driver.subject)
    found = ops.expect_ok("GET", f"/api/ops/notifications?driver={driver.subject}")["notifications"]
    assert [(each["event"], each["channel"]) for each in found] == [
        ("job-assigned", f"driver-{driver.subject}")]


@pytest.mark.parametrize("query, status", [
    ("order=none", 404), ("order=a%20b", 400), ("driver=a%20b", 400), ("driver=1&channel=x", 400),
    ("order=1&driver=1", 400), ("order=1&channel=x", 400)])
def test_bad_searches_are_refused(ops, query, status):
    ops.expect_error(status, "GET", f"/api/ops/notifications?{query}")


# The page


def test_the_page_holds_no_data_and_admits_nothing_from_outside(api):
    page = api.get("/console")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, policy
    for name in re.findall(r'(?:src|href)="(/console/[^"]+)"', page.text):
        assert api.get(name).status == 200, name
    assert api.get("/console/config.json").json() == {"key": FIRST.key, "tileUrl": None}
    for missing in ("/console/none.js", "/console/console.html", "/console/a/b", "/consoles"):
        assert api.get(missing).status == 404, missing
    assert api.call("POST", "/console", b"").status == 405


def test_the_page_can_be_off_and_have_tiles(start_gateway, closing):
    off = closing(Api(start_gateway(sections={"console": {"enabled": False}})))
    assert off.get("/console").status == off.get("/console/config.json").status == 404
    url = "http://127.0.0.1:9/{z}/{x}/{y}.png"
    tiles = closing(Api(start_gateway(sections={"console": {"tile_url": url}})))
    assert tiles.get("/console/config.json").json()["tileUrl"] == url
    assert "img-src 'self' data: http://127.0.0.1:9;" in tiles.get(
        "/console").headers["content-security-policy"]
