"""The bounds of attacks that need what the gateway asks, and of attacks on the store: a second of each, alone. `make hostile`
performs all attacks.
"""

import pytest

from harness.gateway import needs_file
from harness.hostile.alone import perform_alone
from harness.hostile.bursts import allow_many_connections

# The wait of a bystander is no matter here: a debug build takes longer. The bursts show it.
ATTACKS = ["long_retry_after", pytest.param("codes_by_strangers", marks=pytest.mark.pace), "endless_answers",
           "read_all_taps", "new_devices"]


@needs_file
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_reaches_its_bound_and_no_further(tmp_path, name):
    allow_many_connections()
    problems = perform_alone(tmp_path, name, seconds=2, seed="1").problems
    assert [problem for problem in problems if not problem.startswith("a bystander waited")] == []
