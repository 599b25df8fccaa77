"""L: HTTP on the wire: kept connections, lengths, sizes, methods. The bystander must not notice."""

import pytest

from harness.api import event_body, signed_target
from harness.apps import FIRST
from harness.wire import request

EVENTS = "/apps/1001/events"
HEALTH = request("GET", "/healthz")


def post(body: bytes, headers: list[str] | None = None, length: bool = True) -> bytes:
    return request("POST", signed_target(FIRST, "POST", EVENTS, body), body, headers, length)


def head_of(body: bytes, *headers: str) -> bytes:
    """A signed POST without its body, and with no other length than the given headers say."""
    return request("POST", signed_target(FIRST, "POST", EVENTS, body), headers=list(headers), length=False)


def refused_or_ended(wire, *statuses: int) -> None:
    answer = wire.answer()
    assert answer is None or answer.status in (statuses or range(400, 500)), answer


def healthy(wire) -> None:
    wire.send(HEALTH)
    answer = wire.answer()
    assert answer and answer.status == 200, answer


def test_L4_the_connection_is_kept_after_every_answer(wire, bystander, channel):
    wire = wire()
    good, large = event_body(channel), event_body(channel, data="x" * 10241)
    for _ in range(3):
        for data, status in [
                (post(good), 200), (post(b"{"), 400), (request("POST", EVENTS, good), 401), (HEALTH, 200), (request("GET", "/nowhere"), 404),
                (request("POST", "/healthz", b"x"), 405), (post(large), 413), (post(good), 200)]:
            wire.send(data)
            answer = wire.answer()
            assert answer and answer.status == status, (answer, status)


def test_L4_a_thousand_calls_on_one_connection(api, bystander):
    for _ in range(500):
        api.publish(bystander.channel, "again")
        bystander.client.expect("again")
        assert api.get("/healthz").status == 200


def test_connection_close_is_honoured(wire, channel):
    wire = wire()
    wire.send(post(event_body(channel), ["Connection: close"]))
    assert wire.answer().status == 200
    assert wire.ended()


def test_HTTP_1_0_ends_after_its_answer(wire, bystander):
    wire = wire()
    wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert wire.answer().status == 200
    assert wire.ended()


@pytest.mark.parametrize("parts", [1, 3, 50])
def test_L6_a_chunked_body_is_411_or_understood(wire, bystander, channel, parts):
    body = event_body(bystander.channel, "in-chunks", "x" * 500)
    size = -(-len(body) // parts)
    chunks = [body[start:start + size] for start in range(0, len(body), size)]
    wire = wire()
    wire.send_as_taken(head_of(body, "Transfer-Encoding: chunked") + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n")
    answer = wire.answer()
    assert answer.status in (200, 411)
    if answer.status == 200:
        bystander.client.expect("in-chunks")


def test_L6_a_chunked_body_that_never_ends(wire, bystander):
    wire = wire()
    wire.send_as_taken(head_of(b"x", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n")
    refused_or_ended(wire, 411)


def test_a_POST_without_a_length_is_411(wire, bystander):
    wire = wire()
    wire.send(head_of(b"{}"))
    assert wire.answer().status == 411


@pytest.mark.parametrize("lengths", [("2", "2"), ("2", "3"), ("0", "2"), ("2", "0"), ("2", "x")])
def test_L9_two_lengths_are_400(wire, bystander, lengths):
    wire = wire()
    wire.send(head_of(b"{}", *(f"Content-Length: {length}" for length in lengths)) + b"{}")
    assert wire.answer().status == 400


@pytest.mark.parametrize("length", ["-1", "+2", "2 2", "2,2", "2, 3", "0x2", "2.0", "x", "", "99999999999999999999999", "18446744073709551618", "4294967298"])
def test_L9_odd_lengths_are_refused(wire, bystander, length):
    wire = wire()
    wire.send_as_taken(head_of(b"{}", f"Content-Length: {length}") + b"{}")
    wire.finish()
    refused_or_ended(wire)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_body_where_none_belongs(wire, bystander, method):
    wire = wire()
    wire.send_as_taken(request(method, "/healthz", b'{"event":"x"}'))
    answer = wire.answer(head=method == "HEAD")
    assert answer is None or answer.status in (200, 400, 411, 413), answer
    wire.send_as_taken(HEALTH)
    after = wire.answer()
    assert after is None or after.status == 200, after


def test_L7_expect_100_continue(wire, bystander):
    body = event_body(bystander.channel, "continued")
    wire = wire()
    wire.send(head_of(body, "Expect: 100-continue", f"Content-Length: {len(body)}"))
    assert wire.answer().status == 100
    wire.send(body)
    assert wire.answer().status == 200
    bystander.client.expect("continued")
    healthy(wire)


def test_L7_a_body_that_does_not_wait_for_100(wire, bystander):
    wire = wire()
    wire.send(post(event_body(bystander.channel, "continued"), ["Expect: 100-continue"]))
    answer = wire.answer()
    if answer.status == 100:
        answer = wire.answer()
    assert answer.status == 200
    bystander.client.expect("continued")


def test_L7_an_unknown_expectation(wire, bystander, channel):
    wire = wire()
    wire.send_as_taken(post(event_body(channel), ["Expect: the-unexpected"]))
    answer = wire.answer()
    assert answer is None or answer.status in (200, 417)


def test_L11_headers_of_5000_bytes_are_fine(wire, bystander):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=["X-Filler: " + "x" * 5000]))
    assert wire.answer().status == 200
    healthy(wire)


@pytest.mark.parametrize("name", ["Cookie", "Authorization", "User-Agent"])
@pytest.mark.parametrize("size", [8300, 9000, 12_000])
def test_L11_headers_over_8_KB_are_431(wire, bystander, name, size):
    wire = wire()
    wire.send_as_taken(request("GET", "/healthz", headers=[f"{name}: " + "x" * size]))
    assert wire.answer().status == 431


@pytest.mark.parametrize("size", [8300, 12_000, 16_000])
def test_L11_headers_of_unknown_names_may_be_passed_over(wire, bystander, size):
    """The library keeps nothing of them, so they need not count."""
    wire = wire()
    wire.send_as_taken(request("GET", "/healthz", headers=["X-Filler: " + "x" * size]))
    assert wire.answer().status in (200, 431)


@pytest.mark.parametrize("name", ["Cookie", "X-Filler"])
@pytest.mark.parametrize("size", [17_000, 100_000, 2_000_000])
def test_L11_far_larger_ones_are_431_or_cut_off(wire, bystander, name, size):
    wire = wire()
    wire.send_as_taken(request("GET", "/healthz", headers=[f"{name}: " + "x" * size]))
    refused_or_ended(wire, 431)


@pytest.mark.parametrize("count", [50, 80, 100, 200, 1000])
def test_L11_many_headers(wire, bystander, count):
    wire = wire()
    wire.send_as_taken(request("GET", "/healthz", headers=[f"X-{number}: y" for number in range(count)]))
    answer = wire.answer()
    assert answer is None or answer.status in (200, 400, 431)


@pytest.mark.parametrize("size", [3000, 9000, 20_000, 200_000])
def test_L11_long_addresses(wire, bystander, size):
    wire = wire()
    wire.send_as_taken(request("GET", "/" + "x" * size))
    refused_or_ended(wire, 404, 414, 431)


def test_h2c_is_not_agreed_to(wire, bystander):
    wire = wire()
    wire.send(request("GET", "/healthz", headers=["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"]))
    answer = wire.answer()
    assert answer is None or answer.status == 200 or 400 <= answer.status < 500, answer
    if answer and answer.status == 200 and answer.headers.get("connection", "").lower() != "close":
        healthy(wire)


def test_nor_is_HTTP_2_out_of_the_blue(wire, bystander):
    wire = wire()
    wire.send_as_taken(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
    wire.finish()
    refused_or_ended(wire, *range(400, 600))


def test_HEAD_has_no_body(wire, bystander):
    wire = wire()
    wire.send(request("HEAD", "/healthz"))
    assert wire.answer(head=True).status == 200
    healthy(wire)


@pytest.mark.parametrize("method", ["BREW", "G", "TRACE", "CONNECT", "X" * 300, "GET\0", "GE T"], ids=lambda method: ascii(method)[1:12])
def test_unknown_methods_are_refused(wire, bystander, method):
    wire = wire()
    wire.send_as_taken(request(method, "/healthz"))
    wire.finish()
    refused_or_ended(wire, *range(400, 500), 501)


@pytest.mark.parametrize("target", ["/", "/nowhere", "/app", "/apps", "/apps/", "/apps/1001", "/healthz/", "/Healthz", "/healthz/x", "/favicon.ico",
                                    "/metrics/x", "/index.html"])
def test_L2_unknown_paths_are_4xx(wire, bystander, target):
    wire = wire()
    wire.send(request("GET", target))
    answer = wire.answer()
    assert answer.status in ((401, 404) if target.startswith("/apps") else (404,)), answer
    healthy(wire)


@pytest.mark.parametrize("method, target", [("POST", "/healthz"), ("PUT", "/healthz"), ("DELETE", "/healthz"), ("POST", "/readyz"), ("POST", "/metrics"),
                                            ("PATCH", "/readyz")])
def test_L1_a_wrong_method_is_405(wire, bystander, method, target):
    wire = wire()
    wire.send(request(method, target, b"x"))
    assert wire.answer().status == 405
    healthy(wire)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_L1_a_wrong_method_on_the_events_is_405(api, bystander, method):
    body = b"{}" if method == "PUT" else b""
    assert api.call(method, signed_target(FIRST, method, EVENTS, body), body or None).status == 405


@pytest.mark.parametrize("name", ["X", "a", "Hos", "Accep", "User-Agen", "GET", "put"])
def test_header_names_that_begin_like_known_ones_are_waited_for_by_nobody(wire, bystander, name):
    """The library does not get over such names: their sender may get no answer, but he alone."""
    wire = wire()
    wire.send(request("GET", "/healthz", headers=[f"{name}: x"]))


def test_an_idle_connection_is_kept_for_its_next_call(wire):
    """Eight seconds of nothing: here silence is what is tested, so it is waited for."""
    wire = wire()
    wire.send(HEALTH)
    assert wire.answer().status == 200
    assert not wire.readable(8), "ended while idle"
    healthy(wire)
