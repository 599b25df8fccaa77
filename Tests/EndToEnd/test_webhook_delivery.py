"""V10: how webhooks reach their endpoints, and what becomes of them when they do not, or when the gateway stops."""

import contextlib

import pytest

from harness.api import Api
from harness.client import Client
from harness.fleet import eventually
from harness.gateway import Gateway, check_log
from harness.guest import Guest
from harness.metrics import eventually as counted
from harness.receiver import Receiver, unused_port, webhook


@pytest.fixture
def told_by(start_gateway):
    """A gateway of one test, its webhooks, and a greeted connection: `told_by(webhook(…), …)`."""
    def start(*webhooks: dict, **settings) -> Gateway:
        return start_gateway(first={"webhooks": list(webhooks)} | settings.pop("first", {}), loops=1, **settings)
    return start


def test_V10_not_taken_is_sent_again_and_keeps_its_place(told_by, own_receiver, closing):
    own_receiver.answers["/"] = [500, 404]
    gateway = told_by(webhook(own_receiver.url + "/"))
    client = closing(Client.connect(gateway))
    for name in ("a", "b", "c"):
        client.subscribe(name)
    posts = [own_receiver.post("/") for _ in range(5)]
    assert posts[0].body == posts[1].body == posts[2].body and posts[0].headers == posts[2].headers
    assert [post.events[0]["channel"] for post in posts] == ["a", "a", "a", "b", "c"]
    assert 0.7 < posts[1].came - posts[0].came < posts[2].came - posts[1].came
    with contextlib.closing(Api(gateway)) as api:
        counted(api, "fleetwire_webhook_queue_depth", 0)
        text = api.get("/metrics").text
    assert 'fleetwire_webhook_total{outcome="retried"} 2' in text and 'fleetwire_webhook_total{outcome="delivered"} 3' in text
    assert "webhook_failing" in gateway.log() and "it answered 500" in gateway.log() and "webhook_recovered" in gateway.log()


def test_V10_an_endpoint_that_was_not_there_is_found_when_it_is(told_by, closing):
    port = unused_port()
    gateway = told_by(webhook(f"http://127.0.0.1:{port}/"))
    closing(Client.connect(gateway)).subscribe("a")
    eventually(lambda: "webhook_failing" in gateway.log(), "the first try fails")
    receiver = closing(Receiver(port))
    receiver.hear("/", "a", "channel_occupied")


def test_V10_a_slow_endpoint_does_not_delay_another(told_by, own_receiver, closing):
    own_receiver.shut("/slow")
    gateway = told_by(webhook(own_receiver.url + "/slow"), webhook(own_receiver.url + "/quick"))
    client = closing(Client.connect(gateway))
    names = [f"c{number}" for number in range(20)]
    for name in names:
        client.subscribe(name)
    for name in names:
        own_receiver.hear("/quick", name, "channel_occupied")
    assert len(own_receiver.history["/slow"]) == 1, "one at a time keeps the order"
    own_receiver.open("/slow")
    assert [own_receiver.post("/slow").events[0]["channel"] for _ in names] == names


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(told_by, own_receiver, closing, status):
    own_receiver.answers["/"] = [status]
    gateway = told_by(webhook(own_receiver.url + "/"))
    closing(Client.connect(gateway)).subscribe("a")
    assert own_receiver.post("/").body == own_receiver.post("/").body, "it counts as not taken"
    assert own_receiver.history["/elsewhere"] == []


def test_private_addresses_are_refused_unless_they_are_allowed(told_by, own_receiver, closing):
    gateway = told_by(
        {"url": own_receiver.url + "/private"}, {"url": f"http://localhost:{own_receiver.port}/private"},
        webhook(own_receiver.url + "/allowed"))
    closing(Client.connect(gateway)).subscribe("a")
    own_receiver.hear("/allowed", "a", "channel_occupied")
    eventually(lambda: gateway.log().count("webhook_failing") == 2, "both are refused")
    assert own_receiver.history["/private"] == []


def test_secrets_of_an_endpoint_stay_out_of_the_log(told_by, closing):
    gateway = told_by(webhook(f"http://127.0.0.1:{unused_port()}/hooks/open-sesame?token=open-sesame"))
    closing(Client.connect(gateway)).subscribe("a")
    eventually(lambda: "webhook_failing" in gateway.log(), "the first try fails")
    assert "open-sesame" not in gateway.log() and "127.0.0.1" in gateway.log()


def test_what_waits_is_bounded_and_what_is_refused_is_counted(told_by, own_receiver, closing):
    own_receiver.shut("/")
    gateway = told_by(webhook(own_receiver.url + "/"))
    guests = [closing(Guest(gateway)) for _ in range(3)]
    for number, guest in enumerate(guests):
        for index in range(4_000):
            guest.say("pusher:subscribe", {"channel": f"c{number}-{index}"})
            if index % 500 == 499:
                guest.until_pong()
    with contextlib.closing(Api(gateway)) as api:
        counted(api, "fleetwire_webhook_queue_depth", 10_000)
        assert 'fleetwire_webhook_total{outcome="refused"} 2000' in api.get("/metrics").text
    assert gateway.log().count("webhook_queue_full") == 1


def test_the_end_of_the_gateway_is_told(told_by, own_receiver, closing):
    """What is held back goes at once: nobody comes back to a gateway that stops."""
    gateway = told_by(webhook(own_receiver.url + "/", batch=True))
    client = closing(Client.connect(gateway))
    client.join("presence-room", "anna")
    gateway.stop()
    own_receiver.hear("/", "presence-room", "channel_occupied")
    own_receiver.hear("/", "presence-room", "member_added", user_id="anna")
    own_receiver.hear("/", "presence-room", "member_removed", user_id="anna")
    own_receiver.hear("/", "presence-room", "channel_vacated")


def test_what_closes_in_a_hurry_is_dropped_and_counted(told_by, closing):
    """Nobody is there to take it. A second signal ends the drain, and connections close behind it."""
    gateway = told_by(webhook(f"http://127.0.0.1:{unused_port()}/", events=["channel_vacated"]), server={"drain_seconds": 60})
    guests = [closing(Guest(gateway)) for _ in range(50)]
    for number, guest in enumerate(guests):
        guest.say("pusher:subscribe", {"channel": f"c{number}"})
        guest.until_pong()
    gateway.terminate()
    eventually(lambda: '"draining"' in gateway.log(), "the first signal is taken")
    gateway.terminate()
    gateway.wait()
    dropped = [entry for entry in check_log(gateway.log()) if entry["event"] == "webhook_dropped"]
    assert sum(entry["events"] for entry in dropped) == len(guests), dropped
    assert all(entry["reason"] == "the gateway stops" for entry in dropped), dropped
