"""Attacks on the memory for what clients have not taken, and on what a node keeps of their state.

Each names its bound. `hostile.py` checks them as it checks all attacks: what a bystander waits, and how
much the memory grows.
"""

import json

from .api import event_body, signed_target
from .apps import FIRST
from .hostile.attacker import EVENTS, Attacker, message
from .wire import TEXT, frame, request

LIST = "/apps/1001/channels"


def unread_lists(attacker: Attacker) -> None:
    """Lists of megabytes that nobody reads. Bound: a loop's share of `server.outgoing_bytes`; then 503."""
    client = attacker.client()
    attacker.send(client, b"".join(message("pusher:subscribe", {"channel": f"{number}-{'x' * 190}"})
                                   for number in range(4_900)))
    target = signed_target(FIRST, "GET", LIST, b"")
    for index in attacker.repeat():
        attacker.drain(client)
        if index < 200:
            attacker.send(attacker.wire(receive_buffer=4096), request("GET", target))


def trickling_readers(attacker: Attacker) -> None:
    """Clients that provoke answers and read a little. Bound: 10 s above `limits.outbox_bytes`, and the
    loop's share of `server.outgoing_bytes` for all of them.
    """
    burst = frame(TEXT, json.dumps({"event": "z" * 200, "data": "x"}).encode()) * 200
    wires = attacker.up_to(40, lambda: attacker.wire(receive_buffer=4096))
    for wire in wires:
        wire.open()
        wire.socket.settimeout(0.02)
    for index in attacker.repeat():
        wire = wires[index % len(wires)]
        attacker.send(wire, burst)
        if wire.readable():
            wire.socket.recv(1_000)


def presence_joins(attacker: Attacker) -> None:
    """A hundred members with a kilobyte each, of whom more and more connections join at once, and
    members who come and go meanwhile. Bound: what a turn of the loop writes and encodes.
    """
    info = {f"k{number}": "v" for number in range(95)}
    for _ in attacker.repeat():
        clients = attacker.up_to(200, attacker.client)
        for index, client in enumerate(clients):
            client.send_presence_subscribe("presence-large", f"u{index % 100}", user_info=info)
        for client in clients[::3]:
            attacker.end(client)
        for client in clients:
            attacker.drain(client)
        for client in clients:
            client.close()


def unique_watchlists(attacker: Attacker) -> None:
    """Users who watch a hundred users whom nobody else watches. Bound: `limits.channels` and
    `limits.app_subscriptions`, and their memory is given back.
    """
    for index in attacker.repeat():
        client = attacker.client()
        user_data = json.dumps({"id": f"w{index}", "watchlist": [f"{client.socket_id}-{n}" for n in range(100)]})
        attacker.send(client, message("pusher:signin", {
            "user_data": user_data, "auth": FIRST.user_auth(client.socket_id, user_data)}))
        if index % 100 == 99:
            attacker.close()


def cache_channels(attacker: Attacker) -> None:
    """Events on ever new cache channels, and again on the same ones. Bound: `limits.cache_bytes`; no
    publish costs more than its own events.
    """
    wire = attacker.wire()
    for index in attacker.repeat():
        channels = [f"cache-{(index % 500) * 100 + number}" for number in range(100)]
        body = event_body(channels, "hostile", "x")
        if not attacker.send(wire, request("POST", signed_target(FIRST, "POST", EVENTS, body), body)):
            wire = attacker.wire()
        attacker.drain(wire)


OUTGOING_ATTACKS = (unread_lists, trickling_readers, presence_joins, unique_watchlists, cache_channels)
