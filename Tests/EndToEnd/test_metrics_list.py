"""docs/metrics.md is the list of all families of /metrics."""

import re
from contextlib import closing as closed

from harness.api import Api
from harness.deployed import DEPLOY
from harness.fleet import JWT, report, unique_id
from harness.metrics import Metrics, scrape
from harness.people import account_settings, key_server

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


def test_all_families_are_documented(start_push_fleet, start_gateway, tls, closing):
    with closed(key_server()) as server:
        settings = account_settings(server, JWT)
        fleet = start_push_fleet(auth=settings["auth"], accounts=settings["accounts"])
        driver = fleet.driver()
        fleet.android(driver)
        _, response = fleet.order(driver)
        notification = response["data"]["notificationIds"][0]
        fleet.wait_for_accepted(notification)
        for event in ("received", "action_view_now"):
            report(driver, notification, event)
        client = fleet.listen(fleet.dispatcher, "admin-channel")
        client.close()
        fleet.dispatcher.request("GET", f"/api/{unique_id()}")
        scrapes = [fleet.metrics(), scrape(closing(Api(start_gateway(server={"tls": tls}))))]
    types = {name.removeprefix(PREFIX): kind
             for metrics in scrapes for name, kind in metrics.types.items()}
    assert types == {name: kind for name, (kind, _) in documented().items()}
    for metrics in scrapes:
        for name, found in labels(metrics).items():
            assert found == documented()[name][1], name
    assert all(name.startswith(PREFIX) for metrics in scrapes for name in metrics.types)
