"""The rate of predicted events, computed from the count after each commit."""

from __future__ import annotations

from collections import deque
from typing import Final

RATE_SECONDS: Final = 10.0
"""Over how long: long enough to be steady where commits are seconds apart."""
_SPACING_SECONDS: Final = 0.5
"""Between the counts kept: commits may come many times a second."""


class EventRate:
    """A count's growth over the last `RATE_SECONDS`, written by the loop and read by others.

    Examples
    --------
    >>> rate = EventRate()
    >>> for second in range(20):
    ...     rate.add(float(second), 50 * second)
    >>> rate.value(19.0), rate.value(24.0), rate.value(60.0)
    (50.0, 25.0, 0.0)

    """

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()
        self._newest = 0

    def add(self, seconds: float, count: int) -> None:
        """Record the count at a time (monotonic seconds)."""
        self._newest = count
        if not self._counts or seconds - self._counts[-1][0] >= _SPACING_SECONDS:
            self._counts.append((seconds, count))
        while len(self._counts) > 1 and self._counts[1][0] <= seconds - RATE_SECONDS:
            self._counts.popleft()

    def value(self, now_seconds: float) -> float:
        """Return the events a second until now; 0 before the second commit."""
        counts, newest = [*self._counts], self._newest
        began = now_seconds - RATE_SECONDS
        first, before = max(
            (each for each in counts if each[0] <= began), default=counts[0] if counts else (0, 0)
        )
        seconds = now_seconds - max(first, began)
        return (newest - before) / seconds if seconds > 0 else 0.0
