"""The counts in the leaves of trees, and the search for splits.

`leaves.pxd` gives this module its C types.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Mapping
from math import sqrt
from typing import Any, Final

from perceptron_core.elementary import log
from perceptron_core.linear import restored
from perceptron_core.trees import N_BINS, PART_BITS
from perceptron_core.weights import buffers
from perceptron_core.weights.buffers import doubles, integers, lent

MAX_CELLS: Final = 1 << 22
"""Largest number of cells of all leaves, with two bytes each."""
_FIRST_BLOCKS: Final = 64
_MIN_BLOCKS: Final = 32
"""Number of leaves that always have room; with very many classes, trees have fewer features."""
_CHECKED_EVERY: Final = 100
"""Weight between two searches for a split."""
_FULL: Final = 1 << 14
"""Total weight at which a leaf halves its counts."""
_MAX_COUNT: Final = 2 * _FULL
"""Largest count in a loaded state: counts are halved before a cell exceeds two bytes."""
_CONFIDENCE: Final = 2.995732273553991
"""ln(1/δ), δ = .05."""
_TIE: Final = 0.05
"""Value of ε below which two splits count as equally good."""
_NEEDED: Final = 0.8
"""Share of the weight at which ε would equal the present difference of gains. With several classes, the next
search is then, but not later than at twice the present weight."""
_MIN_GAIN: Final = 0.002
_LOG_2: Final = 0.6931471805599453
_TABLED: Final = 4096
_MAX_ORDERS: Final = 8
"""Number of classes by whose share the values of a category are sorted."""

_LOGS = doubles(_TABLED)
for _n in range(2, _TABLED):
    _LOGS[_n] = _n * log(float(_n))


_few = restored.whole(_MAX_COUNT)


def n_log_n(n: int) -> float:
    """Compute n·ln n; 0 of 0."""
    return _LOGS[n] if n < _TABLED else n * log(float(n))


def max_features(n_classes: int) -> int:
    """Return the largest number of features of a block with `n_classes` classes."""
    return MAX_CELLS // (_MIN_BLOCKS * N_BINS * n_classes)


class Leaves:
    """Blocks of counts, one for each leaf: the weights seen by feature, bin and class.

    Attributes
    ----------
    feature, mask, left
        The split found by `split`: the number of the tree's feature, the bins that go left, and the weight of
        each class that goes left.

    """

    def __init__(self, n_features: int = 0, n_classes: int = 0) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        """Capacity of a block in features and classes."""
        self.n_blocks = self.n_free = 0
        self.limit = MAX_CELLS // max(n_features * N_BINS * n_classes, 1)
        self.cells, self.totals = array("H"), integers(0)
        self.seen, self.checked = integers(0), integers(0)
        """Sum of weights of each block, now and at the last search."""
        self._free = integers(0)
        self.feature, self.mask, self.gain = -1, 0, 0.0
        self.left, self._left = integers(n_classes), integers(n_classes)
        self._order = integers(N_BINS)
        self._shares = doubles(N_BINS)
        self._second = self._whole = 0.0

    def has_room(self, n_features: int, n_classes: int) -> bool:
        """Return whether the blocks in use could have this number of features and classes."""
        n_used = max(self.n_blocks - self.n_free, _MIN_BLOCKS)
        return n_used * n_features * N_BINS * n_classes <= MAX_CELLS

    def resized(self, blocks: list[int], n_features: int, n_classes: int) -> Leaves:
        """Return copies of these blocks, in order, with room for this number of features and classes."""
        other = Leaves(n_features, n_classes)
        other.resize(len(blocks))
        other.n_free = 0
        for k in range(len(blocks)):
            b = blocks[k]
            other.seen[k], other.checked[k] = self.seen[b], self.checked[b]
            for c in range(self.n_classes):
                other.totals[k * n_classes + c] = self.totals[b * self.n_classes + c]
            for f in range(self.n_features * N_BINS):
                for c in range(self.n_classes):
                    other.cells[(k * n_features * N_BINS + f) * n_classes + c] = self.cells[
                        (b * self.n_features * N_BINS + f) * self.n_classes + c
                    ]
        return other

    def resize(self, n_blocks: int) -> None:
        """Make room for `n_blocks` blocks; new blocks are free."""
        size = self.n_features * N_BINS * self.n_classes
        cells, totals = lent("H", n_blocks * size), integers(n_blocks * self.n_classes)
        seen, checked, free = integers(n_blocks), integers(n_blocks), integers(n_blocks)
        for b in range(self.n_blocks):
            seen[b], checked[b] = self.seen[b], self.checked[b]
        for k in range(self.n_blocks * self.n_classes):
            totals[k] = self.totals[k]
        for k in range(self.n_blocks * size):
            cells[k] = self.cells[k]
        for k in range(self.n_free):
            free[k] = self._free[k]
        self.cells, self.totals, self.seen, self.checked, self._free = cells, totals, seen, checked, free
        for b in range(n_blocks - 1, self.n_blocks - 1, -1):  # so that the first is taken first
            self._free[self.n_free] = b
            self.n_free += 1
        self.n_blocks = n_blocks

    def reserve(self, n: int) -> None:
        """Allocate blocks until n are free, within the limit."""
        if self.n_free < n and self.n_blocks < self.limit:
            self.resize(min(self.n_blocks + max(_FIRST_BLOCKS, 3 * self.n_blocks), self.limit))

    @property
    def is_full(self) -> bool:
        """Return whether the number of leaves has reached the limit."""
        return self.n_free == 0 or self.n_blocks - self.n_free >= self.limit

    def take_block(self) -> int:
        """Return a free block with zero counts; there must be one."""
        self.n_free -= 1
        block = self._free[self.n_free]
        self.clear(block)
        return block

    def free_block(self, block: int) -> None:
        """Free a block."""
        self._free[self.n_free] = block
        self.n_free += 1

    def clear(self, block: int) -> None:
        """Set the counts of a block to 0."""
        start = block * self.n_features * N_BINS * self.n_classes
        for k in range(self.n_features * N_BINS * self.n_classes):
            self.cells[start + k] = 0
        for k in range(self.n_classes):
            self.totals[block * self.n_classes + k] = 0
        self.seen[block] = self.checked[block] = 0

    def restart(self, block: int, f: int, absent: int) -> None:
        """Count the past events of a block as events without a feature, in one bin."""
        start = (block * self.n_features + f) * N_BINS * self.n_classes
        for k in range(N_BINS * self.n_classes):
            self.cells[start + k] = 0
        for c in range(self.n_classes):
            self.cells[start + absent * self.n_classes + c] = self.totals[block * self.n_classes + c]

    def merge(self, block: int, f: int, k: int, other: int) -> None:
        """Count the events of one bin of a feature in another."""
        start = (block * self.n_features + f) * N_BINS * self.n_classes
        for c in range(self.n_classes):
            self.cells[start + other * self.n_classes + c] += self.cells[start + k * self.n_classes + c]
            self.cells[start + k * self.n_classes + c] = 0

    def add(
        self, b: int, features: array[int], first: int, n: int, places: array[int], shift: int, c: int, w: int
    ) -> None:
        """Count an event of class c and weight w in block b, by its positions in n features."""
        if self.seen[b] >= _FULL:
            self._halve(b)
        at = b * self.n_features * N_BINS * self.n_classes + c
        for f in range(n):
            code = (places[features[first + f]] + shift) >> PART_BITS
            self.cells[at + (f * N_BINS + code) * self.n_classes] += w
        self.totals[b * self.n_classes + c] += w
        self.seen[b] += w

    def _halve(self, block: int) -> None:
        size = self.n_features * N_BINS * self.n_classes
        start = block * size
        for k in range(size):
            self.cells[start + k] >>= 1
        for k in range(self.n_classes):
            self.totals[block * self.n_classes + k] >>= 1
        self.seen[block] >>= 1
        self.checked[block] >>= 1

    def is_due(self, block: int) -> bool:
        """Return whether a block has enough weight since the last search for a split."""
        return self.seen[block] - self.checked[block] >= max(_CHECKED_EVERY, self.checked[block] >> 3)

    def split(
        self, block: int, features: array[int], first: int, n_features: int, n_numbers: int, n_classes: int
    ) -> bool:
        """Search the best split of a block; return whether Hoeffding's bound accepts it.

        Features from `n_numbers` on are categories.
        """
        n = self.checked[block] = self.seen[block]
        self.gain, self._second, self._whole = 0.0, 0.0, n_log_n(n)
        self.feature = -1
        for c in range(self.n_classes):
            self._whole -= n_log_n(self.totals[block * self.n_classes + c])
        if self._whole <= 0:  # only one class
            return False
        for f in range(n_features):
            best = 0.0
            if features[first + f] < n_numbers:
                self._order_numbers()
                best = self._sweep(block, f, best)
            else:
                for c in range(1 if n_classes <= 2 else 0, min(n_classes, _MAX_ORDERS)):  # noqa: PLR2004
                    self._order_by_share(block, f, c)
                    best = self._sweep(block, f, best)
            self._second = max(self._second, best)
        bits = log(float(max(n_classes, 2))) / _LOG_2
        bound = bits * sqrt(_CONFIDENCE / (2.0 * max(n, 1)))
        self.gain /= _LOG_2 * max(n, 1)
        self._second /= _LOG_2 * max(n, 1)
        if self.gain > _MIN_GAIN and (self.gain - self._second > bound or bound < _TIE):
            return True
        if n_classes > 2:  # noqa: PLR2004  of two classes, searches are fast
            ratio = bound / max(self.gain - self._second, _TIE)
            due = min(_NEEDED * n * ratio * ratio, 2.0 * n, _FULL)
            self.checked[block] = max(n, int(due / 1.125))
        return False

    def _sweep(self, block: int, f: int, best: float) -> float:
        """Try all splits of a feature in the order of its bins; return its best gain, in nats·n.

        Notes the best split of all features, and the best gain of another feature.
        """
        n = self.seen[block]
        least = max(n // 100, 1)
        n_left, mask, one = 0, 0, 1
        for c in range(self.n_classes):
            self._left[c] = 0
        at = (block * self.n_features + f) * N_BINS * self.n_classes
        for k in range(N_BINS):
            n_bin = 0
            for c in range(self.n_classes):
                cell = self.cells[at + self._order[k] * self.n_classes + c]
                self._left[c] += cell
                n_bin += cell
            mask |= one << self._order[k]
            n_left += n_bin
            if n_bin == 0 or n_left < least:
                continue
            if n - n_left < least:
                break
            gain = self._gain_of(block, n_left, n - n_left)
            if gain > self.gain:
                if self.feature != f:
                    self._second = self.gain
                self.gain, self.feature, self.mask = gain, f, mask
                for c in range(self.n_classes):
                    self.left[c] = self._left[c]
            elif gain > best:
                best = gain
        return best if self.feature != f else 0.0

    def _gain_of(self, block: int, n_left: int, n_right: int) -> float:
        """Return the gain, in nats·n, if the weights `_left` go left."""
        parts = n_log_n(n_left) + n_log_n(n_right)
        for c in range(self.n_classes):
            parts -= n_log_n(self._left[c])
            parts -= n_log_n(max(self.totals[block * self.n_classes + c] - self._left[c], 0))
        return self._whole - parts

    def _order_numbers(self) -> None:
        """Sort the bins by number."""
        for k in range(N_BINS):
            self._order[k] = k

    def _order_by_share(self, block: int, f: int, label: int) -> None:
        """Sort the bins by the share of a class: the best binary split of two classes follows this order.

        Breiman, L., Friedman, J., Olshen, R. and Stone, C. (1984). Classification and regression trees,
        section 4.2.2.
        """
        at = (block * self.n_features + f) * N_BINS * self.n_classes
        for k in range(N_BINS):
            n = 0.0  # a double, as Cython would divide integers like C
            for c in range(self.n_classes):
                n += self.cells[at + k * self.n_classes + c]
            self._shares[k] = self.cells[at + k * self.n_classes + label] / n if n > 0 else 2.0
            j = k
            while j > 0 and self._shares[self._order[j - 1]] > self._shares[k]:
                self._order[j] = self._order[j - 1]
                j -= 1
            self._order[j] = k

    def get_state(self, blocks: list[int]) -> dict[str, Any]:
        """Return the counts of these blocks, in order, with the numbers of features and classes."""
        size = self.n_features * N_BINS * self.n_classes
        pieces: list[bytes] = []
        totals: list[int] = []
        for block in blocks:
            pieces.append(buffers.to_bytes("H", memoryview(self.cells)[block * size : (block + 1) * size]))
            totals += memoryview(self.totals)[block * self.n_classes : (block + 1) * self.n_classes].tolist()
        return {
            "shape": [self.n_features, self.n_classes],
            "cells": zlib.compress(b"".join(pieces), 1),
            "totals": totals,
            "seen": [self.seen[block] for block in blocks],
            "checked": [self.checked[block] for block in blocks],
        }

    def set_state(self, state: Mapping[str, Any], n_blocks: int, max_width: int) -> None:
        """Set a state from `get_state`, of `n_blocks` blocks with at most `max_width` features.

        Raises `ValueError` if it is invalid.
        """
        n_features, n_classes = restored.several(state["shape"], restored.whole(MAX_CELLS), 2)
        size = n_features * N_BINS * n_classes
        if n_features > max_width or n_blocks * size > MAX_CELLS:
            raise ValueError(f"{n_blocks} leaves of {n_features} features and {n_classes} classes")
        unpacked = zlib.decompressobj()
        data = unpacked.decompress(state["cells"], 2 * n_blocks * size + 1)
        cells = buffers.from_bytes("H", data)
        totals = restored.several(state["totals"], _few, n_blocks * n_classes)
        seen = restored.several(state["seen"], _few, n_blocks)
        checked = restored.several(state["checked"], _few, n_blocks)
        if len(cells) != n_blocks * size or max(cells, default=0) > _MAX_COUNT:
            raise ValueError(f"{len(cells)} cells of {n_blocks} leaves with {size} each")
        self.__init__(n_features, n_classes)  # type: ignore[misc]
        self.resize(n_blocks)
        self.n_free = 0
        memoryview(self.cells)[:] = cells
        for k in range(len(totals)):
            self.totals[k] = totals[k]
        for k in range(n_blocks):
            self.seen[k], self.checked[k] = seen[k], checked[k]
