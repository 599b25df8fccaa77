"""A planned restart: the end of a gateway's drain, and socket activation."""

import os
import subprocess
import threading

import pytest

from harness.activation import ListeningSocket
from harness.api import Api
from harness.apps import FIRST, TIMEOUT
from harness.client import Client
from harness.gateway import BINARY, SERVER, environment, write_config
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


def refused(tmp_path, passed: ListeningSocket, *arguments: str) -> str:
    """The error of a gateway that may not serve on a passed socket."""
    config = write_config(tmp_path / "fleetwire.yaml", server=SERVER, apps=[FIRST.entry()])
    done = subprocess.run(
        [*passed.settings["wrapper"], BINARY, "serve", "--config", config, *arguments], env=environment(),
        pass_fds=passed.settings["pass_fds"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 78, done
    return done.stderr


def test_two_sockets_are_refused(tmp_path, closing):
    assert "expected one ListenStream" in refused(tmp_path, closing(ListeningSocket(count=2)))


def test_the_address_of_the_socket_counts_for_what_is_unsafe(tmp_path, closing):
    """The configured address is loopback; whom the socket lets in is what matters."""
    passed = closing(ListeningSocket(host="0.0.0.0"))
    assert "apps[0].secret: " in (error := refused(tmp_path, passed)) and "0.0.0.0 is not loopback" in error
    error = refused(tmp_path, passed, "--production")
    assert "server.tls: expected a certificate" in error and "0.0.0.0 is not loopback" in error


def test_the_configured_address_does_not_count_with_a_socket(activated, closing):
    start, passed = activated
    gateway = start(server={"host": "0.0.0.0"})
    assert gateway.bound_to == "127.0.0.1" and Client.connect(gateway).socket_id
