"""The confusion matrix of labelled predictions, and what follows from it.

These are precision, recall and the like of each class, and the error of the majority baseline, which always
predicts the most frequent class: it needs no features, and a model that makes as many mistakes as it has
learned nothing from them. `confusion.pxd` gives this module its C types.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from service.messages.labels import Truth
from service.partition.examples import Correction, LearnedExamples

Label = TypeVar("Label", bound=Hashable)

MOST_CLASSES: Final = 32
"""Classes that are told apart; the others are one."""
OTHERS: Final = "(others)"
"""The name of the classes beyond them."""


class Confusion:  # noqa: PLW1641 - counted on, so not hashable
    """Labelled predictions by their truth and by what was predicted.

    Examples
    --------
    >>> confusion = Confusion()
    >>> confusion.add_all([(True, True), (True, True), (False, True)])
    >>> confusion.cells[False, True], confusion.baseline_mistakes
    (1, 1)

    """

    def __init__(self) -> None:
        self.cells: Counter[tuple[Truth, Truth]] = Counter()
        """Predictions by (truth, predicted)."""
        self.truths: Counter[Truth] = Counter()
        """Labels by class."""
        self.revoked: Counter[tuple[Truth, Truth]] = Counter()
        """Predictions by the (truth, predicted) that they had before a label corrected the truth."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other has counted the same."""
        if not isinstance(other, Confusion):
            return NotImplemented
        mine, its = ((each.cells, each.truths, each.revoked) for each in (self, other))
        return mine == its

    @property
    def count(self) -> int:
        """How many predictions there were."""
        return self.truths.total()

    @property
    def baseline_mistakes(self) -> int:
        """How many of them are not of the commonest class: what always predicting it would have missed."""
        return self.count - max(self.truths.values(), default=0)

    def copy(self) -> Confusion:
        """Return a copy that later counting leaves alone."""
        copy = Confusion()
        copy.cells, copy.truths, copy.revoked = self.cells.copy(), self.truths.copy(), self.revoked.copy()
        return copy

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        state = {"cells": [[*cell, count] for cell, count in self.cells.items()]}
        revoked = [[*cell, count] for cell, count in self.revoked.items()]
        return state | ({"revoked": revoked} if revoked else {})

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Confusion:
        """Return the counts that `state` described."""
        confusion = cls()
        for truth, predicted, count in state["cells"]:
            confusion.cells[truth, predicted] = count
            confusion.truths[truth] += count
        for truth, predicted, count in state.get("revoked", ()):
            confusion.revoked[truth, predicted] = count
        return confusion

    def observe(self, learned: LearnedExamples) -> None:
        """Record labelled predictions, in order."""
        cells = learned.cells()
        if cells is None or not isinstance(next(iter(self.truths), True), bool):
            self.add_all([*zip(learned.truths, learned.predictions(), strict=True)])
        elif cells:
            self._add_cells(cells)

    def add_all(self, pairs: Sequence[tuple[Truth, Truth]]) -> None:
        """Record predictions as (truth, predicted), in order."""
        for truth, predicted in pairs:
            self._add(truth, predicted)

    def correct(self, correction: Correction) -> None:
        """Record that a prediction has another truth."""
        predicted, before, truth = correction.predicted, correction.before, correction.truth
        self.cells[before, predicted] -= 1
        self.cells[truth, predicted] += 1
        self.truths[before] -= 1
        self.truths[truth] += 1
        self.revoked[before, predicted] += 1

    def _add(self, truth: Truth, predicted: Truth) -> None:
        self.cells[truth, predicted] = self.cells.get((truth, predicted), 0) + 1
        self.truths[truth] = self.truths.get(truth, 0) + 1

    def _add_cells(self, cells: bytes) -> None:
        """Record predictions of two classes as 2·truth + prediction, in order."""
        for cell in sorted(set(cells), key=cells.index):
            count = cells.count(cell)
            self.cells[cell > 1, cell % 2 == 1] += count
            self.truths[cell > 1] += count


class ClassFigures(NamedTuple):
    """Figures of one class against all others, 0-1; None where they divide by nothing.

    References
    ----------
    Matthews, B. W. (1975). Comparison of the predicted and observed secondary structure of T4 phage lysozyme.
    Biochimica et Biophysica Acta 405(2). The correlation: 1 if all are right, 0 if by chance, -1 if none is.

    """

    labelled: int
    """Examples of the class."""
    precision: float | None
    """Of the predictions of the class, those that are right."""
    recall: float | None
    """Of its examples, those that were predicted so."""
    f1: float | None
    """The harmonic mean of the two."""
    specificity: float | None
    """Of the examples of other classes, those that were not predicted so."""
    matthews_correlation: float | None


def class_figures(cells: Mapping[tuple[Label, Label], int]) -> dict[Label, ClassFigures]:
    """Return the figures of each class, in the order of the classes, from predictions by (truth, predicted).

    >>> found = class_figures({("ham", "ham"): 8, ("ham", "spam"): 1, ("spam", "spam"): 1})["spam"]
    >>> found.precision, found.recall, found.specificity, found.matthews_correlation
    (0.5, 1.0, 0.888..., 0.666...)
    """
    truths, predictions = labels_of(cells), Counter[Label]()
    for (_, predicted), count in cells.items():
        predictions[predicted] += count
    labels = sorted(truths | predictions, key=str)
    total = truths.total()
    return {
        label: _figures(cells.get((label, label), 0), truths[label], predictions[label], total)
        for label in labels
    }


def labels_of(cells: Mapping[tuple[Label, Label], int]) -> Counter[Label]:
    """Return the labels by class, from predictions by (truth, predicted)."""
    truths = Counter[Label]()
    for (truth, _), count in cells.items():
        truths[truth] += count
    return truths


def _figures(hits: int, positives: int, predicted: int, total: int) -> ClassFigures:
    negatives, rejected = total - positives, total - predicted
    spread = math.sqrt(predicted * positives * negatives * rejected)
    return ClassFigures(
        positives,
        ratio(hits, predicted),
        ratio(hits, positives),
        ratio(2 * hits, predicted + positives),
        ratio(negatives - predicted + hits, negatives),
        ratio(total * hits - predicted * positives, spread),
    )


def ratio(part: float, whole: float) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None


def first_classes(pairs: Iterable[tuple[Label, Label]]) -> list[Label]:
    """Return the classes that are told apart: the first that cells had, which does not change later."""
    return [*dict.fromkeys(label for pair in pairs for label in pair)][:MOST_CLASSES]
