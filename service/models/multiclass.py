"""Drives the multiclass learners of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perceptron_core.linear.declarations import Term, Update
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.messages.features import X
from service.messages.labels import Truth
from service.models.learner import CoreLearner


class MulticlassLearner(CoreLearner[MulticlassClassifier]):
    """Drives a multiclass learner of `perceptron_core`.

    The score of a prediction is that of the winning class. With two classes it is signed, as everywhere:
    the score of True less that of False. The model's `classes` are given.
    """

    def assess(self, x: X) -> tuple[Truth, float]:
        """Return the predicted class and its score."""
        return self._assessed(self.model.scores_one(x))

    def predict_learn(self, x: X, truth: Truth, w: float = 1.0) -> tuple[Truth, float, Update | None]:
        """Predict one example, then learn it; return the predicted class, its score and the step."""
        scores, step = self.model.predict_learn(x, truth, w)
        return *self._assessed(scores), step

    def _assessed(self, scores: Mapping[Any, float]) -> tuple[Truth, float]:
        predicted: Truth = self.model.decide(scores)
        if isinstance(predicted, bool):
            return predicted, scores[True] - scores[False]
        return predicted, scores[predicted]

    def learn(self, x: X, truth: Truth, memo: bytes = b"", w: float = 1.0) -> Update | None:  # noqa: ARG002  the protocol's signature
        """Learn one example; return the step that was made."""
        return self.model.update_one(x, truth, w)

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401  what `learn` gave, or that read from a snapshot
        """Take an update back if there was one; False if the model's updates are no sums."""
        if step:
            undo_one = getattr(self.model, "undo_one", None)
            if undo_one is None:
                return False
            undo_one(x, step)
        return True

    def weights(self) -> tuple[Mapping[Any, float], Mapping[Any, float]]:
        """Return the weights, named `class: feature`, and the bias of each class."""
        named = {
            f"{label}: {name}": weight
            for label, weights in list(self.model.weights.items())
            for name, weight in list(weights.items())  # one step for the interpreter: it may be learning
        }
        return named, dict(self.model.bias)

    def score(self, x: X, label: Truth) -> float:
        """Return the score of a class; of two classes always True's less False's."""
        scores = self.model.scores_one(x)
        return scores[True] - scores[False] if isinstance(label, bool) else scores[label]

    def terms(self, x: X, label: Truth) -> list[Term]:
        """Return what the class's score is the sum of, the bias last; of two classes the difference's."""
        if not isinstance(label, bool):
            return list(self.model._terms(x, label))  # noqa: SLF001
        plus, minus = (self.model._terms(x, each) for each in (True, False))  # noqa: SLF001
        return [
            (name, value, weight - other)
            for (name, value, weight), (_, _, other) in zip(plus, minus, strict=True)
        ]
