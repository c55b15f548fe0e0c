"""Ascending positions: the gaps between them, unions, and places in a union.

`positions.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array

from perceptron_core.errors import DamagedError
from perceptron_core.weights.buffers import doubles, integers


def to_gaps(positions: array[int]) -> array[float]:
    """Return the first position and the differences of the others to the one before."""
    gaps = doubles(len(positions))
    last = 0
    for k in range(len(positions)):
        gaps[k] = positions[k] - last
        last = positions[k]
    return gaps


def from_gaps(gaps: array[float], n: int) -> array[int]:
    """Return positions below n. Raises `DamagedError` for gaps that `to_gaps` does not return."""
    positions = integers(len(gaps))
    position = 0.0
    for k in range(len(gaps)):
        if not (gaps[k] >= (k > 0) and position + gaps[k] < n):
            raise DamagedError(f"positions that do not ascend below {n}")
        position += gaps[k]
        positions[k] = int(position)
    return positions


def united(one: array[int], other: array[int]) -> array[int]:
    """Return what is in one of two ascending sequences, or in both, ascending."""
    merged = integers(len(one) + len(other))
    k = m = n = 0
    while k < len(one) or m < len(other):
        is_ones = m == len(other) or (k < len(one) and one[k] <= other[m])
        is_others = k == len(one) or (m < len(other) and other[m] <= one[k])
        merged[n] = one[k] if is_ones else other[m]
        n += 1
        k += is_ones
        m += is_others
    return memoryview(merged)[:n]  # type: ignore[return-value]


def places(all_positions: array[int], positions: array[int]) -> array[int]:
    """Return where ascending positions stand among all, which contain them."""
    found = integers(len(positions))
    at = 0
    for k in range(len(positions)):
        while all_positions[at] < positions[k]:
            at += 1
        found[k] = at
    return found
