"""Quantiles of the normal distribution, rounded to the nearest double on every machine."""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import Final

# Its methods, since CPython 3.11's `localcontext` crashes where an allocation fails.
_CONTEXT: Final = Context(prec=40)
_SQUARED_DENSITY: Final = Decimal("0.1591549430918953357688837633725143620344596457404564")
"""1/2π: of the density at 0."""


@lru_cache
def normal_quantile(p: float) -> float:
    """Compute Φ⁻¹(p), 0 < p < 1: as Python does, with the C library's logarithm, and one exact Newton step.

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
