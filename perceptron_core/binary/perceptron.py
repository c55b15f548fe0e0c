"""The online perceptron."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from perceptron_core.base.binary import BinaryClassifier
from perceptron_core.base.example_weights import OF_STEP
from perceptron_core.base.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.learning_rates import Rate, check_rate, rate_at
from perceptron_core.weights.example import Example


class PerceptronRule(LinearRule):
    """Updates on a mistake, and at a tie where asked to."""

    threshold: float
    tie: bool
    update_on_tie: bool
    learning_rate: Rate

    def fires(self, score: float) -> bool:
        """Return the class at activation `score`: the sign of a − θ, `tie` at a = θ."""
        return score > self.threshold or (self.tie and score == self.threshold)

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example; the step s is that of w ← w + s·x, b ← b + s. Its weight is a factor of η."""
        mistaken = self.fires(a) != (sign > 0)
        if not mistaken and not self.updates_when_right(sign * (a - self.threshold)):
            return 0.0
        step = sign * rate_at(self.learning_rate, self.n_updates) * w
        self.add(x, step)
        self.n_mistakes += mistaken
        self.n_updates += 1
        return step

    def updates_when_right(self, signed_distance: float) -> bool:
        """Return whether a correct guess at y·(a − θ) = `signed_distance` ≥ 0 is followed by an update."""
        return signed_distance == 0 and self.update_on_tie


class Perceptron(PerceptronRule, BinaryClassifier):
    """Perceptron for two classes, with the textbook's arithmetic.

    With w = 0 and b = 0 at the start, for every example: a = w·x + b; the class is True if a > θ and
    False if a < θ. On a mistake w ← w + η·y·x and b ← b + η·y, with y ∈ {−1, +1}. Otherwise nothing
    is written.

    Parameters
    ----------
    threshold
        θ, the activation above which the neuron fires. Equal to an initial bias of −θ.
    tie
        The class predicted at a = θ exactly. The texts differ: False in Sen's, True in Gormley's.
    update_on_tie
        Which of the two textbook rules decides on an update. True: whenever y·(a − θ) ≤ 0, so that a tie
        always updates, even if `tie` was the right guess (Sen; Daumé, algorithm 5). False: only when
        the predicted class is wrong (Gormley).
    learning_rate
        η > 0, at most 1e25. From zero weights a constant scales w and b and changes no prediction (except
        through θ ≠ 0). One of `river.optim.schedulers` makes it depend on the number of updates so far.
    fit_intercept
        Whether b is learned. Folding it into w as a constant feature 1 gives the same answers.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed when asked for.
    bias : float
        b.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made. At a tie an update may happen without a mistake.

    Notes
    -----
    It has River's interface, not River's arithmetic. `river.linear_model.Perceptron` predicts through a
    sigmoid, where a = 1e-17 becomes False; it takes −1 for a label and then makes a triple step; and one
    NaN spoils a weight permanently. Here the sign of a − θ decides, −1 means False, and a value that is not
    finite, or is larger than 1e100, is refused before anything is written.

    Each update raises y·a of its example by exactly η·(‖x‖² + 1), without intercept η·‖x‖². On data
    separable with margin γ and ‖x‖ ≤ R, there are at most (R/γ)² updates (Novikoff, 1962).

    References
    ----------
    Rosenblatt, F. (1958). The perceptron: a probabilistic model for information storage and
    organization in the brain. Psychological Review 65(6).

    Daumé III, H. (2017). A Course in Machine Learning, chapter 4, algorithms 5 and 6.

    Examples
    --------
    Gormley's six examples (CMU 10-301, lecture 6): mistakes on the first, third and fifth.

    >>> from perceptron_core import Perceptron
    >>> model = Perceptron(tie=True, update_on_tie=False, fit_intercept=False)
    >>> stream = [(-1, 2, False), (1, 0, True), (1, 1, True), (-1, 0, False), (-1, -2, False), (1, -1, True)]
    >>> for x1, x2, y in stream:
    ...     x = {"x1": x1, "x2": x2}
    ...     print(model.predict_one(x) == y, end=" ")
    ...     model.learn_one(x, y)
    False True False True False True
    >>> model.weights
    {'x1': 3.0, 'x2': 1.0}

    """

    NAME = "perceptron"
    WEIGHT = OF_STEP
    STATE = LINEAR_STATE
    VARIANTS: ClassVar[Any] = (
        {"tie": True},
        {"update_on_tie": False},
        {"tie": True, "update_on_tie": False, "fit_intercept": False},
        {"threshold": 0.5},
        {"learning_rate": 0.5},  # a power of 2: sums stay exact, so the order of features decides no tie
    )
    undo_one = undo_additive

    def __init__(
        self,
        threshold: float = 0.0,
        tie: bool = False,
        update_on_tie: bool = True,
        learning_rate: Rate = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        if not math.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number, not {threshold!r}")
        check_rate(learning_rate)
        super().__init__(fit_intercept)
        self.threshold = float(threshold)
        self.tie = bool(tie)
        self.update_on_tie = bool(update_on_tie)
        self.learning_rate = learning_rate

    def _log_odds(self, score: float) -> float:
        return score - self.threshold
