"""Multiclass passive-aggressive. In: features and a label. Out: scores, a class; steps to a margin of 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

from perceptron_core import sparse
from perceptron_core.binary import Features
from perceptron_core.multiclass import Label, Scores, Step, SteppingClassifier, best_other
from perceptron_core.values import MAX_MAGNITUDE

Variant = Literal["PA", "PA-I", "PA-II"]
_VARIANTS: Final[tuple[str, ...]] = get_args(Variant)


class MulticlassPassiveAggressive(SteppingClassifier):
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
    variant
        "PA", "PA-I" or "PA-II". PA trusts every label; the others bound what one may do.
    aggressiveness
        C > 0: the larger, the further one example may move the weights. PA has no use for it.
    fit_intercept
        Whether each class has a bias: a constant feature 1, in the score and in the norm.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class; live, not to be changed. They sum to 0 over the classes.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: examples with a loss, misclassified or not.

    Notes
    -----
    An unconstrained step leaves score_y − score_s = 1 exactly, to rounding. With two classes the difference
    of their weights moves as binary passive-aggressive does with twice this C.

    The weight of an example is a factor of C.

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

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        variant: Variant = "PA-I",
        aggressiveness: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        if variant not in _VARIANTS:
            raise ValueError(f"variant must be one of {', '.join(_VARIANTS)}, not {variant!r}")
        if not 0 < aggressiveness <= MAX_MAGNITUDE:
            raise ValueError(f"aggressiveness must be a finite number above 0, not {aggressiveness!r}")
        super().__init__(classes, fit_intercept)
        self.variant: Variant = variant
        self.aggressiveness = aggressiveness

    def _step(self, x: Features, label: Label, scores: Scores, w: float) -> Step | None:
        if len(scores) == 1:
            return None
        rival = best_other(scores, label)
        loss = 1.0 - (scores[label] - scores[rival])
        if loss <= 0:
            return None
        size = self._size(loss, 2.0 * (sparse.squared_norm(x) + self.fit_intercept), w * self.aggressiveness)
        return Step(size, label, rival) if size else None

    def _size(self, loss: float, squared_length: float, c: float) -> float:
        """Compute τ; 0 where there is no direction to move in. It has a bound, as feature values have."""
        if not squared_length:
            return 0.0
        if self.variant == "PA-II":
            squared_length += 0.5 / c
        bound = min(c, MAX_MAGNITUDE) if self.variant == "PA-I" else MAX_MAGNITUDE
        return min(bound, loss / squared_length)
