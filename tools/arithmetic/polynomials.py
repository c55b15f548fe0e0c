"""Compute the polynomials of `perceptron_core/elementary.py`: their coefficients, lowest first.

    python -m tools.arithmetic.polynomials

Each is the minimax polynomial of its degree, by Remez' algorithm: of p with w(x)·(f(x) − p(x)) = ±e at
degree + 2 points, the points move to the extrema of the error until all are alike. w makes of it the error
relative to the function, before coefficients are rounded to doubles. Computed with 200 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any, Final

from mpmath import mp

_ROUNDS: Final = 12
_GRID: Final = 60
"""Points at which the error is looked at, for each coefficient."""

Function = Callable[[Any], Any]


def remez(f: Function, w: Function, degree: int, low: Any, high: Any) -> tuple[list[Any], Any]:  # noqa: ANN401  mpmath's numbers
    """Return the coefficients, and the largest weighted error."""
    n = degree + 2
    points, error = _between(low, high, n - 1), mp.mpf(0)
    for _ in range(_ROUNDS):
        system = mp.matrix([[*(x**k for k in range(n - 1)), (-1) ** i / w(x)] for i, x in enumerate(points)])
        *coefficients, error = mp.lu_solve(system, mp.matrix([f(x) for x in points]))
        errors = [
            (w(x) * (f(x) - mp.polyval(coefficients[::-1], x)), x) for x in _between(low, high, _GRID * n)
        ]
        signs = groupby(errors, key=lambda each: each[0] > 0)
        points = [max(run, key=lambda each: abs(each[0]))[1] for _, run in signs]
        if len(points) != n:
            raise ArithmeticError(f"{len(points)} extrema, not {n}")
    return coefficients, abs(error)


def _between(low: Any, high: Any, n: int) -> list[Any]:  # noqa: ANN401
    """Return n + 1 points, denser at the ends."""
    return [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / n) for k in range(n + 1)]


def main() -> None:
    """Print them."""
    mp.prec = 200
    least = mp.mpf(10) ** -12
    quarter = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
    step = mp.log(2) / 128 * mp.mpf("1.001")
    largest = (mp.mpf("1.0001") * (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
    polynomials = {
        "sin r = r + r·z·p(z), z = r²": remez(
            lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
            lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
            5,
            least,
            quarter,
        ),
        "cos r = 1 − z/2 + z²·p(z), z = r²": remez(
            lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
            lambda z: z**2 / mp.cos(mp.sqrt(z)),
            5,
            least,
            quarter,
        ),
        "eʳ = 1 + r + r²·p(r)": remez(
            lambda r: mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 40]),
            lambda _: step**2,
            3,
            -step,
            step,
        ),
        "2·artanh s = 2s + s·z·p(z), z = s²": remez(
            lambda z: 2 * (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, 6, least, largest
        ),
    }
    for name, (coefficients, error) in polynomials.items():
        print(f"{name}: largest error 2^{mp.nstr(mp.log(error, 2), 4)}")
        for each in coefficients:
            print(f"    {float(each)!r}")


if __name__ == "__main__":
    main()
