# cython: infer_types=True
"""Boosted trees on the last labelled events, refitted in the background of the stream.

`refitted.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import Any, Final

from perceptron_core.elementary import exp, log
from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import ClassVote
from perceptron_core.mixing.mixture import CLIP
from perceptron_core.trees import N_BINS
from perceptron_core.trees.boosting import MAX_SORTED, Grower, TreeNodes, number_of_trees
from perceptron_core.trees.trees import mixed
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import doubles, integers, lent
from perceptron_core.weights.example import Example

_MAX_KEPT: Final = 16_000
"""Largest number of events of a refit."""
_MAX_KEPT_WIDE: Final = 8000
"""Largest number of events of a refit with many columns or classes."""
_MAX_VALUES: Final = 500_000
"""Largest number of events times columns, or twice the classes, for more than 8,000 events."""
_CAPACITY: Final = 17_000
"""Number of rows in the ring buffer: the events of a refit stay until it is finished."""
_FIRST_REFIT: Final = 50
"""Number of events of the first refit."""
_GROWTH: Final = 0.3
_RARER_WITH: Final = 40_000
_MAX_NEW: Final = 4000
"""The next refit is due after n·(.3 + n/40,000) events, at most 4,000, if the last one had n."""
_MAX_CLASSES: Final = 60
"""Largest number of classes for which trees are grown."""
_CELLS_PER_EVENT: Final = 20_000
"""Number of values that are binned with an event, of one column at least."""
_WORK_PER_EVENT: Final = 500_000
"""Work on trees with an event, of one tree at least."""
_ONE: Final = 1
_MAX_NUMBER: Final = 3e38
"""Largest absolute number in a row, a 32-bit float."""
_MAX_WEIGHT: Final = 16.0
_MIN_UNIT: Final = 1e-30

_SHORT_RATE: Final = 0.02
_LONG_RATE: Final = 0.002
"""Rates of the two mean errors that are compared."""
_DRIFT_DEVIATIONS: Final = 5.0
_AFTER_DRIFT: Final = 20
"""Number of the last events that are kept after a drift."""
_MIN_LABELS_BETWEEN_DRIFTS: Final = 300
"""Smallest number of labels between two drifts."""
_MAX_LATENESS: Final = 1000
"""Largest number of labels between prediction and label for which a drift counts."""
_RATE_OF_COMPARISON: Final = 0.0005
"""Rate of the mean errors by which refits become rarer."""
_INFERIOR_ERROR_RATIO: Final = 2.0
_INFERIOR_ERROR_SLACK: Final = 0.005
"""Refits are rarer if the trees' error exceeds 2 times that of `auto` plus .005."""
_INFERIOR_DELAY: Final = 4
"""How many times as many events come before a refit then."""
_share = restored.between(0.0, 1.0)
_odds = restored.between(0.0, 1e150)
_unit = restored.between(_MIN_UNIT, _MAX_WEIGHT)


class RefittedTrees:
    """Boosted trees on at most the last 16,000 labelled events, refitted as these grow.

    Parameters
    ----------
    seed
        Seed of the columns that each tree may use.
    n_numbers, n_bins
        Number of bins that are numbers, and of all bins.

    Attributes
    ----------
    x : Example
        Log-odds by class, clipped to ±`CLIP`.
    row : array
        The present event by bin: numbers, −∞ for a missing one, and codes of categories, 0 for a missing one.

    """

    def __init__(self, seed: int, n_numbers: int, n_bins: int) -> None:
        self.seed, self.n_numbers, self.n_bins = seed, n_numbers, n_bins
        self._key = mixed(seed & 0xFFFFFFFFFFFFFFFF)
        self.x = Example()
        self.row = array("f", [-inf]) * n_numbers + array("f", [0.0]) * (n_bins - n_numbers)
        self._names: dict[int, int] = {}
        """Hash of the name of each bin in use."""
        self._used, self._n_used, self._max_kept = integers(n_bins), 0, _MAX_KEPT
        self._columns = array("f")
        """The values of the last events, bin by bin; then their classes and weights."""
        self.trees = self._next = TreeNodes(0, 1, n_numbers)
        self._n_events, self._first, self._due, self._age, self._n_counted = 0, 0, _FIRST_REFIT, 0, 0
        """Events learned, the first that is kept, where a refit begins; labels since the last drift, and
        those of them whose prediction counts."""
        self._start, self._end, self._step, self._n_trees, self._offset = 0, 0, -1, 0, 0
        """First event of the present refit, the event after its last, the steps made (−1: no refit)."""
        self._recent_error = self._long_error = self._own_error = self._auto_error = 0.0

    def arrange(self, bins: list[int], names: list[int]) -> None:
        """Set the bins in use, and the hashes of their names. A bin of another name is missing so far."""
        before, self._names = self._names, dict(zip(bins, names, strict=True))
        for number in before | self._names:
            if self._names.get(number) != before.get(number):
                self.row[number] = -inf if number < self.n_numbers else 0.0
                for at in range(min(self._n_events, _CAPACITY) if len(self._columns) else 0):
                    self._columns[number * _CAPACITY + at] = self.row[number]
                if number in before and self._step >= 0:
                    self._step, self._due = -1, self._n_events
        for k in range(len(bins)):
            self._used[k] = bins[k]
        self._n_used = len(bins)

    def set_event(self, values: array[float], present: bytearray, codes: bytearray) -> None:
        """Set the present event: its numbers, which of them it has, and the codes of its categories."""
        for k in range(self._n_used):
            number = self._used[k]
            if number >= self.n_numbers:
                self.row[number] = codes[number]
            elif present[number]:
                self.row[number] = max(-_MAX_NUMBER, min(values[number], _MAX_NUMBER))
            else:
                self.row[number] = -inf

    def score(self) -> None:
        """Compute the log-odds of each class for the present event; a class without trees has the least."""
        n, total = self.trees.n_outputs, 0.0
        self.trees.compute(self.x.values, self.row)
        for k in range(n if n > 1 else 0):
            self.x.values[k] = exp(self.x.values[k])
            total += self.x.values[k]
        for k in range(n):
            log_odds = self.x.values[k]
            if n > 1:
                log_odds = log(log_odds) - log(total - log_odds) if total > log_odds else CLIP
            self.x.values[k] = max(-CLIP, min(log_odds, CLIP))
        if n == 1:
            self.x.values[1], self.x.values[0] = self.x.values[0], -self.x.values[0]
        for k in range(max(n, 2), self.x.n):
            self.x.values[k] = -CLIP

    def reserve(self, n_classes: int) -> None:
        """Allocate memory for learning with this number of classes."""
        while self.x.capacity < max(n_classes, 2):
            self.x.double_capacity()
        if not len(self._columns):
            self._columns = lent("f", (self.n_bins + 2) * _CAPACITY)
        n_values = max(self._n_used, 2 * n_classes, 1)
        self._max_kept = max(_MAX_KEPT_WIDE, min(_MAX_VALUES // n_values, _MAX_KEPT))
        if self._step < 0 and self._n_events + 1 >= self._due:
            n = min(self._n_events + 1 - self._first, self._max_kept)
            self._reserve_refit(n, n_classes, [*self._names])
        self.x.n = n_classes

    def _reserve_refit(self, n: int, n_classes: int, bins: list[int]) -> None:
        """Allocate memory for a refit of n events with these bins."""
        self._n_trees = 0
        if n_classes <= _MAX_CLASSES and bins:
            n_outputs = n_classes if n_classes > 2 else 1  # noqa: PLR2004  two classes have one output
            n_trees = number_of_trees(n_outputs)
            order = sorted([(self._names[number], number) for number in bins])
            columns, names = [number for _, number in order], [name for name, _ in order]
            self._grower = Grower(n, columns, names, self.n_numbers, n_outputs)
            self._predictions, self._labels, self._weights = doubles(n * n_outputs), integers(n), doubles(n)
            self._next, self._n_trees = TreeNodes(n_trees, n_outputs, self.n_numbers), n_trees

    def learn(self, label: int, w: float, is_wrong: int, auto_is_wrong: bool) -> None:
        """Keep the present event, with its class and weight; continue a refit. Allocates nothing.

        `is_wrong` and `auto_is_wrong` say whether the trees and `auto` misclassified it. If `is_wrong` is
        negative, the present trees had not predicted it: it was predicted before them, or before a drift.
        """
        at, place = self._n_events % _CAPACITY, self.n_bins * _CAPACITY
        self._columns[place + at], self._columns[place + _CAPACITY + at] = label, min(w, _MAX_WEIGHT)
        for k in range(self._n_used):
            self._columns[self._used[k] * _CAPACITY + at] = self.row[self._used[k]]
        self._n_events += 1
        self._first = max(self._first, self._n_events - self._max_kept)
        if self._step >= 0:
            self._advance()
        elif self._n_events >= self._due and self._n_trees:
            self._start, self._end, self._step = self._first, self._n_events, 0
            self._offset = self._start % _CAPACITY
            grown = int(_GROWTH * self._grower.n) + self._grower.n * self._grower.n // _RARER_WITH
            is_inferior = self._own_error > _INFERIOR_ERROR_RATIO * self._auto_error + _INFERIOR_ERROR_SLACK
            self._due = self._end + max(1, min(grown, _MAX_NEW) * (_INFERIOR_DELAY if is_inferior else 1))
            self._begin()
        self._age += self.trees.n_trees > 0
        if not self.trees.n_trees or is_wrong < 0:
            return
        rate = max(_RATE_OF_COMPARISON, 1.0 / self._n_events)
        self._own_error += (is_wrong - self._own_error) * rate
        self._auto_error += (auto_is_wrong - self._auto_error) * rate
        if self._is_drift(is_wrong):
            self._first = max(self._first, self._n_events - _AFTER_DRIFT)
            self._due, self._step = self._n_events, -1

    def relabel(self, label: int, w: float) -> bool:
        """Set the class and weight of the last kept event that equals the present one, but for its class.

        Returns whether there is one. A refit continues with the new class.
        """
        place, event = self.n_bins * _CAPACITY, self._n_events - 1
        while event >= self._first:
            at = event % _CAPACITY
            if self._columns[place + at] != label and self._is_present(at):
                self._columns[place + at], self._columns[place + _CAPACITY + at] = label, min(w, _MAX_WEIGHT)
                if self._step >= 0 and self._start <= event < self._end:
                    self._read(event - self._start)
                return True
            event -= 1
        return False

    def _is_present(self, at: int) -> bool:
        """Return whether a row equals the present event."""
        for k in range(self._n_used):
            if self._columns[self._used[k] * _CAPACITY + at] != self.row[self._used[k]]:
                return False
        return True

    def has_drifted(self, n_labels: float) -> bool:
        """Return whether the trees began or a drift was found in the last `n_labels` labels, up to 1,000."""
        return self.trees.n_trees > 0 and self._age < n_labels <= _MAX_LATENESS

    def _is_drift(self, is_wrong: int) -> bool:
        """Count a prediction; return whether the recent error is significantly higher than before."""
        self._n_counted += 1
        self._recent_error += (is_wrong - self._recent_error) * max(_SHORT_RATE, 1.0 / self._n_counted)
        self._long_error += (is_wrong - self._long_error) * max(_LONG_RATE, 1.0 / self._n_counted)
        e = self._long_error
        bound = _DRIFT_DEVIATIONS * sqrt(max(e * (1.0 - e), 0.0) * 0.01 + 0.0001)
        if self._n_counted < _MIN_LABELS_BETWEEN_DRIFTS or self._recent_error - e <= bound:
            return False
        self._age, self._n_counted, self._recent_error, self._long_error = 0, 0, 0.0, 0.0
        return True

    def _value(self, place: int, event: int) -> float:
        """Return the value of a bin in an event of the present refit."""
        at = self._offset + event
        return self._columns[place * _CAPACITY + (at if at < _CAPACITY else at - _CAPACITY)]

    def _begin(self) -> None:
        """Begin a refit: with the log-odds of the classes."""
        n, n_outputs, bases = self._grower.n, self._next.n_outputs, self._next.bases
        self._grower.unit = _MIN_UNIT
        for event in range(n):
            self._read(event)
            label = self._labels[event]
            self._grower.unit = max(self._grower.unit, self._weights[event])
            bases[min(label, n_outputs - 1)] += label == 1 if n_outputs == 1 else 1
        for k in range(n_outputs):
            count = bases[k] + 1.0
            odds = count / (n + 2.0 - count if n_outputs == 1 else n + n_outputs)
            bases[k] = log(odds)
            for event in range(n):
                self._predictions[event * n_outputs + k] = odds

    def _read(self, event: int) -> None:
        """Read the class and the weight of an event of the present refit."""
        self._labels[event] = int(min(self._value(self.n_bins, event), 63.0))  # 63: a class added since
        self._weights[event] = self._value(self.n_bins + 1, event)

    def _advance(self) -> None:
        """Bin some columns or grow some trees; when all are grown, predict their mean with the former trees.

        The first trees after a drift have fewer than 50 events, and are not averaged with those before it.
        """
        n, width = self._grower.n, self._grower.width
        n_columns = max(1, _CELLS_PER_EVENT // n)
        first = self._step * n_columns
        if first < width:
            for column in range(first, min(first + n_columns, width)):
                self._bin(column)
        else:
            work = (n + max(500, 25 * width)) * (width + 9 + self._next.n_outputs)
            for _ in range(max(1, _WORK_PER_EVENT // work)):
                if self._next.n_trees < self._n_trees:
                    self._grow()
        self._step += 1
        if self._next.n_trees == self._n_trees:
            if n >= _FIRST_REFIT and self.trees.n_outputs == self._next.n_outputs and self.trees.n_trees:
                self._next.average(self.trees)
            self.trees, self._step = self._next, -1

    def _bin(self, column: int) -> None:
        """Find the bins of a column, and the bin of each event."""
        n, place, n_sorted = self._grower.n, self._grower.bins[column], 0
        stride = (n + MAX_SORTED - 1) // MAX_SORTED
        while n_sorted * stride < n:
            self._grower.values[n_sorted] = self._value(place, n_sorted * stride)
            n_sorted += 1
        self._grower.find_edges(column, n_sorted)
        for event in range(n):
            self._grower.code(column, event, self._value(place, event))

    def _grow(self) -> None:
        """Grow a tree.

        With three or more classes, a tree separates a random group of them from the others, and its nodes add
        to the logarithm of each class's probability (Schapire, R. E. (1997). Using output codes to boost
        multiclass learning problems. ICML).
        """
        trees, n, tree = self._next, self._next.n_outputs, self._next.n_trees
        seed = mixed(self._key ^ (self._end * _CAPACITY + tree))
        group = 2 * _ONE if n == 1 else (mixed(seed) >> 64 - n | _ONE << tree % n) & ~(_ONE << (tree + 1) % n)
        self._grower.set_gradients(self._predictions, self._labels, self._weights, group)
        self._grower.grow(trees, seed)
        self._grower.fit(trees, self._predictions, self._labels, self._weights)
        self._grower.update(trees, self._predictions)

    def contributions(self, number: int) -> dict[int, float]:
        """Return what each bin adds to the log-odds of a class, or to its logit, for the present event."""
        if self.trees.n_outputs == 1 or number >= self.trees.n_outputs:
            return self.trees.contributions(0, self.row) if number == 1 else {}
        return self.trees.contributions(number, self.row)

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        first = min(self._first, self._start) if self._step >= 0 else self._first
        n, places = self._n_events - first, [*self._names, self.n_bins, self.n_bins + 1]
        columns = array("f", bytes(4 * n * len(places)))
        for k, place in enumerate(places):
            for event in range(n):
                columns[k * n + event] = self._columns[place * _CAPACITY + (first + event) % _CAPACITY]
        state = {
            "counts": [self._n_events, self._first, self._due, self._age, self._n_counted, self.x.n],
            "errors": [self._recent_error, self._long_error, self._own_error, self._auto_error],
            "columns": buffers.packed("f", columns),
            "trees": [self.trees.n_outputs, self.trees.get_state()],
        }
        if self._step >= 0:
            bins = memoryview(self._grower.bins).tolist()
            counts = [self._start, self._end, self._step, self._next.n_outputs, self._grower.unit]
            state["refit"] = [counts, buffers.to_bytes("d", self._predictions), bins, self._next.get_state()]
        return state

    def set_state(
        self, state: Mapping[str, Any], bins: list[int], names: list[int], max_classes: int
    ) -> None:
        """Set a state from `get_state`, of these bins and at most `max_classes` classes.

        Raises `ValueError` if it is invalid.
        """
        self.__init__(self.seed, self.n_numbers, self.n_bins)  # type: ignore[misc]
        counts = restored.several(state["counts"], restored.count, 6)
        self._n_events, self._first, self._due, self._age, self._n_counted, n_classes = counts
        errors = restored.several(state["errors"], _share, 4)
        self._recent_error, self._long_error, self._own_error, self._auto_error = errors
        refit, first = state.get("refit"), self._first
        if refit:
            (*progress, unit), predicted, refitted, next_trees = refit
            self._start, self._end, step, outputs = restored.several(progress, restored.count, 4)
            first = min(self._first, self._start)
        n = self._n_events - first
        is_kept = self._n_events - _MAX_KEPT <= self._first <= self._n_events and n <= _CAPACITY
        if n_classes > max_classes or not is_kept:
            raise ValueError(f"{n} events of {n_classes} classes are kept")
        self.arrange(bins, names)
        self.reserve(n_classes)
        self._set_columns(buffers.unpacked("f", state["columns"], n * (len(bins) + 2)), first, n, n_classes)
        n_outputs, trees = state["trees"]
        self.trees = TreeNodes(2 * number_of_trees(self._outputs(n_outputs)), n_outputs, self.n_numbers)
        self.trees.set_state(trees, self.n_bins)
        if refit:
            self._resume(refitted, next_trees, min(step, _CAPACITY), self._outputs(outputs), predicted)
            self._grower.unit = _unit(unit)  # labels may have changed since the beginning

    def _outputs(self, n: int) -> int:
        """Check a number of outputs."""
        if n != 1 and not 2 < restored.whole(_MAX_CLASSES)(n) <= self.x.n:  # noqa: PLR2004  as above
            raise ValueError(f"boosted trees have {n!r:.50} outputs for {self.x.n} classes")
        return n

    def _set_columns(self, values: memoryview[float], first: int, n: int, n_classes: int) -> None:
        """Set the values of n events, bin by bin, then their classes and weights."""
        places = [*self._names, self.n_bins, self.n_bins + 1]
        for k in range(len(places)):
            place, least, most = places[k], 0.0, N_BINS - 1.0
            is_whole = self.n_numbers <= place <= self.n_bins
            if place >= self.n_bins:
                most = n_classes - 1.0 if is_whole else _MAX_WEIGHT
            elif not is_whole:
                least, most = -inf, 1.01 * _MAX_NUMBER
            for event in range(n):
                value = values[k * n + event]
                code = int(value) if 0.0 <= value <= most and is_whole else 0
                if not least <= value <= most or (is_whole and value != code):
                    raise ValueError(f"a value of bin {place} is {value}")
                self._columns[place * _CAPACITY + (first + event) % _CAPACITY] = value

    def _resume(
        self, bins: Sequence[int], state: Mapping[str, Any], step: int, n_outputs: int, predicted: bytes
    ) -> None:
        """Continue a refit after these steps."""
        n = self._end - self._start
        is_known = 0 < len({*bins}) == len(bins) and self._names.keys() >= {*bins}
        if not (0 < n <= _MAX_KEPT and self._end <= self._n_events and is_known):
            raise ValueError(f"a refit has {n} events with the bins {bins!r:.200}")
        self._offset = self._start % _CAPACITY
        self._reserve_refit(n, 2 if n_outputs == 1 else n_outputs, [*bins])
        self._begin()
        self._next.set_state(state, self.n_bins)
        for column in range(min(step * max(1, _CELLS_PER_EVENT // n), self._grower.width)):
            self._bin(column)
        self._step = step
        predictions = buffers.from_bytes("d", predicted).tolist()
        for k, prediction in enumerate(restored.several(predictions, _odds, n * n_outputs)):
            self._predictions[k] = prediction


class RefittedVote(ClassVote):
    """Predicts the log-odds of one class from `RefittedTrees`."""
