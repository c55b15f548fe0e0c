"""A histogram that counts thousands of values at once.

`buckets.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily


class Buckets:
    """A histogram that costs a bisection per value; one per process, not per model."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = array("d", bounds)
        self._counts = array("q", [0]) * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value into its bucket, as often as it occurred."""
        self._counts[self._place(value)] += times
        self._sum += value * times

    def observe_all(self, values: array[float]) -> None:
        """Count each of many doubles into its bucket."""
        for k in range(len(values)):
            self._counts[self._place(values[k])] += 1
            self._sum += values[k]

    def _place(self, value: float) -> int:
        """Return the place of the first bound that the value does not exceed; behind the last if it does."""
        low, high = 0, len(self._bounds)
        while low < high:
            middle = (low + high) // 2
            if self._bounds[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low

    def family(self, name: str, documentation: str, unit: str = "") -> HistogramMetricFamily:
        """Return the metric family."""
        edges = [*map(repr, self._bounds), "+Inf"]
        counts = zip(edges, accumulate(self._counts), strict=True)
        return HistogramMetricFamily(
            name, documentation, buckets=list(counts), sum_value=self._sum, unit=unit
        )
