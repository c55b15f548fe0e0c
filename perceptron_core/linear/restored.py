"""States of learners: check the values of a loaded state, and copy a learner through its state.

Columns check their own values (`weights/example.py`). `copy` and `pickle` cannot access the numbers of
compiled rules.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from river import base

from perceptron_core.validation import MAX_LEARNED
from perceptron_core.weights.example import Column
from perceptron_core.weights.tables import WeightTable

Number = TypeVar("Number")

State = Mapping[str, Callable[[Any], Any]]
"""The state of a learner: names of attributes, each with its check, in the saved order."""

Read = Callable[[Any, str], Any]
"""A function that reads an attribute of a learner: `getattr`, or a faster one."""

_MAX_INTEGER: Final = 1 << 53
"""Largest count: doubles represent every whole number up to it, and no count reaches it."""
_MIN_SUM: Final = 1e-250


def text(value: Any) -> str:
    """Check a string."""
    if type(value) is not str:
        raise ValueError(f"expected a string, got {value!r:.100}")
    return value


def whole(most: int) -> Callable[[Any], int]:
    """Return a check of a count up to a bound."""

    def checked(value: Any) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise ValueError(f"expected a whole number from 0 to {most}, got {value!r:.100}")
        return value

    return checked


count = whole(_MAX_INTEGER)
"""Check a count."""


def double(value: Any) -> float:
    """Check a number of any size, which may be NaN."""
    if not isinstance(value, float | int) or isinstance(value, bool):
        raise ValueError(f"expected a number, got {value!r:.100}")  # noqa: TRY004  what is wrong is the state
    return float(value)


def number(value: Any) -> float:
    """Check a number: finite, and far from the largest double."""
    if not -MAX_LEARNED <= double(value) <= MAX_LEARNED:
        raise ValueError(f"expected a number from -{MAX_LEARNED:g} to {MAX_LEARNED:g}, got {value!r}")
    found: float = value
    return found


def between(lowest: float, highest: float) -> Callable[[Any], float]:
    """Return a check of a number within bounds."""

    def checked(value: Any) -> float:
        if not lowest <= double(value) <= highest:
            raise ValueError(f"expected a number from {lowest:g} to {highest:g}, got {value!r}")
        return double(value)

    return checked


size = between(0.0, MAX_LEARNED)


def squared_sum(value: Any) -> float:
    """Check a sum of squares that is a divisor, if it is not 0."""
    if 0 < size(value) < _MIN_SUM:
        raise ValueError(f"expected a sum of squares, 0 or at least {_MIN_SUM:g}, got {value!r}")
    return number(value)


def columns(values: Any) -> Any:
    """Return numbers by name unchecked, as their columns check them."""
    return dict(values) if isinstance(values, dict) else values


def numbers(values: Any) -> dict[Any, float]:
    """Check numbers by name."""
    return {name: number(value) for name, value in _items(values)}


def several(values: Any, kind: Callable[[Any], Number], n: int) -> list[Number]:
    """Check n values of a kind."""
    if not isinstance(values, tuple | list) or len(values) != n:
        raise ValueError(f"expected {n} values, got {values!r:.100}")
    return [kind(value) for value in values]


def classes(values: Iterable[Any], given: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """Check the classes: they must differ, and be the given ones, if any."""
    labels = tuple(values)
    if len(set(labels)) < len(labels) or any(each is None or each != each for each in labels):  # noqa: PLR0124  NaN
        raise ValueError(f"expected different classes, got {labels!r:.100}")
    if given is not None and labels != tuple(given):
        raise ValueError(f"expected the classes {given!r:.100}, got {labels!r:.100}")
    return labels


def matrix(rows: Any) -> dict[Any, dict[Any, float]]:
    """Check a square matrix, a dictionary of its rows, each with its diagonal."""
    square = {name: numbers(row) for name, row in _items(rows)}
    for name, row in square.items():
        if name not in row or not row.keys() <= square.keys():
            raise ValueError(f"expected a square matrix, got the row {name!r:.50} of {[*row]!r:.100}")
    return square


def _items(values: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(values, Mapping):
        raise TypeError(f"expected values by name, got {type(values).__name__}")
    return values.items()


COUNTS: Final[State] = {"n_mistakes": count, "n_updates": count}
"""The counts of every learner."""


def clone(model: Any, new_params: dict[str, Any] | None, *, include_attributes: bool) -> Any:
    """Return a model with the same parameters; with `include_attributes`, also the learned state."""
    made = base.Base.clone(model, new_params, include_attributes)
    if include_attributes:
        made._set_state(copy.deepcopy(model._get_state()))  # noqa: SLF001  of our own class
    return made


def reduce(model: Any) -> tuple[Any, ...]:
    """Return the parts for `pickle`: parameters, state, additional attributes of a subclass."""
    parameters = {name: getattr(model, name) for name in model._get_params()}  # noqa: SLF001  of our own class
    own = {name: value for name, value in vars(model).items() if not isinstance(value, WeightTable | Column)}
    return _remake, (type(model), parameters, own, model._get_state())  # noqa: SLF001


def _remake(
    cls: type[Any], parameters: Mapping[str, Any], own: Mapping[str, Any], state: Mapping[str, Any]
) -> Any:
    """Return a model from the parts of `reduce`."""
    model = cls(**parameters)
    vars(model).update(own)
    model._set_state(state)
    return model
