"""What the generators of HTTP load share: connections with one request in flight, tokens, gateways and their CPU time."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import selectors
import socket
import subprocess
import time


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(path, token, body=None, correlation_id="bench", kind="application/json", method=None):
    """The bytes of a request: by default POST with a body, else GET."""
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    head = (f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1\r\nHost: bench\r\n{authorization}"
            f"X-Correlation-ID: {correlation_id}\r\n")
    if body is None:
        return f"{head}\r\n".encode()
    body = body.encode()
    return f"{head}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def assignment(number, token):
    """A request that assigns a new order to one of 1,000 drivers."""
    body = {"driverId": str(number % 1000), "driverName": "Dana Driver",
            "customerName": "Chris Customer", "pickupAddress": "1 High Street, London",
            "dropoffAddress": "2 Low Road, Leeds", "totalGBP": 42.5}
    return request(f"/api/admin/orders/order-{number}/assign-driver", token, json.dumps(body), f"bench-{number}")


class Connection:
    """A connection with at most one request in flight."""

    def __init__(self, port):
        self.socket, self.buffer = connect(port), b""

    def send(self, request):
        self.socket.sendall(request)

    def receive_response(self):
        """Reads once. Returns whether the response is complete; it must be 200."""
        self.buffer += self.socket.recv(65536)
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found or len(rest) < int(re.search(rb"Content-Length: (\d+)", head, re.I)[1]):
            return False
        assert head.startswith(b"HTTP/1.1 200"), self.buffer
        self.buffer = b""
        return True


class Connections:
    """Connections that wait together for their responses, spread over the ports."""

    def __init__(self, count, *ports):
        self.idle = [Connection(ports[number % len(ports)]) for number in range(count)]
        self.selector, self.count = selectors.DefaultSelector(), count
        for connection in self.idle:
            self.selector.register(connection.socket, selectors.EVENT_READ, connection)

    def send(self, request):
        self.idle.pop().send(request)

    def receive(self, seconds):
        """Reads what comes within this time. Returns the number of responses that became complete."""
        before = len(self.idle)
        for key, _ in self.selector.select(seconds):
            if key.data.receive_response():
                self.idle.append(key.data)
        return len(self.idle) - before

    def run(self, requests, seconds=float("inf")):
        """Sends requests, each connection its next when it has its response, until none is left or the time has passed.
        Returns the number of responses and the seconds it took.
        """
        start, done, requests = time.perf_counter(), 0, iter(requests)
        pending = next(requests, None)
        while pending is not None and time.perf_counter() - start < seconds:
            while self.idle and pending is not None:
                self.send(pending)
                pending = next(requests, None)
            done += self.receive(1)
        result = done, time.perf_counter() - start
        while len(self.idle) < self.count:
            self.receive(1)
        return result

    def close(self):
        for connection in self.idle:
            connection.socket.close()
        self.selector.close()


def token(secret, role, subject, seconds=3600):
    """A JSON Web Token (RFC 7519, HS256), and how long it is valid."""
    def part(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    now = int(time.time())
    claims = {"sub": subject, "role": role, "iat": now, "exp": now + seconds}
    text = b".".join(part(json.dumps(each).encode()) for each in ({"alg": "HS256", "typ": "JWT"}, claims))
    return (text + b"." + part(hmac.digest(secret.encode(), text, hashlib.sha256))).decode()


@contextlib.contextmanager
def gateway(binary, *arguments):
    """Runs a gateway. Yields its process id and its port."""
    process = subprocess.Popen([binary, "serve", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        port = next((found[1] for line in process.stdout if (found := re.search(r"listening on .*:(\d+)", line))), None)
        assert port, f"the gateway has exited with {process.wait()}"
        yield process.pid, int(port)
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) * 1024
