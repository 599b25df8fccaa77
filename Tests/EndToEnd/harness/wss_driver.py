"""Driver 42's app, with an unmodified SDK, against a deployed gateway:

    python -m harness.wss_driver HOST APP_KEY DRIVER_TOKEN ADMIN_TOKEN

When it is subscribed, the dispatcher assigns order A-18. Prints the bookings of the job-assigned
events up to that one; what the driver has missed before comes first.
"""

import contextlib
import json
import sys
from types import SimpleNamespace

import requests

from .apps import TIMEOUT, App
from .pysher_client import PysherClient

CHANNEL = "private-driver-42"


def main(host: str, key: str, driver: str, admin: str) -> None:
    def post(path: str, token: str, **body) -> dict:
        response = requests.post(f"https://{host}{path}", timeout=TIMEOUT,
                                 headers={"Authorization": f"Bearer {token}"}, **body)
        response.raise_for_status()
        return response.json()

    gateway = SimpleNamespace(host=host, port=443, tls=True)
    with contextlib.closing(PysherClient(gateway, App("1001", key, ""))) as client:
        grant = post("/pusher/auth", driver,
                     data={"socket_id": client.socket_id, "channel_name": CHANNEL})
        client.subscribe(CHANNEL, "job-assigned", **grant)
        post("/api/admin/orders/A-18/assign-driver", admin, json={"driverId": "42"})
        booking = ""
        while booking != "A-18":
            booking = json.loads(client.next()[2])["bookingReference"]
            print(booking)


if __name__ == "__main__":
    main(*sys.argv[1:])
