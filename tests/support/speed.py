"""How patient tests are: times to wait at most scale with the measured speed of the machine.

A test waits for something that happens, and a limit only ends one that hangs. On a machine that is busy, or
slow, a fixed limit ends tests of which nothing is wrong.
"""

from __future__ import annotations

import os
import time
from typing import Final

_WORK: Final = 300_000
_QUIET_SECONDS: Final = 0.025
"""What the work takes on a quiet machine of 2026."""
_MOST: Final = 10.0


def _slowness() -> float:
    """Return how many times slower than a quiet machine this one is: now, or lately by its load."""
    began = time.perf_counter()
    sum(n * n for n in range(_WORK))
    now = (time.perf_counter() - began) / _QUIET_SECONDS
    lately = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    return min(max(1.0, now, lately), _MOST)


SLOWNESS: Final = _slowness()


def patience(seconds: float) -> float:
    """Return how long to wait at most here for what takes a quiet machine less than so many seconds."""
    return seconds * SLOWNESS
