"""A page in headless Chromium: the raw protocol over WebSocket, and the HTTP API cross-origin."""

import json

import pytest

from harness.api import event_body, signed_target
from harness.apps import FIRST, App
from harness.browser import Browser, PageServer
from harness.gateway import Gateway

OTHER_ORIGIN = App("1007", "key7", "secret7")


@pytest.fixture(scope="module")
def site():
    site = PageServer(FIRST)
    yield site
    site.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def page_gateway(tmp_path_factory, site):
    """Allows the page's origin for the first application, but not for another."""
    gateway = Gateway(
        tmp_path_factory.mktemp("gateway"), loops=2,
        first={"client_events": True, "allowed_origins": [site.origin]},
        apps=[OTHER_ORIGIN.entry(allowed_origins=["https://a.example"])])
    yield gateway
    gateway.stop()


@pytest.fixture
def gateway(page_gateway):
    yield page_gateway
    page_gateway.assert_alive()


def url_of(gateway, app=FIRST, **query) -> str:
    query = {"protocol": 7, "client": "js", "version": "8.4.0", "flash": "false"} | query
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return f"ws://{gateway.host}:{gateway.port}/app/{app.key}?{text}"


@pytest.fixture
def open_tab(browser, site, closing):
    return lambda: closing(browser.open(site.origin + "/"))


@pytest.fixture
def tab(open_tab, gateway):
    """A tab with a connected page."""
    return connected(open_tab(), gateway)


def connected(tab, gateway):
    tab.run(f"globalThis.peer = new Peer({json.dumps(url_of(gateway))})")
    established = tab.run("peer.established()")
    assert (established["event"] == "pusher:connection_established"
            and json.loads(established["data"])["activity_timeout"] == 120)
    return tab


def join(tab, channel: str, user_id: str, name: str) -> dict:
    user = json.dumps({"user_id": user_id, "user_info": {"name": name}})
    message = tab.run(f"peer.subscribe({json.dumps(channel)}, {user})")
    assert (message["event"],
            message["channel"]) == ("pusher_internal:subscription_succeeded", channel), message
    return json.loads(message["data"])["presence"]


def next_of(tab) -> dict:
    return tab.run("peer.next()")


def test_C1_R1_R2_two_tabs_share_a_presence_channel(tab, open_tab, gateway, channel):
    other, name = connected(open_tab(), gateway), "presence-" + channel
    assert join(tab, name, "ann", "Änn 🚚") == {"ids": ["ann"], "hash": {"ann": {"name": "Änn 🚚"}},
                                               "count": 1}
    assert sorted(join(other, name, "bob", "Bob")["ids"]) == ["ann", "bob"]
    added = next_of(tab)
    assert (added["event"] == "pusher_internal:member_added"
            and json.loads(added["data"]) == {"user_id": "bob", "user_info": {"name": "Bob"}})
    tab.run(f"peer.send('client-said', {{hello: 'wörld 🚚'}}, {{channel: {json.dumps(name)}}})")
    received = next_of(other)
    assert (received["event"], received["user_id"],
            json.loads(received["data"])) == ("client-said", "ann", {"hello": "wörld 🚚"})
    other.run("peer.socket.close()")
    removed = next_of(tab)
    assert (removed["event"] == "pusher_internal:member_removed"
            and json.loads(removed["data"]) == {"user_id": "bob"})


def test_R3_closed_tab_is_removed(tab, open_tab, gateway, channel):
    other, name = connected(open_tab(), gateway), "presence-" + channel
    join(tab, name, "ann", "Ann")
    join(other, name, "bob", "Bob")
    assert next_of(tab)["event"] == "pusher_internal:member_added"
    other.close()
    removed = next_of(tab)
    assert (removed["event"] == "pusher_internal:member_removed"
            and json.loads(removed["data"]) == {"user_id": "bob"})


def test_R4_two_sockets_of_a_page_are_one_member(tab, gateway, channel):
    name = "presence-" + channel
    tab.run(f"(globalThis.second = new Peer({json.dumps(url_of(gateway))})).established()")
    join(tab, name, "ann", "Ann")
    user = json.dumps({"user_id": "ann", "user_info": {"name": "Ann"}})
    message = tab.run(f"second.subscribe({json.dumps(name)}, {user})")
    assert json.loads(message["data"])["presence"]["count"] == 1
    tab.run(f"second.send('client-said', 'to myself', {{channel: {json.dumps(name)}}})")
    assert next_of(tab) == {"event": "client-said", "channel": name, "data": "to myself",
                            "user_id": "ann"}


def test_K1_K2_page_receives_cache_miss_and_cached_event(tab, open_tab, gateway, api, channel):
    name = "cache-" + channel
    assert tab.run(f"peer.subscribe('{name}')")["event"] == "pusher_internal:subscription_succeeded"
    assert next_of(tab)["event"] == "pusher:cache_miss"
    api.publish(name, "kept", "ü 🚚 \u2028")
    assert next_of(tab)["data"] == "ü 🚚 \u2028"
    other = connected(open_tab(), gateway)
    other.run(f"peer.subscribe('{name}')")
    assert next_of(other) == {"event": "kept", "channel": name, "data": "ü 🚚 \u2028"}


@pytest.mark.parametrize("app, code", [(OTHER_ORIGIN, 4009), (App("0", "unknown", ""), 4001)],
                         ids=["other origin", "unknown"])
def test_C7_page_sees_the_close_code(open_tab, gateway, app, code):
    tab = open_tab()
    tab.run(f"globalThis.peer = new Peer({json.dumps(url_of(gateway, app))})")
    closed = next_of(tab)
    assert closed["closed"] == code and closed["reason"]


def signed(gateway, app, method: str, path: str, body: bytes = b"", **changes) -> str:
    return json.dumps(
        gateway.url + signed_target(app, method, f"/apps/{app.id}/{path}", body, changes))


def test_cors_page_calls_the_api(tab, gateway, channel):
    """A GET is sent directly, a POST of JSON after a preflight request."""
    tab.run(f"peer.subscribe('{channel}')")
    assert json.loads(
        tab.run(f"call({signed(gateway, FIRST, 'GET', f'channels/{channel}')})")["text"]) == {
            "occupied": True}
    for path, body in (("events", event_body(channel, data="from a page")),
                       ("batch_events",
                        json.dumps(
        {"batch": [{"name": "event", "channel": channel, "data": "from a page"}]}).encode())):
        options = json.dumps(
            {"method": "POST", "headers": {"Content-Type": "application/json"},
             "body": body.decode()})
        assert tab.run(f"call({signed(gateway, FIRST, 'POST', path, body)}, {options})") == {
            "status": 200, "text": "{}"}
        assert next_of(tab) == {"event": "event", "channel": channel, "data": "from a page"}


def test_cors_page_reads_errors(tab, gateway):
    response = tab.run(
        f"call({signed(gateway, FIRST, 'GET', 'channels', auth_signature='0' * 64)})")
    assert response["status"] == 401 and response["text"].startswith("Invalid signature")
    assert tab.run(f"call({signed(gateway, FIRST, 'GET', 'channels/a!')})")["status"] == 400


def test_cors_other_origins_are_blocked(tab, gateway):
    assert tab.run(f"call({signed(gateway, OTHER_ORIGIN, 'GET', 'channels')})") == {
        "blocked": "TypeError"}
    body = event_body("x")
    options = json.dumps(
        {"method": "POST", "headers": {"Content-Type": "application/json"}, "body": body.decode()})
    assert tab.run(f"call({signed(gateway, OTHER_ORIGIN, 'POST', 'events', body)}, {options})") == {
        "blocked": "TypeError"}
