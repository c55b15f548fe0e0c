"""Quantiles of the normal distribution. In: a probability. Out: the nearest double, on every machine."""

from __future__ import annotations

from decimal import Decimal, localcontext
from statistics import NormalDist
from typing import Final

_DIGITS: Final = 40
_SQUARED_DENSITY: Final = Decimal("0.1591549430918953357688837633725143620344596457404564")
"""1/2π: of the density at 0."""


def normal_quantile(p: float) -> float:
    """Compute Φ⁻¹(p), 0 < p < 1: as Python does, with the C library's logarithm, and one exact Newton step.

    >>> normal_quantile(0.975)
    1.9599639845400538

    """
    with localcontext() as context:
        context.prec = _DIGITS
        x = Decimal(NormalDist().inv_cdf(p))
        density = _SQUARED_DENSITY.sqrt() * (-x * x / 2).exp()
        total, term, n = Decimal(0), x, 1
        while total + term != total:  # Φ(x) = ½ + φ(x)·(x + x³/3 + x⁵/(3·5) + …)
            total, n = total + term, n + 2
            term *= x * x / n
        return float(x + (Decimal(p) - Decimal("0.5") - density * total) / density)
