"""Loops over numbers, several at once where there is a compiler.

This is the interpreted form; `lanes.pyx` is the compiled one, and means the same. There each loop is made
twice, and the loader takes the one for the processor at hand. Numbers are added in the same order in all
forms: the results are the same to the bit.
"""

from __future__ import annotations

from array import array

_single = array("f", [0.0])
"""Rounds to 32 bits."""


def add_products(
    sums: array[float],
    cells: array[float],
    starts: array[int],
    factors: array[float],
    n_columns: int,
    n: int,
) -> None:
    """Add columns of n cells to n sums, each times its factor; they start in `cells` where `starts` says."""
    for j in range(n_columns):
        for k in range(n):
            sums[k] += cells[starts[j] + k] * factors[j]


def add_squares(
    sums: array[float],
    cells: array[float],
    starts: array[int],
    values: array[float],
    n_columns: int,
    n: int,
) -> None:
    """Add the squared differences of columns, as of `add_products`, and a value of each, in 32-bit floats."""
    for j in range(n_columns):
        for k in range(n):
            _single[0] = cells[starts[j] + k] - values[j]
            _single[0] = _single[0] * _single[0]
            sums[k] += _single[0]


def add_mismatches(sums: array[float], cells: array[float], first: int, value: float, n: int) -> None:
    """Add 2, the squared distance of two numbers in the mean, for each of n cells that is not a value."""
    for k in range(n):
        sums[k] += 2.0 if cells[first + k] != value else 0.0


def last_below(numbers: array[float], first: int, end: int, limit: float) -> int:
    """Return the last place from `first` to `end` of a number below a limit; first − 1 if there is none."""
    for k in range(end - 1, first - 1, -1):
        if numbers[k] < limit:
            return k
    return first - 1


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
