"""What operators see of a cluster: connections, figures and metrics of all nodes."""

import contextlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.api import Api
from harness.client import Client
from harness.cluster import Cluster, frozen
from harness.cluster_fixtures import database, nats, postgres  # noqa: F401
from harness.console_fixtures import browser, open_console  # noqa: F401
from harness.fleet import SECTIONS, TIMESTAMP, Fleet, token, unique_id, wait_until
from harness.gateway import expect_invalid_config, run, write_config
from harness.metrics import scrape

SETTINGS = {"sections": SECTIONS}
PATH = "/api/ops/connections"
PAGE = f"{PATH}?cluster=true"


@pytest.fixture
def cluster(start_gateway, database, nats):
    return Cluster(start_gateway, database, nats, sections=SECTIONS)


@pytest.fixture
def nodes(cluster):
    return [cluster.start() for _ in range(3)]


@pytest.fixture
def operators(nodes, closing):
    """An operator at each node."""
    return [Fleet(node, closing).ops() for node in nodes]


@pytest.fixture
def clients(nodes, closing):
    """Subscribers of `news`, in the order in which they came, each with the name of its node."""
    found = []
    for number in range(9):
        client = closing(Client.connect(nodes[number % 3]))
        client.subscribe("news")
        found.append((client, f"n{number % 3 + 1}"))
    return found


def rows(operator, query: str = "") -> list[dict]:
    return operator.expect_ok("GET", PAGE + query)["connections"]


def sockets(connections: list[dict]) -> list[str]:
    return [each["socketId"] for each in connections]


# Connections.


def test_each_node_lists_the_connections_of_all(operators, clients):
    expected = {(client.socket_id, node) for client, node in clients}
    for operator in operators:
        found = rows(operator, "&channel=news")
        assert {(each["socketId"], each["node"]) for each in found} == expected
        since = [each["since"] for each in found]
        assert since == sorted(since, reverse=True)
    for each in found:
        assert TIMESTAMP.fullmatch(each["since"]) and TIMESTAMP.fullmatch(each["lastSeenAt"])
        assert each["channels"] == ["news"] and each["address"] == "127.0.0.0/24" and "loop" in each
    # Without the parameter, only those of the node that answers.
    own = operators[1].expect_ok("GET", f"{PATH}?channel=news")["connections"]
    assert set(sockets(own)) == {client.socket_id for client, node in clients if node == "n2"}
    assert all("node" not in each for each in own)


@pytest.mark.parametrize("limit", [1, 2, 4, 9, 200])
def test_pages_have_each_connection_once_in_one_order(operators, clients, limit):
    whole = sockets(rows(operators[0], "&channel=news"))
    found, query, turn = [], "", 0
    while True:
        # Whichever node answers the next page.
        page = operators[turn % 3].expect_ok("GET", f"{PAGE}&channel=news&limit={limit}{query}")
        assert len(page["connections"]) <= limit
        found += sockets(page["connections"])
        if "next" not in page:
            break
        query, turn = f"&before={page['next']}", turn + 1
    assert found == whole and len(whole) == len(clients)


def test_a_page_begins_behind_a_connection_of_any_node(operators, clients):
    whole = sockets(rows(operators[0], "&channel=news"))
    for index, socket in enumerate(whole):
        behind = rows(operators[index % 3], f"&channel=news&before={socket}")
        assert sockets(behind) == whole[index + 1:]


def test_a_page_begins_behind_a_connection_that_has_closed(operators, clients):
    first = operators[0].expect_ok("GET", f"{PAGE}&channel=news&limit=4")
    [last] = [client for client, _ in clients
              if client.socket_id == first["connections"][-1]["socketId"]]
    rest = sockets(rows(operators[1], f"&channel=news&before={first['next']}"))
    last.close()
    wait_until(lambda: last.socket_id not in sockets(rows(operators[0], "&channel=news")), "it is closed")
    assert sockets(rows(operators[2], f"&channel=news&before={first['next']}")) == rest
    assert "closed" in operators[2].expect_error(400, "GET", f"{PAGE}&before={last.socket_id}")


def test_users_are_found_on_any_node(nodes, operators, closing):
    driver = Fleet(nodes[0], closing).driver()
    there = [Fleet(node, closing) for node in nodes[:2]]
    clients = [fleet.listen(fleet.driver(driver.subject), f"driver-{driver.subject}") for fleet in there]
    for user in (driver.subject, f"driver:{driver.subject}"):
        found = rows(operators[2], f"&user={user}")
        assert {(each["socketId"], each["node"]) for each in found} == {
            (client.socket_id, f"n{number}") for number, client in enumerate(clients, 1)}
        assert all(each["user"] == f"driver:{driver.subject}" for each in found)
    assert rows(operators[2], f"&user={unique_id('none')}") == []


def test_a_position_of_another_list_is_refused(operators, clients):
    one = operators[0].expect_ok("GET", f"{PATH}?limit=1")["next"]
    every = operators[0].expect_ok("GET", f"{PAGE}&limit=1")["next"]
    assert "next of a page of all nodes" in operators[0].expect_error(400, "GET", f"{PAGE}&before={one}")
    assert "next of a page of one node" in operators[0].expect_error(400, "GET", f"{PATH}?before={every}")
    for query in ("before=x", "before=all-1", "channel=%20", "limit=0", "limit=201"):
        assert "Expected" in operators[0].expect_error(400, "GET", f"{PAGE}&{query}")


def test_long_lists_come_whole(nodes, closing):
    """The part of a node is larger than a message of NATS."""
    names = [f"{number:03}-{'x' * 150}" for number in range(100)]
    clients = [closing(Client.connect(nodes[0])) for _ in range(70)]
    for client in clients:
        for name in names:
            client.send_subscribe(name)
        for name in names:
            client.expect("pusher_internal:subscription_succeeded", channel=name)
    found = rows(Fleet(nodes[1], closing).ops(), f"&channel={names[0]}&limit=200")
    assert sorted(sockets(found)) == sorted(client.socket_id for client in clients)
    assert all(sorted(each["channels"]) == names for each in found)


def test_a_silent_node_makes_the_list_fail(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 20}) for _ in range(2))
    ops, client = Fleet(first, closing).ops(), closing(Client.connect(second))
    with frozen(second):
        for query in ("", f"&before={client.socket_id}"):
            response = ops.request("GET", PAGE + query)
            assert response.status == 503 and response.headers["retry-after"] == "1"
            assert response.json() == {"error": "A node of the cluster does not answer: try again"}
        assert ops.request("GET", PATH).status == 200
    wait_until(lambda: ops.request("GET", PAGE).status == 200, "the node answers again")
    assert client.socket_id in sockets(rows(ops))


def test_a_killed_node_is_soon_not_asked(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 1}) for _ in range(2))
    ops, client = Fleet(first, closing).ops(), closing(Client.connect(first))
    second.kill()
    wait_until(lambda: ops.request("GET", PAGE).status == 200, "the others answer without it")
    assert [each["node"] for each in rows(ops)] == ["n1"] and sockets(rows(ops)) == [client.socket_id]


def test_one_gateway_lists_its_own(fleet, connect):
    client = connect()
    [found] = [each for each in rows(fleet.ops()) if each["socketId"] == client.socket_id]
    assert "node" not in found


def test_only_operators_may_list(nodes, closing):
    fleet = Fleet(nodes[0], closing)
    for caller in (fleet.driver(), fleet.customer()):
        caller.expect_error(403, "GET", PAGE)
    fleet.caller().expect_error(401, "GET", PAGE)
    assert rows(fleet.admin()) == []


# Figures.


def test_figures_tell_what_each_node_has(operators, clients):
    clients[0][0].close()
    wait_until(lambda: len(rows(operators[0])) == 8, "it is closed")
    for index, operator in enumerate(operators):
        sums = operator.expect_ok("GET", "/api/ops/stats?cluster=true")
        assert [(each["node"], each["connections"], each["subscriptions"]) for each in sums["nodes"]] == [
            ("n1", 2, 2), ("n2", 3, 3), ("n3", 3, 3)]
        assert sums["connections"] == sum(each["connections"] for each in sums["nodes"]) == 8
        assert sums["opened"] == sum(each["opened"] for each in sums["nodes"])
        loops = [each["node"] for each in sums["loops"]]
        assert loops == sorted(loops) and set(loops) == {"n1", "n2", "n3"}
        [own] = operator.expect_ok("GET", "/api/ops/stats")["nodes"]
        assert own["node"] == f"n{index + 1}" and own["connections"] == sums["nodes"][index]["connections"]


def test_figures_of_one_gateway_have_no_nodes(fleet):
    for query in ("", "?cluster=true"):
        stats = fleet.ops().expect_ok("GET", f"/api/ops/stats{query}")
        assert "nodes" not in stats and all("node" not in loop for loop in stats["loops"])


def test_top_shows_the_nodes(nodes, clients):
    done = run("top", "--once", "--config", nodes[1].config, "--url", nodes[1].url)
    assert done.returncode == 0, done
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["connections", "now", "9"] in [line[:3] for line in lines]
    assert [line[:3] for line in lines if line[:1] in (["n1"], ["n2"], ["n3"]) and len(line) == 6] == [
        ["n1", "3", "3"], ["n2", "3", "3"], ["n3", "3", "3"]]
    # Their loops, with the connections of each.
    loops = [line for line in lines if line[:1] in (["n1"], ["n2"], ["n3"]) and len(line) > 6]
    assert {line[0] for line in loops} == {"n1", "n2", "n3"} and sum(int(line[2]) for line in loops) == 9


def test_top_tells_that_a_node_is_silent(cluster):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 20}) for _ in range(2))
    with frozen(second):
        done = run("top", "--once", "--config", first.config, "--url", first.url)
    assert done.returncode == 1 and "A node of the cluster does not answer" in done.stderr, done


def test_the_console_shows_the_nodes_and_all_connections(nodes, clients, open_console):
    ops = open_console(nodes[2]).sign_in(token("ops", "oz"))
    # The console's own connection, too.
    rows = ops.wait_for_rows("Nodes", "rows.length === 3 && rows[2].Connections === '4'")
    assert [(row["Node"], row["Connections"]) for row in rows] == [("n1", "3"), ("n2", "3"), ("n3", "4")]
    ops.wait_for_text("All other figures of this page are those of n3, which answers it.")
    ops.wait_for_rows("Nodes", "rows.every((row) => row['Requests per second'] !== '')")
    ops.go("connections?channel=news")
    rows = ops.wait_for_rows("Connections", "rows.length === 9")
    assert {(row["Socket"], row["Node"]) for row in rows} == {
        (client.socket_id, node) for client, node in clients}


def test_the_console_tells_that_a_node_is_silent(cluster, open_console):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 30}) for _ in range(2))
    ops = open_console(first).sign_in(token("ops", "oz"))
    ops.wait_for_rows("Nodes", "rows.length === 2")
    with frozen(second):
        ops.wait_for_text("A node of the cluster does not answer.")
        ops.go("connections").wait_for_text("A node of the cluster does not answer: try again")
        ops.go("overview")
    ops.wait_for("!document.body.innerText.includes('does not answer')", "it answers again")


def test_the_console_of_one_gateway_has_no_nodes(gateway, open_console):
    ops = open_console(gateway).sign_in(token("ops", "oz"))
    ops.wait_for_rows("Push lanes", "rows.length > 0")
    assert ops.rows("Nodes") == []
    ops.go("connections").wait_for_rows("Connections", "rows.length === 1")
    assert "Loop" in ops.run("visible('th').map((cell) => cell.textContent)")
    assert "Node" not in ops.run("visible('th').map((cell) => cell.textContent)")


# Metrics.


def test_the_time_to_know_a_channels_members_is_measured(nodes, closing):
    apis = [closing(Api(node)) for node in nodes]
    before = [scrape(api).total("fleetwire_cluster_sync_seconds_count") for api in apis]
    closing(Client.connect(nodes[0])).join("presence-room", "ann")
    seen = closing(Client.connect(nodes[1])).join("presence-room", "bob")
    assert set(seen["hash"]) == {"ann", "bob"}
    after = [scrape(api) for api in apis]
    counts = [metrics.total("fleetwire_cluster_sync_seconds_count") for metrics in after]
    # The first node asks once more when another one has subscribers.
    assert counts[0] > before[0] and counts[1:] == [before[1] + 1, before[2]]
    assert after[1].types["fleetwire_cluster_sync_seconds"] == "histogram"
    assert 0 <= after[1].total("fleetwire_cluster_sync_seconds_sum") < 2


def test_a_silent_node_is_no_measured_time(cluster, closing):
    first, second = (cluster.start(cluster={"heartbeat_seconds": 20}) for _ in range(2))
    client, api = closing(Client.connect(first)), closing(Api(first))
    with frozen(second):
        client.join("presence-room", "ann")
        assert scrape(api).total("fleetwire_cluster_sync_seconds_count") == 0


# The connections to the database.


def with_pool(count: int) -> dict:
    return SECTIONS | {"store": {"pool": count}}


@contextlib.contextmanager
def locked(database, table: str):
    """Lets all reads of a table wait."""
    with subprocess.Popen([database.bin / "psql", "--quiet", "--no-align", "--tuples-only", database.url],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as session:
        session.stdin.write(f"BEGIN; LOCK TABLE {table}; SELECT 'locked';\n")
        session.stdin.flush()
        assert session.stdout.readline() == "locked\n"
        yield  # the end of the session ends the lock


def sessions(database) -> int:
    [count] = database.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fleetwire'")
    return int(count)


def test_the_pool_is_the_number_of_reading_sessions(cluster, database):
    counts = []
    for pool in (1, 5):
        node = cluster.start(sections=with_pool(pool))
        counts.append(sessions(database))
        node.stop()
        wait_until(lambda: sessions(database) == 0, "the node's sessions have ended")
    assert counts[1] - counts[0] == 4


def test_a_read_that_waits_does_not_delay_others(cluster, database, closing):
    """One reader's regular counts wait for the lock, another's list; a third one is free."""
    fleet = Fleet(cluster.start(sections=with_pool(3)), closing)
    code = unique_id("o")
    fleet.admin().assign(code, fleet.driver().subject)
    with ThreadPoolExecutor(1) as threads, locked(database, "notifications"):
        waiting = threads.submit(fleet.ops().request, "GET", "/api/ops/notifications?limit=1")
        for _ in range(10):
            assert fleet.admin().expect_ok("GET", f"/api/admin/orders/{code}")
        assert not waiting.done()
    assert waiting.result().status in (200, 503)


def test_the_metric_counts_the_reads_that_wait(cluster, database, closing):
    node = cluster.start(sections=with_pool(1))
    fleet, api = Fleet(node, closing), closing(Api(node))
    assert scrape(api).types["fleetwire_store_pool_waiting"] == "gauge"
    wait_until(lambda: scrape(api).total("fleetwire_store_pool_waiting") == 0, "nothing waits")
    callers = [fleet.ops() for _ in range(6)]
    with ThreadPoolExecutor(len(callers)) as threads:
        with locked(database, "notifications"):
            waiting = [threads.submit(each.request, "GET", "/api/ops/notifications?limit=1") for each in callers]
            # The thread has taken one of them, or counts.
            wait_until(lambda: scrape(api).total("fleetwire_store_pool_waiting") >= 5, "they wait")
        assert all(each.result().status in (200, 503) for each in waiting)
    assert scrape(api).total("fleetwire_store_pool_waiting") == 0


def test_a_file_has_no_pool(api):
    assert "fleetwire_store_pool_waiting" not in scrape(api).types


@pytest.mark.parametrize("count", [0, 65, "many"])
def test_a_pool_of_another_size_is_refused(tmp_path, count):
    config = write_config(tmp_path / "fleetwire.yaml", store={"pool": count})
    expect_invalid_config("check-config", config, "store.pool: expected")
