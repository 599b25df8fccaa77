"""Guaranteed delivery with clients that know nothing of it: pysher, a browser's WebSocket, and many drivers
who come back at once.
"""

import contextlib
import json
import queue

import pytest

from harness.apps import FIRST, TIMEOUT
from harness.browser import Browser, PageServer
from harness.crowd.crowd import CrowdProcess
from harness.crowd.judge import Judge
from harness.fleet import SETTINGS as FLEET, Fleet, unique_id, wait_until
from harness.metrics import wait_for_metric
from harness.pysher_client import PysherClient

SETTINGS = FLEET
DRIVERS, WAITING = 300, 3


@pytest.fixture
def driver(fleet):
    return fleet.driver()


@pytest.fixture
def assign(admin, driver):
    def assigned() -> str:
        code = unique_id("O")
        admin.assign(code, driver.subject)
        return code

    return assigned


@pytest.fixture
def wait_for_confirmations(gateway, driver):
    def wait(count: int) -> None:
        """Waits until so many notifications for the driver are confirmed."""
        wait_until(lambda: gateway.query("SELECT COUNT(confirmed_at) FROM deliveries WHERE channel = ?",
                                         f"driver-{driver.subject}") == [(count,)], f"{count} are confirmed")

    return wait


def test_pysher_gets_what_it_asked_for_before_its_sign_in(gateway, driver, assign, api, closing):
    """pysher takes a late `subscription_succeeded`, and then events, although it was refused first."""
    code, own = assign(), f"driver-{driver.subject}"
    client = closing(PysherClient(gateway))
    refused, received = queue.Queue(), queue.Queue()
    client.pusher.connection.bind("pusher:error", refused.put)
    channel = client.pusher.subscribe(own)
    for event in ("pusher_internal:subscription_succeeded", "job-assigned", "hello"):
        channel.bind(event, received.put)
    assert own in refused.get(timeout=TIMEOUT)["message"]
    client.pusher.connection.send_event("pusher:signin", driver.user_auth(client.socket_id).json())
    assert received.get(timeout=TIMEOUT) == "{}"
    assert json.loads(received.get(timeout=TIMEOUT))["bookingId"] == code, "what was missed"
    api.publish(own, "hello", "live")
    assert received.get(timeout=TIMEOUT) == "live"


def test_pysher_confirms_and_gets_what_it_has_missed(gateway, driver, assign, wait_for_confirmations):
    name = f"private-driver-{driver.subject}"

    @contextlib.contextmanager
    def connected():
        with contextlib.closing(PysherClient(gateway)) as client:
            client.subscribe(name, "job-assigned", **driver.channel_auth(client.socket_id, name).json())
            yield client

    def expect_job(client: PysherClient, code: str) -> None:
        channel, event, data = client.next()
        assert (channel, event, json.loads(data)["bookingId"]) == (name, "job-assigned", code)

    with connected() as client:
        expect_job(client, assign())
        wait_for_confirmations(1)
    missed = [assign() for _ in range(3)]
    with connected() as client:
        for code in (*missed, assign()):
            expect_job(client, code)
        wait_for_confirmations(5)
    with connected() as client:
        expect_job(client, assign())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def site():
    site = PageServer(FIRST)
    yield site
    site.close()


def test_browser_confirms_and_gets_what_it_has_missed(gateway, browser, site, driver, assign, wait_for_confirmations,
                                                      api, closing):
    """The page has no part in it: Chromium answers the pings."""
    name, url = f"private-driver-{driver.subject}", f"ws://{gateway.host}:{gateway.port}/app/{FIRST.key}?protocol=7"

    def connect():
        tab = closing(browser.open(site.origin + "/"))
        tab.run(f"globalThis.peer = new Peer({json.dumps(url)})")
        tab.run("peer.established()")
        assert tab.run(f"peer.subscribe({json.dumps(name)})")["event"] == "pusher_internal:subscription_succeeded"
        return tab

    def expect_job(tab, code: str) -> None:
        message = tab.run("peer.next()")
        assert (message["event"], json.loads(message["data"])["bookingId"]) == ("job-assigned", code)

    tab = connect()
    expect_job(tab, assign())
    wait_for_confirmations(1)
    tab.close()
    # Until then Chromium may answer a ping for the page that is gone.
    wait_for_metric(api, "fleetwire_connected", 0)
    missed = [assign() for _ in range(3)]
    tab = connect()
    for code in (*missed, assign()):
        expect_job(tab, code)
    wait_for_confirmations(5)
    tab.close()
    expect_job(connect(), assign())


def test_drivers_who_come_back_at_once_get_exactly_what_they_missed(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    admin, crowd, judge = Fleet(gateway, closing).admin(), closing(CrowdProcess(DRIVERS, seed=1)), Judge()

    def everyone_is_there() -> bool:
        return crowd.call("connected") == DRIVERS

    crowd.call("use", gateway.port, 0)
    wait_until(everyone_is_there, "all are subscribed")
    crowd.call("begin", DRIVERS)
    wait_until(lambda: crowd.call("connected") == 0, "all are away")
    for number in range(WAITING):
        admin.expect_ok("POST", "/api/admin/notifications",
                        {"type": "NEW_BATCH_AVAILABLE", "to": {"drivers": [f"c{each}" for each in range(DRIVERS)]},
                         "data": {"n": number}})
    rows = gateway.query("SELECT id, channel, sequence FROM notifications ORDER BY id")
    assert len(rows) == DRIVERS * WAITING
    waiting: dict[str, list[str]] = {}
    for each, channel, sequence in rows:
        waiting.setdefault(channel, []).append(each)
        judge.sequences[each] = sequence
    crowd.call("gather")
    crowd.call("expect", waiting)
    wait_until(lambda: everyone_is_there() and not crowd.call("missing"), "all have what they missed")
    wait_until(lambda: gateway.query("SELECT COUNT(confirmed_at) FROM deliveries") == [(len(rows),)], "all is confirmed")
    # They come once more; nothing is repeated, or the judge would find it.
    crowd.call("begin", DRIVERS)
    crowd.call("gather")
    wait_until(everyone_is_there, "all are subscribed again")
    sessions, surprises = crowd.call("report")
    assert surprises == []
    judge.judge(sessions, dict.fromkeys(waiting, WAITING))
    assert judge.deliveries == DRIVERS * WAITING
