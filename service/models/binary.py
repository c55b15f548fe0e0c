"""Drives the binary learners of the core. In: features and a class. Out: the class on the score's side.

`binary.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core import to_bytes
from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.explanation import Term
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.weights.feature_array import FeatureArray
from service.messages.features import X
from service.messages.labels import Truth
from service.models.kinds import read_as


class BinaryLearner:
    """Drives a two-class learner of `perceptron_core`.

    Attributes
    ----------
    last_score, last_step
        What `decide_only` and `decide_and_learn` found, which return the predicted class. They and
        `learn_step` take a `FeatureArray` as well, with the results of the same dictionary.

    """

    last_score: float
    last_step: float
    _rule: LinearRule | None

    def __init__(self, model: BinaryClassifier) -> None:
        self.last_score = self.last_step = 0.0
        self.model = model

    @property
    def model(self) -> BinaryClassifier:
        """What learns."""
        return self._model

    @model.setter
    def model(self, model: BinaryClassifier) -> None:
        self._model = model
        rule = model.learner if isinstance(model, HashedClassifier) else model
        self._rule = rule if isinstance(rule, LinearRule) and _learns_as_its_rule(type(rule)) else None

    def n_updates(self) -> int:
        """Return the number of updates made so far."""
        return self._model.n_updates if self._rule is None else self._rule.n_updates

    def decide_only(self, x: X) -> bool:
        """Predict one example as `assess` does, with no object for the results."""
        rule = self._rule
        if rule is None:
            self.last_score = self._model.score_one(_plain(x))
            return self._model.decide(self.last_score)
        example = rule.resolve(x)
        self.last_score = rule.score(example)
        rule.table.release(example)
        return rule.fires(self.last_score)

    def decide_and_learn(self, x: X, truth: bool) -> bool:  # noqa: FBT001 - the class
        """Predict one example, then learn it, as `predict_learn` does, with no object for the results."""
        rule = self._rule
        if rule is None:
            self.last_score, self.last_step = self._model.predict_learn(_plain(x), truth)
            return self._model.decide(self.last_score)
        sign = 1 if truth else -1
        example = rule.resolve(x)
        self.last_score = rule.score(example)
        self.last_step = rule.learn_at(example, sign, 1.0, self.last_score)
        rule.table.release(example)
        return rule.fires(self.last_score)

    def learn_step(self, x: X, truth: bool) -> float:  # noqa: FBT001 - the class
        """Learn one example as `learn` does; return the step that was made."""
        rule = self._rule
        if rule is None:
            return self._model.update_one(_plain(x), truth)
        sign = 1 if truth else -1
        example = rule.resolve(x)
        step = rule.learn(example, sign, 1.0)
        rule.table.release(example)
        return step

    @property
    def updates(self) -> int:
        """Updates made so far."""
        return self.model.n_updates

    @property
    def has_log_odds(self) -> bool:
        """Whether the score is the log-odds of True."""
        return self.model.has_log_odds

    def said(self) -> bytes:
        """Return nothing: it learns from what it says when the label is there."""
        return b""

    def learn(self, x: X, truth: Truth, said: bytes = b"") -> float:  # noqa: ARG002  the protocol's signature
        """Learn one example; return the step that was made."""
        return self.model.update_one(x, truth)

    def predict_learn(self, x: X, truth: Truth) -> tuple[Truth, float, float]:
        """Predict one example, then learn it; return the predicted class, the score and the step."""
        score, step = self.model.predict_learn(x, truth)
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

    def dump(self) -> bytes:
        """Write the model down, exactly and without pickle."""
        return to_bytes(self.model)

    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote."""
        self.model = read_as(self.model, data)


def _plain(x: X) -> X:
    return x.as_dict() if isinstance(x, FeatureArray) else x


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
