"""The traps of libwebsockets' raw roles, and the facts about the library that concern it, each with its test. The first
five are the raw socket role's, which is not used; what they would break must work.

| trap | tests here, and elsewhere |
|---|---|
| a blocked connection that receives anything makes the loop spin | `test_blocked_…` |
| 20 s after the handshake the library closes a TLS connection | `test_silence…`, fixture `silence` |
| with read-ahead, what arrives with the end of the handshake is lost | `test_request_in_the_packet_that_ends_the_handshake…` |
| a TLS record must fit the receive buffer | `test_tls.py::test_bulk_data_over_tls_is_complete_and_in_order` |
| at a FIN the library closes at once: responses on their way are lost | `test_…half_closes…`; plain, many responses: \
`test_connection_states.py::test_last_response_is_complete_although_the_client_has_finished_sending` |
| receiving that is paused must be resumed, through TLS too | `test_pipelined_requests_go_on_after_each_pause` |
| closing drops what is unsent, without close_notify | `test_refusal_reaches_a_client_that_still_sends` |
| resets at every stage; what has arrived at the adoption | `test_no_descriptor_is_lost…`, \
`test_handshakes_that_fail_at_once…`; plain: `test_limits.py::test_descriptor_limit_leaks_no_descriptors` |
| destroying a context with open connections | `test_sigterm_ends_tls_connections_in_every_state` |
| a failed adoption leaves the descriptor open | only without memory: by reading |
| each adoption wakes the loop | costs time only |
| the library does not report a certificate that does not fit the key | `test_key_of_another_certificate_prevents_startup` |
| a client that offers only HTTP/2 is connected without a protocol | \
`test_certificates.py::test_client_that_offers_only_http_2_is_refused` |
| renegotiation, key updates | `test_client_cannot_renegotiate`, `test_client_that_keeps_updating_keys_is_disconnected`, \
`test_key_updates_of_a_blocked_client_make_no_loop_spin` |
| each close scans the descriptor table; the table must not grow | `test_descriptor_limit_is_sized…` |
| failed assertions of the debug build abort the process | every test: a gateway must exit with 0 |
| at the descriptor limit, accept spins | `test_limits.py::test_descriptor_limit_affects_no_open_connection` |
| an asynchronous kill takes no effect on a quiet loop | `test_unanswered_close_ends_on_a_quiet_loop`; plain: \
`test_http_deadlines.py::test_client_that_does_not_answer_the_close_frame_is_disconnected` |
| the timers are one sorted list | `test_silent_connections_make_no_other_dearer` |
| sends are cut to 4 KB unless a size is set | `test_large_event_fills_the_tls_records` |
| what the library cannot send, it keeps without a limit | `test_blocked_tls_clients_take_bounded_memory` |
| with SO_REUSEPORT, a second instance starts without an error | `test_second_instance_on_the_same_port_fails` |
"""

import os
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from harness import certificates
from harness.api import Api, signed_target
from harness.apps import FIRST, TIMEOUT
from harness.fleet import SECTIONS, token
from harness.gateway import SERVER, run
from harness.metrics import count_limited, scrape, wait_for_metric
from harness.tls_wire import TLSWire
from harness.wire import BINARY, CLOSE, TEXT, Wire, frame, request, upgrade

HEALTH = request("GET", "/healthz")
METRICS = request("GET", "/metrics")
PING = frame(TEXT, b'{"event":"pusher:ping","data":{}}')
# A request whose response comes from another thread.
JOBS = request("GET", "/api/driver/jobs", headers=[f"Authorization: Bearer {token('driver', '42')}"])


@pytest.fixture(params=["plain", "TLS"])
def start(request, start_gateway, tls):
    """Starts a gateway with one loop, without and with TLS."""
    files = {"tls": tls} if request.param == "TLS" else {}
    return lambda server=None, **more: start_gateway(loops=1, server=files | (server or {}), sections=SECTIONS, **more)


@pytest.fixture
def secure(start_gateway, tls):
    return lambda loops=1, server=None, **more: start_gateway(
        loops=loops, server={"tls": tls} | (server or {}), sections=SECTIONS, **more)


def dial(gateway, **more) -> Wire:
    return TLSWire(gateway, **more) if gateway.tls else Wire(gateway, **more)


# Blocked clients


def cpu_nanoseconds(gateway) -> int:
    """Returns the CPU time of all threads, more exactly than the clock ticks of `Gateway.cpu_seconds`."""
    return sum(int(task.joinpath("schedstat").read_text().split()[0])
               for task in Path(f"/proc/{gateway.process.pid}/task").iterdir())


def assert_does_not_spin(gateway) -> None:
    """Stricter than `Gateway.assert_idle`, because a loop that spins on a busy machine gets little of a core. The pause
    is a measuring window: what is left to do may use the first ones, a loop that spins uses all.
    """
    shares = []
    for _ in range(10):
        before, started = cpu_nanoseconds(gateway), time.monotonic_ns()
        time.sleep(0.1)
        shares.append((cpu_nanoseconds(gateway) - before) / (time.monotonic_ns() - started))
        if shares[-1] < 0.04:
            return
    raise AssertionError(f"a loop spins: the gateway used {[round(share, 2) for share in shares]} of a core")


def block(gateway, wire: Wire, api: Api) -> int:
    """Subscribes, and publishes until events wait in the gateway, far below the limit. Returns their number."""
    wire.open()
    wire.subscribe("flood")
    count = 0
    while scrape(api).total("fleetwire_outbox_bytes") < 100_000:
        for _ in range(10):
            api.publish("flood", data="x" * 10_000)
        count += 10
        assert count < 300, "the socket does not become full"
    return count


def test_blocked_websocket_that_sends_makes_no_loop_spin(start, closing):
    gateway = start()
    api, wire = closing(Api(gateway)), closing(dial(gateway, receive_buffer=4096))
    count = block(gateway, wire, api)
    wire.send(PING * 100)
    assert_does_not_spin(gateway)
    assert scrape(api).total("fleetwire_outbox_bytes") > 0, "the client was not blocked"
    for _ in range(count):
        wire.expect("event")
    for _ in range(100):
        wire.expect("pusher:pong")


def test_blocked_http_client_that_sends_makes_no_loop_spin(start, closing):
    gateway = start()
    api, wire = closing(Api(gateway)), closing(dial(gateway, receive_buffer=4096))
    wire.send(METRICS * 200)
    wait_until_blocked(api)
    wire.send(METRICS * 100)
    assert_does_not_spin(gateway)
    assert [wire.read_response().status for _ in range(300)] == [200] * 300


def test_key_updates_of_a_blocked_client_make_no_loop_spin(secure, closing):
    """The gateway has to update its keys before it reads on, but the socket is full."""
    gateway = secure()
    api = closing(Api(gateway))
    for _ in range(10):  # what the full socket does not take may be a pong or a KeyUpdate
        wire = closing(TLSWire(gateway, receive_buffer=4096))
        count = block(gateway, wire, api)
        for _ in range(20):
            wire.socket.sendall(wire.seal(PING) + wire.seal_key_update())
        assert_does_not_spin(gateway)
        for _ in range(count):
            wire.expect("event")
        for _ in range(20):
            wire.expect("pusher:pong")
        wire.close()


def wait_until_blocked(api: Api) -> None:
    """Waits until three turns have handled no request but the scrape's own."""
    deadline, counts = time.monotonic() + TIMEOUT, []
    while len(counts) < 4 or counts[-1] - counts[-4] > 3:
        assert time.monotonic() < deadline, "the socket does not become full"
        counts.append(scrape(api).total("fleetwire_http_calls_received_total"))


def test_blocked_tls_clients_take_bounded_memory(secure, closing):
    """20 MB are published to each of ten clients that read nothing; a client may have 64 KB, and once."""
    gateway = secure(limits={"outbox_bytes": 65_536})
    api = closing(Api(gateway))
    wires = [closing(dial(gateway, receive_buffer=4096)) for _ in range(10)]
    for wire in wires:
        wire.open()
        wire.subscribe("flood")
    before = resident_bytes(gateway)
    for _ in range(2_000):
        api.publish("flood", data="x" * 10_000)
    assert resident_bytes(gateway) - before < 40_000_000
    wait_for_metric(api, "fleetwire_slow_consumer_total", 10)


def resident_bytes(gateway) -> int:
    return int(Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Silence


# Several, because the library looks at its timers at a handshake, too.
HANDSHAKES = [f"handshake {number}" for number in range(10)]


@pytest.fixture(scope="module")
def silence(gateways, tls):
    """Opens TLS connections in several states and waits 25 s: longer than the 20 s after which the library would close
    them. Returns the gateway, the connections, and the seconds after which they ended, if they did.
    """
    gateway = gateways(1)
    started, ended = time.monotonic(), {}
    wires = {name: TLSWire(gateway, finish=name not in ("nothing", "half a ClientHello"))
             for name in ["nothing", "half a ClientHello", *HANDSHAKES, "request", "WebSocket"]}
    hello = wires["half a ClientHello"].hello()
    wires["half a ClientHello"].socket.sendall(hello[:len(hello) // 2])
    wires["request"].send(HEALTH)
    assert wires["request"].read_response().status == 200
    wires["WebSocket"].open()
    api = Api(gateway)
    while (seconds := time.monotonic() - started) < 25:
        for name in wires.keys() - ended.keys():
            if wires[name].readable() and not wires[name]._receive():
                ended[name] = seconds
        # The library looks at its timers only when something happens on its loop.
        assert api.get("/healthz").status == 200
        time.sleep(0.1)
    api.close()
    yield gateway, wires, ended
    for wire in wires.values():
        wire.close()


@pytest.fixture(scope="module")
def module_settings(tls):
    return {"server": {"tls": tls}}


def test_silence_of_25_seconds_ends_no_tls_websocket(silence):
    _, wires, ended = silence
    assert "WebSocket" not in ended, ended
    wires["WebSocket"].send(PING)
    wires["WebSocket"].expect("pusher:pong")


def test_silence_of_25_seconds_ends_no_tls_connection_between_requests(silence):
    _, wires, ended = silence
    assert "request" not in ended, ended
    wires["request"].send(HEALTH)
    assert wires["request"].read_response().status == 200


@pytest.mark.parametrize("name", ["nothing", "half a ClientHello", *HANDSHAKES])
def test_silence_from_the_start_ends_a_tls_connection_after_ten_seconds(silence, name):
    _, _, ended = silence
    assert 9 <= ended.get(name, 99) <= 18, ended


def test_unanswered_close_ends_on_a_quiet_loop(secure, closing):
    """No other connection wakes the loop."""
    wire = closing(TLSWire(secure()))
    wire.open()
    started = time.monotonic()
    wire.send(frame(BINARY, b"not supported"))
    assert wire.close_code() == 1003
    wire.read_to_end()
    assert 4 <= time.monotonic() - started <= 14


# Handshake


def test_request_in_the_packet_that_ends_the_handshake_is_answered(secure, closing):
    gateway = secure(loops=2)
    for _ in range(20):
        wire = closing(TLSWire(gateway, finish=False))
        wire.socket.sendall(wire.last_flight() + wire.seal(HEALTH) + wire.seal(HEALTH))
        assert [wire.read_response().status for _ in range(2)] == [200, 200]


def test_client_cannot_renegotiate(secure):
    gateway = secure()
    client = subprocess.run(
        ["openssl", "s_client", "-tls1_2", "-connect", f"{gateway.host}:{gateway.port}"],
        input=b"R\n", capture_output=True, timeout=TIMEOUT)
    output = client.stdout + client.stderr
    assert b"RENEGOTIATING" in output and b"no renegotiation" in output, output[-2000:]


def test_client_that_keeps_updating_keys_is_disconnected(secure, closing):
    """OpenSSL would handle its records for ever, and the loop nothing else."""
    gateway = secure()
    wire, other = closing(TLSWire(gateway)), closing(TLSWire(gateway))
    for _ in range(50):
        wire.socket.sendall(wire.seal_key_update() + wire.seal(HEALTH))
        assert wire.read_response().status == 200
    wire.socket.sendall(b"".join(wire.seal_key_update() for _ in range(100)))
    assert wire.at_end()
    other.send(HEALTH)
    assert other.read_response().status == 200


def test_key_of_another_certificate_prevents_startup(config, tls, tmp_path):
    other = certificates.make(tmp_path)
    result = run("serve", "--config", config(server=SERVER | {"tls": tls | {"key": other["key"]}}))
    assert result.returncode == 78 and "server.tls" in result.stderr, result


# The end of a stream


@pytest.mark.parametrize("notifies", [False, True], ids=["FIN", "close_notify and FIN"])
def test_tls_client_that_half_closes_gets_all_responses(secure, closing, notifies):
    """They do not fit the buffers, so most of them wait when the FIN arrives."""
    wire = closing(TLSWire(secure(), receive_buffer=4096))
    wire.socket.sendall(wire.seal(METRICS * 200) + (wire.seal_end() if notifies else b""))
    wire.close_write()
    assert [wire.read_response().status for _ in range(200)] == [200] * 200


@pytest.mark.parametrize("end", ["FIN", "FIN through TLS", "close_notify and FIN"])
def test_client_that_half_closes_gets_a_late_response(start_gateway, secure, closing, end):
    """The end arrives with the request, and the response comes from another thread."""
    gateway = start_gateway(sections=SECTIONS) if end == "FIN" else secure()
    for _ in range(20):
        wire = closing(dial(gateway))
        if gateway.tls:
            wire.socket.sendall(wire.seal(JOBS) + (wire.seal_end() if end == "close_notify and FIN" else b""))
        else:
            wire.send(JOBS)
        wire.close_write()
        response = wire.read_response()
        assert response and response.status == 200, response


def test_pipelined_requests_go_on_after_each_pause(secure, closing):
    """Reading is paused while a response comes from another thread, whatever TLS has already decrypted."""
    wire = closing(TLSWire(secure()))
    wire.socket.sendall(wire.seal(JOBS * 50) + b"".join(wire.seal(JOBS) for _ in range(50)))
    assert [wire.read_response().status for _ in range(100)] == [200] * 100


def test_record_behind_a_late_response_does_not_wait_for_a_tick(secure, closing):
    """OpenSSL has read it with the first one, so the kernel does not report it."""
    wire = closing(TLSWire(secure()))
    start = time.monotonic()
    for _ in range(10):
        wire.socket.sendall(wire.seal(JOBS) + wire.seal(JOBS))
        assert [wire.read_response().status for _ in range(2)] == [200, 200]
    assert time.monotonic() - start < 5, "each waits for the loop's tick, a second"


@pytest.mark.parametrize("count", [*range(1, 12), 20, 40])
def test_responses_to_a_client_that_has_ended_are_sent_to_the_end(secure, closing, count):
    """The requests and close_notify are handled together, and the last response does not fit the socket."""
    wire = closing(TLSWire(secure(), receive_buffer=4096))
    wire.socket.sendall(wire.seal(METRICS * count) + wire.seal_end())
    assert [wire.read_response().status for _ in range(count)] == [200] * count


LARGE = 250_000  # more than a body may have, less than what is discarded at most
REFUSALS = ["413", "413 chunked", "431", "400", "401"]


def refused(case: str) -> bytes:
    """A request of 250 KB that is refused early."""
    signed = signed_target(FIRST, "POST", "/apps/1001/events", b"x")
    length = [f"Content-Length: {LARGE}"]
    start = {
        "413": request("POST", signed, headers=length, length=False),
        "413 chunked": request("POST", signed, headers=["Transfer-Encoding: chunked"], length=False),
        "431": b"GET /healthz HTTP/1.1\r\nX-Filler: ",
        "400": b"GET /healthz HTTP/1.1\nHost: x\n\n",
        "401": request("POST", "/apps/1001/events?auth_key=key1", headers=length, length=False),
    }[case]
    chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    return start + (chunk * (LARGE // 0x8000) if case == "413 chunked" else b"x" * LARGE)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_reaches_a_client_that_still_sends(start, closing, name):
    """It reads nothing until it has sent all: a connection that was closed at once would be reset, and the response
    lost. The stream ends in an orderly way: through TLS with close_notify.
    """
    gateway = start()
    api, wire = closing(Api(gateway)), closing(dial(gateway))
    wire.send(refused(name))
    response = wire.read_response()
    assert response and response.status == int(name[:3]) and response.headers["connection"] == "close", response
    if gateway.tls:
        assert wire.at_end() and wire.is_notified
    else:
        assert wire.socket.recv(1) == b""
    wire.close()
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)


@pytest.mark.parametrize("name", [*REFUSALS, "1009"])
def test_what_a_refused_client_still_sends_is_bounded(start, closing, name):
    """Each byte costs the gateway time, which a refused client must not have without end."""
    gateway = start()
    api, wire = closing(Api(gateway)), closing(dial(gateway))
    if name == "1009":
        wire.open()
        wire.send(frame(BINARY, b"", length=1 << 40)[:14])
    else:
        wire.send(refused(name)[:1_000])
    sent = 0
    with pytest.raises(OSError):
        while sent < 100_000_000:
            wire.send(b"x" * 65_536)
            sent += 65_536
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    assert count_limited(api, "discarded_bytes") == 1
    assert sent < 50_000_000, "what is in the sockets' buffers is sent, too"


# Descriptors


def sends(make):
    """A stage after the handshake: the client has sent these bytes."""
    def reach(wire: TLSWire) -> None:
        wire.socket.sendall(wire.last_flight() + make(wire))
    return reach


def half(data: bytes) -> bytes:
    return data[:len(data) // 2]


STAGES = {
    "connected": lambda wire: None,
    "plain text": lambda wire: wire.socket.sendall(HEALTH),
    "half a ClientHello": lambda wire: wire.socket.sendall(half(wire.hello())),
    "ClientHello": lambda wire: wire.socket.sendall(wire.hello()),
    "handshake unfinished": lambda wire: wire.last_flight(),
    "half the last flight": lambda wire: wire.socket.sendall(half(wire.last_flight())),
    "handshake": sends(lambda wire: b""),
    "half a record": sends(lambda wire: half(wire.seal(HEALTH))),
    "half a request": sends(lambda wire: wire.seal(half(HEALTH))),
    "response awaited": sends(lambda wire: wire.seal(JOBS)),
    "response unread": sends(lambda wire: wire.seal(METRICS * 200)),
    "WebSocket": sends(lambda wire: wire.seal(upgrade())),
    "half a frame": sends(lambda wire: wire.seal(upgrade() + half(PING))),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("end", [Wire.reset, Wire.close, Wire.close_write], ids=["RST", "close", "FIN"])
def test_no_descriptor_is_lost_when_a_tls_client_ends(secure, closing, stage, end):
    """Nor does any stage keep a loop busy. Connections of the address are counted, too: a wrong count would end the
    process, or refuse the last client.
    """
    if stage == "response unread" and end is Wire.close_write:
        pytest.skip("the client still gets its responses: see test_tls_client_that_half_closes_gets_all_responses")
    gateway = secure(loops=2, server={"connections_per_ip": 30})
    api = closing(Api(gateway))
    wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    descriptors = os.listdir(f"/proc/{gateway.process.pid}/fd")
    for _ in range(4):
        wires = [closing(TLSWire(gateway, receive_buffer=4096, finish=False)) for _ in range(8)]
        for wire in wires:
            STAGES[stage](wire)
        assert_does_not_spin(gateway)
        for wire in wires:
            end(wire)
        wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    assert os.listdir(f"/proc/{gateway.process.pid}/fd") == descriptors
    for wire in [closing(TLSWire(gateway)) for _ in range(29)]:
        wire.send(HEALTH)
        assert wire.read_response().status == 200


@pytest.mark.parametrize("end", [Wire.reset, Wire.close, Wire.close_write], ids=["RST", "close", "FIN"])
@pytest.mark.parametrize("data", [HEALTH, b"\x16\x03\x01\xff\xff" + b"x" * 100], ids=["plain text", "invalid ClientHello"])
def test_handshakes_that_fail_at_once_are_counted_once(secure, closing, data, end):
    """While the gateway is stopped, the bytes and the ends of the clients gather: they are there at the adoption."""
    gateway = secure(loops=2, server={"connections_per_ip": 60})
    api = closing(Api(gateway))
    for _ in range(3):
        gateway.freeze()
        wires = [closing(Wire(gateway, tls=False)) for _ in range(50)]
        for wire in wires:
            wire.send(data)
            end(wire)
        gateway.thaw()
        wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    for wire in [closing(TLSWire(gateway)) for _ in range(59)]:
        wire.send(HEALTH)
        assert wire.read_response().status == 200


def test_sigterm_ends_tls_connections_in_every_state(secure, closing):
    """Each is freed with its context: the gateway exits with 0, and WebSockets get their close frame first."""
    gateway = secure(loops=2)
    for reach in STAGES.values():
        for _ in range(3):
            reach(closing(TLSWire(gateway, receive_buffer=4096, finish=False)))
    wire = closing(TLSWire(gateway))
    wire.open()
    gateway.terminate()
    assert wire.close_code() == gateway.drain_code
    wire.send(frame(CLOSE, b"\x10\x68"))
    gateway.wait()


@pytest.mark.parametrize("loops", [1, 3])
def test_descriptor_limit_is_sized_to_the_configured_connections(start_gateway, closing, loops):
    """Before and after the connections were used: the library's table does not grow with the limit."""
    gateway = start_gateway(loops=loops, server={"connections": 100})
    limits = Path(f"/proc/{gateway.process.pid}/limits")

    def soft_limit() -> int:
        return next(int(line.split()[3]) for line in limits.read_text().splitlines() if line.startswith("Max open files"))

    assert soft_limit() == 100 + 48 + 4 * loops
    for wire in [closing(Wire(gateway)) for _ in range(100)]:
        wire.send(HEALTH)
        assert wire.read_response().status == 200
    assert soft_limit() == 100 + 48 + 4 * loops


def test_second_instance_on_the_same_port_fails(start_gateway, config):
    gateway = start_gateway()
    result = run("serve", "--config", config(server=SERVER | {"port": gateway.port}))
    assert result.returncode == 1 and str(gateway.port) in result.stderr, result


# Cost


def test_silent_connections_make_no_other_dearer(start, closing):
    """Compares CPU times. In a sorted list of timers, every connection would walk past all silent ones."""
    gateway, silent_count = start(server={"connections": 5_000}), 1_500
    api = closing(Api(gateway))

    def cost() -> int:
        before = cpu_nanoseconds(gateway)
        for _ in range(100):
            wire = dial(gateway)
            wire.send(HEALTH)
            assert wire.read_response().status == 200
            wire.close()
        return cpu_nanoseconds(gateway) - before

    cost()
    alone = min(cost() for _ in range(3))
    for _ in range(5):
        silent = [closing(Wire(gateway, tls=False)) for _ in range(silent_count)]
        wait_for_metric(api, "fleetwire_descriptors_in_use", silent_count + 1)
        beside = cost()
        were_there = scrape(api).total("fleetwire_descriptors_in_use") > silent_count
        for wire in silent:
            wire.reset()
        if were_there and beside < 2 * alone:
            return
        wait_for_metric(api, "fleetwire_descriptors_in_use", 1)
    assert were_there, "the machine is too slow: the silent ones ended while the others were measured"
    pytest.fail(f"{beside / 1e5:.0f} instead of {alone / 1e5:.0f} µs a connection")


def test_large_event_fills_the_tls_records(secure, closing):
    gateway = secure(limits={"event_bytes": 500_000})
    api, wire = closing(Api(gateway)), closing(TLSWire(gateway))
    wire.open()
    wire.subscribe("large")
    wire.records.clear()
    api.publish("large", data="x" * 400_000)
    wire.expect("event")
    assert sum(wire.records) > 400_000 and len(wire.records) < 40, wire.records


def test_connection_in_a_reused_slot_is_not_taken_for_one_that_waited(secure, closing):
    """Connections that are paused with bytes left in OpenSSL wait behind a backlog of handshakes. They are reset, and new
    connections get their slots while the old entries may still wait.
    """
    def requests_total(api: Api) -> float:
        return scrape(api).total("fleetwire_http_calls_received_total")

    gateway = secure(loops=2)
    api = closing(Api(gateway))
    hello = TLSWire(gateway, finish=False).hello()
    for number in range(6):
        paused = [TLSWire(gateway) for _ in range(40)]
        floods = [b"".join(wire.seal(HEALTH * 400) for _ in range(12)) for wire in paused]
        backlog = [Wire(gateway, tls=False) for _ in range(400)]
        # The loops get the connections in turn, so that every second one is on the same loop.
        same = slice(number % 2, None, 2)
        for wire in backlog[same]:
            wire.socket.sendall(hello)
        for wire, flood in list(zip(paused, floods))[same]:
            wire.socket.setblocking(False)
            wire.socket.send(flood)
        # Each flood has more requests than a turn handles.
        taken = requests_total(api)
        while requests_total(api) < taken + 300:
            pass
        for wire in paused[same]:
            wire.reset()
        later = [Wire(gateway, tls=False) for _ in range(80)]
        for wire in later:
            wire.socket.sendall(hello)
        for wire in later:
            assert wire.socket.recv(1) == b"\x16", "no handshake record"
        for wire in backlog + later:
            wire.reset()
        for wire in paused:
            wire.close()
    gateway.assert_alive()
