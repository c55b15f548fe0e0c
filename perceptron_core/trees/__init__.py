"""Trees that grow online by Hoeffding's bound, and the nearest of the last events."""

from __future__ import annotations

from typing import Final

N_BINS: Final = 64
"""In which the values of a feature are counted."""
N_TREES: Final = 20
N_PARTS: Final = 32
"""Number of parts of a bin."""
MOST_NODES: Final = 1000
"""Most nodes of a tree."""
