"""Multiclass AROW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from perceptron_core.base import column_properties, restored
from perceptron_core.base.example_weights import OF_RESISTANCE
from perceptron_core.base.multiclass_linear import LinearMulticlass
from perceptron_core.base.multiclass_rule import MulticlassRule
from perceptron_core.base.search_space import Span
from perceptron_core.base.update import Label, Update
from perceptron_core.sparse_vectors import Vector
from perceptron_core.validation import MAX_RATE, hinge
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.variances import Variances, shrunk

_LARGEST: Final = 1e200
"""Of r divided by the weight of an example."""


class MulticlassAROWRule(MulticlassRule):
    """Updates whenever the margin is below 1, as far as r lets it."""

    r: float
    variance_columns: list[Variances]
    bias_variances: Column

    def clear(self) -> None:
        """Start with no class and no feature."""
        columns: list[Variances] = []
        biases = Variances()
        MulticlassRule.clear(self)
        self.variance_columns, self.bias_variances = columns, biases

    def meet(self, label: Label) -> None:
        """Start a class with zero weights, of which nothing is known."""
        number = len(self.labels)
        self.bias_variances.grow(number + 1)
        self.bias_variances.cells[number] = 1.0
        MulticlassRule.meet(self, label)
        self.start_column(self.variance_columns, Variances())

    def forget_last(self, label: Label, n_known: int) -> None:
        """Undo `meet`, or what was done of it."""
        self.drop_columns(self.variance_columns, n_known)
        MulticlassRule.forget_last(self, label, n_known)

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight divides r."""
        rival = self.best(number)
        if rival < 0:
            return None
        loss = hinge(self.scores.cells[number] - self.scores.cells[rival])
        total = self.variance(number, x) + self.variance(rival, x)
        r = min(self.r / w, _LARGEST)
        alpha = loss / (r + total)
        if not total or not alpha:
            return None
        step = Update(alpha, self.labels[number], self.labels[rival])
        self.table.allocate(x)
        self.learn_class(number, x, alpha, r, total)
        self.learn_class(rival, x, -alpha, r, total)
        return step

    def variance(self, number: int, x: Example) -> float:
        """Compute the variance of a class's score at `x`."""
        column = self.variance_columns[number]
        return column.of_score(x, self.bias_variances.cells[number] if self.fit_intercept else 0.0)

    def learn_class(self, number: int, x: Example, alpha: float, r: float, total: float) -> None:
        """Move one class's means by α·σ·x and lower its variances, β being 1/(r + total)."""
        weights, variances = self.weight_columns[number], self.variance_columns[number]
        variances.move(weights, x, alpha)
        variances.shrink(x, r, total)
        if self.fit_intercept:
            of_bias = self.bias_variances.cells[number]
            self.biases.cells[number] += alpha * of_bias
            self.bias_variances.cells[number] = shrunk(of_bias, r, total)


class MulticlassAROW(MulticlassAROWRule, LinearMulticlass):
    """Adaptive regularisation of weights for any number of classes: rare features move further.

    Each weight is the mean of a normal distribution with its own variance σ, 1 at the start. Let s be
    the wrong class with the highest score, m = score_y − score_s the margin and
    v = Σ xᵢ²·(σ_yi + σ_si) its variance. If m < 1, then with β = 1/(v + r) and α = (1 − m)·β,

    - w_yi ← w_yi + α·σ_yi·xᵢ and w_si ← w_si − α·σ_si·xᵢ;
    - σ_ci ← σ_ci − β·(σ_ci·xᵢ)² for both classes c.

    An intercept is a constant feature 1 of each class, with a variance of its own.

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    r
        How strongly it resists: a small r fits each example almost at once, a large one moves and settles
        slowly, which is what noisy labels need. From 1e-25 to 1e25.
    fit_intercept
        Whether each class has a bias.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class. Computed when asked for.
    bias : dict
        Bias by class.
    variances : dict
        By feature, by class, where it is no longer 1. Computed when asked for.
    bias_variance : dict
        By class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made: examples with a margin below 1, misclassified or not.

    Notes
    -----
    Which variant: the binary AROW of 2009 on the difference of the features of y and s, as the
    multiclass confidence-weighted learner does with its "top-1" constraint; the matrix of variances is
    diagonal, and stays so by dropping what its update has off the diagonal.

    The weight of an example divides r, as it would multiply both of the objective's terms for it. An
    update cannot be taken back: what it added depends on variances that have moved on. A loss counts as
    at most 1e100, so that no stream can make the weights overflow.

    References
    ----------
    Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight vectors. Advances
    in Neural Information Processing Systems 22. Figure 1; in full: Machine Learning 91(2), 2013.

    Crammer, K., Dredze, M. and Kulesza, A. (2009). Multi-class confidence weighted algorithms.
    Empirical Methods in Natural Language Processing. The top-1 update.

    Examples
    --------
    >>> from perceptron_core import MulticlassAROW
    >>> model = MulticlassAROW(["cat", "dog", "bird"], fit_intercept=False)
    >>> model.learn_one({"barks": 1.0}, "dog")
    >>> model.weights["dog"], model.variances["dog"]
    ({'barks': 0.3333}, {'barks': 0.6667})

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassAROW()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 88.44%

    """

    NAME = "multiclass-arow"
    WEIGHT = OF_RESISTANCE
    SEARCHED: ClassVar = {"r": Span(0.01, 100.0)}
    STATE: ClassVar = {
        **dict.fromkeys(("variances", "bias_variance"), restored.columns),
        **LinearMulticlass.STATE,
    }
    VARIANTS = ({"r": 0.1}, {"fit_intercept": False})

    def __init__(
        self, classes: Sequence[Label] | None = None, r: float = 1.0, fit_intercept: bool = True
    ) -> None:
        if not 1 / MAX_RATE <= r <= MAX_RATE:
            raise ValueError(f"r must be a number from {1 / MAX_RATE:g} to {MAX_RATE:g}, not {r!r}")
        super().__init__(classes, fit_intercept)
        self.r = float(r)

    @property
    def variances(self) -> dict[Label, Vector]:
        """By feature, by class, where it is no longer 1. Computed when asked for."""
        return {
            label: {name: cell for name, cell in self.table.stored(column).items() if cell != 1}
            for label, column in zip(self.labels, self.variance_columns, strict=True)
        }

    @variances.setter
    def variances(self, variances: Mapping[Label, Mapping[Any, float]]) -> None:
        self._write_columns(self.variance_columns, variances)

    def _first_columns(self) -> Sequence[Column]:
        return self.variance_columns

    bias_variance = column_properties.by_class("bias_variances", "Variance of the bias, by class.")
