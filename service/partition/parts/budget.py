"""A budget of decisions in a period of event time, spent on the highest scores of it.

A candidate is decided if no more candidates with its score or a higher one are to be expected in the rest of
the period than decisions are left. They are counted in bins of scores, whose weights fade with event time.
`budget.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from perceptron_core.elementary import exp
from service.partition.parts.thresholds import NEVER, ClassBins

_ORIGIN_MS: Final = 3 * 86_400_000
"""What makes weeks begin on Monday: time begins with a Thursday."""
_CANDIDATES: Final = 100
"""After so many the threshold is looked for again, if it is not before."""
_TIMES: Final = 256
"""How often in a period it is looked for at least."""
_FAINTEST: Final = 1e-9


class Budget:
    """So many decisions in a period at most.

    Parameters
    ----------
    most
        Decisions in a period.
    period_ms
        Its length. Days begin at midnight (UTC), weeks on Monday.

    Attributes
    ----------
    n_used : int
        Decisions in the present period.
    threshold : float
        The least score that is decided.

    """

    def __init__(self, most: int, period_ms: int) -> None:
        self.most, self.period_ms = most, period_ms
        self.n_used = 0
        self.threshold = -NEVER
        self._bins = ClassBins(True)  # noqa: FBT003 - a class
        self._first_ms = self._latest_ms = self._searched_ms = 0
        self._n_since_search = 0

    def _period_of(self, timestamp_ms: int) -> int:
        return (timestamp_ms + _ORIGIN_MS) // self.period_ms

    def n_left(self, timestamp_ms: int) -> int:
        """Return how many decisions are left for an event of this time."""
        is_new = self._period_of(timestamp_ms) > self._period_of(self._latest_ms)
        return self.most if is_new else self.most - self.n_used

    def is_exhausted(self) -> bool:
        """Return whether the budget of the present period is spent."""
        return self.n_used >= self.most

    def would_take(self, score: float, timestamp_ms: int) -> bool:
        """Return whether a candidate would be decided now; nothing changes."""
        left = self.n_left(timestamp_ms)
        is_due = self._is_due(left, timestamp_ms)
        return left > 0 and score >= (self._find(left, timestamp_ms) if is_due else self.threshold)

    def advance(self, timestamp_ms: int) -> bool:
        """Begin with a candidate of this time; return whether the threshold has been looked for."""
        if self._n_since_search == 0 and not self._bins.n:
            self._first_ms = self._latest_ms = self._searched_ms = timestamp_ms
        left = self.n_left(timestamp_ms)
        is_due = self._is_due(left, timestamp_ms)
        self.n_used = self.most - left
        self._latest_ms = max(self._latest_ms, timestamp_ms)
        if is_due:
            self.threshold = self._find(left, self._latest_ms)
            self._bins.fade(self._fading(self._latest_ms))
            self._searched_ms, self._n_since_search = self._latest_ms, 0
        return is_due

    def take(self, score: float) -> bool:
        """Count the candidate; return whether it is decided."""
        takes = score >= self.threshold and self.n_used < self.most
        self._bins.add(score, True)  # noqa: FBT003 - compiled, there are no keywords
        self._n_since_search = _CANDIDATES if takes else self._n_since_search + 1
        self.n_used += takes
        return takes

    def _is_due(self, left: int, timestamp_ms: int) -> bool:
        """Return whether the threshold is to be looked for: in a new period, after a decision, or in time."""
        is_new = left != self.most - self.n_used
        is_old = timestamp_ms - self._searched_ms > self.period_ms // _TIMES
        return is_new or is_old or self._n_since_search >= _CANDIDATES

    def _find(self, left: int, timestamp_ms: int) -> float:
        """Return the least score from which on no more candidates are to be expected than can be decided."""
        latest_ms, period = max(self._latest_ms, timestamp_ms), float(self.period_ms)
        end_ms = (self._period_of(latest_ms) + 1) * self.period_ms - _ORIGIN_MS
        remaining = float(end_ms - latest_ms) / period
        known = 1.0 - exp(-float(latest_ms - self._first_ms) / period)
        return self._bins.lowest_of(left * known / (remaining * max(self._fading(latest_ms), _FAINTEST)))

    def _fading(self, latest_ms: int) -> float:
        """Return what candidates that were counted at the last search count now."""
        return exp(-float(latest_ms - self._searched_ms) / self.period_ms)

    def state(self) -> list[object]:
        """Return everything as plain values."""
        times = [self._first_ms, self._latest_ms, self._searched_ms]
        return [self.n_used, self.threshold, times, self._n_since_search, self._bins.state()]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `state` returned. Raises ValueError if it is of no budget of this size."""
        n_used, threshold, times, n_since_search, bins = state
        if not 0 <= n_used <= self.most or not 0 <= n_since_search <= _CANDIDATES or threshold != threshold:  # noqa: PLR0124 - NaN
            raise ValueError("decisions: a budget that cannot be")
        self._bins.restore(bins)
        self.n_used, self.threshold, self._n_since_search = n_used, threshold, n_since_search
        self._first_ms, self._latest_ms, self._searched_ms = times
