"""Guaranteed delivery: stock clients confirm notifications by pongs, and get what they have missed."""

import json

import pytest

from harness.fleet import SETTINGS as FLEET, Fleet, unique_id, wait_until
from harness.gateway import Gateway
from harness.owner import SUCCEEDED, Owner
from harness.wire import PONG, TEXT, frame


@pytest.fixture
def fleet(start_gateway, closing):
    return Fleet(start_gateway("kept", **FLEET), closing)


@pytest.fixture
def driver(fleet):
    return fleet.driver()


@pytest.fixture
def connect(fleet, driver, closing):
    """Connects the driver and subscribes to the driver's own channel."""
    def connected(device: str | None = None, silent: bool = False, channel: str | None = None) -> Owner:
        client = closing(Owner(fleet.gateway, driver, device, silent))
        client.subscribe(channel or f"private-driver-{driver.subject}")
        return client

    return connected


@pytest.fixture
def assign(fleet, driver):
    admin = fleet.admin()

    def assigned() -> str:
        code = unique_id("O")
        admin.assign(code, driver.subject)
        return code

    return assigned


def is_confirmed(gateway: Gateway) -> bool:
    """Whether every notification for the driver that was written is confirmed in the store."""
    return gateway.query("SELECT COUNT(*) FROM deliveries WHERE confirmed_at IS NULL") == [(0,)] and gateway.query(
        "SELECT COUNT(*) > 0 FROM deliveries") == [(1,)]


def test_ping_stands_behind_a_notification(connect, assign):
    client = connect()
    code = assign()
    assert json.loads(client.receive()["data"])["bookingId"] == code
    payload = client.expect_ping()
    assert len(payload) == 16
    assign()
    client.receive()
    assert client.expect_ping() != payload


def test_missed_notifications_are_replayed_in_order_before_live_ones(connect, assign):
    client = connect()
    first = assign()
    client.expect_jobs(first)
    client.close()
    missed = [assign() for _ in range(3)]
    client = connect()
    live = assign()
    client.expect_jobs(*missed, live)


def test_confirmed_notifications_are_not_repeated(connect, assign, fleet):
    client = connect()
    client.expect_jobs(assign())
    wait_until(lambda: is_confirmed(fleet.gateway), "the confirmation is stored")
    client.close()
    client = connect()
    client.expect_jobs(assign())


def test_unconfirmed_notifications_are_repeated(connect, assign):
    client = connect(silent=True)
    code = assign()
    before = client.expect_jobs(code)
    client.close()
    again = connect(silent=True)
    assert again.expect_jobs(code) == before, "byte for byte"
    again.close()
    connect().expect_jobs(code)


def test_confirmation_survives_a_crash(connect, assign, fleet, start_gateway, closing, driver):
    client = connect()
    client.expect_jobs(assign())
    wait_until(lambda: is_confirmed(fleet.gateway), "the confirmation is stored")
    client.close()
    missed = assign()
    fleet.gateway.kill()
    fleet = Fleet(start_gateway("kept", **FLEET), closing)
    client = closing(Owner(fleet.gateway, fleet.driver(driver.subject)))
    client.subscribe(f"private-driver-{driver.subject}")
    client.expect_jobs(missed)


def test_each_device_has_its_cursor(connect, assign, fleet):
    phone, tablet = connect("phone"), connect("tablet", silent=True)
    code = assign()
    phone.expect_jobs(code)
    tablet.expect_jobs(code)
    wait_until(lambda: fleet.gateway.query(
        "SELECT device FROM deliveries WHERE confirmed_at IS NOT NULL") == [("phone",)], "the phone's confirmation")
    for client in (phone, tablet):
        client.close()
    phone, tablet, new = connect("phone"), connect("tablet"), connect("new")
    later = assign()
    phone.expect_jobs(later)
    tablet.expect_jobs(code, later)
    new.expect_jobs(later)


def test_telemetry_acknowledges_a_notification(connect, assign, driver, fleet):
    client = connect(silent=True)
    codes = [assign(), assign()]
    messages = client.expect_jobs(*codes)
    seen = json.loads(messages[0]["data"])["notificationId"]
    driver.expect_ok("POST", "/api/driver/notifications/log",
                     {"notificationId": seen, "type": "new_job", "entityId": "e", "event": "received",
                      "timestamp": "2026-03-01T10:00:00Z"})
    client.close()
    connect().expect_jobs(codes[1])


def test_second_subscription_on_a_connection_repeats_nothing(connect, assign, driver):
    client = connect(silent=True)
    code = assign()
    client.expect_jobs(code)
    client.unsubscribe(f"private-driver-{driver.subject}")
    missed = assign()
    client.subscribe(f"private-driver-{driver.subject}")
    client.expect_jobs(missed)


def test_subscribing_again_during_a_replay_repeats_nothing(connect, assign, fleet, driver, closing):
    connect().close()
    missed = [assign() for _ in range(8)]
    client = closing(Owner(fleet.gateway, driver))
    channel = f"private-driver-{driver.subject}"
    signed = driver.post("/pusher/auth", {"socket_id": client.socket_id, "channel_name": channel}).json()
    subscribe = {"event": "pusher:subscribe", "data": {"channel": channel} | signed}
    unsubscribe = {"event": "pusher:unsubscribe", "data": {"channel": channel}}
    texts = [json.dumps(message).encode() for message in (subscribe, unsubscribe, subscribe, unsubscribe, subscribe)]
    client.send(b"".join(frame(TEXT, text) for text in texts))
    found: list[str] = []
    while len(found) < len(missed):
        message = client.receive()
        if message["event"] == "job-assigned":
            found.append(json.loads(message["data"])["bookingId"])
    assert found == missed
    client.expect_jobs(assign())


def test_signed_in_driver_gets_the_channel_with_the_plain_name(fleet, driver, assign, connect, closing):
    connect().close()
    code = assign()
    client = closing(Owner(fleet.gateway, driver))
    response = driver.post("/pusher/user-auth", {"socket_id": client.socket_id})
    client.send_event("pusher:signin", response.json())
    client.receive_until("pusher:signin_success")
    for name in (f"driver-{driver.subject}", f"private-driver-{driver.subject}"):
        if name.startswith("private-"):
            client.subscribe(name)
        else:
            client.send_event("pusher:subscribe", {"channel": name})
            assert client.receive()["event"] == SUCCEEDED
        assert client.receive()["channel"] == name
    later = assign()
    client.expect_jobs(later, later)
    assert code


def test_dispatchers_get_live_events_without_pings(fleet, driver, assign, closing):
    assign()
    admin = closing(Owner(fleet.gateway, fleet.admin()))
    admin.subscribe(f"private-driver-{driver.subject}")
    admin.expect_jobs(assign())
    assert admin.pings == []


def test_other_payloads_confirm_nothing(connect, assign):
    client = connect(silent=True)
    code = assign()
    client.expect_jobs(code)
    for payload in (b"", b"x" * 16, b"y" * 125):
        client.send(frame(PONG, payload))
    client.receive_until_pong()
    client.close()
    connect().expect_jobs(code)


@pytest.mark.parametrize("device", ["", "x" * 65, "ä", "a b"])
def test_invalid_device_is_refused(driver, device):
    response = driver.post("/pusher/auth", {"socket_id": "1.1", "channel_name": f"private-driver-{driver.subject}",
                                            "device_id": device})
    assert response.status == 400 and "device_id" in response.text
