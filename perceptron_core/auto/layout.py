"""The maps of `AutoClassifier` by number, and what they are made of."""

from __future__ import annotations

from typing import Final

WORDS, GRAMS, LINEAR, SQUASHED, BINNED, PAIRED, FOURIER, WIDE, FOREST = range(9)
N_MAPS: Final = 9

N_HATS: Final = 16
"""Hat functions over the range of a column."""
N_CELLS: Final = 8
"""Cells of a pair's grid in each direction."""
N_FOURIER: Final = 200
"""Random Fourier features of a map."""
