"""Two-class learners of compiled rules. In: a rule. Out: what River asks of a learner, frames at once."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Self

from river import base

from perceptron_core.base.batches import DenseBatch, decide, signs_of, weights_of
from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.binary_rule import BinaryRule
from perceptron_core.base.cloning import Copied
from perceptron_core.base.data_frames import sound_rows
from perceptron_core.weights.example import Column
from perceptron_core.weights.hashed_table import HashedSlots
from perceptron_core.weights.weight_table import Slots

if TYPE_CHECKING:
    from perceptron_core.base.batches import Doubles


class CompiledClassifier(BinaryRule, Copied, BinaryClassifier):
    """A two-class learner in two halves: River's interface, and a rule that learns.

    Of frames, the leading rows with which nothing is wrong are learned in one call. A class derived from ours
    that learns or predicts otherwise says so of `_learn_leading` and `_predict_leading` too.
    """

    hash_bits: int | None = None
    """Features are integers below 2**hash_bits, each with a cell of its own; None: any names."""

    def hashed(self, bits: int) -> Self:
        """Make an untrained learner of the same parameters whose features are integers below 2**bits.

        It is what a `HashedClassifier` learns with, which also copies it and writes it down.
        """
        learner = self.clone()
        learner.hash_bits = bits
        learner._clear()  # noqa: SLF001  of our own class
        return learner

    @abc.abstractmethod
    def _clear(self) -> None:
        """Start with no feature stored."""

    def _start_anew(self) -> None:
        """Forget all features; in place, since a call under way may have entries that point there."""
        is_hashed = isinstance(self.slots, HashedSlots)
        if is_hashed is (self.hash_bits is None):  # a copy that was told its bits since
            self._clear()
        else:
            self.slots.clear()

    def _slots_of(self, *columns: Column) -> Slots:
        return Slots(*columns) if self.hash_bits is None else HashedSlots(self.hash_bits, *columns)

    def _learn_leading(self, frame: Any, labels: list[Any], weights: list[Any]) -> int:
        matrix = sound_rows(frame)
        signs = signs_of(labels[: len(matrix)])
        sizes = weights_of(weights[: len(signs)])
        if len(sizes):
            batch = DenseBatch(self.slots, frame.columns, matrix)
            batch.learn(self, signs[: len(sizes)], sizes)
        return len(sizes)

    def _predict_leading(self, frame: Any) -> list[bool]:
        import numpy as np  # noqa: PLC0415  takes long to import

        scores = self._score_leading(frame)
        classes = np.empty(len(scores), bool)
        decide(self, scores, classes.view(np.uint8))
        return classes.tolist()

    def _predict_proba_leading(self, frame: Any) -> list[dict[base.typing.ClfTarget, float]]:
        return [self._probabilities(score) for score in self._score_leading(frame).tolist()]

    def _score_leading(self, frame: Any) -> Doubles:
        import numpy as np  # noqa: PLC0415  takes long to import

        matrix = sound_rows(frame)
        scores = np.empty(len(matrix))
        if len(matrix):
            DenseBatch(self.slots, frame.columns, matrix).score(self, scores)
        return scores
