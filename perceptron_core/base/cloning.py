"""What River asks of a learner whose state is not in its `__dict__`. In: a model. Out: its copies.

Compiled rules keep their numbers where `copy` and `pickle` do not look.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Self

from river import base

from perceptron_core.weights.example import Column
from perceptron_core.weights.weight_table import Slots


class Copied(base.Base):
    """A learner that tells its state and takes it."""

    _get_state: Callable[[], dict[str, Any]]
    _set_state: Callable[[Mapping[str, Any]], None]

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Make a model of the same parameters; with `include_attributes`, with all that was learned."""
        clone = super().clone(new_params, include_attributes)
        if include_attributes:
            clone._set_state(copy.deepcopy(self._get_state()))  # noqa: SLF001  of our own class
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        parameters = {name: getattr(self, name) for name in self._get_params()}
        own = {name: value for name, value in vars(self).items() if not isinstance(value, Slots | Column)}
        return _remake, (type(self), parameters, own, self._get_state())


def _remake(
    cls: type[Copied], parameters: Mapping[str, Any], own: Mapping[str, Any], state: Mapping[str, Any]
) -> Copied:
    """Make a model again of what `__reduce__` gave; `own` is what a class derived from ours added."""
    model = cls(**parameters)
    vars(model).update(own)
    model._set_state(state)
    return model
