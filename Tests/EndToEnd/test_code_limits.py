"""The limits of sign-in by code, over restarts, kills and jumps of the clock. The tests make stored times older."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import TIMEOUT
from harness.codes import NOT_SENT, PROXY, settings, error, expect, limited, sent, age, wrong, outcomes
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


def test_requests_per_address(start_gateway, adapter, closing):
    gateway = start_gateway(**settings(adapter, requests_per_address=20))

    def phone(**more) -> Phone:
        return closing(Phone(gateway, adapter, **more))

    first = phone()
    for _ in range(10):
        assert phone(address="198.51.100.7").post(LOGIN, first.form(phone="1")).status == 400
        assert phone(address="198.51.100.7").post(RESEND, {"temp_user_id": "temp_x"}).status == 400
    for path, body in [(LOGIN, first.form()), (RESEND, {"temp_user_id": "temp_x"})]:
        response = phone(address="198.51.100.7").post(path, body)
        expect(response, error(429, "Too many requests"))
        assert 500 < int(response.headers["retry-after"]) <= 600
    assert outcomes(first)["limited"] == limited(first)["requests_per_address"] == 2
    assert phone(address="198.51.100.7").post(VERIFY, {}).status == 400, "tries have their own limit"
    assert phone(address="198.51.100.8").login().status == 200
    for number in range(20):
        assert phone(address=f"2001:db8:0:9::{number}").post(RESEND, {}).status == 400
    assert phone(address="2001:db8:0:9:ffff::1").login().status == 429, "a /64 is one address"
    assert phone(address="2001:db8:0:8::1").login().status == 200
    app = phone(address="198.51.100.20")
    for _ in range(100):
        assert app.post(VERIFY, {"temp_user_id": "temp_x", "otp": "000000"}).status == 400
    response = app.post(VERIFY, {"temp_user_id": "temp_x", "otp": "000000"})
    expect(response, error(429, "Too many requests"))
    assert 500 < int(response.headers["retry-after"]) <= 600 and limited(first)["tries_per_address"] == 1
    assert app.login().status == 200, "requests for codes have their own limit"


def test_a_hundred_requests_per_address(gateway, phone):
    """The default: carriers have cities behind one address."""
    for _ in range(100):
        assert phone(address="198.51.100.30").post(RESEND, {"temp_user_id": "temp_x"}).status == 400
    assert phone(address="198.51.100.30").login().status == 429


def test_an_address_cannot_be_forged(start_gateway, adapter, closing):
    gateway = start_gateway(**(settings(adapter, requests_per_address=20) | {"server": {}}))
    for number in range(20):
        assert closing(Phone(gateway, adapter, address=f"10.0.0.{number}")).post(RESEND, {}).status == 400
    assert closing(Phone(gateway, adapter, address="10.0.0.99")).login().status == 429


def expect_refused(app: Phone, limit: str) -> None:
    """No SMS, an answer that says when to try again, and a count."""
    before, sent_before = limited(app), app.adapter.count(app.number)
    response = app.login()
    expect(response, error(503, NOT_SENT))
    assert response.headers["retry-after"] == "3600" and app.adapter.count(app.number) == sent_before
    assert limited(app) == before | {limit: before[limit] + 1}


def lines(gateway, event: str) -> list[dict]:
    """The log lines with an event, of which there must be one."""
    wait_until(lambda: f'"{event}"' in gateway.log(), f"the log has {event}")
    return [entry for entry in check_log(gateway.log()) if entry["event"] == event]


def test_the_daily_maximum_survives_a_restart(restart, adapter, closing):
    """Half of it is kept for phones with an account."""
    gateway = restart(daily_max=4)
    customer = closing(Phone(gateway, adapter))
    customer.sign_in()
    closing(Phone(gateway, adapter)).receive()
    for _ in range(2):
        expect_refused(closing(Phone(gateway, adapter)), "new_phones")
        gateway.stop()
        alarm, = lines(gateway, "otp_new_phones_max_reached")
        assert alarm["level"] == "error"
        gateway = restart(daily_max=4)
    for _ in range(2):
        closing(Phone(gateway, adapter, number=customer.local)).receive()
        age(gateway, customer, 61)
    for _ in range(2):
        expect_refused(closing(Phone(gateway, adapter, number=customer.local)), "daily_max")
        gateway.stop()
        alarm, = lines(gateway, "otp_daily_max_reached")
        assert alarm["level"] == "error"
        gateway = restart(daily_max=4)
    age(gateway, None, 90_000)
    assert closing(Phone(gateway, adapter)).login().status == 200


def test_new_phones_are_limited_by_prefix_and_address(restart, adapter, closing):
    numbers = (str(2125550100 + number) for number in range(100))
    gateway = restart(daily_max=60, prefix_daily_max=4)
    customer = closing(Phone(gateway, adapter, number=next(numbers)))
    customer.sign_in()
    for _ in range(3):
        closing(Phone(gateway, adapter, number=next(numbers))).receive()
    expect_refused(closing(Phone(gateway, adapter, number=next(numbers))), "prefix_daily_max")
    gateway.kill()
    gateway = restart(daily_max=60, prefix_daily_max=4)
    expect_refused(closing(Phone(gateway, adapter, number=next(numbers))), "prefix_daily_max")
    line, = lines(gateway, "otp_limited")
    assert (line["limit"], line["prefix"], line["level"]) == ("prefix_daily_max", "+1212", "warning")
    age(gateway, customer, 61)
    assert closing(Phone(gateway, adapter, number=customer.local)).login().status == 200, "it has an account"
    address = "2001:db8:1:1::"
    others = (f"{area}5550100" for area in range(301, 400))
    for number in range(3):
        assert closing(Phone(gateway, adapter, number=next(others), address=f"{address}{number}")).login().status == 200
    expect_refused(closing(Phone(gateway, adapter, number=next(others), address=f"{address}99")), "address")
    assert closing(Phone(gateway, adapter, number=next(others), address="2001:db8:1:2::1")).login().status == 200
    age(gateway, customer, 61)
    assert closing(Phone(gateway, adapter, number=customer.local, address=f"{address}99")).login().status == 200
    assert address.rstrip(":") not in str([gateway.query(f"SELECT * FROM {table}") for table in (
        "code_sends", "code_counts", "own_addresses")]), "addresses are stored as digests"


def test_a_prefix_without_sign_ins_stops_for_an_hour(restart, adapter, closing):
    gateway = restart()
    numbers = (str(2125550100 + number) for number in range(200))
    for _ in range(50):
        closing(Phone(gateway, adapter, number=next(numbers))).receive()
    alarm, = lines(gateway, "otp_prefix_stopped")
    assert (alarm["prefix"], alarm["level"]) == ("+1212", "error")
    gateway.stop()
    gateway = restart()
    app = closing(Phone(gateway, adapter, number=next(numbers)))
    response = app.login()
    expect(response, error(503, NOT_SENT))
    assert 3500 < int(response.headers["retry-after"]) <= 3600 and limited(app)["prefix_stopped"] == 1
    assert closing(Phone(gateway, adapter, number="3475550100")).login().status == 200
    age(gateway, None, 3601)
    app.receive()


def test_strangers_cannot_lock_a_phone(restart, adapter, closing):
    """A phone that has signed in from its address has the limits a second time for itself."""
    gateway = restart()
    home = "2001:db8:77:1::5"
    victim = closing(Phone(gateway, adapter, address=home))
    victim.sign_in()
    for number in range(10):
        age(gateway, victim, 61)
        stranger = closing(Phone(gateway, adapter, number=victim.local))
        if (response := stranger.login()).status != 200:
            break
        code = adapter.code(victim.number)
        for _ in range(5):
            assert stranger.verify(wrong(code)).status == 400
    assert response.status == 429 and number == 4
    gateway.kill()
    gateway = restart()
    assert closing(Phone(gateway, adapter, number=victim.local)).login().status == 429
    victim = closing(Phone(gateway, adapter, number=victim.local, address="2001:db8:77:1:ffff::1"))
    code = victim.receive()
    stranger = closing(Phone(gateway, adapter, number=victim.local))
    assert stranger.login().status == 429, "nor does a stranger get the session"
    assert victim.verify(code).status == 200
    for _ in range(4):
        age(gateway, victim, 61)
        victim.receive()
    age(gateway, victim, 61)
    expect(victim.login(), error(429, "Too many requests"))


def test_a_trunk_prefix_makes_no_other_phone(gateway, adapter, phone):
    """People of most countries write their numbers with a zero that is no part of them."""
    app = phone()
    local = str(7_900_000_000 + int(app.local) % 10 ** 7)
    number = "+44" + local
    british = {"phone_isd": "+44", "phone_country": "gb"}
    assert app.login(**british, phone=local).status == 200
    code, session = adapter.code(number), app.session
    assert app.login(**british, phone="0" + local).status == 200 and app.session == session
    user = app.verify(code).json()["data"]["user"]
    assert user["phone"] == number and adapter.count(number) == 1
    for zeros in ("00", "000"):
        expect(app.login(**british, phone=zeros + local), error(400, "Invalid phone number format"))
    other = phone()
    assert other.login(**british, phone="0" + local).status == 200
    assert other.verify(adapter.code(number)).json()["data"]["user"]["id"] == user["id"]
    assert other.login(phone_isd="+39", phone_country="it", phone="0669812345").status == 200
    assert adapter.code("+390669812345")


def test_countries(start_gateway, adapter, closing):
    gateway = start_gateway(**settings(adapter, countries=["+44"]))
    app = closing(Phone(gateway, adapter))
    expect(app.login(), error(400, "Phone numbers of this country are not supported"))
    assert app.login(phone_isd="+44", phone_country="gb").status == 200
