"""Which classes are taken for which. In: labelled predictions. Out: the confusion matrix, and a baseline.

The baseline always predicts the class that was the truth most often so far: it needs no features, and a
model that makes as many mistakes as it has learned nothing from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from service.messages.labels import Truth
from service.partition.learned_examples import Step


@dataclass(slots=True)
class Confusion:
    """Labelled predictions by their truth and by what was predicted.

    Examples
    --------
    >>> confusion = Confusion()
    >>> confusion.add_all([(True, True), (True, True), (False, True)])
    >>> confusion.cells[False, True], confusion.baseline_mistakes
    (1, 2)

    """

    cells: Counter[tuple[Truth, Truth]] = field(default_factory=Counter)
    """Predictions by (truth, predicted)."""
    truths: Counter[Truth] = field(default_factory=Counter)
    """Labels by class."""
    commonest: Truth | None = None
    """The class of most labels; of several, the one that was first to have so many."""
    baseline_mistakes: int = 0
    """Labels that were not the commonest class so far; the first one was not either."""

    @property
    def count(self) -> int:
        """How many predictions there were."""
        return self.truths.total()

    def copy(self) -> Confusion:
        """Return a copy that later counting leaves alone."""
        return replace(self, cells=self.cells.copy(), truths=self.truths.copy())

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        return {
            "cells": [[*cell, count] for cell, count in self.cells.items()],
            "commonest": self.commonest,
            "baseline_mistakes": self.baseline_mistakes,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Confusion:
        """Return the counts that `state` described."""
        confusion = cls(commonest=state["commonest"], baseline_mistakes=state["baseline_mistakes"])
        for truth, predicted, count in state["cells"]:
            confusion.cells[truth, predicted] = count
            confusion.truths[truth] += count
        return confusion

    def observe(self, steps: Sequence[Step]) -> None:
        """Record labelled predictions, in order."""
        self.add_all([(step.truth, step.predicted) for step in steps])

    def add_all(self, pairs: Sequence[tuple[Truth, Truth]]) -> None:
        """Record predictions as (truth, predicted), in order."""
        self.cells.update(pairs)
        truths, commonest = self.truths, self.commonest
        most = 0 if commonest is None else truths[commonest]
        for truth, _ in pairs:
            count = truths[truth] + 1
            truths[truth] = count
            if truth != commonest:
                self.baseline_mistakes += 1
            if count > most:
                most, commonest = count, truth
        self.commonest = commonest
