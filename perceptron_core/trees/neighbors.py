# cython: infer_types=True
"""The last labelled events, and the log-odds of each class from the nearest neighbours among them.

`neighbors.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import inf, sqrt
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.elementary import log
from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import ClassVote
from perceptron_core.mixing.mixture import CLIP
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import doubles, integers
from perceptron_core.weights.example import Example

SIZE: Final = 1000
"""Number of events in the window."""
N_NEAREST: Final = 10
_BLOCK: Final = 32
"""Number of events whose distances are computed at once."""
_CLIP: Final = 4.0
"""Largest absolute standardised number."""
_FORGETTING: Final = 0.998
"""Factor by which the shares of the classes are discounted at each event."""
_WIDEST: Final = 64.0
"""Largest value in a loaded state: numbers, and codes of categories."""
_COUNT: Final = restored.between(0.0, 1e60)
"""Largest count in a loaded state. Weights are at most 1e25."""


class Window:
    """A ring buffer of 1,000 events and their classes, and the vote of `NearestNeighbors` over them.

    Events are standardised numbers and codes of categories. Numbers and distances are 32-bit floats stored by
    column, for SIMD; sums add the columns in the order of the hashes of their names, so they do not depend on
    the machine or the order of occurrence.

    Parameters
    ----------
    n_numbers, n_bins
        Number of bins that are numbers, and of all bins.

    Attributes
    ----------
    x : Example
        Log-odds by class, clipped to ±`CLIP`.
    n_events : int
        Number of events learned.

    """

    def __init__(self, n_numbers: int, n_bins: int) -> None:
        self.n_numbers, self.n_bins = n_numbers, n_bins
        self.x = Example()
        self.n_classes = 0
        self.n_events = 0
        self._names: dict[int, int] = {}
        """Hash of the name of each bin in use."""
        self._places: dict[int, int] = {}
        """Start of the values in `_rows` of each bin that was ever in use."""
        self._bins: list[int] = []
        self._used, self._starts, self._event = integers(0), integers(0), array("f")
        """Bins in use in the order of the hashes; their places, complemented for categories; the event."""
        self._rows = array("f")
        self._labels, self._weights = integers(0), doubles(0)
        self._shares, self._scores = doubles(0), doubles(0)
        self._distances = array("f", bytes(4 * _BLOCK))
        self._nearest, self._squares = integers(N_NEAREST), doubles(N_NEAREST)
        self._n_nearest = 0

    def arrange(self, bins: list[int], names: list[int]) -> None:
        """Set the bins in use, and the hashes of their names; a bin with a new name has the values 0."""
        before, self._names = self._names, dict(zip(bins, names, strict=True))
        for number in bins:
            if number not in self._places:
                self._places[number] = SIZE * len(self._places)
        n_bytes = 4 * (SIZE * len(self._places) - len(self._rows))
        self._rows = array("f", memoryview(self._rows).tobytes() + bytes(n_bytes))
        for number in bins:
            start = self._places[number]
            for k in range(start, start + SIZE if before.get(number) != self._names[number] else start):
                self._rows[k] = 0.0
        self._bins, self._used = bins, array("i", sorted(bins, key=self._names.__getitem__))
        starts = [self._places[k] if k < self.n_numbers else ~self._places[k] for k in self._used]
        self._starts, self._event = array("i", starts), array("f", bytes(4 * len(bins)))

    def set_event(self, z: array[float], present: bytearray, codes: bytearray) -> None:
        """Set the present event: its numbers, which of them it has, and the codes of its categories."""
        for k in range(len(self._used)):
            number = self._used[k]
            if number >= self.n_numbers:
                self._event[k] = codes[number]
            else:
                self._event[k] = max(-_CLIP, min(z[number], _CLIP)) if present[number] else 0.0

    def score(self) -> None:
        """Compute the log-odds of each class for the present event."""
        self._choose(min(self.n_events, SIZE))
        self._vote()

    def _choose(self, n: int) -> None:
        """Choose the nearest of n events, the nearest first; of equally near ones, the most recent."""
        sums, found, limit, newer = self._distances, 0, inf, self.n_events % SIZE
        for is_older in range(2):  # events before the write position, then those after it
            first, end = newer if is_older else 0, n if is_older else newer
            while end > first:
                start, k = max(end - _BLOCK, 0), end
                end = max(start, first)
                if not memory.measure_32(sums, self._rows, start, self._starts, self._event, limit):
                    continue
                while k > end:
                    k -= 1
                    if sums[k - start] >= limit:
                        continue
                    found = min(found + 1, N_NEAREST)
                    j = found - 1
                    while j > 0 and self._squares[j - 1] > sums[k - start]:
                        self._squares[j] = self._squares[j - 1]
                        self._nearest[j] = self._nearest[j - 1]
                        j -= 1
                    self._squares[j], self._nearest[j] = sums[k - start], k
                    if found == N_NEAREST:
                        limit = self._squares[found - 1]
        self._n_nearest = found

    def _vote(self) -> None:
        """Compute the log-odds from the shares and the nearest events."""
        total = 0.0
        for k in range(self.n_classes):
            total += self._shares[k]
        for k in range(self.n_classes):
            self._scores[k] = self._shares[k] / total if total > 0 else 0.0
        farthest = self._squares[self._n_nearest - 1] if self._n_nearest else 0.0
        for j in range(self._n_nearest):
            distance = sqrt(self._squares[j] / farthest) if farthest > 0 else 0.0
            k = self._nearest[j]
            self._scores[self._labels[k]] += 2.0 * self._weights[k] * (1.0 - 0.9 * distance)
        total = 0.0
        for k in range(self.n_classes):
            total += self._scores[k]
        for k in range(self.n_classes):
            log_odds = -CLIP if total > 0 else 0.0
            if self._scores[k] > 0:
                rest = total - self._scores[k]
                log_odds = log(self._scores[k]) - log(rest) if rest > 0 else CLIP
            self.x.values[k] = max(-CLIP, min(log_odds, CLIP))

    def reserve(self, n_classes: int) -> None:
        """Allocate memory for learning with this number of classes."""
        if n_classes > len(self._shares) or not len(self._labels):
            stride = max(2, len(self._shares))
            while stride < n_classes:
                stride *= 2
            shares, scores = doubles(stride), doubles(stride)
            labels, weights = self._labels, self._weights
            if not len(labels):
                labels, weights = integers(SIZE), doubles(SIZE)
            while self.x.capacity < stride:
                self.x.double_capacity()
            for k in range(self.n_classes):
                shares[k] = self._shares[k]
            self._shares, self._scores, self._labels, self._weights = shares, scores, labels, weights
        self.n_classes = self.x.n = n_classes

    def learn(self, label: int, w: float) -> None:
        """Replace the oldest event by the present one, with its class and weight, without allocation."""
        at = self.n_events % SIZE
        for k in range(len(self._used)):
            start = self._starts[k]
            self._rows[at + (~start if start < 0 else start)] = self._event[k]
        self._labels[at], self._weights[at] = label, w
        for k in range(self.n_classes):
            self._shares[k] *= _FORGETTING
        self._shares[label] += w
        self.n_events += 1

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        n = min(self.n_events, SIZE)
        rows = array("f", bytes(4 * n * len(self._bins)))
        for j, number in enumerate(self._bins):
            for k in range(n):
                rows[j * n + k] = self._rows[self._places[number] + k]
        return {
            "n_events": self.n_events,
            "shares": memoryview(self._shares)[: self.n_classes].tolist(),
            "labels": buffers.packed("i", memoryview(self._labels)[:n]),
            "weights": buffers.packed("d", memoryview(self._weights)[:n]),
            "rows": buffers.packed("f", rows),
        }

    def set_state(
        self, state: Mapping[str, Any], bins: list[int], names: list[int], max_classes: int
    ) -> None:
        """Set a state from `get_state`, of these bins and at most `max_classes` classes.

        Raises `ValueError` if it is invalid.
        """
        self.__init__(self.n_numbers, self.n_bins)  # type: ignore[misc]
        self.arrange(bins, names)
        n_events, n_classes = restored.count(state["n_events"]), len(state["shares"])
        n = min(n_events, SIZE)
        shares = restored.several(state["shares"], _COUNT, n_classes)
        if n_classes > max_classes:
            raise ValueError(f"{n_classes} classes of {max_classes} have neighbours")
        labels = buffers.unpacked("i", state["labels"], n)
        weights = buffers.unpacked("d", state["weights"], n)
        rows = buffers.unpacked("f", state["rows"], n * len(bins))
        self.reserve(n_classes)
        for k in range(n_classes):
            self._shares[k] = shares[k]
        for k in range(n):
            if not 0 <= labels[k] < n_classes:
                raise ValueError(f"a neighbour is of class {labels[k]} of {n_classes}")
            self._labels[k], self._weights[k] = labels[k], _COUNT(weights[k])
            for j in range(len(bins)):
                if not -_WIDEST < rows[j * n + k] < _WIDEST:
                    raise ValueError(f"a neighbour's value is {rows[j * n + k]}")
                self._rows[self._places[bins[j]] + k] = rows[j * n + k]
        self.n_events = n_events


class NeighborVote(ClassVote):
    """Predicts the log-odds of one class from `Window`."""
