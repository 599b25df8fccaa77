"""P4: the gateway notices who has gone silent, asks in both ways, and lets go.

Six kinds of client are watched side by side for as long as it takes, and each test looks at one of them.
"""

import json
import select
import time
from dataclasses import dataclass, field

import pytest

from harness.client import Client
from harness.gateway import Gateway
from harness.guest import Guest
from harness.wire import CLOSE, PING, PONG, TEXT, frame

ACTIVITY = 4.0
ASKED, CLOSED = ACTIVITY * 1.25, ACTIVITY * 1.5  # seconds of silence until the ping, and until the close
LATE = 2.0  # what a busy machine may add
PRESENCE = "presence-silence"
TALK = b'{"event":"client-talk","channel":"presence-silence-talk","data":"x"}'


@dataclass
class Watched:
    """A client, what it does about pings, and what it heard: seconds since it was last heard, opcode, payload."""

    guest: Guest
    answers_frames: bool = False
    answers_events: bool = False
    speaks_every: float = 0
    words: bytes = b'{"event":"pusher:pong","data":{}}'
    spoke: float = 0
    heard: list[tuple[float, int, bytes]] = field(default_factory=list)
    ended: bool = False

    def say(self, data: bytes) -> None:
        self.guest.send(data)
        self.spoke = time.monotonic()

    def take(self) -> None:
        got = self.guest.next_frame()
        if got is None:
            self.ended = True
            return
        self.heard.append((time.monotonic() - self.spoke, *got))
        if got[0] == CLOSE:
            self.ended = True
        elif got[0] == PING and self.answers_frames:
            self.say(frame(PONG, got[1]))
        elif got[0] == TEXT and self.answers_events and json.loads(got[1])["event"] == "pusher:ping":
            self.say(frame(TEXT, self.words))

    def times(self, opcode: int, event: str | None = None) -> list[float]:
        return [seconds for seconds, kind, payload in self.heard
                if kind == opcode and (event is None or json.loads(payload)["event"] == event)]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Lets all of them be for two rounds of pings, or until they are closed."""
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), loops=2, first={"client_events": True}, server={"activity_seconds": int(ACTIVITY)})
    clients = {
        "silent": Watched(Guest(gateway)),
        "frames": Watched(Guest(gateway), answers_frames=True),
        "events": Watched(Guest(gateway), answers_events=True),
        "speaker": Watched(Guest(gateway), speaks_every=2),
        "listener": Watched(Guest(gateway)),
        "talker": Watched(Guest(gateway), speaks_every=1, words=TALK),
    }
    clients["frames"].guest.join(PRESENCE, "observer")
    clients["silent"].guest.join(PRESENCE, "silent")
    for name in ("listener", "talker"):
        clients[name].guest.join(PRESENCE + "-talk", name)
    start = time.monotonic()
    for client in clients.values():
        client.say(frame(TEXT, client.words))
    while (now := time.monotonic()) - start < 2 * ASKED + 1:
        for client in clients.values():
            if not client.ended and client.speaks_every and now - client.spoke > client.speaks_every:
                client.say(frame(TEXT, client.words))
        open_ones = [client for client in clients.values() if not client.ended]
        ready = {guest for guest in select.select([client.guest for client in open_ones], [], [], 0.05)[0]}
        for client in open_ones:
            while not client.ended and (client.guest in ready or client.guest.buffer):
                client.take()
                ready.discard(client.guest)
    yield clients
    for client in clients.values():
        client.guest.close()
    gateway.stop()


def test_C4_the_greeting_advertises_the_seconds(start_gateway, closing):
    gateway = start_gateway(server={"activity_seconds": 37})
    client = closing(Client.dial(gateway))
    assert client.greet()["activity_timeout"] == 37


def test_P4_who_is_silent_is_asked_both_ways_and_then_closed_with_4201(watched):
    silent = watched["silent"]
    for asked in (silent.times(PING), silent.times(TEXT, "pusher:ping")):
        assert len(asked) == 1 and ASKED - 0.5 <= asked[0] <= ASKED + LATE, silent.heard
    closed = silent.times(CLOSE)
    assert len(closed) == 1 and CLOSED - 0.5 <= closed[0] <= CLOSED + LATE, silent.heard
    payload = silent.heard[-1][2]
    assert int.from_bytes(payload[:2], "big") == 4201 and payload[2:].decode().isprintable()


def test_P4_the_ping_event_has_no_channel_and_empty_data(watched):
    pings = [json.loads(payload) for _, kind, payload in watched["silent"].heard if kind == TEXT and b"pusher:ping" in payload]
    assert pings[0].keys() <= {"event", "data"} and pings[0].get("data") in (None, "", "{}", {})


@pytest.mark.parametrize("name", ["frames", "events"])
def test_P4_either_answer_is_enough(watched, name):
    """Some libraries answer frames only, browsers' scripts see events only."""
    client = watched[name]
    assert not client.ended and client.times(CLOSE) == []
    for asked in (client.times(PING), client.times(TEXT, "pusher:ping")):
        assert len(asked) == 2, client.heard
    # The second one comes a whole silence after the answer to the first.
    first = client.times(PING if name == "frames" else TEXT, None if name == "frames" else "pusher:ping")
    assert all(ASKED - 0.5 <= seconds <= ASKED + LATE for seconds in first), client.heard


def test_P4_who_speaks_is_not_asked(watched):
    speaker = watched["speaker"]
    assert speaker.heard == [] and not speaker.ended


def test_P4_hearing_is_not_speaking(watched):
    """What a client is sent says nothing about him."""
    listener = watched["listener"]
    assert len(listener.times(TEXT, "client-talk")) >= 4
    assert len(listener.times(PING)) == 1 and len(listener.times(CLOSE)) == 1, listener.heard


def test_P4_R3_who_is_closed_leaves_his_channels(watched):
    gone = [json.loads(payload) for _, kind, payload in watched["frames"].heard if kind == TEXT and b"member_removed" in payload]
    assert len(gone) == 1 and gone[0]["channel"] == PRESENCE and json.loads(gone[0]["data"]) == {"user_id": "silent"}
