"""The limits of sign-in by code, over restarts, kills and jumps of the clock. The tests make stored times older."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import TIMEOUT
from harness.codes import NOT_SENT, PROXY, settings, error, expect, sent, age, wrong, outcomes
from harness.codes_fixtures import adapter, module_settings, phone, restart  # noqa: F401
from harness.fleet import wait_until
from harness.gateway import check_log
from harness.sms_adapter import LOGIN, RESEND, VERIFY, Phone

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
    assert phone(address="198.51.100.7").post(VERIFY, {}).status == 400, "tries have their own limit"
    assert phone(address="198.51.100.8").login().status == 200
    for number in range(20):
        assert phone(address=f"2001:db8:0:9::{number}").post(RESEND, {}).status == 400
    assert phone(address="2001:db8:0:9:ffff::1").login().status == 429, "a /64 is one address"
    assert phone(address="2001:db8:0:8::1").login().status == 200


def test_a_hundred_tries_per_address(gateway, phone):
    app = phone(address="198.51.100.20")
    for _ in range(100):
        assert app.post(VERIFY, {"temp_user_id": "temp_x", "otp": "000000"}).status == 400
    response = app.post(VERIFY, {"temp_user_id": "temp_x", "otp": "000000"})
    expect(response, error(429, "Too many requests"))
    assert 500 < int(response.headers["retry-after"]) <= 600
    assert app.login().status == 200, "requests for codes have their own limit"


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
