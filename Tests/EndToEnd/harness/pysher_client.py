"""pysher, an unmodified Pusher client library."""

import json
import queue

import pysher

from .apps import FIRST, TIMEOUT, App
from .gateway import Gateway

SUCCEEDED = "pusher_internal:subscription_succeeded"


class PysherClient:
    """A pysher connection. `next` returns the events of its channels in order of arrival."""

    def __init__(self, gateway: Gateway, app: App = FIRST, **more):
        self.app, self.received, connected = app, queue.Queue(), queue.Queue()
        self.pusher = pysher.Pusher(app.key, secure=bool(gateway.tls),
                                    custom_host=gateway.host, port=gateway.port,
                                    secret=app.secret, **more)
        self.pusher.connection.bind("pusher:connection_established", connected.put)
        self.pusher.connect()
        self.socket_id = json.loads(connected.get(timeout=TIMEOUT))["socket_id"]

    def subscribe(self, name: str, *events: str, **signed) -> str:
        """Subscribes with the response of an auth endpoint. Returns the data of
        `subscription_succeeded`.

        pysher's own `subscribe` registers the channel only after it has sent the request, and would
        miss a quick response: register it first.
        """
        succeeded = queue.Queue()
        channel = pysher.channel.Channel(name, self.pusher.connection)
        channel.bind(SUCCEEDED, succeeded.put)
        for event in events:
            channel.bind(event, lambda data, event=event: self.received.put((name, event, data)))
        self.pusher.channels[name] = channel
        self.pusher.connection.send_event("pusher:subscribe", {"channel": name} | signed)
        return succeeded.get(timeout=TIMEOUT)

    def next(self) -> tuple[str, str, str]:
        """Returns channel, event and data of the next event."""
        return self.received.get(timeout=TIMEOUT)

    def close(self) -> None:
        """Sends a close frame and waits for the gateway's. pysher's own `disconnect` closes the
        socket while its reader still uses it.
        """
        self.pusher.connection.disconnect_called = True
        self.pusher.connection.socket.sock.send_close()
        self.pusher.connection.join(TIMEOUT)
        assert not self.pusher.connection.is_alive(), "no response to the close frame"
