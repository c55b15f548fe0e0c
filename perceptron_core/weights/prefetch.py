"""Prefetch the cells of slots from memory.

This is the interpreted form, which does nothing; `prefetch.pyx` is the compiled one.
"""

from __future__ import annotations

from array import array


def prefetch(cells: array[float], slots: array[int], start: int, end: int) -> None:
    """Prefetch the cells of `slots[start:end]` into the processor's cache."""
