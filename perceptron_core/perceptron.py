"""The online perceptron. In: features and a label. Out: a score, a class; weights that moved on a mistake."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from perceptron_core import sparse
from perceptron_core.binary import BinaryClassifier, Features, check_example_weight
from perceptron_core.values import MAX_MAGNITUDE, sign_of


class Perceptron(BinaryClassifier):
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
        η > 0. From zero weights it scales w and b and changes no prediction (except through θ ≠ 0).
    fit_intercept
        Whether b is learned. Folding it into w as a constant feature 1 gives the same answers.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature; live, not to be changed.
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
    NaN spoils a weight for ever. Here the sign of a − θ decides, −1 means False, and a value that is not
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

    STATE: ClassVar[tuple[str, ...]] = ("weights", "bias", *BinaryClassifier.STATE)

    def __init__(
        self,
        threshold: float = 0.0,
        tie: bool = False,
        update_on_tie: bool = True,
        learning_rate: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        if not math.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number, not {threshold!r}")
        if not 0 < learning_rate <= MAX_MAGNITUDE:
            raise ValueError(f"learning_rate must be a finite number above 0, not {learning_rate!r}")
        super().__init__()
        self.threshold = threshold
        self.tie = tie
        self.update_on_tie = update_on_tie
        self.learning_rate = learning_rate
        self.fit_intercept = fit_intercept
        self.weights: sparse.Vector = {}
        self.bias = 0.0

    def score_one(self, x: Features) -> float:
        """Compute the activation a = w·x + b, summed from b in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        return sparse.dot(self.weights, x, self.bias)

    def decide(self, score: float) -> bool:
        """Give the class at activation `score`: the sign of a − θ, `tie` at a = θ."""
        return score > self.threshold or (self.tie and score == self.threshold)

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does, and tell what it did.

        Returns the step s of the update w ← w + s·x, b ← b + s: what `undo_one` takes back. 0 if
        nothing was written. The weight `w` of the example is a factor of the learning rate.
        """
        sign = sign_of(y)
        check_example_weight(w)
        a = self.score_one(x)
        if w == 0:
            return 0.0
        mistaken = self.decide(a) != (sign > 0)
        self.n_mistakes += mistaken
        if not mistaken and (a != self.threshold or not self.update_on_tie):
            return 0.0
        step = sign * self.learning_rate * w
        self._add(x, step)
        self.n_updates += 1
        return step

    def undo_one(self, x: Features, step: float) -> None:
        """Take back an update that `update_one` made on `x`, whatever was learned since.

        The weights are a sum of steps times examples, so an update leaves by subtraction: exact
        wherever the sums are (counts, binary features), else to rounding. Counts stay.
        """
        if step:
            self._add(x, -step)

    def _add(self, x: Features, step: float) -> None:
        """Add step·x to w and step to b."""
        sparse.add(self.weights, x, step)
        if self.fit_intercept:
            self.bias += step

    def _log_odds(self, score: float) -> float:
        return score - self.threshold
