"""The last labels, as inputs of a mixer.

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

    def count(self, is_class: bool) -> None:
        """Count a label."""
        for k in range(len(self._shares)):
            rate = self._rates[k]
            self._shares[k] = rate * self._shares[k] + (1.0 - rate if is_class else 0.0)

    def show(self, inputs: array[float]) -> None:
        """Write the log-odds of the shares where the inputs of a mixer begin."""
        for k in range(len(self._shares)):
            share = max(_LEAST, min(self._shares[k], 1.0 - _LEAST))
            inputs[k] = log(share / (1.0 - share))

    def get_state(self) -> list[Any]:
        """Return the shares."""
        return memoryview(self._shares).tolist()

    def set_state(self, state: Any) -> None:
        """Take what `get_state` returned. Raises ValueError for what is no such thing."""
        for k, share in enumerate(restored.several(state, restored.between(0.0, 1.0), N_RATES)):
            self._shares[k] = share
