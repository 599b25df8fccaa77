"""`fleetwire bench`: a load test finds what a gateway, or the network before it, does wrong."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess

import pytest

from harness import certificates
from harness.fleet import SECTIONS, Fleet, wait_until
from harness.gateway import BINARY, Gateway, environment, run
from harness.tampering_proxy import Tamper, TamperingProxy

SETTINGS = {"sections": SECTIONS}
# A load test lasts for seconds, and longer on a busy machine.
TIMEOUT = 120


def arguments(gateway: Gateway, *more: str, url: str | None = None) -> list:
    return [BINARY, "bench", "--config", gateway.config, "--url",
            url or gateway.url.replace("http", "ws", 1), *more]


def bench(gateway: Gateway, *more: str, url: str | None = None,
          **variables: str) -> tuple[int, dict]:
    """Runs a load test. Returns its exit code and its report, which agree."""
    result = subprocess.run(arguments(gateway, "--json", *more, url=url), capture_output=True,
                            text=True, timeout=TIMEOUT, env=environment(**variables))
    assert result.stderr == "", result
    report = json.loads(result.stdout)
    assert result.returncode == (0 if report["pass"] else 1) and report["pass"] == (
        report["problems"] == []), report
    return result.returncode, report


@contextlib.contextmanager
def running(gateway: Gateway, *more: str, **streams):
    """Starts a load test of ten minutes, which the test ends."""
    process = subprocess.Popen(arguments(gateway, "--duration", "10m", *more),
                               env=environment(), text=True, **streams)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stats(gateway: Gateway, closing) -> dict:
    return Fleet(gateway, closing).ops().expect_ok("GET", "/api/ops/stats")


def wait_for_deliveries(gateway: Gateway, closing) -> None:
    """Waits until the gateway has sent a hundred messages. Up to 20 connections get fewer before
    the load test publishes.
    """
    wait_until(lambda: stats(gateway, closing)["messages"]["sent"] > 100, "events are delivered",
               TIMEOUT)


LATENCY = {"p50", "p90", "p99", "p99.9", "max"}
REQUESTS = {"sent", "done", "failed", "failures", "perSecond", "latency"}
REPORT = {"scenario", "target", "connects", "closed", "publishes", "deliveries", "receivedBytes",
          "milliseconds", "cpuPercent", "interrupted", "pass", "problems"}


def check_latency(latency: dict) -> None:
    assert latency.keys() == LATENCY
    values = [latency[name] for name in ("p50", "p90", "p99", "p99.9", "max")]
    assert values == sorted(values) and values[0] > 0, latency


def test_fanout_passes_and_counts_every_delivery(gateway):
    code, report = bench(gateway, "--connections", "20", "--channels", "3", "--rate", "50",
                         "--duration", "2s", "--size", "300")
    assert code == 0, report
    assert report.keys() == REPORT and report["scenario"] == "fanout" and not report["interrupted"]
    connects, publishes, deliveries = (report[name] for name in ("connects", "publishes",
                                                                 "deliveries"))
    assert connects.keys() == REQUESTS - {"sent"} | {"requested"}
    assert (connects["requested"], connects["done"], connects["failed"]) == (20, 20, 0)
    assert publishes.keys() == REQUESTS | {"scheduled"}
    assert (publishes["scheduled"], publishes["sent"], publishes["done"]) == (100, 100, 100)
    # The channels have 7, 7 and 6 subscribers, and 34, 33 and 33 events.
    assert deliveries["expected"] == deliveries["received"] == 7 * 34 + 7 * 33 + 6 * 33
    assert {deliveries[name] for name in ("lost", "duplicated", "outOfOrder", "misrouted")} == {0}
    for part in (connects, publishes, deliveries):
        check_latency(part["latency"])
    assert report["receivedBytes"] > deliveries["received"] * 300


def test_fleet_confirms_accepts_and_leaves_no_open_order(gateway):
    code, report = bench(gateway, "--scenario", "fleet", "--connections", "10", "--rate", "20",
                         "--duration", "2s")
    assert code == 0, report
    assert report.keys() == REPORT | {"accepts", "confirmed", "ordersLeft"}
    assert report["deliveries"]["received"] == report["accepts"]["done"] == 40
    assert report["confirmed"] == 40 and report["ordersLeft"] == 0
    orders = gateway.query("SELECT status, COUNT(*), COUNT(DISTINCT driver_id) FROM orders"
                           " WHERE code LIKE 'bench-%' GROUP BY status")
    assert orders == [("cancelled", 40, 10)]


def test_the_table_has_the_verdict(gateway):
    result = run("bench", "--config", gateway.config, "--url", gateway.url, "--connections", "5",
                 "--duration", "1s")
    assert result.returncode == 0 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == f"fanout at {gateway.url}: 5 of 5 connections, 1 channel"
    assert lines[-1] == "verdict: pass"
    assert [line.split()[:2] for line in lines[3:6]] == [["connects", "5"], ["publishes", "10"],
                                                         ["deliveries", "50"]]


def is_event(message: bytes) -> bool:
    return json.loads(message)["event"] == "bench"


def drop_the_first() -> Tamper:
    seen = []

    def tamper(message: bytes) -> list[bytes]:
        seen.append(message)
        return [] if is_event(message) and sum(map(is_event, seen)) == 1 else [message]
    return tamper


def repeat() -> Tamper:
    return lambda message: [message] * (2 if is_event(message) else 1)


def swap() -> Tamper:
    """Holds every other event back until after the next one."""
    held: list[bytes] = []

    def tamper(message: bytes) -> list[bytes]:
        if not is_event(message):
            return [message]
        if held:
            return [message, held.pop()]
        held.append(message)
        return []
    return tamper


def misroute() -> Tamper:
    """Delivers events of the other channel: of two channels, one has the even numbers."""
    def tamper(message: bytes) -> list[bytes]:
        frame = json.loads(message)
        if frame["event"] == "bench":
            number, letters = frame["data"].split(" ")
            frame["data"] = f"{int(number) ^ 1} {letters}"
        return [json.dumps(frame).encode()]
    return tamper


@pytest.fixture
def tampered(gateway, closing):
    """Runs a load test of 10 events in 2 seconds for 4 subscribers through a proxy."""
    def run_tampered(tamper, *more: str) -> dict:
        proxy = closing(TamperingProxy(gateway, tamper))
        code, report = bench(gateway, "--connections", "4", "--rate", "5", "--duration", "2s",
                             "--drain", "2s", *more, url=proxy.url)
        assert code == 1 and report["publishes"]["done"] == 10, report
        return report
    return run_tampered


def test_lost_events_fail_the_run(tampered):
    report = tampered(drop_the_first)
    assert report["problems"] == ["4 of 40 deliveries were lost"]
    assert (report["deliveries"]["lost"], report["deliveries"]["received"]) == (4, 36)


def test_repeated_events_fail_the_run(tampered):
    report = tampered(repeat)
    # The run may end before the last copies arrive.
    assert 36 <= report["deliveries"]["duplicated"] <= 40 and report["deliveries"]["received"] == 40
    assert len(report["problems"]) == 1 and "were duplicates" in report["problems"][0]


def test_reordered_and_late_events_fail_the_run(tampered):
    report = tampered(swap, "--p99-max", "20")
    order, late = report["problems"]
    assert order.endswith("deliveries were out of order") and "is above 20 ms" in late
    # Events are 200 ms apart, so the one that was held back was late.
    assert report["deliveries"]["latency"]["max"] >= 200_000 and report["deliveries"]["lost"] == 0


def test_events_of_another_channel_fail_the_run(tampered):
    report = tampered(misroute, "--channels", "2")
    # Each channel has 5 events and 2 subscribers; an unknown number is misrouted, too.
    assert report["deliveries"]["misrouted"] == 20 and report["deliveries"]["lost"] == 20


def test_refused_connections_fail_the_run(gateway):
    code, report = bench(gateway, "--connections", "7", url="ws://127.0.0.1:1")
    assert code == 1 and report["connects"]["failures"] == {"Connection refused": 7}
    assert report["problems"] == ["7 of 7 connections failed: Connection refused"]


def test_connections_above_a_limit_fail_and_the_others_are_measured(start_gateway):
    gateway = start_gateway(limits={"connections": 6})
    code, report = bench(gateway, "--connections", "10", "--duration", "1s")
    assert code == 1 and report["connects"]["failures"] == {"close code 4100": 4}
    assert report["deliveries"]["received"] == 10 * 6 == report["deliveries"]["expected"]


def test_refused_publishes_fail_the_run(start_gateway):
    gateway = start_gateway(limits={"event_bytes": 100})
    code, report = bench(gateway, "--connections", "2", "--duration", "1s", "--size", "200")
    assert code == 1 and report["publishes"]["failures"] == {"status 413": 10}
    assert report["deliveries"]["expected"] == 0


def test_drivers_without_valid_tokens_are_not_authorized(gateway, config):
    # The load test signs with another secret than the gateway.
    other = config(auth={"jwt": {"algorithm": "HS256", "secret": "x" * 32}})
    result = subprocess.run(
        [BINARY, "bench", "--config", other, "--url", gateway.url, "--scenario", "fleet",
         "--connections", "3", "--json"], capture_output=True, text=True, timeout=TIMEOUT,
        env=environment())
    assert result.returncode == 1
    assert json.loads(result.stdout)["connects"]["failures"] == {"authorization: status 401": 3}


def test_a_gateway_that_dies_ends_the_run(start_gateway, closing):
    gateway = start_gateway(sections=SECTIONS)
    with running(gateway, "--json", "--connections", "20", "--rate", "50",
                 stdout=subprocess.PIPE) as process:
        wait_for_deliveries(gateway, closing)
        gateway.kill()
        report = json.loads(process.communicate(timeout=TIMEOUT)[0])
    assert process.returncode == 1 and not report["pass"] and not report["interrupted"]
    assert sum(report["closed"].values()) == 20


def test_ctrl_c_ends_with_a_partial_result(start_gateway, closing):
    gateway = start_gateway(sections=SECTIONS)
    with running(gateway, "--json", "--scenario", "fleet", "--connections", "10", "--rate", "50",
                 stdout=subprocess.PIPE) as process:
        wait_for_deliveries(gateway, closing)
        process.send_signal(signal.SIGINT)
        report = json.loads(process.communicate(timeout=TIMEOUT)[0])
    assert process.returncode == 1 and report["interrupted"]
    assert report["problems"] == ["interrupted"]
    done = report["publishes"]["done"]
    assert 0 < done < report["publishes"]["scheduled"]
    assert report["deliveries"]["received"] == report["confirmed"] == done
    assert report["ordersLeft"] == 0


def test_ctrl_c_ends_the_connecting(start_gateway, closing):
    gateway = start_gateway(sections=SECTIONS)
    with running(gateway, "--json", "--connections", "1000", "--connect-rate", "1",
                 stdout=subprocess.PIPE) as process:
        wait_until(lambda: stats(gateway, closing)["subscriptions"] > 0, "the first subscription",
                   TIMEOUT)
        process.send_signal(signal.SIGTERM)
        report = json.loads(process.communicate(timeout=TIMEOUT)[0])
    assert process.returncode == 1 and report["interrupted"]
    assert report["connects"]["done"] >= 1 and report["publishes"]["sent"] == 0


def read_until(terminal: int, pattern: bytes) -> None:
    """Reads what a terminal shows until it has the pattern."""
    shown = b""
    while not re.search(pattern, shown, re.DOTALL):
        shown += os.read(terminal, 65536)


def test_a_second_ctrl_c_ends_the_waiting(start_gateway, closing):
    gateway = start_gateway(sections=SECTIONS)
    master, slave = pty.openpty()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, master)
        stack.callback(os.close, slave)
        process = stack.enter_context(running(
            gateway, "--json", "--connections", "2", "--rate", "50", "--drain", "1h",
            stdout=subprocess.PIPE, stderr=slave))
        wait_for_deliveries(gateway, closing)
        gateway.freeze()
        stack.callback(gateway.thaw)
        # After a second without responses, requests are under way for certain.
        read_until(master, rb"[1-9]\d* publishes/s.*\D0 publishes/s")
        process.send_signal(signal.SIGINT)
        read_until(master, b"waiting for the last deliveries")
        process.send_signal(signal.SIGINT)
        report = json.loads(process.communicate(timeout=TIMEOUT)[0])
    assert process.returncode == 1 and report["interrupted"]
    assert report["deliveries"]["received"] > 0


def test_a_terminal_shows_how_far_the_run_is(gateway):
    master, slave = pty.openpty()
    try:
        result = subprocess.run(arguments(gateway, "--connections", "50", "--connect-rate", "100",
                                          "--duration", "3s"),
                                stdout=subprocess.PIPE, stderr=slave, timeout=TIMEOUT,
                                env=environment())
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):
            while more := os.read(master, 65536):
                shown += more
    finally:
        os.close(master)
    assert result.returncode == 0, result
    lines = shown.decode().split("\r\x1b[K")
    assert any(line.startswith("connecting [#") for line in lines), lines
    assert any(" of 3 s: " in line and " deliveries/s, p99 " in line for line in lines), lines
    assert lines[-1] == "", "the line is cleared"


def test_tls_needs_a_trusted_certificate(start_gateway, tls):
    gateway = start_gateway(server={"tls": tls}, sections=SECTIONS)
    more = ("--connections", "5", "--duration", "1s")
    code, report = bench(gateway, *more)
    assert code == 1 and report["connects"]["failures"] == {"self-signed certificate": 5}
    for scenario in ("fanout", "fleet"):
        code, report = bench(gateway, *more, "--scenario", scenario,
                             SSL_CERT_FILE=tls["certificate"])
        assert code == 0, report
    assert bench(gateway, *more, "--insecure")[0] == 0


def test_tls_needs_a_certificate_of_the_host(start_gateway, tmp_path):
    pair = certificates.make(tmp_path / "tls", "example.com")
    gateway = start_gateway(server={"tls": pair})
    code, report = bench(gateway, "--connections", "2", "--duration", "1s",
                         url=f"wss://localhost:{gateway.port}", SSL_CERT_FILE=pair["certificate"])
    assert code == 1 and report["connects"]["failures"] == {"hostname mismatch": 2}


@pytest.mark.parametrize("more, problem", [
    (["--connections", "0"], "--connections"), (["--channels", "0"], "--channels"),
    (["--rate", "0"], "--rate"), (["--size", "15"], "--size"), (["--duration", "5"], "--duration"),
    (["--drain", "2h"], "--drain"), (["--connect-rate", "0.5"], "--connect-rate"),
    (["--request-connections", "0"], "--request-connections"), (["--p99-max", "0"], "--p99-max"),
    (["--rate", "100000", "--duration", "1h"], "--duration"), (["--scenario", "x"], "--scenario"),
    (["--app", "x", "--url", "ws://127.0.0.1:1"], "--app"), (["--url", "ftp://127.0.0.1"], "ws://"),
    (["--url", "ws://192.0.2.1"], "--yes"), (["--url", "ws://[2001:db8::1]"], "--yes")],
    ids=" ".join)
def test_wrong_arguments_are_refused(gateway, more, problem):
    result = run("bench", "--config", gateway.config, *more)
    assert result.returncode == 64 and problem in result.stderr and result.stdout == ""


def test_fleet_needs_a_secret_for_tokens(config):
    result = run("bench", "--config", config(), "--scenario", "fleet", "--url", "ws://127.0.0.1:1")
    assert result.returncode == 1 and "has no auth.jwt.secret" in result.stderr
