"""The numbers of each learner that lanes share, and how each is mixed.

A learner says in `SHARED` what that is; `kinds` says what the kinds do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.base.shared import Layout
from perceptron_core.base.update import Label
from perceptron_core.learners import learners
from perceptron_core.sharing.columns import SharedAttribute, SharedColumn, SharedCount
from perceptron_core.sharing.derived_columns import (
    BiasGradient,
    Gradients,
    MeanBias,
    MeanOfClass,
    MeanWeights,
    ScaledWeights,
    ScalesOfClasses,
)
from perceptron_core.sharing.kinds import KINDS, Kind

_DERIVED: Final[dict[str, Callable[[Kind, Any, int], SharedColumn]]] = {
    "bias_gradient": BiasGradient,
    "gradients": Gradients,
    "mean_bias": MeanBias,
    "mean_bias_of_class": lambda kind, rule, k: MeanOfClass(kind, rule, rule.biases, rule.late_biases, k),
    "mean_weights": MeanWeights,
    "mean_weights_of_class": lambda kind, rule, k: MeanOfClass(
        kind, rule, rule.weight_columns[k], rule.late_columns[k]
    ),
    "scaled_weights": lambda kind, rule, _: ScaledWeights(kind, rule.weight_column, rule.scale_column),
    "scaled_weights_of_class": lambda kind, rule, k: ScaledWeights(
        kind, rule.weight_columns[k], rule.scale_column
    ),
    "scales_of_classes": ScalesOfClasses,
}
"""Numbers that follow from others."""

_SHARERS: Final = {cls.__name__: cls for cls in learners().values() if getattr(cls, "SHARED", None)}
LAYOUTS: Final[dict[str, Layout]] = {
    name + parameters: layout for name, cls in _SHARERS.items() for parameters, layout in cls.SHARED.items()
}
"""By name, which says the class and what else matters."""


def name_of_layout(learner: Any) -> str:
    """Return which of `LAYOUTS` a learner has. Raises TypeError, naming its class, if it cannot be mixed."""
    cls = type(learner)
    if _SHARERS.get(cls.__name__) is not cls:
        names = sorted([AutoClassifier.__name__, *_SHARERS])
        whose = "" if cls.__module__.startswith("perceptron_core.") else f"{cls.__module__}."
        raise TypeError(f"{whose}{cls.__name__} cannot be shared; those that can are {', '.join(names)}")
    name: str = cls.__name__ + learner._layout()  # noqa: SLF001  of our own class
    return name


def kinds_of(layout: Layout, label: Label, of: int) -> list[Kind]:
    """Return the kinds of the columns of a block."""
    return [KINDS[kind] for kind in layout.numbers(label, of).values()]


def columns_of(layout: Layout, label: Label, of: int, learner: Any, number: int) -> list[SharedColumn]:
    """Return the columns of a block of a learner; of several classes, that of a number."""
    columns = []
    for name, kind in layout.numbers(label, of).items():
        if name in _DERIVED:
            columns.append(_DERIVED[name](KINDS[kind], learner, number))
        elif not of:
            column = getattr(learner, name)
            columns.append(SharedColumn(KINDS[kind], column if label is None else column[number]))
        elif label is None:
            make = SharedCount if kind == "count" else SharedAttribute
            columns.append(make(KINDS[kind], learner, name))
        else:
            columns.append(SharedColumn(KINDS[kind], getattr(learner, name), number))
    return columns
