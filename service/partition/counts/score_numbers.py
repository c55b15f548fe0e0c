"""Bins of scores. In: scores. Out: the numbers of their bins, and how many scores lie in each.

A bin holds the doubles that have the same sign, exponent and first three bits of the mantissa. This is the
interpreted form; `score_numbers.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Final

BITS_LEFT_OUT: Final = 49
"""Of the 52 of a mantissa."""


def count_numbers(scores: array[float]) -> list[tuple[int, int]]:
    """Return the numbers of the scores' bins, in the order in which they come first, and the scores in each.

    A number is the first bits of the double; −0 counts as 0.

    >>> count_numbers(array("d", [1.0, -2.0, 1.0625, 0.0]))
    [(8184, 2), (-8192, 1), (0, 1)]
    """
    doubles = memoryview(array("d", [score + 0.0 for score in scores])).cast("B").cast("q")
    return [*Counter(bits >> BITS_LEFT_OUT for bits in doubles).items()]
