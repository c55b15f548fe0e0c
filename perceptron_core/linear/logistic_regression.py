"""Logistic regression by gradient descent."""

from __future__ import annotations

from perceptron_core.elementary import logistic
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import OF_LOSS
from perceptron_core.linear.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.validation import check_positive
from perceptron_core.weights.example import Example


class LogisticRegressionRule(LinearRule):
    """Updates with every example, against the gradient of the logistic loss."""

    learning_rate: float

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight multiplies its loss; return the step s of w ← w + s·x."""
        step = self.step_at(sign, w, a)
        if step != 0:
            self.add(x, step)
            self.n_updates += 1
        self.n_mistakes += self.predicts_true(a) != (sign > 0)
        return step

    def step_at(self, sign: int, w: float, a: float) -> float:
        """Return η·(y − p) of an example of weight w at a score."""
        return sign * self.learning_rate * w * logistic(-sign * a)


class LogisticRegression(LogisticRegressionRule, BinaryClassifier):
    """Logistic regression by stochastic gradient descent.

    With y ∈ {0, 1}, a = w·x + b and σ the logistic function, for every example

        p = σ(a),  w ← w + η·(y − p)·x,  b ← b + η·(y − p)

    a step against the gradient of the logistic loss −log P(y). The score is a log-odds.

    Parameters
    ----------
    learning_rate
        η > 0, at most 1e25. If it is too large for the scale of the features, weights oscillate; if too
        small, they adapt too slowly.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed on access.
    bias : float
        b.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made: one for every example whose gradient is not 0.

    Notes
    -----
    The weight of an example multiplies its loss.

    The weights are a sum of steps times examples, so `undo_one` can undo an update.

    For features that are not standardised, `NormalizedAdaGrad` chooses a rate for each.

    References
    ----------
    Cox, D. (1958). The regression analysis of binary sequences. Journal of the Royal Statistical Society,
    Series B 20(2).

    Robbins, H. and Monro, S. (1951). A stochastic approximation method. Annals of Mathematical Statistics
    22(3).

    Examples
    --------
    >>> from perceptron_core import LogisticRegression
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.28%

    """

    NAME = "logistic-regression"
    WEIGHT = OF_LOSS
    STATE = LINEAR_STATE
    VARIANTS = ({"learning_rate": 0.5}, {"fit_intercept": False})
    has_log_odds = True
    undo_one = undo_additive

    def __init__(self, learning_rate: float = 0.01, fit_intercept: bool = True) -> None:
        check_positive("learning_rate", learning_rate)
        super().__init__(fit_intercept)
        self.learning_rate = float(learning_rate)
