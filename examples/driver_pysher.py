"""The app of driver.py with pysher, a stock Pusher SDK.

    pip install pysher
    python3 examples/driver_pysher.py --driver 42

pysher connects again by itself. What it does not do is here: the app subscribes at each connection with a token that is
valid then, repeats what had no answer, shows once what comes twice, and makes a new client where pysher gives up.
"""

import argparse
import contextlib
import json
import logging
import os
import queue
import random
import socket
import subprocess
import threading
import time
from collections import deque
from datetime import datetime, timezone
from urllib.parse import quote, urlsplit

import pysher
import requests
import websocket


class Refused(Exception):
    """An answer that would be the same again."""


class Driver:
    def __init__(self, options):
        self.options, self.token, self.lock = options, None, threading.Lock()
        self.channel = f"private-driver-{options.driver}"
        self.seen = deque(maxlen=2000)  # what the gateway sends again is among the latest 1,000
        self.unanswered = queue.Queue()

    def run(self):
        threading.Thread(target=self.answer, daemon=True).start()
        while True:
            client = self.client()
            client.connect()
            self.watch(client.connection)
            pause = self.pause()
            print(f"the connection has ended; again in {pause:.1f} s", flush=True)
            time.sleep(pause)

    def client(self):
        url = urlsplit(self.options.url)
        is_secure = url.scheme == "https"
        client = pysher.Pusher(self.options.key, custom_host=url.hostname, port=url.port or (443 if is_secure else 80),
                               secure=is_secure, reconnect_interval=self.pause(), log_level=logging.CRITICAL)
        client.connection.bind("pusher:connection_established", lambda data: self.subscribe(client, json.loads(data)))
        client.connection.bind("pusher:pong", lambda _: self.hear())
        client.connection.bind("pusher:error", lambda error: print(error["message"], flush=True))
        return client

    def hear(self):
        self.heard = time.monotonic()

    def watch(self, connection):
        """Returns when the client is of no more use: pysher ends at an error from 4000 to 4099, such as a refused
        subscription, and does not notice for minutes that nobody answers.
        """
        self.hear()
        silence = self.options.silence_seconds
        while connection.is_alive() and time.monotonic() - self.heard < 2.5 * silence:
            connection.join(silence)
            if connection.state == "connected":
                connection.send_event("pusher:ping", {})
        connection.disconnect_called = True
        with contextlib.suppress(AttributeError, OSError):  # it has ended by itself
            connection.socket.sock.sock.shutdown(socket.SHUT_RDWR)

    def pause(self):
        """At random, so that after an outage not all apps come at the same moment."""
        return random.uniform(0.5, 1) * self.options.retry_seconds

    def new_token(self):
        """Your app asks its backend here."""
        return subprocess.check_output(self.options.token_command, shell=True, text=True, timeout=30,
                                       env=os.environ | {"DRIVER": self.options.driver}).strip()

    def call(self, path, body, may_be_expired=True):
        """Makes a request; if the token is refused, once more with a new one."""
        with self.lock:
            self.token = self.token or self.new_token()
            token = self.token
        response = requests.post(self.options.url + path, json=body, timeout=10,
                                 headers={"Authorization": f"Bearer {token}"})
        if response.ok:
            return response.json()
        if response.status_code == 401:
            with self.lock:
                if self.token == token:
                    self.token = None
            if may_be_expired:
                return self.call(path, body, may_be_expired=False)
        problem = f"{path}: {response.status_code} {response.text}"
        raise (Refused if response.status_code in (400, 403, 404, 409) else ConnectionError)(problem)

    def subscribe(self, client, data):
        """pysher calls this on its reading thread: no event is read until it returns."""
        self.hear()
        try:
            # The gateway remembers what each device has got: a device must keep its name.
            grant = self.call("/pusher/auth", {"socket_id": data["socket_id"], "channel_name": self.channel,
                                               "device_id": self.options.device})
        except Exception as error:  # any: without a subscription, the connection is of no use
            pause = self.pause()
            print(f"{error}; again in {pause:.1f} s", flush=True)
            return client.connection.reconnect(pause)
        channel = client.subscribe(self.channel, grant["auth"])
        channel.bind("pusher_internal:subscription_succeeded", lambda _: print(f"subscribed to {self.channel}", flush=True))
        channel.bind("job-assigned", lambda text: self.receive(json.loads(text)))

    def receive(self, job):
        if job["notificationId"] in self.seen:
            return
        self.seen.append(job["notificationId"])
        print("job-assigned", job["bookingReference"], flush=True)
        self.unanswered.put(("/api/driver/notifications/log", {
            "notificationId": job["notificationId"], "type": "new_job", "entityId": job["bookingId"],
            "event": "received", "timestamp": datetime.now(timezone.utc).isoformat()}))
        # Your app asks the driver.
        self.unanswered.put((f"/api/driver/jobs/{quote(job['bookingId'], safe='')}/accept", {}))
        while self.unanswered.qsize() > 2000:  # after a long outage, the oldest jobs are over
            self.unanswered.get()

    def answer(self):
        """Tells the gateway, in a thread of its own, until it has answered."""
        while True:
            path, body = self.unanswered.get()
            while True:
                try:
                    print(self.call(path, body).get("message", "reported"), flush=True)
                    break
                except Refused as refusal:
                    print(refusal, flush=True)
                    break
                except Exception as error:
                    print(error, flush=True)
                    time.sleep(self.pause())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:6001", help="the gateway")
    parser.add_argument("--key", default="key1", help="apps[].key of the gateway")
    parser.add_argument("--driver", default="42", help="the driver's id")
    parser.add_argument("--device", default="driver-pysher", help="the name of this device")
    parser.add_argument("--token-command", help="prints a token of $DRIVER",
                        default=".build/fleetwire token --role driver --subject $DRIVER --name Dana")
    parser.add_argument("--silence-seconds", type=float, default=20, help="until it pings, and until the answer")
    parser.add_argument("--retry-seconds", type=float, default=15, help="the longest pause between attempts")
    logging.basicConfig(format="%(message)s")  # why a connection has failed
    websocket.setdefaulttimeout(10)  # else it waits for ever for the answer to a handshake
    with contextlib.suppress(KeyboardInterrupt):
        Driver(parser.parse_args()).run()
