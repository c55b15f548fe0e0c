# cython: infer_types=True
"""Logistic mixing, and the class shares of the labels so far as its inputs.

`mixer.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from math import inf, sqrt
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


_NEGLIGIBLE: Final = 1e-3
"""Examples with a smaller |y − p| are ignored: with many classes, two of three."""
_LANES: Final = 8
"""Rows of S are a multiple of it long, so that compiled code computes several cells at once."""
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
    The weight w of an example multiplies its loss; it is at most 1e6. An example with |y − p| < 0.001 is
    ignored, also by S.

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
        error = (1.0 if target else 0.0) - p
        if abs(error) < _NEGLIGIBLE:
            return
        q = w * p * (1.0 - p)
        memory.multiply(self._covariance, self._capacity, self.n, inputs, self._gain)
        spread = 0.0
        for k in range(self.n):
            spread += inputs[k] * self._gain[k]
        f = 1.0 / (1.0 + q * max(spread, 0.0))
        step, root = f * w * error, sqrt(f * q)
        for k in range(self.n):
            self._weights[k] += step * self._gain[k]
            self._gain[k] *= root
        # S stays exactly symmetric: a difference between its halves would grow by 1/λ with each example.
        keep = 1.0 / (1.0 - (1.0 - self.forgetting) * information)
        most = self.variance if self.forgetting < 1 else inf
        memory.shrink(self._covariance, self._capacity, self.n, self._gain, keep, most)

    def reserve(self, n: int) -> None:
        """Make room for n inputs."""
        if n > self._capacity:
            capacity = (n + _LANES - 1) // _LANES * _LANES
            weights, gain = doubles(capacity), doubles(2 * capacity)
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
