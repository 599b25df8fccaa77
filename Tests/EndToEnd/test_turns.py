"""A bystander's waits while many clients do something at one moment, in CPU time of the loops, which does
not depend on what else the machine does.
"""

import pytest

from harness.api import Api
from harness.fleet import wait_until
from harness.hostile.bursts import BURSTS, Burst, allow_many_connections
from harness.metrics import scrape


@pytest.mark.parametrize("name", BURSTS)
def test_burst_does_not_make_a_bystander_wait(tmp_path, name):
    """With fewer clients than `make hostile` has. Their work takes the loops much longer than the
    bystander waits: what it costs in a debug build is no matter.
    """
    burst = BURSTS[name]
    allow_many_connections()
    longest, used = Burst(burst.act, burst.count // 10, burst.bound, burst.settings).perform(tmp_path / "gateway")
    assert longest < max(burst.bound, used / 8), f"{longest:.0f} ms of {used:.0f}"


def test_turns_are_measured_by_loop(start_gateway, closing):
    api = closing(Api(start_gateway(loops=2)))

    def turns(loop: str) -> float:
        return scrape(api).value("fleetwire_turn_seconds_count", loop=loop)

    # The loop without a connection has its first turn within a second.
    wait_until(lambda: turns("0") > 0 and turns("1") > 0, "both loops have had a turn")
    metrics = scrape(api)
    assert metrics.types["fleetwire_turn_seconds"] == "histogram"
    for loop in ("0", "1"):
        before = metrics.value("fleetwire_turn_seconds_count", loop=loop)
        assert metrics.value("fleetwire_turn_seconds_bucket", loop=loop, le="+Inf") == before
        assert metrics.value("fleetwire_turn_seconds_sum", loop=loop) > 0
    after = scrape(api)
    assert after.total("fleetwire_turn_seconds_count") > metrics.total("fleetwire_turn_seconds_count")
