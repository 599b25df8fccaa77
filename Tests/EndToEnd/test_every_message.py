"""C1: whatever is said, it is said in text frames of one JSON object each, with an event that is a string."""

import json

from harness.guest import Guest
from harness.wire import CLOSE, TEXT

SETTINGS = {"first": {"client_events": True, "subscription_counts": True}}


def frames_until_pong(guest) -> list[tuple[int, bytes]]:
    guest.say("pusher:ping")
    frames = [guest.next_frame()]
    while b'"pusher:pong"' not in frames[-1][1]:
        frames.append(guest.next_frame())
    return frames


def test_C1_the_url_as_libraries_build_it(wire):
    for query in ("protocol=7&client=js&version=8.4.0&flash=false", "client=Pysher&version=1.0.7&protocol=6",
                  "protocol=7&client=pusher-websocket-swift&version=10.1.5",
                  "client=java-client&protocol=5&version=2.4.4"):
        assert wire().open(f"/app/key1?{query}")["socket_id"]


def test_C1_all_that_a_connection_hears_is_text_and_JSON(gateway, connect, closing, api, channel):
    guest, other = closing(Guest(gateway)), connect()
    presence, private, cache = "presence-" + channel, "private-" + channel, "cache-" + channel
    api.publish(cache)
    user_data = json.dumps({"id": channel, "watchlist": [f"u{number}" for number in range(101)]})
    guest.say("pusher:signin", {"auth": guest.app.user_auth(guest.socket_id, user_data), "user_data": user_data})
    guest.ask_to_join(presence, "1")
    guest.say("pusher:subscribe", {"channel": cache})
    guest.say("pusher:subscribe", {"channel": cache + "-empty"})
    guest.say("pusher:subscribe", {"channel": private, "auth": guest.app.auth(guest.socket_id, private)})
    guest.say("pusher:subscribe", {"channel": private})
    guest.say("pusher:nonsense")
    frames = frames_until_pong(guest)
    other.join(presence, "2")
    other.subscribe_private(private)
    other.send("client-said", {"a": 1}, channel=private)
    other.send("pusher:unsubscribe", {"channel": presence})
    other.until_pong()
    frames += frames_until_pong(guest)
    seen = set()
    for opcode, payload in frames:
        assert opcode == TEXT, (opcode, payload)
        message = json.loads(payload.decode())
        assert isinstance(message, dict) and isinstance(message["event"], str), message
        assert message.keys() <= {"event", "channel", "data", "user_id"}, message
        seen.add(message["event"])
    internal = {f"pusher_internal:{name}" for name in ("subscription_succeeded", "member_added", "member_removed", "subscription_count", "watchlist_events")}
    assert seen == internal | {"pusher:signin_success", "pusher:error", "pusher:cache_miss", "pusher:pong", "event", "client-said"}
    assert api.tell(f"users/{channel}/terminate_connections").status == 200
    opcode, payload = guest.next_frame()
    assert opcode == CLOSE and int.from_bytes(payload[:2], "big") == 4009
