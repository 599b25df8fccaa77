"""What cluster.py measures: a single gateway, or the nodes of a cluster with their database and bus; and the load on them."""

import itertools
import shutil
import tempfile
import time
from pathlib import Path

from client import Connections, cpu_seconds, request, resident_bytes
from harness.api import Api, event_body, signed_target
from harness.apps import FIRST
from harness.cluster import Cluster
from harness.fleet import SECTIONS
from harness.gateway import TICKS, Gateway
from harness.metrics import scrape
from harness.nats import Nats
from harness.postgres import Postgres
from subscribers import Subscribers

MEMORY = Path("/dev/shm")
SETTINGS = {"loops": 1, "sections": SECTIONS, "limits": {"auth_requests_per_second": 0}}


class Disk:
    """Where the files are: on the disk as it is, or in memory with a delay of each sync, in microseconds."""

    def __init__(self, name, preload=None, delay=None):
        self.name, self.folder = name, MEMORY if delay else None
        self.variables = {"LD_PRELOAD": str(preload), "SYNC_DELAY_US": str(delay)} if delay else {}


class Setup:
    """A single gateway, or the nodes of a cluster with their database and bus."""

    def __init__(self, nodes, disk, **settings):
        self.folder = Path(tempfile.mkdtemp(prefix="fleetwire-bench-", dir=disk.folder))
        self.gateways, self.postgres, self.nats = [], None, None
        settings = SETTINGS | settings
        try:
            if nodes == 0:
                self._start("gateway", variables=disk.variables, **settings)
                return
            self.postgres, self.nats = Postgres(disk.folder, syncs=True, variables=disk.variables), Nats()
            self.cluster = Cluster(self._start, self.postgres, self.nats, **settings)
            for _ in range(nodes):
                self.cluster.start()
        except BaseException:
            self.close()
            raise

    def _start(self, name, **settings):
        self.gateways.append(Gateway(self.folder / name, **settings))
        return self.gateways[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for each in self.gateways:
            each.kill()
        for server in filter(None, [self.nats, self.postgres]):
            server.close()
        shutil.rmtree(self.folder)

    @property
    def ports(self):
        return [each.port for each in self.gateways]

    def total(self, family, **labels):
        """The sum of a metric over the nodes."""
        total = 0
        for each in self.gateways:
            api = Api(each)
            total += scrape(api).value(f"fleetwire_{family}", **labels)
            api.close()
        return total

    def cpu(self):
        """The CPU seconds so far: of the gateways, the bus, the database."""
        return (sum(each.cpu_seconds() for each in self.gateways),
                cpu_seconds(self.nats.process.pid) if self.nats else 0,
                processor_seconds(self.postgres.processes) if self.postgres else 0)

    def resident_bytes(self):
        """The memory: of the gateways, of the bus."""
        return (sum(resident_bytes(each.process.pid) for each in self.gateways),
                resident_bytes(self.nats.process.pid) if self.nats else 0)


def processor_seconds(processes):
    """The CPU seconds of a server: of its first process, of those that it has waited for, and of its other processes."""
    first = Path(f"/proc/{processes[0]}/stat").read_text().rpartition(")")[2].split()
    ended = (int(first[13]) + int(first[14])) / TICKS
    return ended + sum(cpu_seconds(each) for each in processes if Path(f"/proc/{each}").exists())


class Spent:
    """The CPU seconds of a block: of the gateways, and of all servers."""

    def __init__(self, setup):
        self.setup = setup

    def __enter__(self):
        self.before = self.setup.cpu()
        return self

    def __exit__(self, *_):
        self.parts = [after - before for before, after in zip(self.before, self.setup.cpu())]
        self.gateways, self.all = self.parts[0], sum(self.parts)

    def microseconds(self, count):
        """Per operation: of the gateways, the bus, the database."""
        return [part / count * 1e6 for part in self.parts]


class Load:
    """Publishers and subscribers, spread over the gateways. Everything published must arrive, once."""

    def __init__(self, setup, channels, subscribers, publishers):
        names = [f"bench-{number:05}" for number in range(channels)]
        self.copies = subscribers // channels
        self.requests = [publish_request(each) for each in names]
        empty = setup.resident_bytes()
        self.subscribers = Subscribers(subscribers, *setup.ports)
        self.seconds = self.subscribers.subscribe(itertools.islice(itertools.cycle(names), subscribers))
        # Of the gateways and of the bus, per subscriber.
        self.memory = [(after - before) / subscribers for before, after in zip(empty, setup.resident_bytes())]
        self.connections = Connections(publishers, *setup.ports)
        self.subscribers.join(self.connections.selector)
        self.expected, self.frame = 0, 1
        self.publish(self.requests[:1])
        self.wait(0.2)
        self.expected = self.subscribers.bytes
        self.frame = self.expected // self.copies

    def publish(self, requests):
        """Publishes, and waits until all of it is delivered."""
        self.expected += len(requests) * self.copies * self.frame
        self.connections.run(requests)
        deadline = time.monotonic() + 30
        while self.subscribers.bytes < self.expected:
            self.connections.receive(1)
            assert time.monotonic() < deadline, f"{self.expected - self.subscribers.bytes} bytes are missing"

    def publish_in_turn(self, count):
        """Publishes events of the first channel, each at another node, and each when the one before is delivered."""
        for _ in range(count):
            self.connections.idle.insert(0, self.connections.idle.pop())
            self.publish(self.requests[:1])

    def close(self):
        self.wait(0.1)
        assert self.subscribers.bytes == self.expected, "more arrived than was published"
        self.subscribers.close()
        self.connections.close()

    def wait(self, seconds):
        """Receives what comes meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.connections.receive(left)


def publish_request(channel):
    body = event_body(channel, "bench", "x" * 200)
    return request(signed_target(FIRST, "POST", f"/apps/{FIRST.id}/events", body), "", body.decode())
