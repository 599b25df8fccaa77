"""V10: delivery of webhooks: retries, order, queue limits, and shutdown."""

import contextlib

import pytest

from harness.api import Api
from harness.client import Client
from harness.fleet import wait_until
from harness.gateway import Gateway, check_log
from harness.metrics import wait_for_metric
from harness.raw_client import RawClient
from harness.webhook_receiver import WebhookReceiver, unused_port, webhook


@pytest.fixture
def start_with_webhooks(start_gateway):
    """Starts a gateway with these webhooks: `start_with_webhooks(webhook(…), …)`."""
    def start(*webhooks: dict, **settings) -> Gateway:
        return start_gateway(first={"webhooks": list(webhooks)} | settings.pop("first", {}),
                             loops=1, **settings)
    return start


def test_V10_rejected_delivery_is_retried_in_order(start_with_webhooks, webhook_receiver, closing):
    webhook_receiver.statuses["/"] = [500, 404]
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/"))
    client = closing(Client.connect(gateway))
    for name in ("a", "b", "c"):
        client.subscribe(name)
    posts = [webhook_receiver.post("/") for _ in range(5)]
    assert posts[0].body == posts[1].body == posts[2].body and posts[0].headers == posts[2].headers
    assert [post.events[0]["channel"] for post in posts] == ["a", "a", "a", "b", "c"]
    assert 0.7 < posts[1].received_at - posts[0].received_at < posts[2].received_at - posts[
        1].received_at
    with contextlib.closing(Api(gateway)) as api:
        wait_for_metric(api, "fleetwire_webhook_queue_depth", 0)
        text = api.get("/metrics").text
    assert ('fleetwire_webhook_total{outcome="retried"} 2' in text
            and 'fleetwire_webhook_total{outcome="delivered"} 3' in text)
    wait_until(lambda: "webhook_recovered" in gateway.log(), "the log says so")
    assert "webhook_failing" in gateway.log() and "HTTP 500" in gateway.log()


def test_V10_long_answer_is_cut_and_the_event_is_delivered(start_with_webhooks, webhook_receiver,
                                                           closing):
    """The status says what has become of the event: of the rest, 16 KiB are read."""
    length = 256 << 20
    webhook_receiver.answers["/"] = length
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/"))
    client = closing(Client.connect(gateway))
    for name in ("a", "b"):
        client.subscribe(name)
        webhook_receiver.expect_event("/", name, "channel_occupied")
    with contextlib.closing(Api(gateway)) as api:
        wait_for_metric(api, "fleetwire_webhook_queue_depth", 0)
        text = api.get("/metrics").text
    assert 'fleetwire_webhook_total{outcome="delivered"} 2' in text
    # What the sockets' buffers take.
    assert webhook_receiver.answered["/"] < length / 8, webhook_receiver.answered
    assert len(webhook_receiver.history["/"]) == 2, "once each"


def test_V10_refused_event_does_not_stop_its_endpoint(start_with_webhooks, webhook_receiver,
                                                      closing):
    webhook_receiver.statuses["/"] = [422] * 3
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/"))
    client = closing(Client.connect(gateway))
    for name in ("a", "b"):
        client.subscribe(name)
    posts = [webhook_receiver.post("/") for _ in range(4)]
    assert [post.events[0]["channel"] for post in posts] == ["a", "a", "a", "b"]
    wait_until(lambda: "webhook_dropped" in gateway.log(), "the log says so")
    dropped, = [entry for entry in check_log(gateway.log()) if entry["event"] == "webhook_dropped"]
    assert dropped["events"] == 1 and dropped["reason"] == "HTTP 422", dropped
    with contextlib.closing(Api(gateway)) as api:
        wait_for_metric(api, "fleetwire_webhook_queue_depth", 0)
        assert 'fleetwire_webhook_total{outcome="dropped"} 1' in api.get("/metrics").text


def test_V10_refused_event_of_a_batch_is_found(start_with_webhooks, webhook_receiver, closing):
    """The endpoint refuses the batch three times, then each part with the third event."""
    webhook_receiver.statuses["/"] = [400, 400, 400, 200, 400, 200, 400]
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/", batch=True,
                                          events=["channel_occupied"]))
    client = closing(Client.connect(gateway))
    for name in ("a", "b", "c"):
        client.subscribe(name)
    posts = [webhook_receiver.post("/") for _ in range(7)]
    assert ["".join(event["channel"] for event in post.events) for post in posts] == [
        "abc", "abc", "abc", "a", "bc", "b", "c"]
    with contextlib.closing(Api(gateway)) as api:
        wait_for_metric(api, "fleetwire_webhook_queue_depth", 0)
        text = api.get("/metrics").text
    assert ('fleetwire_webhook_total{outcome="dropped"} 1' in text
            and 'fleetwire_webhook_total{outcome="delivered"} 2' in text)


def test_V10_unreachable_endpoint_is_retried(start_with_webhooks, closing):
    port = unused_port()
    gateway = start_with_webhooks(webhook(f"http://127.0.0.1:{port}/"))
    closing(Client.connect(gateway)).subscribe("a")
    wait_until(lambda: "webhook_failing" in gateway.log(), "the first attempt fails")
    receiver = closing(WebhookReceiver(port))
    receiver.expect_event("/", "a", "channel_occupied")


def test_V10_slow_endpoint_does_not_delay_others(start_with_webhooks, webhook_receiver, closing):
    webhook_receiver.hold("/slow")
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/slow"),
                                  webhook(webhook_receiver.url + "/quick"))
    client = closing(Client.connect(gateway))
    names = [f"c{number}" for number in range(20)]
    for name in names:
        client.subscribe(name)
    for name in names:
        webhook_receiver.expect_event("/quick", name, "channel_occupied")
    assert len(webhook_receiver.history["/slow"]) == 1, "one request at a time keeps the order"
    webhook_receiver.release("/slow")
    assert [webhook_receiver.post("/slow").events[0]["channel"] for _ in names] == names


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(start_with_webhooks, webhook_receiver, closing, status):
    webhook_receiver.statuses["/"] = [status]
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/"))
    closing(Client.connect(gateway)).subscribe("a")
    assert webhook_receiver.post("/").body == webhook_receiver.post(
        "/").body, "a redirect counts as rejected"
    assert webhook_receiver.history["/elsewhere"] == []


def test_private_addresses_are_rejected_unless_allowed(
        start_with_webhooks, webhook_receiver, closing):
    gateway = start_with_webhooks(
        {"url": webhook_receiver.url + "/private"},
        {"url": f"http://localhost:{webhook_receiver.port}/private"},
        webhook(webhook_receiver.url + "/allowed"))
    closing(Client.connect(gateway)).subscribe("a")
    webhook_receiver.expect_event("/allowed", "a", "channel_occupied")
    wait_until(lambda: gateway.log().count("webhook_failing") == 2, "both are rejected")
    assert webhook_receiver.history["/private"] == []


def test_endpoint_secrets_are_not_logged(start_with_webhooks, closing):
    gateway = start_with_webhooks(
        webhook(f"http://127.0.0.1:{unused_port()}/hooks/open-sesame?token=open-sesame"))
    closing(Client.connect(gateway)).subscribe("a")
    wait_until(lambda: "webhook_failing" in gateway.log(), "the first attempt fails")
    assert "open-sesame" not in gateway.log() and "127.0.0.1" in gateway.log()


def test_queue_is_limited_and_overflow_is_counted(start_with_webhooks, webhook_receiver, closing):
    webhook_receiver.hold("/")
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/"))
    raw_clients = [closing(RawClient(gateway)) for _ in range(3)]
    for number, raw_client in enumerate(raw_clients):
        for index in range(4_000):
            raw_client.send_event("pusher:subscribe", {"channel": f"c{number}-{index}"})
            if index % 500 == 499:
                raw_client.receive_until_pong()
    with contextlib.closing(Api(gateway)) as api:
        wait_for_metric(api, "fleetwire_webhook_queue_depth", 10_000)
        assert 'fleetwire_webhook_total{outcome="refused"} 2000' in api.get("/metrics").text
    wait_until(lambda: "webhook_queue_full" in gateway.log(), "the log says so")
    assert gateway.log().count("webhook_queue_full") == 1


def test_shutdown_sends_pending_events(start_with_webhooks, webhook_receiver, closing):
    """Delayed events are sent at once: no client can return to a gateway that is stopping."""
    gateway = start_with_webhooks(webhook(webhook_receiver.url + "/", batch=True))
    client = closing(Client.connect(gateway))
    client.join("presence-room", "anna")
    gateway.stop()
    webhook_receiver.expect_event("/", "presence-room", "channel_occupied")
    webhook_receiver.expect_event("/", "presence-room", "member_added", user_id="anna")
    webhook_receiver.expect_event("/", "presence-room", "member_removed", user_id="anna")
    webhook_receiver.expect_event("/", "presence-room", "channel_vacated")


def test_events_at_forced_shutdown_are_dropped_and_counted(start_with_webhooks, closing):
    """The endpoint is unreachable. A second signal ends the drain, and connections close after it.
    """
    gateway = start_with_webhooks(
        webhook(f"http://127.0.0.1:{unused_port()}/", events=["channel_vacated"]),
        server={"drain_seconds": 60})
    raw_clients = [closing(RawClient(gateway)) for _ in range(50)]
    for number, raw_client in enumerate(raw_clients):
        raw_client.send_event("pusher:subscribe", {"channel": f"c{number}"})
        raw_client.receive_until_pong()
    gateway.terminate()
    wait_until(lambda: '"draining"' in gateway.log(), "the drain has started")
    gateway.terminate()
    gateway.wait()
    dropped = [entry for entry in check_log(gateway.log()) if entry["event"] == "webhook_dropped"]
    assert sum(entry["events"] for entry in dropped) == len(raw_clients), dropped
    assert all(entry["reason"] == "the gateway stops" for entry in dropped), dropped
