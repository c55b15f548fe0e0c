"""Online Hoeffding trees, boosted trees, and the nearest neighbours among the last events."""

from __future__ import annotations

from typing import Final

N_BINS: Final = 64
"""Number of bins of a feature's values."""
N_TREES: Final = 20
PART_BITS: Final = 5
N_PARTS: Final = 1 << PART_BITS
"""Number of parts of a bin."""
MAX_NODES: Final = 1000
"""Largest number of nodes of a tree."""
