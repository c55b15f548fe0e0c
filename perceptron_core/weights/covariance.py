"""Arithmetic on a sparse covariance matrix.

A missing variance is 1 and a missing covariance 0: nothing is stored for what was never updated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perceptron_core.sparse_vectors import Vector

Matrix = dict[Any, Vector]
"""A symmetric matrix as a dictionary of its rows; a missing row is one of the identity."""


def direction(covariance: Matrix, x: Mapping[Any, float]) -> Vector:
    """Compute Σx."""
    result = dict.fromkeys(x, 0.0)
    for name, value in x.items():
        for other, entry in covariance.get(name, {name: 1.0}).items():
            result[other] = result.get(other, 0.0) + entry * value
    return result


def bound(gain: Vector, covariance: Matrix, total: float) -> Vector:
    """Hold Σx to what Cauchy and Schwarz allow, |(Σx)ᵢ| ≤ √(Σᵢᵢ·xᵀΣx), where rounding breaks it.

    So long as that holds, no diagonal entry can become negative.
    """
    bounded = {}
    for name, value in gain.items():
        own = covariance[name][name] if name in covariance else 1.0
        limit = math.sqrt(max(own, 0.0)) * math.sqrt(total)
        bounded[name] = min(max(value, -limit), limit)
    return bounded


def downdated(covariance: Matrix, gain: Mapping[Any, float], r: float, total: float) -> Matrix:
    """Return the covariance minus gain·gainᵀ/(r + total); rows that stay as they are, are shared."""
    result = dict(covariance)
    entries = [(name, value) for name, value in gain.items() if value]
    for name, value in entries:
        row = dict(covariance.get(name, {name: 1.0}))
        for other, factor in entries:
            row[other] = row.get(other, 0.0) - value * factor / (r + total)
        result[name] = row
    return result
