"""Elementary functions of doubles, bit-identical on every machine.

The functions of C libraries differ in the last place between processors, releases and systems, and then so
would every weight. These functions consist of additions, multiplications, divisions and square roots, whose
rounding IEEE 754 defines exactly (setup.py forbids the compiler to fuse them), and of exact powers of two.
`elementary.pxd` gives this module its C types.

========  =================================================================================  =============
function  method                                                                             largest error
========  =================================================================================  =============
exp       x = (64·i + j)·ln 2/64 + r; a table of 2^(j/64), a polynomial of degree 5 in r     0.52, or 0.76
                                                                                             below 2⁻¹⁰²²
log       x = 2ᵏ·(1 + f), √½ ≤ 1 + f < √2, s = f/(2 + f); log(1 + f) = 2·artanh s, of        0.79
          degree 15 in s
log1p     log of 1 + x, plus its rounding error over 1 + x                                   0.79
asinh     log1p of x + x²/(1 + √(x² + 1))                                                    2
hypot     x·√(1 + (y/x)²), |y| ≤ |x|                                                          2
cosine    x = 2π·(n + t), |t| ≤ ½; a polynomial of degree 7 in t²                            2·10⁻¹⁰
                                                                                             in all
========  =================================================================================  =============

Errors, in units in the last place, are upper bounds of those of 10⁷ points compared with mpmath. All
polynomials but the cosine's, of Chebyshev's coefficients, are minimax, by Remez's algorithm.

References
----------
Cody, W. J. and Waite, W. (1980). Software manual for the elementary functions. The reductions.

Tang, P. T. P. (1989). Table-driven implementation of the exponential function in IEEE floating-point
arithmetic. ACM Transactions on Mathematical Software 15(2).

Ng, K. C. (1993). fdlibm, Sun Microsystems. The order of additions, which limits rounding errors.

"""

# ruff: noqa: PLR2004  bounds between methods stand where they are compared

from __future__ import annotations

from array import array
from decimal import Context, Decimal
from functools import lru_cache
from math import inf, isqrt, nan, sqrt
from statistics import NormalDist
from typing import Final

from perceptron_core.memory import exponent, scaled

ARITHMETIC: Final = 1
"""Version of the results, increased by a release that changes any bit of them."""

_STEPS = 64
_PRECISION = 200
"""Fraction bits of the integers from which the table is computed."""


def _powers() -> tuple[array[float], array[float]]:
    """Return 2^(j/64) for j below 64 as doubles, and the relative rounding error of each."""
    one = 1 << _PRECISION
    root = 2 * one
    for _ in range(6):
        root = isqrt(root * one)
    heads, missing, power = array("d"), array("d"), one
    for _ in range(_STEPS):
        head = power / one  # rounded once, as integers are divided
        heads.append(head)
        missing.append((power - int(head * 2.0**52) * (one >> 52)) / power)
        power = power * root >> _PRECISION
    return heads, missing


_HEADS, _MISSING = _powers()


def exp(x: float) -> float:
    """Compute eˣ; 0 or infinity outside the range of doubles."""
    if not -745.2 < x < 709.7827128933841:
        return inf if x > 0 else 0.0 if x < 0 else x
    n = (x * 92.33248261689366 + 6755399441055744.0) - 6755399441055744.0  # rounds x·64/ln 2 to an integer
    r = (x - n * 0.01083042469326756) - n * 2.9815858269852933e-12
    whole = int(n)
    j = whole & 63
    square = r * r
    p = (0.4999999999998501 + r * 0.166666666666581) + square * (
        0.041666707476692454 + r * 0.008333342078338433
    )
    p = _MISSING[j] + (r + square * p)
    power = (whole - j) >> 6
    if not -1022 < power < 1024:
        return scaled(_HEADS[j] + _HEADS[j] * p, power)
    head = scaled(_HEADS[j], power)
    return head + head * p


def log(x: float) -> float:
    """Compute the natural logarithm of x; −∞ for 0, NaN for negative x."""
    return _log_of(x, 0.0, 0)


def log1p(x: float) -> float:
    """Compute log(1 + x) accurately for small x; NaN or −∞ as `log`."""
    if -1e-16 < x < 1e-16:
        return x
    head = 1.0 + x
    missing = x - (head - 1.0) if x < 1.0 else 1.0 - (head - x)
    return _log_of(head, missing / head if head > 0 else 0.0, 0)


def asinh(x: float) -> float:
    """Compute the inverse hyperbolic sine, log(x + √(x² + 1))."""
    size = abs(x)
    if size < 1e5:
        value = log1p(size + size * size / (1.0 + sqrt(size * size + 1.0)))
    else:
        value = _log_of(size, 0.25 / size / size, 1)  # of 2·(x + 1/4x)
    return value if x > 0 else -value


def hypot(x: float, y: float) -> float:
    """Compute √(x² + y²) of finite numbers, without overflow of the squares."""
    a, b = max(abs(x), abs(y)), min(abs(x), abs(y))
    return a * sqrt(1.0 + (b / a) * (b / a)) if a > 0 else 0.0


def cosine(x: float) -> float:
    """Compute cos x for |x| ≤ 10⁵ up to 2·10⁻¹⁰, without a branch, so that a compiler can vectorize it."""
    turns = x * 0.15915494309189535
    turns -= (turns + 6755399441055744.0) - 6755399441055744.0  # subtracts the nearest integer
    z = turns * turns
    p = 7.800131428276369 + z * -1.4531123046072822
    p = 60.24213133785085 + z * (-26.404668184333595 + z * p)
    p = 64.93938907589114 + z * (-85.45665831475249 + z * p)
    return 0.9999999998855534 + z * (-19.739208743453872 + z * p)


def write_cosines(sums: array[float], values: array[float], n: int, factor: float) -> None:
    """Write factor·cos x of the first n sums, each as `cosine` computes it."""
    for k in range(n):
        values[k] = factor * cosine(sums[k])


def _log_of(x: float, more: float, power: int) -> float:
    """Compute log(x·2ᵖ) + `more`, which is at most half a unit in the last place of 1."""
    if not 0.0 < x <= 1.7976931348623157e308:
        return x if x > 0 else -inf if x == 0 else nan
    if x < 2.2250738585072014e-308:
        x, power = x * 18014398509481984.0, power - 54
    k = exponent(x * 0.7071067811865476)
    f = scaled(x, -k) - 1.0
    n = float(k + power)
    half = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    square = z * z
    p = 0.22222198553858097 + square * 0.15314021197991773
    p = square * (0.3999999999941397 + square * p)
    q = 0.1818356540385395 + square * 0.14796260464205976
    q = z * (0.6666666666666734 + square * (0.28571428742561256 + square * q))
    rest = s * (half + (q + p))
    return n * 0.6931471803691238 - ((half - (rest + (n * 1.9082149292705877e-10 + more))) - f)


def logistic(z: float) -> float:
    """Compute σ(z) = 1 / (1 + e⁻ᶻ) without overflow."""
    if z >= 0:
        return 1.0 / (1.0 + exp(-z))
    power = exp(z)
    return power / (1.0 + power)


# Methods of a context, as `localcontext` of CPython 3.11 crashes if an allocation fails.
_CONTEXT: Final = Context(prec=40)
_SQUARED_DENSITY: Final = Decimal("0.1591549430918953357688837633725143620344596457404564")
"""1/2π, the square of the normal density at 0."""


@lru_cache
def normal_quantile(p: float) -> float:
    """Compute Φ⁻¹(p), 0 < p < 1: like Python, which uses the C library's log, plus one exact Newton step.

    >>> normal_quantile(0.975)
    1.9599639845400538

    """
    add, times, divide = _CONTEXT.add, _CONTEXT.multiply, _CONTEXT.divide
    x = Decimal(NormalDist().inv_cdf(p))
    squared = times(x, x)
    density = times(_CONTEXT.sqrt(_SQUARED_DENSITY), _CONTEXT.exp(divide(squared, Decimal(-2))))
    total, term, n = Decimal(0), _CONTEXT.plus(x), 1
    while (more := add(total, term)) != total:  # Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …)
        total, n = more, n + 2
        term = divide(times(term, squared), Decimal(n))
    missing = _CONTEXT.subtract(_CONTEXT.subtract(Decimal(p), Decimal("0.5")), times(density, total))
    return float(add(x, divide(missing, density)))
