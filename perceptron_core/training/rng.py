"""Random numbers, always from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def seeded_generator(seed: int) -> np.random.Generator:
    """Return a generator of pseudo-random numbers: NumPy's PCG64."""
    from numpy.random import default_rng  # noqa: PLC0415  takes long to import, and streams need no chance

    return default_rng(seed)
