"""How large a forest is."""

from __future__ import annotations

from typing import Final

N_BINS: Final = 64
"""In which the values of a feature are counted."""
N_TREES: Final = 20
N_PARTS: Final = 32
"""Of a bin."""
FORMER_TREES: Final = 10
"""Of models that were made when trees had bins in common, and three of five features each."""
MOST_NODES: Final = 1000
"""Of a tree."""
N_FERNS: Final = 200
FERN_DEPTH: Final = 8
"""Tests of a fern."""
