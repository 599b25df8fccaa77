"""A cluster that is older than its log keeps entries."""

import contextlib
import itertools
from pathlib import Path

from ..cluster import Cluster
from ..fleet import SECTIONS, Fleet, unique_id, wait_until
from ..gateway import Gateway
from ..nats import Nats
from ..postgres import Postgres

# Older than the leader keeps entries, in milliseconds.
AGE = 700_000


def let_age(database: Postgres, kept: int) -> None:
    """Makes all but the newest `kept` entries of the log too old, and waits until the leader has deleted them."""
    database.query(f"UPDATE cluster_log SET committed_at = committed_at - {AGE} "
                   f"WHERE position <= (SELECT position FROM cluster_head) - {kept}")
    wait_until(lambda: database.query("SELECT COUNT(*) FROM cluster_log WHERE position <= "
                                      f"(SELECT position FROM cluster_head) - {kept}") == ["0"], "old entries are deleted")


def assign(nodes: list[Gateway], closing) -> list[str]:
    """Assigns an order at each of the nodes, and returns the codes."""
    codes = []
    for node in nodes:
        codes.append(unique_id("O"))
        Fleet(node, closing).admin().assign(codes[-1], "d1")
    return codes


def check(cluster: Cluster, closing, codes: list[str]) -> None:
    """Each node knows all orders, and what happens at each of them reaches the clients of all."""
    fleets = [Fleet(node, closing) for node in cluster.live]
    for fleet in fleets:
        admin = fleet.admin()
        assert {admin.get_order(code)["driverId"] for code in codes} == {"d1"}
    listeners = [fleet.listen(fleet.admin(), "admin-channel") for fleet in fleets]
    for code in assign(cluster.live, closing):
        for listener in listeners:
            while (event := listener.receive())["event"] != "order-assigned":
                pass
            assert code in event["data"]


def check_aged_cluster(folder: Path) -> list[str]:
    """Two nodes let their log age; a third starts beside them, and then all again. Returns the problems."""
    with contextlib.ExitStack() as stack:
        postgres, nats = stack.enter_context(Postgres()), stack.enter_context(Nats())
        numbers = itertools.count(1)

        def start(name: str, **settings) -> Gateway:
            gateway = Gateway(folder / f"{name}-{next(numbers)}", **settings)
            stack.callback(gateway.kill)
            return gateway

        def closing(thing):
            return stack.enter_context(contextlib.closing(thing))

        try:
            cluster = Cluster(start, postgres, nats, sections=SECTIONS)
            codes = assign([cluster.start(), cluster.start()] * 3, closing)
            let_age(postgres, kept=0)
            cluster.start()
            check(cluster, closing, codes)
            let_age(postgres, kept=0)
            for node in cluster.live:
                node.stop()
            cluster.start()
            check(cluster, closing, codes)
        except (AssertionError, OSError) as error:
            return [f"a cluster with an old log: {error}"]
    print("a cluster with an old log: a node started beside others, and alone")
    return []

