"""Compares publishes of data with many escapes (JSON within JSON) with those of plain text of the same size.

Usage: escapes.py BINARY [BASE]. Prints the CPU time of the gateway per publish, medians of interleaved blocks; with BASE,
the binary of an earlier revision, its own as well. Exits with 1 if escapes cost more than a tenth more than plain text.
"""

import hashlib
import hmac
import json
import pathlib
import statistics
import sys
import tempfile
import time

from client import Connection, gateway, request

BOUND = 1.1
(BLOCKS, PUBLISHES) = (15, 700)
TRACK = {"stops": [{"id": f"A-{number:05}", "lat": 51.5, "lng": -0.12, "note": "at the door"} for number in range(30)]}
ESCAPED = json.dumps(json.dumps(TRACK))
PLAIN = json.dumps("x" * (len(ESCAPED) - 2))


def publish(data: str) -> bytes:
    """A signed request."""
    body = f'{{"name":"moved","channel":"my-channel","data":{data}}}'
    query = (f"auth_key=key1&auth_timestamp={int(time.time())}&auth_version=1.0"
             f"&body_md5={hashlib.md5(body.encode()).hexdigest()}")
    text = f"POST\n/apps/1001/events\n{query}"
    signature = hmac.digest(b"secret1", text.encode(), hashlib.sha256).hex()
    return request(f"/apps/1001/events?{query}&auth_signature={signature}", None, body)


def cpu_microseconds(pid: int) -> float:
    """The CPU time of all threads, as the scheduler counts it."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e3


def measure(binary: str) -> tuple[float, float]:
    """Returns the CPU time of a publish of plain text, and of one with escapes."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder, "fleetwire.yaml")
        configuration.write_text("server: {host: 127.0.0.1, port: 0, loops: 1, drain_seconds: 0}\n"
                                 'apps: [{id: "1001", key: key1, secret: secret1}]\n')
        with gateway(pathlib.Path(binary).resolve(), "--config", configuration) as (pid, port):
            connection = Connection(port)
            times: dict[str, list[float]] = {PLAIN: [], ESCAPED: []}
            for data in [PLAIN, ESCAPED] * BLOCKS:
                signed = publish(data)
                before = cpu_microseconds(pid)
                for _ in range(PUBLISHES):
                    connection.send(signed)
                    while not connection.receive_response():
                        pass
                times[data].append((cpu_microseconds(pid) - before) / PUBLISHES)
            return statistics.median(times[PLAIN]), statistics.median(times[ESCAPED])


def main() -> int:
    print(f"| publish of {len(PLAIN):,} bytes | plain | with escapes | ratio, bound {BOUND} |")
    print("|---|---|---|---|")
    ratios = []
    for name, binary in reversed(list(zip(("now", "before"), sys.argv[1:3]))):
        plain, escaped = measure(binary)
        ratios.append(escaped / plain)
        print(f"| {name} | {plain:.1f} µs | {escaped:.1f} µs | {ratios[-1]:.2f} |", flush=True)
    return 0 if ratios[-1] <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
