"""S2: published data arrives unchanged."""

import json

import pytest

TEXTS = {
    "empty": "",
    "a space": " ",
    "no JSON": "not { json",
    "a number": "1",
    "null": "null",
    "an object": '{"a": [1, 2.50, 1e3, true, null], "b": {"c": "d"}}',
    "spaces and order": '{ "z" :1,   "a":2,"z":3 }\n',
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps({"a": '"\\"'}))),
    "quotes": '"\'`""',
    "backslashes": "\\ \\\\ \\n \\u0041 \\",
    "slashes": "/ // </script> \\/",
    "line ends": "a\nb\r\nc\rd",
    "control characters": "".join(map(chr, range(32))),
    "NUL": "\0",
    "delete and C1": "\x7f\x80\x9f",
    "separators": "\u2028\u2029\u00a0\ufeff",
    "umlauts": "Grüße aus Zürich, naïve café",
    "scripts": "配送 доставка توصيل משלוח डिलीवरी",
    "outside the BMP": "🚚📦 𝒳 \U0010ffff",
    "ZWJ and combining": "👩‍👩‍👧‍👦 é",
    "noncharacters": "\ufffe\uffff\ufffd",
    "percent": "%00%20%7B&a=b+c",
    "markup": "<script>alert(1)</script>&amp;",
}


@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "raw"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_S2_data_arrives_as_published(subscriber, api, channel, text, ascii_only):
    body = json.dumps({"name": "event", "channel": channel, "data": text},
                      ensure_ascii=ascii_only).encode()
    assert api.post(body).status == 200
    assert subscriber.receive() == {"event": "event", "channel": channel, "data": text}


@pytest.mark.parametrize("written, text", [
    (r"\u0000", "\0"), (r"a\u0000b", "a\0b"), (r"\/", "/"), ("/", "/"),
    (r"<\/script>", "</script>"), (r"\"", '"'), (r"\\", "\\"),
    (r"\\u0041", r"\u0041"), (r"\u0041", "A"), (r"\u00e9\u00E9", "éé"), (r"\ud83d\ude9a", "🚚"),
    (r"\uD83D\uDE9A", "🚚"),
    (r"\ud83d\ude9a\ud83d\ude9a", "🚚🚚"), (r"\b\f\n\r\t", "\b\f\n\r\t"), (r"\u001f", "\x1f"),
    (r"\u007f", "\x7f"), (r"\u2028", "\u2028"),
    (r"\uffff", "\uffff"), (r"{\"a\":\"\\u0000\\/\\\"\"}", r'{"a":"\u0000\/\""}')])
def test_S2_escapes_in_the_body_are_decoded(subscriber, api, channel, written, text):
    assert api.post(
        b'{"name":"event","channel":"%s","data":"%s"}' % (
            channel.encode(), written.encode())).status == 200
    subscriber.expect("event", data=text)


@pytest.mark.parametrize("written",
                         [r"\ud83d", r"\ude9a", r"\ud83dx", r"\ude9a\ud83d", r"\ud83d\ud83d",
                          r"\ud83d\u0041"])
def test_S2_unpaired_surrogates_break_no_client(subscriber, api, channel, written):
    """They have no UTF-8 encoding: either rejected, or relayed as escapes; the subscriber's library
    validates every frame.
    """
    response = api.post(
        b'{"name":"event","channel":"%s","data":"%s"}' % (channel.encode(), written.encode()))
    assert response.status in (200, 400)
    if response.status == 200:
        subscriber.expect("event")
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("data",
                         [b"\xff", b"\xc3(", b"\xed\xa0\xbd", b"\xf8\x88\x80\x80\x80", b"\xc0\x80",
                          b"\xf4\x90\x80\x80", b"\xe2\x82"],
                         ids=lambda data: data.hex())
def test_S2_invalid_utf_8_is_rejected(subscriber, api, channel, data):
    assert api.post(
        b'{"name":"event","channel":"%s","data":"%s"}' % (channel.encode(), data)).status == 400
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("character", range(32), ids=lambda number: f"{number:#04x}")
def test_S2_control_characters_must_be_escaped(api, channel, character):
    assert api.post(
        b'{"name":"event","channel":"%s","data":"a%cb"}' % (
            channel.encode(), character)).status == 400


@pytest.mark.parametrize("letter", ["a", '"', "\\", "\0", "é", "配", "🚚"], ids=ascii)
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "raw"])
def test_B9_10240_bytes_are_accepted(subscriber, api, channel, letter, ascii_only):
    """Counted as UTF-8 bytes of the decoded data, whatever the length of the escaped JSON."""
    size = len(letter.encode())
    text = letter * (10240 // size) + "." * (10240 % size)
    assert len(text.encode()) == 10240
    body = json.dumps({"name": "event", "channel": channel, "data": text},
                      ensure_ascii=ascii_only).encode()
    response = api.post(body)
    assert (response.status, response.body) == (200, b"{}")
    subscriber.expect("event", data=text)


@pytest.mark.parametrize("letter", ["a", '"', "\\", "\0", "é", "配", "🚚"], ids=ascii)
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "raw"])
def test_B9_10241_bytes_are_413(subscriber, api, channel, letter, ascii_only):
    size = len(letter.encode())
    text = letter * (10241 // size) + "." * (10241 % size)
    body = json.dumps({"name": "event", "channel": channel, "data": text},
                      ensure_ascii=ascii_only).encode()
    response = api.post(body)
    assert response.status == 413
    assert response.text.startswith(
        "The data content of this event exceeds the allowed maximum (10240 bytes)")
    api.publish(channel, "fence")
    subscriber.expect("fence")


@pytest.mark.parametrize("name",
                         ["a", "x" * 200, 'say "hi"', "back\\slash", "new\nline", "zero\0", "é配🚚",
                          "client-event", "a b/c?d#e", "null", "0"],
                         ids=ascii)
def test_event_names_arrive_as_published(subscriber, api, channel, name):
    api.publish(channel, name, "x")
    assert subscriber.receive() == {"event": name, "channel": channel, "data": "x"}


@pytest.mark.parametrize("gateway", [1, 4], indirect=True)
def test_S2_all_subscribers_receive_the_same_bytes(connect, api, channel):
    clients = [connect() for _ in range(6)]
    for client in clients:
        client.subscribe(channel)
    for text in TEXTS.values():
        api.publish(channel, data=text)
    for client in clients:
        for text in TEXTS.values():
            client.expect("event", data=text)
