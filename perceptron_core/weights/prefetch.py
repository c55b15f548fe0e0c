"""Cells asked for before they are needed. In: slots. Out: nothing, sooner.

This is the interpreted form, in which it makes no difference; `prefetch.pyx` is the compiled one.
"""

from __future__ import annotations

from array import array


def prefetch(cells: array[float], slots: array[int], start: int, end: int) -> None:
    """Ask the memory for the cells of `slots[start:end]`."""
