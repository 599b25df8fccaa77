"""The figures of /metrics and /api/ops/stats about threads, the process and pushes."""

import os
import time

from harness.api import Api
from harness.fleet import wait_until
from harness.jwks import KeyServer, key_set
from harness.metrics import Metrics, scrape
from harness.push import fcm
from harness.tokens import RS256


def value(metrics: Metrics, family: str) -> float:
    [found] = [number for name, _, number in metrics.samples if name == f"fleetwire_{family}"]
    return found


def test_process_figures(start_gateway, closing):
    gateway = start_gateway()
    api = closing(Api(gateway))
    metrics = scrape(api)
    for family, kind in (("process_cpu_seconds_total", "counter"),
                         ("process_resident_memory_bytes", "gauge"), ("process_open_fds", "gauge"),
                         ("process_start_time_seconds", "gauge")):
        assert metrics.types[f"fleetwire_{family}"] == kind
    assert 0 < value(metrics, "process_cpu_seconds_total") < 1_000
    assert 1e6 < value(metrics, "process_resident_memory_bytes") < 1e10
    folder = f"/proc/{gateway.process.pid}"
    assert value(metrics, "process_open_fds") == len(os.listdir(f"{folder}/fd"))
    started = value(metrics, "process_start_time_seconds")
    assert abs(started - os.stat(folder).st_ctime) < 60 and started <= time.time() + 1
    others = [closing(Api(gateway)) for _ in range(5)]
    assert all(each.get("/healthz").status == 200 for each in others)
    assert value(scrape(api), "process_open_fds") == value(metrics, "process_open_fds") + 5


def test_mailbox_depth_has_every_thread(start_push_fleet, closing):
    server = closing(KeyServer(jwks=key_set(RS256().jwk("k1"))))
    fleet = start_push_fleet(
        auth={"jwt": [{"algorithm": "HS256", "secret": "x" * 32, "issuer": "a"},
                      {"algorithm": "RS256", "jwks_url": f"{server.url}/jwks", "issuer": "b"}]})
    threads = {labels for name, labels, _ in scrape(closing(Api(fleet.gateway))).samples
               if name == "fleetwire_mailbox_depth"}
    assert threads == {f'{{thread="{name}"}}' for name in (
        "loop-0", "loop-1", "store-writer", "store-reader", "apns", "apns-sandbox", "fcm",
        "token-keys-1", "channel-queries", "webhooks", "log")}


def test_stats_count_pushes_and_devices(start_push_fleet):
    fleet = start_push_fleet()

    def push() -> dict:
        return fleet.dispatcher.expect_ok("GET", "/api/ops/stats")["push"]

    assert push() == {"queued": 0, "accepted": 0, "rejected": 0, "retried": 0, "expired": 0,
                      "cancelled": 0, "devices": {"apns": 0, "apns-sandbox": 0, "fcm": 0}}
    phone, tablet = fleet.ios(), fleet.ios(environment="sandbox")
    android = [fleet.android() for _ in range(3)]
    assert push()["devices"] == {"apns": 1, "apns-sandbox": 1, "fcm": 3}
    fleet.warm_up(phone, tablet, android[0])
    fleet.fail_next_push(android[1], fcm.error(404, "NOT_FOUND", "UNREGISTERED"))
    wait_until(lambda: push()["rejected"] == 1, "the rejected push is counted")
    counted = push()
    assert counted["accepted"] == 3 and counted["devices"]["fcm"] == 2, counted
    assert (counted["expired"], counted["cancelled"]) == (0, 0)
    wait_until(lambda: push()["queued"] == 0, "the queue is counted again")
