"""C11 and TLS: who insists on it, and who speaks it."""

import json
import socket
import ssl

import pytest

from harness.api import Api
from harness.apps import PATIENCE, SECOND
from harness.client import Client
from harness.guest import Guest
from harness.metrics import eventually, scrape
from harness.wire import TEXT, Wire, frame

ONLY = {"first": {"tls_only": True}}


@pytest.fixture
def secure(start_gateway, tls):
    """Starts a gateway that speaks TLS."""
    return lambda **more: start_gateway(server={"tls": tls} | more.pop("server", {}), **more)


def code_over(gateway, **arguments) -> int:
    client = Client.dial(gateway, **arguments)
    try:
        code, reason = client.closed()
        assert reason and reason.isprintable()
        return code
    finally:
        client.close()


def test_C11_without_TLS_it_closes_4000(start_gateway, closing):
    gateway = start_gateway(**ONLY)
    for _ in range(3):
        assert code_over(gateway) == 4000
    closing(Client.connect(gateway, SECOND)).expect_nothing()


def test_C11_below_6_a_pusher_error_comes_first(start_gateway, closing):
    client = closing(Client.dial(start_gateway(**ONLY), protocol=5))
    assert client.expect_error()["code"] == 4000
    assert client.closed()[0] == 4000


def test_C11_with_TLS_it_is_served(secure, closing):
    gateway = secure(**ONLY)
    guest, api = closing(Guest(gateway)), closing(Api(gateway))
    guest.subscribe("x")
    api.publish("x", data="secure")
    assert guest.message() == {"event": "event", "channel": "x", "data": "secure"}


@pytest.mark.parametrize("behind_proxy, forwarded, served", [
    (True, "https", True), (True, "HTTPS", True), (True, "http", False), (True, "", False), (True, None, False), (False, "https", False)])
def test_C11_behind_a_proxy_its_word_counts(start_gateway, behind_proxy, forwarded, served):
    gateway = start_gateway(server={"behind_proxy": behind_proxy}, **ONLY)
    headers = {} if forwarded is None else {"X-Forwarded-Proto": forwarded}
    if served:
        client = Client.dial(gateway, headers=headers)
        client.greet()
        client.close()
    else:
        assert code_over(gateway, headers=headers) == 4000


@pytest.mark.parametrize("loops", [1, 2, 4])
def test_everything_works_over_TLS(secure, closing, loops):
    gateway = secure(loops=loops, first={"client_events": True})
    guests, api = [closing(Guest(gateway)) for _ in range(6)], closing(Api(gateway))
    for number, guest in enumerate(guests):
        assert len(guest.join("presence-x", str(number))) == number + 1
    for number, guest in enumerate(guests):
        assert [message["event"] for message in guest.until_pong()] == ["pusher_internal:member_added"] * (5 - number)
    api.publish("presence-x", data="x" * 10240)
    for guest in guests:
        assert guest.message()["data"] == "x" * 10240
    guests[0].send(frame(TEXT, b'{"event":"client-said","channel":"presence-x","data":"hello"}'))
    for guest in guests[1:]:
        assert guest.message() == {"event": "client-said", "channel": "presence-x", "data": "hello", "user_id": "0"}
    assert len(api.ask("channels/presence-x/users").json()["users"]) == 6
    assert api.get("/healthz").status == 200
    guests[0].say_goodbye()
    guests[1].reset()
    gone = [json.loads(guests[2].message()["data"])["user_id"] for _ in range(2)]
    assert sorted(gone) == ["0", "1"]


def test_much_at_once_over_TLS(secure, closing):
    """More than a record and more than a socket's buffer takes, but not more than an outbox does: in order and whole, and both ways."""
    gateway = secure()
    guest, api = closing(Guest(gateway)), closing(Api(gateway))
    guest.subscribe("x")
    batch = {"batch": [{"name": "event", "channel": "x", "data": str(number).ljust(10240)} for number in range(10)]}
    for _ in range(6):
        assert api.tell("batch_events", json.dumps(batch).encode()).status == 200
    guest.send(frame(TEXT, b'{"event":"pusher:ping","data":"' + b"x" * 60_000 + b'"}') * 20)
    heard = [guest.message() for _ in range(80)]
    data = [message["data"] for message in heard if message["event"] == "event"]
    assert data == [str(count % 10).ljust(10240) for count in range(60)]
    assert guest.until_pong() == []


def test_who_does_not_read_is_dropped_over_TLS_too(secure, closing):
    """He finds what fitted the buffers, then the end; the others are served, and the gateway still stops when it is told to."""
    gateway = secure(limits={"outbox_bytes": 262_144})
    api, sleeper, reader = closing(Api(gateway)), closing(Guest(gateway)), closing(Guest(gateway))
    sleeper.subscribe("flood")
    reader.subscribe("flood")
    for number in range(600):
        api.publish("flood", data=str(number).ljust(10_000, "."))
        assert reader.message()["data"].startswith(f"{number}.")
    assert scrape(api).total("fleetwire_slow_consumer_total") == 1
    eventually(api, "fleetwire_connected", 1)
    assert sleeper.rest()
    assert reader.until_pong() == []
    gateway.assert_calm()
    gateway.stop()


def test_who_is_dropped_while_he_speaks_stops_nobody(secure, closing):
    """What he said and nobody took must not keep a loop busy for ever: it is still in the TLS session when he is let go."""
    gateway = secure(loops=1)
    api, flooded, reader = closing(Api(gateway)), closing(Guest(gateway)), closing(Guest(gateway))
    flooded.subscribe("flood")
    for _ in range(200):
        api.publish("flood", data="x" * 10_240)
    try:
        flooded.send_as_taken(frame(TEXT, b'{"event":"pusher:ping","data":"' + b"x" * 60_000 + b'"}') * 20)
    except ssl.SSLError:
        pass  # he is gone already
    assert reader.until_pong() == []
    flooded.rest()
    assert api.get("/healthz").status == 200
    gateway.assert_calm()


def test_many_connect_over_TLS_one_after_another(secure, closing):
    """The first words come right behind the handshake, and nobody's are overlooked."""
    gateway = secure()
    guests = [closing(Guest(gateway)) for _ in range(100)]
    for guest in guests:
        assert guest.until_pong() == []


def test_plain_speech_on_a_TLS_port_harms_nobody(secure, closing):
    gateway = secure()
    guest = closing(Guest(gateway))
    for words in (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\0" * 500):
        wire = closing(Wire(gateway, tls=False))
        wire.send_as_taken(words)
        wire.finish()
        wire.rest()
    assert guest.until_pong() == []
    assert closing(Guest(gateway)).until_pong() == []
    gateway.assert_calm()


def test_half_a_handshake_keeps_nobody_waiting(secure, closing):
    gateway = secure(loops=1)
    for _ in range(20):
        closing(Wire(gateway, tls=False)).send(b"\x16\x03\x01\x02\x00")
    guest = closing(Guest(gateway))
    guest.subscribe("x")
    closing(Api(gateway)).publish("x")
    assert guest.message()["event"] == "event"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_TLS_versions(secure, closing, version):
    gateway = secure()
    gateway.tls.minimum_version = gateway.tls.maximum_version = version
    guest = closing(Guest(gateway))
    assert guest.until_pong() == [] and guest.socket.version() == f"TLSv{version.name[-3:].replace('_', '.')}"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_TLS_1_1_is_too_old(secure):
    gateway = secure()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(gateway.address, PATIENCE) as plain, pytest.raises((ssl.SSLError, ConnectionResetError)):
        old.wrap_socket(plain)
