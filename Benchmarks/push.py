"""Measures pushes through a gateway to a substitute of APNs: throughput, CPU time, memory.

Usage: push.py BINARY [QUEUED]. Needs openssl, gcc, and nghttpd (Debian's nghttp2-server). nghttpd
responds to a POST to an existing file with 200 like APNs, over TLS and HTTP/2 with 1,000 streams,
and uses less CPU time than the gateway.

- *mirror*: announcements to 1,000 drivers with one device each, one after the other as they are
  pushed. The CPU time per push is the gateway's, minus that of the same announcements to drivers
  without devices: the rest is for the job, its request and its response. Before and after, libcurl
  alone sends as many of the same requests (pushfloor.c), because the machine's speed varies by a
  factor of two from hour to hour;
- *backlog*: QUEUED pushes (200,000) during an outage of the provider: resident memory, then pushes
  per second once it is back.
"""

import hashlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from client import cpu_seconds, resident_bytes, token

BINARY, QUEUED = (pathlib.Path(sys.argv[1]).resolve(),
                  int(sys.argv[2]) if len(sys.argv) > 2 else 200_000)
DRIVERS, ANNOUNCEMENTS = 1_000, 50
SECRET = "a-secret-for-benchmarks-of-32-bytes"
TOKENS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(DRIVERS)]


def bearer(role, subject):
    return f"Bearer {token(SECRET, role, subject, seconds=36_000)}"


class Provider:
    """nghttpd with a file for every token. Restarts on the same port."""

    def __init__(self, folder):
        devices = folder / "htdocs/3/device"
        devices.mkdir(parents=True)
        for each in TOKENS:
            (devices / each).touch()
        self.folder, self.process = folder, None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-noenc", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost", "-keyout", folder / "tls.key", "-out",
             folder / "tls.pem"],
            check=True, capture_output=True)

    def start(self):
        self.process = subprocess.Popen(
            ["nghttpd", "-m", "1000", "-a", "127.0.0.1", "-d", self.folder / "htdocs",
             str(self.port), self.folder / "tls.key", self.folder / "tls.pem"],
            stdout=subprocess.DEVNULL)
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                assert self.process.poll() is None, "nghttpd has exited"
                time.sleep(0.01)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Gateway:
    def __init__(self, folder, port):
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-out", folder / "key.p8"],
            check=True, capture_output=True)
        (folder / "fleetwire.yaml").write_text(f"""
server: {{host: 127.0.0.1, port: 0, loops: 1, drain_seconds: 0}}
apps: [{{id: "1001", key: key1, secret: secret1}}]
auth: {{jwt: {{secret: {SECRET}}}}}
push: {{apns: {{enabled: true, host: localhost, port: {port}, team_id: TEAM123456, key_id: KEY1234567, key_file: key.p8, topic: com.example.app, ca_file: tls.pem}}}}
""")
        self.log = (folder / "stderr").open("wb")
        self.process = subprocess.Popen([BINARY, "serve", "--config", folder / "fleetwire.yaml"],
                                        stdout=subprocess.PIPE, stderr=self.log, cwd=folder)
        line = self.process.stdout.readline().decode()
        assert "listening" in line, f"the gateway has exited: see {folder / 'stderr'}"
        self.connection = http.client.HTTPConnection("127.0.0.1", int(line.rpartition(":")[2]))
        self.admin = bearer("admin", "bench")

    def call(self, method, path, authorization, body=None):
        self.connection.request(method, path, body and json.dumps(body),
                                {"Authorization": authorization,
                                 "Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read().decode()
        assert response.status == 200, (response.status, text)
        return text

    def register(self):
        for number, each in enumerate(TOKENS):
            self.call("POST", "/app-register-device", bearer("driver", f"d{number}"),
                      {"deviceToken": each, "platform": "ios"})

    def announce(self, prefix="d"):
        drivers = [f"{prefix}{number}" for number in range(DRIVERS)]
        self.call("POST", "/api/admin/notifications", self.admin,
                  {"type": "NEW_BATCH_AVAILABLE", "to": {"drivers": drivers},
                   "data": {"batchId": "B-17", "zone": "North"}})

    def accepted(self):
        found = re.search(r'fleetwire_push_total\{provider="apns",outcome="accepted"\} (\d+)',
                          self.call("GET", "/metrics", self.admin))
        return int(found[1])

    def wait_until_accepted(self, count):
        """Polls every 50 ms: more often would add to the measured CPU time."""
        started = time.monotonic()
        while self.accepted() < count:
            assert time.monotonic() - started < 600, (
                f"{self.accepted()} of {count} pushes after ten minutes")
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def measure(gateway, work):
    """Runs `work`. Returns its seconds and the gateway's CPU seconds."""
    cpu, started = cpu_seconds(gateway.process.pid), time.monotonic()
    work()
    return time.monotonic() - started, cpu_seconds(gateway.process.pid) - cpu


def row(load, measured, bound="", is_met=True):
    global failed
    failed |= not is_met
    met = ("yes" if is_met else "**no**") if bound else ""
    print(f"| {load} | {measured} | {bound} | {met} |")


def floor(folder, provider):
    """Returns the CPU microseconds per request if libcurl alone sends the same requests."""
    payload = json.dumps(
        {"aps": {"alert": {"title": "New batch available", "body": "Batch B-17 in North"},
                 "badge": 10, "sound": "default"},
         "type": "NEW_BATCH_AVAILABLE", "notificationId": "0" * 26, "batchId": "B-17",
         "zone": "North", "title": "New batch available", "message": "Batch B-17 in North"})
    done = subprocess.run(
        [folder / "pushfloor", str(provider.port), folder / "tls.pem", folder / "tokens",
         str(ANNOUNCEMENTS * DRIVERS)],
        input=payload.encode(), stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def mirror(gateway, folder, provider):
    libcurl = floor(folder, provider)
    before, count = gateway.accepted(), ANNOUNCEMENTS * DRIVERS

    def work():
        for number in range(ANNOUNCEMENTS):
            gateway.announce()
            # Stay one announcement ahead, so that the lane never waits.
            gateway.wait_until_accepted(before + number * DRIVERS)
        gateway.wait_until_accepted(before + count)

    seconds, cpu = measure(gateway, work)
    _, without = measure(gateway,
                         lambda: [gateway.announce("without-device-")
                                  for _ in range(ANNOUNCEMENTS)])
    each, base = (total / count * 1e6 for total in (cpu - without, without))
    row("mirror: pushes per second", f"{count / seconds:,.0f}", "≥ 2,000", count / seconds >= 2_000)
    libcurl = (libcurl + floor(folder, provider)) / 2
    row("mirror: CPU time of the gateway per push",
        f"{each:.0f} µs (plus {base:.0f} µs for its notification)", "≤ 90 µs", each <= 90)
    row("mirror: CPU time per push, relative to libcurl alone in the same minute",
        f"{each / libcurl:.2f} ({libcurl:.0f} µs)", "≤ 2.50", each <= libcurl * 2.5)


def backlog(gateway, provider):
    provider.stop()
    done, empty = gateway.accepted(), resident_bytes(gateway.process.pid)
    seconds, _ = measure(gateway, lambda: [gateway.announce() for _ in range(QUEUED // DRIVERS)])
    full = resident_bytes(gateway.process.pid)
    row(f"backlog: pushes queued per second, up to {QUEUED:,}", f"{QUEUED / seconds:,.0f}")
    row("backlog: resident memory before and after",
        f"{empty / 2**20:.0f} and {full / 2**20:.0f} MiB", "≤ 32 MiB more", full - empty <= 2**25)
    provider.start()
    # The lane probes every few seconds; measure from the first success.
    gateway.wait_until_accepted(done + 1)
    started = gateway.accepted()
    seconds, _ = measure(gateway, lambda: gateway.wait_until_accepted(done + QUEUED))
    left = (done + QUEUED - started) / seconds
    row("backlog: pushes per second when the provider is back", f"{left:,.0f}", "≥ 2,000",
        left >= 2_000)


def main():
    if not shutil.which("nghttpd"):
        sys.exit("push: nghttpd not found; on Debian install nghttp2-server")
    with tempfile.TemporaryDirectory(prefix="fleetwire-push-") as name:
        folder = pathlib.Path(name)
        provider = Provider(folder)
        provider.start()
        gateway = None
        try:
            gateway = Gateway(folder, provider.port)
            gateway.register()
            gateway.announce()
            gateway.wait_until_accepted(DRIVERS)
            (folder / "tokens").write_text("\n".join(TOKENS))
            subprocess.run(
                ["gcc", "-O2", "-o", folder / "pushfloor",
                 pathlib.Path(__file__).with_name("pushfloor.c"), "-lcurl"],
                check=True)
            print("| push | measured | bound | met |\n|---|---|---|---|")
            mirror(gateway, folder, provider)
            backlog(gateway, provider)
        finally:
            if gateway:
                gateway.stop()
            provider.stop()


failed = False
main()
sys.exit(failed)
