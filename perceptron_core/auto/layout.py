"""The maps of `AutoClassifier` by number, and what they are made of."""

from __future__ import annotations

from typing import Final

N_MAPS: Final = 11
WORDS, GRAMS, LINEAR, SQUASHED, BINNED, PAIRED, FOURIER, WIDE, FOREST, CHARACTERS, NEIGHBORS = range(N_MAPS)
MAP_OF_GROUP: Final = {
    "words": WORDS,
    "grams": GRAMS,
    "dense": LINEAR,
    "forest": FOREST,
    "characters": CHARACTERS,
    "neighbors": NEIGHBORS,
}
"""The map that has to speak before a group of learners joins."""

N_HATS: Final = 16
"""Hat functions over the range of a column."""
N_CELLS: Final = 8
"""Cells of a pair's grid in each direction."""
N_FOURIER: Final = 200
"""Random Fourier features of a map."""
MOST_CHARACTERS: Final = 3000
"""Of a text, whose 4-grams are taken."""
