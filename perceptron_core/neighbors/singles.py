"""Arithmetic of 32-bit floats, for interpreted code; compiled code has its own in `window.pxd`."""

from __future__ import annotations

from array import array

_rounded = array("f", [0.0])


def squared_difference(one: float, other: float) -> float:
    """Compute (x − y)², rounded to 32 bits after each step."""
    _rounded[0] = one - other
    difference = _rounded[0]
    _rounded[0] = difference * difference
    return _rounded[0]


def mismatch(one: float, other: float) -> float:
    """Return the squared distance of two values of a category: 2, that of two numbers in the mean, or 0."""
    return 2.0 if one != other else 0.0
