"""Copies of learners whose state is not in their `__dict__`.

Compiled rules keep their numbers where `copy` and `pickle` do not look.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from river import base

from perceptron_core.weights.example import Column
from perceptron_core.weights.tables import WeightTable


def clone(model: Any, new_params: dict[str, Any] | None, *, include_attributes: bool) -> Any:
    """Make a model of the same parameters; with `include_attributes`, with all that was learned."""
    made = base.Base.clone(model, new_params, include_attributes)
    if include_attributes:
        made._set_state(copy.deepcopy(model._get_state()))  # noqa: SLF001  of our own class
    return made


def reduce(model: Any) -> tuple[Any, ...]:
    """Return what `pickle` remakes a model of: its parameters, its state and what a derived class added."""
    parameters = {name: getattr(model, name) for name in model._get_params()}  # noqa: SLF001  of our own class
    own = {name: value for name, value in vars(model).items() if not isinstance(value, WeightTable | Column)}
    return _remake, (type(model), parameters, own, model._get_state())  # noqa: SLF001


def _remake(
    cls: type[Any], parameters: Mapping[str, Any], own: Mapping[str, Any], state: Mapping[str, Any]
) -> Any:
    """Make a model again of what `reduce` returned."""
    model = cls(**parameters)
    vars(model).update(own)
    model._set_state(state)
    return model
