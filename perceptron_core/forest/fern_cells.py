"""Ferns, and an example of the cell of each that an event falls into.

`fern_cells.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Final

from perceptron_core.forest.draws import mixed
from perceptron_core.forest.sizes import FERN_DEPTH, N_BINS
from perceptron_core.weights.buffers import integers
from perceptron_core.weights.example import Example

_ALL: Final = 0xFFFFFFFFFFFFFFFF
"""Values of a bin, a bit for each."""
_MARGIN: Final = N_BINS // 8
"""No threshold is drawn below so many values of a number, nor above as many: u is from −.75 to .75."""
_FIRST_HALF, _SECOND_HALF = 0x5BD1E995, 0x1B873593
"""What the two halves of a mask are drawn by. As literals of more than 31 bits they would be objects."""


class FernCells:
    """Ferns of `FERN_DEPTH` tests each, which have nothing to learn: they follow from the seed and the names.

    A test asks of one feature whether its value is in a set: of a number, whether u is a threshold or more;
    of a category, whether it is in a random half. The answers of a fern's tests are the bits of the cell that
    an event falls into. Of all features in use, a test is about the one whose name has the lowest rank, as
    the seed draws ranks for each test. So all are drawn alike, in whatever order they come, and one that
    comes or goes alters only the tests that are or were about it; their cells mean something else then.

    Slot f·2^`FERN_DEPTH` + c is cell c of fern f.

    Parameters
    ----------
    seed
        Of what is drawn.
    n_ferns
        How many there are.
    n_numbers
        Bins of numbers, in front of those of categories.

    Attributes
    ----------
    x : Example
        The cells of the event shown; none while no feature is in use.
    n_slots : int
        Cells of all ferns; 0 before a feature was in use.

    """

    def __init__(self, seed: int, n_ferns: int, n_numbers: int) -> None:
        self._key = mixed(seed & _ALL)
        self.n_ferns, self.n_numbers, self.n_slots = n_ferns, n_numbers, 0
        self.x = Example(n_ferns)
        self.x.version = 0
        for fern in range(n_ferns):
            self.x.values[fern] = 1.0
        n_tests = n_ferns * FERN_DEPTH
        self.features, self.masks = integers(n_tests), array("Q", bytes(8 * n_tests))
        """Of each test: its bin, and which of 64 values are in its set."""
        self._n_features = 0

    def arrange(self, bins: list[int], hashes: list[int]) -> None:
        """Take in which bins are in use, and the hashes of their names."""
        names = array("Q", hashes)  # from here on nothing is allocated
        self._n_features = len(names)
        if self._n_features == 0:
            return
        for test in range(self.n_ferns * FERN_DEPTH):
            key = mixed(self._key ^ test)
            best, lowest = 0, mixed(key ^ (names[0] << 32))
            for k in range(1, self._n_features):
                rank = mixed(key ^ (names[k] << 32))
                if rank < lowest:
                    best, lowest = k, rank
            self.features[test] = bins[best]
            self.masks[test] = self._mask(key, bins[best] >= self.n_numbers)
        self.n_slots = self.n_ferns << FERN_DEPTH

    def _mask(self, key: int, is_category: bool) -> int:
        """Draw which of 64 values are in a test's set."""
        drawn = mixed(key ^ _FIRST_HALF)
        if is_category:
            return drawn << 32 | mixed(key ^ _SECOND_HALF)
        threshold = _MARGIN + (drawn * (N_BINS - 2 * _MARGIN + 1) >> 32)
        return _ALL << threshold & _ALL

    def show(self, bins: bytearray) -> None:
        """Make `x` that of an event."""
        self.x.n = self.n_ferns if self._n_features else 0
        features, masks, test = self.features, self.masks, 0
        for fern in range(self.x.n):
            cell = fern
            for _ in range(FERN_DEPTH):
                mask = masks[test]
                cell = 2 * cell + ((mask >> bins[features[test]]) & 1)
                test += 1
            self.x.slots[fern] = cell
