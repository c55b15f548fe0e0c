"""The perceptron, with a margin and of several classes.

`perceptron.pxd` gives this module its C types.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import NO_CLASS, OF_STEP, Update
from perceptron_core.linear.linear_rule import LINEAR_STATE, LinearRule, undo_additive
from perceptron_core.linear.multiclass import LinearMulticlass
from perceptron_core.linear.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.validation import MAX_MAGNITUDE, Rate, check_rate, rate_at
from perceptron_core.weights.example import Example


class PerceptronRule(LinearRule):
    """Updates on a mistake, and optionally at a tie."""

    threshold: float
    tie: bool
    update_on_tie: bool
    learning_rate: Rate

    def predicts_true(self, score: float) -> bool:
        """Return the class at activation `score`: the sign of a − θ, `tie` at a = θ."""
        return score > self.threshold or (self.tie and score == self.threshold)

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example, whose weight is a factor of η; return the step s of w ← w + s·x, b ← b + s."""
        mistaken = self.predicts_true(a) != (sign > 0)
        if not mistaken and not self.updates_when_right(sign * (a - self.threshold)):
            return 0.0
        step = sign * rate_at(self.learning_rate, self.n_updates) * w
        self.add(x, step)
        self.n_mistakes += mistaken
        self.n_updates += 1
        return step

    def updates_when_right(self, signed_distance: float) -> bool:
        """Return whether to update after a correct prediction with y·(a − θ) = `signed_distance` ≥ 0."""
        return signed_distance == 0 and self.update_on_tie


class Perceptron(PerceptronRule, BinaryClassifier):
    """Perceptron for two classes, with the textbook's arithmetic.

    Initially w = 0 and b = 0. For every example, a = w·x + b; the class is True if a > θ and False if a < θ.
    On a mistake w ← w + η·y·x and b ← b + η·y, with y ∈ {−1, +1}. Otherwise nothing changes.

    Parameters
    ----------
    threshold
        θ, the activation above which the neuron fires. Equivalent to an initial bias of −θ.
    tie
        The class predicted at exactly a = θ. Textbooks differ: False in Sen's, True in Gormley's.
    update_on_tie
        The textbook rule for updates. True: update whenever y·(a − θ) ≤ 0, also at a tie whose prediction
        `tie` was correct (Sen; Daumé, algorithm 5). False: update only when the predicted class is wrong
        (Gormley).
    learning_rate
        η > 0, at most 1e25. From zero weights, a constant only scales w and b and does not change predictions
        (unless θ ≠ 0). One of `river.optim.schedulers` makes it depend on the number of updates.
    fit_intercept
        Whether b is learned. A constant feature 1 instead gives the same predictions.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature. Computed on access.
    bias : float
        b.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made. A tie may cause an update without a mistake.

    Notes
    -----
    It has River's interface, but not River's arithmetic. `river.linear_model.Perceptron` predicts with a
    sigmoid, so that a = 1e-17 becomes False; a label of −1 causes a triple step; and one NaN makes a weight
    NaN permanently. Here the sign of a − θ decides, −1 means False, and a value that is not finite or is
    larger than 1e100 is rejected before anything changes.

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
            raise ValueError(f"threshold: expected a finite number, got {threshold!r}")
        check_rate(learning_rate)
        super().__init__(fit_intercept)
        self.threshold = float(threshold)
        self.tie = bool(tie)
        self.update_on_tie = bool(update_on_tie)
        self.learning_rate = learning_rate

    def _log_odds(self, score: float) -> float:
        return score - self.threshold


class MarginRule(PerceptronRule):
    """Updates on mistakes and within a margin."""

    margin: float

    def updates_when_right(self, signed_distance: float) -> bool:
        """Return whether a correct prediction was within the margin."""
        return signed_distance <= self.margin


class MarginPerceptron(MarginRule, Perceptron):
    """Perceptron that also updates on correct predictions within a margin.

    A `Perceptron` that updates whenever y·(a − θ) ≤ `margin`, not only at ≤ 0. With margin 0 it is the
    perceptron that updates on ties.

        y·(a − θ) ≤ margin:  w ← w + η·y·x,  b ← b + η·y

    Parameters
    ----------
    margin
        β ≥ 0, the functional margin that an example must exceed to cause no update. Only β/η matters: with
        the same learning rate, a larger margin causes more updates and a smoother separator.
    threshold, tie, learning_rate, fit_intercept
        As in `Perceptron`.

    Attributes
    ----------
    weights, bias, n_mistakes, n_updates
        As in `Perceptron`; most updates occur without a mistake.

    Notes
    -----
    On data separable with margin γ and ‖x‖ ≤ R (bias folded in) there are at most (R² + 2β/η)/γ²
    updates, and the separator found has a margin of at least γ·β/(2β + η·R²) (Krauth and Mézard, 1987).

    References
    ----------
    Krauth, W. and Mézard, M. (1987). Learning algorithms with optimal stability in neural networks.
    Journal of Physics A 20(11).

    Duda, R., Hart, P. and Stork, D. (2001). Pattern Classification, 5.5.2, algorithm 5 (variable-increment
    perceptron with margin).

    Examples
    --------
    >>> from perceptron_core import MarginPerceptron
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | MarginPerceptron(margin=3.0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.04%

    """

    NAME = "margin-perceptron"
    VARIANTS = ({"margin": 0.0}, {"margin": 5.0, "tie": True}, {"fit_intercept": False})

    def __init__(
        self,
        margin: float = 1.0,
        threshold: float = 0.0,
        tie: bool = False,
        learning_rate: Rate = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        if not 0 <= margin <= MAX_MAGNITUDE:
            raise ValueError(f"margin: expected a finite number of at least 0, got {margin!r}")
        super().__init__(threshold, tie, learning_rate=learning_rate, fit_intercept=fit_intercept)
        self.margin = float(margin)


class MulticlassPerceptronRule(AdditiveMulticlassRule):
    """Updates on a mistake."""

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight is the step."""
        guess = self.best(NO_CLASS)
        if guess == number:
            return None
        step = Update(w, self.labels[number], self.labels[guess])
        self.move(x, number, guess, w, 0)
        return step


class MulticlassPerceptron(MulticlassPerceptronRule, LinearMulticlass):
    """Perceptron for several classes, with one weight vector each; the highest score decides.

    Initially all weights are 0. For every example, ŷ is the class with the highest w_c·x + b_c. On a mistake
    w_y ← w_y + x, b_y ← b_y + 1 and w_ŷ ← w_ŷ − x, b_ŷ ← b_ŷ − 1. Otherwise nothing changes.

    Parameters
    ----------
    classes
        All possible labels, two or more; other labels are rejected. None: the classes seen so far; a new
        class starts with zero weights.
    fit_intercept
        Whether each class has a bias. A constant feature 1 instead gives the same predictions.

    Attributes
    ----------
    weights : dict
        Non-zero weights by class and feature. Computed on access. They sum to 0 over the classes.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that were misclassified before their update. The first example of a
        class that is not in `classes` always counts.
    n_updates : int
        Updates made.

    Notes
    -----
    At a tie, the first in `classes`, or else the class seen first, is predicted.

    With two classes (a, b), w_b is always −w_a: predictions are those of `Perceptron` with b for True,
    `update_on_tie=False` and `tie=False`. Other settings of `Perceptron` have no multiclass counterpart: here
    a tie is predicted right or wrong, and only wrong predictions cause an update.

    If there are vectors with Σ‖w_c‖² = 1 that score every example's class above the others by at least γ, if
    ‖x‖ ≤ R (with the intercept: ‖x‖² + 1 ≤ R²), and if `classes` is given, there are at most 2R²/γ² mistakes
    for any number of classes: Novikoff's proof with Kesler's construction.

    References
    ----------
    Duda, R. O. and Hart, P. E. (1973). Pattern Classification and Scene Analysis, section 5.12
    (Kesler's construction).

    Crammer, K. and Singer, Y. (2003). Ultraconservative online algorithms for multiclass problems.
    Journal of Machine Learning Research 3. This is their update with the highest wrong class.

    Examples
    --------
    >>> from perceptron_core import MulticlassPerceptron
    >>> model = MulticlassPerceptron()
    >>> stream = [("cats purr", "cat"), ("dogs bark", "dog"), ("birds sing", "bird"), ("dogs purr", "dog")]
    >>> for text, y in stream:
    ...     x = dict.fromkeys(text.split(), 1.0)
    ...     print(model.predict_one(x), end=" ")
    ...     model.learn_one(x, y)
    None cat dog dog
    >>> model.weights["bird"], model.bias["bird"]
    ({'birds': 1.0, 'sing': 1.0}, 1.0)
    >>> model.n_mistakes, model.n_updates
    (3, 2)

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassPerceptron()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 83.37%

    """

    NAME = "multiclass-perceptron"
    WEIGHT = OF_STEP
    VARIANTS = ({"fit_intercept": False},)
