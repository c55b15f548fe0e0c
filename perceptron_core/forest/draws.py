"""Numbers drawn from a seed and a place, whatever was drawn before.

`draws.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Final

from perceptron_core.elementary import exp

RATE: Final = 6
"""Mean of the weights that `poisson` draws: Bagging online with more weight, as leveraging bagging has it."""
_MOST: Final = 24
"""Of a weight; a larger one comes once in 10⁸ draws."""

_32_BITS = 0xFFFFFFFF
_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35
"""Factors of MurmurHash3. As literals of more than 31 bits they would be objects where this is compiled."""


def _bounds() -> array[int]:
    """Return 2³² times the probability that a weight is below 1, 2 and so on."""
    found, term, total = array("Q"), exp(-float(RATE)), 0.0
    for count in range(1, _MOST + 1):
        total += term
        term *= RATE / count
        found.append(min(int(total * 4294967296.0), 0xFFFFFFFF))
    return found


_BELOW = _bounds()


def mixed(number: int) -> int:
    """Return 32 bits in which all of 64 bits are mixed: the finish of MurmurHash3, three times."""
    low, high = number & _32_BITS, number >> 32
    low = (low ^ (low >> 16)) * _FIRST & _32_BITS
    low = ((low ^ (low >> 13)) * _SECOND & _32_BITS) ^ high
    low = (low ^ (low >> 16)) * _FIRST & _32_BITS
    low = (low ^ (low >> 13)) * _SECOND & _32_BITS
    return low ^ (low >> 16)


def poisson(number: int) -> int:
    """Return a count from the Poisson distribution of mean `RATE`, by what `mixed` makes of a number."""
    drawn = mixed(number)
    count = 0
    while count < _MOST and drawn >= _BELOW[count]:
        count += 1
    return count
