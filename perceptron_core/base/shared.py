"""Declare which numbers of a learner lanes mix, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from perceptron_core.base.update import Label


class Layout(NamedTuple):
    """The numbers that are mixed, in the order they are written: names of attributes, each with its kind.

    `KINDS` of `sharing/kinds.py` has the kinds, `sharing/layouts.py` the names of what follows from others.
    """

    of_rows: Mapping[str, str] = {}
    """Columns of the table of weights."""
    of_learner: Mapping[str, str] = {}
    of_class_rows: Mapping[str, str] = {}
    """Lists of such columns, by class."""
    of_class: Mapping[str, str] = {}
    """Columns whose slots are classes."""

    def numbers(self, label: Label, of: int) -> Mapping[str, str]:
        """Return those of a block; its label is None if it is of no class."""
        if label is None:
            return self.of_learner if of else self.of_rows
        return self.of_class if of else self.of_class_rows


Layouts = Mapping[str, Layout]
"""Those of a class, by what of its parameters they depend on: empty for the layout of the defaults."""


def shared(*numbers: Mapping[str, str]) -> Layouts:
    """Return the one layout of a learner, of which nothing depends on its parameters."""
    return {"": Layout(*numbers)}


WEIGHTS: Final = shared({"weight_column": "mean"}, {"bias": "mean"})
"""Of learners of two classes whose updates add up."""
WEIGHTS_BY_CLASS: Final = shared({}, {}, {"weight_columns": "mean"}, {"biases": "mean"})
