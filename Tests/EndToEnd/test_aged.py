"""A small part of `make aged`: a store of a year, on which everything runs."""

import pytest

from aged import run
from harness.aged.generator import Aged
from harness.gateway import needs_file


@needs_file
@pytest.mark.timeout(180)
def test_everything_runs_on_an_aged_store(tmp_path):
    # Ten times the bounds: debug builds and other tests make everything slower. A scan of a table is slower still.
    assert run(tmp_path, Aged(rows=200_000, drivers=300, heavy=2), bound=10, seconds=4, beside=1) == []
