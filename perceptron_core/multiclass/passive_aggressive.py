"""Multiclass passive-aggressive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perceptron_core.base.example_weights import OF_PRICE
from perceptron_core.base.multiclass_linear import LinearMulticlass
from perceptron_core.base.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.base.search_space import Span
from perceptron_core.base.update import Label, Update
from perceptron_core.binary.passive_aggressive import check_aggressiveness, step_size
from perceptron_core.validation import hinge
from perceptron_core.weights.example import Example


class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    """Updates whenever the margin is below 1, as far as the variant says."""

    C: float
    variant: str

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight multiplies C."""
        rival = self.best(number)
        if rival < 0:
            return None
        loss = hinge(self.scores.cells[number] - self.scores.cells[rival])
        tau = step_size(self.variant, loss, 2.0 * (x.squared_norm() + self.fit_intercept), self.C * w)
        if not tau:
            return None
        step = Update(tau, self.labels[number], self.labels[rival])
        self.move(x, number, rival, tau, 0)
        return step


class MulticlassPassiveAggressive(MulticlassPassiveAggressiveRule, LinearMulticlass):
    """Passive-aggressive learning of any number of classes: the smallest step that leaves a margin of 1.

    Let s be the wrong class with the highest score, ℓ = max(0, 1 − (score_y − score_s)) the loss and
    n = 2(‖x‖² + 1) the squared length of the step's direction, without intercept 2‖x‖². If ℓ > 0,
    w_y ← w_y + τx and w_s ← w_s − τx, the biases likewise by τ, with

    - PA: τ = ℓ / n;
    - PA-I: τ = min(C, ℓ / n);
    - PA-II: τ = ℓ / (n + 1/(2C)).

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    C
        Aggressiveness of PA-I and PA-II: the price of a unit of (squared) loss against a unit of movement.
        Above 0, at most 1e25. PA has no use for it.
    variant
        `"PA"`, `"PA-I"` or `"PA-II"`. PA trusts every label; the others bound what one may do.
    fit_intercept
        Whether each class has a bias: a constant feature 1, in the score and in the norm.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class. Computed when asked for. They sum to 0 over the classes.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: examples with a loss, misclassified or not.

    Notes
    -----
    An unconstrained step leaves score_y − score_s = 1 exactly, to rounding. With two classes the difference
    of their weights moves as in `PassiveAggressive` with twice this C.

    The weight w of an example multiplies its price C. Plain PA has no price: there every weight above 0
    is the same. A loss counts as at most 1e100 and a squared length as at least 1e-100, so that no
    stream can make the weights overflow.

    References
    ----------
    Crammer, K., Dekel, O., Keshet, J., Shalev-Shwartz, S. and Singer, Y. (2006). Online
    passive-aggressive algorithms. Journal of Machine Learning Research 7. Section 8 (multiclass, the
    max-loss update with 0/1 cost, here with a margin of 1), steps as in figure 1.

    Examples
    --------
    >>> from perceptron_core import MulticlassPassiveAggressive
    >>> model = MulticlassPassiveAggressive(["cat", "dog", "bird"], variant="PA", fit_intercept=False)
    >>> model.learn_one({"barks": 2.0}, "dog")
    >>> model.weights
    {'cat': {'barks': -0.25}, 'dog': {'barks': 0.25}, 'bird': {}}
    >>> model.scores_one({"barks": 2.0})
    {'cat': -0.5, 'dog': 0.5, 'bird': 0.0}

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassPassiveAggressive()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 85.10%

    """

    NAME = "multiclass-passive-aggressive"
    WEIGHT = OF_PRICE
    SEARCHED: ClassVar = {"C": Span(0.001, 10.0), "variant": ("PA-I", "PA-II")}
    VARIANTS = ({"variant": "PA"}, {"variant": "PA-II", "C": 0.1}, {"fit_intercept": False})

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        C: float = 1.0,
        variant: str = "PA-I",
        fit_intercept: bool = True,
    ) -> None:
        check_aggressiveness(C, variant)
        super().__init__(classes, fit_intercept)
        self.C = float(C)
        self.variant = variant
