"""Sign-in of customers by a code to the phone: every answer as a whole, and wrong input."""

import re
import time

import pytest

from harness.codes import OVER, success, error, expect, sent, state, age, payload, outcomes
from harness.codes_fixtures import adapter, module_settings, phone  # noqa: F401
from harness.fleet import ANY_SECOND, Fleet, unique_id
from harness.gateway import run
from harness.sms_adapter import CARD, DETAILS, LOGIN, PREFIX, REFRESH, RESEND, SESSION, VERIFY
from harness.tokens import HS256, claims

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
    seconds = response.json()["details"]["cooldown_remaining"]
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
    ({"phone_isd": None}, "Expected phone_isd to be + and 1 to 3 digits"),
    ({"phone_country": 1}, "Expected phone_country to be two letters"),
    ({"phone_isd": "+123", "phone": "1234567890123"}, "Invalid phone number format"),
    ({"user_type": "driver"}, "Unsupported user type")])
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
