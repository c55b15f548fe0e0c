"""Arithmetic of learners that know how sure they are. In: a sparse covariance. Out: variances, shrunk.

A missing variance is 1 and a missing covariance 0: nothing is stored for what was never updated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perceptron_core.sparse import Vector

Matrix = dict[Any, Vector]
"""A symmetric matrix as a dictionary of its rows; a missing row is one of the identity."""


def variance(variances: Mapping[Any, float], x: Mapping[Any, Any], start: float) -> float:
    """Compute start + Σ σᵢ·xᵢ², the variance of the score under independent weights."""
    total = start
    for name, value in x.items():
        number = float(value)
        total += variances.get(name, 1.0) * number * number
    return total


def move(weights: Vector, variances: Mapping[Any, float], x: Mapping[Any, Any], step: float) -> None:
    """Add step·σᵢ·xᵢ to each weight, in place: far where little is known, near where much is."""
    for name, value in x.items():
        weight = weights.get(name, 0.0) + step * variances.get(name, 1.0) * float(value)
        if weight:
            weights[name] = weight
        else:
            weights.pop(name, None)


def shrink(variances: Vector, x: Mapping[Any, Any], r: float, total: float) -> None:
    """Replace each σᵢ by σᵢ − σᵢ²·xᵢ²/(r + total), in place, where total = Σ σⱼ·xⱼ².

    Written as σᵢ·(r + the others' part)/(r + total), which cannot become negative, nor 0 too soon.
    """
    for name, value in x.items():
        number = float(value)
        if number:
            old = variances.get(name, 1.0)
            variances[name] = old * (r + (total - old * number * number)) / (r + total)


def widen(variances: Vector, x: Mapping[Any, Any], forgetting: float) -> None:
    """Divide the variance of each feature of `x` by `forgetting`, in place; to 1 at most."""
    for name in x:
        old = variances.get(name)
        if old is not None:
            variances[name] = min(1.0, old / forgetting)


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


def downdate(covariance: Matrix, gain: Mapping[Any, float], r: float, total: float) -> None:
    """Subtract gain·gainᵀ/(r + total) from the covariance, in place."""
    entries = [(name, value) for name, value in gain.items() if value]
    for name, value in entries:
        row = covariance.setdefault(name, {name: 1.0})
        for other, factor in entries:
            row[other] = row.get(other, 0.0) - value * factor / (r + total)
