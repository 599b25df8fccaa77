"""Measures fleet actions on a running gateway: throughput, and the latency of their events.

Usage: actions.py PORT PID TOKEN. Prints one JSON object:
- `per_second`: actions per second of 64 admins with one request in flight each, over four seconds;
  `cpu_us`: the gateway's CPU time per action;
- `p50_ms`, `p99_ms`: latency from the time a request is due to its event on a dashboard, at 500
  actions per second.
"""

import base64
import itertools
import json
import os
import re
import selectors
import statistics
import sys
import time

from client import Connections, assignment, connect, cpu_seconds, request

PORT, PID, TOKEN = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ADMINS, SECONDS = 64, 4.0
RATE, RATE_SECONDS = 500, 6.0


class Dashboard:
    """A WebSocket on private-admin-channel. Records when each action's event arrives."""

    def __init__(self):
        self.socket, self.buffer, self.arrivals = connect(PORT), b"", {}
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /app/key1?protocol=7 HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        established = self.read_until(b"socket_id")
        socket_id = re.search(rb'socket_id\\":\\"([\d.]+)', established)[1].decode()
        with connect(PORT) as other:
            form = f"socket_id={socket_id}&channel_name=private-admin-channel"
            other.sendall(request("/pusher/auth", TOKEN, form, kind="application/x-www-form-urlencoded"))
            auth = json.loads(other.recv(65536).partition(b"\r\n\r\n")[2])["auth"]
        data = {"channel": "private-admin-channel", "auth": auth}
        self.send(json.dumps({"event": "pusher:subscribe", "data": data}).encode())
        self.read_until(b"subscription_succeeded")
        self.buffer = b""

    def send(self, text):
        mask, size = os.urandom(4), len(text)
        head = (bytes([0x81, 0x80 | size]) if size < 126
                else bytes([0x81, 0xFE]) + size.to_bytes(2, "big"))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(text)))

    def read_until(self, wanted):
        while wanted not in self.buffer:
            self.buffer += self.socket.recv(65536)
        return self.buffer

    def receive_response(self):
        """Reads once. Records the arrival of the first event of each action, which is no response."""
        self.buffer += self.socket.recv(1 << 20)
        now = time.perf_counter()
        for number in re.findall(rb'correlationId\\":\\"bench-(\d+)\\"', self.buffer):
            self.arrivals.setdefault(int(number), now)
        # An id may be split between reads; finding one twice is harmless.
        self.buffer = self.buffer[-64:]
        return False


def throughput(first):
    number = itertools.count(first)
    cpu = cpu_seconds(PID)
    completed, elapsed = Connections(ADMINS, PORT).run((assignment(each, TOKEN) for each in number), SECONDS)
    cpu = cpu_seconds(PID) - cpu
    return next(number), {"per_second": completed / elapsed, "cpu_us": cpu / completed * 1e6}


def latency(first):
    dashboard, admins = Dashboard(), Connections(ADMINS, PORT)
    admins.selector.register(dashboard.socket, selectors.EVENT_READ, dashboard)
    count, due_at, start = int(RATE * RATE_SECONDS), {}, time.perf_counter()
    while len(dashboard.arrivals) < count:
        # Open loop: send by the clock, not when responses arrive. The wait for an idle connection
        # counts as latency.
        due = min(count, int((time.perf_counter() - start) * RATE))
        while len(due_at) < due and admins.idle:
            number = first + len(due_at)
            due_at[number] = start + len(due_at) / RATE
            admins.send(assignment(number, TOKEN))
        admins.receive(0.0005)
        assert time.perf_counter() - start < RATE_SECONDS + 30, "not all events arrived"
    times = sorted((dashboard.arrivals[number] - due) * 1000 for number, due in due_at.items())
    return {"p50_ms": statistics.median(times), "p99_ms": times[int(len(times) * 0.99)]}


number, result = throughput(0)
print(json.dumps(result | latency(number)))
