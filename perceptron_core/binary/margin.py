"""The perceptron with margin."""

from __future__ import annotations

from typing import ClassVar

from perceptron_core.base.search_space import Span
from perceptron_core.binary.perceptron import Perceptron, PerceptronRule
from perceptron_core.learning_rates import Rate
from perceptron_core.validation import MAX_MAGNITUDE


class MarginRule(PerceptronRule):
    """Updates on mistakes and within a margin."""

    margin: float

    def updates_when_right(self, signed_distance: float) -> bool:
        """Return whether a correct guess was too close."""
        return signed_distance <= self.margin


class MarginPerceptron(MarginRule, Perceptron):
    """Perceptron that also updates on correct guesses that were too close.

    A `Perceptron` in all but one thing: it updates whenever y·(a − θ) ≤ `margin`, not only at ≤ 0. With
    margin 0 it is the perceptron that updates on ties.

        y·(a − θ) ≤ margin:  w ← w + η·y·x,  b ← b + η·y

    Parameters
    ----------
    margin
        β ≥ 0, the functional margin an example must exceed to be left alone. What counts is β/η: with
        the learning rate held, a larger margin updates more and makes a smoother separator.
    threshold, tie, learning_rate, fit_intercept
        As in `Perceptron`.

    Attributes
    ----------
    weights, bias, n_mistakes, n_updates
        As in `Perceptron`; most updates come without a mistake.

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
    SEARCHED: ClassVar = {"margin": Span(0.01, 100.0)}
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
            raise ValueError(f"margin must be a finite number from 0, not {margin!r}")
        super().__init__(threshold, tie, learning_rate=learning_rate, fit_intercept=fit_intercept)
        self.margin = float(margin)
