"""What all multiclass learners have in common. In: features and labels. Out: River's interface.

The class with the highest score decides. A learner adds `scores_one` and `_update`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from river import base

from perceptron_core.binary import Features
from perceptron_core.errors import LabelError
from perceptron_core.explanation import contribution_table
from perceptron_core.frames import FrameClassifier
from perceptron_core.sparse import Vector
from perceptron_core.values import example_weight

Label = Hashable
Scores = dict[Label, float]
"""Score by class, in the order that breaks ties."""


class Step(NamedTuple):
    """What an update did, in all that is needed to take it back where it can be."""

    size: float
    """In units of x."""
    gained: Label
    lost: Label
    n_before: int = 0
    """Examples learned before it, where that matters: in averages."""


class MulticlassClassifier(FrameClassifier):
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
        What predicts: non-zero weights by feature, by class.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update. The first example of a
        class not named in `classes` is always one of them.
    n_updates : int
        Updates made.

    """

    STATE: ClassVar[tuple[str, ...]] = ("n_mistakes", "n_updates")
    """Names of the attributes that learning changes: what `to_bytes` writes beside the parameters."""

    def __init__(self, classes: Sequence[Label] | None = None, fit_intercept: bool = True) -> None:
        self.classes = None if classes is None else _check_classes(classes)
        self.fit_intercept = fit_intercept
        self.n_mistakes = 0
        self.n_updates = 0
        for label in self.classes or ():
            self._meet(label)

    @property
    @abc.abstractmethod
    def weights(self) -> dict[Label, Vector]:
        """What predicts: non-zero weights by feature, by class; not to be changed."""

    @property
    @abc.abstractmethod
    def bias(self) -> dict[Label, float]:
        """Bias by class; not to be changed."""

    @abc.abstractmethod
    def scores_one(self, x: Features) -> Scores:
        """Compute the score of each known class. Raises `FeatureError` for what is no sane number."""

    @abc.abstractmethod
    def _update(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        """Learn an example of a known class, w > 0, given what `scores_one` says; None if nothing changed."""

    @abc.abstractmethod
    def _meet(self, label: Label) -> None:
        """Start a class with zero weights; it comes last at ties."""

    @abc.abstractmethod
    def _known_classes(self) -> Collection[Label]:
        """Give the classes in the order they were met."""

    @property
    def _multiclass(self) -> bool:
        return True

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
            The class: anything hashable but None and NaN; one of `classes`, if these were given.
        w
            Weight of the example; 0 leaves everything as it was.

        Raises
        ------
        FeatureError, LabelError
            As their names say; the state is untouched.
        ValueError
            If `w` is negative, not finite, or above 1e25.

        """
        self.update_one(x, y, w)

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> Step | None:
        """Learn from one example as `learn_one` does; give the step made, None if nothing was written."""
        label = self._check_label(y)
        w = example_weight(w)
        scores = self.scores_one(x)
        if w == 0:
            return None
        self.n_mistakes += bool(self.decide(scores) != label)
        if label not in scores:
            self._meet(label)
            scores[label] = 0.0
        step = self._update(x, label, scores, w)
        self.n_updates += step is not None
        return step

    def debug_one(self, x: Features, decimals: int = 5) -> str:
        """Explain what the predicted class's score is the sum of. Raises `FeatureError` as `scores_one`."""
        predicted = self.predict_one(x)
        if predicted is None:
            return "no class is known"
        weights = self.weights[predicted]
        terms = [(name, value, weights.get(name, 0.0)) for name, value in x.items()]
        table = contribution_table([*terms, ("Intercept", 1.0, self.bias[predicted])], decimals)
        return f"Class {predicted!r}\n\n{table}"

    def _check_label(self, label: Any) -> Label:
        """Give a label as it is kept. Raises `LabelError` for one that cannot be, or is none of `classes`."""
        plain: Label = label.item() if isinstance(label, np.generic) else label
        try:
            is_known = plain in self._known_classes()
        except TypeError:
            raise LabelError(f"label {label!r} is not hashable") from None
        if is_known:
            return plain
        if self.classes is not None:
            raise LabelError(f"label {label!r} is none of {self.classes}")
        if plain is None or plain != plain:  # noqa: PLR0124  only NaN differs from itself
            raise LabelError(f"label {label!r} denotes no class")
        return plain

    def _get_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.STATE}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name in self.STATE:
            setattr(self, name, _copy(state[name]))


def best_other(scores: Mapping[Label, float], label: Label) -> Label:
    """Give the class with the highest score among those that are not `label`; None if there is none."""
    others = (other for other in scores if other != label)
    return max(others, key=scores.__getitem__, default=None)


def softmax(scores: Mapping[Any, float]) -> dict[Any, float]:
    """Compute exp(sᵢ) / Σ exp(sⱼ) without overflow."""
    highest = max(scores.values(), default=0.0)
    powers = {label: math.exp(score - highest) for label, score in scores.items()}
    total = 0.0
    for power in powers.values():  # `sum` of floats differs between Python 3.11 and 3.12
        total += power
    return {label: power / total for label, power in powers.items()}


def _check_classes(classes: Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(classes, str) or len(set(classes)) < max(2, len(classes)) or None in classes:
        raise ValueError(f"classes must be two or more different labels, not {classes!r}")
    return tuple(classes)


def _copy(value: Any) -> Any:
    return {key: _copy(entry) for key, entry in value.items()} if isinstance(value, dict) else value
