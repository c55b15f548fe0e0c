"""Exponents of doubles, exactly, for interpreted code; compiled code has its own in `elementary.pxd`."""

from __future__ import annotations

from math import frexp, ldexp


def exponent(x: float) -> int:
    """Return e with 2ᵉ⁻¹ ≤ x < 2ᵉ, of a normal x > 0."""
    return frexp(x)[1]


def scaled(x: float, power: int) -> float:
    """Compute x·2ᵖ, rounded once; −1074 ≤ p ≤ 1074."""
    return ldexp(x, power)
