"""Features as shared names and an array of doubles, which act as a mapping.

Events of a stream mostly have the same features. They share one tuple of names, each event has its own
numbers, and a learner that has seen the tuple does not look the names up again. This is the interpreted
form, a dictionary; `named_values.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perceptron_core.validation import MAX_MAGNITUDE, one_number_each, refuse_features
from perceptron_core.weights.example import Example
from perceptron_core.weights.feature_array import FeatureArray


class NamedValues(FeatureArray):
    """An immutable mapping from names to numbers, in order.

    Parameters
    ----------
    names
        Strings, no two alike.
    values
        A number for each.

    """

    names: tuple[str, ...]

    def __init__(self, names: Iterable[str], values: Iterable[float]) -> None:
        self.names = tuple(names)
        for name in self.names:
            if type(name) is not str:
                raise TypeError(f"name {name!r} is no string")
        numbers = one_number_each(self.names, values, "names")
        super().__init__(zip(self.names, numbers, strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedValues, (self.names, list(self.values()))

    def fill(self, example: Example) -> None:
        """Write the values into an example with these names. Raises `FeatureError` if one is too large."""
        for k, value in enumerate(self.values()):
            if not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
                raise refuse_features(self)
            example.values[k] = value
