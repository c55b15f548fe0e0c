"""The base class of all two-class learners.

A learner adds `score_one`, whose sign decides, and `update_one`, which learns. Linear learners inherit both
from their compiled `LinearRule`.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from river import base

from perceptron_core.elementary import logistic
from perceptron_core.linear import data_frames, restored
from perceptron_core.linear.declarations import Term, contribution_table
from perceptron_core.linear.linear_rule import LinearRule

Features = dict[base.typing.FeatureName, Any]


class BinaryClassifier(base.MiniBatchClassifier):
    """A classifier that decides between False and True by the sign of a score.

    Attributes
    ----------
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made.

    """

    STATE: ClassVar[restored.State] = restored.COUNTS
    """The state that `to_bytes` writes with the parameters."""
    WEIGHT: ClassVar[str] = ""
    """The effect of the weight of an example; empty if the learner does not take weights."""
    VARIANTS: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Parameters that tests try besides the defaults: at least one set for each selectable rule."""
    has_log_odds: bool = False
    """Whether the score is the log-odds of True, as with the logistic loss."""

    def __init__(self) -> None:
        self.n_mistakes = 0
        self.n_updates = 0

    @abc.abstractmethod
    def score_one(self, x: Features) -> float:
        """Compute the signed score of `x`. Raises `FeatureError` for an invalid value."""

    @abc.abstractmethod
    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does; return the step made in units of `x`, 0 if none."""

    def predict_learn(self, x: Features, y: Any, w: float = 1.0) -> tuple[float, float]:
        """Score one example, then learn from it: `score_one` and `update_one` in one call, bit-identical.

        Returns the score before the update, and the step made. Compiled learners look up the features and
        compute the score only once. Raises as `learn_one` does.
        """
        score = self.score_one(x)
        return score, self.update_one(x, y, w)

    learn_many = data_frames.learn_many
    predict_many = data_frames.predict_many
    predict_proba_many = data_frames.predict_proba_many

    def decide(self, score: float) -> bool:
        """Return the class at a score: True above 0."""
        return score > 0

    def predict_one(self, x: Features, **_: Any) -> bool:
        """Predict the class of `x`. Raises `FeatureError` as `score_one` does."""
        return self.decide(self.score_one(x))

    def predict_proba_one(self, x: Features, **_: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the logistic function of the score, as River does.

        With the logistic loss the score is a log-odds, and this is a probability. For other learners the
        numbers only order examples; they are not calibrated.
        Raises `FeatureError` as `score_one` does.
        """
        return self._probabilities(self.score_one(x))

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn from one example.

        Parameters
        ----------
        x
            Feature values.
        y
            True/False, 1/0 or 1/−1.
        w
            Weight of the example; with 0, nothing changes.

        Raises
        ------
        FeatureError, LabelError
            See their docstrings; the model stays unchanged.
        ValueError
            `w` is negative, not finite, or above 1e25.

        """
        self.update_one(x, y, w)

    def debug_one(self, x: Features, decimals: int = 5) -> str:
        """Explain the score of `x` in a table of its terms.

        Raises `FeatureError` as `score_one` does.
        """
        self.score_one(x)
        return contribution_table(self._terms(x), decimals)

    def _terms(self, x: Features) -> Iterable[Term]:
        """Yield the terms of the score of the checked `x`: the weights and the bias."""
        weights: dict[base.typing.FeatureName, float] = self.weights  # type: ignore[attr-defined]
        for name, value in x.items():
            yield name, value, weights.get(name, 0.0)
        yield "Intercept", 1.0, self.bias  # type: ignore[attr-defined]

    def _learn_leading(self, frame: Any, labels: list[Any], weights: list[Any]) -> int:
        """Learn the first rows that can be learned at once; return their number.

        A subclass with another way to learn overrides it; one with another way to predict, the methods below.
        """
        return data_frames.learn_leading(self, frame, labels, weights) if isinstance(self, LinearRule) else 0

    def _predict_leading(self, frame: Any) -> list[bool]:
        return data_frames.predict_leading(self, frame) if isinstance(self, LinearRule) else []

    def _predict_proba_leading(self, frame: Any) -> list[dict[base.typing.ClfTarget, float]]:
        if not isinstance(self, LinearRule):
            return []
        return [self._probabilities(score) for score in data_frames.score_leading(self, frame).tolist()]

    def _known_classes(self) -> tuple[bool, bool]:
        return False, True

    def _probabilities(self, score: float) -> dict[base.typing.ClfTarget, float]:
        p = logistic(self._log_odds(score))
        return {False: 1.0 - p, True: p}

    def _log_odds(self, score: float) -> float:
        return score

    def _get_state(self) -> dict[str, Any]:
        return self._read_state(getattr)

    def _read_state(self, read: restored.Read) -> dict[str, Any]:
        """Return the attributes that learning changes, read with `read`."""
        return {name: read(self, name) for name in self.STATE}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name, checked in self.STATE.items():
            setattr(self, name, checked(state[name]))
