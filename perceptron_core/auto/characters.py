"""Naive Bayes on the n-grams of characters of an event's texts: one computation for all classes.

`characters.pxd` gives this module its C types.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Mapping
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.elementary import exp, log
from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import ClassVote
from perceptron_core.mixing.mixture import CLIP
from perceptron_core.text.hasher import TextHasher
from perceptron_core.text.scripts import folded
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import doubles, integers, lent
from perceptron_core.weights.example import Example

MAX_BITS: Final = 16
"""With this many bits collisions cost almost nothing, and a table for two classes fits in the cache."""
_NGRAMS: Final = (1, 4)
_MAX_CHARACTERS: Final = 300
"""Number of a text's first characters that are used."""
_FIRST_CAPACITY: Final = 1 << 10
_SMOOTHING: Final = 0.05
"""Smoothing, which is added to each count."""
_FULL_GRAMS: Final = 30.0
"""Number of grams that count in full; together, more grams count as this many, since they overlap."""
_MAX_PRODUCT: Final = 1e200
"""A product of counts above this is replaced by its logarithm, as below `_MIN_PRODUCT`."""
_MIN_PRODUCT: Final = 1.0 / _MAX_PRODUCT
_COUNT: Final = restored.between(0.0, 1e60)
"""Largest count in a loaded state. Weights are at most 1e25, so no count reaches it."""


class Characters:
    """Counts the grams of each class, and computes the log-odds of each class for an event.

    `CharacterNaiveBayes` has the formula. `clear`, `add` and `score` set the present event, without changing
    the learned state. A gram counts once per text.

    Parameters
    ----------
    bits
        Indices of hashed grams are modulo 2**bits.
    shortest
        Length of the first text at which counting starts: events with only shorter strings have no texts.

    Attributes
    ----------
    x : Example
        Log-odds by class, clipped to ±`CLIP`.
    has_text : bool
        Whether the present event has a text.

    """

    def __init__(self, bits: int, shortest: int) -> None:
        self.bits = bits
        self.x = Example()
        self.has_text = False
        self.n_classes = 0
        self._n_known = 0
        self._shortest = shortest
        self._mask = (1 << bits) - 1
        self._stride = 0
        """Number of counts per gram in `_counts`, one for each class."""
        self._counts = doubles(0)
        self._events = doubles(0)
        """Events by class; the next arrays are by class, too."""
        self._totals = doubles(0)
        self._products = doubles(0)
        self._scores = doubles(0)
        self._marks = bytearray((1 << bits) // 8 + 1)
        """A bit for each gram: whether it is known. These bits stay in the nearest cache."""
        self._grams = integers(_FIRST_CAPACITY)
        """Grams of the present event."""
        self._n = 0
        self._known_rows = integers(_FIRST_CAPACITY)
        """Position of each known gram's counts."""
        self._n_known_rows = 0
        self._hasher = TextHasher(bits, analyzer="chars", ngrams=_NGRAMS, lowercase=False, prefix="")
        self._hasher_of_ascii = TextHasher(bits, analyzer="chars", ngrams=_NGRAMS, prefix="")
        """Characters whose case folding is the same as their lower case."""

    def clear(self) -> None:
        """Begin an event."""
        self._n = self._n_known_rows = 0
        self.has_text = False

    def add(self, text: str, tag: int) -> None:
        """Add a text, without lone surrogates, of the feature with this tag."""
        if not self._n_known and len(text) < self._shortest:
            return
        beginning = text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS]
        is_ascii = beginning.isascii()
        hasher = self._hasher_of_ascii if is_ascii else self._hasher
        hasher.clear()
        hasher.append(beginning if is_ascii else folded(beginning, True))  # noqa: FBT003  C has no keywords
        indices, end = hasher.indices, self._n + hasher.filled
        if end > len(self._grams):
            self._grams = _with(integers(2 * end), self._grams)
            self._known_rows = _with(integers(2 * end), self._known_rows)
        grams, rows, marks, m = self._grams, self._known_rows, self._marks, self._n_known_rows
        for k in range(hasher.filled):
            gram = (indices[k] ^ tag) & self._mask
            grams[self._n + k] = gram
            rows[m] = gram * self._stride
            m += marks[gram >> 3] >> (gram & 7) & 1
        memory.prefetch(self._counts, rows, self._n_known_rows, m)
        self._n, self._n_known_rows = end, m
        self.has_text = end > 0

    def score(self) -> None:
        """Compute the log-odds of each class for the present event."""
        self._sum_up()
        best = -1
        for k in range(self.n_classes):
            if self._events[k] > 0 and (best < 0 or self._scores[k] > self._scores[best]):
                best = k
        powers, others = self._products, 0.0
        for k in range(self.n_classes):
            powers[k] = exp(self._scores[k] - self._scores[best]) if self._events[k] > 0 else 0.0
            others += 0.0 if k == best else powers[k]
        for k in range(self.n_classes):
            log_odds = 0.0 if best < 0 else -CLIP
            if powers[k] > 0:
                rest = others if k == best else 1.0 + (others - powers[k])
                log_odds = log(powers[k]) - log(rest) if rest > 0 else CLIP
            self.x.values[k] = max(-CLIP, min(log_odds, CLIP))

    def _sum_up(self) -> None:
        """Compute `_scores` by logarithms of products: a logarithm takes the time of ten multiplications."""
        n, m, counts, products, scores = (
            self.n_classes,
            self._n_known_rows,
            self._counts,
            self._products,
            self._scores,
        )
        for k in range(n):
            products[k] = 1.0
            scores[k] = 0.0
        for at in range(m):
            first = self._known_rows[at]
            for k in range(n):
                product = products[k] * (counts[first + k] + _SMOOTHING)
                if not _MIN_PRODUCT < product < _MAX_PRODUCT:
                    scores[k] += log(product)
                    product = 1.0
                products[k] = product
        share = min(1.0, _FULL_GRAMS / m) if m else 0.0
        unseen = _SMOOTHING * (self._n_known + 1)
        for k in range(n):
            if self._events[k] > 0:
                likelihood = scores[k] + log(products[k]) - m * log(self._totals[k] + unseen)
                scores[k] = log(self._events[k]) + share * likelihood

    def _is_known(self, gram: int) -> bool:
        """Return whether a gram was counted."""
        return self._marks[gram >> 3] >> (gram & 7) & 1 > 0

    def _mark(self, gram: int) -> None:
        """Mark a gram as known."""
        self._n_known += not self._is_known(gram)
        self._marks[gram >> 3] |= 1 << (gram & 7)

    def reserve(self, n_classes: int) -> None:
        """Allocate memory for learning with this number of classes."""
        if n_classes > self._stride:
            stride = max(2, self._stride)
            while stride < n_classes:
                stride *= 2
            counts = lent("d", stride << self.bits)
            for gram in range(1 << self.bits if self._n_known else 0):
                for k in range(self.n_classes):
                    counts[gram * stride + k] = self._counts[gram * self._stride + k]
            events, totals = _with(doubles(stride), self._events), _with(doubles(stride), self._totals)
            products, scores = doubles(stride), doubles(stride)
            while self.x.capacity < stride:
                self.x.double_capacity()
            self._counts, self._events, self._totals = (counts, events, totals)  # no allocation after this
            self._products, self._scores, self._stride = products, scores, stride
        self.n_classes = self.x.n = n_classes

    def learn(self, number: int, w: float) -> None:
        """Learn the present event with its class and weight, without allocating memory."""
        grams, counts, marks, n_known = self._grams, self._counts, self._marks, self._n_known
        for at in range(self._n):
            gram = grams[at]
            marked, mark = marks[gram >> 3], 1 << (gram & 7)
            n_known += not marked & mark
            marks[gram >> 3] = marked | mark
            counts[gram * self._stride + number] += w
        self._n_known = n_known
        self._events[number] += w
        self._totals[number] += w * self._n

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        n, stride, known = self.n_classes, self._stride, 0
        grams, counts = integers(self._n_known), doubles(self._n_known * n)
        for gram in range(1 << self.bits if self._n_known else 0):
            if self._is_known(gram):
                grams[known] = gram
                for k in range(n):
                    counts[known * n + k] = self._counts[gram * stride + k]
                known += 1
        return {
            "grams": buffers.to_bytes("i", grams),
            "counts": zlib.compress(buffers.to_bytes("d", counts), 1),
            "events": memoryview(self._events)[:n].tolist(),
            "totals": memoryview(self._totals)[:n].tolist(),
        }

    def set_state(self, state: Mapping[str, Any], max_classes: int) -> None:
        """Set a state from `get_state`, of at most `max_classes` classes.

        Raises `ValueError` for anything else.
        """
        self.__init__(self.bits, self._shortest)  # type: ignore[misc]
        n = len(state["events"])
        events = restored.several(state["events"], _COUNT, n)
        totals = restored.several(state["totals"], _COUNT, n)
        grams = buffers.from_bytes("i", state["grams"])
        unpacked = zlib.decompressobj()
        counts = buffers.from_bytes("d", unpacked.decompress(state["counts"], 8 * len(grams) * n + 1))
        if n > max_classes or len(counts) != len(grams) * n:
            raise ValueError(f"{len(counts)} counts of {len(grams)} grams and {n} of {max_classes} classes")
        self.reserve(n)
        for k in range(n):
            self._events[k], self._totals[k] = events[k], totals[k]
        before = -1
        for at in range(len(grams)):
            if not before < grams[at] <= self._mask:
                raise ValueError(f"gram {grams[at]} of {self.bits} bits comes after {before}")
            before = grams[at]
            for k in range(n):
                self._counts[before * self._stride + k] = _COUNT(counts[at * n + k])
                if counts[at * n + k] > 0:
                    self._mark(before)
            if not self._is_known(before):
                raise ValueError(f"gram {before} has no class counts")


class CharacterVote(ClassVote):
    """Predicts the log-odds of one class from `Characters`."""


def _with(new: array[Any], old: array[Any]) -> array[Any]:
    """Copy the old array to the start of the new one; return the new one."""
    memoryview(new)[: len(old)] = memoryview(old)
    return new
