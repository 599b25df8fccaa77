"""examples/driver-pusher.html does what it says, whatever happens to the gateway.

pusher-js is in no Debian package and not on PyPI: these tests run where PUSHER_JS names a build of it, such as
`node_modules/pusher-js/dist/web/pusher.min.js`.
"""

import os
import shutil
from pathlib import Path

import pytest

from harness.console_fixtures import browser  # noqa: F401
from harness.example_fixtures import site, start_site  # noqa: F401
from harness.example_site import Page, token
from harness.examples import EXAMPLES
from harness.fleet import wait_until


@pytest.fixture
def folder(tmp_path):
    """The page beside a build of pusher-js."""
    if not (build := os.environ.get("PUSHER_JS")):
        pytest.skip("PUSHER_JS names no build of pusher-js")
    folder = tmp_path / "page"
    folder.mkdir()
    for name in ("driver-pusher.html", "driver-pusher.js"):
        shutil.copy(EXAMPLES / name, folder)
    shutil.copy(Path(build), folder / "pusher.min.js")
    return folder.as_uri()


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
