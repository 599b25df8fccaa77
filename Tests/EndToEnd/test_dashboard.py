"""A dashboard on another host of the same site: its page in Chromium has nothing but the encrypted session cookie of
NextAuth.js, calls the gateway across origins with credentials, and listens to `admin-channel`.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from harness.apps import FIRST
from harness.browser import Browser
from harness.fleet import JWT, Fleet, unique_id
from harness.gateway import Gateway
from harness.sessions import CBC, GCM, session_claims, session_cookie

SECRET = "the-secret-of-the-dashboard-32-bytes"
SITE, DASHBOARD, GATEWAY, STRANGER = "fleet.test", "dash.fleet.test", "gate.fleet.test", "evil.test"
COOKIES = {"v4": "next-auth.session-token", "v5": "authjs.session-token"}
# What the dashboard's developer writes: the answers as they are, and a WebSocket with a signature from /pusher/auth.
PAGE = b"""<!DOCTYPE html><meta charset="utf-8"><title>Dashboard</title><script>
"use strict";
const heard = [];
let socket;

async function call(url, method = "GET", body) {
  try {
    const response = await fetch(url, {
      method, credentials: "include", body: body && JSON.stringify(body),
      headers: body ? { "Content-Type": "application/json" } : {},
    });
    return { status: response.status, body: await response.json(), id: response.headers.get("X-Correlation-ID") };
  } catch (error) {
    return { blocked: error.name };
  }
}

function listen(gateway, key) {
  return new Promise((resolve) => {
    socket = new WebSocket(`${gateway.replace("http", "ws")}/app/${key}?protocol=7`);
    socket.onclose = (event) => resolve({ closed: event.code });
    socket.onmessage = async ({ data }) => {
      const message = JSON.parse(data);
      if (message.event === "pusher:connection_established") {
        const channel = "private-admin-channel";
        const { status, body } = await call(`${gateway}/pusher/auth`, "POST", {
          socket_id: JSON.parse(message.data).socket_id, channel_name: channel });
        if (status !== 200) return resolve({ status });
        socket.send(JSON.stringify({ event: "pusher:subscribe", data: { channel, auth: body.auth } }));
      } else if (message.event === "pusher_internal:subscription_succeeded") {
        resolve({ subscribed: message.channel });
      } else {
        heard.push({ event: message.event, data: JSON.parse(message.data) });
      }
    };
  });
}
</script>"""


class DashboardServer:
    """The dashboard's own server. `/sign-in` sets the cookies as NextAuth.js does, for all hosts of the site."""

    def __init__(self):
        self.cookies: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(PAGE)))
                if self.path == "/sign-in":
                    for pair in outer.cookies:
                        self.send_header("Set-Cookie", f"{pair}; Domain={SITE}; Path=/; HttpOnly; SameSite=Lax")
                self.end_headers()
                self.wfile.write(PAGE)

            def log_message(self, *_) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def origin(self, host: str) -> str:
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(scope="module")
def site():
    site = DashboardServer()
    yield site
    site.close()


@pytest.fixture(scope="module", params=["v4", "v5"])
def scheme(request):
    return request.param


@pytest.fixture(scope="module")
def page_gateway(tmp_path_factory, site, scheme):
    """Allows the dashboard's origin, and nobody else's."""
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), first={"allowed_origins": [site.origin(DASHBOARD)]}, sections={
        "auth": {"jwt": JWT, "session": {"cookies": [COOKIES[scheme]], "secret": SECRET, "scheme": scheme}}})
    yield gateway
    gateway.stop()


@pytest.fixture
def gateway(page_gateway):
    yield page_gateway
    page_gateway.assert_alive()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """All hosts of the tests are this machine."""
    browser = Browser(tmp_path_factory.mktemp("browser"),
                      f"--host-resolver-rules=MAP *.{SITE} 127.0.0.1,MAP {STRANGER} 127.0.0.1")
    yield browser
    browser.close()


@pytest.fixture
def dashboard(browser, site, gateway, scheme, closing):
    """Opens a page of a host, in which somebody with these claims has signed in."""
    def sign_in(host: str = DASHBOARD, cipher: str = GCM, chunks: int = 1, **claims):
        tab = closing(browser.open(site.origin(DASHBOARD) + "/"))
        tab.command("Network.clearBrowserCookies")
        value = session_cookie(session_claims(**claims), scheme, SECRET, COOKIES[scheme], cipher)
        size = -(-len(value) // chunks)
        parts = [value[start:start + size] for start in range(0, len(value), size)]
        names = [f"{COOKIES[scheme]}.{number}" for number in range(chunks)] if chunks > 1 else [COOKIES[scheme]]
        site.cookies = [f"{name}={part}" for name, part in zip(names, parts)]
        tab.navigate(site.origin(DASHBOARD) + "/sign-in")
        tab.navigate(site.origin(host) + "/")
        assert tab.run("document.cookie") == "", "scripts cannot read the session"
        return Dashboard(tab, f"http://{GATEWAY}:{gateway.port}")

    return sign_in


class Dashboard:
    def __init__(self, tab, url: str):
        self.tab, self.url = tab, url

    def call(self, method: str, path: str, body: dict | None = None) -> SimpleNamespace:
        arguments = ", ".join(json.dumps(each) for each in (self.url + path, method, body) if each is not None)
        return SimpleNamespace(**self.tab.run(f"call({arguments})"))

    def listen(self) -> dict:
        return self.tab.run(f"listen({json.dumps(self.url)}, {json.dumps(FIRST.key)})")

    def wait_for(self, event: str) -> dict:
        self.tab.wait_for(f"heard.some((each) => each.event === '{event}')", event)
        return self.tab.run(f"heard.find((each) => each.event === '{event}').data")


@pytest.fixture
def order(gateway, closing):
    fleet, code = Fleet(gateway, closing), unique_id("O")
    fleet.admin().assign(code, "42", customerName="Ann")
    return code


def test_the_dashboard_acts_and_listens(dashboard, gateway, order, closing):
    page = dashboard()
    assert page.listen() == {"subscribed": "private-admin-channel"}
    answer = page.call("POST", f"/api/admin/orders/{order}/unassign", {})
    assert (answer.status, answer.body["success"], answer.id) == (200, True, answer.body["correlationId"])
    assert page.wait_for("order-unassigned")["bookingId"] == order
    answer = page.call("PUT", f"/api/admin/orders/{order}", {"customerName": "Bea"})
    assert (answer.status, answer.body["data"]["order"]["customerName"]) == (200, "Bea")
    answer = page.call("GET", f"/api/admin/orders/{order}")
    assert (answer.status, answer.body["data"]["order"]["status"]) == (200, "available")
    actors = gateway.query("SELECT DISTINCT actor FROM audit WHERE order_code = ? AND action = 'unassign'", order)
    assert actors == [("admin:u7",)]


def test_a_session_in_chunks(dashboard, order):
    """Browsers limit a cookie's size, so that NextAuth.js cuts a large session."""
    page = dashboard(chunks=3, picture="x" * 2_000)
    assert page.call("POST", f"/api/admin/orders/{order}/unassign", {}).status == 200


def test_the_other_cipher_of_auth_js(dashboard, scheme, order):
    assert dashboard(cipher=CBC).call("POST", f"/api/admin/orders/{order}/unassign", {}).status == (
        200 if scheme == "v5" else 401)


@pytest.mark.parametrize("claims, status", [
    ({"role": "USER"}, 403), ({"exp": int(time.time()) - 120}, 401)], ids=["no admin", "expired"])
def test_the_page_can_read_why_it_is_refused(dashboard, order, claims, status):
    page = dashboard(**claims)
    answer = page.call("POST", f"/api/admin/orders/{order}/unassign", {})
    assert answer.status == status and answer.body["success"] is False and answer.body["error"] and answer.id
    assert page.listen() == {"status": status}
    assert page.call("GET", "/api/admin/orders/nothing").status == status


def test_errors_of_a_signed_in_dashboard_are_readable(dashboard, order):
    page = dashboard()
    answer = page.call("GET", "/api/admin/orders/nothing")
    assert (answer.status, answer.body["success"]) == (404, False)
    assert page.call("POST", f"/api/admin/orders/{order}/assign-driver", {"driverId": []}).status == 400
    assert page.call("DELETE", f"/api/admin/orders/{order}").status in (404, 405)


@pytest.mark.parametrize("host", ["other.fleet.test", STRANGER])
def test_pages_of_other_origins_achieve_nothing(dashboard, closing, gateway, order, host):
    """Not even those of the same site, to whose requests browsers add the cookie."""
    page = dashboard(host)
    path = f"/api/admin/orders/{order}"
    assert page.call("GET", path) == SimpleNamespace(blocked="TypeError")
    assert page.call("POST", f"{path}/unassign", {}) == SimpleNamespace(blocked="TypeError")
    # Without a preflight: a form's content type.
    assert page.tab.run(f"fetch('{page.url}{path}/unassign', {{method: 'POST', credentials: 'include', mode: 'no-cors', "
                        "body: ''}).then((response) => response.type)") == "opaque"
    assert page.listen() == {"closed": 4009}
    assert Fleet(gateway, closing).admin().get_order(order)["driverId"] == "42"
