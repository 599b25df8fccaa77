"""The operators' console in headless Chromium: sign-in, secrecy of the token, and the overview."""

import json
import re

import pytest

from harness.api import Api
from harness.apps import FIRST
from harness.client import Client
from harness.console import VIEWS
from harness.console_fixtures import browser, console, open_console, ops  # noqa: F401
from harness.fleet import SECTIONS, Fleet, report, token, unique_id
from harness.push.apns import refusal

SETTINGS = {"sections": SECTIONS | {"delivery": {"confirm_seconds": 1}}}
FILES = re.compile(r'(?:src|href)="(/console/[^"]+)"')
# Counts the changes of what screen readers speak without being asked.
COUNT_SPOKEN = """(() => {
  globalThis.spoken = 0;
  const elementOf = (node) => node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
  new MutationObserver((changes) => {
    spoken += changes.filter(({ target }) =>
      elementOf(target).closest("[role=status], [role=alert], [aria-live]")).length;
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
})()"""
IMPORTS = re.compile(r'^import .* from "\./([^"]+)";$', re.MULTILINE)


# The page


def test_the_page_is_open_and_loads_nothing_from_elsewhere(api):
    page = api.get("/console")
    assert page.status == 200 and page.headers["content-type"].startswith("text/html")
    policy = dict(part.strip().split(" ", 1)
                  for part in page.headers["content-security-policy"].split(";") if part.strip())
    assert policy["default-src"] == "'none'", policy
    assert policy["script-src"] == policy["style-src"] == "'self'", policy
    assert "://" not in page.text and FIRST.key not in page.text
    kinds = {"css": "text/css", "js": "text/javascript"}
    names, seen = {path.removeprefix("/console/") for path in FILES.findall(page.text)}, set()
    assert names
    while names:
        seen.add(name := names.pop())
        file = api.get(f"/console/{name}")
        assert file.status == 200, name
        assert file.headers["content-type"].startswith(kinds[name.split(".")[-1]]), file.headers
        names |= set(IMPORTS.findall(file.text)) - seen
    assert {"console.css", "console.js", "map.js"} <= seen
    assert api.get("/console/nothing.js").status == 404


def test_the_configuration_has_the_key_of_the_fleets_app(api):
    assert api.get("/console/config.json").json() == {"key": FIRST.key, "tileUrl": None}


# Signing in


@pytest.mark.parametrize("role", ["ops", "admin"])
def test_ops_and_admin_sign_in_and_see_live_figures(console, role):
    assert console.run("part('nav')") is None and console.run("part('#token').type") == "password"
    console.sign_in(token(role, "oz"))
    assert console.run("part('#sign-in')") is None
    console.wait_for("Number(part('.levels dd').textContent) >= 1", "this page is a connection")
    assert console.run("document.activeElement !== part('#token')")


@pytest.mark.parametrize("bearer, message", [
    (lambda: "not a token", "This is no token"), (lambda: "tökén", "This is no token"),
    (lambda: "no-token", "The gateway refuses the token"),
    (lambda: token("ops", "oz")[:-4] + "AAAA", "The gateway refuses the token"),
    (lambda: token("ops", "oz", ttl=-100), "The token has expired"),
    (lambda: token("driver", "42"), "This console is for the roles ops and admin")],
                         ids=["spaces", "umlauts", "malformed", "forged", "expired", "driver"])
def test_other_tokens_are_refused_with_the_reason(console, bearer, message):
    console.submit_token(bearer())
    console.wait_for("part('#message')?.textContent", "a message")
    assert console.text("#message").startswith(message)
    assert console.run("part('#sign-out')") is None
    assert console.run("document.getElementById('token').value") == ""
    console.sign_in(token("ops", "oz"))


def test_sign_out_forgets_everything(ops, gateway):
    ops.go("connections")
    ops.wait_for_rows("Connections", "rows.length > 0")
    ops.run("part('#sign-out').click()")
    ops.wait_for("part('#token')", "the form")
    assert ops.text("#message") == "Signed out. The token is forgotten."
    assert ops.run("document.querySelectorAll('table, [class^=view-]').length") == 0
    ops.tab.navigate(f"{gateway.url}/console#connections")
    ops.prepare()
    assert ops.run("part('#token') !== undefined")


def test_an_expired_token_ends_the_session(console):
    console.sign_in(token("ops", "oz", ttl=-45))  # of the minute that clocks may differ
    console.go("connections")
    console.wait_for("part('#message')?.textContent.startsWith('The token has expired.')")
    assert console.run("document.querySelectorAll('table').length") == 0


def test_the_token_is_nowhere_but_in_memory_and_the_page_asks_no_other_host(console, gateway):
    console.tab.command("Network.enable")
    console.tab.navigate(f"{gateway.url}/console?again")
    console.prepare()
    bearer = token("admin", "ada")
    console.sign_in(bearer)
    for view in [*VIEWS, "log/admin-channel", "notifications?order=O-1"]:
        console.go(view)
        console.wait_for("part('[class^=view-]')")
    kept = console.run(
        "JSON.stringify([localStorage, sessionStorage, document.cookie, location.href,"
        " history.state, name, document.documentElement.outerHTML,"
        " [...document.querySelectorAll('input')]"
        ".map((input) => input.value), (await caches.keys()), (await indexedDB.databases())])")
    assert bearer not in kept and bearer.split(".")[2] not in kept
    assert json.loads(kept)[0:3] == [{}, {}, ""]
    requests = console.tab.events("Network.requestWillBeSent")
    urls = ([event["request"]["url"] for event in requests]
            + [event["url"] for event in console.tab.events("Network.webSocketCreated")])
    place = f"{gateway.host}:{gateway.port}"
    assert any(url.startswith(f"ws://{place}/app/") for url in urls), urls
    allowed = (f"http://{place}/", f"ws://{place}/", "data:")
    assert all(url.startswith(allowed) for url in urls), urls
    assert all(bearer not in url for url in urls)
    carriers = {request["url"].removeprefix(f"http://{place}").split("?")[0]
                for request in (event["request"] for event in requests)
                if bearer in request["headers"].get("Authorization", "")}
    assert len(carriers) > 5
    assert all(path.startswith(("/api/", "/pusher/auth")) for path in carriers), carriers


# The overview


def test_figures_follow_connections_and_messages(start_gateway, open_console, closing, channel):
    gateway = start_gateway(**SETTINGS)
    ops, api = open_console(gateway).sign_in(token("ops", "oz")), closing(Api(gateway))
    ops.wait_for("part('.levels dd').textContent === '1'", "the page's own connection")
    ops.run(COUNT_SPOKEN)
    clients = [closing(Client.connect(gateway)) for _ in range(3)]
    for client in clients:
        client.subscribe(channel)
    ops.wait_for("part('.levels dd').textContent === '4'", "three more connections")
    assert ops.run("spoken") == 0, "figures that change are not spoken"
    for _ in range(100):
        api.publish(channel)
    # The page itself gets one message a second; these are 300 in a moment.
    ops.wait_for("Number(chart('Messages per second').split('at most ')[1].replace(',', '')) > 20")
    for client in clients:
        client.close()
    ops.wait_for("part('.levels dd').textContent === '1'", "three fewer connections")


def test_abnormal_closes_are_what_is_wrong(start_gateway, open_console, closing):
    gateway = start_gateway(**SETTINGS)
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    ops.wait_for("part('.verdict').textContent === 'Nothing is wrong'")
    client = closing(Client.connect(gateway))
    client.send_text("x" * 100_000)
    client.expect_close()
    ops.wait_for_rows("Closes by the gateway",
                      "rows.some((row) => row.Code === '1009' && row['Since the start'] === '1')")
    ops.wait_for_text("Connections closed with 1009 (message too large): 1 in the last")
    assert ops.text(".verdict") == "1 thing is wrong"
    assert "1009" in ops.run("document.querySelector('.wrong [role=status]').textContent"), "spoken"


def test_refused_subscriptions_are_what_is_wrong(start_gateway, open_console, closing):
    gateway = start_gateway(**SETTINGS)
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    ops.wait_for("part('.verdict').textContent === 'Nothing is wrong'")
    client = closing(Client.connect(gateway))
    client.sign_in("driver:1")
    for name in ("driver-2", "driver-3"):
        client.send_subscribe(name)
        client.expect_rejection(name)
    ops.wait_for_text("Subscriptions refused (not permitted), channels driver-*: 2 in the last")
    assert ops.text(".verdict") == "1 thing is wrong"


BROKEN = ["null", "[]", "{}", "7", '"stats"', "{...good, loops: [null]}", "{...good, loops: {}}", "{...good, apps: null}",
          "{...good, opened: '1e12'}", "{...good, messages: null}", "{...good, http: {lastMinute: null}}",
          "{...good, perEvent: {e: null}}", "{...good, closes: {1000: 'x'}}", "{...good, funnel: 3}", "{...good, nodes: [1]}"]


def test_figures_of_another_shape_are_not_kept(ops):
    """They would make every view throw, as long as they are in its history."""
    script = f"""(async () => {{
      const {{ History }} = await import("/console/stats.js");
      const good = await (await fetch("/api/ops/stats")).json();
      const history = new History();
      return [history.add(good), ...[{", ".join(BROKEN)}].map((stats) => history.add(stats)), history.samples.length];
    }})()"""
    assert ops.run(script) == [True, *([False] * len(BROKEN)), 1]


def test_a_view_that_fails_says_so_and_the_others_go_on(ops):
    broken = "import('/console/overview.js').then(({ Overview }) => { "
    ops.run(broken + "globalThis.kept = Overview.prototype.onStats; "
            "Overview.prototype.onStats = () => { throw new Error('broken'); }; return true; })")
    ops.wait_for_text("This view cannot show what the gateway has sent: broken")
    ops.go("channels")
    ops.wait_for_rows("Channels", "rows.length > 0")
    ops.go("overview")
    ops.wait_for_text("cannot show")
    ops.run(broken + "Overview.prototype.onStats = kept; return true; })")
    ops.wait_for("!document.body.innerText.includes('cannot show')", "it goes on by itself")


def test_unconfirmed_notifications_are_what_is_wrong(start_gateway, open_console, closing):
    gateway = start_gateway(**SETTINGS)
    fleet = Fleet(gateway, closing)
    absent, admin = unique_id("d"), fleet.admin()
    admin.assign(unique_id("O"), absent)
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    ops.wait_for("part('.problems')?.innerText.includes('Unconfirmed notifications: 1')")
    ops.press("Show")
    [row] = ops.wait_for_rows("Notifications", "rows.length === 1")
    assert (row["Event"], row["State"]) == ("job-assigned", "created")
    assert row["Channel"] == f"driver-{absent}"
    assert row["Caused by"] == "admin:ada: assign"
    ops.go("overview")
    ops.run(COUNT_SPOKEN)
    admin.assign(unique_id("O"), absent)
    ops.wait_for_text("Unconfirmed notifications: 2")
    assert ops.run("spoken") == 0, "only its beginning and its end are spoken"


def test_a_stopped_lane_is_the_first_of_what_is_wrong(start_push_fleet, open_console):
    fleet = start_push_fleet()
    devices = [fleet.ios() for _ in range(40)]
    fleet.apns.script(refusal(400, "BadTopic"))
    fleet.announce_to_drivers([device.owner.subject for device in devices])
    fleet.wait_for_lane_state("apns", "stopped")
    ops = open_console(fleet.gateway).sign_in(token("ops", "oz"))
    ops.wait_for("part('.problems li')?.className === 'bad'")
    assert "Push lane apns is stopped: " in ops.text(".problems li")
    assert "BadTopic" in ops.text(".problems li")
    lanes = {row["Lane"]: row for row in ops.rows("Push lanes")}
    assert lanes["apns"]["State"] == "stopped" and "BadTopic" in lanes["apns"]["Last error"]
    assert lanes["fcm"]["State"] in ("running", "paused")


def test_the_funnel_counts_notifications(start_gateway, open_console, closing):
    gateway = start_gateway(**SETTINGS)
    fleet = Fleet(gateway, closing)
    driver, admin = fleet.driver(), fleet.admin()
    ids = [admin.assign(unique_id("O"), driver.subject)["data"]["notificationIds"][0]
           for _ in range(4)]
    for number, step in enumerate(["received", "action_view_now"]):
        for notification in ids[number:]:
            report(driver, notification, step)
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    rows = ops.wait_for_rows("From created to accepted",
                             "rows.length === 3 && rows[0].received === '4'")
    for row in rows:
        assert (row["received"], row["viewed"], row["accepted"]) == ("4", "3", "0"), row


def test_the_page_comes_back_with_the_gateway(start_gateway, open_console):
    gateway = start_gateway("kept", **SETTINGS)
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    gateway.kill()
    ops.wait_for("part('#live').textContent.includes('connects again in')")
    start_gateway("kept", **SETTINGS | {"server": {"port": gateway.port}})
    ops.wait_for("part('#live').textContent === 'Live'")
