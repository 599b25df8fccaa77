"""examples/driver-pusher.html does what it says, whatever happens to the gateway, and a planned restart is short.

pusher-js is in no Debian package and not on PyPI: these tests run where PUSHER_JS names a build of it, such as
`node_modules/pusher-js/dist/web/pusher.min.js`.
"""

import os
import shutil
from pathlib import Path

import pytest
import yaml

from harness.activation import ListeningSocket
from harness.api import Api
from harness.apps import FIRST
from harness.browser import Browser
from harness.console_fixtures import browser  # noqa: F401
from harness.example_fixtures import site, start_site  # noqa: F401
from harness.example_site import Page, token
from harness.examples import EXAMPLES
from harness.documents import ROOT
from harness.fleet import wait_until
from harness.nginx import Nginx


# Ten stock clients, and when each was without a connection.
CLIENTS = """<!DOCTYPE html><title>ten clients</title><script src="pusher.min.js"></script><script>
const clients = Array.from({length: 10}, () => {
  const client = {lost: 0, back: 0, received: 0}
  const pusher = new Pusher("KEY", {wsHost: "HOST", wssPort: PORT, forceTLS: true, enabledTransports: ["ws", "wss"], cluster: "x"})
  pusher.connection.bind("state_change", ({previous, current}) => {
    if (previous === "connected") { client.lost ||= performance.now(); client.back = 0 }
    if (current === "connected" && client.lost) client.back = performance.now()
  })
  client.room = pusher.subscribe("room")
  client.room.bind("note", () => client.received++)
  return client
})
</script>"""


@pytest.fixture
def pages(tmp_path):
    """A folder with a build of pusher-js."""
    if not (build := os.environ.get("PUSHER_JS")):
        pytest.skip("PUSHER_JS names no build of pusher-js")
    folder = tmp_path / "page"
    folder.mkdir()
    shutil.copy(Path(build), folder / "pusher.min.js")
    return folder


@pytest.fixture
def folder(pages):
    """The page beside a build of pusher-js."""
    for name in ("driver-pusher.html", "driver-pusher.js"):
        shutil.copy(EXAMPLES / name, pages)
    return pages.as_uri()


def open_page(closing, browser, site, folder, *arguments: str) -> Page:  # noqa: F811
    return closing(Page(browser, site, folder, site.run_backend(*arguments), name="driver-pusher.html"))


def test_the_page_survives_outages_and_shows_each_job_once(site, closing, browser, folder):  # noqa: F811
    page = open_page(closing, browser, site, folder)
    page.wait_for_status("Subscribed to private-driver-42")
    site.assign("A-1")
    page.wait_for_jobs("A-1")
    site.wait_until_accepted("A-1")
    site.gateway.kill()
    page.tab.wait_for("pusher.connection.state !== 'connected'", "the page notices the outage")
    site.gateway.restart()
    page.wait_for_status("Subscribed to private-driver-42")
    site.assign("A-2")
    page.wait_for_jobs("A-1", "A-2")
    site.gateway.freeze()
    page.tab.wait_for("pusher.connection.state !== 'connected'", "the page notices the silence")
    site.gateway.thaw()
    site.assign("A-3")
    page.wait_for_jobs("A-1", "A-2", "A-3")
    page.tab.command("Page.setWebLifecycleState", state="frozen")
    site.assign("A-4")
    page.tab.command("Page.setWebLifecycleState", state="active")
    page.wait_for_jobs("A-1", "A-2", "A-3", "A-4")
    site.wait_until_accepted("A-1", "A-2", "A-3", "A-4")


def test_the_page_gets_a_new_token_when_the_old_one_has_expired(site, closing, browser, folder):  # noqa: F811
    """The backend's tokens are valid for three seconds."""
    page = open_page(closing, browser, site, folder, "--token-seconds=-57")
    page.wait_for_status("Subscribed to private-driver-42")
    bearer = page.tab.run("token") or token("driver", "42", ttl=-57)
    wait_until(lambda: site.refuses(bearer), "that the token has expired")
    site.gateway.kill()
    site.gateway.restart()
    site.assign("A-1")
    page.wait_for_jobs("A-1")
    site.wait_until_accepted("A-1")


def test_the_page_subscribes_again_when_the_authorization_failed(site, closing, browser, folder):  # noqa: F811
    page = closing(Page(browser, site, folder, site.run_backend(), password="wrong", name="driver-pusher.html"))
    page.wait_for_status("Expected the id and the password of a driver")
    page.sign_in("dana")
    page.wait_for_status("Subscribed to private-driver-42")
    page.tab.run("call = () => Promise.reject(new Error('no network'))")
    page.tab.run("pusher.disconnect()")
    page.tab.run("pusher.connect()")
    page.wait_for_status("no network")
    page.tab.run("call = (path, body) => fetch(gateway.origin + path, {method: 'POST', body: JSON.stringify(body), "
                 "headers: {Authorization: `Bearer ${token}`}}).then((response) => response.json())")
    page.wait_for_status("Subscribed to private-driver-42")


@pytest.mark.parametrize("is_activated, seconds", [(True, 3), (False, 5)], ids=["socket", "no-socket"])
def test_a_planned_restart_is_short(start_gateway, closing, pages, tmp_path, is_activated, seconds):
    """Ten clients behind nginx, as deployed: all are back within seconds, and subscribed again. With a listening socket that
    outlives the gateway, they need not wait for a second attempt.
    """
    drain = yaml.safe_load((ROOT / "config/fleetwire.yaml").read_text())["server"]["drain_seconds"]
    server = {"drain_seconds": drain, "behind_proxy": True, "trusted_proxies": ["127.0.0.0/8"]}
    settings = closing(ListeningSocket()).settings if is_activated else {}
    gateway = start_gateway("gateway", server=server, **settings)
    nginx = closing(Nginx(tmp_path / "nginx", gateway))
    page = CLIENTS.replace("KEY", FIRST.key).replace("HOST", nginx.host).replace("PORT", str(nginx.port))
    (pages / "clients.html").write_text(page)
    browser = closing(Browser(tmp_path / "browser", "--ignore-certificate-errors"))  # noqa: F811
    tab = browser.open((pages / "clients.html").as_uri())
    tab.wait_for("clients.every(({room}) => room.subscribed)", "all clients are subscribed")
    gateway.terminate()
    gateway.wait()
    restarted = start_gateway("gateway", server=server | {"port": gateway.port}, **settings)
    tab.wait_for("clients.every(({back, room}) => back && room.subscribed)", "all clients are back")
    away = tab.run("clients.map(({lost, back}) => (back - lost) / 1000)")
    assert max(away) <= seconds, away
    closing(Api(restarted)).publish("room", "note", "once")
    tab.wait_for("clients.every(({received}) => received === 1)", "each client has the event once")
