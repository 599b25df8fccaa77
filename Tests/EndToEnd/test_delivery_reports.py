"""What operators and dispatchers learn of notifications, and pushes that wait for a confirmation."""

import json
import subprocess

import pytest

from harness.fleet import ANY_TIME, SECTIONS, report, unique_id, wait_until
from harness.gateway import BINARY, environment, on_postgres, run
from harness.metrics import scrape
from harness.owner import Owner

SECOND = {"delivery": {"confirm_seconds": 1}}
OPS = "/api/ops/notifications"


@pytest.fixture
def fleet(start_push_fleet):
    """A notification counts as unconfirmed after one second."""
    return start_push_fleet(mode="fallback", **SECOND)


@pytest.fixture
def driver(fleet):
    return fleet.driver()


@pytest.fixture
def connect(fleet, closing):
    def connected(driver, device: str | None = None, silent: bool = False, channel: str | None = None) -> Owner:
        client = closing(Owner(fleet.gateway, driver, device, silent))
        client.subscribe(channel or f"private-driver-{driver.subject}")
        return client

    return connected


def assign(fleet, driver) -> str:
    """Assigns an order. Returns the id of the driver's notification."""
    return fleet.dispatcher.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]


def details(fleet, notification: str) -> dict:
    return fleet.ops().expect_ok("GET", f"{OPS}/{notification}")


def state(fleet, notification: str) -> str:
    return details(fleet, notification)["notification"]["state"]


def listed(fleet, **query) -> list[str]:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    found = fleet.ops().expect_ok("GET", f"{OPS}?{text}")["notifications"]
    return [each["id"] for each in found]


def read_replay(client: Owner, count: int) -> None:
    """Reads so many notifications, which come some time after a subscription or an action, and answers the pings behind
    them.
    """
    for _ in range(count):
        client.receive()
    client.receive_until_pong()


def updates(client, count: int) -> list[tuple]:
    """The next events `delivery-updated` of a dispatcher's connection."""
    client.skips_delivery_updates = False
    found = []
    while len(found) < count:
        message = client.receive()
        if message["event"] == "delivery-updated":
            found.append(json.loads(message["data"]))
    return found


def test_the_timeline_shows_each_device(fleet, driver, connect):
    phone, tablet = connect(driver, "phone"), connect(driver, "tablet", silent=True)
    sent = assign(fleet, driver)
    read_replay(phone, 1)
    wait_until(lambda: state(fleet, sent) == "confirmed", "the confirmation is stored")
    report(driver, sent)
    tablet.close()
    wait_until(lambda: len(details(fleet, sent)["steps"]) == 5, "the write to the tablet is stored")
    shown = details(fleet, sent)
    steps = {(step["step"], step.get("by"), step.get("device")) for step in shown["steps"]}
    name = f"driver:{driver.subject}"
    assert steps == {("created", None, None), ("written", name, "phone"), ("confirmed", name, "phone"),
                     ("written", name, "tablet"), ("received", name, None)}
    notification = shown["notification"]
    assert (notification["state"], notification["event"]) == ("acknowledged", "job-assigned")
    for time in ("writtenAt", "confirmedAt", "acknowledgedAt", "createdAt", "expiresAt"):
        assert notification[time] == ANY_TIME, time


def test_unconfirmed_notifications_are_listed(fleet, driver, connect):
    channel = f"driver-{driver.subject}"
    missed, later = assign(fleet, driver), assign(fleet, driver)
    wait_until(lambda: listed(fleet, state="unconfirmed", channel=channel) == [later, missed], "a second passes")
    assert {missed, later} <= set(listed(fleet, state="unconfirmed"))
    assert listed(fleet, state="unconfirmed", older_than=3600) == []
    assert listed(fleet, state="unconfirmed", channel=channel, before=later) == [missed]
    assert listed(fleet, state="created", channel=channel, limit=1) == [later]
    read_replay(connect(driver), 2)
    wait_until(lambda: listed(fleet, state="confirmed", channel=channel) == [later, missed], "both arrive")
    assert listed(fleet, state="unconfirmed", channel=channel) == []


@pytest.mark.parametrize("query", ["state=lost", "state=", "older_than=-1", "older_than=x", "older_than=1e3",
                                   "channel=", "channel=a%20b", "limit=0", "limit=x"])
def test_bad_lists_are_refused(fleet, query):
    name = query.partition("=")[0]
    assert name in fleet.ops().expect_error(400, "GET", f"{OPS}?{query}")


def test_figures_of_the_last_hour(fleet, driver, connect):
    client = connect(driver)
    for _ in range(3):
        assign(fleet, driver)
    read_replay(client, 3)
    assign(fleet, fleet.driver())
    seen = ["confirmed", "written", "created", "unconfirmed"]
    ops = fleet.ops()

    def figures() -> dict:
        return ops.expect_ok("GET", "/api/ops/delivery")

    wait_until(lambda: [figures()[name] for name in seen] == [3, 3, 4, 1], "three of four are confirmed")
    found = figures()
    assert found.keys() == {"created", "written", "confirmed", "acknowledged", "pushed", "unconfirmed", "p50Ms", "p99Ms"}
    assert 0 <= found["p50Ms"] <= found["p99Ms"] < 10_000 and found["acknowledged"] == found["pushed"] == 0
    fleet.driver().expect_error(403, "GET", "/api/ops/delivery")

    def values() -> dict:
        metrics = scrape(fleet.ops())
        return {"confirmed": metrics.value("fleetwire_notifications_total", event="job-assigned", state="confirmed"),
                "measured": metrics.value("fleetwire_notification_confirm_seconds_count"),
                "unconfirmed": metrics.value("fleetwire_unconfirmed")}

    wait_until(lambda: values() == {"confirmed": 3, "measured": 3, "unconfirmed": 1}, "the metrics show it")


def test_replays_are_counted(fleet, driver, connect):
    for _ in range(3):
        assign(fleet, driver)
    read_replay(connect(driver), 3)
    metrics = scrape(fleet.ops())
    assert metrics.total("fleetwire_replayed_total") == 3 and metrics.total("fleetwire_gaps_total") == 0


# Dispatchers


def test_dispatchers_see_whether_a_notification_arrives(fleet, driver, connect):
    dashboard = fleet.listen(fleet.dispatcher, "admin-channel")
    client = connect(driver)
    code = unique_id("O")
    ids = fleet.dispatcher.assign(code, driver.subject, bookingReference="R-1")["data"]["notificationIds"]
    read_replay(client, 1)
    expected = {"notificationId": ids[0], "event": "job-assigned", "driverId": driver.subject,
                "bookingReference": "R-1", "at": ANY_TIME}
    [update] = updates(dashboard, 1)
    if update["state"] == "unconfirmed":  # the machine was busy for a second
        [update] = updates(dashboard, 1)
    assert update == expected | {"state": "confirmed"}


def test_dispatchers_see_once_what_does_not_arrive(fleet, driver):
    dashboard = fleet.listen(fleet.dispatcher, "admin-channel")
    first, second = assign(fleet, driver), assign(fleet, driver)
    found = [(each["notificationId"], each["state"]) for each in updates(dashboard, 2)]
    assert found == [(first, "unconfirmed"), (second, "unconfirmed")]
    third = assign(fleet, driver)
    assert [each["notificationId"] for each in updates(dashboard, 1)] == [third], "each once"


def test_dispatchers_see_pushes(fleet, driver):
    dashboard = fleet.listen(fleet.dispatcher, "admin-channel")
    device = fleet.ios(driver)
    sent = assign(fleet, driver)
    device.next(sent)
    [update] = updates(dashboard, 1)
    assert (update["notificationId"], update["state"]) == (sent, "pushed")


# Fallback


def test_fallback_waits_for_the_confirmation_of_a_connected_driver(fleet, driver, connect):
    device = fleet.ios(driver)
    silent = connect(driver, silent=True)
    sent = assign(fleet, driver)
    assert device.next(sent)
    assert silent.pings == [] and state(fleet, sent) in ("created", "written")
    # Another device answers.
    answering = connect(driver, "other")
    answering.receive_until_pong()
    sent = assign(fleet, driver)
    read_replay(answering, 1)
    [step] = fleet.wait_for_step(sent, "push_cancelled")
    assert step["detail"]["reason"] == "confirmed"
    fleet.expect_no_pushes(device)


def test_telemetry_cancels_the_fallback(fleet, driver, connect):
    fleet.ios(driver)
    connect(driver, silent=True)
    sent = assign(fleet, driver)
    report(driver, sent)
    [step] = fleet.wait_for_step(sent, "push_cancelled")
    assert step["detail"]["reason"] == "acknowledged"


# fleetwire watch


def test_watch_prints_the_steps_as_they_happen(fleet, driver, connect, closing):
    sent = assign(fleet, driver)
    watching = subprocess.Popen(
        [BINARY, "watch", "--config", fleet.gateway.config, "--notification", sent],
        env=environment(**on_postgres(fleet.gateway.config.parent)),
        stdout=subprocess.PIPE, text=True)
    closing(watching.stdout)
    try:
        name = f"by driver:{driver.subject}"
        lines = iter(watching.stdout.readline, "")
        assert next(lines).startswith(f"job-assigned on driver-{driver.subject}, number 1, created, expires ")
        assert next(lines).split()[1:] == ["created"]
        read_replay(connect(driver, "phone"), 1)
        for step in ("written", "confirmed"):
            assert next(lines).rstrip().endswith(f"{step}  {name}  device phone")
        report(driver, sent)
        assert f"received  {name}" in next(lines)
    finally:
        watching.kill()
        watching.wait()
    fleet.gateway.stop()
    done = run("watch", "--config", fleet.gateway.config, "--notification", sent, "--once")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 5), done


def test_watch_needs_a_notification(fleet):
    done = run("watch", "--config", fleet.gateway.config, "--notification", "X")
    assert (done.returncode, done.stdout) == (1, "") and "no notification X in" in done.stderr
    assert run("watch", "--config", fleet.gateway.config).returncode == 64


# Broadcasts


def test_recipients_of_a_broadcast_and_reminders(fleet, connect, closing):
    confirming, silent, away = fleet.driver(), fleet.driver(), fleet.driver()
    phones = {person: fleet.ios(person) for person in (confirming, silent, away)}
    listening = connect(confirming, channel="private-drivers-channel")
    connect(silent, channel="private-drivers-channel", silent=True)
    sent = fleet.announce({"all": True}, "NEW_BATCH_AVAILABLE", batchId="B")
    for phone in phones.values():
        phone.next(sent)
    read_replay(listening, 1)
    ops, path = fleet.ops(), f"{OPS}/{sent}/recipients"

    def states() -> dict:
        found = ops.expect_ok("GET", path)
        assert found["confirmed"] + found["unconfirmed"] == len(found["drivers"]) == 3
        assert all(each["at"] == ANY_TIME for each in found["drivers"])
        return {each["driverId"]: each["state"] for each in found["drivers"]}

    wait_until(lambda: states() == {confirming.subject: "confirmed", silent.subject: "written", away.subject: "created"},
               "the confirmation and the silence are stored")
    remind = f"/api/admin/notifications/{sent}/remind"
    fleet.wait_for_accepted(sent, 3)
    answer = fleet.dispatcher.expect_ok("POST", remind, key="once")
    assert answer["data"] == {"reminded": 2}
    assert fleet.dispatcher.post(remind, key="once").headers["idempotency-replayed"] == "true"
    for person in (silent, away):
        phones[person].next(sent)
    fleet.wait_for_accepted(sent, 3 + 2)
    fleet.expect_no_pushes(*phones.values())
    assert fleet.metric("notifications_total", event="new-batch-available", state="pushed") == 3, "each driver once"
    own = assign(fleet, away)
    assert fleet.gateway.query("SELECT details FROM audit WHERE action = 'remind'") == [
        (f'{{"notificationId":"{sent}","reminded":2}}',)]
    fleet.dispatcher.expect_error(409, "POST", f"/api/admin/notifications/{own}/remind")
    fleet.dispatcher.expect_error(404, "POST", "/api/admin/notifications/X/remind")
    ops.expect_error(404, "GET", f"{OPS}/X/recipients")
    ops.expect_error(400, "GET", f"{OPS}/{own}/recipients")
    away.expect_error(403, "POST", remind)


def test_a_reminder_is_pushed_although_the_entry_is_off(fleet):
    driver = fleet.driver()
    phone = fleet.ios(driver)
    fleet.dispatcher.assign("OFF-1", fleet.driver().subject)
    fleet.dispatcher.order("OFF-1", "unassign")
    [(offered,)] = fleet.gateway.query(
        "SELECT id FROM notifications WHERE event = 'job-available-again' ORDER BY id DESC LIMIT 1")
    fleet.expect_not_pushed(offered)
    answer = fleet.dispatcher.expect_ok("POST", f"/api/admin/notifications/{offered}/remind")
    assert answer["data"]["reminded"] >= 1
    assert phone.next(offered).data["event"] == "job-available-again"
