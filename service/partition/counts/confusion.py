"""The confusion matrix of labelled predictions, and the error of always predicting the usual class.

The baseline always predicts the class that is the truth most often: it needs no features, and a model that
makes as many mistakes as it has learned nothing from them.

`confusion.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from service.messages.labels import Truth
from service.partition.examples import LearnedExamples
from service.partition.processed import Correction


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
            self.add_all([*zip(learned.truths(), learned.predictions(), strict=True)])
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
