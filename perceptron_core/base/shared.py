"""What is mixed of a learner that shares its model. In: names of its numbers. Out: the kind of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from perceptron_core.base.update import Label

Kind = Literal[
    "amount",
    "average",
    "confident mean",
    "confident mean of SCW",
    "count",
    "count mean",
    "maximum",
    "mean",
    "mean amount",
    "mean precision",
    "precision",
    "sum",
]
"""How a number is mixed; `sharing/kinds.py` has the rules."""


class Layout(NamedTuple):
    """The numbers that are mixed, each by the name of a learner's attribute, in the order they are written.

    A number that follows from others has its name from `sharing/derived_columns.py`.
    """

    of_rows: Mapping[str, Kind] = {}
    """Columns of the table of weights."""
    of_learner: Mapping[str, Kind] = {}
    of_class_rows: Mapping[str, Kind] = {}
    """Lists of such columns, by class."""
    of_class: Mapping[str, Kind] = {}
    """Columns whose slots are classes."""

    def numbers(self, label: Label, of: int) -> Mapping[str, Kind]:
        """Return those of a block; its label is None if it is of no class."""
        if label is None:
            return self.of_learner if of else self.of_rows
        return self.of_class if of else self.of_class_rows


Layouts = Mapping[str, Layout]
"""Those of a class, by what of its parameters they depend on: empty for the layout of the defaults."""

WEIGHTS: Final[Layouts] = {"": Layout({"weight_column": "mean"}, {"bias": "mean"})}
"""Of learners of two classes whose updates add up."""
WEIGHTS_BY_CLASS: Final[Layouts] = {
    "": Layout(of_class_rows={"weight_columns": "mean"}, of_class={"biases": "mean"})
}
