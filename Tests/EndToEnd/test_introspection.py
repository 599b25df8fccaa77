"""Opaque bearer tokens, which only their backend can read (auth.introspection, RFC 7662)."""

import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import TIMEOUT
from harness.client import Client
from harness.fleet import JWT, Caller, error_message, token, wait_until
from harness.gateway import run, write_config
from harness.introspection import PASSWORD, Backend
from harness.metrics import Metrics
from harness.wire import Wire, request

TIMING_DIVISOR = 5  # after a failure, an older answer counts for a second without another question

JOBS = "/api/driver/jobs"


def driver(**more) -> dict:
    return {"active": True, "sub": "42", "role": "driver", "exp": int(time.time()) + 3600} | more


@pytest.fixture
def backend(closing):
    return closing(Backend())


@pytest.fixture
def start(start_gateway, backend):
    """Starts a gateway that asks the backend."""
    def started(**more):
        return start_gateway(
            sections={"auth": {"jwt": JWT, "introspection": backend.settings(**more)}, "metrics": {"token": "scrape"}})
    return started


def test_a_request_that_waits_is_answered_during_the_drain(start_gateway, backend, closing):
    """The backend answers long after the last client is gone."""
    gateway = start_gateway(server={"drain_seconds": 30}, sections={
        "auth": {"jwt": JWT, "introspection": backend.settings(timeout_ms=10_000)}})
    backend.answers["slow"] = driver()
    backend.hold("slow")
    waiting = closing(Wire(gateway))
    waiting.send(request("GET", JOBS, headers=["Authorization: Bearer slow"]))
    assert backend.reached.wait(TIMEOUT)
    gateway.terminate()
    wait_for_log(gateway, "draining")
    threading.Timer(1, backend.release, ["slow"]).start()  # without requests the loops would end in 0.2 s
    assert waiting.read_response().status == 200
    gateway.wait()


@pytest.fixture
def ask(closing):
    """Makes a request with a token: `ask(gateway, token, path)`; its response."""
    def asked(gateway, bearer: str, path: str = JOBS, method: str = "GET", body=None):
        with contextlib.closing(Caller(gateway, bearer=bearer)) as caller:
            response = caller.request(method, path, body)
        if response.status == 503:
            assert int(response.headers["retry-after"]) >= 1, response
        if response.status in (401, 503):
            error_message(path, response)
        return response
    return asked


def metrics(gateway):
    with contextlib.closing(Caller(gateway, bearer="scrape")) as caller:
        response = caller.request("GET", "/metrics")
    return Metrics(response.text)


def wait_for_log(gateway, text: str) -> None:
    """Log lines are written by a thread of their own."""
    wait_until(lambda: text in gateway.log(), f"the log has {text}")


def outcome(gateway, name: str) -> float:
    return metrics(gateway).value("fleetwire_introspection_total", outcome=name)


# What an answer means


def test_counts_wherever_a_bearer_token_counts(start, backend, ask):
    gateway = start()
    backend.answers["12|driver.token~"] = driver(name="Dana")
    backend.answers["ops"] = {"active": True, "sub": "o", "role": "OPS"}
    backend.answers["rider"] = {"active": True, "sub": "9", "role": "customer", "bookings": ["r-1"]}
    assert ask(gateway, "12|driver.token~").status == 200
    assert ask(gateway, "12|driver.token~", "/api/admin/orders/A-1").status == 403
    assert ask(gateway, "ops", "/api/ops/stats").status == 200
    assert ask(gateway, "ops", "/metrics").status == 200
    with contextlib.closing(Client.connect(gateway)) as client:
        socket = client.socket_id
        form = {"socket_id": socket, "channel_name": "private-driver-42"}
        assert ask(gateway, "12|driver.token~", "/pusher/auth", "POST", form).status == 200
        assert ask(gateway, "rider", "/pusher/auth", "POST", form).status == 403
        form["channel_name"] = "private-booking-r-1"
        assert ask(gateway, "rider", "/pusher/auth", "POST", form).status == 200
        response = ask(gateway, "12|driver.token~", "/pusher/user-auth", "POST", {"socket_id": socket})
        user = json.loads(response.json()["user_data"])
        assert user["id"] == "driver:42" and user["user_info"]["name"] == "Dana"
    assert backend.asked == {"12|driver.token~": 1, "ops": 1, "rider": 1}
    kept = metrics(gateway)
    assert kept.value("fleetwire_introspection_tokens", state="active") == 3
    assert kept.total("fleetwire_introspection_bytes") > 0


def test_only_tokens_without_two_dots_are_asked_about(start, backend, ask):
    gateway = start()
    for bearer in ("a.b.c", token("driver", "42") + "x", "\u00e9", "a b", "x" * 4097):
        assert ask(gateway, bearer).status == 401, bearer
    assert ask(gateway, token("driver", "42")).status == 200
    with contextlib.closing(Caller(gateway)) as caller:
        assert caller.request("GET", "/metrics", headers={"Authorization": "Bearer scrape"}).status == 200
    assert not backend.asked
    for bearer in ("a", "a.b", "a.b.c.d"):
        assert ask(gateway, bearer).status == 401
    assert backend.asked == {"a": 1, "a.b": 1, "a.b.c.d": 1}


def test_a_token_that_is_not_active_gets_401_and_is_asked_about_once(start, backend, ask):
    gateway = start()
    for _ in range(3):
        response = ask(gateway, "stranger")
        assert response.status == 401
        assert response.headers["www-authenticate"] == 'Bearer error="invalid_token", error_description="invalid"'
    assert backend.asked["stranger"] == 1 and outcome(gateway, "inactive") == 1


def test_an_answer_that_names_no_user_is_logged(start, backend, ask):
    gateway = start()
    backend.answers["t"] = {"active": True, "sub": "42"}
    assert ask(gateway, "t").status == 401
    assert outcome(gateway, "unusable") == 1
    wait_for_log(gateway, '"event":"token_introspection_unusable"')
    assert "The token lacks role" in gateway.log()


@pytest.mark.parametrize("status, answer", [
    (200, b"no JSON"), (200, b"{}"), (200, b'{"active":"true"}'), (200, b"{" * 10_000),
    (200, b'{"active":true,"sub":"42","role":"driver","x":"' + b"x" * 70_000 + b'"}'), (401, driver()), (403, driver()),
    (500, driver()), (404, driver()), (302, driver()), (307, driver())])
def test_what_is_no_answer_signs_nobody_out(start, backend, ask, status, answer):
    gateway = start()
    backend.status, backend.answers["t"] = status, answer
    assert ask(gateway, "t").status == 503
    assert outcome(gateway, "failed") == 1
    wait_for_log(gateway, '"event":"token_introspection_failed"')
    backend.status, backend.answers["t"] = 200, driver()
    assert ask(gateway, "t").status == 200
    # Neither the secret nor a token is logged.
    for word in (PASSWORD, "p%40ss", "Basic"):
        assert word not in gateway.log()


# How long an answer counts


def test_a_revoked_token_is_refused_when_its_answer_is_not_fresh_any_more(start, backend, ask):
    gateway = start(cache_seconds=1)
    backend.answers["t"] = driver()
    assert ask(gateway, "t").status == 200
    backend.answers["t"] = {"active": False}
    wait_until(lambda: ask(gateway, "t").status == 401, "the backend is asked again")
    assert backend.asked["t"] >= 2


def test_each_request_asks_if_answers_are_never_fresh(start, backend, ask):
    gateway = start(cache_seconds=0)
    backend.answers["t"] = driver()
    for _ in range(3):
        assert ask(gateway, "t").status == 200
    backend.answers["t"] = {"active": False}
    assert ask(gateway, "t").status == 401
    assert backend.asked["t"] == 4


def test_while_the_backend_is_away_answers_count_until_the_token_expires(start, backend, ask):
    gateway = start(cache_seconds=0)
    backend.keeps_alive = False
    backend.answers["t"] = driver(exp=int(time.time()) + 4)
    backend.answers["endless"] = {"active": True, "sub": "42", "role": "driver"}
    assert ask(gateway, "t").status == ask(gateway, "endless").status == 200
    backend.stop()
    for _ in range(3):
        assert ask(gateway, "t").status == 200
    # No 401: apps would take that for being logged out.
    assert ask(gateway, "new").status == ask(gateway, "endless").status == 503
    assert metrics(gateway).total("fleetwire_introspection_stale_total") >= 3
    wait_until(lambda: ask(gateway, "t").status == 503, "the token expires")


# Slow and dead backends


def test_a_slow_backend_delays_only_its_tokens(start, backend, ask):
    gateway = start(timeout_ms=10_000)
    backend.answers["slow"] = driver()
    backend.hold("slow")
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ask, gateway, "slow") for _ in range(8)]
        assert backend.reached.wait(15)
        wait_until(lambda: metrics(gateway).value("fleetwire_mailbox_depth", thread="introspection") == 8, "all wait")
        for _ in range(5):
            assert ask(gateway, token("driver", "42")).status == 200
            assert ask(gateway, "stranger").status == 401
        backend.release("slow")
        assert [each.result().status for each in waiting] == [200] * 8
    assert backend.asked["slow"] == 1, "one question for all"


def test_a_backend_that_does_not_answer_costs_the_timeout(start, backend, ask):
    gateway = start(timeout_ms=100)
    backend.hold("t")
    began = time.monotonic()
    assert ask(gateway, "t").status == 503
    assert 0.1 <= time.monotonic() - began < 5
    wait_for_log(gateway, "timed out")
    backend.release("t")


def test_a_dead_backend_gets_503(start, backend, ask):
    gateway = start()
    backend.stop()
    assert ask(gateway, "t").status == 503


def test_a_client_that_goes_away_harms_nobody(start, backend, ask):
    gateway = start(timeout_ms=10_000)
    backend.answers["t"] = driver()
    backend.hold("t")
    with contextlib.closing(Wire(gateway)) as wire:
        wire.send(request("GET", JOBS, headers=["Authorization: Bearer t"]))
        assert backend.reached.wait(15)
    backend.release("t")
    assert ask(gateway, "t").status == 200
    gateway.assert_alive()


def test_a_backend_that_hangs_does_not_delay_the_stop(start, backend, ask):
    gateway = start(timeout_ms=10_000)
    backend.hold("t")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, gateway, "t")
        assert backend.reached.wait(15)
        began = time.monotonic()
        gateway.stop()
        assert time.monotonic() - began < 9
        with contextlib.suppress(Exception):
            waiting.result()
    backend.release("t")


# Bounds


def test_requests_that_wait_for_a_token_are_bounded(start, backend, ask):
    gateway = start(timeout_ms=10_000)
    backend.answers["t"] = driver()
    backend.hold("t")
    with ThreadPoolExecutor(40) as pool:
        waiting = [pool.submit(ask, gateway, "t") for _ in range(40)]
        wait_until(lambda: sum(each.done() for each in waiting) == 8, "the others are refused at once")
        backend.release("t")
        statuses = [each.result().status for each in waiting]
    assert sorted(statuses) == [200] * 32 + [503] * 8
    assert metrics(gateway).value("fleetwire_limited_total", limit="introspection_waiters") == 8


@pytest.mark.cost
def test_ten_thousand_tokens_are_bounded_and_displace_nobody(start, backend, ask):
    """Strangers send random tokens as fast as they can. A user's answer stays, and so does the bound of questions."""
    gateway = start()
    backend.answers["t"] = driver()
    assert ask(gateway, "t").status == 200

    def stranger(number: int) -> list[int]:
        with contextlib.closing(Caller(gateway)) as caller:
            return [caller.request("GET", JOBS, headers={"Authorization": f"Bearer stranger-{number}-{count}"}).status
                    for count in range(200)]

    with ThreadPoolExecutor(50) as pool:
        for statuses in pool.map(stranger, range(50)):
            assert set(statuses) <= {401, 503}
    assert ask(gateway, "t").status == 200
    assert backend.asked["t"] == 1
    assert backend.most_at_once <= 32
    kept = metrics(gateway)
    assert kept.value("fleetwire_introspection_tokens", state="active") == 1
    assert kept.value("fleetwire_introspection_tokens", state="inactive") <= 16_384
    gateway.assert_alive()


# Configuration


def test_opaque_tokens_are_refused_by_default(start_gateway, ask):
    gateway = start_gateway(sections={"auth": {"jwt": JWT}})
    assert ask(gateway, "t").status == 401


def test_check_config_names_what_is_wrong_and_shows_no_secret(tmp_path):
    config = write_config(tmp_path / "c.yaml", auth={"introspection": {
        "url": "http://backend.example/?key=hunter2", "client_secret": "hunter2"}})
    result = run("check-config", "--config", config)
    assert result.returncode == 78
    output = result.stdout + result.stderr
    assert "auth.introspection.url: expected an https URL, or an http one on loopback" in output
    assert "auth.introspection.client_id: expected a non-empty string" in output
    assert "hunter2" not in output


# Where it asks


def test_a_backend_on_this_machine_is_asked_without_the_proxy(start_gateway, ask, closing):
    """Its own TLS may protect the token on this machine, too. A proxy elsewhere could not reach it."""
    backend, proxy = (closing(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
    url = f"https://127.0.0.1:{backend.getsockname()[1]}/introspect"
    gateway = start_gateway(
        sections={"auth": {"jwt": JWT, "introspection": {"url": url, "timeout_ms": 100}}},
        variables={"https_proxy": f"http://127.0.0.1:{proxy.getsockname()[1]}"})
    assert ask(gateway, "an-opaque-token").status == 503, "the backend does not answer"
    backend.settimeout(TIMEOUT)
    closing(backend.accept()[0])
    proxy.setblocking(False)
    with pytest.raises(BlockingIOError):
        proxy.accept()
