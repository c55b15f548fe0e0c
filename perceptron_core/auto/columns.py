# cython: infer_types=True
"""Choose which features are columns of dense numbers, and standardise them.

`columns.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping
from math import sqrt
from typing import Any, Final

from perceptron_core.linear import restored
from perceptron_core.validation import MAX_MAGNITUDE
from perceptron_core.weights.buffers import doubles

_CANDIDATES: Final = 1024
_FEWEST_SEEN: Final = 16
"""Events that must have a later feature before it may become a column."""
_WIDEST: Final = 32.0
"""Standard deviations from the mean at which a value is clipped."""
_NEAR: Final = 5.0
"""Standard deviations beyond which a value is clipped before it updates mean and variance, unless one value
dominates the column."""
_RUN: Final = 3
"""Consecutive values beyond `_NEAR` after which the next is not clipped, as the scale has changed."""
_EARLY: Final = 16
"""Number of a column's first values that are stored; then outliers among them are replaced by the median."""
_FAR: Final = 32.0
"""Interquartile ranges from the median beyond which one of the first values is an outlier."""
_TRIAL: Final = 4
"""Events after which a column is dropped if most events lack it."""
_COUNT: Final = restored.between(1.0, 2.0**53)
"""Bounds of loaded state: events with a column, the mean of its values, their squared deviations."""
_MEAN: Final = restored.between(-2.0 * MAX_MAGNITUDE, 2.0 * MAX_MAGNITUDE)
_VALUE: Final = restored.between(-MAX_MAGNITUDE, MAX_MAGNITUDE)
_REPEATED: Final = restored.between(0.0, 2.0**53)
_SQUARE: Final = restored.between(0.0, 1e220)


class Columns:
    """The features that are numbers in most events, each standardised by its mean and variance so far.

    The first event's numbers are columns, unless all are 1. A number that first occurs later becomes a column
    when half of the events since then have it and it was not always 1. A column is dropped when three of four
    events lack it. Numbers that are either 1 or absent are indicators, and not columns.

    Parameters
    ----------
    limit
        Largest number of columns.

    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.n = 0
        """Upper bound of the column numbers in use."""
        self.n_present = 0
        """Columns of the present event."""
        self._next = 0
        """The column that usually comes next, which is then found without a lookup."""
        self.version = 0
        """Number of columns added or dropped."""
        self.n_events = 0
        self.names: list[Hashable | None] = []
        self.numbers: dict[Hashable, int] = {}
        self.candidates: dict[Hashable, tuple[int, int]] = {}
        """(number of the first event, events that had it)"""
        self._waiting: list[tuple[Hashable, float]] = []
        self.z = doubles(limit)
        self.values = doubles(limit)
        self._counts = doubles(limit)
        self._means = doubles(limit)
        self._squares = doubles(limit)
        self._next_means = doubles(limit)
        """Statistics that include the present event, as the next arrays do."""
        self._next_squares = doubles(limit)
        self._first = array("q", bytes(8 * limit))
        self._early = doubles(limit * _EARLY)
        self._sorted = doubles(_EARLY)
        self._n_early, self._n_far = bytearray(limit), bytearray(limit)
        """Stored values of each column; number of consecutive values beyond `_NEAR`, at most `_RUN`."""
        self._last, self._n_repeated = doubles(limit), doubles(limit)
        """The last value of each column, and the number of values equal to their predecessor."""
        self.present = bytearray(limit)

    def clear(self) -> None:
        """Begin an event."""
        for number in range(self.n):
            self.present[number] = 0
        self._next = self.n_present = 0
        if self._waiting:
            self._waiting = []

    def observe(self, name: Hashable, value: float) -> bool:
        """Take a number of the event if the feature is a column; return whether it is."""
        number = self._next
        if number >= self.n or self.names[number] is not name:
            number = self.numbers.get(name, -1) if self.numbers else -1
        if number >= 0:
            self._next = number + 1
            self.n_present += not self.present[number]
            self.present[number] = 1
            self.values[number] = value
            return True
        if self.n_events == 0:
            self._waiting.append((name, value))
            return True
        if value != 1 or (self.candidates and name in self.candidates):
            self._waiting.append((name, value))
        return False

    def remove_ones(self) -> list[Hashable]:
        """Remove and return the numbers of the first event if all are 1: then they are indicators."""
        if self.n_events or any(value != 1 for _, value in self._waiting):
            return []
        names = []
        for name, _ in self._waiting:
            names.append(name)
        self._waiting = []
        return names

    def in_event(self) -> bool:
        """Whether the event has enough of the columns."""
        return self.n_present > 0 and 4 * self.n_present >= len(self.numbers)

    @property
    def begin_after_event(self) -> bool:
        """Whether the present event is the first, whose numbers are columns from the next event on."""
        return self.n_events == 0 and len(self._waiting) > 0

    def standardise(self) -> None:
        """Standardise each column of the event by its mean and variance, this event included."""
        for number in range(self.n):
            self.z[number] = 0.0
            if self.present[number]:
                n = self._counts[number] + 1.0
                value = self._winsorised(number, self._limit_of(number))
                delta = value - self._means[number]
                mean = self._means[number] + delta / n
                square = self._squares[number] + delta * (value - mean)
                deviation = sqrt(square / n) if square > 0 else 0.0
                if deviation > 0:  # near the smallest double, square / n may be 0
                    self.z[number] = (self._winsorised(number, _WIDEST) - mean) / deviation
                self._next_means[number], self._next_squares[number] = mean, square

    def _limit_of(self, number: int) -> float:
        """Return at how many standard deviations a column's values are clipped for mean and variance."""
        n = self._counts[number]
        is_known = n >= _EARLY and self._n_far[number] < _RUN and 2 * self._n_repeated[number] < n
        return _NEAR if is_known else _WIDEST

    def _winsorised(self, number: int, limit: float) -> float:
        """Return the value of a column, clipped to `limit` standard deviations from the last mean.

        Otherwise a single value of 1e100 would make all other values equal. A permanent change of scale is
        still followed, because the deviation grows with every such value. With a limit of 5, a value of one
        in 25 events, such as −999 for a missing number, does not make the deviation grow without bound: the
        square of the limit times its share is less than 1.
        """
        value = self.values[number]
        if self._squares[number] > 0:
            bound = limit * sqrt(self._squares[number] / self._counts[number])
            value = max(self._means[number] - bound, min(value, self._means[number] + bound))
        return value

    def _store_early(self, number: int) -> None:
        """Store the value of a column if it is one of the first."""
        n = self._n_early[number]
        if n == self._counts[number] and n < _EARLY:
            self._early[number * _EARLY + n] = self.values[number]
            self._n_early[number] = n + 1

    def _replace_outliers(self, number: int) -> None:
        """Replace outliers among the first values of a column by their median."""
        first = number * _EARLY
        for k in range(_EARLY):
            j = k
            while j > 0 and self._sorted[j - 1] > self._early[first + k]:
                self._sorted[j] = self._sorted[j - 1]
                j -= 1
            self._sorted[j] = self._early[first + k]
        median = self._sorted[_EARLY // 2]
        bound = _FAR * (self._sorted[3 * _EARLY // 4 - 1] - self._sorted[_EARLY // 4])
        mean = square = 0.0
        n_far = 0
        for k in range(_EARLY):
            value = self._early[first + k]
            if abs(value - median) > bound:
                value = median
                n_far += 1
            delta = value - mean
            mean += delta / (k + 1)
            square += delta * (value - mean)
        if n_far > 0 and bound > 0:
            self._means[number], self._squares[number] = mean, square

    def commit(self) -> None:
        """Learn the present event: means, variances, and which features are columns."""
        self.n_events += 1
        for number in range(self.n):
            if self.present[number]:
                self._learn(number)
            elif self.names[number] is not None:
                age = self.n_events - self._first[number] + 1
                if age >= _TRIAL and 4 * self._counts[number] < age:
                    self._drop_column(number)
        room = _CANDIDATES - len(self.candidates)
        if len(self._waiting) > room:
            self._drop_rare_candidates()
        for name, value in self._waiting:
            self._count_candidate(name, value)

    def _learn(self, number: int) -> None:
        """Count the value of a column."""
        is_far = self._winsorised(number, _NEAR) != self.values[number]
        self._n_far[number] = min(self._n_far[number] + 1, _RUN) if is_far else 0
        self._n_repeated[number] += self.values[number] == self._last[number]
        self._last[number] = self.values[number]
        self._store_early(number)
        self._counts[number] += 1.0
        self._means[number], self._squares[number] = self._next_means[number], self._next_squares[number]
        if self._counts[number] == _EARLY == self._n_early[number]:
            self._replace_outliers(number)

    def _count_candidate(self, name: Hashable, value: float) -> None:
        """Count an event of a feature that is not a column; make it a column if enough events have it."""
        first, seen = self.candidates.get(name, (self.n_events, 0))
        seen += 1
        age = self.n_events - first + 1
        enough = self.n_events == 1 or (seen >= _FEWEST_SEEN and 2 * seen >= age)
        if enough and len(self.numbers) < self.limit:
            self.candidates.pop(name, None)
            self._add_column(name, value)
        elif seen > 1 or len(self.candidates) < _CANDIDATES:
            self.candidates[name] = (first, seen)

    def _drop_rare_candidates(self) -> None:
        """Drop the candidates that most events since lack."""
        for name, (first, seen) in [*self.candidates.items()]:
            if 2 * seen < self.n_events - first + 1:
                del self.candidates[name]

    def _add_column(self, name: Hashable, value: float) -> None:
        number = self.n
        if None in self.names:
            number = self.names.index(None)
            self.names[number] = name
        else:
            self.names.append(name)
            self.n += 1
        self.numbers[name] = number
        self._counts[number], self._means[number], self._squares[number] = 1.0, value, 0.0
        self._early[number * _EARLY], self._n_early[number], self._n_far[number] = value, 1, 0
        self._last[number], self._n_repeated[number] = value, 0.0
        self.present[number] = 0
        self._first[number] = self.n_events
        self.version += 1

    def _drop_column(self, number: int) -> None:
        del self.numbers[self.names[number]]
        self.names[number] = None
        self.version += 1

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        n = self.n
        return {
            "n_events": self.n_events,
            "names": [*self.names],
            "counts": memoryview(self._counts)[:n].tolist(),
            "means": memoryview(self._means)[:n].tolist(),
            "squares": memoryview(self._squares)[:n].tolist(),
            "first": memoryview(self._first)[:n].tolist(),
            "early": [
                memoryview(self._early)[number * _EARLY :][: self._n_early[number]].tolist()
                if self._counts[number] < _EARLY
                else []
                for number in range(n)
            ],
            "far": memoryview(self._n_far)[:n].tolist(),
            "last": memoryview(self._last)[:n].tolist(),
            "repeated": memoryview(self._n_repeated)[:n].tolist(),
            "candidates": list(self.candidates.items()),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        self.__init__(self.limit)  # type: ignore[misc]
        self.n_events = restored.count(state["n_events"])
        names: list[Hashable | None] = [None if name is None else _name(name) for name in state["names"]]
        numbers: dict[Hashable, int] = {name: number for number, name in enumerate(names) if name is not None}
        n = len(names)
        if n > self.limit or len(numbers) + names.count(None) < n:
            raise ValueError(f"{n} columns, at most {self.limit}, are {names!r:.200}")
        counts = restored.several(state["counts"], _COUNT, n)
        means = restored.several(state["means"], _MEAN, n)
        squares = restored.several(state["squares"], _SQUARE, n)
        first = restored.several(state["first"], restored.count, n)
        early = restored.several(state["early"], _few_values, n)
        last = restored.several(state["last"], _VALUE, n)
        repeated = restored.several(state["repeated"], _REPEATED, n)
        far = restored.several(state["far"], restored.whole(_RUN), n)
        self.names, self.numbers, self.n = names, numbers, n
        for number in range(n):
            self._counts[number], self._means[number] = counts[number], means[number]
            self._squares[number], self._first[number] = squares[number], first[number]
            self._last[number], self._n_repeated[number] = last[number], repeated[number]
            self._n_far[number] = far[number]
            for value in early[number]:
                self._early[number * _EARLY + self._n_early[number]] = value
                self._n_early[number] += 1
        self.candidates = {
            _name(name): (restored.count(since), restored.count(seen))
            for name, (since, seen) in state["candidates"]
        }
        self.version = 1


def _name(value: Any) -> str:
    """Return a feature's name. Raises `ValueError` if it is not a name."""
    if type(value) is not str:
        raise ValueError(f"a feature is named {value!r:.100}")
    return value


def _few_values(values: Any) -> list[float]:
    """Return the first values of a column. Raises `ValueError` if they are invalid."""
    if len(values) >= _EARLY:
        raise ValueError(f"early values of a column are {values!r:.200}")
    return restored.several(values, _VALUE, len(values))
