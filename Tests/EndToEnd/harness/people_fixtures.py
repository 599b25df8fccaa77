"""Fixtures of tests with drivers' accounts. A test module imports those that it uses; `server` and
`module_settings` together.
"""

import pytest

from .batches import hire
from .fleet import JWT, Fleet
from .people import account_settings, key_server


@pytest.fixture(scope="module")
def server():
    """Serves the certificate of Firebase's key."""
    server = key_server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def module_settings(server) -> dict:
    return {"sections": account_settings(server, JWT)}


@pytest.fixture
def driver(gateway, admin, closing):
    """Makes approved drivers."""
    return lambda **more: closing(hire(gateway, admin, **more))


@pytest.fixture
def start(start_gateway, server, closing):
    """Starts a gateway with the database of the one before. Returns its fleet."""
    settings = account_settings(server, JWT)
    return lambda **more: Fleet(start_gateway("kept", sections=settings, **more), closing)
