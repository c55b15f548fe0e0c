"""A histogram for values that come by the thousand. In: values. Out: a metric family."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily


class Buckets:
    """A histogram that costs a bisection per value; one per process, not per model."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value into its bucket, as often as it occurred."""
        self._counts[bisect_left(self._bounds, value)] += times
        self._sum += value * times

    def observe_all(self, values: Sequence[float]) -> None:
        """Count each of many values into its bucket."""
        counts, bounds = self._counts, self._bounds
        for value in values:
            counts[bisect_left(bounds, value)] += 1
        self._sum += sum(values)

    def family(self, name: str, documentation: str, unit: str = "") -> HistogramMetricFamily:
        """Return the metric family."""
        edges = [*map(repr, self._bounds), "+Inf"]
        counts = zip(edges, accumulate(self._counts), strict=True)
        return HistogramMetricFamily(
            name, documentation, buckets=list(counts), sum_value=self._sum, unit=unit
        )
