"""The clock of the loop, and how long to wait before another attempt.

A test passes its own clock, so that it does not wait.
"""

from __future__ import annotations

import time
from random import Random
from threading import Event
from typing import Final, Protocol


class Clock(Protocol):
    """What the loop calls to read the time and to wait."""

    def monotonic(self) -> float:
        """Return seconds since some time in the past; they never decrease."""

    def time(self) -> float:
        """Return seconds since the Unix epoch."""

    def process_time(self) -> float:
        """Return the seconds of processor time that this process has used."""

    def wait(self, event: Event, seconds: float) -> None:
        """Return after `seconds`, or as soon as `event` is set."""


class SystemClock:
    """The clock of the machine."""

    monotonic = staticmethod(time.monotonic)
    process_time = staticmethod(time.process_time)
    time = staticmethod(time.time)

    def wait(self, event: Event, seconds: float) -> None:
        """Wait for `event`, `seconds` at most."""
        event.wait(seconds)


SYSTEM_CLOCK: Final = SystemClock()

_FIRST_SECONDS: Final = 0.1
_MAX_SECONDS: Final = 10.0
"""Long enough not to load a slow broker; short enough to notice its return soon."""
_DOUBLINGS: Final = 7
"""Number of failures after which the wait is longest; the count stops here, as a float could overflow."""


class Backoff:
    """Doubles the wait with each failure, and draws from its upper half.

    The jitter keeps the processes from returning to a failed broker all at once.

    Parameters
    ----------
    random
        Draws the jitter.

    """

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()  # noqa: S311  nothing to guess here
        self._failures = 0

    def next_seconds(self) -> float:
        """Count a failure; return the seconds to wait."""
        longest = min(_MAX_SECONDS, _FIRST_SECONDS * 2**self._failures)
        self._failures = min(self._failures + 1, _DOUBLINGS)
        return self._random.uniform(longest / 2, longest)

    def reset(self) -> None:
        """Forget the failures after a success."""
        self._failures = 0
