"""A proxy of TCP that ends TLS, and says so in the extension of the PROXY protocol's header (PP2_TYPE_SSL, `send-proxy-v2-ssl`
of haproxy).
"""

import pytest

from harness.apps import FIRST
from harness.proxy_fixtures import EXTENDED, through  # noqa: F401
from harness.wire import Wire, upgrade

TARGET = f"/app/{FIRST.key}?protocol=7"


@pytest.mark.parametrize("kind", EXTENDED)
def test_the_extension_disturbs_nobody(through, closing, kind):  # noqa: F811
    assert closing(Wire(through(kind))).open(TARGET)["socket_id"]


def test_apps_for_tls_only_refuse_clients_without_tls(through, closing):  # noqa: F811
    wire = closing(Wire(through("haproxy PROXY ssl", first={"tls_only": True})))
    wire.send(upgrade(TARGET))
    assert wire.read_response().status == 101
    assert wire.close_code() == 4000


def test_apps_for_tls_only_accept_clients_with_tls(through, closing):  # noqa: F811
    assert closing(Wire(through("haproxy tls PROXY ssl", first={"tls_only": True}))).open(TARGET)["socket_id"]
