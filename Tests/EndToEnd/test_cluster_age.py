"""A cluster that is older than its log keeps entries: the leader has deleted the oldest ones."""

import pytest

from harness.aged.cluster import assign, check, let_age
from harness.cluster_fixtures import cluster, database, nats, postgres  # noqa: F401


@pytest.mark.parametrize("kept", [0, 2])
def test_a_node_starts_beside_others(cluster, closing, database, kept):
    codes = assign([cluster.start(), cluster.start()] * 3, closing)
    let_age(database, kept)
    cluster.start()
    check(cluster, closing, codes)


@pytest.mark.parametrize("kept", [0, 2])
def test_nodes_start_after_a_stop_of_all(cluster, closing, database, kept):
    codes = assign([cluster.start(), cluster.start()] * 3, closing)
    let_age(database, kept)
    for node in cluster.live:
        node.stop()
    cluster.start()
    cluster.start()
    check(cluster, closing, codes)
