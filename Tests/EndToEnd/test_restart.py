"""A planned restart: the end of a gateway's drain, and socket activation."""

import os
import shutil
import subprocess
import threading

import pytest

from harness.activation import ListeningSocket
from harness.api import Api
from harness.apps import FIRST, TIMEOUT
from harness.client import Client
from harness.console_fixtures import browser  # noqa: F401
from harness.gateway import BINARY, SERVER, environment, write_config
from harness.proxies import NginxProxy, program
from harness.proxy_fixtures import BEHIND
from harness.webhook_receiver import WebhookReceiver, webhook
from harness.wire import request

pytestmark = pytest.mark.skipif("FLEETWIRE_TEST_NATS" in os.environ, reason="a node of a cluster closes clients in waves")


@pytest.fixture
def activated(start_gateway, closing):
    """Starts gateways on one socket that outlives them: `activated()`."""
    passed = closing(ListeningSocket())
    return lambda **settings: start_gateway("gateway", **passed.settings, **settings), passed


def test_a_lone_gateway_closes_all_at_once_with_4100(start_gateway, closing):
    """Its drain would be longer than the time-out of the harness, if it closed them in waves."""
    gateway = start_gateway(server={"drain_seconds": 300})
    clients = [closing(Client.connect(gateway)) for _ in range(20)]
    gateway.terminate()
    assert {client.expect_close()[0] for client in clients} == {4100}
    gateway.wait()


def test_clients_stay_while_webhooks_are_sent(start_gateway, closing):
    """The endpoint holds its response back. Meanwhile the gateway serves clients, also new ones."""
    receiver = closing(WebhookReceiver())
    released = receiver.held["/held"] = threading.Event()
    gateway = start_gateway(server={"drain_seconds": 60}, first={"webhooks": [webhook(receiver.url + "/held")]})
    client = closing(Client.connect(gateway))
    client.subscribe("my-channel")
    receiver.posts["/held"].get(timeout=TIMEOUT)
    gateway.terminate()
    api = closing(Api(gateway))
    while api.get("/readyz").status == 200:
        pass  # each iteration asks the gateway, which answers 503 once it drains
    newcomer = closing(Client.connect(gateway))
    newcomer.subscribe("my-channel")
    api.publish("my-channel", data="still here")
    for each in (client, newcomer):
        each.expect("event", data="still here")
    released.set()
    assert {each.expect_close()[0] for each in (client, newcomer)} == {4100}
    gateway.wait()


def test_an_activated_gateway_closes_with_4200_and_the_next_one_takes_over(activated, closing):
    start, passed = activated
    gateway = start(server={"port": 1})  # is ignored
    assert gateway.port == passed.port and gateway.bound_to == "127.0.0.1"
    client = closing(Client.connect(gateway))
    gateway.terminate()
    assert client.expect_close()[0] == 4200
    gateway.wait()
    # Nobody serves: the connection waits in the socket's queue, with its request.
    waiting = closing(passed.dial())
    waiting.sendall(request("GET", "/healthz"))
    start()
    assert waiting.recv(100).startswith(b"HTTP/1.1 200 ")


def test_connections_wait_also_after_a_crash(activated, closing):
    start, passed = activated
    gateway = start()
    gateway.process.kill()
    gateway.process.wait()
    gateway.stopped = True
    waiting = closing(passed.dial())
    waiting.sendall(request("GET", "/readyz"))
    assert Client.connect(start()).socket_id
    assert waiting.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.fixture
def script(tmp_path):
    """A build of pusher-js, which is in no Debian package and not on PyPI, and a page that loads it."""
    if not (build := os.environ.get("PUSHER_JS")):
        pytest.skip("PUSHER_JS names no build of pusher-js")
    shutil.copy(build, tmp_path / "pusher.min.js")
    (tmp_path / "page.html").write_text("<!DOCTYPE html><title>Page</title><script src=pusher.min.js></script>")
    return (tmp_path / "page.html").as_uri()


def test_pusher_js_behind_nginx_is_away_for_three_seconds_at_most(activated, tmp_path, closing, browser, script):  # noqa: F811
    """A connection that is refused would cost pusher-js its time-out of 15 seconds."""
    if not program("nginx"):
        pytest.skip("the program is not on this machine: run dev/packages test")
    start, _ = activated
    gateway = start(server=BEHIND)
    proxy = closing(NginxProxy(tmp_path / "proxy", gateway))
    tab = browser.open(script)
    tab.run(f"""[window.lost = [], window.subscribed = [],
        window.pusher = new Pusher("{FIRST.key}", {{wsHost: "{proxy.host}", wsPort: {proxy.port}, forceTLS: false, cluster: "",
                                                    enabledTransports: ["ws"], enableStats: false}}),
        pusher.connection.bind("state_change", ({{previous}}) => previous === "connected" && lost.push(performance.now())),
        pusher.subscribe("my-channel").bind("pusher:subscription_succeeded",
                                            () => subscribed.push(performance.now()))] && null""")
    for restarts in range(1, 4):
        tab.wait_for(f"subscribed.length === {restarts}", "the subscription")
        gateway.terminate()
        gateway.wait()
        gateway = start(server=BEHIND)
    tab.wait_for("subscribed.length === 4", "the last subscription")
    away = tab.run("lost.map((moment, index) => subscribed[index + 1] - moment)")
    assert len(away) == 3 and max(away) <= 3_000, away


def test_two_sockets_are_refused(tmp_path, closing):
    passed = closing(ListeningSocket(count=2))
    config = write_config(tmp_path / "fleetwire.yaml", server=SERVER, apps=[FIRST.entry()])
    done = subprocess.run([*passed.settings["wrapper"], BINARY, "serve", "--config", config], env=environment(),
                          pass_fds=passed.settings["pass_fds"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 78 and "expected one ListenStream" in done.stderr, done
