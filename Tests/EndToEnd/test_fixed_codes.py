"""What existing apps read of the sign-in by a code to the phone: every answer, every refusal, in the envelope of
`/api/mobile/v1`.
"""

import pytest

from harness.codes import age, wrong
from harness.codes_fixtures import adapter, module_settings  # noqa: F401
from harness.contract import COUNT, JWT, SECONDS, TEXT, Row, World, check, check_can_fail, sample, text_like
from harness.fleet import unique_id
from harness.sms_adapter import CARD, DETAILS, LOGIN, PREFIX, REFRESH, RESEND, SESSION, VERIFY, Phone


class Codes(World):
    """A customer's phone. `{code}` is the code that it has got last, `{wrong}` another one."""

    def __init__(self, fleet, adapter, closing):  # noqa: F811
        super().__init__()
        self.gateway, self.adapter = fleet.gateway, adapter
        self.phone = closing(Phone(fleet.gateway, adapter))
        other = closing(Phone(fleet.gateway, adapter))
        self.callers = {"phone": self.phone, "other": other, "admin": fleet.admin(), "driver": fleet.driver()}
        self.values = {"local": self.phone.local, "number": self.phone.number, "email": f"{unique_id()}@example.com"}

    def sent(self) -> None:
        self.values["code"] = self.phone.receive()
        self.values |= {"session": self.phone.session, "wrong": wrong(self.values["code"])}

    def a_minute_later(self) -> None:
        age(self.gateway, self.phone, 61)

    def six_minutes_later(self) -> None:
        age(self.gateway, self.phone, 361)

    def two_hours_later(self) -> None:
        age(self.gateway, self.phone, 7_300)

    def resent(self) -> None:
        assert self.phone.resend().status == 200
        self.values |= {"first": self.values["code"], "code": self.adapter.code(self.phone.number)}

    def wrong_code(self) -> None:
        assert self.phone.verify(self.values["wrong"]).status == 400

    def four_wrong_codes(self) -> None:
        for _ in range(4):
            self.wrong_code()

    def five_codes(self) -> None:
        for _ in range(5):
            self.sent()
            self.a_minute_later()

    def verified(self) -> None:
        self.sent()
        data = self.phone.verify(self.values["code"]).json()["data"]
        self.phone.bearer, self.values["id"] = data["token"], data["user"]["id"]

    def has_details(self) -> None:
        self.phone.expect_ok("POST", DETAILS, {"name": "Ann Öz", "email": self.values["email"]})

    def has_card(self) -> None:
        self.phone.expect_ok("POST", CARD, {"payment_token": "tok"})

    def other_has_the_email(self) -> None:
        other = self.callers["other"]
        other.sign_in()
        other.expect_ok("POST", DETAILS, {"name": "Bo", "email": self.values["email"].upper()})

    def signed_out(self) -> None:
        self.phone.expect_ok("DELETE", SESSION)


def good(message: str, data: dict) -> dict:
    return {"success": True, "message": message, "data": data, "timestamp": SECONDS, "code": 200}


def bad(code: int, message, **more) -> dict:
    """An error has no `data`: its figures stand in `details`."""
    return {"success": False, "message": message, "code": code, "timestamp": SECONDS} | more


def sent(expires=300, cooldown=60, session="{session}", message: str = "OTP sent to your phone number") -> dict:
    return {"message": message, "otp_type": "sms", "temp_user_id": session, "expires_in": expires,
            "cooldown_remaining": cooldown}


def form(**changes) -> dict:
    whole = {"phone_isd": "+1", "phone_country": "us", "phone": "{local}", "user_type": "customer"} | changes
    return {name: value for name, value in whole.items() if value is not None}


def registration(step, percent: int, following, *done: str) -> dict:
    steps = ["phone_verified", "basic_details", "credit_card", "profile_complete"]
    return {"current_step": step, "progress_percentage": percent, "is_completed": percent == 100, "next_step": following,
            "steps": {name: name in done for name in steps}, "completed_steps": list(done), "total_steps": 4,
            "completed_count": len(done)}


def verified(state: dict, action: str) -> dict:
    return good("OTP verified successfully", {
        "user": {"id": COUNT, "phone": "{number}", "role": 1, "is_profile_completed": state["is_completed"],
                 "last_login_at": SECONDS, "created_from": "mobile_app", "customer_registration_state": state},
        "token": JWT, "token_type": "Bearer", "expires_in": 3600, "action": action, "driver_registration_state": None})


def login(status: int, message, given: str = "", **changes) -> Row:
    return Row(f"phone POST {LOGIN}", status, bad(status, message), form(**changes), given)


def verify(status: int, message, given: str, code="{code}", **more) -> Row:
    return Row(f"phone POST {VERIFY}", status, bad(status, message, **more), {"temp_user_id": "{session}", "otp": code}, given)


NEW = text_like("a session's id", r"temp_[A-Za-z0-9_-]{22}")
BEGUN = registration("basic_details", 25, "credit_card", "phone_verified")
NAMED = registration("credit_card", 50, "profile_complete", "phone_verified", "basic_details")
WHOLE = registration(None, 100, None, "phone_verified", "basic_details", "credit_card", "profile_complete")
LOST = "Invalid or expired session. Please log in again"
NO_TRIES = "Too many wrong attempts. Please request a new code"
NO_CARDS = "Card numbers are not accepted here"
CODE = {"temp_user_id": "{session}", "otp": "{code}"}

ROWS = [
    # A code is sent
    Row(f"phone POST {LOGIN}", 200, good("OTP sent successfully", sent(session=NEW)), form()),
    Row(f"phone POST {LOGIN}", 200, good("OTP sent successfully", sent(session=NEW)), form(phone_country="US")),
    Row(f"phone POST {LOGIN}", 200, good("OTP sent successfully", sent(COUNT, COUNT)), form(), "sent"),
    Row(f"phone POST {LOGIN}", 200, good("OTP sent successfully", sent(session=NEW)), form(), "sent a_minute_later"),
    Row(f"phone POST {LOGIN}", 200, good("OTP sent successfully", sent(session=NEW)), form(), "verified"),
    login(400, "Invalid phone number format", phone="12"), login(400, "Invalid phone number format", phone="123456789012345"),
    login(400, "Invalid phone number format", phone="12345a7890"), login(400, "Invalid phone number format", phone=None),
    login(400, "Invalid phone number format", phone_isd="+123", phone="1234567890123"),
    login(400, text_like("a text that names phone_isd", r".*phone_isd.*"), phone_isd=None),
    login(400, text_like("a text that names phone_country", r".*phone_country.*"), phone_country="usa"),
    login(400, "Unsupported user type", user_type="driver"),
    login(429, "Too many requests", "five_codes"),
    # and sent again
    Row(f"phone POST {RESEND}", 200, good("OTP resent successfully", sent(message="New OTP sent to your phone number")),
        {"temp_user_id": "{session}"}, "sent a_minute_later"),
    Row(f"phone POST {RESEND}", 400, bad(400, LOST), {"temp_user_id": "temp_unknown"}),
    Row(f"phone POST {RESEND}", 400, bad(400, LOST), {"temp_user_id": "{session}"}, "sent two_hours_later"),
    Row(f"phone POST {RESEND}", 400, bad(400, TEXT), {}),
    # The code is right
    Row(f"phone POST {VERIFY}", 200, verified(BEGUN, "navigate_to_basic_info"), CODE, "sent"),
    Row(f"phone POST {VERIFY}", 200, verified(BEGUN, "navigate_to_basic_info"), CODE, "sent a_minute_later resent"),
    Row(f"phone POST {VERIFY}", 200, verified(BEGUN, "navigate_to_basic_info"), CODE, "verified"),
    Row(f"phone POST {VERIFY}", 200, verified(NAMED, "navigate_to_credit_card"), CODE, "verified has_details sent"),
    Row(f"phone POST {VERIFY}", 200, verified(WHOLE, "navigate_to_dashboard"), CODE, "verified has_details has_card sent"),
    # or not
    verify(400, NO_TRIES, "sent four_wrong_codes", "{wrong}"), verify(400, NO_TRIES, "sent four_wrong_codes wrong_code"),
    verify(400, "OTP expired", "sent six_minutes_later"), verify(400, "OTP must be 6 digits", "sent", "12345"),
    verify(400, "OTP must be 6 digits", "sent", 123456),
    Row(f"phone POST {VERIFY}", 400, bad(400, LOST), {"temp_user_id": "temp_unknown", "otp": "123456"}),
    # Registration
    Row(f"phone POST {DETAILS}", 200, good("Basic details saved", {"customer_registration_state": NAMED}),
        {"name": "Ann Öz", "email": "{email}"}, "verified"),
    Row(f"phone POST {DETAILS}", 200, good("Basic details saved", {"customer_registration_state": WHOLE}),
        {"name": "Ann", "email": "{email}"}, "verified has_details has_card"),
    Row(f"phone POST {DETAILS}", 409, bad(409, "Email already in use"), {"name": "Ann", "email": "{email}"},
        "other_has_the_email verified"),
    Row(f"phone POST {DETAILS}", 400, bad(400, TEXT), {"name": "A", "email": "{email}"}, "verified"),
    Row(f"phone POST {DETAILS}", 400, bad(400, TEXT), {"name": "Ann", "email": "nobody"}, "verified"),
    Row(f"phone POST {CARD}", 200, good("Payment method saved", {"customer_registration_state": WHOLE}),
        {"payment_token": "tok_1", "brand": "visa", "last4": "4242", "expiry_month": 1, "expiry_year": 2030},
        "verified has_details"),
    Row(f"phone POST {CARD}", 409, bad(409, "Complete the previous step first"), {"payment_token": "tok"}, "verified"),
    Row(f"phone POST {CARD}", 400, bad(400, NO_CARDS), {"payment_token": "4242 4242 4242 4242"}, "verified"),
    Row(f"phone POST {CARD}", 400, bad(400, NO_CARDS), {"payment_token": "tok", "deep": [{"n": 4242424242424242}]},
        "verified has_details"),
    # The session
    Row(f"phone POST {REFRESH}", 200, good(TEXT, {"token": JWT, "token_type": "Bearer", "expires_in": 3600}), None, "verified"),
    Row(f"phone POST {REFRESH}", 401, bad(401, "Invalid token"), None, "verified signed_out"),
    Row(f"phone DELETE {SESSION}", 200, good(TEXT, {}), None, "verified"),
    # Errors of the group
    Row(f"phone POST {DETAILS}", 401, bad(401, "Invalid token"), {"name": "Ann", "email": "{email}"}),
    Row(f"driver POST {DETAILS}", 403, bad(403, TEXT), {"name": "Ann", "email": "{email}"}),
    Row(f"admin POST {PREFIX}/auth/other", 404, bad(404, "Resource not found"), {}),
    Row(f"phone GET {LOGIN}", 405, bad(405, "Method not allowed"), answered={"allow": "POST"}),
    Row(f"phone POST {VERIFY}", 413, bad(413, "Request too large"), b'{"otp":"' + b"1" * 70_000 + b'"}'),
    Row(f"phone POST {LOGIN}", 400, bad(400, TEXT), b"[]"),
]

DETAILED = [
    verify(400, "Invalid OTP", "sent", "{wrong}", details={"attempts_remaining": 4}),
    verify(400, "Invalid OTP", "sent wrong_code", "{wrong}", details={"attempts_remaining": 3}),
    Row(f"phone POST {RESEND}", 429, bad(429, "Please wait before requesting another code",
                                         details={"cooldown_remaining": COUNT}), {"temp_user_id": "{session}"}, "sent"),
]


@pytest.fixture
def world(fleet, adapter, closing) -> Codes:  # noqa: F811
    return Codes(fleet, adapter, closing)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_answers(world, row):
    check(world, row)


@pytest.mark.parametrize("row", DETAILED, ids=str)
def test_errors_with_figures(world, row):
    check(world, row)


@pytest.mark.parametrize("row", sample(ROWS), ids=str)
def test_an_answer_that_differs_in_anything_fails(world, row):
    check_can_fail(world, row)
