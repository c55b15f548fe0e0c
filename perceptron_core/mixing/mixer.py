# cython: infer_types=True
"""Logistic mixing, and the class shares of the labels so far as its inputs.

`mixer.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import sqrt
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.elementary import log, logistic
from perceptron_core.linear import restored
from perceptron_core.validation import MAX_LEARNED
from perceptron_core.weights.buffers import doubles

RATES: Final = (0.5, 0.9, 0.98, 0.998)
"""Discount factors of a label with each later label."""
N_RATES: Final = len(RATES)
LABEL_HISTORY: Final = "labels of the last events"
"""Name of their contribution to a log-odds."""
_MIN_SHARE: Final = 3.353501304664781e-4
"""Share of a class with the log-odds −8, at which inputs of mixers are clipped."""


class LabelHistory:
    """The share of a class among the labels so far, older ones discounted at four rates."""

    def __init__(self) -> None:
        self._rates = array("d", RATES)
        self._shares = array("d", [0.5]) * N_RATES
        self._n_of_class = self._n_labels = 0

    def count(self, is_class: bool) -> None:
        """Count a label."""
        self._n_labels += 1
        self._n_of_class += is_class
        for k in range(len(self._shares)):
            rate = self._rates[k]
            self._shares[k] = rate * self._shares[k] + (1.0 - rate if is_class else 0.0)

    def information(self) -> float:
        """Return the variance p(1 − p) of a label, for a class of share p, relative to p = ½."""
        share = (self._n_of_class + 1.0) / (self._n_labels + 2.0)
        return 4.0 * share * (1.0 - share)

    def write_log_odds(self, inputs: array[float]) -> None:
        """Write the log-odds of the shares to the first inputs of a mixer."""
        for k in range(len(self._shares)):
            share = max(_MIN_SHARE, min(self._shares[k], 1.0 - _MIN_SHARE))
            inputs[k] = log(share / (1.0 - share))

    def get_state(self) -> list[Any]:
        """Return the shares, the number of labels of the class, and of all labels."""
        return [*memoryview(self._shares).tolist(), self._n_of_class, self._n_labels]

    def set_state(self, state: Any) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        shares = restored.several(state, restored.double, N_RATES + 2)
        for k in range(N_RATES):
            self._shares[k] = restored.between(0.0, 1.0)(shares[k])
        self._n_labels = restored.count(state[N_RATES + 1])
        self._n_of_class = restored.whole(self._n_labels)(state[N_RATES])


_FIRST_CAPACITY: Final = 8
_MAX_WEIGHT: Final = 1e6
"""Largest weight of an example: what remains of S after it must exceed the rounding errors of s₀."""


class Mixer:
    """Learns weights v of log-odds z that minimise the logistic loss of v·z.

    Each example is a Newton step with the covariance S of all weights: with p = σ(v·z), q = p(1 − p),

        g = S·z,  f = 1/(1 + q·z·g)
        v ← v + f·(y − p)·g,  S ← S − f·q·g·gᵀ

    and, to follow changes, S ← S/λ; then rows and columns are shrunk so that no variance exceeds s₀. If
    labels have little information, λ is closer to 1.

    Parameters
    ----------
    variance
        Variance of a weight before the first example: s₀ > 0, with S = s₀·I.
    forgetting
        λ in (0, 1].

    Attributes
    ----------
    n : int
        Number of inputs.

    Notes
    -----
    The weight of an example multiplies its loss; it is at most 1e6.

    References
    ----------
    Mattern, C. (2012). Mixing strategies in data compression. Data Compression Conference.

    """

    _weights: array[float]
    _covariance: array[float]
    _gain: array[float]

    def __init__(self, variance: float, forgetting: float) -> None:
        self.variance = variance
        self.forgetting = forgetting
        self.n = self._capacity = 0
        self._weights = self._covariance = self._gain = array("d")

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.variance, self.forgetting, self.get_state())

    @property
    def weights(self) -> list[float]:
        """Weight of each input."""
        return list(memoryview(self._weights)[: self.n])

    def add_input(self, weight: float) -> None:
        """Add an input with an initial weight."""
        last = self.n
        self.reserve(last + 1)
        self._weights[last] = weight
        self._covariance[last * self._capacity + last] = self.variance
        self.n = last + 1

    def mix(self, inputs: array[float]) -> float:
        """Compute v·z of the first `n` inputs; 0 if it is not finite."""
        total = 0.0
        for k in range(self.n):
            total += self._weights[k] * inputs[k]
        return total if -MAX_LEARNED <= total <= MAX_LEARNED else 0.0

    def learn(
        self, inputs: array[float], target: bool, w: float, log_odds: float, information: float = 1.0
    ) -> None:
        """Learn an example of weight w whose `mix` was `log_odds`; `information` multiplies 1 − λ."""
        w = min(w, _MAX_WEIGHT)
        p = logistic(log_odds)
        q = w * p * (1.0 - p)
        spread = self._compute_gain(inputs)
        f = 1.0 / (1.0 + q * spread)
        step = f * w * ((1.0 if target else 0.0) - p)
        for k in range(self.n):
            self._weights[k] += step * self._gain[k]
        self._shrink_covariance(f * q, information)
        if self.forgetting < 1:
            self._bound_variances()

    def _compute_gain(self, inputs: array[float]) -> float:
        """Compute g = S·z; return z·g."""
        covariance, gain, n, spread = self._covariance, self._gain, self.n, 0.0
        for i in range(n):
            gain[i] = 0.0
        for j in range(n):
            memory.add_row(gain, covariance, j * self._capacity, inputs[j], n)
        for i in range(n):
            spread += inputs[i] * gain[i]
        return max(spread, 0.0)

    def _shrink_covariance(self, shrinkage: float, information: float) -> None:
        """Compute S ← (S − shrinkage·g·gᵀ)/λ.

        S stays exactly symmetric: a difference between its halves would grow by 1/λ with each example.
        """
        covariance, gain, n, root = self._covariance, self._gain, self.n, sqrt(shrinkage)
        keep = 1.0 / (1.0 - (1.0 - self.forgetting) * information)
        for i in range(n):
            gain[i] *= root
        for i in range(n):
            row, own = i * self._capacity, gain[i]
            for j in range(n):
                covariance[row + j] = (covariance[row + j] - own * gain[j]) * keep

    def _bound_variances(self) -> None:
        """Shrink the rows and columns of weights whose variance exceeds s₀."""
        covariance, factors = self._covariance, self._gain
        excess = False
        for i in range(self.n):
            factors[i] = 1.0
            if covariance[i * self._capacity + i] > self.variance:
                factors[i] = sqrt(self.variance / covariance[i * self._capacity + i])
                excess = True
        if excess:
            for i in range(self.n):
                row = i * self._capacity
                for j in range(self.n):
                    covariance[row + j] *= factors[i] * factors[j]

    def reserve(self, n: int) -> None:
        """Make room for n inputs."""
        if n > self._capacity:
            capacity = max(_FIRST_CAPACITY, 2 * self._capacity, n)
            weights, gain = doubles(capacity), doubles(capacity)
            covariance = doubles(capacity * capacity)
            for i in range(self.n):
                weights[i] = self._weights[i]
                for j in range(self.n):
                    covariance[i * capacity + j] = self._covariance[i * self._capacity + j]
            self._weights, self._gain, self._covariance = weights, gain, covariance
            self._capacity = capacity

    def get_state(self) -> dict[str, Any]:
        """Return the learned state as plain values."""
        n, capacity = self.n, self._capacity
        covariance: list[float] = []
        for i in range(n):
            covariance += memoryview(self._covariance)[i * capacity : i * capacity + n].tolist()
        return {"weights": self.weights, "covariance": covariance}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state`. Raises `ValueError` if it is invalid."""
        n = len(state["weights"])
        weights = restored.several(state["weights"], restored.double, n)
        covariance = restored.several(state["covariance"], restored.double, n * n)
        self.n = self._capacity = 0
        for weight in weights:
            self.add_input(weight)
        for i in range(n):
            for j in range(n):
                self._covariance[i * self._capacity + j] = covariance[i * n + j]


def _remake(variance: float, forgetting: float, state: Mapping[str, Any]) -> Mixer:
    """Return a mixer from its pickled parts."""
    mixer = Mixer(variance, forgetting)
    mixer.set_state(state)
    return mixer
