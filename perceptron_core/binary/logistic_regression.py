"""Logistic regression by gradient descent. In: features and a label. Out: weights, a log-odds."""

from __future__ import annotations

from typing import ClassVar

from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.logistic import logistic
from perceptron_core.validation import MAX_RATE
from perceptron_core.weights.example import Example


class LogisticRegressionRule(LinearRule):
    """Updates with every example, by the gradient of the logistic loss."""

    learning_rate: float

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies its loss; return the step s of w ← w + s·x."""
        step = sign * self.learning_rate * w * logistic(-sign * a)
        if step != 0:
            self.add(x, step)
            self.n_updates += 1
        self.n_mistakes += self.fires(a) != (sign > 0)
        return step


class LogisticRegression(LogisticRegressionRule, BinaryClassifier):
    """Logistic regression by stochastic gradient descent."""

    STATE: ClassVar[tuple[str, ...]] = LINEAR_STATE
    undo_one = undo_additive

    def __init__(self, learning_rate: float = 0.01, fit_intercept: bool = True) -> None:
        if not 0 < learning_rate <= MAX_RATE:
            raise ValueError(f"learning_rate must be above 0 and at most {MAX_RATE:g}, not {learning_rate!r}")
        super().__init__(fit_intercept)
        self.learning_rate = float(learning_rate)
