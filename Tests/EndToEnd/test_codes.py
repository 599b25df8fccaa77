"""Sign-in of customers by a code to the phone: every answer as a whole, the limits, and what happens at the worst
moments. The clock is moved by making the stored times older.
"""

import base64
import contextlib
import json
import re
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import FIRST, TIMEOUT
from harness.fleet import ANY_SECOND, JWT, Fleet, join, unique_id, wait_until
from harness.client import Client
from harness.gateway import Gateway, check_log, expect_invalid_config, run
from harness.sms_adapter import (CARD, DETAILS, LOGIN, PREFIX, REFRESH, RESEND, SESSION, VERIFY, Phone,
                                 SMSAdapter)
from harness.tokens import HS256, claims

OVER = "Invalid or expired session. Please log in again"
NO_TRIES = "Too many wrong attempts. Please request a new code"
NOT_SENT = "Could not send the code. Please try again"
PROXY = {"behind_proxy": True, "trusted_proxies": ["127.0.0.1"]}
CARD_TEXT = "Card numbers are not accepted here"


def settings(adapter: SMSAdapter | None, jwt: dict | None = None, **otp) -> dict:
    sms = {"sms": adapter.settings()} if adapter else {}
    return {"server": PROXY, "sections": {
        "auth": {"jwt": jwt or JWT}, "otp": {"enabled": True} | sms | otp, "metrics": {"token": "m"}}}


@pytest.fixture(scope="module")
def adapter():
    with contextlib.closing(SMSAdapter()) as adapter:
        yield adapter


@pytest.fixture(scope="module")
def module_settings(adapter) -> dict:
    return settings(adapter)


@pytest.fixture
def phone(gateway, adapter, closing):
    """Makes phones: `phone()`, `phone(number="…")`."""
    return lambda **more: closing(Phone(gateway, adapter, **more))


@pytest.fixture
def restart(start_gateway, adapter):
    """Starts gateways with the database of the one before."""
    return lambda **otp: start_gateway("kept", **settings(adapter, **otp))


def success(message: str, data: dict) -> dict:
    return {"success": True, "message": message, "data": data, "timestamp": ANY_SECOND, "code": 200}


def error(code: int, message: str, **data) -> dict:
    body = {"success": False, "message": message, "code": code, "timestamp": ANY_SECOND}
    return body | ({"data": data} if data else {})


def expect(response, body: dict) -> None:
    """Compares a whole response."""
    assert (response.status, response.json()) == (body["code"], body), response
    assert response.headers["content-type"].startswith("application/json"), response


def sent(phone: Phone, expires: int = 300, cooldown: int = 60, resent: bool = False) -> dict:
    return success("OTP resent successfully" if resent else "OTP sent successfully", {
        "message": "New OTP sent to your phone number" if resent else "OTP sent to your phone number",
        "otp_type": "sms", "temp_user_id": phone.session, "expires_in": expires,
        "cooldown_remaining": cooldown})


def state(done: int) -> dict:
    steps = ["phone_verified", "basic_details", "credit_card", "profile_complete"]
    rest = steps[done:]
    return {"current_step": rest[0] if rest else None, "progress_percentage": 25 * done,
            "is_completed": done == 4, "next_step": rest[1] if len(rest) > 1 else None,
            "steps": {step: index < done for index, step in enumerate(steps)},
            "completed_steps": steps[:done], "total_steps": 4, "completed_count": done}


def age(gateway: Gateway, phone: Phone | None, seconds: float) -> None:
    """Lets time pass for what is stored about a phone, or about all."""
    where, values = ("WHERE phone = ?", [phone.number]) if phone else ("", [])
    with contextlib.closing(sqlite3.connect(gateway.database_path, timeout=TIMEOUT)) as database, database:
        for table, column in [("code_sessions", "sent_at"), ("code_sessions", "verified_at"),
                              ("code_sends", "at"), ("code_tries", "at")]:
            database.execute(f"UPDATE {table} SET {column} = {column} - ? {where}", [seconds * 1000, *values])


def wrong(code: str) -> str:
    return "000000" if code != "000000" else "000001"


def payload(token: str) -> dict:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def outcomes(api: Phone) -> dict[str, float]:
    response = api.call("GET", "/metrics", headers={"Authorization": "Bearer m"})
    return {match[1]: float(match[2])
            for match in re.finditer(r'fleetwire_otp_total\{outcome="(\w+)"\} (\d+)', response.text)}


# The flow


def test_a_customer_signs_in_and_registers(gateway, adapter, phone):
    app = phone()
    before = outcomes(app)
    expect(app.login(), sent(app))
    assert re.fullmatch(r"temp_[A-Za-z0-9_-]{22}", app.session)
    response = app.verify(adapter.code(app.number))
    data = response.json()["data"]
    token, number = data["token"], data["user"]["id"]
    expect(response, success("OTP verified successfully", {
        "user": {"id": number, "phone": app.number, "role": 1, "is_profile_completed": False,
                 "last_login_at": ANY_SECOND, "created_from": "mobile_app",
                 "customer_registration_state": state(1)},
        "token": token, "token_type": "Bearer", "expires_in": 3600,
        "action": "navigate_to_basic_info", "driver_registration_state": None}))
    assert type(number) is int and number >= 10_000
    content = payload(token)
    assert content == {"sub": str(number), "role": "customer", "bookings": [], "iat": content["iat"],
                       "exp": content["iat"] + 3600, "jti": content["jti"]}
    assert abs(content["iat"] - time.time()) < 60
    app.bearer = token
    expect(app.post(CARD, {"payment_token": "tok"}), error(409, "Complete the previous step first"))
    details = {"name": "Ann Öz", "email": f"{unique_id()}@example.com"}
    expect(app.post(DETAILS, details),
           success("Basic details saved", {"customer_registration_state": state(2)}))
    payment = {"payment_token": "tok_1", "brand": "visa", "last4": "4242", "expiry_month": 1,
               "expiry_year": 2030}
    expect(app.post(CARD, payment),
           success("Payment method saved", {"customer_registration_state": state(4)}))
    response = app.post(REFRESH)
    token = response.json()["data"]["token"]
    expect(response, success("Token refreshed", {"token": token, "token_type": "Bearer", "expires_in": 3600}))
    assert payload(token)["name"] == "Ann Öz" and payload(token)["jti"] != content["jti"]
    expect(app.request("DELETE", SESSION), success("Signed out", {}))
    app.bearer = None
    age(gateway, app, 60)
    user = app.sign_in()
    assert user["id"] == number and user["is_profile_completed"] is True
    assert user["customer_registration_state"] == state(4)
    actions = gateway.query("SELECT actor, action, status_after FROM audit WHERE account_id = ? ORDER BY id",
                            str(number))
    assert actions == [(f"customer:{number}", *rest) for rest in [
        ("account_created", "basic_details"), ("sign_in", "basic_details"), ("basic_details", "credit_card"),
        ("payment_method", "profile_complete"), ("sign_out", "profile_complete"),
        ("sign_in", "profile_complete")]]
    after = outcomes(app)
    assert {name: after[name] - before[name] for name in ("sent", "verified")} == {"sent": 2, "verified": 2}


def test_the_audit_log_of_an_account_names_no_phone(gateway, phone):
    app = phone()
    user = app.sign_in()
    result = run("audit", "--config", gateway.config, "--account", str(user["id"]))
    lines = result.stdout.splitlines()
    assert result.returncode == 0 and len(lines) == 2, result
    assert f"customer:{user['id']}  account_created  new -> basic_details" in lines[0]
    assert f"customer:{user['id']}  sign_in  new -> basic_details" in lines[1]
    assert app.local not in result.stdout


def test_known_and_unknown_phones_get_the_same_answers(gateway, phone):
    known, unknown = phone(), phone()
    known.sign_in()
    age(gateway, known, 61)
    expect(known.login(), sent(known))
    expect(unknown.login(), sent(unknown))


def test_the_app_goes_where_the_next_step_is(gateway, phone):
    app = phone()
    app.sign_in()
    app.expect_ok("POST", DETAILS, {"name": "Bo", "email": f"{unique_id()}@example.com"})
    age(gateway, app, 61)
    app.bearer = None
    data = app.verify(app.receive()).json()["data"]
    assert data["action"] == "navigate_to_credit_card"
    app.bearer = data["token"]
    app.expect_ok("POST", CARD, {"payment_token": "t"})
    age(gateway, app, 61)
    assert app.verify(app.receive()).json()["data"]["action"] == "navigate_to_dashboard"


def test_the_cooldown_counts_down(gateway, adapter, phone):
    app = phone()
    code = app.receive()
    age(gateway, app, 20)
    first = app.session
    response = app.login()
    assert app.session == first and adapter.count(app.number) == 1
    left = response.json()["data"]
    assert 270 < left["expires_in"] <= 280 and 30 < left["cooldown_remaining"] <= 40, left
    expect(response, sent(app, left["expires_in"], left["cooldown_remaining"]))
    response = app.resend()
    seconds = response.json()["data"]["cooldown_remaining"]
    expect(response, error(429, "Please wait before requesting another code", cooldown_remaining=seconds))
    assert response.headers["retry-after"] == str(seconds) and 30 < seconds <= 40
    age(gateway, app, 41)
    expect(app.resend(), sent(app, resent=True))
    assert app.session == first
    again = adapter.code(app.number)
    if again != code:
        expect(app.verify(code), error(400, "Invalid OTP", attempts_remaining=4))
    assert app.verify(again).status == 200
    assert app.receive(), "a session that is over has no cooldown"
    assert app.session != first


def test_a_new_session_begins_after_the_cooldown(gateway, phone):
    app = phone()
    app.receive()
    first = app.session
    age(gateway, app, 60)
    app.receive()
    assert app.session != first


# Wrong input


@pytest.mark.parametrize("changes, text", [
    ({"phone_isd": "1"}, "Expected phone_isd to be + and 1 to 3 digits"),
    ({"phone_isd": None}, "Expected phone_isd to be + and 1 to 3 digits"),
    ({"phone_country": "usa"}, "Expected phone_country to be two letters"),
    ({"phone_country": 1}, "Expected phone_country to be two letters"),
    ({"phone": "123"}, "Invalid phone number format"), ({"phone": "12a4567"}, "Invalid phone number format"),
    ({"phone": None}, "Invalid phone number format"), ({"phone": 1234567}, "Invalid phone number format"),
    ({"phone_isd": "+123", "phone": "1234567890123"}, "Invalid phone number format"),
    ({"user_type": "driver"}, "Unsupported user type"), ({"user_type": None}, "Unsupported user type")])
def test_wrong_fields_of_a_login(phone, changes, text):
    expect(phone().login(**changes), error(400, text))


def test_the_country_may_be_in_upper_case(phone):
    assert phone().login(phone_country="US").status == 200


@pytest.mark.parametrize("path, body, text", [
    (RESEND, {}, 'Expected "temp_user_id": a string is required'),
    (RESEND, {"temp_user_id": "temp_unknown"}, OVER), (RESEND, {"temp_user_id": 5}, 'Expected "temp_user_id": a string is required'),
    (VERIFY, {"temp_user_id": "temp_unknown", "otp": "123456"}, OVER),
    (VERIFY, {"temp_user_id": "t" * 1000, "otp": "123456"}, OVER),
    (VERIFY, {"temp_user_id": "temp_unknown", "otp": "12345"}, "OTP must be 6 digits"),
    (VERIFY, {"temp_user_id": "temp_unknown", "otp": 123456}, "OTP must be 6 digits"),
    (VERIFY, {"temp_user_id": "temp_unknown", "otp": "１２３４５６"}, "OTP must be 6 digits"),
    (VERIFY, {"temp_user_id": "temp_unknown"}, "OTP must be 6 digits")])
def test_wrong_sessions_and_codes(phone, path, body, text):
    expect(phone().post(path, body), error(400, text))


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"phone":"\xff"}', b"nothing", b'"text"'])
def test_a_body_that_is_no_object(phone, body):
    response = phone().post(LOGIN, body)
    assert response.json()["message"].startswith("The body is not a JSON object")
    expect(response, error(400, response.json()["message"]))


def test_the_other_errors_have_the_same_envelope(gateway, phone, closing):
    app = phone()
    assert app.bearer is None
    response = app.request("GET", LOGIN)
    expect(response, error(405, "Method not allowed"))
    assert response.headers["allow"] == "POST"
    response = app.post(DETAILS, {})
    expect(response, error(401, "Invalid token"))
    assert 'error_description="invalid"' in response.headers["www-authenticate"]
    expect(app.post(PREFIX + "/auth/other", {}), error(401, "Invalid token"))
    expect(app.post(REFRESH), error(401, "Invalid token"))
    for role, subject in [("driver", "d1"), ("admin", "ann")]:
        caller = Fleet(gateway, closing).caller(role, subject)
        for method, path in [("POST", DETAILS), ("POST", CARD), ("DELETE", SESSION)]:
            expect(caller.request(method, path, {}),
                   error(403, f"Requires role customer; the token has role {role}"))
        expect(caller.request("POST", PREFIX + "/auth/other"), error(404, "Resource not found"))
        expect(caller.request("POST", REFRESH), error(401, "Invalid token"))
    large = phone()
    expect(large.post(VERIFY, b'{"otp":"' + b"1" * 70_000 + b'"}'), error(413, "Request too large"))


def test_a_token_is_ignored_where_none_is_needed(phone):
    app = phone()
    for bearer in ("rubbish", HS256("x" * 40).token(claims("customer", "1"))):
        app.bearer = bearer
        expect(app.login(), sent(app, 300, 60))


def test_web_pages_may_call(phone):
    app = phone()
    response = app.request("OPTIONS", LOGIN, headers={
        "Origin": "https://shop.example", "Access-Control-Request-Method": "POST"})
    assert response.status == 204
    assert response.headers["access-control-allow-origin"] == "https://shop.example"
    response = app.post(LOGIN, app.form(), headers={"Origin": "https://shop.example"})
    assert response.status == 200
    assert response.headers["access-control-allow-origin"] == "https://shop.example"


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


# Restarts and clocks


def test_a_restart_between_send_and_verify(restart, adapter, closing):
    gateway = restart()
    app = closing(Phone(gateway, adapter))
    code = app.receive()
    app.verify(wrong(code))
    gateway.stop()
    gateway = restart()
    again = closing(Phone(gateway, adapter, number=app.local))
    again.session = app.session
    expect(again.verify(wrong(code)), error(400, "Invalid OTP", attempts_remaining=3))
    first = again.verify(code)
    assert first.status == 200
    gateway.stop()
    gateway = restart()
    later = closing(Phone(gateway, adapter, number=app.local))
    later.session = app.session
    assert later.verify(code).body == first.body


def test_a_killed_gateway_neither_blocks_the_phone_nor_loses_the_code(restart, adapter, closing):
    gateway = restart()
    app = closing(Phone(gateway, adapter))
    adapter.hold(app.number)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(app.login)
        code = adapter.code(app.number)
        gateway.kill()
        with pytest.raises(Exception):
            answer.result(TIMEOUT)
    adapter.release(app.number)
    (session, delivery), = gateway.query("SELECT id, delivery FROM code_sessions")
    assert delivery == "sending"
    gateway = restart()
    again = closing(Phone(gateway, adapter, number=app.local))
    expect(again.login(), sent(again))
    assert again.session != session, "the phone is not blocked"
    again.session = session
    assert again.verify(code).status == 200, "the SMS had arrived"


def test_a_drain_waits_for_the_adapter(start_gateway, adapter, closing):
    gateway = start_gateway(**(settings(adapter) | {"server": PROXY | {"drain_seconds": 10}}))
    app = closing(Phone(gateway, adapter))
    adapter.hold(app.number)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(app.login)
        adapter.code(app.number)
        gateway.terminate()
        wait_until(lambda: "draining" in gateway.log(), "the drain begins")
        adapter.release(app.number)
        expect(answer.result(TIMEOUT), sent(app))
    gateway.wait()


def test_a_clock_that_jumps_lifts_no_limit_and_blocks_nobody(restart, adapter, closing):
    gateway = restart()
    app = closing(Phone(gateway, adapter))
    for _ in range(5):
        app.receive()
        age(gateway, app, 60)
    expect(app.login(), error(429, "Too many requests"))
    gateway.stop()
    # As if the machine's clock had been a day behind until now.
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        database.execute("UPDATE clock_readings SET wall = wall - 86400000")
        for table, column in [("code_sessions", "sent_at"), ("code_sends", "at")]:
            database.execute(f"UPDATE {table} SET {column} = {column} - 86400000")
    gateway = restart()
    again = closing(Phone(gateway, adapter, number=app.local))
    expect(again.login(), error(429, "Too many requests"))
    gateway.stop()
    # As if it had been set back by an hour.
    with contextlib.closing(sqlite3.connect(gateway.database_path)) as database, database:
        database.execute("UPDATE clock_readings SET wall = wall + 90000000")
        for table, column in [("code_sessions", "sent_at"), ("code_sends", "at")]:
            database.execute(f"UPDATE {table} SET {column} = {column} + 90000000")
    gateway = restart()
    again = closing(Phone(gateway, adapter, number=app.local))
    assert again.login().status == 200, "what is said to happen later counts for nothing"


# Limits


def test_five_codes_in_an_hour_and_ten_in_a_day(gateway, adapter, phone):
    app = phone()
    for _ in range(5):
        app.receive()
        age(gateway, app, 60)
    response = phone(number=app.local).login()
    expect(response, error(429, "Too many requests"))
    assert 3250 < int(response.headers["retry-after"]) <= 3300
    expect(app.resend(), error(429, "Too many requests"))
    age(gateway, app, 3301)
    app = phone(number=app.local)
    for _ in range(5):
        app.receive()
        age(gateway, app, 60)
    age(gateway, app, 3600)
    response = app.login()
    expect(response, error(429, "Too many requests"))
    assert 70_000 < int(response.headers["retry-after"]) < 86_400 and adapter.count(app.number) == 10


def test_brute_force_from_a_thousand_addresses(gateway, adapter, phone):
    """An attacker who can use any address, in every way that there is, at any time of an hour and of a day."""
    victim, addresses = phone(), iter(range(10 ** 6))

    def anybody() -> Phone:
        number = next(addresses)
        return phone(number=victim.local, address=f"10.{number >> 8}.{number & 255}.1")

    def count() -> int:
        return gateway.query("SELECT COUNT(*) FROM code_tries WHERE phone = ?", victim.number)[0][0]

    def attack() -> int:
        """Gets as many codes as possible and tries each seven times. Returns the number of tries."""
        while (attacker := anybody()).login().status == 200:
            code = adapter.code(victim.number)
            for _ in range(7):
                one = anybody()
                one.session = attacker.session
                assert one.verify(wrong(code)).status == 400
                one.close()
            age(gateway, victim, 61)
        return count()

    assert attack() == 25, "in an hour"
    for _ in range(6):
        age(gateway, victim, 3601)
        attack()
    assert count() == 50, "in a day"


def test_twenty_requests_per_address(gateway, phone):
    first = phone()
    before = outcomes(first)["limited"]
    for _ in range(10):
        assert phone(address="198.51.100.7").post(LOGIN, first.form(phone="1")).status == 400
        assert phone(address="198.51.100.7").post(RESEND, {"temp_user_id": "temp_x"}).status == 400
    for path, body in [(LOGIN, first.form()), (RESEND, {"temp_user_id": "temp_x"})]:
        response = phone(address="198.51.100.7").post(path, body)
        expect(response, error(429, "Too many requests"))
        assert 500 < int(response.headers["retry-after"]) <= 600
    assert outcomes(first)["limited"] - before == 2
    assert phone(address="198.51.100.7").post(VERIFY, {}).status == 400, "verifications are not counted"
    assert phone(address="198.51.100.8").login().status == 200
    for number in range(20):
        assert phone(address=f"2001:db8:0:9::{number}").post(RESEND, {}).status == 400
    assert phone(address="2001:db8:0:9:ffff::1").login().status == 429, "a /64 is one address"
    assert phone(address="2001:db8:0:8::1").login().status == 200


def test_an_address_cannot_be_forged(start_gateway, adapter, closing):
    gateway = start_gateway(**(settings(adapter) | {"server": {}}))
    for number in range(20):
        assert closing(Phone(gateway, adapter, address=f"10.0.0.{number}")).post(RESEND, {}).status == 400
    assert closing(Phone(gateway, adapter, address="10.0.0.99")).login().status == 429


def test_the_daily_maximum_survives_a_restart(restart, adapter, closing):
    gateway = restart(daily_max=3)
    for _ in range(3):
        closing(Phone(gateway, adapter)).receive()
    for _ in range(2):
        app = closing(Phone(gateway, adapter))
        response = app.login()
        expect(response, error(503, NOT_SENT))
        assert response.headers["retry-after"] == "3600" and adapter.count(app.number) == 0
        expect(app.login(), error(503, NOT_SENT))
        gateway.stop()
        alarm, = [entry for entry in check_log(gateway.log()) if entry["event"] == "otp_daily_max_reached"]
        assert alarm["level"] == "error"
        gateway = restart(daily_max=3)
    age(gateway, None, 86_400)
    assert closing(Phone(gateway, adapter)).login().status == 200


def test_countries(start_gateway, adapter, closing):
    gateway = start_gateway(**settings(adapter, countries=["+44"]))
    app = closing(Phone(gateway, adapter))
    expect(app.login(), error(400, "Phone numbers of this country are not supported"))
    assert app.login(phone_isd="+44", phone_country="gb").status == 200


# Tokens


def test_a_token_is_accepted_wherever_a_customers_is(gateway, phone, closing):
    app = phone()
    app.sign_in()
    fleet = Fleet(gateway, closing)
    code, reference = unique_id("O"), unique_id("R")
    fleet.admin().order(code, "assign-driver", driverId="d1", bookingReference=reference, customerId=app.subject)
    other, ended = unique_id("O"), unique_id("O")
    fleet.admin().order(other, "assign-driver", driverId="d1", customerId=app.subject)
    fleet.admin().order(ended, "cancel-enhanced", customerId=app.subject)
    assert app.request("GET", "/api/customer/notifications").status == 200
    client = closing(Client.connect(gateway))
    assert app.channel_auth(client.socket_id, f"private-booking-{reference}").status == 403, "an old token"
    app.bearer = app.expect_ok("POST", REFRESH)["data"]["token"]
    assert sorted(payload(app.bearer)["bookings"]) == sorted([reference, other])
    join(client, app, f"private-booking-{reference}")
    join(client, app, f"private-customer-{app.subject}")


def test_refresh(gateway, phone):
    app = phone()
    app.sign_in()
    now = int(time.time())
    content = payload(app.bearer)

    def refreshed(**changes):
        app.bearer = HS256().token({name: value for name, value in (content | changes).items() if value is not None})
        return app.post(REFRESH)

    for age_seconds in (0, 100, 30 * 86_400 - 60):
        assert refreshed(iat=now - 40 * 86_400, exp=now - age_seconds).status == 200, age_seconds
    response = refreshed(iat=now - 40 * 86_400, exp=now - 30 * 86_400 - 5)
    expect(response, error(401, "Token expired"))
    assert 'error_description="expired"' in response.headers["www-authenticate"]
    for changes in ({"jti": None}, {"jti": "another form"}, {"sub": "9"}, {"sub": "0" + content["sub"]}, {"role": "admin"},
                    {"exp": None}, {"iat": now + 4000}):
        expect(refreshed(**changes), error(401, "Invalid token"))
    app.bearer = HS256("another secret of many many bytes").token(content)
    expect(app.post(REFRESH), error(401, "Invalid token"))
    app.bearer = HS256().token(content | {"exp": now - 100})
    expect(app.post(DETAILS, {}), error(401, "Token expired"))
    assert app.request("GET", "/api/customer/notifications").status == 401


def test_an_ended_sign_in_is_refused_everywhere(restart, adapter, closing):
    gateway = restart()
    app = closing(Phone(gateway, adapter))
    app.sign_in()
    old = app.bearer
    app.bearer = new = app.expect_ok("POST", REFRESH)["data"]["token"]
    other = closing(Phone(gateway, adapter, number=app.local))
    age(gateway, app, 61)
    other.sign_in()
    assert app.request("DELETE", SESSION).status == 200

    def check(gateway: Gateway) -> None:
        caller = closing(Phone(gateway, adapter, number=app.local))
        client = closing(Client.connect(gateway))
        for caller.bearer in (old, new):
            for method, path in [("POST", REFRESH), ("POST", DETAILS), ("DELETE", SESSION)]:
                expect(caller.request(method, path, {}), error(401, "Invalid token"))
            for method, path in [("GET", "/api/customer/notifications"), ("GET", "/api/customer/devices"),
                                 ("POST", "/app-register-device"), ("GET", "/app-trip-status?reference=x")]:
                assert caller.request(method, path).status == 401, path
            assert caller.user_auth(client.socket_id).status == 401
        caller.bearer = other.bearer
        assert caller.request("GET", "/api/customer/notifications").status == 200, "another phone stays signed in"

    check(gateway)
    gateway.kill()
    check(restart())


def test_two_issuers(start_gateway, adapter, closing):
    secrets = {"one": "the secret of the first issuer, long enough", "two": "the secret of the second issuer, long enough"}
    jwt = [{"algorithm": "HS256", "secret": secret, "issuer": name, "audience": "fleet"} for name, secret in secrets.items()]
    gateway = start_gateway(**settings(adapter, jwt=jwt, issuer="two"))
    app = closing(Phone(gateway, adapter))
    app.sign_in()
    content = payload(app.bearer)
    assert content["iss"] == "two" and content["aud"] == "fleet"
    assert app.request("GET", "/api/customer/notifications").status == 200
    foreign = HS256(secrets["one"]).token(content | {"iss": "one", "jti": "f" * 32})
    mine, app.bearer = app.bearer, foreign
    for method, path in [("POST", DETAILS), ("DELETE", SESSION)]:
        expect(app.request(method, path, {"name": "Ann", "email": "a@b.example"}),
               error(403, "Requires a token of a customer who has signed in by code"))
    expect(app.post(REFRESH), error(401, "Invalid token"))
    app.bearer = mine
    assert app.request("DELETE", SESSION).status == 200
    assert app.request("GET", "/api/customer/notifications").status == 401
    app.bearer = foreign
    assert app.request("GET", "/api/customer/notifications").status == 200, "another issuer's tokens do not end"


def test_an_erasure_ends_the_account(restart, adapter, closing):
    gateway = restart()
    admin = Fleet(gateway, closing).admin()
    app = closing(Phone(gateway, adapter))
    user = app.sign_in()
    app.expect_ok("POST", DETAILS, {"name": "Zoe Quillfeather", "email": "zoe@quill.example"})
    assert admin.request("DELETE", f"/api/admin/people/customer/{user['id']}").status == 200
    for method, path in [("POST", REFRESH), ("POST", DETAILS), ("DELETE", SESSION)]:
        expect(app.request(method, path, {}), error(401, "Invalid token"))
    assert app.request("GET", "/api/customer/notifications").status == 401
    assert gateway.query("SELECT * FROM customers") == [] and gateway.query("SELECT * FROM code_sessions") == []
    again = closing(Phone(gateway, adapter, number=app.local))
    assert again.sign_in()["id"] == user["id"] + 1
    admin.request("DELETE", f"/api/admin/people/customer/{user['id'] + 1}")
    wait_until(lambda: gateway.query("SELECT COUNT(*) FROM erasures") == [(0,)], "the erasures end")
    gateway.stop()
    content = b"".join(path.read_bytes() for path in gateway.database_path.parent.glob("fleetwire.db*"))
    for text in ("Quillfeather", "zoe@quill.example", app.number):
        assert text.encode() not in content, text
    gateway = restart()
    app = closing(Phone(gateway, adapter, number=app.local))
    assert app.sign_in()["id"] == user["id"] + 2, "no id is given twice"


# Registration


def test_basic_details(phone):
    first, second = phone(), phone()
    first.sign_in(), second.sign_in()
    address = f"{unique_id()}@example.com"
    assert first.post(DETAILS, {"name": "Ann", "email": address}).status == 200
    expect(second.post(DETAILS, {"name": "Bob", "email": address.upper()}), error(409, "Email already in use"))
    expect(first.post(DETAILS, {"name": "Ann Öz", "email": address.title()}),
           success("Basic details saved", {"customer_registration_state": state(2)}))
    for body, text in [({"name": "A", "email": address}, "Expected name to be a text of 2 to 100 characters"),
                       ({"email": address}, "Expected name to be a text of 2 to 100 characters"),
                       ({"name": "Ann", "email": "nobody"}, "Expected email to be an e-mail address"),
                       ({"name": "Ann"}, "Expected email to be an e-mail address")]:
        expect(first.post(DETAILS, body), error(400, text))


@pytest.mark.parametrize("body, text", [
    ({}, "Expected payment_token to be a text of 1 to 255 characters"),
    ({"payment_token": "x" * 256}, "Expected payment_token to be a text of 1 to 255 characters"),
    ({"payment_token": "t", "last4": "42"}, "Expected last4 to be 4 digits"),
    ({"payment_token": "t", "expiry_month": 13}, "Expected expiry_month to be from 1 to 12"),
    ({"payment_token": "t", "expiry_year": "2030"}, "Expected expiry_year to be from 2000 to 2999")])
def test_wrong_means_of_payment(phone, body, text):
    app = phone()
    app.sign_in()
    expect(app.post(CARD, body), error(400, text))


NUMBER = "4111111111111111"


@pytest.mark.parametrize("body", [
    {"payment_token": NUMBER}, {"payment_token": "t", "brand": f"visa {NUMBER}"}, {"payment_token": "t", "more": int(NUMBER)},
    {"payment_token": "t", NUMBER: 1}, {"payment_token": "t", "a": [{"b": {"c": "4111 1111-1111 1111"}}]},
    {"payment_token": "t", "idempotencyKey": NUMBER}, [NUMBER], {"payment_token": "t", "x" * 40: NUMBER}])
def test_card_numbers_are_refused_before_anything_else(phone, body):
    app = phone()
    app.sign_in()
    expect(app.post(CARD, json.dumps(body).encode()), error(400, CARD_TEXT))


def test_card_numbers_are_neither_stored_nor_logged(start_gateway, adapter, closing):
    sections = settings(adapter)
    sections["sections"]["log"] = {"level": "debug"}
    gateway = start_gateway(**sections)
    app = closing(Phone(gateway, adapter))
    app.sign_in()
    app.expect_ok("POST", DETAILS, {"name": "Ann", "email": "ann@example.com"})
    expect(app.post(CARD, {"payment_token": "t", "note": NUMBER}, key="k-1"), error(400, CARD_TEXT))
    expect(app.post(CARD, {"payment_token": "tok", "idempotencyKey": NUMBER}), error(400, CARD_TEXT))
    app.expect_ok("POST", CARD, {"payment_token": "tok"})
    for bearer in (app.bearer, None):
        app.bearer = bearer
        assert app.post(f"{CARD}/{NUMBER}", {}).status in (401, 404)
    gateway.stop()
    assert NUMBER not in gateway.log()
    assert not any(NUMBER.encode() in path.read_bytes() for path in gateway.database_path.parent.glob("fleetwire.db*"))


# Configuration


def test_while_it_is_off_every_path_is_404(start_gateway, closing):
    gateway = start_gateway(sections={"auth": {"jwt": JWT}})
    fleet = Fleet(gateway, closing)
    for caller in (fleet.caller(), fleet.admin(), fleet.customer(), fleet.caller(bearer="rubbish")):
        for method, path in [("POST", LOGIN), ("POST", RESEND), ("POST", VERIFY), ("POST", REFRESH), ("DELETE", SESSION),
                             ("POST", DETAILS), ("POST", CARD), ("GET", PREFIX), ("GET", PREFIX + "/x/y"), ("PUT", LOGIN)]:
            expect(caller.request(method, path, {}), error(404, "Resource not found"))


def test_production_needs_an_adapter(config):
    safe = {"apps": [FIRST.entry(secret="0123456789abcdef0123456789abcdef")],
            "store": {"encryption_keys": [{"id": "k", "key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}]},
            "auth": {"jwt": JWT}}
    for sms, keys in [({}, ["otp.sms.url", "otp.sms.secret"]),
                      ({"url": "https://sms.example", "secret": "short"}, ["otp.sms.secret"]),
                      ({"url": "https://sms.example", "secret": "s" * 32}, [])]:
        result = run("check-config", "--production", "--config", config(**safe, otp={"enabled": True, "sms": sms}))
        assert result.returncode == (78 if keys else 0), result
        assert len(result.stderr.splitlines()) == len(keys), result
        assert all(f"test.yaml: {key}: expected" in result.stderr for key in keys), result


def test_the_configuration_is_checked(config):
    expect_invalid_config("check-config", config(otp={"enabled": True}), "otp.issuer: expected")
    expect_invalid_config(
        "serve", config(auth={"jwt": JWT}, otp={"enabled": True, "daily_max": 0, "sms": {"template": "x", "url": "http://a"}}),
        "otp.daily_max: expected", "otp.sms.template: expected", "otp.sms.url: expected")
