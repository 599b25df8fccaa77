"""Codes and their SMS: tries, repetitions, and an adapter that is slow, fails or does not answer."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.codes import (OVER, NO_TRIES, NOT_SENT, settings, error, expect, sent, age, wrong,
                           outcomes)
from harness.codes_fixtures import adapter, module_settings, phone, restart  # noqa: F401
from harness.fleet import Fleet, unique_id, wait_until
from harness.gateway import check_log
from harness.sms_adapter import Phone

# Codes


def test_five_wrong_codes_end_a_code(phone):
    app = phone()
    code = app.receive()
    before = outcomes(app)["wrong"]
    for left in (4, 3, 2, 1):
        expect(app.verify(wrong(code)), error(400, "Invalid OTP", attempts_remaining=left))
    expect(app.verify("12345"), error(400, "OTP must be 6 digits"))
    expect(app.verify(wrong(code)), error(400, NO_TRIES))
    expect(app.verify(code), error(400, NO_TRIES))
    assert outcomes(app)["wrong"] - before == 6


def test_a_code_expires(gateway, phone):
    app = phone()
    code = app.receive()
    age(gateway, app, 301)
    expect(app.verify(code), error(400, "OTP expired"))
    age(gateway, app, 3599)
    expect(app.verify(code), error(400, OVER))
    expect(app.resend(), error(400, OVER))


def test_a_repeated_request_gets_the_same_answer_for_a_minute(gateway, phone):
    app = phone()
    code = app.receive()
    first = app.verify(code)
    assert app.verify(code).body == first.body
    expect(app.verify(wrong(code)), error(400, OVER))
    age(gateway, app, 60)
    expect(app.verify(code), error(400, OVER))


def test_two_verifies_at_once_sign_in_once(gateway, phone):
    app = phone()
    code = app.receive()
    others = [phone(number=app.local) for _ in range(8)]
    for other in others:
        other.session = app.session
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda other: other.verify(code), others))
    assert {answer.status for answer in answers} == {200} and len({answer.body for answer in answers}) == 1
    assert len(gateway.query("SELECT id FROM customers WHERE phone = ?", app.number)) == 1


def test_tries_at_once_are_not_more_than_five(gateway, phone):
    app = phone()
    code = app.receive()
    others = [phone(number=app.local) for _ in range(12)]
    for other in others:
        other.session = app.session
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda other: other.verify(wrong(code)).json()["message"], others))
    assert answers.count("Invalid OTP") == 4 and answers.count(NO_TRIES) == 8
    assert gateway.query("SELECT COUNT(*) FROM code_tries WHERE phone = ?", app.number) == [(5,)]


def test_neither_the_log_nor_the_database_has_a_code(restart, adapter, closing):
    gateway = restart()
    apps = [closing(Phone(gateway, adapter)) for _ in range(4)]
    codes = [app.receive() for app in apps]
    for app, code in zip(apps[:2], codes):
        app.verify(wrong(code))
        app.verify(code)
    tokens = [app.verify(code).json()["data"]["token"] for app, code in zip(apps[:2], codes)]
    gateway.stop()
    log = gateway.log()
    files = [path.read_bytes() for path in gateway.database_path.parent.glob("fleetwire.db*")]
    for code in codes:
        assert f'"{code}"' not in log and not re.search(rf"\b{code}\b", log)
        assert not any(re.search(rb"(?<!\d)" + code.encode() + rb"(?!\d)", content) for content in files)
    for token in tokens:
        assert token not in log and not any(token.encode() in content for content in files)
    for app in apps:
        assert app.number not in log and app.local not in log
    assert any(entry["event"] == "action" and entry["action"] == "code_login" for entry in check_log(log))


# Sending


def test_retries_have_the_same_body(adapter, phone):
    app = phone()
    adapter.statuses[app.number] = [500, 0, 204]
    expect(app.login(), sent(app))
    bodies = [request["body"] for request in adapter.requests if request["to"] == app.number]
    assert len(bodies) == 3 and len(set(bodies)) == 1
    assert json.loads(bodies[0])["text"].startswith("Your code is ")


@pytest.mark.parametrize("status", [302, 400, 500])
def test_three_failures_are_503_and_begin_no_cooldown(gateway, adapter, phone, status):
    app = phone()
    before = outcomes(app)["failed"]
    adapter.statuses[app.number] = [status] * 3
    response = app.login()
    expect(response, error(503, NOT_SENT))
    assert response.headers["retry-after"] == "1" and adapter.count(app.number) == 3
    assert gateway.query("SELECT COUNT(*) FROM code_sends WHERE phone = ?", app.number) == [(0,)]
    expect(app.login(), sent(app))
    assert outcomes(app)["failed"] - before == 1


def test_an_sms_that_may_have_been_sent_counts(gateway, adapter, phone):
    """The adapter closes the connection instead of an answer. On a connection that was used before, libcurl then repeats
    the request itself.
    """
    app = phone()
    adapter.statuses[app.number] = [500, 0, 0, 500]
    expect(app.login(), error(503, NOT_SENT))
    assert gateway.query("SELECT COUNT(*) FROM code_sends WHERE phone = ?", app.number) == [(1,)]
    expect(app.login(), sent(app))


def test_a_failed_resend_ends_the_old_code(gateway, adapter, phone):
    app = phone()
    code = app.receive()
    age(gateway, app, 61)
    adapter.statuses[app.number] = [500] * 3
    expect(app.resend(), error(503, NOT_SENT))
    expect(app.verify(code), error(400, "OTP expired"))
    for _ in range(3):
        adapter.code(app.number)
    expect(app.resend(), sent(app, resent=True))
    assert app.verify(adapter.code(app.number)).status == 200


def test_two_logins_at_once_send_one_sms(adapter, phone):
    app = phone()
    adapter.hold(app.number)
    others = [app, *(phone(number=app.local) for _ in range(5))]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda other: other.login(), others)
        code = adapter.code(app.number)
        adapter.release(app.number)
        answers = list(answers)
    assert adapter.count(app.number) == 1
    assert len({other.session for other in others}) == 1
    for answer in answers:
        data = answer.json()["data"]
        assert data["expires_in"] in (299, 300) and data["cooldown_remaining"] in (59, 60), data
    assert app.verify(code).status == 200


def test_a_slow_adapter_delays_nobody_else(gateway, adapter, phone, closing):
    slow = [phone() for _ in range(40)]
    for app in slow:
        adapter.hold(app.number)
    with ThreadPoolExecutor(40) as pool:
        answers = pool.map(lambda app: app.login(), slow)
        for app in slow[:20]:
            adapter.text(app.number)  # the adapter has got it, and does not answer
        admin = Fleet(gateway, closing).admin()
        begin = time.monotonic()
        for _ in range(20):
            admin.assign(unique_id("o"), "d1")
            assert admin.request("GET", "/healthz").status == 200
        assert time.monotonic() - begin < 5
        for app in slow:
            adapter.release(app.number)
        assert {answer.status for answer in answers} <= {200, 503}


def test_an_adapter_without_answer_is_given_up_within_10_seconds(start_gateway, adapter, closing):
    gateway = start_gateway(**settings(adapter))
    app = closing(Phone(gateway, adapter))
    adapter.hold(app.number)
    begin = time.monotonic()
    expect(app.login(), error(503, NOT_SENT))
    assert 8.5 < time.monotonic() - begin < 10.5 and adapter.count(app.number) == 3
    adapter.release(app.number)


def test_without_adapter_the_log_has_the_code(start_gateway, closing):
    gateway = start_gateway(**settings(None))
    app = closing(Phone(gateway))
    expect(app.login(), sent(app))
    wait_until(lambda: "otp_development_code" in gateway.log(), "the log's thread writes the line")
    entry, = [entry for entry in check_log(gateway.log()) if entry["event"] == "otp_development_code"]
    assert entry["level"] == "warning" and entry["temp_user_id"] == app.session
    assert app.number not in gateway.log()
    assert app.verify(entry["code"]).status == 200
