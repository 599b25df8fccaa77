"""docs/metrics.md is the list of all families of /metrics."""

import re

from harness.api import Api
from harness.apps import FIRST
from harness.batches import batch_in, hire
from harness.client import Client
from harness.cluster import Cluster
from harness.codes import PROXY
from harness.deployed import DEPLOY
from harness.fleet import JWT, SECTIONS, report, token, unique_id
from harness.metrics import Metrics, scrape
from harness.nats import Nats
from harness.people import account_settings, key_server
from harness.postgres import Postgres
from harness.push import fcm
from harness.push.push_fleet import PushFleet
from harness.sms_adapter import Phone, SMSAdapter
from harness.webhook_receiver import webhook
from harness.wire import Wire, request
from test_address_limits import proxy_header

PREFIX = "fleetwire_"


def documented() -> dict[str, tuple[str, frozenset[str]]]:
    """Returns type and labels of each family, by name without prefix."""
    found = {}
    for line in (DEPLOY.parent / "docs/metrics.md").read_text().splitlines():
        if row := re.fullmatch(r"\| `([a-z_]+)` \| (\w+) \| ([^|]*) \| [^|]+\|", line):
            assert row[1] not in found, f"{row[1]} is listed twice"
            found[row[1]] = (row[2], frozenset(re.findall(r"`(\w+)`", row[3])))
    assert len(found) > 50
    return found


def labels(metrics: Metrics) -> dict[str, frozenset[str]]:
    """Returns the labels of each family that has samples."""
    found = {}
    for name, text, _ in metrics.samples:
        family = name if name in metrics.types else re.sub("_(bucket|sum|count)$", "", name)
        assert family in metrics.types, name
        names = frozenset(re.findall(r'(\w+)="', text)) - {"le"}
        assert found.setdefault(family.removeprefix(PREFIX), names) == names, name
    return found


def move_a_job(fleet: PushFleet) -> None:
    """A driver views, accepts and drives; another driver's device is gone."""
    driver = fleet.driver()
    fleet.android(driver)
    code, response = fleet.order(driver)
    notification = response["data"]["notificationIds"][0]
    fleet.wait_for_accepted(notification)
    for event in ("received", "action_view_now"):
        report(driver, notification, event)
    driver.accept(code)
    driver.progress(code, "en_route")
    fleet.fail_next_push(fleet.android(), fcm.error(404, "NOT_FOUND", "UNREGISTERED"))


def with_introspection(sections: dict) -> dict:
    """Adds the backend that knows opaque tokens; nothing asks it."""
    return sections | {"auth": sections["auth"] | {"introspection": {"url": "http://127.0.0.1:9/"}}}


def of_a_node(start_gateway, closing) -> Metrics:
    """The metrics of a node of a cluster."""
    cluster = Cluster(start_gateway, closing(Postgres()), closing(Nats()), sections=SECTIONS)
    return scrape(closing(Api(cluster.start())))


def behind_a_balancer(start_gateway, closing) -> Metrics:
    """The metrics of a gateway that has refused a connection without a PROXY header."""
    gateway = start_gateway(server={"proxy_protocol": True}, sections=SECTIONS)
    wire = closing(Wire(gateway))
    wire.send_ignoring_reset(request("GET", "/healthz"))
    assert wire.at_end()
    wire = closing(Wire(gateway))
    wire.send(proxy_header("203.0.113.1")
              + request("GET", "/metrics", headers=[f"Authorization: Bearer {token('ops', 'oz')}"]))
    return Metrics(wire.read_response().text)


def test_documented_families_are_all_families(start_push_fleet, start_gateway, tls,
                                              webhook_receiver, closing):
    """Everything is switched on, and happens, so that each family has a sample with its labels."""
    server, adapter = closing(key_server()), closing(SMSAdapter())
    fleet = start_push_fleet(
        server=PROXY, first={"webhooks": [webhook(webhook_receiver.url + "/hook")]},
        **with_introspection(account_settings(server, JWT)), otp={"enabled": True, "sms": adapter.settings()})
    listener = fleet.listen(fleet.dispatcher, "admin-channel")
    move_a_job(fleet)
    batch_in("COMPLETED", fleet.dispatcher, closing(hire(fleet.gateway, fleet.dispatcher)))
    closing(Phone(fleet.gateway, adapter)).sign_in()
    fleet.dispatcher.request("GET", f"/api/{unique_id()}")
    code, _ = closing(Client.dial(fleet.gateway, "unknown")).expect_close()
    assert code == 4001
    listener.close()
    refused = closing(Client.connect(fleet.gateway))
    refused.send_subscribe("private-x")
    refused.expect_rejection("private-x")
    legacy = {"pattern": "driver-*", "access": "own-driver", "legacy": {"keys": [FIRST.key]}}
    secure = closing(Api(start_gateway(server={"tls": tls}, sections={"channels": [legacy]})))

    found = {}
    for metrics in (fleet.metrics(), scrape(secure), behind_a_balancer(start_gateway, closing), of_a_node(start_gateway, closing)):
        for name, names in labels(metrics).items():
            kind = metrics.types[PREFIX + name]
            assert found.setdefault(name, (kind, names)) == (kind, names), name
        assert metrics.types.keys() <= {PREFIX + name for name in documented()}
    assert found == documented()
