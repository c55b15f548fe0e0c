"""The compiled half of multiclass learners.

Classes have numbers, in the order of their first occurrence. `multiclass_rule.pxd` gives this module its C
types.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from perceptron_core.linear import restored
from perceptron_core.linear.declarations import NO_CLASS, Label, Update
from perceptron_core.validation import example_weight
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.index import FeatureIndex
from perceptron_core.weights.tables import WeightTable


class MulticlassRule:
    """The base of multiclass learners: predicts the class with the highest score, at a tie the first.

    An algorithm adds `learn`.
    """

    fit_intercept: bool
    n_mistakes: int
    n_updates: int
    table: WeightTable
    labels: list[Label]
    numbers: dict[Label, int]
    weight_columns: list[Column]
    biases: Column
    scores: Column

    def clear(self) -> None:
        """Start with no class and no feature."""
        table, biases, scores = WeightTable(FeatureIndex()), Column(), Column()
        self.labels, self.numbers, self.weight_columns = [], {}, []  # set at once
        self.table, self.biases, self.scores = table, biases, scores

    def add_class(self, label: Label) -> None:
        """Add a class with zero weights, which comes last at ties.

        `forget_last` undoes it, even if it was interrupted.
        """
        number = len(self.labels)
        if number >= len(self.biases.cells):  # by doubling, for many classes
            self.biases.grow(2 * number + 2)
        if number >= len(self.scores.cells):
            self.scores.grow(2 * number + 2)
        self.biases.cells[number] = self.scores.cells[number] = 0.0
        self.start_column(self.weight_columns, Column())
        self.labels.append(label)
        self.numbers[label] = number

    def start_column(self, columns: list[Any], column: Column) -> None:
        """Add a class's column of features to the columns of the other classes."""
        columns.append(column)
        self.table.add_column(column)

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `add_class`, even an interrupted call: keep `n_known` classes; allocate no memory."""
        if label in self.numbers:
            del self.numbers[label]
        while len(self.labels) > n_known:
            self.labels.pop()
        self.drop_columns(self.weight_columns, n_known)

    def drop_columns(self, columns: list[Any], n_kept: int) -> None:
        """Remove all but the first `n_kept` columns from a list of columns by class."""
        while len(columns) > n_kept:
            self.table.drop_column(columns.pop())

    def score(self, x: Example) -> None:
        """Compute the score w·x + b of each class."""
        for number in range(len(self.weight_columns)):
            column = self.weight_columns[number]
            self.scores.cells[number] = column.dot(x, self.biases.cells[number])

    def best(self, excepted: int) -> int:
        """Return the class other than `excepted` with the highest score; `NO_CLASS` if there is none."""
        highest = NO_CLASS
        for number in range(len(self.labels)):
            if number != excepted and (highest < 0 or self.scores.cells[number] > self.scores.cells[highest]):
                highest = number
        return highest

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn a scored example of a class, with weight w > 0; return None if nothing changed."""
        raise NotImplementedError

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Return a model with the same parameters; with `include_attributes`, also the learned state."""
        return restored.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored.reduce(self)

    def check_label(self, label: Any) -> Label:
        """Return a label in normal form. Raises `LabelError` if it is not one of `classes`."""
        raise NotImplementedError

    def scores_one(self, x: Any) -> dict[Label, float]:
        """Compute the score of each known class, in the order that breaks ties.

        Each is summed from the bias in the order of `x`. Raises `FeatureError` for a value that is not finite
        or is larger than 1e100.
        """
        example = self.resolve(x)
        self.score(example)
        self.table.release(example)
        return self.by_class(self.scores)

    def predict_one(self, x: Any, **_: Any) -> Any:
        """Predict the class of `x`: None before any class is known. Raises `FeatureError` as `scores_one`."""
        example = self.resolve(x)
        self.score(example)
        best = self.best(NO_CLASS)
        self.table.release(example)
        return None if best < 0 else self.labels[best]

    def update_one(self, x: Any, y: Any, w: float = 1.0) -> Update | None:
        """Learn from one example as `learn_one` does; return the step, None if nothing changed."""
        label = y if type(y) is str and y in self.numbers else self.check_label(y)
        weight = example_weight(w)
        example = self.resolve(x)
        step = self.learn_label(label, example, weight) if weight > 0 else None
        self.table.release(example)
        return step

    def predict_learn(self, x: Any, y: Any, w: float = 1.0) -> tuple[dict[Label, float], Update | None]:
        """Score one example, then learn from it: `scores_one` and `update_one` in one call, bit-identical.

        Returns the scores by class before the update, and the step made. Raises as `learn_one` does.
        """
        label = y if type(y) is str and y in self.numbers else self.check_label(y)
        weight = example_weight(w)
        example = self.resolve(x)
        self.score(example)
        scores = self.by_class(self.scores)
        step = self.learn_scored(label, example, weight) if weight > 0 else None
        self.table.release(example)
        return scores, step

    def learn_label(self, label: Label, x: Example, w: float) -> Update | None:
        """Score, learn and count an example of weight w > 0; if memory runs out, nothing changes."""
        self.score(x)
        return self.learn_scored(label, x, w)

    def learn_scored(self, label: Label, x: Example, w: float) -> Update | None:
        """Learn a scored example as `learn_label` does."""
        guess = self.best(NO_CLASS)
        if label in self.numbers:
            number = self.numbers[label]
            step = self.learn(x, number, w)
        else:
            number = len(self.labels)
            step = self.learn_first(label, x, w)
        self.n_mistakes += guess != number
        self.n_updates += step is not None
        return step

    def learn_first(self, label: Label, x: Example, w: float) -> Update | None:
        """Add a class and learn its first example, or neither."""
        number = len(self.labels)
        try:
            self.add_class(label)
            return self.learn(x, number, w)
        except BaseException:
            self.forget_last(label, number)
            raise

    def resolve(self, x: Any) -> Example:
        """Look up the features of `x`; see `WeightTable.resolve`."""
        if self.table is None:  # an unset attribute, when compiled
            raise AttributeError(f"{type(self).__name__}.__init__ must call super().__init__()")
        table = self.table
        example = table.resolve(x)
        if self.table is not table:
            raise RuntimeError("the model was cleared while the values of an example were read")
        return example

    def by_class(self, column: Column) -> dict[Label, float]:
        """Return the cells of a column whose slots are classes, by class."""
        return {label: column.cells[number] for label, number in self.numbers.items()}

    def write_by_class(self, column: Column, cells: Mapping[Label, float]) -> None:
        """Replace the cells of a column whose slots are classes. Raises `ValueError` for impossible cells."""
        column.check(array("d", cells.values()))
        for label, cell in cells.items():
            number = self.numbers[label]
            column.cells[number] = cell


class AdditiveMulticlassRule(MulticlassRule):
    """A linear rule whose updates add a multiple of the example to one class and subtract it from another.

    So the weights are sums of steps times examples, and an update can be undone.
    """

    def move(self, x: Example, gained: int, lost: int, size: float, n_before: int) -> None:  # noqa: ARG002
        """Add size·x to the weights of one class and subtract it from the weights of another."""
        self.table.begin_update(x)
        if self.add(x, gained, size) + self.add(x, lost, -size):
            self.table.drop_zero_rows(x)

    def add(self, x: Example, number: int, size: float) -> int:
        """Add size·x to the weights of a class and size to its bias; return how many became 0."""
        if self.fit_intercept:
            self.biases.cells[number] += size
        column = self.weight_columns[number]
        return column.add(x, size)

    def undo_one(self, x: Any, step: Sequence[Any] | None) -> None:
        """Undo the `step` that `update_one` made on `x`, even if others followed.

        Exact if sums are exact (counts, binary features), otherwise up to rounding. `n_updates` and
        `n_mistakes` do not change, and a class that the example added remains.
        """
        example = self.resolve(x)
        if step is not None:
            made = Update(*step)
            self.move(example, self.numbers[made.gained], self.numbers[made.lost], -made.size, made.n_before)
        self.table.release(example)
