"""A driver's app: shows what is assigned, reports that it has arrived, and accepts it.

    pip install websockets
    python3 examples/driver.py --driver 42

It may lose the network, the gateway and its token at any moment. It connects again for ever, gets a new token when the
old one is refused, repeats what had no answer, and shows once what comes twice.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import urllib.error
import urllib.request
from collections import deque
from datetime import datetime, timezone
from urllib.parse import quote

from websockets.asyncio.client import connect


class Refused(Exception):
    """An answer that would be the same again."""


class Driver:
    def __init__(self, options):
        self.options, self.token, self.attempts = options, None, 0
        # What the gateway sends again is among the latest 1,000. After a long outage, the oldest jobs are over.
        self.seen, self.unanswered = deque(maxlen=2000), deque(maxlen=2000)

    def new_token(self):
        """Your app asks its backend here."""
        return subprocess.check_output(self.options.token_command, shell=True, text=True, timeout=30,
                                       env=os.environ | {"DRIVER": self.options.driver}).strip()

    def call(self, path, body, may_be_expired=True):
        """Makes a request; if the token is refused, once more with a new one."""
        self.token = self.token or self.new_token()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.options.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 401:
                self.token = None
                if may_be_expired:
                    return self.call(path, body, may_be_expired=False)
            problem = f"{path}: {error.code} {error.read().decode(errors='replace')}"
            raise (Refused if error.code in (400, 403, 404, 409) else ConnectionError)(problem) from None

    async def run(self):
        address = self.options.url.replace("http", "ws", 1) + f"/app/{self.options.key}?protocol=7"
        seconds = self.options.silence_seconds
        while True:
            try:
                async with connect(address, ping_interval=seconds, ping_timeout=seconds, close_timeout=1) as socket:
                    await self.talk(socket)
                problem = "the gateway has closed the connection"
            except Exception as error:  # any: on the road, nobody starts the app again
                problem = str(error) or type(error).__name__
            # At random, so that after an outage not all apps come at the same moment.
            pause = random.uniform(0.5, 1) * min(self.options.retry_seconds, 2 ** min(self.attempts, 10))
            self.attempts += 1
            print(f"{problem}; again in {pause:.1f} s", flush=True)
            await asyncio.sleep(pause)

    async def talk(self, socket):
        """Subscribes, and reads until the connection ends."""
        async def send(event, data):
            await socket.send(json.dumps({"event": event, "data": data}))

        channel = f"private-driver-{self.options.driver}"
        async for text in socket:
            message = json.loads(text)
            data = message.get("data")
            data = json.loads(data) if isinstance(data, str) else data
            match message["event"]:
                case "pusher:connection_established":
                    # The gateway remembers what each device has got: a device must keep its name.
                    who = {"socket_id": data["socket_id"], "device_id": self.options.device}
                    await send("pusher:signin", await asyncio.to_thread(self.call, "/pusher/user-auth", who))
                    grant = await asyncio.to_thread(self.call, "/pusher/auth", who | {"channel_name": channel})
                    await send("pusher:subscribe", grant | {"channel": channel})
                case "pusher_internal:subscription_succeeded":
                    print(f"subscribed to {channel}", flush=True)
                    self.attempts = 0
                    await self.answer()
                case "pusher:ping":
                    await send("pusher:pong", {})
                case "pusher:error":
                    raise ConnectionError(data["message"])
                case "job-assigned" if data["notificationId"] not in self.seen:
                    self.seen.append(data["notificationId"])
                    self.show(data)
                    await self.answer()

    def show(self, job):
        """Shows a job, and notes what the gateway is to know of it."""
        print("job-assigned", job["bookingReference"], flush=True)
        self.unanswered.append(("/api/driver/notifications/log", {
            "notificationId": job["notificationId"], "type": "new_job", "entityId": job["bookingId"],
            "event": "received", "timestamp": datetime.now(timezone.utc).isoformat()}))
        # Your app asks the driver.
        self.unanswered.append((f"/api/driver/jobs/{quote(job['bookingId'], safe='')}/accept", {}))

    async def answer(self):
        """Tells the gateway. What gets no answer stays for the next connection."""
        while self.unanswered:
            path, body = self.unanswered[0]
            try:
                print((await asyncio.to_thread(self.call, path, body)).get("message", "reported"), flush=True)
            except Refused as refusal:
                print(refusal, flush=True)
            self.unanswered.popleft()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:6001", help="the gateway")
    parser.add_argument("--key", default="key1", help="apps[].key of the gateway")
    parser.add_argument("--driver", default="42", help="the driver's id")
    parser.add_argument("--device", default="driver-py", help="the name of this device")
    parser.add_argument("--token-command", help="prints a token of $DRIVER",
                        default=".build/fleetwire token --role driver --subject $DRIVER --name Dana")
    parser.add_argument("--silence-seconds", type=float, default=20, help="until it pings, and until the answer")
    parser.add_argument("--retry-seconds", type=float, default=15, help="the longest pause between attempts")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Driver(parser.parse_args()).run())
