"""Find thresholds from labelled scores of one class against the others, in bins with decaying weights.

Bins are those of `ScoreBins`: each is at most an eighth as wide as its scores. A threshold meets its goal if
the one-sided Clopper-Pearson confidence bound of the share does. If scores are log-odds of calibrated
probabilities, these are the prior of a precision, and the bound is a quantile of the posterior.
`thresholds.pxd` gives this module its C types.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, inf, isnan
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import exp, log, logistic
from service.messages.labels import TrueLabel

BITS_LEFT_OUT: Final = 49
"""How many of the 52 bits of a score's mantissa its bin number leaves out."""

PRECISION, FALSE_POSITIVES, RECALL, COST = range(4)
"""Goals of a threshold."""

NEVER: Final = inf
"""The threshold that no score reaches."""
_LOWEST: Final = -inf
_INITIAL_CAPACITY: Final = 64
"""Room for new bins, before the columns grow."""
_SLICES: Final = 16.0
"""Equal slices of a bin, over which its weight is assumed to be evenly distributed."""
_MIN_BIN_WEIGHT: Final = 0.01
"""A bin with less than this weight (an example has 1) is dropped."""
_INTEGER, _DOUBLE = struct.Struct("<q"), struct.Struct("<d")
_PRIOR_WEIGHT: Final = 50.0
"""Weight of the prior from calibrated probabilities, in labels."""
_MAX_PRIOR_MEAN: Final = 0.999
"""Largest mean probability of that prior."""
_HALVINGS: Final = 40
"""Steps of a bisection: the error is at most 1e-12 of the interval."""
_HALF_LOG_2PI: Final = 0.9189385332046727
_STIRLING_FROM: Final = 10.0
"""Argument from which on four terms of Stirling's series are accurate to 1e-12."""
_MAX_TERMS: Final = 1000
"""Terms of the continued fraction, at most."""
_TOLERANCE: Final = 1e-12
"""Relative change by which the continued fraction has converged."""
_MAX_GROWTH: Final = 1000.0
"""Largest factor by which labels are said to have to grow."""
_ORIGIN_MS: Final = 3 * 86_400_000
"""Offset that makes weeks begin on Monday, as the Unix epoch began on a Thursday."""
_MAX_CANDIDATES: Final = 100
"""Candidates after which the threshold is searched again at the latest."""
_SEARCHES_PER_PERIOD: Final = 256
"""Least number of searches in a period."""
_MIN_FADING: Final = 1e-9
"""Least weight of earlier candidates, since a budget is divided by it."""


class Row(NamedTuple):
    """The metrics of deciding at a threshold."""

    threshold: float
    precision: float
    recall: float | None
    """None if no event is of the class."""
    false_positive_rate: float | None
    """None if all events are of the class."""
    decided_ratio: float
    """Share of events, 0-1."""


class ClassBins:
    """The labelled scores of a class, and of all others.

    Parameters
    ----------
    truth
        The class.
    left_out
        Decisions whose events are not counted.

    Attributes
    ----------
    n_of_class, n_others : int
        Numbers of labels of the class and of others, without decay.
    is_calibrated : bool
        Whether scores are log-odds of calibrated probabilities.

    """

    def __init__(self, truth: TrueLabel, left_out: Sequence[str] = ()) -> None:
        self.truth, self.left_out = truth, list(left_out)
        self.sign = 0 if isinstance(truth, str) else 1 if truth else -1
        self.n_of_class = self.n_others = 0
        self.is_calibrated = False
        self._fill([])

    def own_score(self, predicted: TrueLabel, score: float) -> float:
        """Return the score of this class; among several classes, −∞ if another was predicted."""
        if self.sign:
            return self.sign * score
        return score if predicted == self.truth else _LOWEST

    def is_own(self, truth: TrueLabel) -> bool:
        """Return whether a truth is this class."""
        return truth is self.truth if self.sign else truth == self.truth

    def add(self, score: float, is_of_class: bool, weight: float = 1.0) -> None:  # noqa: FBT001 - compiled, there are no keywords
        """Count a labelled score; a negative weight takes back at most the weight of the bin."""
        index = self._index_of(score)
        if index < 0 or score >= self._highs[index]:
            if weight < 0.0:
                return
            index = self._add_bin(score)
        if is_of_class:
            self._of_class[index] = max(0.0, self._of_class[index] + weight)
        else:
            self._others[index] = max(0.0, self._others[index] + weight)

    def fade(self, factor: float) -> None:
        """Multiply all weights by a factor; drop bins of negligible weight."""
        n_faint = 0
        for k in range(self.n):
            self._of_class[k] *= factor
            self._others[k] *= factor
            n_faint += self._of_class[k] + self._others[k] < _MIN_BIN_WEIGHT
        if n_faint:
            self._fill([row for row in self._rows() if row[1] + row[2] >= _MIN_BIN_WEIGHT])

    def find_threshold(
        self,
        goal: int,
        level: float,
        confidence: float,
        cost_positive: float = 0.0,
        cost_negative: float = 0.0,
        below: float = NEVER,
    ) -> float:
        """Return the threshold that meets a goal; `NEVER` if no threshold is known to meet the goal.

        For precision and the false-positive rate, return the lowest threshold whose bound meets the level;
        for recall, the highest; for costs, the threshold with the lowest cost. A precision is that of the
        scores `below` the threshold of an earlier decision.
        """
        of_class, others = self._add_up(below)
        if goal == COST:
            return self._cheapest(cost_positive, cost_negative * of_class, cost_negative)
        share = 1.0 - level if goal == FALSE_POSITIVES else level
        for step in range(self.n):
            k = self.n - 1 - step if goal == RECALL else step
            if self._lows[k] != _LOWEST:
                self._set_evidence(goal, k, of_class, others)
                if self._meets(1.0, share, confidence):
                    return float(self._lows[k])
        return NEVER

    def best_bound(
        self, goal: int, level: float, confidence: float, below: float = NEVER
    ) -> tuple[float, float | None]:
        """Return the best bound of any threshold, and how many more labels the first threshold needs.

        Labels are of all classes, in their present proportion; None if no threshold is good enough at present
        rates.
        """
        of_class, others = self._add_up(below)
        share = 1.0 - level if goal == FALSE_POSITIVES else level
        bounds, lacking = [0.0], []
        for k in range(self.n):
            if self._lows[k] != _LOWEST:
                self._set_evidence(goal, k, of_class, others)
                a, b = self._right + self._prior, self._wrong + self._prior_wrong
                bounds.append(bound_of(a, b, confidence))
                if (more := self._times_more(share, confidence)) is not None:
                    lacking.append(more * (of_class + others))
        return (1.0 - max(bounds) if goal == FALSE_POSITIVES else max(bounds)), min(lacking, default=None)

    def _set_evidence(self, goal: int, k: int, of_class: float, others: float) -> None:
        """Set the labels for and against a bin's threshold, and the prior added to them.

        A prior of 0 and 1 gives the Clopper-Pearson bound.
        """
        self._right, n = self._above[k], self._above[k] + self._above_others[k]
        self._prior, self._prior_wrong = 0.0, 1.0
        if goal == RECALL:
            n = of_class
        elif goal == FALSE_POSITIVES:
            self._right, n = others - self._above_others[k], others
        elif self.is_calibrated and n > 0.0:
            mean = min(self._above_expected[k] / n, _MAX_PRIOR_MEAN)
            self._prior, self._prior_wrong = _PRIOR_WEIGHT * mean, _PRIOR_WEIGHT * (1.0 - mean)
        self._wrong = n - self._right

    def _meets(self, times: float, share: float, confidence: float) -> bool:
        """Return whether the labels of `_set_evidence`, multiplied by `times`, meet a share."""
        a, b = self._right * times + self._prior, self._wrong * times + self._prior_wrong
        return surely_above(a, b, share, confidence)

    def _times_more(self, share: float, confidence: float) -> float | None:
        """Return the factor by which the labels must grow to meet a share; None if it is too large."""
        low, high = 1.0, _MAX_GROWTH
        if self._meets(low, share, confidence):
            return 0.0
        if not self._meets(high, share, confidence):
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            if self._meets(middle, share, confidence):
                high = middle
            else:
                low = middle
        return high - 1.0

    def lowest_of(self, weight: float) -> float:
        """Return the lowest score at or above which the class has at most this weight.

        The scores of a bin are assumed to be evenly distributed over sixteenths of it.
        """
        left = weight
        for k in range(self.n - 1, -1, -1):
            if self._of_class[k] > left:
                width = self._highs[k] - self._lows[k] if self._lows[k] != _LOWEST else 0.0
                return float(self._highs[k] - width * floor(_SLICES * left / self._of_class[k]) / _SLICES)
            left -= self._of_class[k]
        return _LOWEST

    def rows(self) -> list[Row]:
        """Return the metrics of each threshold, the lowest first."""
        of_class, others = self._add_up()
        rows, total = [], of_class + others
        for k in range(self.n):
            above, above_others = self._above[k], self._above_others[k]
            if self._lows[k] == _LOWEST:
                continue
            recall = above / of_class if of_class else None
            false_rate = above_others / others if others else None
            decided = above + above_others
            rows.append(Row(self._lows[k], above / decided, recall, false_rate, decided / total))
        return rows

    def state(self) -> list[object]:
        """Return everything as plain values."""
        return [self.truth, self.n_of_class, self.n_others, [list(row[:3]) for row in self._rows()]]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore a state. Raises `ValueError` if its bins are impossible."""
        _, self.n_of_class, self.n_others, rows = state
        ranks = [_rank(row[0]) for row in rows]
        are_ordered = all(low < high for low, high in pairwise(ranks))
        are_weights = all(0.0 <= weight < NEVER for _, *weights in rows for weight in weights)
        if not are_ordered or not are_weights or any(isnan(row[0]) for row in rows):
            raise ValueError("decisions: impossible bins")
        self._fill([(*row, _lowest(_rank(row[0]) + 1)) for row in rows])

    def _add_up(self, below: float = NEVER) -> tuple[float, float]:
        """Compute the cumulative weights from each bin up to scores `below` a limit; return the totals."""
        above = above_others = taken = taken_others = expected = 0.0
        for k in range(self.n - 1, -1, -1):
            above += self._of_class[k]
            above_others += self._others[k]
            if self._lows[k] >= below:
                taken, taken_others = above, above_others
            self._above[k], self._above_others[k] = above - taken, above_others - taken_others
            if self.is_calibrated and _LOWEST < self._lows[k] < below:
                middle = (self._lows[k] + self._highs[k]) / 2.0
                expected += (self._of_class[k] + self._others[k]) * logistic(middle)
            self._above_expected[k] = expected
        return above, above_others

    def _cheapest(self, cost_positive: float, least: float, cost_negative: float) -> float:
        cheapest, missed = NEVER, least
        for k in range(self.n - 1, -1, -1):
            cost = cost_positive * self._above_others[k] + missed - cost_negative * self._above[k]
            if cost < least and self._lows[k] != _LOWEST:
                least, cheapest = cost, self._lows[k]
        return cheapest

    def _index_of(self, score: float) -> int:
        """Return the position of the last bin that begins at or below a score; -1 if there is none."""
        first, last = 0, self.n
        while first < last:
            middle = (first + last) // 2
            if self._lows[middle] <= score:
                first = middle + 1
            else:
                last = middle
        return first - 1

    def _add_bin(self, score: float) -> int:
        """Make a bin for a score; return its position."""
        low, index = _lowest(_rank(score)), self._index_of(score) + 1
        if self.n == len(self._lows):
            self._fill(self._rows())
        for k in range(self.n, index, -1):
            self._lows[k], self._highs[k] = self._lows[k - 1], self._highs[k - 1]
            self._of_class[k], self._others[k] = self._of_class[k - 1], self._others[k - 1]
        self._lows[index], self._highs[index] = low, _lowest(_rank(low) + 1)
        self._of_class[index] = self._others[index] = 0.0
        self.n += 1
        return index

    def _rows(self) -> list[tuple[float, ...]]:
        return [(self._lows[k], self._of_class[k], self._others[k], self._highs[k]) for k in range(self.n)]

    def _fill(self, rows: Sequence[Sequence[float]]) -> None:
        self.n = len(rows)
        columns = zip(*rows, *[[0.0] * 4] * _INITIAL_CAPACITY, strict=True)
        self._lows, self._of_class, self._others, self._highs = (array("d", column) for column in columns)
        self._above, self._above_others, self._above_expected = [array("d", self._lows) for _ in range(3)]
        self._right = self._wrong = self._prior = self._prior_wrong = 0.0


class Budget:
    """A limited number of decisions in a period of event time, spent on the highest scores.

    A candidate is decided if the expected number of candidates with its score or a higher one in the rest of
    the period is at most the number of decisions left. Candidates are counted in bins of scores, whose
    weights decay with event time.

    Parameters
    ----------
    most
        Largest number of decisions in a period.
    period_ms
        Length of the period. Days begin at midnight (UTC), weeks on Monday.

    Attributes
    ----------
    n_used : int
        Decisions in the present period.
    threshold : float
        The lowest score that is decided.

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
        """Return the number of decisions left at this event time."""
        is_new = self._period_of(timestamp_ms) > self._period_of(self._latest_ms)
        return self.most if is_new else self.most - self.n_used

    def is_exhausted(self) -> bool:
        """Return whether the budget of the present period is spent."""
        return self.n_used >= self.most

    def advance(self, timestamp_ms: int) -> bool:
        """Advance to a candidate's event time; return whether the threshold was searched."""
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

    def decide(self, score: float) -> bool:
        """Count the candidate; return whether it is decided."""
        takes = score >= self.threshold and self.n_used < self.most
        self._bins.add(score, True)  # noqa: FBT003 - compiled, there are no keywords
        self._n_since_search = _MAX_CANDIDATES if takes else self._n_since_search + 1
        self.n_used += takes
        return takes

    def _is_due(self, left: int, timestamp_ms: int) -> bool:
        """Return whether to search the threshold: in a new period, after a decision, or after some time."""
        is_new = left != self.most - self.n_used
        is_old = timestamp_ms - self._searched_ms > self.period_ms // _SEARCHES_PER_PERIOD
        return is_new or is_old or self._n_since_search >= _MAX_CANDIDATES

    def _find(self, left: int, timestamp_ms: int) -> float:
        """Return the lowest score at or above which at most `left` candidates are expected."""
        latest_ms, period = max(self._latest_ms, timestamp_ms), float(self.period_ms)
        end_ms = (self._period_of(latest_ms) + 1) * self.period_ms - _ORIGIN_MS
        remaining = float(end_ms - latest_ms) / period
        known = 1.0 - exp(-float(latest_ms - self._first_ms) / period)
        return self._bins.lowest_of(left * known / (remaining * max(self._fading(latest_ms), _MIN_FADING)))

    def _fading(self, latest_ms: int) -> float:
        """Return the present weight of candidates counted at the last search."""
        return exp(-float(latest_ms - self._searched_ms) / self.period_ms)

    def state(self) -> list[object]:
        """Return everything as plain values."""
        times = [self._first_ms, self._latest_ms, self._searched_ms]
        return [self.n_used, self.threshold, times, self._n_since_search, self._bins.state()]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore a state, also of another rate with this period. Raises `ValueError` if it is impossible."""
        n_used, threshold, times, n_since_search, bins = state
        if n_used < 0 or not 0 <= n_since_search <= _MAX_CANDIDATES or threshold != threshold:  # noqa: PLR0124 - NaN
            raise ValueError("decisions: impossible budget")
        self._bins.restore(bins)
        self.n_used = min(n_used, self.most)  # the rate may have changed
        self.threshold, self._n_since_search = threshold, n_since_search
        self._first_ms, self._latest_ms, self._searched_ms = times


def why_undecided(goal: int, level: float, confidence: float, bins: ClassBins, below: float) -> str:
    """Return why a decision has no threshold: the best bound, and the number of missing labels."""
    if goal == COST:
        return "no threshold is good enough yet"
    bound, lacking = bins.best_bound(goal, level, confidence, below)
    if lacking == 0.0:
        return f"a threshold with a bound of {bound:.3g} is good enough: the next search sets it"
    is_about_others = goal == FALSE_POSITIVES
    n, share = (bins.n_others, 1.0 - level) if is_about_others else (bins.n_of_class, level)
    if lacking is None and (few := log(1.0 - confidence) / log(share) - n) > 0.0:
        whose = "other classes" if is_about_others else "the class"
        return f"too few labels of {whose} yet: at least {_rounded(few):,} more needed"
    why = f"no threshold is good enough yet: the best bound is {bound:.3g}, expected {level:g}"
    return f"{why}; about {_rounded(lacking):,} more labels may suffice" if lacking is not None else why


def _rounded(n: float) -> int:
    """Round a number of labels up to a whole one, then to its two significant digits."""
    return int(float(f"{max(ceil(n), 1):.1e}"))


def _rank(score: float) -> int:
    """Return the rank of a score's bin among all possible bins."""
    (bits,) = _INTEGER.unpack(_DOUBLE.pack(score + 0.0))
    number: int = bits >> BITS_LEFT_OUT
    return number if number >= 0 else -(1 << 63 - BITS_LEFT_OUT) - number - 1


def _lowest(rank: int) -> float:
    """Return the lowest score of the bin with this rank."""
    if rank >= 0:
        bits = rank << BITS_LEFT_OUT
    else:
        bits = (-(1 << 63 - BITS_LEFT_OUT) - rank - 1 << BITS_LEFT_OUT) | (1 << BITS_LEFT_OUT) - 1
    (score,) = _DOUBLE.unpack(_INTEGER.pack(bits))
    return _LOWEST if isnan(score) else score


def surely_above(a: float, b: float, share: float, confidence: float) -> bool:
    """Return whether a beta(a, b) variable exceeds `share` with at least this confidence.

    With a = k and b = n - k + 1 this is the Clopper-Pearson bound: if the share were not larger, k or more of
    n would occur with a probability of at most 1 - `confidence`.

    >>> surely_above(59, 1, 0.95, 0.95), surely_above(58, 1, 0.95, 0.95), surely_above(980, 21, 0.975, 0.95)
    (True, False, False)

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case
    of the binomial. Biometrika 26(4).

    """
    excess, slack = a - share * (a + b), confidence - 0.5
    if excess <= 0.0 or excess * excess < slack * slack * share * (1.0 - share) * (a + b):
        return False  # closer to the mean than any bound
    head = a * log(share) + b * log(1.0 - share) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    return exp(head) * _fraction(a, b, share) <= (1.0 - confidence) * a


def bound_of(a: float, b: float, confidence: float) -> float:
    """Return the largest share that a beta(a, b) variable exceeds with this confidence.

    >>> bound_of(59, 1, 0.95)
    0.9504...
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if surely_above(a, b, middle, confidence):
            low = middle
        else:
            high = middle
    return low


def _fraction(a: float, b: float, x: float) -> float:
    """Compute a·B(a, b)·I_x(a, b)/(xᵃ·(1 − x)ᵇ), a continued fraction, by Lentz's method.

    It converges fast for x below the mean a/(a + b) (DLMF 8.17.22).
    """
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _MAX_TERMS):
        even, odd = m * (b - m) * x, -(a + m) * (a + b + m) * x
        even /= (a - 1.0 + 2.0 * m) * (a + 2.0 * m)
        odd /= (a + 2.0 * m) * (a + 1.0 + 2.0 * m)
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        fraction *= c * d
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        fraction *= c * d
        if -_TOLERANCE < c * d - 1.0 < _TOLERANCE:
            break
    return fraction


def log_gamma(x: float) -> float:
    """Compute ln Γ(x) for x > 0 by Stirling's series.

    >>> log_gamma(5.0)  # ln 4!
    3.17805383...
    """
    product = 1.0
    while x < _STIRLING_FROM:
        product *= x
        x += 1.0
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    return (x - 0.5) * log(x) - x + _HALF_LOG_2PI + series - log(product)
