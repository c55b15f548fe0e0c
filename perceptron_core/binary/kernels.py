"""Kernels: inner products of examples in another space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from perceptron_core.elementary import exp
from perceptron_core.errors import FeatureError

Example = Mapping[Any, float]
Kernel = Callable[[Example, Example], float]

NAMES: Final = ("linear", "polynomial", "rbf")
LARGEST: Final = 1e200
"""Kernel values are clamped to this size, so that no sum of them overflows."""


def make_kernel(kernel: str | Kernel, gamma: float, degree: int, coef0: float) -> Kernel:
    """Return the kernel of a name, or a callable made safe.

    ==========  ================================
    linear      x·z
    polynomial  (gamma·x·z + coef0)^degree
    rbf         exp(−gamma·‖x − z‖²)
    ==========  ================================
    """
    if kernel == "linear":
        return dot
    if kernel == "polynomial":
        return lambda x, z: _power(gamma * dot(x, z) + coef0, degree)
    if kernel == "rbf":
        return lambda x, z: exp(-gamma * squared_distance(x, z))
    if not callable(kernel):
        raise ValueError(f"kernel must be one of {', '.join(NAMES)} or a function, not {kernel!r}")  # noqa: TRY004  most often a misspelt name
    return lambda x, z: _checked(kernel(x, z))


def dot(x: Example, z: Example) -> float:
    """Compute x·z, summed in the order of `x`; at most `LARGEST` in size."""
    total = 0.0
    for name, value in x.items():
        other = z.get(name)
        if other is not None:
            total += value * other
    return _clamped(total)


def squared_distance(x: Example, z: Example) -> float:
    """Compute ‖x − z‖², without the cancellation that ‖x‖² − 2x·z + ‖z‖² would bring."""
    total = 0.0
    for name, value in x.items():
        difference = value - z.get(name, 0.0)
        total += difference * difference
    for name, value in z.items():
        if name not in x:
            total += value * value
    return total


def _power(base: float, degree: int) -> float:
    """Compute baseᵈ by squaring: `**` rounds as the C library does, otherwise on each machine."""
    power = 1.0
    while degree:
        if degree & 1:
            power *= base
        base *= base
        degree >>= 1
    return _clamped(power)


def _checked(value: float) -> float:
    if not math.isfinite(value):
        raise FeatureError(f"the kernel gives {value!r}, no finite number")
    return _clamped(float(value))


def _clamped(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)
