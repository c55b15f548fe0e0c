"""The update that a multiclass learner made."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

Label = Hashable

NO_CLASS: Final = -1
"""The number of none."""


class Update(NamedTuple):
    """An update, in plain values."""

    size: float
    """In units of x."""
    gained: Label
    lost: Label
    n_before: int = 0
    """Examples learned before it, where that matters: in averages."""
