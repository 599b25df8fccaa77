"""Faults of a cluster, and what their tests look at."""

import json
import subprocess
import threading
from collections.abc import Callable

from .client import Client
from .cluster import Cluster, frozen, wait_for_bus
from .cluster_load import Load
from .postgres import Postgres
from .webhook_receiver import WebhookReceiver


def pause(seconds: float) -> None:
    """The length of a fault, which the test is about."""
    threading.Event().wait(seconds)


def kill_and_start(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.live[0].kill()
        load.wait_for_more()
        load.listen(cluster.start())
        load.wait_for_more()


def freeze_node(seconds: float) -> Callable:
    def fault(cluster: Cluster, load: Load) -> None:
        with frozen(cluster.live[0]):
            pause(seconds)
        load.wait_for_more()

    return fault


def restart_nats(cluster: Cluster, load: Load) -> None:
    for _ in range(2):
        cluster.nats.kill()
        wait_for_bus(*cluster.live, is_away=True)
        load.wait_for_more()
        cluster.nats.start()
        wait_for_bus(*cluster.live, is_away=False)
        load.wait_for_more()


def freeze_nats(cluster: Cluster, load: Load) -> None:
    cluster.nats.freeze()
    wait_for_bus(*cluster.live, is_away=True, seconds=5)
    load.wait_for_more()
    cluster.nats.thaw()
    wait_for_bus(*cluster.live, is_away=False)
    load.wait_for_more()


def restart_postgres(cluster: Cluster, load: Load) -> None:
    cluster.postgres.stop()
    load.wait_for_refusals()
    cluster.postgres.start()
    load.wait_for_more()


def kill_postgres(cluster: Cluster, load: Load) -> None:
    cluster.postgres.kill()
    load.wait_for_refusals()
    cluster.postgres.start()
    load.wait_for_more()


def freeze_postgres(cluster: Cluster, load: Load) -> None:
    cluster.postgres.freeze()
    load.wait_for_refusals()
    cluster.postgres.thaw()
    load.wait_for_more()


def lose_both(cluster: Cluster, load: Load) -> None:
    cluster.nats.kill()
    load.wait_for_more()
    cluster.postgres.kill()
    load.wait_for_refusals()
    cluster.postgres.start()
    load.wait_for_more()
    cluster.nats.start()
    load.wait_for_more()


FAULTS = {"kill_and_start": kill_and_start, "freeze_node_3s": freeze_node(3), "freeze_node_10s": freeze_node(10),
          "restart_nats": restart_nats, "freeze_nats": freeze_nats, "restart_postgres": restart_postgres,
          "kill_postgres": kill_postgres, "freeze_postgres": freeze_postgres, "lose_both": lose_both}


def hold_head(database: Postgres, release: threading.Event) -> None:
    """Locks the cluster's row until the event is set, as the transaction of a node does that is slow."""
    with subprocess.Popen([database.bin / "psql", "--quiet", database.url], stdin=subprocess.PIPE, text=True) as session:
        session.stdin.write("BEGIN; SELECT FROM cluster_head FOR UPDATE;\n")
        session.stdin.flush()
        release.wait(10)
        session.stdin.close()


def presence_of(client: Client, channel: str, users: set[str], seconds: float = 15) -> list[dict]:
    """Receives changes of the members until these are there. Returns the changes."""
    found, changes = set(client.members), []
    while found != users:
        message = client.receive()
        user = json.loads(message["data"])["user_id"]
        changes.append(message)
        if message["event"] == "pusher_internal:member_added":
            assert user not in found, f"added twice: {changes}"
            found.add(user)
        else:
            assert message["event"] == "pusher_internal:member_removed" and user in found, f"removed twice: {changes}"
            found.remove(user)
    client.members = found
    return changes


def joined(closing, node, user: str, channel: str = "presence-room") -> Client:
    client = closing(Client.connect(node))
    client.members = set(client.join(channel, user)["ids"])
    return client


def edges(receiver: WebhookReceiver, channel: str, count: int) -> list[str]:
    """Returns the next edges of a channel, with users."""
    found = []
    while len(found) < count:
        event = receiver.events["/edges", channel].get(timeout=15)
        found.append(" ".join([event["name"], *([event["user_id"]] if "user_id" in event else [])]))
    return found
