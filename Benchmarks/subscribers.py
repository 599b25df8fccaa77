"""WebSocket clients of a load: each subscribes to one channel, and then only counts the bytes that come."""

import selectors
import threading
import time

from client import connect

# A masked frame may have any key; this one changes nothing.
MASK = bytes(4)
HANDSHAKE = (b"GET /app/key1?protocol=7 HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Key: YmVuY2htYXJrLWJlbmNobQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
# As many connections shake hands at the same time.
WINDOW = 500


def subscribe_frame(channel, event="subscribe"):
    text = b'{"event":"pusher:%s","data":{"channel":"%s"}}' % (event.encode(), channel.encode())
    assert len(text) < 126
    return bytes([0x81, 0x80 | len(text)]) + MASK + text


class Subscriber:
    """A WebSocket."""

    def __init__(self, port):
        self.socket, self.received = connect(port), b""
        self.socket.sendall(HANDSHAKE)

    def subscribe(self, channel):
        self.received = b""
        self.socket.sendall(subscribe_frame(channel))

    def read(self, wanted):
        """Reads once. Returns whether this text has come."""
        self.received += self.socket.recv(65536)
        return wanted in self.received


class Subscribers:
    """WebSockets that are spread over the ports; `selector` is a load's, which calls `receive_response` of each."""

    def __init__(self, count, *ports):
        self.all, self.bytes, self.buffer = [], 0, bytearray(1 << 20)
        while len(self.all) < count:
            new = [Subscriber(ports[number % len(ports)])
                   for number in range(len(self.all), min(count, len(self.all) + WINDOW))]
            self._wait(new, b"pusher:connection_established")
            self.all += new

    def subscribe(self, channels):
        """Subscribes each to its channel, all at once. Returns the seconds until the last subscription was confirmed."""
        start = time.perf_counter()
        for subscriber, channel in zip(self.all, channels, strict=True):
            subscriber.subscribe(channel)
        self._wait(self.all, b"subscription_succeeded")
        return time.perf_counter() - start

    def join(self, selector):
        """Lets a load's selector wait for these connections as well."""
        for subscriber in self.all:
            subscriber.receive_response = lambda socket=subscriber.socket: self._count(socket)
            selector.register(subscriber.socket, selectors.EVENT_READ, subscriber)

    def _count(self, socket):
        self.bytes += socket.recv_into(self.buffer)
        return False

    def close(self):
        for subscriber in self.all:
            subscriber.socket.close()

    @staticmethod
    def _wait(subscribers, wanted):
        with selectors.DefaultSelector() as selector:
            for subscriber in subscribers:
                selector.register(subscriber.socket, selectors.EVENT_READ, subscriber)
            while selector.get_map():
                for key, _ in selector.select(30) or _fail(f"no {wanted.decode()} within 30 s"):
                    if key.data.read(wanted):
                        selector.unregister(key.fileobj)


def live_times(count, *ports):
    """Returns the seconds from a subscription to its confirmation, of channels without other subscribers, one after the
    other.
    """
    subscribers, times = Subscribers(len(ports), *ports), []
    for number in range(count):
        subscriber = subscribers.all[number % len(ports)]
        start = time.perf_counter()
        subscriber.subscribe(f"live-{number}")
        while not subscriber.read(b"subscription_succeeded"):
            pass
        times.append(time.perf_counter() - start)
    subscribers.close()
    return times


class Waits:
    """Subscribes to a channel again and again during a block. `longest`: the seconds that the slowest confirmation took."""

    def __init__(self, port):
        self.subscriber, self.longest, self.ended = Subscribers(1, port).all[0], 0, False
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()
        self.subscriber.socket.close()

    def _run(self):
        while not self.ended:
            start = time.perf_counter()
            self.subscriber.subscribe("waits")
            while not self.subscriber.read(b"subscription_succeeded"):
                pass
            self.longest = max(self.longest, time.perf_counter() - start)
            self.subscriber.socket.sendall(subscribe_frame("waits", "unsubscribe"))
            time.sleep(0.002)


def _fail(text):
    raise AssertionError(text)
