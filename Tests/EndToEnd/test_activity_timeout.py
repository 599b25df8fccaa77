"""P4: the gateway pings idle connections with frames and events, and closes those that do not
answer.

Six clients run concurrently against one gateway; afterwards the P4 tests check what each received.
"""

import json
import select
import time
from dataclasses import dataclass, field

import pytest

from harness.client import Client
from harness.gateway import Gateway
from harness.raw_client import RawClient
from harness.wire import CLOSE, PING, PONG, TEXT, frame

ACTIVITY = 4.0
# seconds of inactivity until the ping, and until the close
PINGED, CLOSED = ACTIVITY * 1.25, ACTIVITY * 1.5
# Tolerances: a busy loop reads the clock before it sleeps or after, and handles what is due later.
EARLY, LATE = 1.0, 2.0
PRESENCE = "presence-silence"
TALK = b'{"event":"client-talk","channel":"presence-silence-talk","data":"x"}'


@dataclass
class ObservedClient:
    """A client, how it answers pings, and what it received, each as (seconds since the client last sent
    something, opcode, payload).
    """

    raw_client: RawClient
    answers_frames: bool = False
    answers_events: bool = False
    sends_every: float = 0
    message: bytes = b'{"event":"pusher:pong","data":{}}'
    last_sent: float = 0
    received: list[tuple[float, int, bytes]] = field(default_factory=list)
    ended: bool = False

    def send_event(self, data: bytes) -> None:
        self.last_sent = time.monotonic()
        self.raw_client.send(data)

    def read(self) -> None:
        got = self.raw_client.next_frame()
        if got is None:
            self.ended = True
            return
        self.received.append((time.monotonic() - self.last_sent, *got))
        if got[0] == CLOSE:
            self.ended = True
        elif got[0] == PING and self.answers_frames:
            self.send_event(frame(PONG, got[1]))
        elif (got[0] == TEXT and self.answers_events
              and json.loads(got[1])["event"] == "pusher:ping"):
            self.send_event(frame(TEXT, self.message))

    def times(self, opcode: int, event: str | None = None) -> list[float]:
        return [seconds for seconds, kind, payload in self.received
                if kind == opcode and (event is None or json.loads(payload)["event"] == event)]


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """Runs all clients for two rounds of pings, and until the silent one has left its channel: it does
    not answer the close frame, so the gateway waits five seconds before it ends the connection.
    """
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), loops=2, first={"client_events": True},
                      server={"activity_seconds": int(ACTIVITY)})
    clients = {
        "silent": ObservedClient(RawClient(gateway)),
        "frames": ObservedClient(RawClient(gateway), answers_frames=True),
        "events": ObservedClient(RawClient(gateway), answers_events=True),
        "sender": ObservedClient(RawClient(gateway), sends_every=2),
        "receiver": ObservedClient(RawClient(gateway)),
        "client event sender": ObservedClient(RawClient(gateway), sends_every=1, message=TALK),
    }
    clients["frames"].raw_client.join(PRESENCE, "observer")
    clients["silent"].raw_client.join(PRESENCE, "silent")
    for name in ("receiver", "client event sender"):
        clients[name].raw_client.join(PRESENCE + "-talk", name)
    start = time.monotonic()
    for client in clients.values():
        client.send_event(frame(TEXT, client.message))
    rounds, last = start + 2 * PINGED + 1, start + 2 * PINGED + 1 + LATE
    while (now := time.monotonic()) < rounds or (not removals(clients) and now < last):
        for client in clients.values():
            if (not client.ended and client.sends_every
                    and now - client.last_sent > client.sends_every):
                client.send_event(frame(TEXT, client.message))
        open_clients = [client for client in clients.values() if not client.ended]
        ready = {
            raw_client for raw_client in select.select(
                [client.raw_client for client in open_clients], [], [], 0.05)[0]}
        for client in open_clients:
            while not client.ended and (client.raw_client in ready or client.raw_client.buffer):
                client.read()
                ready.discard(client.raw_client)
    yield clients
    for client in clients.values():
        client.raw_client.close()
    gateway.stop()


def removals(clients) -> list[dict]:
    return [json.loads(payload) for _, kind, payload in clients["frames"].received if kind == TEXT
            and b"member_removed" in payload]


def test_C4_activity_timeout_is_configurable(start_gateway, closing):
    gateway = start_gateway(server={"activity_seconds": 37})
    client = closing(Client.dial(gateway))
    assert client.expect_established()["activity_timeout"] == 37


def test_P4_idle_connection_gets_both_pings_then_closes_4201(clients):
    silent = clients["silent"]
    for pings in (silent.times(PING), silent.times(TEXT, "pusher:ping")):
        assert len(pings) == 1 and PINGED - EARLY <= pings[0] <= PINGED + LATE, silent.received
    closed = silent.times(CLOSE)
    assert len(closed) == 1 and CLOSED - EARLY <= closed[0] <= CLOSED + LATE, silent.received
    payload = silent.received[-1][2]
    assert int.from_bytes(payload[:2], "big") == 4201 and payload[2:].decode().isprintable()


def test_P4_ping_event_has_no_channel_and_empty_data(clients):
    pings = [json.loads(payload) for _, kind, payload in clients["silent"].received if kind == TEXT
             and b"pusher:ping" in payload]
    assert pings[0].keys() <= {"event", "data"} and pings[0].get("data") in (None, "", "{}", {})


@pytest.mark.parametrize("name", ["frames", "events"])
def test_P4_either_pong_is_sufficient(clients, name):
    """Some libraries answer frames only; scripts in browsers see events only."""
    client = clients[name]
    assert not client.ended and client.times(CLOSE) == []
    for pings in (client.times(PING), client.times(TEXT, "pusher:ping")):
        assert len(pings) == 2, client.received
    # The second ping follows a full idle period after the answer to the first.
    answered = client.times(PING if name == "frames" else TEXT,
                            None if name == "frames" else "pusher:ping")
    assert all(PINGED - EARLY <= seconds <= PINGED + LATE for seconds in answered), client.received


def test_P4_active_connection_is_not_pinged(clients):
    sender = clients["sender"]
    assert sender.received == [] and not sender.ended


def test_P4_receiving_is_no_activity(clients):
    """Messages to a client do not count as its activity."""
    receiver_only = clients["receiver"]
    assert len(receiver_only.times(TEXT, "client-talk")) >= 4
    assert (len(receiver_only.times(PING)) == 1
            and len(receiver_only.times(CLOSE)) == 1), receiver_only.received


def test_P4_R3_closed_connection_leaves_its_channels(clients):
    gone = removals(clients)
    assert (len(gone) == 1 and gone[0]["channel"] == PRESENCE
            and json.loads(gone[0]["data"]) == {"user_id": "silent"})
