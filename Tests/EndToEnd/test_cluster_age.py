"""A cluster that is older than its log keeps entries: the leader has deleted the oldest ones."""

import pytest

from harness.cluster import Cluster
from harness.cluster_fixtures import cluster, database, nats, postgres  # noqa: F401
from harness.fleet import Fleet, unique_id, wait_until
from harness.postgres import Postgres


def assign(closing, nodes: list) -> list[str]:
    """Assigns an order at each of the nodes, and returns the codes."""
    codes = []
    for node in nodes:
        codes.append(unique_id("O"))
        Fleet(node, closing).admin().assign(codes[-1], "d1")
    return codes


def let_age(database: Postgres, kept: int) -> None:
    """Makes all but the newest `kept` entries of the log too old, and waits until the leader has deleted them."""
    database.query("UPDATE cluster_log SET committed_at = committed_at - 700000 "
                   f"WHERE position <= (SELECT position FROM cluster_head) - {kept}")
    wait_until(lambda: database.query("SELECT COUNT(*) FROM cluster_log WHERE position <= "
                                      f"(SELECT position FROM cluster_head) - {kept}") == ["0"], "old entries are deleted")


def check(cluster: Cluster, closing, codes: list[str]) -> None:
    """Each node knows all orders, and what happens at each of them reaches the clients of all."""
    fleets = [Fleet(node, closing) for node in cluster.live]
    for fleet in fleets:
        admin = fleet.admin()
        assert {admin.get_order(code)["driverId"] for code in codes} == {"d1"}
    listeners = [fleet.listen(fleet.admin(), "admin-channel") for fleet in fleets]
    for code in assign(closing, cluster.live):
        for listener in listeners:
            while (event := listener.receive())["event"] != "order-assigned":
                pass
            assert code in event["data"]


@pytest.mark.parametrize("kept", [0, 2])
def test_a_node_starts_beside_others(cluster, closing, database, kept):
    codes = assign(closing, [cluster.start(), cluster.start()] * 3)
    let_age(database, kept)
    cluster.start()
    check(cluster, closing, codes)


@pytest.mark.parametrize("kept", [0, 2])
def test_nodes_start_after_a_stop_of_all(cluster, closing, database, kept):
    codes = assign(closing, [cluster.start(), cluster.start()] * 3)
    let_age(database, kept)
    for node in cluster.live:
        node.stop()
    cluster.start()
    cluster.start()
    check(cluster, closing, codes)
