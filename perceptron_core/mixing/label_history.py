"""The labels so far: the last ones as inputs of a mixer, and how much one tells.

`label_history.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core.base import restored
from perceptron_core.elementary import log

RATES: Final = (0.5, 0.9, 0.98, 0.998)
"""By how much a label counts less with each that follows."""
N_RATES: Final = len(RATES)
LABEL_HISTORY: Final = "labels of the last events"
"""The name of what they add to a log-odds."""
_LEAST: Final = 3.353501304664781e-4
"""Share of a class whose log-odds are −8, where inputs of mixers are cut."""


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
        """Return the variance of a label, p(1 − p) for a class of share p so far, by that of p = ½."""
        share = (self._n_of_class + 1.0) / (self._n_labels + 2.0)
        return 4.0 * share * (1.0 - share)

    def show(self, inputs: array[float]) -> None:
        """Write the log-odds of the shares where the inputs of a mixer begin."""
        for k in range(len(self._shares)):
            share = max(_LEAST, min(self._shares[k], 1.0 - _LEAST))
            inputs[k] = log(share / (1.0 - share))

    def get_state(self) -> list[Any]:
        """Return the shares, then the labels of the class, and all."""
        return [*memoryview(self._shares).tolist(), self._n_of_class, self._n_labels]

    def set_state(self, state: Any) -> None:
        """Take what `get_state` returned. Raises ValueError for what is no such thing."""
        found = restored.several(state, restored.double, N_RATES + 2)
        for k in range(N_RATES):
            self._shares[k] = restored.between(0.0, 1.0)(found[k])
        self._n_labels = restored.count(state[N_RATES + 1])
        self._n_of_class = restored.whole(self._n_labels)(state[N_RATES])
