"""What strangers and registered clients may do to the gateway: each function of ATTACKS is an attack.

An attack goes on until its time is up. That the gateway refuses it, disconnects it or lets it wait
is not an error: only what well-behaved clients notice is.
"""

import contextlib
import json
import ssl
import time
from collections.abc import Callable
from random import Random
from types import SimpleNamespace

from ..api import signed_target
from ..apps import FIRST
from ..outgoing_attacks import OUTGOING_ATTACKS
from ..tokens import HS256, claims
from ..wire import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame, request, upgrade
from .attacker import EVENTS, Attacker, message, publish
from .fleet_attacks import FLEET_ATTACKS

HEALTH = request("GET", "/healthz")
# Bytes of one message that the gateway accepts, `limits.message_bytes`.
MESSAGE_BYTES = 65536
# Texts whose processing is expensive where it is careless: combining marks, flags, escapes, nesting.
COSTLY = ["\U0001F1E6" * 4000, "e" + "\u0301" * 8000, "\\u0000" * 2500, "\\" * 15000, ":" * 15000,
          "9" * 15000, "[" * 15000, '{"a":' * 3000, "[]," * 5000, "\x00" * 15000, '"' * 15000]


def http_pipelined(attacker: Attacker) -> None:
    """Floods with pipelined requests; half of the connections read no response."""
    flood = (HEALTH + request("GET", "/nowhere") + request("POST", EVENTS, b"{}")) * 200
    wires = attacker.up_to(8, attacker.wire)
    for wire in wires:
        wire.socket.settimeout(0.05)
    for index in attacker.repeat():
        wire = wires[index % 8]
        attacker.send(wire, flood)
        if index % 2:
            attacker.drain(wire)


def http_smuggled(attacker: Attacker) -> None:
    """Requests whose end a proxy and the gateway might see at different places."""
    inner = request("POST", EVENTS, b'{"a":1}')
    heads = ["Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nTransfer-Encoding: chunked",
             "Transfer-Encoding: chunked, identity", "Transfer-Encoding:\x0bchunked", "Content-Length: +5",
             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Content-Length: 0x5", "Host: b",
             "Content-Length : 5", " Content-Length: 5", "Content-Length: 5\r\n folded: x", "X: y\nZ: w",
             "Content-Length: 99999999999999999999", "Expect: 100-continue\r\nContent-Length: 9"]
    bodies = [b"hello", b"0\r\n\r\n", b"5;x=\"\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", b"FFFFFFFFFFFFFFFF\r\n",
              b"5\nhello\n0\n\n", b"-1\r\n", b""]
    first = ["PUT/x HTTP/1.1\r\nHost: x", "Host: x\r\nPOST /x HTTP/1.1", "GET http://[::1]:x/ HTTP/1.1",
             "POST /apps/1001/events HTTP/1.1\r\nHost: x", "OPTIONS * HTTP/1.1\r\nHost: x", "GET /\tx HTTP/1.1"]
    for _ in attacker.repeat():
        wire, pick = attacker.wire(), attacker.random.choice
        for _ in range(4):
            attacker.send(wire, HEALTH + f"{pick(first)}\r\n{pick(heads)}\r\n\r\n".encode() + pick(bodies)
                          + inner, pieces=attacker.random.randrange(1, 6))
        attacker.drain(wire)
        attacker.end(wire)


def http_fuzzed(attacker: Attacker) -> None:
    """Requests with random errors, cut at random places."""
    samples = [HEALTH, upgrade(), publish("fuzz"), request("POST", "/pusher/auth", b"socket_id=1.1"),
               request("GET", "/apps/1001/channels?filter_by_prefix=x"), request("HEAD", "/metrics")]
    for _ in attacker.repeat():
        wire = attacker.wire()
        for _ in range(3):
            attacker.send(wire, attacker.mutated(attacker.random.choice(samples)),
                          pieces=attacker.random.randrange(1, 20))
        attacker.end(wire)


def http_large_heads(attacker: Attacker) -> None:
    """Heads of many fields, of one endless field, and with expensive text in the target and the fields."""
    for _ in attacker.repeat():
        text = attacker.random.choice(COSTLY)[:7000].encode()
        for data in (b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 20000, b"GET /" + b"x" * 200_000,
                     b"GET /app/" + text + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n" * 50_000,
                     b"GET / HTTP/1.1\r\nHost: x\r\nConnection: " + text + b"\r\nExpect: " + text + b"\r\n\r\n",
                     b"GET /apps/1001/channels?" + b"&a=" * 2500 + b" HTTP/1.1\r\nHost: x\r\n\r\n"):
            attacker.send(wire := attacker.wire(), data)
            attacker.end(wire)


def slow_bytes(attacker: Attacker) -> None:
    """Hundreds of heads, bodies, frames and handshakes, byte by byte."""
    body = publish("slow", "x" * 2000)
    texts = [HEALTH + b"GET", body[:200], body, upgrade(), upgrade() + frame(TEXT, b"x" * 60_000)]
    slow = [(wire, attacker.random.choice(texts)) for wire in attacker.up_to(300, attacker.wire)]
    slow = [(wire, text[:-20]) for wire, text in slow if attacker.send(wire, text[:-20])]
    for step in attacker.repeat():
        for wire, text in slow:
            attacker.send(wire, body[step % len(body):][:1])
        time.sleep(0.02)


def ended_anywhere(attacker: Attacker) -> None:
    """Connections that are closed, reset or half closed at every stage."""
    stages = [b"", HEALTH[:10], HEALTH, publish("ended", "x" * 500)[:-100], upgrade()[:-30], upgrade(),
              upgrade() + frame(TEXT, b"x" * 100)[:50], upgrade() + frame(CLOSE, b"\x03\xe8")]
    for index in attacker.repeat():
        wire = attacker.wire(tls=bool(index % 4))
        attacker.send(wire, attacker.random.choice(stages))
        if attacker.random.random() < 0.5:
            time.sleep(0.002)  # lets the gateway read it first
        attacker.end(wire)


def silent_connections(attacker: Attacker) -> None:
    """Thousands of TCP connections that say nothing, and go away all at once."""
    attacker.up_to(3000, lambda: attacker.wire(tls=False))
    attacker.wait()


def tls_garbage(attacker: Attacker) -> None:
    """TLS records with random content, and bytes that are not TLS at all."""
    for _ in attacker.repeat():
        kind, size = attacker.random.choice([20, 21, 22, 23, 24, 128]), attacker.random.randrange(1, 17000)
        content = attacker.random.randbytes(attacker.random.randrange(size + 1))
        wire = attacker.wire(tls=False)
        attacker.send(wire, bytes([kind, 3, attacker.random.randrange(5)]) + size.to_bytes(2, "big") + content,
                      pieces=3)
        attacker.end(wire)


def tls_half_hello(attacker: Attacker) -> None:
    """Parts of a ClientHello, mutated ones, and whole ones without the rest of the handshake."""
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    hello = outgoing.read()
    for index, wire in enumerate(attacker.up_to(2000, lambda: attacker.wire(tls=False))):
        if index % 4 == 0:
            attacker.send(wire, attacker.mutated(hello), pieces=5)
        else:
            attacker.send(wire, hello[:attacker.random.choice([1, 5, 6, len(hello) // 2, len(hello)])])
    attacker.wait()


def connection_churn(attacker: Attacker) -> None:
    """Clients that connect, subscribe and leave in any way, as fast as they can."""
    for index in attacker.repeat():
        client = attacker.client()
        client.send(message("pusher:subscribe", {"channel": f"churn-{index % 10}"}))
        attacker.end(client)


def frames_fuzzed(attacker: Attacker) -> None:
    """Valid frames with random errors, cut at random places."""
    frames = [message("pusher:subscribe", {"channel": "fuzz"}), frame(PING, b"x"), frame(CLOSE, b"\x03\xe8bye"),
              frame(TEXT, b"\xf0\x9f", first=0), frame(CONTINUATION, b"\x9a\x80"), frame(BINARY, b"x" * 300)]
    for _ in attacker.repeat():
        client, data = attacker.client(), b"".join(attacker.random.choices(frames, k=5))
        for _ in range(3):
            attacker.send(client, attacker.mutated(data), pieces=attacker.random.randrange(1, 20))
        attacker.end(client)


def huge_messages(attacker: Attacker) -> None:
    """Messages and bodies that are longer, or say that they are longer, than is allowed."""
    large = b"x" * (4 << 20)
    for _ in attacker.repeat():
        for length in (MESSAGE_BYTES + 1, len(large), 1 << 62, (1 << 64) - 1):
            attacker.send(client := attacker.client(), frame(TEXT, b"", length=length) + large)
            attacker.end(client)
        for head in ("Content-Length: 99999999999", "Transfer-Encoding: chunked"):
            target = signed_target(FIRST, "POST", EVENTS, large)
            attacker.send(wire := attacker.wire(), request("POST", target, headers=[head], length=False)
                          + b"400000\r\n" + large)
            attacker.end(wire)


def fragments(attacker: Attacker) -> None:
    """Endless fragments, empty or of one byte, with pings between them; messages never completed."""
    many = [frame(CONTINUATION, b"", first=0) * 5000, frame(CONTINUATION, b"x", first=0) * 5000,
            (frame(CONTINUATION, b"x", first=0) + frame(PING, b"y" * 125)) * 500]
    clients = attacker.up_to(20, attacker.client)
    for client in clients:
        attacker.send(client, frame(TEXT, b"x" * 100, first=0))
    for index in attacker.repeat():
        attacker.send(attacker.random.choice(clients), attacker.random.choice(many))
        if index % 3:
            attacker.drain(clients[index % len(clients)])


def ping_flood(attacker: Attacker) -> None:
    """Pings, pongs and pusher:ping; half of the clients read no answer."""
    floods = [frame(PING, b"x" * 125) * 500, frame(PONG) * 5000, message("pusher:ping", {}) * 500]
    clients = attacker.up_to(8, attacker.client)
    for client in clients:
        client.socket.settimeout(0.05)
    for index in attacker.repeat():
        attacker.send(clients[index % 8], attacker.random.choice(floods))
        if index % 2:
            attacker.drain(clients[index % 8])


def subscribe_flood(attacker: Attacker) -> None:
    """Subscribes and unsubscribes without a pause: many channels, invalid names, expensive names."""
    for _ in attacker.repeat():
        client = attacker.client()
        for batch in range(10):
            names = [f"flood-{attacker.random.randrange(10_000)}" for _ in range(200)]
            names += ["", "x" * 300, "private-" + attacker.random.choice(COSTLY)[:100]]
            for verb in ("subscribe", "unsubscribe") if batch % 2 else ("subscribe",):
                attacker.send(client, b"".join(message(f"pusher:{verb}", {"channel": name}) for name in names))
            attacker.drain(client)
        attacker.end(client)


def signatures(attacker: Attacker) -> None:
    """Requests, subscriptions and tokens with signatures that are wrong, expired or no text."""
    expired = {"auth_timestamp": str(int(time.time()) - 3600)}
    bad = [publish("signed", **expired), publish("signed", auth_key="unknown"), publish("signed", body_md5="0" * 32),
           publish("signed", auth_version="9"), publish("signed").replace(b"auth_signature=", b"auth_signature=0")]
    token = HS256("not the gateway's secret").token(claims("admin"))
    bad += [request("GET", "/api/driver/jobs", headers=[f"Authorization: Bearer {each}"])
            for each in (token, HS256().token(claims(ttl=-60)), token[:-3], "." * 7000, "é" * 3000)]
    for _ in attacker.repeat():
        wire, client = attacker.wire(), attacker.client()
        attacker.send(wire, b"".join(attacker.random.choices(bad, k=50)), pieces=5)
        for auth in ("key1:00", "key2:" + "0" * 64, attacker.random.choice(COSTLY)):
            attacker.send(client, message("pusher:subscribe", {"channel": "private-x", "auth": auth}))
            attacker.send(client, message("pusher:signin", {"user_data": auth, "auth": auth}))
        attacker.drain(wire)


def costly_json(attacker: Attacker) -> None:
    """JSON that careless code parses in quadratic time, in messages and in signed bodies."""
    keys = "{" + ",".join(f'"k{index % 7}":{index}' for index in range(5000)) + "}"
    for _ in attacker.repeat():
        client, wire = attacker.client(), attacker.wire()
        for text in (*COSTLY, keys):
            for data in (text, text.encode().decode("latin-1"), json.dumps(text)):
                attacker.send(client, frame(TEXT, data.encode()[:MESSAGE_BYTES]))
                attacker.send(client, message("pusher:subscribe", {"channel": data[:9000], "auth": data[:3000]}))
            body = f'{{"name":"x","channel":"x","data":{json.dumps(text)[:9000]},"socket_id":"{text[:99]}"}}'.encode()
            attacker.send(wire, request("POST", signed_target(FIRST, "POST", EVENTS, body), body))
            attacker.drain(client)
        attacker.drain(wire)
        attacker.end(client)


def deaf_clients(attacker: Attacker) -> None:
    """Subscribers that never read, while large events are published to them."""
    channel = f"deaf-{attacker.random.random()}"
    for client in attacker.up_to(60, lambda: attacker.wire(receive_buffer=4096)):
        client.open()
        attacker.send(client, message("pusher:subscribe", {"channel": channel}))
    wire = attacker.wire()
    for _ in attacker.repeat():
        attacker.send(wire, publish(channel, "x" * 10_000) * 20)
        attacker.drain(wire)


def mass_close(attacker: Attacker) -> None:
    """Hundreds of subscribers of one channel that all leave at once, each in another way."""
    clients = attacker.up_to(1500, attacker.client)
    for client in clients:
        attacker.send(client, message("pusher:subscribe", {"channel": "mass"}))
    for client in clients:
        attacker.end(client)


def publish_flood(attacker: Attacker) -> None:
    """A backend that pipelines publishes to many channels with many subscribers."""
    listeners = attacker.up_to(100, attacker.client)
    for client in listeners:
        attacker.send(client, message("pusher:subscribe", {"channel": "flood"}))
    flood = b"".join(publish(attacker.random.choice(["flood", f"channel-{index}"])) for index in range(100))
    wire = attacker.wire()
    for _ in attacker.repeat():
        attacker.send(wire, flood)
        for each in (wire, *listeners):
            attacker.drain(each)


def queries(attacker: Attacker) -> None:
    """Signed queries of all channels while many are occupied."""
    for client in attacker.up_to(20, attacker.client):
        attacker.send(client, b"".join(message("pusher:subscribe", {"channel": f"presence-cache-{client.socket_id}-{n}"
                                                                    if n % 9 == 0 else f"q-{client.socket_id}-{n}"})
                                       for n in range(500)))
    target = signed_target(FIRST, "GET", "/apps/1001/channels", b"", {"info": "subscription_count"})
    wire = attacker.wire()
    for _ in attacker.repeat():
        attacker.send(wire, request("GET", target) * 3 + request("GET", "/metrics") * 3)
        attacker.drain(wire)


def presence_and_client_events(attacker: Attacker) -> None:
    """Members that join, leave, and send each other events faster than is allowed."""
    for index in attacker.repeat():
        client = attacker.client()
        client.send_presence_subscribe("presence-hostile", f"u{index % 200}", user_info={"x": "y" * 900})
        attacker.send(client, message("client-x", {}) + frame(TEXT, json.dumps(
            {"event": "client-x", "channel": "presence-hostile", "data": "x" * 5000}).encode()) * 50)
        attacker.end(client) if index % 4 else attacker.drain(client)


def watchlists(attacker: Attacker) -> None:
    """Users who watch the same hundred users, come and go."""
    for index in attacker.repeat():
        client = attacker.client()
        user_data = json.dumps({"id": f"u{index % 300}", "watchlist": [f"u{n}" for n in range(100)]})
        attacker.send(client, message("pusher:signin", {
            "user_data": user_data, "auth": FIRST.user_auth(client.socket_id, user_data)}))
        if index % 3 == 0:
            attacker.end(client)


def auth_endpoints(attacker: Attacker) -> None:
    """A driver who asks for thousands of signatures, valid and invalid."""
    bearer = f"Authorization: Bearer {HS256().token(claims(subject=str(attacker.random.randrange(5))))}"
    bodies = [f"socket_id=1.1&channel_name=private-driver-{n}" for n in range(5)]
    bodies += ["socket_id=" + text[:4000] for text in COSTLY] + ["&=" * 3000, "%" * 8000, "a=%zz&" * 999]
    flood = b"".join(request("POST", target, body.encode(), [bearer, "Content-Type: application/x-www-form-urlencoded"])
                     for body in bodies for target in ("/pusher/auth", "/pusher/user-auth"))
    wire = attacker.wire()
    for _ in attacker.repeat():
        if not attacker.send(wire, flood, pieces=10):
            wire = attacker.wire()
        attacker.drain(wire)


ATTACKS: dict[str, Callable[[Attacker], None]] = {attack.__name__: attack for attack in (
    http_pipelined, http_smuggled, http_fuzzed, http_large_heads, slow_bytes, ended_anywhere, silent_connections,
    tls_garbage, tls_half_hello, connection_churn, frames_fuzzed, huge_messages, fragments, ping_flood,
    subscribe_flood, signatures, costly_json, deaf_clients, mass_close, publish_flood, queries,
    presence_and_client_events, watchlists, auth_endpoints, *OUTGOING_ATTACKS, *FLEET_ATTACKS)}


def perform(act: Callable[[Attacker], None], gateway: SimpleNamespace, seed: str, seconds: float) -> None:
    """Performs an attack, again if the gateway ended the connections that it needs."""
    attacker = Attacker(gateway, Random(seed), time.monotonic() + seconds)
    while attacker.going():
        try:
            with contextlib.suppress(OSError, AssertionError):
                act(attacker)
        finally:
            attacker.close()


def attack(gateway: SimpleNamespace, name: str, seed: str, seconds: float) -> None:
    perform(ATTACKS[name], gateway, seed, seconds)
