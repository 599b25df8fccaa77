"""The programs in examples/ do what they say, with the development configuration, whatever happens to the gateway."""

import base64
import functools
import json
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from harness.apps import FIRST, TIMEOUT
from harness.client import Client
from harness.console_fixtures import browser  # noqa: F401
from harness.example_fixtures import site, start_site  # noqa: F401
from harness.example_site import AGAIN, Page, token
from harness.examples import EXAMPLES, Program
from harness.fleet import join, wait_until

def post(url: str, body: str, headers: dict | None = None) -> tuple[int, str]:
    """Returns the status and the text of the answer."""
    try:
        request = urllib.request.Request(url, body.encode(), headers or {})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# driver.py


def test_the_driver_survives_an_outage_and_shows_each_job_once(start_site):
    site = start_site({"confirm_seconds: 5 ": "confirm_seconds: 1 "})  # so soon, the timeline has what is written
    driver = site.run_driver()
    driver.expect("subscribed to private-driver-42")
    site.assign("A-1")
    driver.expect("job-assigned A-1")
    driver.expect("Job accepted successfully")

    # What the driver shows after the gateway has died, it cannot report: it comes again.
    driver.freeze()
    site.assign("A-2")
    wait_until(lambda: "written" in site.steps("A-2"), "that the job is written to the frozen driver's socket")
    site.gateway.kill()
    driver.thaw()
    driver.expect("job-assigned A-2")
    for _ in range(10):
        driver.expect(AGAIN)

    driver.freeze()
    site.gateway.restart()
    site.assign("A-3")
    driver.thaw()
    driver.expect("subscribed to private-driver-42")
    driver.expect("job-assigned A-3")
    site.assign("A-4")
    driver.expect("job-assigned A-4")
    driver.expect("Job accepted successfully")
    assert [line for line in driver.lines if line.startswith("job-")] == [f"job-assigned A-{n}" for n in (1, 2, 3, 4)]
    site.wait_until_accepted("A-1", "A-2", "A-3", "A-4")
    assert "received" in site.steps("A-2")


def test_the_driver_leaves_a_gateway_that_does_not_answer(site):
    driver = site.run_driver("--silence-seconds", "0.5")
    driver.expect("subscribed to private-driver-42")
    site.gateway.freeze()
    driver.expect(AGAIN)
    site.gateway.thaw()
    driver.expect("subscribed to private-driver-42")
    site.assign("A-1")
    driver.expect("job-assigned A-1")


def test_the_driver_gets_a_new_token_when_the_old_one_has_expired(site):
    """The gateway's clock may differ by a minute, so that the second token is valid for three seconds."""
    soon = token("driver", "42", ttl=-57)
    tokens = site.directory / "tokens"
    tokens.write_text("\n".join([token("driver", "42", ttl=-3600), soon, token("driver", "42")]) + "\n")
    driver = site.run_driver("--token-command", "sed -n 1p tokens && sed -i '1{$!d}' tokens")
    driver.expect("subscribed to private-driver-42")
    wait_until(lambda: site.refuses(soon), "that the token has expired")
    site.assign("A-1")
    driver.expect("job-assigned A-1")
    driver.expect("Job accepted successfully")
    assert driver.lines.count("subscribed to private-driver-42") == 1
    assert len(tokens.read_text().splitlines()) == 1


def test_the_driver_says_what_is_wrong_and_goes_on(site):
    driver = site.run_driver("--driver", "43", "--token-command", f"echo {token('driver', '42')}")
    assert "403" in driver.expect(AGAIN)[0]
    driver = site.run_driver("--key", "wrong")
    assert "4001" in driver.expect(AGAIN)[0]
    driver = site.run_driver("--token-command", "echo no backend >&2; exit 1")
    driver.expect("no backend")
    driver.expect(AGAIN)
    driver.expect(AGAIN)


# dispatcher.py


def test_the_dispatcher_finds_out_what_it_has_missed(site, closing):
    dispatcher = site.run("dispatcher.py", "A-1", "42", "--url", site.gateway.url, "--retry-seconds", "0.2")
    dispatcher.expect("Driver assigned")
    dispatcher.expect("the notification is created")
    dispatcher.expect("the order is assigned")
    site.gateway.kill()
    dispatcher.expect(AGAIN)
    dispatcher.freeze()
    site.gateway.restart()
    present = closing(Client.connect(site.gateway))
    join(present, site.admin(), "private-admin-channel")
    site.run_driver()
    missed = {"delivery-updated", "job-accepted"}
    while missed:
        missed.discard(present.receive_any()["event"])
    dispatcher.thaw()
    for text in ("the notification is confirmed", "the notification is received", "the order is accepted"):
        dispatcher.expect(text)
    assert dispatcher.wait() == 0
    assert not any("already" in line for line in dispatcher.lines), "it has assigned the order twice"


def test_the_dispatcher_sees_the_driver_accept(site):
    dispatcher = site.run("dispatcher.py", "A-1", "42", "--url", site.gateway.url)
    dispatcher.expect("the order is assigned")
    site.run_driver()
    dispatcher.expect("the order is accepted")
    assert dispatcher.wait() == 0


def test_the_dispatcher_ends_when_the_gateway_refuses(site):
    site.assign("A-1")
    site.admin().order("A-1", "cancel-enhanced")
    dispatcher = site.run("dispatcher.py", "A-1", "42", "--url", site.gateway.url)
    dispatcher.expect(".*409.*Order A-1 is cancelled.*")
    assert dispatcher.wait() == 1


# backend.py


def test_the_backend_lets_its_users_in_and_publishes(site, closing):
    backend = site.run_backend()

    def call(path: str, body: str, user: str = "42:dana") -> tuple[int, str]:
        return post(backend + path, body, {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()})

    client = closing(Client.connect(site.gateway))
    channel = "private-depot-north"
    status, grant = call("/auth", urllib.parse.urlencode({"socket_id": client.socket_id, "channel_name": channel}))
    assert status == 200, grant
    client.subscribe(channel, **json.loads(grant))
    assert call("/notice", "Gate 3 is closed") == (200, "published")
    client.expect("notice", channel=channel, data='{"from": "Dana", "text": "Gate 3 is closed"}')

    assert call("/auth", f"socket_id={client.socket_id}&channel_name=private-depot-south")[0] == 403
    assert call("/auth", f"socket_id=wrong&channel_name={channel}")[0] == 400
    assert call("/token", "", "42:eric")[0] == call("/token", "", "wrong")[0] == post(backend + "/token", "")[0] == 401
    assert call("/notice", "x" * 20_000)[0] == 502
    assert call("/notice", "x" * 70_000)[0] == 413
    assert call("/nothing", "")[0] == 404

    driver = site.run_driver("--token-command", f"curl --noproxy '*' -sfu $DRIVER:dana {backend}/token -d ''")
    driver.expect("subscribed to private-driver-42")


# webhooks.py


def test_the_webhooks_are_checked_and_handled_once(start_site, tmp_path, closing):
    webhooks = closing(Program(tmp_path, "webhooks.py", "--port", "0"))
    url = webhooks.expect(r"listening on (http://127\.0\.0\.1:\d+/)")[1]
    site = start_site({"webhooks: []": f'webhooks: [{{url: "{url}", allow_private: true}}]'})
    closing(Client.connect(site.gateway)).subscribe("my-channel")
    webhooks.expect("channel_occupied my-channel")

    def send(name: str, signature: str | None = None, **more) -> int:
        body = json.dumps({"time_ms": 1, "events": [{"name": name, "channel": "x"}]})
        signed = {} if signature == "" else {"X-Pusher-Signature": signature or FIRST.sign(body)}
        return post(url, body, signed | more)[0]

    assert send("unsigned", "") == send("wrong", "0" * 64) == send("other", "ü") == 401
    assert send("large", **{"Content-Length": str(1 << 21)}) == 413
    assert send("first") == send("first") == send("second") == 200
    webhooks.expect("second x")
    assert webhooks.lines[1:] == ["channel_occupied my-channel", "first x", "second x"]


# driver.html


def test_the_page_survives_an_outage_and_shows_each_job_once(site, closing, browser):
    page = closing(Page(browser, site, EXAMPLES.as_uri(), site.run_backend()))
    page.wait_for_status("Subscribed to private-driver-42")
    site.assign("A-1")
    page.wait_for_jobs("A-1")
    site.wait_until_accepted("A-1")
    job = {"notificationId": page.tab.run("[...seen][0]"), "bookingReference": "A-1"}
    repetition = json.dumps(json.dumps({"event": "job-assigned", "data": job}))
    page.tab.run(f"socket.onmessage({{data: {repetition}}})")

    site.gateway.kill()
    page.tab.wait_for("attempts > 10", "ten attempts")
    page.tab.command("Page.setWebLifecycleState", state="frozen")
    site.gateway.restart()
    site.assign("A-2")
    page.tab.command("Page.setWebLifecycleState", state="active")
    page.wait_for_jobs("A-1", "A-2")
    site.gateway.freeze()
    page.wait_for_status("again in")
    site.gateway.thaw()
    page.wait_for_status("Subscribed to private-driver-42")
    site.assign("A-3")
    page.wait_for_jobs("A-1", "A-2", "A-3")
    site.wait_until_accepted("A-2", "A-3")


def test_the_page_tries_again_for_ever_with_pauses_that_end_at_the_longest(site, closing, browser):
    """Two thousand attempts, which would take eight hours, run without their pauses."""
    page = closing(Page(browser, site, EXAMPLES.as_uri(), site.run_backend(), retry_seconds="15"))
    page.wait_for_status("Subscribed to private-driver-42")
    page.tab.run("""[window.pauses = [], window.nativeTimeout = setTimeout, window.NativeSocket = WebSocket,
        window.setTimeout = (action, pause, ...more) => {
          if (action !== connect) return nativeTimeout(action, pause, ...more);
          return pauses.push(pause) < 2000 ? nativeTimeout(action, 0) : null;
        },
        window.WebSocket = class { constructor() { queueMicrotask(() => this.onclose({reason: "away"})) } close() {} },
        socket.onclose({reason: "away"})] && null""")
    page.tab.wait_for("pauses.length === 2000", "the attempts")
    pauses = page.tab.run("pauses")
    for attempt, pause in enumerate(pauses):
        longest = min(15_000, 1_000 * 2 ** attempt)
        assert longest / 2 <= pause <= longest, (attempt, pause)
    assert len({round(pause) for pause in pauses}) > 1_000, "all pages would come at the same moment"

    # The next attempt succeeds, and the pauses after it are short again.
    page.tab.run("[window.WebSocket = NativeSocket, connect()] && null")
    page.wait_for_status("Subscribed to private-driver-42")
    assert page.tab.run("attempts") == 0


def test_what_the_page_keeps_during_an_outage_is_bounded(site, closing, browser):
    """Jobs still arrive, and nothing answers what the page says of them."""
    page = closing(Page(browser, site, EXAMPLES.as_uri(), site.run_backend()))
    page.wait_for_status("Subscribed to private-driver-42")
    page.tab.run("""[window.asked = [], window.nativeFetch = fetch,
        window.fetch = (url, options) => { asked.push(url); return Promise.reject(new Error("away")); }] && null""")
    page.tab.run("""Promise.all(Array.from({length: 5000}, (_, n) => receive({event: "job-assigned", data: {
        notificationId: `n${n}`, bookingId: `b${n}`, bookingReference: `B-${n}`}}))).then(() => null)""")
    page.tab.wait_for("asked.length > 3", "the page says it again")
    kept = page.tab.run("""[seen.size, unanswered.length, unanswered.at(-1)[0],
        document.getElementById("jobs").children.length, document.getElementById("jobs").lastChild.textContent]""")
    assert kept[0] == kept[3] == 2_000 and kept[4] == "B-4999"
    # The one that was under way comes back.
    assert 2_000 <= kept[1] <= 2_001 and kept[2] == "/api/driver/jobs/b4999/accept"

    # The gateway refuses these jobs, which it does not know; that is an answer.
    page.tab.run("[unanswered.splice(0, unanswered.length - 4), window.fetch = nativeFetch] && null")
    site.assign("A-1")
    site.wait_until_accepted("A-1")
    page.tab.wait_for("unanswered.length === 0", "all is said")


def test_the_page_gets_a_new_token_when_the_old_one_has_expired(site, closing, browser):
    """It comes from a server; the backend's tokens are valid for three seconds."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=EXAMPLES)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            page = closing(Page(browser, site, f"http://127.0.0.1:{server.server_port}",
                                site.run_backend("--token-seconds=-57")))
        finally:
            server.shutdown()
    page.wait_for_status("Subscribed to private-driver-42")
    bearer = page.tab.run("token") or token("driver", "42", ttl=-57)
    wait_until(lambda: site.refuses(bearer), "that the token has expired")
    site.assign("A-1")
    page.wait_for_jobs("A-1")
    site.wait_until_accepted("A-1")


def test_the_page_asks_again_for_a_password_that_is_wrong(site, closing, browser):
    page = closing(Page(browser, site, EXAMPLES.as_uri(), site.run_backend(), password="wrong"))
    page.wait_for_status("Expected the id and the password of a driver")
    page.sign_in("dana")
    page.wait_for_status("Subscribed to private-driver-42")
