"""L: HTTP connections, lengths, sizes and methods. Other clients must not be affected."""

import pytest

from harness.api import event_body, signed_target
from harness.apps import FIRST
from harness.wire import Wire, request, upgrade

EVENTS = "/apps/1001/events"
HEALTH = request("GET", "/healthz")


def post(body: bytes, headers: list[str] | None = None, length: bool = True) -> bytes:
    return request("POST", signed_target(FIRST, "POST", EVENTS, body), body, headers, length)


def head_of(body: bytes, *headers: str) -> bytes:
    """Returns a signed POST without a body, with only the lengths in the given headers."""
    return request("POST", signed_target(FIRST, "POST", EVENTS, body), headers=list(headers),
                   length=False)


def expect_rejection_or_close(wire, *statuses: int) -> None:
    response = wire.read_response()
    assert response is None or response.status in (statuses or range(400, 500)), response


def expect_healthy(wire) -> None:
    wire.send(HEALTH)
    response = wire.read_response()
    assert response and response.status == 200, response


def test_L4_connection_is_kept_after_each_response(wire, control_client, channel):
    wire = wire()
    valid, large = event_body(channel), event_body(channel, data="x" * 10241)
    for _ in range(3):
        for data, status in [
                (post(valid), 200), (post(b"{"), 400), (request("POST", EVENTS, valid), 401),
                (HEALTH, 200), (request("GET", "/nowhere"), 404),
                (request("POST", "/healthz", b"x"), 405), (post(large), 413), (post(valid), 200)]:
            wire.send(data)
            response = wire.read_response()
            assert response and response.status == status, (response, status)


def test_L4_connection_serves_a_thousand_requests(api, control_client):
    for _ in range(500):
        api.publish(control_client.channel, "again")
        control_client.client.expect("again")
        assert api.get("/healthz").status == 200


def test_connection_close_is_honoured(wire, channel):
    wire = wire()
    wire.send(post(event_body(channel), ["Connection: close"]))
    assert wire.read_response().status == 200
    assert wire.at_end()


def test_http_1_0_closes_after_the_response(wire, control_client):
    wire = wire()
    wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert wire.read_response().status == 200
    assert wire.at_end()


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_L6_chunked_body_is_accepted(wire, control_client, channel, parts):
    body = event_body(control_client.channel, "in-chunks", "x" * 500)
    size = -(-len(body) // parts)
    chunks = [body[start:start + size] for start in range(0, len(body), size)]
    wire = wire()
    wire.send_ignoring_reset(
        head_of(body, "Transfer-Encoding: chunked")
        + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n")
    response = wire.read_response()
    assert response.status == 200
    control_client.client.expect("in-chunks")


def test_L6_body_may_arrive_byte_by_byte(wire, control_client):
    body = event_body(control_client.channel, "in-bytes", "x" * 20)
    wire = wire()
    chunked = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in body) + b"0\r\nTrailer: x\r\n\r\n"
    for byte in head_of(body, "Transfer-Encoding: chunked") + chunked:
        wire.send(bytes([byte]))
    assert wire.read_response().status == 200
    control_client.client.expect("in-bytes")


def test_post_without_length_has_an_empty_body(wire, control_client):
    wire = wire()
    wire.send(head_of(b"{}"))
    assert (response := wire.read_response()).status == 401 and b"body_md5" in response.body


@pytest.mark.parametrize("lengths", [("2", "2"), ("2", "3"), ("0", "2"), ("2", "0"), ("2", "x")])
def test_L9_two_lengths_are_400(wire, control_client, lengths):
    wire = wire()
    wire.send(head_of(b"{}", *(f"Content-Length: {length}" for length in lengths)) + b"{}")
    assert wire.read_response().status == 400


@pytest.mark.parametrize("length",
                         ["-1", "+2", "2 2", "2,2", "2, 3", "0x2", "2.0", "x", "",
                          "99999999999999999999999", "18446744073709551618", "4294967298"])
def test_L9_invalid_lengths_are_rejected(wire, control_client, length):
    wire = wire()
    wire.send_ignoring_reset(head_of(b"{}", f"Content-Length: {length}") + b"{}")
    wire.close_write()
    expect_rejection_or_close(wire)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_get_and_head_with_a_body_are_answered_or_rejected(wire, control_client, method):
    wire = wire()
    wire.send_ignoring_reset(request(method, "/healthz", b'{"event":"x"}'))
    response = wire.read_response(head=method == "HEAD")
    assert response is None or response.status in (200, 400, 411, 413), response
    wire.send_ignoring_reset(HEALTH)
    after = wire.read_response()
    assert after is None or after.status == 200, after


def test_L7_expectation_of_100_continue_gets_100(wire, control_client):
    body = event_body(control_client.channel, "continued")
    wire = wire()
    wire.send(head_of(body, "Expect: 100-continue", f"Content-Length: {len(body)}"))
    assert wire.read_response().status == 100
    wire.send(body)
    assert wire.read_response().status == 200
    control_client.client.expect("continued")
    expect_healthy(wire)


def test_L7_body_may_be_sent_without_waiting_for_100(wire, control_client):
    wire = wire()
    wire.send(post(event_body(control_client.channel, "continued"), ["Expect: 100-continue"]))
    response = wire.read_response()
    if response.status == 100:
        response = wire.read_response()
    assert response.status == 200
    control_client.client.expect("continued")


def test_L7_unknown_expectation_is_ignored_or_417(wire, control_client, channel):
    wire = wire()
    wire.send_ignoring_reset(post(event_body(channel), ["Expect: the-unexpected"]))
    response = wire.read_response()
    assert response is None or response.status in (200, 417)


def test_L11_headers_of_5000_bytes_are_accepted(wire, control_client):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=["X-Filler: " + "x" * 5000]))
    assert wire.read_response().status == 200
    expect_healthy(wire)


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "User-Agent"])
@pytest.mark.parametrize("size", [16_400, 17_000, 24_000])
def test_L11_headers_over_16_kb_are_431(wire, control_client, name, size):
    wire = wire()
    wire.send_ignoring_reset(request("GET", "/healthz", headers=[f"{name}: " + "x" * size]))
    assert wire.read_response().status == 431


@pytest.mark.parametrize("size", [16_400, 20_000, 32_000])
def test_L11_unknown_headers_over_16_kb_are_431(wire, control_client, size):
    wire = wire()
    wire.send_ignoring_reset(request("GET", "/healthz", headers=["X-Filler: " + "x" * size]))
    assert wire.read_response().status == 431


@pytest.mark.parametrize("name", ["Cookie", "X-Filler"])
@pytest.mark.parametrize("size", [34_000, 100_000, 2_000_000])
def test_L11_much_larger_headers_are_431_or_closed(wire, control_client, name, size):
    wire = wire()
    wire.send_ignoring_reset(request("GET", "/healthz", headers=[f"{name}: " + "x" * size]))
    expect_rejection_or_close(wire, 431)


@pytest.mark.parametrize("count, status", [(50, 200), (99, 200), (100, 431), (200, 431), (1000, 431)])
def test_L11_a_request_has_at_most_100_headers(wire, control_client, count, status):
    wire = wire()
    wire.send_ignoring_reset(
        request("GET", "/healthz", headers=[f"X-{number}: y" for number in range(count)]))
    assert wire.read_response().status == status


def test_L11_browsers_may_send_long_session_cookies(wire, control_client):
    """A dashboard's session of 8 KB, in chunks, and what a browser sends besides."""
    cookies = "; ".join(f"__Secure-next-auth.session-token.{number}=" + "e" * size
                        for number, size in enumerate((3936, 3936, 320)))
    for data in (request("GET", "/healthz", headers=["Cookie: " + cookies, "User-Agent: " + "x" * 200]),
                 upgrade(Cookie=cookies, User_Agent="x" * 200)):
        peer = wire()
        peer.send(data)
        assert peer.read_response().status in (200, 101)


@pytest.mark.parametrize("size", [4_096, 65_536])
def test_L11_the_largest_head_is_configured(start_gateway, closing, size):
    gateway = start_gateway(server={"head_bytes": size})
    for excess, status in ((0, 200), (1, 431)):
        peer = closing(Wire(gateway))
        rest = size + excess - len(request("GET", "/healthz", headers=["X: "]))
        peer.send_ignoring_reset(request("GET", "/healthz", headers=["X: " + "x" * rest]))
        assert peer.read_response().status == status


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_options_of_health_are_204(wire, control_client, path):
    wire = wire()
    wire.send(request("OPTIONS", path) + HEALTH)
    response = wire.read_response()
    assert (response.status, response.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
    assert wire.read_response().status == 200


@pytest.mark.parametrize("fields", [
    ["Connection: upgrade"], ["Connection: upgrade", "Upgrade: "], ["Connection: upgrade", "Upgrade: close"],
    ["Connection: upgrade", "Upgrade: websocket"],
    ["Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]])
def test_upgrade_is_ignored_outside_app(wire, subscriber, api, channel, fields):
    """Some proxies add it to each request (RFC 9110 section 7.8)."""
    wire, body = wire(), event_body(channel, "event", "{}")
    wire.send(request("POST", signed_target(FIRST, "POST", EVENTS, body), body, headers=fields)
              + request("GET", "/healthz", headers=fields) + request("GET", "/nowhere", headers=fields) + HEALTH)
    assert [wire.read_response().status for _ in range(4)] == [200, 200, 404, 200]
    subscriber.expect("event")


@pytest.mark.parametrize("coding, status", [("gzip", 415), ("br", 415), ("x, identity", 415), ("identity", 200), ("Identity", 200), ("", 200)])
@pytest.mark.parametrize("chunked", [False, True])
def test_L6_bodies_with_a_content_encoding_are_415(wire, control_client, channel, coding, status, chunked):
    wire, body = wire(), event_body(channel, "event", "{}")
    target, fields = signed_target(FIRST, "POST", EVENTS, body), [f"Content-Encoding: {coding}"]
    if chunked:
        wire.send(request("POST", target, headers=fields + ["Transfer-Encoding: chunked"], length=False)
                  + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
    else:
        wire.send(request("POST", target, body, headers=fields) + HEALTH)
    response = wire.read_response()
    assert response.status == status, response
    if status == 415:
        assert response.headers["accept-encoding"] == "identity" and b"Content-Encoding" in response.body
    if not chunked:
        assert wire.read_response().status == 200, "the connection goes on"


def test_B3_a_byte_order_mark_is_ignored(api, subscriber, channel):
    mark = b"\xef\xbb\xbf"
    assert api.post(mark + event_body(channel, "event", "{}")).status == 200
    subscriber.expect("event")
    assert api.post(mark + mark + event_body(channel)).status == 400


def test_texts_quote_no_control_characters(wire, control_client):
    """Backends write these texts to their logs."""
    for path in ("/x%1b%5b31m%0aforged", "/apps/%1b%0a/events", "/console/%1b"):
        peer = wire()
        peer.send(request("GET", path))
        response = peer.read_response()
        assert response.status == 404 and b"\x1b" not in response.body and response.body.count(b"\n") == 1, response
        assert b"\\u{1b}" in response.body


@pytest.mark.parametrize("size", [3000, 9000, 20_000, 200_000])
def test_L11_long_targets_are_rejected(wire, control_client, size):
    wire = wire()
    wire.send_ignoring_reset(request("GET", "/" + "x" * size))
    expect_rejection_or_close(wire, 404, 414, 431)


def test_rejects_h2c_upgrade(wire, control_client):
    wire = wire()
    wire.send(
        request("GET", "/healthz",
                headers=["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                         "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"]))
    response = wire.read_response()
    assert response is None or response.status == 200 or 400 <= response.status < 500, response
    if response and response.status == 200 and response.headers.get(
            "connection", "").lower() != "close":
        expect_healthy(wire)


def test_rejects_http2_prior_knowledge(wire, control_client):
    wire = wire()
    wire.send_ignoring_reset(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    wire.close_write()
    expect_rejection_or_close(wire, *range(400, 600))


def test_head_has_no_body(wire, control_client):
    wire = wire()
    wire.send(request("HEAD", "/healthz"))
    assert wire.read_response(head=True).status == 200
    expect_healthy(wire)


@pytest.mark.parametrize("method", ["BREW", "G", "TRACE", "CONNECT", "X" * 300, "GET\0", "GE T"],
                         ids=lambda method: ascii(method)[1:12])
def test_unknown_methods_are_rejected(wire, control_client, method):
    wire = wire()
    wire.send_ignoring_reset(request(method, "/healthz"))
    wire.close_write()
    expect_rejection_or_close(wire, *range(400, 500), 501)


@pytest.mark.parametrize("target",
                         ["/", "/nowhere", "/app", "/apps", "/apps/", "/apps/1001", "/healthz/",
                          "/Healthz", "/healthz/x", "/favicon.ico", "/metrics/x", "/index.html"])
def test_L2_unknown_paths_are_4xx(wire, control_client, target):
    wire = wire()
    wire.send(request("GET", target))
    response = wire.read_response()
    assert response.status in ((401, 404) if target.startswith("/apps") else (404,)), response
    expect_healthy(wire)


@pytest.mark.parametrize("method, target",
                         [("POST", "/healthz"), ("PUT", "/healthz"), ("DELETE", "/healthz"),
                          ("POST", "/readyz"), ("POST", "/metrics"), ("PATCH", "/readyz")])
def test_L1_wrong_method_is_405(wire, control_client, method, target):
    wire = wire()
    wire.send(request(method, target, b"x"))
    assert wire.read_response().status == 405
    expect_healthy(wire)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_L1_wrong_method_on_events_is_405(api, control_client, method):
    body = b"{}" if method == "PUT" else b""
    assert api.call(method, signed_target(FIRST, method, EVENTS, body), body or None).status == 405


@pytest.mark.parametrize("name", ["X", "a", "Hos", "Accep", "User-Agen", "GET", "put"])
def test_prefixes_of_known_header_names_are_unknown_headers(wire, control_client, name):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=[f"{name}: x"]))
    assert wire.read_response().status == 200


def test_idle_connection_is_kept(wire):
    """Waits eight seconds: here the idle time itself is tested."""
    wire = wire()
    wire.send(HEALTH)
    assert wire.read_response().status == 200
    assert not wire.readable(8), "closed while idle"
    expect_healthy(wire)


# Those that are signed are functions, because a signature lives for ten minutes.
@pytest.mark.parametrize("data, status", [
    (HEALTH, 200), (request("HEAD", "/healthz"), 200), (request("GET", "/nowhere"), 404), (request("GET", "/api/driver/jobs"), 401),
    (request("POST", "/pusher/auth", b"{}"), 401), (lambda: post(event_body("channel")), 200), (lambda: post(b"no JSON"), 400),
    (lambda: head_of(b"", "Content-Length: 1000000"), 413), (request("GET", "/app/key1"), 426), (b"no HTTP\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\nX-Filler: " + b"x" * 20_000, 431)],
    ids=["health", "head", "nowhere", "no-token", "no-auth", "publish", "no-json", "long", "upgrade", "no-http", "long-head"])
def test_no_response_may_be_stored_or_guessed_to_be_a_page(wire, data, status):
    wire, data = wire(), data() if callable(data) else data
    wire.send(data)
    response = wire.read_response(head=data.startswith(b"HEAD"))
    assert response.status == status
    assert response.headers["x-content-type-options"] == "nosniff" and response.headers["cache-control"] == "no-store"
    assert "server" not in response.headers and "html" not in response.headers["content-type"]
