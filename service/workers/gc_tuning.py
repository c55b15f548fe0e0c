"""Python's collector of reference cycles, set for a process that keeps many examples for long."""

from __future__ import annotations

import gc
from typing import Final

_YOUNG: Final = 10_000
"""New objects between two collections of the young ones; one batch makes more than Python's 700 to 2,000."""


def collect_less_often() -> None:
    """Freeze existing objects (`gc.freeze`) and collect new ones less often.

    Examples that wait for labels hold no cycles, yet each full collection goes through all of them. This
    changes the whole process: only `serve` and its workers call it, not a program that imports the classes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
