"""Stock clients through the proxies that Debian offers: subscribe, authorize, publish, come back after a restart."""

import json
import queue
from types import SimpleNamespace

import pusher
import pysher
import pytest
import requests

from harness.api import event_body, signed_target
from harness.apps import FIRST, TIMEOUT
from harness.fleet import token, unique_id
from harness.proxy_fixtures import HTTP, KINDS, through  # noqa: F401
from harness.pysher_client import PysherClient
from harness.raw_client import RawClient
from harness.wire import CLOSE, PING, PONG, TEXT, Wire, frame, upgrade

def listen(proxy, **more) -> PysherClient:
    """pysher, which has no option for a path: the port carries it."""
    return PysherClient(SimpleNamespace(host=proxy.host, port=f"{proxy.port}{proxy.prefix}", tls=proxy.tls), **more)


def publish(proxy, channel: str, name: str, data: dict) -> None:
    """The backend's SDK has no option for a path: there, a signed request."""
    if proxy.prefix:
        body = event_body(channel, name, json.dumps(data))
        target = signed_target(FIRST, "POST", f"/apps/{FIRST.id}/events", body)
        response = requests.post(proxy.url + target, body, timeout=TIMEOUT)
        assert (response.status_code, response.json()) == (200, {}), response.text
        return
    backend = pusher.Pusher(FIRST.id, FIRST.key, FIRST.secret, ssl=bool(proxy.tls), host=proxy.host, port=proxy.port,
                            timeout=TIMEOUT)
    assert backend.trigger(channel, name, data) == {}


def post(proxy, role: str, subject: str, path: str, body: dict) -> dict:
    response = requests.post(proxy.url + path, json=body, timeout=TIMEOUT,
                             headers={"Authorization": f"Bearer {token(role, subject)}"})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("kind", KINDS)
def test_clients_subscribe_and_publish(through, closing, kind):  # noqa: F811
    proxy = through(kind)
    driver, order, members = unique_id("d"), unique_id("O"), "presence-shift"
    app, other = closing(listen(proxy)), closing(listen(proxy))

    own = f"private-driver-{driver}"
    grant = post(proxy, "driver", driver, "/pusher/auth", {"socket_id": app.socket_id, "channel_name": own})
    app.subscribe(own, "job-assigned", **grant)
    app.subscribe("news", "said")
    post(proxy, "admin", "ada", f"/api/admin/orders/{order}/assign-driver", {"driverId": driver})
    channel, event, data = app.next()
    assert (channel, event, json.loads(data)["bookingId"]) == (own, "job-assigned", order)
    publish(proxy, "news", "said", {"text": "wörld 🚚"})
    channel, event, data = app.next()
    assert (channel, event, json.loads(data)) == ("news", "said", {"text": "wörld 🚚"})

    for client, user in ((app, "ann"), (other, "bob")):
        client.pusher.user_data = {"user_id": user}
        joined = client.subscribe(members, "pusher_internal:member_added", channel_data=json.dumps({"user_id": user}),
                                  auth=client.pusher._generate_presence_token(members))
    assert json.loads(joined)["presence"] == {"ids": ["ann", "bob"], "hash": {"ann": None, "bob": None}, "count": 2}
    assert json.loads(app.next()[2]) == {"user_id": "bob"}


@pytest.mark.parametrize("kind", KINDS)
def test_clients_come_back_when_the_proxy_restarts(through, closing, kind):  # noqa: F811
    """pysher subscribes at each connection."""
    proxy, events = through(kind), queue.Queue()

    def subscribe(_) -> None:
        channel = client.subscribe("news")
        channel.bind("pusher_internal:subscription_succeeded", lambda _: events.put("subscribed"))
        channel.bind("said", events.put)

    client = pysher.Pusher(FIRST.key, secure=bool(proxy.tls), custom_host=proxy.host, port=f"{proxy.port}{proxy.prefix}",
                           reconnect_interval=0.1)
    client.connection.bind("pusher:connection_established", subscribe)
    client.connect()
    closing(SimpleNamespace(close=lambda: leave(client)))
    for number in range(3):
        assert events.get(timeout=TIMEOUT) == "subscribed"
        publish(proxy, "news", "said", {"number": number})
        assert json.loads(events.get(timeout=TIMEOUT)) == {"number": number}
        if number < 2:
            proxy.restart()


def leave(client: pysher.Pusher) -> None:
    client.connection.disconnect_called = True
    client.connection.socket.sock.send_close()
    client.connection.join(TIMEOUT)
    assert not client.connection.is_alive()


class IdleClient(RawClient):
    """A client that only answers: the gateway's pings are all that is said."""

    def __init__(self, proxy):
        Wire.__init__(self, proxy)
        self.app = FIRST
        self.socket_id = self.open(f"{proxy.prefix}/app/{FIRST.key}?protocol=7")["socket_id"]

    def wait_for_pings(self, count: int) -> None:
        while count:
            got = self.next_frame()
            assert got and got[0] != CLOSE, f"the connection has ended, {count} pings too early"
            opcode, payload = got
            if opcode == PING:
                self.send(frame(PONG, payload))
                count -= 1
            elif json.loads(payload)["event"] == "pusher:ping":
                self.send(frame(TEXT, b'{"event":"pusher:pong","data":{}}'))

    def waits_for_end(self) -> bool:
        while (got := self.next_frame()) and got[0] != CLOSE:
            pass
        return True


# The proxies' time-outs, divided by ten: connections that are silent for 30 s end.
IDLE_SECONDS = 3


@pytest.mark.parametrize("kind", KINDS)
def test_idle_connections_live_where_the_gateway_pings_in_time(through, closing, kind):  # noqa: F811
    """The gateway pings after 1.25 times `activity_seconds` of silence: three pings take longer than `IDLE_SECONDS`."""
    proxy = through(kind, {"activity_seconds": 1}, idle_seconds=IDLE_SECONDS)
    closing(IdleClient(proxy)).wait_for_pings(3)


@pytest.mark.parametrize("kind", KINDS)
def test_idle_connections_end_where_the_gateway_pings_too_late(through, closing, kind):  # noqa: F811
    """With `activity_seconds: 120`, whoever only listens is cut off: operators must lower it."""
    assert closing(IdleClient(through(kind, idle_seconds=IDLE_SECONDS))).waits_for_end()


@pytest.mark.parametrize("kind", KINDS)
def test_the_gateway_knows_the_addresses_of_clients(through, closing, kind):  # noqa: F811
    proxy = through(kind, {"connections_per_ip": 2})

    def is_accepted(source: str) -> bool:
        wire = closing(Wire(proxy, source=source))
        wire.send_ignoring_reset(upgrade(f"{proxy.prefix}/app/{FIRST.key}?protocol=7"))
        response = wire.read_response()
        return bool(response) and response.status == 101

    assert [is_accepted("127.0.0.2") for _ in range(3)] == [True, True, False]
    assert is_accepted("127.0.0.3")


@pytest.mark.parametrize("kind", HTTP)
def test_apps_for_tls_only_believe_the_proxy(through, closing, kind):  # noqa: F811
    """`tls_only` is about the connection between the client and the proxy."""
    proxy = through(kind, first={"tls_only": True})
    wire = closing(Wire(proxy))
    if proxy.tls:
        assert wire.open(f"{proxy.prefix}/app/{FIRST.key}?protocol=7")["socket_id"]
    else:
        wire.send(upgrade(f"{proxy.prefix}/app/{FIRST.key}?protocol=7"))
        assert wire.read_response().status == 101
        assert wire.close_code() == 4000
