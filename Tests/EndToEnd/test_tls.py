"""C11 and TLS: `tls_only`, and the TLS listener."""

import json
import socket
import ssl
import subprocess

import pytest

from harness import certificates
from harness.api import Api
from harness.apps import SECOND, TIMEOUT
from harness.client import Client
from harness.gateway import Gateway
from harness.metrics import scrape, wait_for_metric
from harness.raw_client import RawClient
from harness.wire import TEXT, Wire, frame

TLS_ONLY = {"first": {"tls_only": True}}


@pytest.fixture
def secure(start_gateway, tls):
    """Starts a gateway with a TLS listener."""
    return lambda **more: start_gateway(server={"tls": tls} | more.pop("server", {}), **more)


def close_code(gateway, **arguments) -> int:
    client = Client.dial(gateway, **arguments)
    try:
        code, reason = client.expect_close()
        assert reason and reason.isprintable()
        return code
    finally:
        client.close()


def test_C11_without_tls_closes_4000(start_gateway, closing):
    gateway = start_gateway(**TLS_ONLY)
    for _ in range(3):
        assert close_code(gateway) == 4000
    closing(Client.connect(gateway, SECOND)).expect_nothing()


def test_C11_protocol_5_gets_pusher_error_before_close(start_gateway, closing):
    client = closing(Client.dial(start_gateway(**TLS_ONLY), protocol=5))
    assert client.expect_error()["code"] == 4000
    assert client.expect_close()[0] == 4000


def test_C11_with_tls_is_served(secure, closing):
    gateway = secure(**TLS_ONLY)
    raw_client, api = closing(RawClient(gateway)), closing(Api(gateway))
    raw_client.subscribe("x")
    api.publish("x", data="secure")
    assert raw_client.receive() == {"event": "event", "channel": "x", "data": "secure"}


@pytest.mark.parametrize("behind_proxy, forwarded, served", [
    (True, "https", True), (True, "HTTPS", True), (True, "http", False), (True, "", False),
    (True, None, False), (False, "https", False)])
def test_C11_behind_proxy_trusts_x_forwarded_proto(start_gateway, behind_proxy, forwarded, served):
    gateway = start_gateway(server={"behind_proxy": behind_proxy}, **TLS_ONLY)
    headers = {} if forwarded is None else {"X-Forwarded-Proto": forwarded}
    if served:
        client = Client.dial(gateway, headers=headers)
        client.expect_established()
        client.close()
    else:
        assert close_code(gateway, headers=headers) == 4000


@pytest.mark.parametrize("loops", [1, 2, 4])
def test_features_work_over_tls(secure, closing, loops):
    gateway = secure(loops=loops, first={"client_events": True})
    raw_clients, api = [closing(RawClient(gateway)) for _ in range(6)], closing(Api(gateway))
    for number, raw_client in enumerate(raw_clients):
        assert len(raw_client.join("presence-x", str(number))) == number + 1
    for number, raw_client in enumerate(raw_clients):
        assert [message["event"]
                for message in raw_client.receive_until_pong()] == [
            "pusher_internal:member_added"] * (5 - number)
    api.publish("presence-x", data="x" * 10240)
    for raw_client in raw_clients:
        assert raw_client.receive()["data"] == "x" * 10240
    raw_clients[0].send(
        frame(TEXT, b'{"event":"client-said","channel":"presence-x","data":"hello"}'))
    for raw_client in raw_clients[1:]:
        assert raw_client.receive() == {"event": "client-said", "channel": "presence-x",
                                        "data": "hello", "user_id": "0"}
    assert len(api.get_signed("channels/presence-x/users").json()["users"]) == 6
    assert api.get("/healthz").status == 200
    raw_clients[0].close_gracefully()
    raw_clients[1].reset()
    gone = [json.loads(raw_clients[2].receive()["data"])["user_id"] for _ in range(2)]
    assert sorted(gone) == ["0", "1"]


def test_bulk_data_over_tls_is_complete_and_in_order(secure, closing):
    """Exceeds a TLS record and a socket buffer, but not the outbox limit: complete and in order in
    both directions.
    """
    gateway = secure()
    raw_client, api = closing(RawClient(gateway)), closing(Api(gateway))
    raw_client.subscribe("x")
    batch = {
        "batch": [{"name": "event", "channel": "x", "data": str(number).ljust(10240)}
                  for number in range(10)]}
    for _ in range(6):
        assert api.post_signed("batch_events", json.dumps(batch).encode()).status == 200
    raw_client.send(frame(TEXT, b'{"event":"pusher:ping","data":"' + b"x" * 60_000 + b'"}') * 20)
    received = [raw_client.receive() for _ in range(80)]
    data = [message["data"] for message in received if message["event"] == "event"]
    assert data == [str(count % 10).ljust(10240) for count in range(60)]
    assert raw_client.receive_until_pong() == []


def test_slow_consumer_is_closed_over_tls(secure, closing):
    """The slow client reads what fitted the buffers, then the end of the stream. Others are served,
    and the gateway still stops on SIGTERM.
    """
    gateway = secure(limits={"outbox_bytes": 262_144})
    api, slow_consumer, reader = (closing(Api(gateway)), closing(RawClient(gateway)),
                                  closing(RawClient(gateway)))
    slow_consumer.subscribe("flood")
    reader.subscribe("flood")
    for number in range(600):
        api.publish("flood", data=str(number).ljust(10_000, "."))
        assert reader.receive()["data"].startswith(f"{number}.")
    assert scrape(api).total("fleetwire_slow_consumer_total") == 1
    wait_for_metric(api, "fleetwire_connected", 1)
    assert slow_consumer.read_to_end()
    assert reader.receive_until_pong() == []
    gateway.assert_idle()
    gateway.stop()


def test_closing_a_slow_sender_affects_no_other_client(secure, closing):
    """Unread input of the closed client must not keep a loop busy: it is still in the TLS session
    when the connection is closed.
    """
    gateway = secure(loops=1, limits={"outbox_bytes": 65_536})
    api, flooded, reader = (closing(Api(gateway)), closing(RawClient(gateway)),
                            closing(RawClient(gateway)))
    flooded.subscribe("flood")
    for _ in range(200):
        api.publish("flood", data="x" * 10_240)
    try:
        flooded.send_ignoring_reset(
            frame(TEXT, b'{"event":"pusher:ping","data":"' + b"x" * 60_000 + b'"}') * 20)
    except ssl.SSLError:
        pass  # the gateway has closed it already
    assert reader.receive_until_pong() == []
    flooded.read_to_end()
    assert api.get("/healthz").status == 200
    gateway.assert_idle()


def test_each_tls_connection_receives_its_first_message(secure, closing):
    """The first message arrives directly after the handshake and must not be missed."""
    gateway = secure()
    raw_clients = [closing(RawClient(gateway)) for _ in range(100)]
    for raw_client in raw_clients:
        assert raw_client.receive_until_pong() == []


def test_plaintext_on_a_tls_port_affects_no_other_client(secure, closing):
    gateway = secure()
    raw_client = closing(RawClient(gateway))
    for data in (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 100,
                 b"\0" * 500):
        wire = closing(Wire(gateway, tls=False))
        wire.send_ignoring_reset(data)
        wire.close_write()
        wire.read_to_end()
    assert raw_client.receive_until_pong() == []
    assert closing(RawClient(gateway)).receive_until_pong() == []
    gateway.assert_idle()


def test_unfinished_handshakes_delay_no_other_client(secure, closing):
    gateway = secure(loops=1)
    for _ in range(20):
        closing(Wire(gateway, tls=False)).send(b"\x16\x03\x01\x02\x00")
    raw_client = closing(RawClient(gateway))
    raw_client.subscribe("x")
    closing(Api(gateway)).publish("x")
    assert raw_client.receive()["event"] == "event"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3],
                         ids=["1.2", "1.3"])
def test_tls_1_2_and_1_3_are_supported(secure, closing, version):
    gateway = secure()
    gateway.tls.minimum_version = gateway.tls.maximum_version = version
    raw_client = closing(RawClient(gateway))
    assert (raw_client.receive_until_pong() == []
            and raw_client.socket.version() == f"TLSv{version.name[-3:].replace('_', '.')}")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_tls_1_1_is_rejected(secure):
    gateway = secure()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(gateway.address,
                                  TIMEOUT) as plain, pytest.raises(
        (ssl.SSLError, ConnectionResetError)):
        old.wrap_socket(plain)


# Ciphers


@pytest.fixture(scope="module")
def with_rsa(tmp_path_factory):
    """A gateway with an RSA certificate, with which clients could also agree on ciphers without forward secrecy."""
    folder = tmp_path_factory.mktemp("rsa")
    gateway = Gateway(folder, server={"tls": certificates.make(folder / "tls", algorithm=certificates.RSA)})
    yield gateway
    gateway.stop()


def agreed(gateway, ciphers: str, version=ssl.TLSVersion.TLSv1_2) -> str | None:
    """Returns the cipher that the gateway chooses for a client that offers these, in their order; None if it chooses none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with socket.create_connection(gateway.address, TIMEOUT) as plain:
        try:
            with context.wrap_socket(plain) as connection:
                return connection.cipher()[0]
        except ssl.SSLError as error:
            assert "HANDSHAKE_FAILURE" in str(error).upper(), error
            return None


@pytest.mark.parametrize("cipher", [
    "AES128-SHA", "AES256-SHA", "AES128-SHA256", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384",
    "DHE-RSA-AES256-GCM-SHA384", "AES128-CCM"])
def test_tls_1_2_without_forward_secrecy_or_with_cbc_is_rejected(with_rsa, cipher):
    assert agreed(with_rsa, cipher) is None


@pytest.mark.parametrize("offered, chosen", [
    ("AES128-SHA:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-GCM-SHA256"),
    ("ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305")])
def test_the_gateways_order_of_ciphers_counts_unless_the_client_prefers_chacha(with_rsa, offered, chosen):
    assert agreed(with_rsa, offered) == chosen


def test_openssls_own_client_agrees(with_rsa):
    """With OpenSSL's program, as a scan uses it."""
    def client(*options: str) -> subprocess.CompletedProcess:
        return subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % with_rsa.address, *options], input="",
                              capture_output=True, text=True, timeout=TIMEOUT)

    assert "Cipher is (NONE)" in client("-tls1_2", "-cipher", "kRSA:@SECLEVEL=0").stdout
    modern = client("-tls1_2", "-cipher", "ALL").stdout
    assert "Cipher is ECDHE-RSA-AES256-GCM-SHA384" in modern and "Server Temp Key: " in modern
    assert "TLSv1.3" in client().stdout
