"""Fixtures of tests with several nodes. A test module imports those that it uses, and what those use."""

import pytest

from .cluster import Cluster
from .cluster_load import Load
from .fleet import SECTIONS
from .nats import Nats
from .postgres import Postgres


@pytest.fixture(scope="module")
def postgres():
    with Postgres() as server:
        yield server


@pytest.fixture
def database(postgres):
    """An empty database."""
    postgres.query("DROP SCHEMA public CASCADE")
    postgres.query("CREATE SCHEMA public")
    return postgres


@pytest.fixture
def nats():
    with Nats() as server:
        yield server


@pytest.fixture
def cluster(start_gateway, database, nats):
    return Cluster(start_gateway, database, nats, sections=SECTIONS, first={"client_events": True})


@pytest.fixture
def load(cluster, closing):
    return Load(cluster, closing)
