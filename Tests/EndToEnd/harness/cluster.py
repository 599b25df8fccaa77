"""Several gateways on one database and one bus."""

import itertools
from collections.abc import Callable

from .api import Api
from .fleet import wait_until
from .gateway import Gateway
from .metrics import scrape
from .nats import Nats
from .postgres import Postgres

KEYS = [{"id": "e2e", "key": "ZTJlLWtleS1lMmUta2V5LWUyZS1rZXktZTJlLWtleS0="}]


class Cluster:
    """Starts nodes of a cluster, and knows those that run."""

    def __init__(self, start_gateway: Callable, postgres: Postgres, nats: Nats, **settings):
        self.start_gateway, self.postgres, self.nats = start_gateway, postgres, nats
        self.settings = settings
        self.numbers = itertools.count(1)
        self.nodes: list[Gateway] = []

    def start(self, nats: str | None = None, cluster: dict | None = None, **more) -> Gateway:
        """Starts a node, and waits until the others know it. `nats` is another URL of the bus."""
        name = f"n{next(self.numbers)}"
        settings = self.settings | more
        sections = settings.pop("sections", {})
        gateway = self.start_gateway(
            name, **settings,
            sections=sections | {
                "store": {"url": self.postgres.url, "encryption_keys": KEYS} | sections.get("store", {}),
                "cluster": {"nats": [nats or self.nats.url], "node": name} | (cluster or {})})
        self.nodes.append(gateway)
        self.wait_for(len(self.live))
        return gateway

    @property
    def live(self) -> list[Gateway]:
        return [node for node in self.nodes if node.process.poll() is None]

    def wait_for(self, count: int, *nodes: Gateway) -> None:
        """Waits until each of the nodes knows this number of nodes."""
        for node in nodes or self.live:
            wait_until(lambda: count_of_nodes(node) == count, f"{count} nodes of the cluster")


def count_of_nodes(gateway: Gateway) -> int:
    api = Api(gateway)
    try:
        return int(scrape(api).total("fleetwire_cluster_nodes"))
    finally:
        api.close()
