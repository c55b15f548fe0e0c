"""The features that each tree of a forest is grown on.

`drawn_features.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Final

from perceptron_core.forest.draws import mixed
from perceptron_core.weights.buffers import integers

_FEWEST_FEATURES: Final = 12
"""Of a tree, if there are as many."""


class DrawnFeatures:
    """The features of trees, drawn by the seed, the tree and the names of features, in whatever order.

    Attributes
    ----------
    columns : list
        The places that features fill now.
    features, widths : array
        Those of each tree, one tree after the other with room for all, and how many they are.
    generations : array
        How often each tree began.

    """

    def __init__(self, seed: int, n_trees: int, n_bins: int) -> None:
        self.seed, self.n_trees, self.n_bins = seed, n_trees, n_bins
        self._key = mixed(seed & 0xFFFFFFFFFFFFFFFF)
        self.columns: list[int] = []
        self._hashes = array("Q", bytes(8 * n_bins))
        self._chosen, self._ranks = integers(n_bins), array("Q", bytes(8 * n_bins))
        self.features, self.widths = integers(n_trees * n_bins), integers(n_trees)
        self.generations = integers(n_trees)

    def note(self, columns: list[int], hashes: list[int]) -> None:
        """Note which features there are, of what hashes of their names."""
        for k in range(len(columns)):
            self._chosen[k], self._hashes[k] = columns[k], hashes[k]
        self.columns = columns

    def draw(self, tree: int, most: int) -> None:
        """Draw the features of a tree, at most so many: those of the lowest rank."""
        n = len(self.columns)
        seed = self._seed_of(tree)
        width = min(self.width_of(n), most)
        for k in range(n):
            rank = mixed(self._hashes[k] ^ (seed << 32))
            j = k
            while j > 0 and self._ranks[j - 1] > rank:
                self._ranks[j] = self._ranks[j - 1]
                if j < width:
                    self.features[tree * self.n_bins + j] = self.features[tree * self.n_bins + j - 1]
                j -= 1
            self._ranks[j] = rank
            if j < width:
                self.features[tree * self.n_bins + j] = self._chosen[k]
        self.widths[tree] = width

    def joins(self, tree: int, name: int) -> bool:
        """Return whether a tree takes a feature, by the hash of its name, that was not there when it began.

        The probability is that of a feature which was.
        """
        n = len(self.columns)
        width = self.width_of(n)
        return mixed(name ^ (self._seed_of(tree) << 32)) * n < width << 32

    def _seed_of(self, tree: int) -> int:
        """Return what the features of a tree are drawn by."""
        return mixed(self._key ^ (self.generations[tree] * self.n_trees + tree))

    def width_of(self, n: int) -> int:
        """Return on how many of n features a tree is grown: ⌈n/4⌉, at least 12."""
        return min(n, max((n + 3) // 4, _FEWEST_FEATURES))
