"""C1: all messages are text frames with one JSON object, whose event is a string."""

import json

from harness.raw_client import RawClient
from harness.wire import CLOSE, TEXT

SETTINGS = {"first": {"client_events": True, "subscription_counts": True}}


def frames_until_pong(raw_client) -> list[tuple[int, bytes]]:
    raw_client.send_event("pusher:ping")
    frames = [raw_client.next_frame()]
    while b'"pusher:pong"' not in frames[-1][1]:
        frames.append(raw_client.next_frame())
    return frames


def test_C1_urls_of_client_libraries_are_accepted(wire):
    for query in ("protocol=7&client=js&version=8.4.0&flash=false",
                  "client=Pysher&version=1.0.7&protocol=6",
                  "protocol=7&client=pusher-websocket-swift&version=10.1.5",
                  "client=java-client&protocol=5&version=2.4.4"):
        assert wire().open(f"/app/key1?{query}")["socket_id"]


def test_C1_all_messages_are_text_and_json(gateway, connect, closing, api, channel):
    raw_client, other = closing(RawClient(gateway)), connect()
    presence, private, cache = "presence-" + channel, "private-" + channel, "cache-" + channel
    api.publish(cache)
    user_data = json.dumps({"id": channel, "watchlist": [f"u{number}" for number in range(101)]})
    raw_client.send_event("pusher:signin",
                          {"auth": raw_client.app.user_auth(raw_client.socket_id, user_data),
                           "user_data": user_data})
    raw_client.send_presence_subscribe(presence, "1")
    raw_client.send_event("pusher:subscribe", {"channel": cache})
    raw_client.send_event("pusher:subscribe", {"channel": cache + "-empty"})
    raw_client.send_event("pusher:subscribe",
                          {"channel": private,
                           "auth": raw_client.app.auth(raw_client.socket_id, private)})
    raw_client.send_event("pusher:subscribe", {"channel": private})
    raw_client.send_event("pusher:nonsense")
    frames = frames_until_pong(raw_client)
    other.join(presence, "2")
    other.subscribe_private(private)
    other.send("client-said", {"a": 1}, channel=private)
    other.send("pusher:unsubscribe", {"channel": presence})
    other.receive_until_pong()
    frames += frames_until_pong(raw_client)
    seen = set()
    for opcode, payload in frames:
        assert opcode == TEXT, (opcode, payload)
        message = json.loads(payload.decode())
        assert isinstance(message, dict) and isinstance(message["event"], str), message
        assert message.keys() <= {"event", "channel", "data", "user_id"}, message
        seen.add(message["event"])
    internal = {f"pusher_internal:{name}"
                for name in ("subscription_succeeded", "member_added", "member_removed",
                             "subscription_count", "watchlist_events")}
    assert seen == internal | {"pusher:signin_success", "pusher:error", "pusher:cache_miss",
                               "pusher:pong", "event", "client-said"}
    assert api.post_signed(f"users/{channel}/terminate_connections").status == 200
    opcode, payload = raw_client.next_frame()
    assert opcode == CLOSE and int.from_bytes(payload[:2], "big") == 4009
