"""The tokens and accounts of customers who sign in by code, and the configuration."""

import json
import time

import pytest

from harness.apps import FIRST
from harness.client import Client
from harness.codes import CARD_TEXT, settings, success, error, expect, limited, state, age, payload
from harness.codes_fixtures import adapter, module_settings, phone, restart  # noqa: F401
from harness.fleet import JWT, Fleet, join, unique_id, wait_until
from harness.gateway import Gateway, expect_invalid_config, run
from harness.sms_adapter import (CARD, DETAILS, LOGIN, PREFIX, REFRESH, RESEND, SESSION, VERIFY,
                                 Phone)
from harness.tokens import HS256

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


def test_an_ended_sign_in_stays_ended_without_sign_in_by_code(restart, adapter, closing):
    gateway = restart()
    apps = [closing(Phone(gateway, adapter)) for _ in range(2)]
    for app in apps:
        app.sign_in()
    assert apps[0].request("DELETE", SESSION).status == 200
    gateway.stop()
    gateway = restart(enabled=False)
    for app, status in zip(apps, (401, 200)):
        again = closing(Phone(gateway, adapter))
        again.bearer = app.bearer
        assert again.request("GET", "/api/customer/notifications").status == status


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
    for _ in range(4):
        assert second.post(DETAILS, {"name": "Bob", "email": address}).status == 409
    for email in (address, f"{unique_id()}@example.com"):
        response = second.post(DETAILS, {"name": "Bob", "email": email})
        expect(response, error(429, "Too many requests"))
        assert 3500 < int(response.headers["retry-after"]) <= 3600, "whether it is free is not told"
    assert limited(second)["email"] == 2
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


def test_production_needs_an_adapter_and_countries(config):
    safe = {"apps": [FIRST.entry(secret="0123456789abcdef0123456789abcdef")],
            "store": {"encryption_keys": [{"id": "k", "key": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}]},
            "auth": {"jwt": {"algorithm": "HS256", "secret": "fedcba9876543210fedcba9876543210"}}}
    adapter = {"url": "https://sms.example", "secret": "0123456789abcdefghijklmnopqrstuv"}
    for otp, keys in [({}, ["otp.countries", "otp.sms.url", "otp.sms.secret"]),
                      ({"sms": {"url": "https://sms.example", "secret": "short"}, "countries": ["+44"]}, ["otp.sms.secret"]),
                      ({"sms": adapter, "countries": []}, ["otp.countries"]),
                      ({"sms": adapter, "countries": ["+44"]}, [])]:
        result = run("check-config", "--production", "--config", config(**safe, otp={"enabled": True} | otp))
        assert result.returncode == (78 if keys else 0), result
        assert len(result.stderr.splitlines()) == len(keys), result
        assert all(f"test.yaml: {key}: expected" in result.stderr for key in keys), result


def test_the_configuration_is_checked(config):
    expect_invalid_config("check-config", config(otp={"enabled": True}), "otp.issuer: expected")
    expect_invalid_config(
        "serve", config(auth={"jwt": JWT}, otp={"enabled": True, "daily_max": 0, "sms": {"template": "x", "url": "http://a"}}),
        "otp.daily_max: expected", "otp.sms.template: expected", "otp.sms.url: expected")
