"""Drives the two-class learners of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core import to_bytes
from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import Term
from perceptron_core.linear.linear_rule import LinearRule
from service.messages.features import X
from service.messages.labels import Truth
from service.models.learner import CoreLearner


class BinaryLearner(CoreLearner[BinaryClassifier]):
    """Drives a two-class learner of `perceptron_core`."""

    @property
    def rule(self) -> LinearRule | None:
        """What learns for the model, without a Python object for a feature; None if it has no such rule."""
        rule = self.model.learner if isinstance(self.model, HashedClassifier) else self.model
        return rule if isinstance(rule, LinearRule) and _learns_as_its_rule(type(rule)) else None

    @property
    def has_log_odds(self) -> bool:  # type: ignore[override] # nobody sets it
        """Whether the score is the log-odds of True."""
        return self.model.has_log_odds

    def learn(self, x: X, truth: Truth, memo: bytes = b"", w: float = 1.0) -> float:  # noqa: ARG002  the protocol's signature
        """Learn one example; return the step that was made."""
        return self.model.update_one(x, truth, w)

    @property
    def weighs(self) -> bool:
        """Whether provisional examples are weighted."""
        return self.has_log_odds and not hasattr(self.model, "undo_one")

    def predict_learn(self, x: X, truth: Truth, w: float = 1.0) -> tuple[Truth, float, float]:
        """Predict one example, then learn it; return the predicted class, the score and the step."""
        score, step = self.model.predict_learn(x, truth, w)
        return self.model.decide(score), score, step

    def assess(self, x: X) -> tuple[Truth, float]:
        """Return the predicted class and the score."""
        score = self.model.score_one(x)
        return self.model.decide(score), score

    def undo(self, x: X, step: float) -> bool:
        """Take an update back, where the model's updates are sums."""
        undo_one = getattr(self.model, "undo_one", None)
        if undo_one is None:
            return False
        undo_one(x, step)
        return True

    def weights(self) -> tuple[Mapping[Any, float], float] | None:
        """Return (weights, bias), where the model has one vector of them."""
        weights = getattr(self.model, "weights", None)
        return None if weights is None else (weights, self.model.bias)  # type: ignore[attr-defined]

    def score(self, x: X, label: Truth) -> float:  # noqa: ARG002  one score speaks for both classes
        """Return the score of `assess`."""
        return self.model.score_one(x)

    def terms(self, x: X, label: Truth) -> list[Term] | None:  # noqa: ARG002  as `score`
        """Return what the score is the sum of, the bias last; None where it is no sum over features."""
        return list(self.model._terms(x)) if hasattr(self.model, "weights") else None  # noqa: SLF001


def _learns_as_its_rule(kind: type) -> bool:
    """Return whether a class of learners leaves all of it to its rule."""
    names = ("score_one", "predict_learn", "update_one", "decide")
    return all(getattr(kind, name, None) is getattr(LinearRule, name, None) for name in names)


def can_be_written(model: BinaryClassifier) -> bool:
    """Return whether a model can be written as bytes: no subclass, no function among its parameters."""
    try:
        to_bytes(model)
    except TypeError:
        return False
    return True
