"""The certificates of the TLS listener: selection by name, reload, resumption, expiry."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from harness import certificates
from harness.api import Api
from harness.apps import FIRST, TIMEOUT
from harness.fleet import wait_until
from harness.gateway import expect_invalid_config, write_config, yaml_flow
from harness.metrics import scrape
from harness.raw_client import RawClient


def handshake(gateway, name: str | None, session=None, context=None) -> ssl.SSLSocket:
    """A TLS connection that asks for the host `name`."""
    plain = socket.create_connection(gateway.address, TIMEOUT)
    context = context or unchecked()
    return context.wrap_socket(plain, server_hostname=name, session=session)


def unchecked() -> ssl.SSLContext:
    """Accepts every certificate, so that a test can see which one is served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def served(gateway, name: str | None = None) -> bytes:
    """The certificate that the gateway serves for a host name, in DER."""
    with handshake(gateway, name) as connection:
        return connection.getpeercert(binary_form=True)


def der(pair: dict[str, str]) -> bytes:
    return ssl.PEM_cert_to_DER_cert(Path(pair["certificate"]).read_text())


@pytest.fixture
def make(tmp_path):
    return lambda folder, *names, **more: certificates.make(tmp_path / folder, *names, **more)


@pytest.fixture
def two_names(start_gateway, make):
    """A gateway with a certificate for localhost, and one for two other names."""
    pairs = [make("first"), make("second", "ops.example.com", "*.fleet.example.com")]
    return start_gateway(server={"tls": pairs, "loops": 2}), pairs


# Names


@pytest.mark.parametrize("name, expected", [
    ("localhost", 0), ("ops.example.com", 1), ("OPS.example.com", 1), ("a.fleet.example.com", 1),
    ("a.b.fleet.example.com", 0), ("unknown.example.org", 0), (None, 0)])
def test_certificate_is_selected_by_the_requested_name(two_names, name, expected):
    gateway, pairs = two_names
    assert served(gateway, name) == der(pairs[expected])


def test_each_name_of_a_list_is_trusted_by_a_checking_client(two_names):
    gateway, _ = two_names
    for name in ("localhost", "ops.example.com", "x.fleet.example.com"):
        with handshake(gateway, name, context=gateway.tls) as connection:
            assert connection.version() == "TLSv1.3"


# Reload


def reload(gateway) -> None:
    gateway.process.send_signal(signal.SIGHUP)


def wait_for_entry(gateway, event: str) -> dict:
    """Waits for a log entry."""
    def entries() -> list[dict]:
        lines = gateway.log().splitlines(keepends=True)
        return [entry for line in lines if line.endswith("\n") and line.startswith("{")
                and (entry := json.loads(line))["event"] == event]

    wait_until(lambda: bool(entries()), f"the log contains {event}")
    return entries()[0]


def test_reload_serves_the_new_certificate_and_keeps_connections(start_gateway, make, closing):
    """A renewal: the same paths, a new certificate with a new key."""
    pair = make("current")
    gateway = start_gateway(server={"tls": pair, "loops": 2})
    clients = [closing(RawClient(gateway)) for _ in range(4)]
    renewed = make("renewed", days=30)
    for kind in pair:
        shutil.copy(renewed[kind], pair[kind])
    reload(gateway)
    wait_until(lambda: served(gateway) == der(renewed), "the new certificate is served")
    assert all(served(gateway) == der(renewed) for _ in range(8)), "on all loops"
    assert all(client.receive_until_pong() == [] for client in clients)
    assert wait_for_entry(gateway, "reloaded")["certificates"] == 1


def test_reload_with_the_old_key_changes_nothing(start_gateway, make, closing):
    """A renewal that is half done: the library's own reload would break every handshake."""
    pair = make("current")
    before = der(pair)
    gateway = start_gateway(server={"tls": pair})
    client = closing(RawClient(gateway))
    shutil.copy(make("renewed")["certificate"], pair["certificate"])
    reload(gateway)
    reason = wait_for_entry(gateway, "reload_failed")["reason"]
    assert "the private key does not belong to the certificate" in reason
    assert served(gateway) == before and client.receive_until_pong() == []


def test_reload_adds_a_name(start_gateway, make):
    first, second = make("first"), make("second", "ops.example.com")
    gateway = start_gateway(server={"tls": [first]})
    assert served(gateway, "ops.example.com") == der(first)
    text = gateway.config.read_text()
    gateway.config.write_text(text.replace(yaml_flow([first]), yaml_flow([first, second])))
    reload(gateway)
    wait_until(lambda: served(gateway, "ops.example.com") == der(second), "the new name is served")
    assert served(gateway, "localhost") == der(first)


# Sessions


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=str)
def test_session_is_resumed_on_every_loop(start_gateway, tls, version):
    gateway = start_gateway(server={"tls": tls, "loops": 4})
    context = unchecked()
    context.minimum_version = context.maximum_version = version
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with handshake(gateway, "localhost", context=context) as connection:
        connection.sendall(request)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")  # TLS 1.3 sends the ticket first
        assert not connection.session_reused
        session = connection.session
    for _ in range(8):
        with handshake(gateway, "localhost", session, context) as connection:
            connection.sendall(request)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            assert connection.session_reused


def test_client_that_offers_only_http_2_is_refused(start_gateway, tls):
    gateway = start_gateway(server={"tls": tls})
    context = unchecked()
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        handshake(gateway, "localhost", context=context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with handshake(gateway, "localhost", context=context) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"


# Expiry


def test_expiry_of_each_certificate_is_a_metric(start_gateway, make, closing):
    pairs = [make("first", days=2), make("second", "ops.example.com", days=30)]
    gateway = start_gateway(server={"tls": pairs})
    metrics = scrape(closing(Api(gateway)))
    for pair in pairs:
        end = subprocess.run(
            ["openssl", "x509", "-enddate", "-noout", "-in", pair["certificate"]],
            check=True, capture_output=True, text=True).stdout.partition("=")[2].strip()
        label = f'{{certificate="{pair["certificate"]}"}}'
        assert ("fleetwire_tls_certificate_expiry_timestamp_seconds", label,
                ssl.cert_time_to_seconds(end)) in metrics.samples


# Unusable files


@pytest.fixture
def refuses(tmp_path):
    """Checks that `check-config` rejects a value of `server.tls`, and says why."""
    def check(value, *words: str) -> None:
        config = write_config(tmp_path / "fleetwire.yaml", server={"tls": value}, apps=[FIRST.entry()])
        expect_invalid_config("check-config", config, "server.tls", *words)

    return check


def test_encrypted_key_is_refused_without_asking_for_a_passphrase(make, refuses):
    pair = make("encrypted")
    key = Path(pair["key"])
    key.write_bytes(subprocess.run(
        ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret"],
        check=True, capture_output=True).stdout)
    refuses(pair, "expected a PEM private key without a passphrase")


def test_key_of_another_certificate_is_refused(make, refuses):
    pair = make("one") | {"key": make("other")["key"]}
    refuses(pair, "the private key does not belong to the certificate")


def test_file_without_a_certificate_is_refused(make, refuses):
    pair = make("one")
    refuses(pair | {"certificate": pair["key"]}, "expected a PEM certificate chain")


def test_pair_of_a_list_needs_both_files(make, refuses):
    pair = make("one")
    refuses([pair, {"certificate": pair["certificate"]}], "server.tls[1].key", "expected a file's path")
