"""What is mixed of each learner. In: a learner. Out: its shared columns, in blocks.

A learner whose class has no layout cannot be mixed. `kinds` says what the kinds do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.base.update import Label
from perceptron_core.binary.logistic_regression import LogisticRegression
from perceptron_core.binary.margin import MarginPerceptron
from perceptron_core.binary.passive_aggressive import PassiveAggressive
from perceptron_core.binary.perceptron import Perceptron
from perceptron_core.multiclass.passive_aggressive import MulticlassPassiveAggressive
from perceptron_core.multiclass.perceptron import MulticlassPerceptron
from perceptron_core.sharing.columns import SharedAttribute, SharedCell, SharedColumn
from perceptron_core.sharing.kinds import MEAN, Kind

Make = Callable[[Kind, Any, int], SharedColumn]


class Part(NamedTuple):
    """A number of a learner: of each feature, or of the learner as a whole."""

    kind: Kind
    make: Make
    """Finds it in a learner; of several classes, in that of a number."""


class Layout(NamedTuple):
    """The numbers of a learner that are mixed, those of each feature and those of the learner as a whole."""

    of_rows: Sequence[Part] = ()
    of_learner: Sequence[Part] = ()
    of_class_rows: Sequence[Part] = ()
    of_class: Sequence[Part] = ()

    def parts(self, label: Label, of: int) -> Sequence[Part]:
        """Return those of a block; its label is None if it is of no class."""
        if label is None:
            return self.of_learner if of else self.of_rows
        return self.of_class if of else self.of_class_rows

    def kinds(self, label: Label, of: int) -> list[Kind]:
        """Return the kinds of the columns of a block."""
        return [part.kind for part in self.parts(label, of)]


def column(kind: Kind, name: str) -> Part:
    """Name a column of a learner."""
    return Part(kind, lambda kind, learner, _: SharedColumn(kind, getattr(learner, name)))


def attribute(kind: Kind, name: str) -> Part:
    """Name a number of a learner as a whole."""
    return Part(kind, lambda kind, learner, _: SharedAttribute(kind, learner, name))


def column_of_class(kind: Kind, name: str) -> Part:
    """Name a list of columns, by class."""
    return Part(kind, lambda kind, learner, number: SharedColumn(kind, getattr(learner, name)[number]))


def cell_of_class(kind: Kind, name: str) -> Part:
    """Name a column whose slots are classes."""
    return Part(kind, lambda kind, learner, number: SharedCell(kind, learner, name, number))


_WEIGHTS: Final = Layout([column(MEAN, "weight_column")], [attribute(MEAN, "bias")])
_WEIGHTS_BY_CLASS: Final = Layout(
    of_class_rows=[column_of_class(MEAN, "weight_columns")], of_class=[cell_of_class(MEAN, "biases")]
)

_LAYOUTS: Final[dict[type, Layout]] = {
    LogisticRegression: _WEIGHTS,
    MarginPerceptron: _WEIGHTS,
    MulticlassPassiveAggressive: _WEIGHTS_BY_CLASS,
    MulticlassPerceptron: _WEIGHTS_BY_CLASS,
    PassiveAggressive: _WEIGHTS,
    Perceptron: _WEIGHTS,
}
LAYOUTS: Final = {cls.__name__: layout for cls, layout in _LAYOUTS.items()}
"""By the name of the class."""


def layout_of(learner: Any) -> Layout:
    """Return what is mixed of a learner. Raises TypeError, naming its class, if it cannot be mixed."""
    name = type(learner).__name__
    if getattr(learner, "full", False):
        raise TypeError(f"{name}(full=True) cannot be shared: its covariances do not add up by feature")
    if type(learner) not in _LAYOUTS:
        raise TypeError(f"{name} cannot be shared; those that can are {', '.join(sorted(LAYOUTS))}")
    return _LAYOUTS[type(learner)]
