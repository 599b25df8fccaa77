"""A dispatcher: assigns an order to a driver, and prints how far it has come until the driver has accepted it.

    pip install websockets
    python3 examples/dispatcher.py A-17 42

Events only say when to ask: the gateway does not repeat what a dispatcher has missed, but its state has everything. So
a lost connection loses nothing.
"""

import argparse
import asyncio
import contextlib
import json
import random
import subprocess
import urllib.error
import urllib.request
import uuid
from urllib.parse import quote

from websockets.asyncio.client import connect

CHANNEL = "private-admin-channel"


class Dispatcher:
    def __init__(self, options):
        self.options, self.token, self.attempts = options, None, 0
        self.order = quote(options.order, safe="")
        # With the same key, a repeated request does nothing, and gets the first answer again.
        self.key = str(uuid.uuid4())
        self.printed = set()

    def new_token(self):
        """Your dashboard asks its backend here."""
        return subprocess.check_output(self.options.token_command, shell=True, text=True, timeout=30).strip()

    def call(self, path, body=None, may_be_expired=True):
        """Makes a request; if the token is refused, once more with a new one."""
        self.token = self.token or self.new_token()
        request = urllib.request.Request(
            self.options.url + path, json.dumps(body).encode() if body else None,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Idempotency-Key": self.key})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == 401:
                self.token = None
                if may_be_expired:
                    return self.call(path, body, may_be_expired=False)
            problem = f"{path}: {error.code} {error.read().decode(errors='replace')}"
            if error.code in (400, 403, 404, 409):
                raise SystemExit(problem) from None  # it would be the same again
            raise ConnectionError(problem) from None

    async def run(self):
        address = self.options.url.replace("http", "ws", 1) + f"/app/{self.options.key}?protocol=7"
        while True:
            try:
                async with connect(address, close_timeout=1) as socket:
                    if await self.talk(socket):
                        return
                problem = "the gateway has closed the connection"
            except Exception as error:  # any: the next attempt may succeed
                problem = str(error) or type(error).__name__
            pause = random.uniform(0.5, 1) * min(self.options.retry_seconds, 2 ** min(self.attempts, 10))
            self.attempts += 1
            print(f"{problem}; again in {pause:.1f} s", flush=True)
            await asyncio.sleep(pause)

    async def talk(self, socket):
        """Returns whether the driver has accepted the order. First subscribes, so that no event is missed."""
        async for text in socket:
            message = json.loads(text)
            data = message.get("data")
            data = json.loads(data) if isinstance(data, str) else data
            match message["event"]:
                case "pusher:connection_established":
                    who = {"socket_id": data["socket_id"], "channel_name": CHANNEL}
                    grant = await asyncio.to_thread(self.call, "/pusher/auth", who)
                    await socket.send(json.dumps({"event": "pusher:subscribe", "data": grant | {"channel": CHANNEL}}))
                case "pusher_internal:subscription_succeeded":
                    self.attempts = 0
                    await asyncio.to_thread(self.assign)
                    if await asyncio.to_thread(self.is_over):
                        return True
                case "pusher:ping":
                    await socket.send('{"event":"pusher:pong","data":{}}')
                case "pusher:error":
                    raise ConnectionError(data["message"])
                case _ if (data or {}).get("driverId") == self.options.driver and await asyncio.to_thread(self.is_over):
                    return True
        return False

    def assign(self):
        path = f"/api/admin/orders/{self.order}/assign-driver"
        self.print(self.call(path, {"driverId": self.options.driver})["message"])

    def is_over(self):
        """Prints what is new of the order and its notification."""
        status = self.call(f"/api/admin/orders/{self.order}")["data"]["order"]["status"]
        for notification in self.call(f"/api/ops/notifications?order={self.order}")["notifications"]:
            if (notification["event"], notification["channel"]) == ("job-assigned", f"driver-{self.options.driver}"):
                for step in self.call(f"/api/ops/notifications/{notification['id']}")["steps"]:
                    self.print(f"the notification is {step['step']}")
                break
        self.print(f"the order is {status}")
        return status not in ("available", "assigned")

    def print(self, text):
        """Prints what has not been printed."""
        if text not in self.printed:
            self.printed.add(text)
            print(text, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("order", help="the order's code")
    parser.add_argument("driver", help="the driver's id")
    parser.add_argument("--url", default="http://127.0.0.1:6001", help="the gateway")
    parser.add_argument("--key", default="key1", help="apps[].key of the gateway")
    parser.add_argument("--token-command", default=".build/fleetwire token --role admin --subject ann",
                        help="prints a token of a dispatcher")
    parser.add_argument("--retry-seconds", type=float, default=15, help="the longest pause between attempts")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(Dispatcher(parser.parse_args()).run())
