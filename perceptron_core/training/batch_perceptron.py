"""The batch perceptron: descent on the perceptron criterion of a whole set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Self

from river import base

from perceptron_core import sparse_vectors as sparse
from perceptron_core.elementary import logistic
from perceptron_core.linear import restored
from perceptron_core.linear.binary import Features
from perceptron_core.theory.geometry import LinearModel
from perceptron_core.validation import MAX_MAGNITUDE, check_positive, sign_of

Schedule = Callable[[int], float]
"""η(k), for k = 1, 2, …"""


class BatchPerceptron(base.Base):
    """Perceptron that updates once for all misclassified examples of a finite set.

    With normalised samples z = y·(x, 1), from an arbitrary a = (w, b), for k = 1, 2, …:
    a ← a + η(k)·Σ z over the samples with z·a ≤ margin, until |η(k)·Σ z| < criterion. It is gradient descent
    on the perceptron criterion J_p, and ends if the set is separable and η constant.

    Parameters
    ----------
    learning_rate
        η(k): a constant, or a function of k = 1, 2, ….
    margin
        b ≥ 0: a sample counts as misclassified while z·a ≤ b. After convergence z·a > b for all.
    criterion
        θ > 0: a shorter step ends the descent. The terms of misclassified samples may cancel, so the end
        proves nothing: see `n_violations`.
    max_iter
        Largest number of steps.
    fit_intercept
        Whether samples include the constant 1.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature.
    bias : float
        The intercept.
    n_iterations : int
        Number of steps.
    n_violations : int
        Number of samples with z·a ≤ margin at the end.
    converged : bool
        Whether there are none.

    References
    ----------
    Duda, R., Hart, P., Stork, D. (2001). Pattern Classification, chapter 5, algorithm 3 (batch
    perceptron), with the margin of section 5.5.3.

    Examples
    --------
    >>> from perceptron_core import BatchPerceptron
    >>> corners = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    >>> model = BatchPerceptron().fit(corners, [False, False, False, True])
    >>> model.converged, model.weights, model.bias
    (True, {'a': 2.0, 'b': 2.0}, -3.0)
    >>> [model.predict_one(x) for x in corners]
    [False, False, False, True]

    """

    STATE: ClassVar[restored.State] = {
        "weights": restored.numbers,
        "bias": restored.number,
        "n_iterations": restored.count,
        "n_violations": restored.count,
    }

    def __init__(
        self,
        learning_rate: float | Schedule = 1.0,
        margin: float = 0.0,
        criterion: float = 1e-9,
        max_iter: int = 1000,
        fit_intercept: bool = True,
    ) -> None:
        if not callable(learning_rate):
            check_positive("learning_rate", learning_rate, MAX_MAGNITUDE)
        if not 0 <= margin < math.inf:
            raise ValueError(f"margin: expected a finite number of at least 0, got {margin!r}")
        if not 0 < criterion < math.inf:
            raise ValueError(f"criterion: expected a finite number above 0, got {criterion!r}")
        if max_iter < 1:
            raise ValueError(f"max_iter: expected at least 1, got {max_iter!r}")
        self.learning_rate = learning_rate
        self.margin = margin
        self.criterion = criterion
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.weights: sparse.Vector = {}
        self.bias = 0.0
        self.n_iterations = 0
        self.n_violations = 0

    @property
    def converged(self) -> bool:
        """Whether the last `fit` left no sample with z·a ≤ margin."""
        return self.n_iterations > 0 and not self.n_violations

    def fit(self, X: Iterable[Features], y: Iterable[Any], start: LinearModel | None = None) -> Self:
        """Descend from `start`, by default from 0; an earlier fit has no effect.

        Parameters
        ----------
        X
            Features, example by example.
        y
            Labels: True/False, 1/0 or 1/−1.
        start
            a(1): the initial weights and bias; without an intercept, its bias is not used.

        Raises
        ------
        FeatureError, LabelError
            A feature or a label is invalid; the model is unchanged.
        ValueError
            There are no examples, another number of labels, or η(k) is not a finite number above 0.

        """
        samples = [self._normalised(x, label) for x, label in zip(X, y, strict=True)]
        if not samples:
            raise ValueError("there are no examples to fit")
        self.weights = dict(start.weights) if start else {}
        self.bias = start.bias if start and self.fit_intercept else 0.0
        for k in range(1, self.max_iter + 1):
            self.n_iterations = k
            if self._step(k, samples) < self.criterion:
                break
        self.n_violations = len(self._violated(samples))
        return self

    def score_one(self, x: Features) -> float:
        """Compute w·x + b. Raises `FeatureError` for an invalid value."""
        return sparse.dot(self.weights, x, self.bias)

    def predict_one(self, x: Features) -> bool:
        """Predict the class of `x`: True above 0."""
        return self.score_one(x) > 0

    def predict_proba_one(self, x: Features) -> dict[bool, float]:
        """Return the logistic function of the score; not calibrated."""
        p = logistic(self.score_one(x))
        return {False: 1.0 - p, True: p}

    def _normalised(self, x: Features, label: Any) -> tuple[sparse.Vector, float]:
        sign = float(sign_of(label))
        return {name: sign * value for name, value in sparse.checked(x)}, sign

    def _violated(self, samples: list[tuple[sparse.Vector, float]]) -> list[tuple[sparse.Vector, float]]:
        """List the samples with z·a ≤ margin."""
        bias = self.bias
        return [(z, sign) for z, sign in samples if sparse.dot(self.weights, z, bias * sign) <= self.margin]

    def _step(self, k: int, samples: list[tuple[sparse.Vector, float]]) -> float:
        """Take step k; return its length."""
        rate = self.learning_rate(k) if callable(self.learning_rate) else self.learning_rate
        check_positive("learning_rate", rate, MAX_MAGNITUDE)
        total: sparse.Vector = {}
        total_sign = 0.0
        for z, sign in self._violated(samples):
            sparse.add(total, z, 1.0)
            total_sign += sign
        if not self.fit_intercept:
            total_sign = 0.0
        sparse.add(self.weights, total, rate)
        self.bias += rate * total_sign
        return rate * math.hypot(*total.values(), total_sign)

    def _get_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.STATE}

    def _set_state(self, state: Mapping[str, Any]) -> None:
        for name, checked in self.STATE.items():
            setattr(self, name, checked(state[name]))
