"""Fixtures of tests of the sign-in by code. A test module imports those that it uses; `adapter` and `module_settings`
together.
"""

import contextlib

import pytest

from .codes import settings
from .sms_adapter import Phone, SMSAdapter


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
