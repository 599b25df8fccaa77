"""A small part of `make aged`: a store of a year, on which everything runs, and one of ten times the size."""

import pytest

from aged import Bounds, growth, run
from harness.aged.sizes import Aged
from harness.gateway import needs_file

# For a busy machine: these find what hangs. What reads too much is found by its growth.
BOUNDS = Bounds(request=10, tasks=120, beside_retention=1)
DRIVERS, HEAVY = 400, 2


@needs_file
@pytest.mark.cost
@pytest.mark.timeout(300)
def test_everything_runs_on_an_aged_store_and_costs_as_much_on_a_larger_one(tmp_path):
    small, problems = run(tmp_path / "small", Aged(60_000, DRIVERS, HEAVY), BOUNDS, seconds=4)
    assert problems == []
    large, problems = run(tmp_path / "large", Aged(600_000, DRIVERS, HEAVY), BOUNDS, seconds=0)
    assert problems == []
    assert growth(small, large) == []
