"""The programs with which Benchmarks/ and `make hostile` measure: the load generator and the reference server."""

import json
import socket
import subprocess

import pytest

from harness import certificates
from harness.apps import FIRST, TIMEOUT
from harness.fleet import SECTIONS
from harness.hostile.bystander import Floor, benchmark_program
from harness.tokens import HS256, claims


def generate(port: int, *options: str) -> tuple[int, dict | None, str]:
    """Runs the load generator. Returns its exit code, its report, and what it says about problems."""
    result = subprocess.run(
        [benchmark_program("wsload"), "--port", str(port), "--key", FIRST.key, "--secret", FIRST.secret, "--app-id", FIRST.id,
         *options], capture_output=True, text=True, timeout=4 * TIMEOUT)
    return result.returncode, json.loads(result.stdout) if result.stdout else None, result.stderr


@pytest.fixture(params=["gateway", "floor"])
def port(request):
    """The port of the gateway, and then that of the reference server."""
    if request.param == "gateway":
        yield request.getfixturevalue("gateway").port
        return
    floor = Floor()
    yield floor.port
    floor.close()


@pytest.mark.parametrize("options, published, delivered", [
    (["--channels", "1", "--messages", "1"], 1, 50),
    (["--channels", "50", "--messages", "100", "--pub-conns", "4", "--chan-template", "private-driver-%d", "--random"], 100, 100),
    (["--channels", "1", "--messages", "10", "--rate", "1000", "--pub-conns", "4", "--size", "5000"], 10, 500),
    (["--channels", "50", "--storm", "--pub", "none"], 0, 0),
])
def test_each_client_gets_each_event_of_its_channel(port, options, published, delivered):
    code, report, problems = generate(port, "--conns", "50", *options)
    assert code == 0, problems
    assert (report["established"], report["subscribed"]) == (50, 50)
    assert (report["published"], report["acked_requests"]) == (published, published)
    assert (report["expected"], report["delivered"], report["lost"]) == (delivered, delivered, 0)
    assert (report["lat_ms"]["max"] > 0) == (delivered > 0)


def test_over_tls_the_events_of_an_admins_requests_arrive(start_gateway, tmp_path):
    gateway = start_gateway(server={"tls": certificates.make(tmp_path)}, sections=SECTIONS)
    token = HS256().token(claims("admin", "bench"))
    code, report, problems = generate(
        gateway.port, "--tls", "--conns", "10", "--channels", "10", "--chan-template", "private-driver-%d", "--messages", "20",
        "--pub", "post", "--post-path", "/api/admin/orders/order-%d/assign-driver",
        "--post-body", '{"driverId":"%r","customerName":"%m"}', "--token", token)
    assert code == 0, problems
    assert (report["acked_requests"], report["delivered"]) == (20, 20)


def test_the_report_says_what_the_server_used(gateway):
    code, report, problems = generate(gateway.port, "--conns", "50", "--messages", "10",
                                      "--server-pid", str(gateway.process.pid))
    assert code == 0, problems
    assert report["server"]["cpu_connect_s"] > 0 and report["server"]["cpu_publish_s"] > 0


def test_what_the_server_refuses_is_counted(gateway):
    code, report, problems = generate(gateway.port, "--conns", "2", "--channels", "2", "--messages", "3", "--secret", "wrong",
                                      "--chan-template", "private-driver-%d")
    assert code == 1
    assert (report["subscribe_errors"], report["http_errors"], report["delivered"]) == (2, 3, 0)
    assert "may not subscribe" in problems


def test_no_server_is_a_problem_of_every_client():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else listens there meanwhile
        code, report, problems = generate(silent.getsockname()[1], "--conns", "2", "--pub", "none")
    assert (code, report["connect_failed"]) == (1, 2)
    assert "Connection refused" in problems


@pytest.mark.parametrize("options, problem", [
    (["--size", "42"], "--size 42: must be a number from 43 to 10000"),
    (["--pub", "all"], "--pub all: must be http, post or none"),
    (["--pub", "post"], "--pub post needs --post-path"),
    (["--chan-template", "%s"], "only %d, %r and %m are known"),
    (["more"], "what is more?"),
])
def test_a_wrong_command_line_is_explained(options, problem):
    code, report, problems = generate(1, *options)
    assert (code, report) == (2, None)
    assert problem in problems
