"""The log on stderr: a reader that stalls stops nothing."""

import contextlib
import json
import os
import select

import pytest

from harness.api import Api
from harness.apps import TIMEOUT
from harness.client import Client
from harness.fleet import SETTINGS as FLEET, Fleet, unique_id
from harness.metrics import scrape, wait_for_metric
from harness.wire import Wire, request

LINES_MAX = 8192


@pytest.fixture
def pipe():
    """The ends (read, write) of a pipe. Tests may close them."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def read_lines(descriptor: int) -> list[dict]:
    """Reads the log up to its end."""
    data = b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], TIMEOUT)
        assert ready, "the log does not end"
        part = os.read(descriptor, 1 << 20)
        if not part:
            return [json.loads(line) for line in data.splitlines()]
        data += part


def act(fleet: Fleet, api: Api, count: int) -> None:
    """Each action writes a line on the store writer's thread."""
    admin = fleet.admin()
    for number in range(count):
        admin.assign(unique_id("O"), f"d{number % 7}")
        api.publish("channel", data=str(number))


def test_a_stalled_reader_stops_neither_actions_nor_publishes_nor_the_exit(
        start_gateway, closing, pipe):
    gateway = start_gateway(stderr=pipe[1], **FLEET)
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    act(fleet, api, 2000)
    assert api.get("/readyz").status == 200
    gateway.terminate()
    gateway.wait()


def test_a_stalled_reader_and_a_slow_consumer_stop_no_loop(start_gateway, closing, pipe):
    """Loops log, too: here the debug records of requests, and the dropped slow consumer."""
    gateway = start_gateway(loops=1, stderr=pipe[1], limits={"outbox_bytes": 65_536},
                            sections=FLEET["sections"] | {"log": {"level": "debug"}})
    api = closing(Api(gateway))
    for _ in range(1000):
        assert api.get("/healthz").status == 200
    slow = closing(Wire(gateway, receive_buffer=4096))
    slow.open()
    slow.subscribe("big")
    for _ in range(200):
        api.publish("big", data="x" * 10_000)
    wait_for_metric(api, "fleetwire_slow_consumer_total", 1)
    closing(Client.connect(gateway)).subscribe("after")


def test_a_full_queue_drops_lines_counts_them_and_reports_them(start_gateway, closing, pipe):
    gateway = start_gateway(loops=1, stderr=pipe[1],
                            sections=FLEET["sections"] | {"log": {"level": "debug"}})
    api = closing(Api(gateway))
    assert scrape(api).total("fleetwire_log_lines_dropped_total") == 0
    for _ in range(LINES_MAX + 3000):
        api.get("/healthz")
    dropped = scrape(api).total("fleetwire_log_lines_dropped_total")
    assert dropped > 0
    os.close(pipe[1])
    gateway.terminate()
    lines = read_lines(pipe[0])
    gateway.wait()
    notices = [line for line in lines if line["event"] == "log_lines_dropped"]
    assert sum(line["count"] for line in notices) >= dropped
    # The queue may still be full at the end.
    assert lines[-1]["event"] in ("stopped", "log_lines_dropped")


def test_refused_requests_are_logged_with_their_path(start_gateway, closing):
    """The line agrees with requests_total, whatever refuses the request and whenever."""
    gateway = start_gateway(loops=1, sections=FLEET["sections"] | {"log": {"level": "debug"}})
    api, path = closing(Api(gateway)), "/api/driver/jobs/{id}/accept"
    target = path.replace("{id}", "B1")
    assert api.call("POST", target, b"{}").status == 401
    without_body = request("POST", target, headers=["Content-Length: 9999"], length=False)
    for head, status in ((without_body, 401), (b"GET / HTTP/9.9\r\nHost: h\r\n\r\n", 505)):
        wire = closing(Wire(gateway))
        wire.send(head)
        assert wire.read_response().status == status
    counts = {name: scrape(api).value("fleetwire_requests_total", endpoint=name)
              for name in (path, "other")}
    gateway.stop()
    lines = [json.loads(line) for line in gateway.log().splitlines()]
    logged = [line for line in lines if line["event"] == "request"]
    assert {name: sum(line["endpoint"] == name for line in logged) for name in counts} == counts
    assert all(line["correlation_id"] for line in logged)


def test_lines_are_in_order_from_the_start_to_the_exit(start_gateway, closing):
    gateway = start_gateway(**FLEET)
    fleet, api = Fleet(gateway, closing), closing(Api(gateway))
    act(fleet, api, 20)
    gateway.stop()
    events = [json.loads(line)["event"] for line in gateway.log().splitlines()]
    assert events[-2:] == ["draining", "stopped"]
    assert "listening" in events[:3]


def test_accepting_paused_is_logged_once_per_episode(start_gateway, closing):
    gateway = start_gateway(loops=1, descriptors=128)
    api = closing(Api(gateway))
    peers = []
    for _ in range(200):
        with contextlib.suppress(OSError):
            peers.append(closing(Wire(gateway)))
    wait_for_metric(api, "fleetwire_accept_paused_total", 1)
    # Each connection that closes lets a queued one in, and accepting pauses again.
    for number, peer in enumerate(peers[:20]):
        peer.close()
        wait_for_metric(api, "fleetwire_accept_paused_total", number + 2)
    assert gateway.log().count('"accepting_paused"') == 1
