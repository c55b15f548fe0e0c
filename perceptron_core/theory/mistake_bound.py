"""The mistake bound of a perceptron on given examples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from perceptron_core import sparse_vectors as sparse
from perceptron_core.linear.binary import Features
from perceptron_core.theory.geometry import Example, Examples, Hyperplane, LinearModel, radius
from perceptron_core.theory.separability import minimum_length_solution
from perceptron_core.validation import sign_of


class Scorer(Protocol):
    """A model with a signed score; its `threshold`, if it has one, is subtracted."""

    def score_one(self, x: Features) -> float:
        """Compute the score of `x`."""


@dataclass(frozen=True, slots=True)
class MistakeBound:
    """How many updates a perceptron that starts from zero can make, in any order and any number of epochs.

    Attributes
    ----------
    updates : float
        (R/γ)²; inf if there is no bound.
    radius : float
        R, with the constant feature 1 if there is an intercept.
    margin : float
        γ of the separator, whose length includes the bias if there is an intercept; nan without a separator.
    reason : str
        Why `updates` is inf; empty otherwise.

    """

    updates: float
    radius: float
    margin: float
    reason: str = ""


def mistake_bound(
    examples: Examples, separator: LinearModel | None = None, *, fit_intercept: bool = True
) -> MistakeBound:
    """Compute the perceptron's mistake bound (R/γ)² on a set of examples.

    If some separator has margin γ on all examples, and ‖x‖ ≤ R, then a perceptron started from zero
    makes at most (R/γ)² updates, whatever its learning rate. An intercept is a weight of a constant
    feature 1, in R as in γ. There is no bound for data that cannot be separated. The bound does not tell
    how soon the mistakes come, and may be astronomically large if the margin is small. It holds for
    `Perceptron` with threshold 0, not for learners that also update on correct predictions.

    Parameters
    ----------
    examples
        Features and labels.
    separator
        A model that separates them; by default the one with the largest margin, and so with the smallest
        bound (`minimum_length_solution`: for sets that fit into memory as a dense matrix).
    fit_intercept
        Whether the perceptron learns an intercept.

    References
    ----------
    Novikoff, A. (1962). On convergence proofs for perceptrons. Symposium on the Mathematical Theory of
    Automata 12.

    Examples
    --------
    >>> from perceptron_core import mistake_bound
    >>> mistake_bound([({"x": 3.0}, True), ({"x": 1.0}, False)]).updates
    50.0
    >>> mistake_bound([({"x": 1.0}, True), ({"x": 1.0}, False)])
    MistakeBound(updates=inf, radius=1.41, margin=nan, reason='no hyperplane separates the examples')

    """
    data = list(examples)
    R = radius(data, fit_intercept=fit_intercept)
    if not data:
        return MistakeBound(0.0, R, math.inf)
    try:
        plane = minimum_length_solution(data, fit_intercept=fit_intercept) if separator is None else separator
    except ArithmeticError as error:
        return MistakeBound(math.inf, R, math.nan, str(error))
    if plane is None:
        return MistakeBound(math.inf, R, math.nan, "no hyperplane separates the examples")
    plane = Hyperplane.of(plane)
    if plane.bias and not fit_intercept:
        return MistakeBound(math.inf, R, math.nan, "the separator has a bias, but the perceptron has none")
    return _bound(R, min(_signed_score(plane, example) for example in data), plane)


def _bound(R: float, signed_score: float, plane: Hyperplane) -> MistakeBound:
    """Compute the bound for the smallest y·a of a separator."""
    norm = plane.norm(with_bias=True)
    if not norm:
        return MistakeBound(math.inf, R, math.nan, "all weights of the separator are 0")
    gamma = signed_score / norm
    if not gamma > 0:
        return MistakeBound(math.inf, R, gamma, "the separator does not separate the examples")
    ratio = R / gamma
    return MistakeBound(ratio * ratio, R, gamma)


def perceptron_criterion(model: Scorer, examples: Examples) -> float:
    """Compute J_p = Σ max(0, −y·a): the sum of the misclassified examples' distances, in units of 1/‖w‖.

    It is 0 if and only if no example is on the wrong side. Its stochastic gradient descent with step 1
    is the perceptron.

    References
    ----------
    Duda, R., Hart, P., Stork, D. (2001). Pattern Classification, equation 5.16.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, perceptron_criterion
    >>> perceptron_criterion(Hyperplane({"x": 1.0}), [({"x": 3.0}, False), ({"x": 2.0}, True)])
    3.0

    """
    return math.fsum(max(0.0, -_signed_score(model, example)) for example in examples)


def hinge_loss(model: Scorer, examples: Examples) -> float:
    """Compute Σ max(0, 1 − y·a): the perceptron criterion with a margin of 1. A sum, not a mean.

    References
    ----------
    Gentile, C., Warmuth, M. (1998). Linear hinge loss and average margin. NIPS 11.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, hinge_loss
    >>> hinge_loss(Hyperplane({"x": 1.0}), [({"x": 3.0}, False), ({"x": 0.5}, True), ({"x": 2.0}, True)])
    4.5

    """
    return math.fsum(max(0.0, 1.0 - _signed_score(model, example)) for example in examples)


def _signed_score(model: Scorer, example: Example) -> float:
    x, y = example
    return sign_of(y) * (model.score_one(x) - getattr(model, "threshold", 0.0))


class OnlineMistakeBound:
    """The mistake bound along a stream, with the best known separator: the model since its last update.

    Online, no separator of the whole stream is known, as old examples are not kept. But a model that has not
    changed for n examples, and was right on each of them, is a proven separator of these n examples. A
    perceptron started from zero would make at most (R/γ)² updates on them, however often and in whatever
    order it saw them, and on all later examples as long as they stay within R and γ. It needs a few numbers,
    and ‖x‖ for each example.

    **Limits.** After an update it starts again: there is no bound, with a reason, until `min_examples` have
    passed. It does not cover examples before the last update, so the mistakes counted so far may exceed it.
    On data that no hyperplane separates, a separator of the last n examples is chance, and ends with the next
    update. A bound of few examples means little: see `n_examples`.

    Parameters
    ----------
    min_examples
        Number of examples without an update after which the model counts as a separator.
    fit_intercept
        Whether the model has an intercept: a weight of a constant feature 1, in R as in γ.

    Examples
    --------
    >>> from perceptron_core import OnlineMistakeBound, Perceptron
    >>> model, bound = Perceptron(), OnlineMistakeBound(min_examples=2)
    >>> for x, y in [(1, True), (-1, False), (3, True), (-1, False)]:
    ...     score = model.score_one({"x": x})
    ...     model.learn_one({"x": x}, y)
    ...     bound.observe({"x": x}, y, score, model.n_updates)
    >>> bound.n_examples, bound.value(model).updates
    (2, 10.0)

    """

    def __init__(self, min_examples: int = 100, *, fit_intercept: bool = True) -> None:
        if min_examples < 1:
            raise ValueError(f"min_examples: expected at least 1, got {min_examples}")
        self.min_examples = min_examples
        self.fit_intercept = fit_intercept
        self.n_examples = 0
        """Number of examples since the model's last update, all of which it separates."""
        self._n_updates = 0
        self._least_signed_score = math.inf
        self._squared_radius = 0.0

    def observe(self, x: Features, y: Any, score: float, n_updates: int) -> None:
        """Record an example.

        Parameters
        ----------
        x, y
            Features and label.
        score
            The model's score a − θ before it learned the example.
        n_updates
            The model's number of updates after it learned the example.

        """
        signed_score = sign_of(y) * score
        if n_updates != self._n_updates or signed_score <= 0:
            self._n_updates = n_updates
            self._restart()
            return
        self.n_examples += 1
        self._least_signed_score = min(self._least_signed_score, signed_score)
        self._squared_radius = max(self._squared_radius, sparse.squared_norm(x) + self.fit_intercept)

    def value(self, model: LinearModel) -> MistakeBound:
        """Return the bound with the current model; `updates` is inf while no separator is known."""
        R = math.sqrt(self._squared_radius)
        if self.n_examples < self.min_examples:
            reason = f"the model was right, unchanged, on the last {self.n_examples} of {self.min_examples}"
            return MistakeBound(math.inf, R, math.nan, reason)
        return _bound(R, self._least_signed_score, Hyperplane.of(model))

    def _restart(self) -> None:
        self.n_examples = 0
        self._least_signed_score = math.inf
        self._squared_radius = 0.0
