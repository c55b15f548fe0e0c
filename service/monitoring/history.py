"""The error of a model over its whole life, in bounded memory.

When the curve is full, every other point is dropped, and the distance between points doubles. So the
beginning stays, which a ring buffer would drop.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, NamedTuple

from service.partition.parts.counters import Counters

CAPACITY: Final = 400
"""Points kept: more than a page has room to show."""


RECENT: Final = 200
"""Labelled predictions in a curve's rolling error: few enough to show a change soon."""


class Point(NamedTuple):
    """A point of the curve, after a number of labelled predictions."""

    labelled: int
    mistakes: int
    updates: int
    error: float | None
    """Share of mistakes since the beginning, 0-1; None before the first label."""
    recent_error: float | None
    """Share of mistakes among the last `RECENT`, 0-1."""
    baseline_error: float | None = None
    """Share of mistakes if the majority class had always been predicted, 0-1."""
    seconds: float = 0.0
    """Time of the point, monotonic."""

    @classmethod
    def of(cls, counters: Counters, updates: int, seconds: float = 0.0) -> Point:
        """Make a point of the current counts."""
        recent = [*islice(reversed(counters.recent), RECENT)]
        confusion = counters.confusion
        return cls(
            counters.labelled,
            counters.known_mistakes(),
            updates,
            counters.error_ratio() if counters.labelled else None,
            sum(recent) / len(recent) if recent else None,
            confusion.baseline_mistakes / confusion.count if confusion.count else None,
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
        """Add a point; it is kept if it is at least a stride away from the last kept point."""
        self._newest = point
        if self._is_due(point) and len(self._points) >= self._capacity:
            self._points = self._points[::2]
            self._stride *= 2
        if self._is_due(point):
            self._points.append(point)

    def _is_due(self, point: Point) -> bool:
        return not self._points or point.labelled - self._points[-1].labelled >= self._stride

    def points(self) -> list[Point]:
        """Return the points, the newest last; safe while another thread adds points."""
        kept, newest = self._points[:], self._newest
        if newest is None:
            return kept
        return [*(each for each in kept if each.labelled < newest.labelled), newest]
