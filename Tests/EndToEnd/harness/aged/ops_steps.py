"""What operators read, and what Pusher's clients and backends do."""

import json

from ..api import event_body, signed_target
from ..apps import FIRST
from ..client import Client
from ..fleet import unique_id
from .world import People

LOG = "/api/ops/notifications"


def figures(people: People, turn: int) -> None:
    ops = people.ops
    for path in ("/api/ops/stats", "/api/ops/push", "/api/ops/delivery", "/api/ops/channels", "/api/ops/connections",
                 "/console/config.json"):
        ops.expect_ok("GET", path)
    for path in ("/metrics", "/healthz", "/readyz", "/console", "/console/console.css"):
        assert ops.request("GET", path).status == 200, path


def log(people: People, turn: int) -> None:
    """The log by everything that selects, from the newest page to one far down."""
    aged, ops = people.aged, people.ops

    def read(special: str, query: str = "") -> list[dict]:
        with people.step(special):
            return ops.expect_ok("GET", f"{LOG}?limit=200{query}")["notifications"]

    newest = read("the newest")
    read("further pages", f"&before={newest[-1]['id']}")
    read("far down", f"&before={aged.id_of_order(aged.orders // 2, 0)}")
    for state in ("created", "written", "confirmed", "acknowledged", "expired", "unconfirmed"):
        read(f"state {state}", f"&state={state}")
        read(f"state {state} of a heavy driver", f"&state={state}&channel=driver-a{turn % aged.heavy}")
    read("a heavy driver", f"&driver=a{turn % aged.heavy}")
    read("a light driver", f"&driver=a{aged.heavy + turn}")
    read("a day old and unconfirmed", "&state=unconfirmed&older_than=86400")
    for special, order in [("an old order", f"O{8 + 4 * turn}"), ("an open order", aged.open_order(aged.heavy + turn))]:
        found = read(special, f"&order={order}")
        # Two changes, of which the first has told two: a driver, and in every fourth order the booking's channel.
        assert len(found) >= 3, (order, found)
    for special, id in aged.logged_ids(turn).items():
        with people.step(special):
            ops.expect_ok("GET", f"{LOG}/{id}")
    for special, id in [("a new one", aged.broadcast_id), ("an old one", aged.old_broadcast_id)]:
        with people.step(special):
            assert ops.expect_ok("GET", f"{LOG}/{id}/recipients"), id


def subscriptions(people: People, turn: int) -> None:
    """What a phone gets that comes back: what it has missed, up to `delivery.backlog_limit`."""
    aged = people.aged
    # In later turns a heavy driver has got everything.
    heavy = ("a heavy driver's channel", turn, min(900, aged.unread)) if turn < aged.heavy else (
        "a heavy driver's channel, again", turn % aged.heavy, 0)
    for special, number, missed in [("a light driver's channel", aged.heavy + turn, 1), heavy]:
        caller, channel = people.driver(number), f"private-driver-a{number}"
        client = people.keep(Client.connect(people.gateway))

        def replayed(caller=caller, channel=channel, client=client, missed=missed) -> None:
            response = caller.channel_auth(client.socket_id, channel)
            client.send_subscribe(channel, **response.json())
            is_subscribed = False
            while missed > 0 or not is_subscribed:
                message = client.receive()
                is_subscribed |= message["event"] == "pusher_internal:subscription_succeeded"
                missed -= message.get("channel") == channel and not message["event"].startswith("pusher")

        with people.step(special):
            people.watch.stream("GET /app/{key}", replayed)


def pusher(people: People, turn: int) -> None:
    admin, api, presence = people.admin, people.backend(), unique_id("presence-")
    client = people.listen(admin, "admin-channel")
    client.join(presence, "7")
    assert admin.user_auth(client.socket_id).status == 200
    batch = json.dumps({"batch": [json.loads(event_body(presence))] * 10}).encode()
    driver = f"driver-a{people.aged.heavy + turn}"
    for path, body in [("events", event_body(presence)), ("events", event_body(driver)), ("batch_events", batch),
                       (f"users/{turn}/terminate_connections", b"{}")]:
        with people.step("to a driver" if driver.encode() in body else ""):
            response = api.post_signed(path, body)
        assert response.status == 200, response
    target = signed_target(api.app, "POST", f"/users/{turn}/terminate_connections", b"{}")
    assert api.call("POST", target, b"{}").status == 200
    for path in ("channels", f"channels/{presence}", f"channels/{presence}/users"):
        assert api.get_signed(path).status == 200, path


def webhooks(people: People, turn: int) -> None:
    """A backend is told of a channel within the bound of a step."""
    channel = unique_id("hooked-")

    def told() -> None:
        people.keep(Client.connect(people.gateway, FIRST)).subscribe(channel)
        people.world.receiver.expect_event("/hooks", channel, "channel_occupied")

    people.watch.stream("webhook", told)
