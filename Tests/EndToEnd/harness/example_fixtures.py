"""Fixtures of tests that run the programs in examples/."""

import pytest

from .example_site import Site


@pytest.fixture
def start_site(tmp_path, closing):
    sites = []

    def start(changes=None) -> Site:
        sites.append(Site(tmp_path, closing, changes))
        return sites[-1]

    yield start
    for site in sites:
        site.gateway.stop()


@pytest.fixture
def site(start_site):
    return start_site()
