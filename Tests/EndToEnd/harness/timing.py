"""The gateway's constants of time, of which a module of tests may have a part only: see `divided_timing` in conftest.py."""

import os

from harness.gateway import BINARY

VARIABLE = "TIMING_DIVISOR"
# Other builds than debug builds do not know the variable.
IS_DIVISIBLE = BINARY.resolve().parent.name == "debug"


def divided(seconds: float) -> float:
    """Returns how long a constant of so many seconds is in this module's gateways."""
    return seconds / int(os.environ[VARIABLE])
