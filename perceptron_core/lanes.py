"""Loops over numbers, as the interpreter has them; compiled modules have `c_lanes.pxd` in their place.

Compiled, each is there twice, and the loader takes the form that the processor computes fastest. Additions are
in the same order in all forms, so that their results are the same to the bit.
"""

from __future__ import annotations

from array import array

_single = array("f", [0.0])
"""Rounds to 32 bits."""


def add_product(sums: array[float], numbers: array[float], first: int, factor: float, n: int) -> None:
    """Add to each of n sums the number that many places behind the first, times a factor."""
    for k in range(n):
        sums[k] += numbers[first + k] * factor


def add_squares(sums: array[float], numbers: array[float], first: int, value: float, n: int) -> None:
    """Add to each of n sums the squared difference of a number from `first` on and a value, in 32-bit floats."""
    for k in range(n):
        _single[0] = numbers[first + k] - value
        _single[0] = _single[0] * _single[0]
        sums[k] += _single[0]


def add_mismatches(sums: array[float], numbers: array[float], first: int, value: float, n: int) -> None:
    """Add to each of n sums 2 if the number from `first` on is not a value."""
    for k in range(n):
        sums[k] += 2.0 if numbers[first + k] != value else 0.0


def multiply_symmetric(
    matrix: array[float], width: int, n: int, vector: array[float], product: array[float]
) -> None:
    """Write the product of a symmetric matrix and a vector of n numbers; rows are `width` apart.

    What is behind n in rows and in the product is 0, up to a multiple of eight.
    """
    for i in range(n):
        product[i] = 0.0
    for j in range(n):
        row, factor = j * width, vector[j]
        for i in range(n):
            product[i] += matrix[row + i] * factor


def subtract_square(matrix: array[float], width: int, n: int, vector: array[float], factor: float) -> None:
    """Write (matrix − vector·vectorᵀ)·factor of n rows and columns, as in `multiply_symmetric`."""
    for i in range(n):
        row = i * width
        for j in range(n):
            matrix[row + j] = (matrix[row + j] - vector[i] * vector[j]) * factor
