"""Measures a cluster beside a single gateway: nodes, database, bus and load on the same cores.

Usage: cluster.py BINARY [ROUNDS]. Each round measures every setup, in turn, because the machine's speed varies; the table
has the medians of the rounds, and in parentheses the medians of their ratios to the single gateway. Costs are CPU times of the
servers, which the load's own does not spoil. Actions per second are those of the best round, because whatever else the
machine does makes them fewer. Exits with 1 if a bound is not met. Needs gcc, PostgreSQL and nats-server.

- *publishes*: signed publishes to 1,000 channels with one subscriber each, by 16 publishers, all spread over the nodes;
- *deliveries*: events to 1,000 subscribers of one channel, spread over the nodes; each event after the one before has
  reached all, so that no two share a write;
- *live*: the time from a subscription to its confirmation; each channel is new, and the client subscribes to one after the other;
- *signatures*: requests to `/pusher/auth` at all nodes, for a connection of the first;
- *10,000 channels*: 10,000 connections, each of which subscribes to a channel of its own;
- *another node*: with 10,000 channels whose subscribers are counted, the longest time until a subscription is confirmed while
  another node joins, and from its kill until the others have given it up;
- *actions*: assignments of new orders, by 96 dispatchers with one request in flight each, spread over the nodes: on the
  disk as it is, then with all files in memory and each sync delayed (syncdelay.c);
- *takeover*: after the node that leads was killed.

A gateway has one loop. The single gateway keeps its store in an SQLite file.
"""

import itertools
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

os.environ["FLEETWIRE_BINARY"] = sys.argv[1]
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "Tests/EndToEnd"))
sys.dont_write_bytecode = True

from client import Connections, assignment, request, token  # noqa: E402
from harness.cluster_messages import channel_subject  # noqa: E402
from harness.nats_client import NatsClient  # noqa: E402
from harness.tokens import SECRET  # noqa: E402
from setups import Disk, Load, Setup, Spent  # noqa: E402
from subscribers import Subscribers, Waits, live_times  # noqa: E402
from takeover import takeover_times  # noqa: E402

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("BENCH_RUNS") or 3)
PUBLISHERS, DISPATCHERS, SECONDS = 16, 96, 3.0
ADMIN = token(SECRET, "admin", "bench")
# The number of nodes of each setup; 0: a single gateway without a cluster.
SETUPS = 0, 1, 2, 3
# By number of nodes and measure: the values of the rounds.
values = defaultdict(list)


def note(nodes, **measured):
    for name, value in measured.items():
        values[nodes, name].append(value)


# The measures


def measure_publishes(nodes, setup):
    load = Load(setup, channels=1_000, subscribers=1_000, publishers=PUBLISHERS)
    count = 20_000
    requests = random.Random(count).choices(load.requests, k=count)
    with Spent(setup) as spent:
        load.publish(requests)
    note(nodes, publishes=count / spent.gateways, publish_us=spent.microseconds(count))
    if nodes:
        listener = NatsClient(setup.nats)
        listener.subscribe(channel_subject("bench-00000"))
        load.publish(load.requests[:1])
        note(nodes, envelope=len(listener.receive()[1]) - load.frame)
        listener.close()
    load.close()


def measure_deliveries(nodes, setup):
    load = Load(setup, channels=1, subscribers=1_000, publishers=len(setup.ports))
    count = 300
    with Spent(setup) as spent:
        load.publish_in_turn(count)
    note(nodes, deliveries=count * 1_000 / spent.gateways, deliveries_all=count * 1_000 / spent.all)
    load.close()


def measure_live(nodes, setup):
    times = sorted(live_times(500, *setup.ports))
    note(nodes, live=[statistics.median(times) * 1e3, times[len(times) * 99 // 100] * 1e3])


def measure_signatures(nodes, setup):
    subscribers, connections = Subscribers(1, setup.ports[0]), Connections(PUBLISHERS, *setup.ports)
    socket_id = re.search(rb'socket_id\\":\\"([\d.]+)', subscribers.all[0].received)[1].decode()
    form = request("/pusher/auth", ADMIN, f"socket_id={socket_id}&channel_name=private-admin-channel",
                   kind="application/x-www-form-urlencoded")
    count = 10_000
    with Spent(setup) as spent:
        connections.run(itertools.repeat(form, count))
    note(nodes, signature_us=spent.microseconds(count))
    subscribers.close()
    connections.close()


def measure_crowd(nodes, setup):
    gateways, bus = setup.resident_bytes()
    note(nodes, start_memory=[gateways / len(setup.ports) / 2**20, bus / 2**20])
    load = Load(setup, channels=10_000, subscribers=10_000, publishers=PUBLISHERS)
    count, seconds = 20_000, 3
    requests = random.Random(count).choices(load.requests, k=count)
    with Spent(setup) as spent:
        load.publish(requests)
    with Spent(setup) as idle:
        load.wait(seconds)
    note(nodes, crowd_seconds=load.seconds, crowd_memory=load.memory, crowd_us=spent.microseconds(count),
         crowd_idle=idle.gateways / seconds / len(setup.ports) * 100)
    load.close()


def measure_changes(nodes, setup):
    subscribers = Subscribers(10_000, *setup.ports)
    subscribers.subscribe(f"bench-{number:05}" for number in range(10_000))
    port = setup.ports[0]
    with Waits(port) as joining:
        another = setup.cluster.start()
    note(nodes, gaps=setup.total("cluster_gaps_total"))
    with Waits(port) as leaving:
        another.kill()
        setup.cluster.wait_for(nodes)
    note(nodes, changes=[joining.longest * 1e3, leaving.longest * 1e3])
    subscribers.close()


def measure_actions(nodes, setup, disk):
    connections = Connections(DISPATCHERS, *setup.ports)
    before = action_figures(setup)
    with Spent(setup) as spent:
        count, seconds = connections.run((assignment(number, ADMIN) for number in itertools.count()), SECONDS)
    connections.close()
    transactions, *growth = (after - before for before, after in zip(before, action_figures(setup)))
    note(nodes, **{f"actions {disk.name}": count / seconds, f"action_cpu {disk.name}": count / spent.all,
                   f"action_us {disk.name}": spent.microseconds(count), f"batch {disk.name}": count / transactions})
    if setup.postgres:
        sessions = setup.postgres.query("SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'")
        note(nodes, sessions=int(sessions[0]) / nodes)
        milliseconds = float(setup.postgres.query("SELECT wal_sync_time / wal_sync FROM pg_stat_wal")[0])
        note(nodes, growth=[size / count for size in growth], **{f"sync {disk.name}": milliseconds})


def action_figures(setup):
    """Transactions; and with a database its bytes, those of its write-ahead log, and those that were sent to the bus."""
    transactions = setup.total("store_commit_seconds_count")
    if not setup.postgres:
        return [transactions]
    sizes = setup.postgres.query("SELECT pg_database_size(current_database()), pg_current_wal_insert_lsn() - '0/0'")
    return [transactions, *map(float, sizes[0].split("|")), setup.total("cluster_bytes_total", direction="out")]


def measure(disks):
    for nodes in SETUPS:
        with Setup(nodes, disks[0]) as setup:
            measure_publishes(nodes, setup)
            measure_deliveries(nodes, setup)
            measure_live(nodes, setup)
            measure_signatures(nodes, setup)
            measure_actions(nodes, setup, disks[0])
            note(nodes, gaps=setup.total("cluster_gaps_total"))
            if nodes == 3:
                note(nodes, takeover=takeover_times(setup, ADMIN))
        for disk in disks[1:]:
            with Setup(nodes, disk) as setup:
                measure_actions(nodes, setup, disk)
    for nodes in (0, 3):
        with Setup(nodes, disks[0]) as setup:
            measure_crowd(nodes, setup)
            note(nodes, gaps=setup.total("cluster_gaps_total"))
    with Setup(3, disks[0], first={"subscription_counts": True}) as setup:
        measure_changes(3, setup)


# The table


def median(nodes, name):
    """The median of a measure over the rounds; a list of medians if it has several parts."""
    rounds = values[nodes, name]
    return [statistics.median(part) for part in zip(*rounds)] if isinstance(rounds[0], list) else statistics.median(rounds)


def cells(name, form):
    """A row's cells: medians in a text with places for them, or what a function makes of them; empty if not measured."""
    def cell(nodes):
        if (nodes, name) not in values:
            return ""
        value = median(nodes, name)
        return form(nodes, value) if callable(form) else form.format(*(value if isinstance(value, list) else [value]))
    return [cell(nodes) for nodes in SETUPS]


def relative(name, choose=statistics.median):
    """Medians, or other choices of the rounds; and in parentheses the median ratios to the single gateway in a round."""
    def form(nodes, _):
        ratio = statistics.median(one / single for one, single in zip(values[nodes, name], values[0, name]))
        return f"{choose(values[nodes, name]):,.0f}" + (f" ({ratio:.2f})" if nodes else "")
    return cells(name, form)


def parts(name):
    """CPU microseconds: of the gateways, of the bus, of the database."""
    return cells(name, lambda nodes, value: " + ".join(f"{part:.1f}" for part in value[:3 if nodes else 1]))


def row(text, row_cells, bound="", is_met=True):
    global failed
    failed |= not is_met
    print(f"| {text} | {' | '.join(row_cells)} | {bound + ('' if is_met else ' **not met**')} |")


def print_table(disks):
    print("| | single gateway | 1 node | 2 nodes | 3 nodes | bound |\n|---|---|---|---|---|---|")
    row("publishes to 1,000 channels, per CPU second of the gateways", relative("publishes"))
    row("… CPU time of a publish in µs: gateways + bus + database", parts("publish_us"))
    row("deliveries to 1,000 subscribers, per CPU second of the gateways", relative("deliveries"))
    row("… per CPU second of gateways, bus and database", relative("deliveries_all"))
    envelope = max(each for nodes in SETUPS[1:] for each in values[nodes, "envelope"])
    row("bytes on the bus per event, beside subject and frame", cells("envelope", "{:.0f}"), "≤ 64", envelope <= 64)
    row("until a subscription is live: p50, p99", cells("live", "{:.2f}, {:.2f} ms"))
    row("CPU time of a signature in µs: gateways + bus + database", parts("signature_us"))
    row("10,000 channels with a subscriber each: until all are live", cells("crowd_seconds", "{:.2f} s"))
    row("… resident MiB before: a gateway, the bus", cells("start_memory", "{:.0f}, {:.0f}"))
    row("… resident bytes per channel and connection: gateways, bus", cells("crowd_memory", "{:,.0f}, {:,.0f}"))
    row("… CPU time of a publish in µs: gateways + bus + database", parts("crowd_us"))
    row("… CPU time of a gateway to which nothing happens", cells("crowd_idle", "{:.1f} % of a core"))
    row("… another node joins, and is killed: longest time until a subscription is confirmed",
        cells("changes", "{:.0f}, {:.0f} ms"), "≤ 250 ms", max(median(3, "changes")) <= 250)
    for disk in disks:
        print_actions(disk)
    row("sessions of a node at the database", cells("sessions", "{:.1f}"))
    row("bytes per action: in the database, in its write-ahead log, sent to the bus", cells("growth", "{:,.0f}, {:,.0f}, {:,.0f}"))
    row("the leader is killed: an action is answered, its members are removed, another leads",
        cells("takeover", "{:.1f}, {:.1f}, {:.1f} s"), "≤ 10 s", max(median(3, "takeover")) <= 10)
    gaps = sum(each for (_, name), rounds in values.items() if name == "gaps" for each in rounds)
    row("messages lost on the bus; all rounds", ["", "", "", f"{gaps:.0f}"], "0", gaps == 0)


def print_actions(disk):
    name = f"actions {disk.name}"
    row(f"actions per second, {disk.name}; best round", relative(name, max), "3 nodes: ≥ 2,000", max(values[3, name]) >= 2_000)
    row("… per CPU second of gateways, bus and database", relative(f"action_cpu {disk.name}"))
    row("… CPU time of an action in µs: gateways + bus + database", parts(f"action_us {disk.name}"))
    row("… actions per transaction", cells(f"batch {disk.name}", "{:.1f}"))
    row("… a sync of the write-ahead log takes", cells(f"sync {disk.name}", "{:.2f} ms"))


def main():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
    with tempfile.TemporaryDirectory(prefix="fleetwire-bench-") as folder:
        # The database's user must read it.
        os.chmod(folder, 0o755)
        preload = Path(folder) / "syncdelay.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", preload, Path(__file__).with_name("syncdelay.c")], check=True)
        disks = [Disk("disk as it is"), Disk("sync of 0.1 ms", preload, 100), Disk("sync of 1 ms", preload, 1_000)]
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
            measure(disks)
    print_table(disks)


failed = False
main()
sys.exit(failed)
