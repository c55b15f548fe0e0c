"""Events per second of work that may be over too soon to be timed once."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter

_LEAST_SECONDS = 0.3
"""Many times what a scheduler takes a core away for: compiled code does thousands of events in less."""


def rate(once: Callable[[], object], events: int, least_seconds: float = _LEAST_SECONDS) -> float:
    """Repeat work of so many events for a while; return events per second."""
    gc.collect()
    done = 0
    began = perf_counter()
    while (seconds := perf_counter() - began) < least_seconds:
        once()
        done += events
    return done / seconds
