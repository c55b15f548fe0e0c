"""What all multiclass learners have in common. In: features and labels. Out: River's interface.

One weight vector per class; the highest score decides. A learner adds one rule: `_update`, or `_step`
where an update is a multiple of the example.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from river import base

from perceptron_core import sparse
from perceptron_core.binary import Features, check_example_weight
from perceptron_core.errors import LabelError

Label = Hashable
Scores = dict[Label, float]
"""Score by class, in the order that breaks ties."""


class Step(NamedTuple):
    """An update that a multiple of the example made: all that is needed to take it back."""

    size: float
    """In units of x."""
    gained: Label
    lost: Label
    n_before: int = 0
    """Examples learned before it, where that matters: in averages."""


class MulticlassClassifier(base.Classifier):
    """A classifier that decides for the class with the highest score.

    Parameters
    ----------
    classes
        All labels there may be, two or more. None: those seen so far.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class; live, not to be changed.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update. The first example of a
        class not named in `classes` is always one of them.
    n_updates : int
        Updates made.

    """

    STATE: ClassVar[tuple[str, ...]] = ("weights", "bias", "n_mistakes", "n_updates")
    """Names of the attributes that learning changes: what `to_bytes` writes beside the parameters."""

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self.classes = None if classes is None else _check_classes(classes)
        self.fit_intercept = fit_intercept
        self.weights: dict[Label, sparse.Vector] = {label: {} for label in self.classes or ()}
        self.bias: dict[Label, float] = dict.fromkeys(self.weights, 0.0)
        self.n_mistakes = 0
        self.n_updates = 0

    @property
    def _multiclass(self) -> bool:
        return True

    def scores_one(self, x: Features) -> Scores:
        """Compute the score w·x + b of each known class, summed from b in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        return dict(zip(self.bias, sparse.dots(self.weights.values(), x, self.bias.values()), strict=True))

    @staticmethod
    def decide(scores: Mapping[Label, float]) -> Any:
        """Give the class with the highest score, the first of them at a tie; None if there is no class."""
        return max(scores, key=scores.__getitem__, default=None)

    def predict_one(self, x: Features, **_: Any) -> Any:
        """Predict the class of `x`: None before any class is known. Raises `FeatureError` as `scores_one`."""
        return self.decide(self.scores_one(x))

    def predict_proba_one(self, x: Features, **_: Any) -> dict[base.typing.ClfTarget, float]:
        """Give the softmax of the scores.

        The learners here make no probabilities: the numbers order classes, they are not calibrated.
        Raises `FeatureError` as `scores_one` does.
        """
        return softmax(self.scores_one(x))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            Feature values.
        y
            The class: anything hashable; one of `classes`, if these were given.
        w
            Weight of the example; 0 leaves everything as it was.

        Raises
        ------
        FeatureError, LabelError
            As their names say; the state is untouched.
        ValueError
            If `w` is negative or not finite.

        """
        self.update_one(x, y, w)

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> Step | None:
        """Learn from one example as `learn_one` does; give the step made, None if nothing was written."""
        label = self._check_label(y)
        check_example_weight(w)
        scores = self.scores_one(x)
        if w == 0:
            return None
        self.n_mistakes += bool(self.decide(scores) != label)
        scores = self._learning_scores(x, scores)
        if label not in scores:
            self._meet(label)
            scores[label] = 0.0
        step = self._update(x, label, scores, w)
        self.n_updates += step is not None
        return step

    @abc.abstractmethod
    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        """Learn an example of class `label`, w > 0, at these scores; give the step made, None for none."""

    def _learning_scores(self, x: Features, scores: Scores) -> Scores:  # noqa: ARG002  averages need x
        """Give the scores an update goes by, where `predict_one` goes by `scores`: usually the same."""
        return scores

    def _meet(self, label: Label) -> None:
        """Start a class with zero weights; it comes last at ties."""
        self.weights[label] = {}
        self.bias[label] = 0.0

    def _check_label(self, label: Any) -> Label:
        """Give a label as it is kept. Raises `LabelError` for one that cannot be, or is none of `classes`."""
        known: Label = label.item() if isinstance(label, np.generic) else label
        try:
            takes = known in self.bias or (self.classes is None and known is not None and known == known)  # noqa: PLR0124  NaN is not
        except TypeError:
            raise LabelError(f"label {label!r} is not hashable") from None
        if not takes:
            allowed = "anything hashable but None and NaN" if self.classes is None else self.classes
            raise LabelError(f"label {label!r} is none of the classes; there is {allowed}")
        return known

    def _get_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.STATE}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name in self.STATE:
            setattr(self, name, _copy(state[name]))


class SteppingClassifier(MulticlassClassifier):
    """A multiclass learner whose weights are sums of steps times examples: an update can be taken back."""

    @abc.abstractmethod
    def _step(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        """Decide how far to move for an example of class `label`, w > 0; None for not at all."""

    def undo_one(self, x: Features, step: Sequence[Any] | None) -> None:
        """Take back the `step` that `update_one` made on `x`, whatever was learned since.

        Exact wherever the sums are (counts, binary features), else to rounding. Counts stay, and so
        does a class that was met with the example.
        """
        if step is not None:
            undone = Step(*step)
            self._move(x, undone._replace(size=-undone.size))

    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        step = self._step(x, label, scores, w)
        if step is not None:
            self._move(x, step)
        return step

    def _move(self, x: Features, step: Step) -> None:
        """Add size·x to the class that gains, subtract it from the class that loses."""
        self._add(step.gained, x, step.size)
        self._add(step.lost, x, -step.size)

    def _add(self, label: Label, x: Features, size: float) -> None:
        """Add size·x to the weights of a class and size to its bias."""
        sparse.add(self.weights[label], x, size)
        if self.fit_intercept:
            self.bias[label] += size


def best_other(scores: Mapping[Label, float], label: Label) -> Label:
    """Give the class with the highest score among those that are not `label`; None if there is none."""
    others = (other for other in scores if other != label)
    return max(others, key=scores.__getitem__, default=None)


def softmax(scores: Mapping[Any, float]) -> dict[Any, float]:
    """Compute exp(sᵢ) / Σ exp(sⱼ) without overflow."""
    highest = max(scores.values(), default=0.0)
    powers = {label: math.exp(score - highest) for label, score in scores.items()}
    total = sum(powers.values())
    return {label: power / total for label, power in powers.items()}


def _check_classes(classes: Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(classes, str) or len(set(classes)) < max(2, len(classes)) or None in classes:
        raise ValueError(f"classes must be two or more different labels, not {classes!r}")
    return tuple(classes)


def _copy(value: Any) -> Any:
    return {key: _copy(entry) for key, entry in value.items()} if isinstance(value, dict) else value
