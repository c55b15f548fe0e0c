"""Arithmetic on sparse vectors: dictionaries of numbers, in which a missing entry is 0.

Feature values are checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, as_double, reject_features

Vector = dict[Any, float]
"""Non-zero entries by feature."""


def dot(weights: Mapping[Any, float], x: Mapping[Any, Any], start: float = 0.0) -> float:
    """Compute start + w·x in doubles, summed from `start` in the order of `x`.

    Raises `FeatureError` for a value of `x` that is not finite or is larger than `MAX_MAGNITUDE`.
    """
    total = start
    weight_of = weights.get
    try:
        for name, value in x.items():
            if type(value) is not float:
                value = as_double(value)  # noqa: PLW2901  the same value
            if not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
                raise reject_features(x)
            weight = weight_of(name)
            if weight is not None:
                total += weight * value
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise reject_features(x) from None
    return total


def squared_norm(x: Mapping[Any, Any]) -> float:
    """Compute ‖x‖², summed in the order of `x`, for values that `dot` has checked."""
    total = 0.0
    for value in x.values():
        total += float(value) * float(value)
    return total


def add(weights: Vector, x: Mapping[Any, Any], step: float) -> None:
    """Add step·x to the weights, in place; drop entries that become 0."""
    for name, value in x.items():
        weight = weights.get(name, 0.0) + step * float(value)
        if weight:
            weights[name] = weight
        else:
            weights.pop(name, None)


def checked(x: Mapping[Any, Any]) -> list[tuple[Any, float]]:
    """List the entries of `x` as doubles.

    Raises `FeatureError` for a value that is not finite or is larger than `MAX_MAGNITUDE`.
    """
    entries = []
    try:
        for name, value in x.items():
            double = as_double(value)
            if not -MAX_MAGNITUDE <= double <= MAX_MAGNITUDE:
                raise reject_features(x)
            entries.append((name, double))
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise reject_features(x) from None
    return entries
