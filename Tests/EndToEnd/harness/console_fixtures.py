"""Fixtures of tests with the operators' console. A test module imports those that it uses."""

import pytest

from .browser import Browser
from .console import Console
from .fleet import token


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def open_console(browser, closing):
    """Opens consoles in which nobody has signed in: `open_console(gateway)`."""
    return lambda gateway: closing(Console(browser, gateway))


@pytest.fixture
def console(open_console, gateway):
    return open_console(gateway)


@pytest.fixture
def ops(console):
    """A console with a token of the role ops."""
    return console.sign_in(token("ops", "oz"))


@pytest.fixture
def dispatcher(console):
    """A console with an admin's token."""
    return console.sign_in(token("admin", "ada"))
