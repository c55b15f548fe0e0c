"""Nonlinear features of dense numbers, for linear learners.

`dense_maps.pxd` gives this module its C types.
"""

from __future__ import annotations

from itertools import combinations
from math import pi, sqrt
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.auto.columns import Columns
from perceptron_core.auto.plan import N_CELLS, N_FOURIER, N_HATS
from perceptron_core.elementary import asinh, cosine, log, write_cosines
from perceptron_core.linear import restored
from perceptron_core.trees.trees import mixed
from perceptron_core.weights.buffers import doubles, integers
from perceptron_core.weights.example import Example

_MAX_PAIRS: Final = 120
_SQRT2: Final = sqrt(2.0)
_TWO_PI: Final = 2.0 * pi
_CLIP: Final = 4.0
"""Largest |z| in Fourier features."""


class FourierMap:
    """Random Fourier features √2·cos(W·z + b); their sums approximate any smooth function of z.

    For d columns, W is drawn from N(0, 2·width²/d) and b from 0 to 2π, both determined by the key and the
    hashes of the columns' names.

    References
    ----------
    Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. Advances in Neural
    Information Processing Systems 20.

    """

    def __init__(self, key: int, width: float, limit: int) -> None:
        self._key = key
        self.width = width
        self._scale = 1.0
        self._frequencies = doubles(limit * N_FOURIER)
        self._drawn: dict[int, int] = {}
        """The hash for which the frequencies of each column number were drawn."""
        self._phases = doubles(N_FOURIER)
        for k in range(N_FOURIER):
            self._phases[k] = _TWO_PI * _uniform(key, k)
        self._sums = doubles(N_FOURIER)
        self.x = Example(N_FOURIER)
        self.x.version = 0
        for k in range(N_FOURIER):
            self.x.slots[k] = k

    def arrange(self, hashes: dict[int, int]) -> None:
        """Adapt to the present set of columns: the hash of each column's name."""
        for number, name in hashes.items():
            if self._drawn.get(number) != name:
                self._draw(number, mixed(self._key << 32 ^ name))
                self._drawn[number] = name
        self._scale = self.width * sqrt(2.0 / max(len(hashes), 1))

    def _draw(self, number: int, key: int) -> None:
        for k in range(N_FOURIER):
            radius = sqrt(-2.0 * log(_uniform(key, 2 * k)))
            self._frequencies[number * N_FOURIER + k] = radius * cosine(_TWO_PI * _uniform(key, 2 * k + 1))

    def compute(self, columns: Columns) -> None:
        """Compute `x` of the event."""
        sums, frequencies = self._sums, self._frequencies
        for k in range(N_FOURIER):
            sums[k] = self._phases[k]
        for number in range(columns.n):
            if columns.present[number] and columns.z[number] != 0:
                factor = max(-_CLIP, min(columns.z[number], _CLIP)) * self._scale
                memory.add_row(sums, frequencies, number * N_FOURIER, factor, N_FOURIER)
        write_cosines(sums, self.x.values, N_FOURIER, _SQRT2)
        self.x.n = N_FOURIER


class DenseMaps:
    """Computes examples from the standardised columns z of an event, with u = z/(1 + |z|).

    Attributes
    ----------
    linear : Example
        z.
    binned : Example
        asinh z, and for each column 16 hat functions of u, of which two are not 0.
    paired : Example
        The entries of `binned`, and for each of at most 120 pairs of columns one cell of an 8 × 8 grid of u.
    fourier, wide : FourierMap
        Random Fourier features; `wide` has four times the bandwidth.

    """

    def __init__(self, seed: int, limit: int) -> None:
        self.limit = limit
        self.seed = seed
        self.linear, self.binned = _example(limit), _example(3 * limit)
        self.paired = _example(3 * limit + _MAX_PAIRS)
        self._key = mixed(seed & 0xFFFFFFFFFFFFFFFF)
        self.fourier = FourierMap(self._key, 1.0, limit)
        self.wide = FourierMap(self._key ^ 1, 0.25, limit)
        self.pairs: list[tuple[int, int]] = []
        """Pairs of columns in use."""
        self.blocks: dict[tuple[int, int], int] = {}
        """Block of slots of each pair, which never changes."""
        self._pair_columns = integers(2 * _MAX_PAIRS)
        self._bases = integers(_MAX_PAIRS)
        self._n_pairs = 0
        self._cells = integers(limit)

    def arrange(self, hashes: dict[int, int]) -> None:
        """Adapt to the present set of columns: the hash of each column's name."""
        self.fourier.arrange(hashes)
        self.wide.arrange(hashes)
        pairs = [*combinations(sorted(hashes), 2)]
        if len(pairs) > _MAX_PAIRS:
            ranks = {(i, j): mixed(self._key << 32 ^ hashes[i] + hashes[j]) for i, j in pairs}
            pairs = sorted(pairs, key=ranks.__getitem__)[:_MAX_PAIRS]
        self.pairs = sorted(pairs)
        self._n_pairs = len(pairs)
        for k, pair in enumerate(self.pairs):
            block = self.blocks.setdefault(pair, len(self.blocks))
            self._pair_columns[2 * k], self._pair_columns[2 * k + 1] = pair
            self._bases[k] = self.n_binned + block * N_CELLS * N_CELLS

    @property
    def n_binned(self) -> int:
        """Slots of `binned`."""
        return self.limit * (1 + N_HATS)

    @property
    def n_paired(self) -> int:
        """Slots of `paired`."""
        return self.n_binned + len(self.blocks) * N_CELLS * N_CELLS

    def compute(self, columns: Columns) -> None:
        """Compute the examples of the event."""
        n = at = 0
        for number in range(columns.n):
            if columns.present[number]:
                z = columns.z[number]
                a = asinh(z)
                u = z / (1.0 + abs(z))
                self.linear.slots[n] = number
                self.linear.values[n] = z
                n += 1
                position = (u + 1.0) * (0.5 * (N_HATS - 1))
                hat = min(int(position), N_HATS - 2)
                share = position - hat
                self.binned.slots[at] = self.paired.slots[at] = number
                self.binned.values[at] = self.paired.values[at] = a
                hat += self.limit + number * N_HATS
                self.binned.slots[at + 1] = self.paired.slots[at + 1] = hat
                self.binned.values[at + 1] = self.paired.values[at + 1] = 1.0 - share
                self.binned.slots[at + 2] = self.paired.slots[at + 2] = hat + 1
                self.binned.values[at + 2] = self.paired.values[at + 2] = share
                at += 3
                self._cells[number] = min(int((u + 1.0) * (0.5 * N_CELLS)), N_CELLS - 1)
        self.linear.n = n
        self.binned.n = at
        self._append_pairs(columns, at)
        self.fourier.compute(columns)
        self.wide.compute(columns)

    def clear(self) -> None:
        """Clear the examples, for an event without numbers."""
        self.linear.n = self.binned.n = self.paired.n = 0
        self.fourier.x.n = self.wide.x.n = 0

    def _append_pairs(self, columns: Columns, at: int) -> None:
        """Append the cells of the pairs to `paired`."""
        for k in range(self._n_pairs):
            i, j = self._pair_columns[2 * k], self._pair_columns[2 * k + 1]
            if columns.present[i] and columns.present[j]:
                self.paired.slots[at] = self._bases[k] + self._cells[i] * N_CELLS + self._cells[j]
                self.paired.values[at] = 1.0
                at += 1
        self.paired.n = at

    def get_state(self) -> list[Any]:
        """Return the pairs with blocks, in order."""
        return [*self.blocks]

    def set_state(self, state: Any, hashes: dict[int, int]) -> None:
        """Set a state from `get_state`, and arrange columns. Raises `ValueError` if the state is invalid."""
        blocks = {(restored.count(i), restored.count(j)): block for block, (i, j) in enumerate(state)}
        if len(blocks) < len(state) or not all(i < j < self.limit for i, j in blocks):
            raise ValueError(f"expected different pairs of {self.limit} columns, got {state!r:.200}")
        self.blocks = blocks
        self.arrange(hashes)


def _uniform(key: int, number: int) -> float:
    """Return the draw of this number, above 0 and below 1."""
    return (mixed(key << 32 | number) + 0.5) / 4294967296.0


def _example(capacity: int) -> Example:
    made = Example(capacity)
    made.version = 0
    return made
