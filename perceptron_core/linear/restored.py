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
_SMALLEST_SUM: Final = 1e-250


def count(value: Any) -> int:
    """Check a count."""
    if type(value) is not int or not 0 <= value <= _MAX_INTEGER:
        raise ValueError(f"a count is {value!r}")
    return value


def text(value: Any) -> str:
    """Check a string."""
    if type(value) is not str:
        raise ValueError(f"expected a string, got {value!r:.100}")
    return value


def whole(most: int) -> Callable[[Any], int]:
    """Return a check of a count up to a bound."""

    def checked(value: Any) -> int:
        if type(value) is not int or not 0 <= value <= most:
            raise ValueError(f"a count up to {most} is {value!r}")
        return value

    return checked


def double(value: Any) -> float:
    """Check a number of any size, which may be NaN."""
    if not isinstance(value, float | int) or isinstance(value, bool):
        raise ValueError(f"a number is {value!r}")  # noqa: TRY004  what is wrong is the state
    return float(value)


def number(value: Any) -> float:
    """Check a number: finite, and far from the largest double."""
    if not -MAX_LEARNED <= double(value) <= MAX_LEARNED:
        raise ValueError(f"a number is {value!r}")
    found: float = value
    return found


def between(lowest: float, highest: float) -> Callable[[Any], float]:
    """Return a check of a number within bounds."""

    def checked(value: Any) -> float:
        if not lowest <= double(value) <= highest:
            raise ValueError(f"a number from {lowest:g} to {highest:g} is {value!r}")
        return double(value)

    return checked


size = between(0.0, MAX_LEARNED)


def squared_sum(value: Any) -> float:
    """Check a sum of squares that is a divisor, if it is not 0."""
    if 0 < size(value) < _SMALLEST_SUM:
        raise ValueError(f"a sum of squares is {value!r}")
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
        raise ValueError(f"{n} values are {values!r:.100}")
    return [kind(value) for value in values]


def classes(values: Iterable[Any], given: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """Check the classes: they must differ, and be the given ones, if any."""
    labels = tuple(values)
    if len(set(labels)) < len(labels) or any(each is None or each != each for each in labels):  # noqa: PLR0124  NaN
        raise ValueError(f"classes are {labels!r:.100}")
    if given is not None and labels != tuple(given):
        raise ValueError(f"the classes are {labels!r:.100}, not {given!r:.100}")
    return labels


def matrix(rows: Any) -> dict[Any, dict[Any, float]]:
    """Check a square matrix, a dictionary of its rows, each with its diagonal."""
    square = {name: numbers(row) for name, row in _items(rows)}
    if any(name not in row or not row.keys() <= square.keys() for name, row in square.items()):
        raise ValueError("a matrix row lacks its diagonal, or has a column without a row")
    return square


def _items(values: Any) -> Iterable[tuple[Any, Any]]:
    if not isinstance(values, Mapping):
        raise TypeError(f"values by name are {type(values).__name__}")
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
