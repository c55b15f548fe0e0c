"""Bayesian logistic regression with the covariances of all weights.

`full_covariance.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from perceptron_core.linear import restored
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.mixing.mixer import Mixer
from perceptron_core.weights.buffers import doubles
from perceptron_core.weights.example import Example

_MAX_WEIGHTS: Final = 101
"""Of the intercept and the features; others are ignored."""
_VARIANCE: Final = 30.0


class FullCovarianceLogistic(LinearRule):
    """Logistic regression by the Newton steps of `Mixer`, for at most 100 features.

    As the weights of collinear features are not independent, it learns from their small differences, as of
    the last values of a time series. Each weight has the variance 30 before the first example.
    """

    STATE: ClassVar[restored.State] = {"mixer": dict, **restored.COUNTS}
    hash_bits = 8
    has_log_odds = True

    def __init__(self) -> None:
        super().__init__()
        self._mixer, self._inputs = Mixer(_VARIANCE, 1.0), doubles(_MAX_WEIGHTS)
        self._mixer.reserve(_MAX_WEIGHTS)
        self._mixer.add_input(0.0)
        self._inputs[0] = 1.0

    def score(self, x: Example) -> float:
        """Compute the log-odds."""
        for k in range(1, self._mixer.n):
            self._inputs[k] = 0.0
        for k in range(x.n):
            if 0 <= x.slots[k] < _MAX_WEIGHTS - 1:
                self._inputs[x.slots[k] + 1] = x.values[k]
        return self._mixer.mix(self._inputs)

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn the example that was scored last; return 0."""
        for k in range(x.n):
            while self._mixer.n < min(x.slots[k] + 2, _MAX_WEIGHTS):
                self._mixer.add_input(0.0)
                self.score(x)  # sets the new input
        self.n_mistakes += (a > 0) != (sign > 0)
        self.n_updates += 1
        self._mixer.learn(self._inputs, sign > 0, w, a)
        return 0.0

    @property
    def mixer(self) -> dict[str, Any]:
        """The state of the weights."""
        return self._mixer.get_state()

    @mixer.setter
    def mixer(self, state: Mapping[str, Any]) -> None:
        if not 0 < len(state["weights"]) <= _MAX_WEIGHTS:
            raise ValueError(f"{len(state['weights'])} weights with covariances, at most {_MAX_WEIGHTS}")
        self._mixer.set_state(state)
        self._mixer.reserve(_MAX_WEIGHTS)
