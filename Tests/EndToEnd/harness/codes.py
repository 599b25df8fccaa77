"""What tests of the sign-in by code share: whole answers, and the passing of time."""

import base64
import contextlib
import json
import re
import sqlite3

from .apps import TIMEOUT
from .fleet import ANY_SECOND, JWT
from .gateway import Gateway
from .sms_adapter import Phone, SMSAdapter

OVER = "Invalid or expired session. Please log in again"
NO_TRIES = "Too many wrong attempts. Please request a new code"
NOT_SENT = "Could not send the code. Please try again"
PROXY = {"behind_proxy": True, "trusted_proxies": ["127.0.0.1"]}
CARD_TEXT = "Card numbers are not accepted here"


def settings(adapter: SMSAdapter | None, jwt: dict | None = None, **otp) -> dict:
    sms = {"sms": adapter.settings()} if adapter else {}
    return {"server": PROXY, "sections": {
        "auth": {"jwt": jwt or JWT}, "otp": {"enabled": True} | sms | otp, "metrics": {"token": "m"}}}


def success(message: str, data: dict) -> dict:
    return {"success": True, "message": message, "data": data, "timestamp": ANY_SECOND, "code": 200}


def error(code: int, message: str, **details) -> dict:
    body = {"success": False, "message": message, "code": code, "timestamp": ANY_SECOND}
    return body | ({"details": details} if details else {})


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
    """Lets time pass for what is stored about a phone, or about all; counts of all grow older by whole hours."""
    where, values = ("WHERE phone = ?", [phone.number]) if phone else ("", [])
    with contextlib.closing(sqlite3.connect(gateway.database_path, timeout=TIMEOUT)) as database, database:
        for table, column in [("code_sessions", "sent_at"), ("code_sessions", "verified_at"),
                              ("code_sends", "at"), ("code_tries", "at")]:
            database.execute(f"UPDATE {table} SET {column} = {column} - ? {where}", [seconds * 1000, *values])
        if not phone:
            database.execute("UPDATE code_counts SET hour = hour - ?", [int(seconds // 3600)])
            database.execute("UPDATE code_prefixes SET stopped_at = stopped_at - ?", [seconds * 1000])


def wrong(code: str) -> str:
    return "000000" if code != "000000" else "000001"


def payload(token: str) -> dict:
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def outcomes(api: Phone) -> dict[str, float]:
    return _samples(api, "otp_total", "outcome")


def limited(api: Phone) -> dict[str, float]:
    return _samples(api, "otp_limited_total", "limit")


def _samples(api: Phone, family: str, label: str) -> dict[str, float]:
    response = api.call("GET", "/metrics", headers={"Authorization": "Bearer m"})
    return {match[1]: float(match[2])
            for match in re.finditer(rf'fleetwire_{family}\{{{label}="(\w+)"\}} (\d+)', response.text)}
