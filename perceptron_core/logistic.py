"""The logistic function, of scores that are log-odds. `logistic.pxd` gives this module its C types."""

from __future__ import annotations

from perceptron_core.elementary import exp


def logistic(z: float) -> float:
    """Compute σ(z) = 1 / (1 + e⁻ᶻ) without overflow."""
    if z >= 0:
        return 1.0 / (1.0 + exp(-z))
    power = exp(z)
    return power / (1.0 + power)
