"""The error of a model over its whole life, in bounded memory, and the rate of its events.

The longer the curve gets, the coarser: when it is full, every other point is dropped, and the distance
between points doubles. So the beginning stays, which a ring would forget.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final, NamedTuple

from service.models.learner import MixtureStatus
from service.partition.parts.counters import Counters

CAPACITY: Final = 400
"""Points kept: more than a page has room to show."""


RECENT: Final = 200
"""Labelled predictions in a curve's rolling error: few enough to show a change soon."""


class Point(NamedTuple):
    """What was known after so many labelled predictions."""

    labelled: int
    mistakes: int
    updates: int
    error: float | None
    """Share of mistakes since the beginning, 0-1; None before the first label."""
    recent_error: float | None
    """Share of mistakes among the last `RECENT`, 0-1."""
    mixture: MixtureStatus | None = None
    """Of a mixture: its experts."""
    baseline_mistakes: int = 0
    """What always predicting the commonest class would have made."""
    baseline_labelled: int = 0
    """Of so many labelled predictions: those since the baseline is counted."""
    seconds: float = 0.0
    """When that was: monotonic, and the same for all processes of a machine."""

    @classmethod
    def of(
        cls, counters: Counters, updates: int, mixture: MixtureStatus | None = None, seconds: float = 0.0
    ) -> Point:
        """Make a point of what is known now."""
        recent = [*islice(reversed(counters.recent), RECENT)]
        return cls(
            counters.labelled,
            counters.known_mistakes(),
            updates,
            counters.error_ratio() if counters.labelled else None,
            sum(recent) / len(recent) if recent else None,
            mixture,
            counters.confusion.baseline_mistakes,
            counters.confusion.count,
            seconds,
        )


class History:
    """A curve over the number of labelled predictions.

    >>> history = History(capacity=4)
    >>> for n in range(1, 9):
    ...     history.add(Point(n, 0, 0, 0.0, 0.0))
    >>> [point.labelled for point in history.points()]
    [1, 3, 5, 7, 8]
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._points: list[Point] = []
        self._stride = 1
        self._newest: Point | None = None

    def add(self, point: Point) -> None:
        """Record a point; it is kept if the last one kept is a stride away."""
        self._newest = point
        if self._is_due(point) and len(self._points) >= self._capacity:
            self._points = self._points[::2]
            self._stride *= 2
        if self._is_due(point):
            self._points.append(point)

    def _is_due(self, point: Point) -> bool:
        return not self._points or point.labelled - self._points[-1].labelled >= self._stride

    def points(self) -> list[Point]:
        """Return the points in order, the newest one last; safe while another thread adds."""
        kept, newest = self._points[:], self._newest
        if newest is None:
            return kept
        return [*(each for each in kept if each.labelled < newest.labelled), newest]


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
