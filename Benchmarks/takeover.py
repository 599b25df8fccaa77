"""Measures what the other nodes of a cluster do when the one that leads is killed."""

import time
from concurrent.futures import ThreadPoolExecutor

from client import Connections, assignment
from harness.client import Client
from harness.fleet import wait_until

CHANNEL = "presence-bench"
LEADER = "SELECT name FROM cluster_nodes JOIN cluster_head ON leader = epoch WHERE leader_until > 0"


def takeover_times(setup, admin):
    """Kills the node that leads, just after it has committed. Returns the seconds until another node answers an action,
    until a member who was connected to the killed one is removed, and until another node leads.
    """
    wait_until(lambda: leader(setup) is not None, "a node leads")
    killed = leader(setup)
    other = next(each for each in setup.gateways if each is not killed)
    watcher, member = Client.connect(other), Client.connect(killed)
    watcher.join(CHANNEL, "watcher")
    member.join(CHANNEL, "member")
    watcher.expect_member_added(CHANNEL, "member")
    act(killed, -1, admin)

    def removed():
        watcher.expect_member_removed(CHANNEL, "member")
        return time.perf_counter()

    def led():
        wait_until(lambda: leader(setup) not in (None, killed), "another node leads")
        return time.perf_counter()

    with ThreadPoolExecutor() as threads:
        start = time.perf_counter()
        killed.kill()
        ends = [threads.submit(act, other, -2, admin), threads.submit(removed), threads.submit(led)]
        times = [each.result() - start for each in ends]
    watcher.close()
    member.close()
    return times


def act(gateway, number, admin):
    """Performs an action. Returns when it was answered."""
    connections = Connections(1, gateway.port)
    connections.run([assignment(number, admin)])
    end = time.perf_counter()
    connections.close()
    return end


def leader(setup):
    name = setup.postgres.query(LEADER)
    return next((each for each in setup.gateways if [each.config.parent.name] == name), None)
