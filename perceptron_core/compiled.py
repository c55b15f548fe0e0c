"""Two-class learners of compiled rules. In: a rule. Out: what River asks of a learner, copies and frames.

Compiled rules keep their numbers where `copy` and `pickle` do not look.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from river import base

from perceptron_core.batches import DenseBatch, Doubles, decide, signs_of, weights_of
from perceptron_core.binary import BinaryClassifier
from perceptron_core.entries import Column
from perceptron_core.frames import sound_rows
from perceptron_core.hashed_slots import HashedSlots
from perceptron_core.rules import BinaryRule
from perceptron_core.slots import Slots


class CompiledClassifier(BinaryRule, BinaryClassifier):
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
        scores = self._score_leading(frame)
        classes = np.empty(len(scores), bool)
        decide(self, scores, classes.view(np.uint8))
        return classes.tolist()

    def _predict_proba_leading(self, frame: Any) -> list[dict[base.typing.ClfTarget, float]]:
        return [self._probabilities(score) for score in self._score_leading(frame).tolist()]

    def _score_leading(self, frame: Any) -> Doubles:
        matrix = sound_rows(frame)
        scores = np.empty(len(matrix))
        if len(matrix):
            DenseBatch(self.slots, frame.columns, matrix).score(self, scores)
        return scores

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
    cls: type[CompiledClassifier],
    parameters: Mapping[str, Any],
    own: Mapping[str, Any],
    state: Mapping[str, Any],
) -> CompiledClassifier:
    """Make a model again of what `__reduce__` gave; `own` is what a class derived from ours added."""
    model = cls(**parameters)
    vars(model).update(own)
    model._set_state(state)
    return model
