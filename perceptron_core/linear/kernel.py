"""The kernel perceptron, and kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from perceptron_core import sparse_vectors as sparse
from perceptron_core.elementary import exp
from perceptron_core.linear import restored
from perceptron_core.linear.binary import BinaryClassifier, Features
from perceptron_core.linear.declarations import OF_STEP, Term
from perceptron_core.validation import (
    MAX_RATE,
    FeatureError,
    Rate,
    check_positive,
    check_rate,
    example_weight,
    rate_at,
    sign_of,
)

Example = Mapping[Any, float]
Kernel = Callable[[Example, Example], float]

NAMES: Final = ("linear", "polynomial", "rbf")
LARGEST: Final = 1e200
"""Kernel values are clamped to this size, so that their sums do not overflow."""


def make_kernel(kernel: str | Kernel, gamma: float, degree: int, coef0: float) -> Kernel:
    """Return the kernel of a name, or a callable with checks and clamping.

    ==========  ================================
    linear      x·z
    polynomial  (gamma·x·z + coef0)^degree
    rbf         exp(−gamma·‖x − z‖²)
    ==========  ================================
    """
    if kernel == "linear":
        return dot
    if kernel == "polynomial":
        return lambda x, z: _power(gamma * dot(x, z) + coef0, degree)
    if kernel == "rbf":
        return lambda x, z: exp(-gamma * squared_distance(x, z))
    if not callable(kernel):
        raise ValueError(f"kernel: expected one of {', '.join(NAMES)} or a function, got {kernel!r}")  # noqa: TRY004  most often a misspelt name
    return lambda x, z: _checked(kernel(x, z))


def dot(x: Example, z: Example) -> float:
    """Compute x·z, summed in the order of `x`; at most `LARGEST` in size."""
    total = 0.0
    for name, value in x.items():
        other = z.get(name)
        if other is not None:
            total += value * other
    return _clamped(total)


def squared_distance(x: Example, z: Example) -> float:
    """Compute ‖x − z‖², without the cancellation of ‖x‖² − 2x·z + ‖z‖²."""
    total = 0.0
    for name, value in x.items():
        difference = value - z.get(name, 0.0)
        total += difference * difference
    for name, value in z.items():
        if name not in x:
            total += value * value
    return total


def _power(base: float, degree: int) -> float:
    """Compute baseᵈ by squaring, as `**` rounds differently with each C library."""
    power = 1.0
    while degree:
        if degree & 1:
            power *= base
        base *= base
        degree >>= 1
    return _clamped(power)


def _checked(value: float) -> float:
    if not math.isfinite(value):
        raise FeatureError(f"expected a finite number from the kernel, got {value!r}")
    return _clamped(float(value))


def _clamped(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)


_MAX_ALPHA: Final = MAX_RATE * MAX_RATE
"""Largest product of a rate and the weight of an example."""


def _support(values: Any) -> list[tuple[sparse.Vector, float]]:
    """Return the saved examples, each with its α. Raises `ValueError` if they are invalid."""
    return [(dict(sparse.checked(restored.numbers(x))), _alpha(alpha)) for x, alpha in values]


_alpha: Final = restored.between(-_MAX_ALPHA, _MAX_ALPHA)


class KernelPerceptron(BinaryClassifier):
    """Perceptron in its dual form, with any kernel.

    The perceptron's weights are a sum of the examples of its updates, so w·x is a sum of inner products with
    these; with another inner product K it is a perceptron in another space, without a weight vector:

        a = Σᵢ αᵢ·K(xᵢ, x) + b
        y·a ≤ 0:  store x with α = η·y,  b ← b + η·y

    With `kernel="linear"` it is `Perceptron`, only slower.

    Parameters
    ----------
    kernel
        `"rbf"`: exp(−gamma·‖x − z‖²); `"polynomial"`: (gamma·x·z + coef0)^degree; `"linear"`: x·z; or a
        function of two dictionaries. `to_bytes` cannot save a model with a function.
    gamma
        Above 0, at most 1e25.
    degree
        From 1.
    coef0
        At most 1e25 in size.
    budget
        Largest number of stored examples; a new one replaces the oldest. With None all are stored, and the
        time of a prediction grows with the number of updates.
    learning_rate
        η > 0: a number or one of `river.optim.schedulers`. A constant changes no prediction.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    support : list
        Pairs of an example and its α, oldest first; do not modify.
    bias : float
        b, which includes the contributions of examples that were replaced.
    n_mistakes : int
        Examples that were misclassified before their update.
    n_updates : int
        Updates made.

    Notes
    -----
    Kernel values are clamped to ±1e200, so that polynomials of large values do not overflow.

    References
    ----------
    Aizerman, M., Braverman, E. and Rozonoer, L. (1964). Theoretical foundations of the potential function
    method in pattern recognition learning. Automation and Remote Control 25.

    Freund, Y. and Schapire, R. (1999). Large margin classification using the perceptron algorithm.
    Machine Learning 37(3), section 3.

    Dekel, O., Shalev-Shwartz, S. and Singer, Y. (2008). The Forgetron: a kernel-based perceptron on a budget.
    SIAM Journal on Computing 37(5). The replacement of the oldest example; without the shrinking.

    Examples
    --------
    Exclusive or, which a linear perceptron cannot learn:

    >>> from perceptron_core import KernelPerceptron
    >>> table = [({"a": a, "b": b}, a != b) for a in (0, 1) for b in (0, 1)]
    >>> model = KernelPerceptron(kernel="polynomial", degree=2)
    >>> for _ in range(10):
    ...     for x, y in table:
    ...         model.learn_one(x, y)
    >>> [model.predict_one(x) for x, _ in table]
    [False, True, True, False]

    """

    NAME = "kernel-perceptron"
    WEIGHT = OF_STEP
    STATE: ClassVar = {"support": _support, "bias": restored.number, **restored.COUNTS}
    VARIANTS = (
        {"kernel": "linear", "fit_intercept": False},
        {"kernel": "polynomial", "degree": 2},
        {"kernel": "polynomial", "budget": 10},
    )

    def __init__(
        self,
        kernel: str | Kernel = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int | None = None,
        learning_rate: Rate = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        check_positive("gamma", gamma)
        if not (isinstance(degree, int) and degree >= 1):
            raise ValueError(f"degree: expected a whole number of at least 1, got {degree!r}")
        if not -MAX_RATE <= coef0 <= MAX_RATE:
            raise ValueError(f"coef0: expected at most {MAX_RATE:g} in size, got {coef0!r}")
        if budget is not None and not (isinstance(budget, int) and budget >= 1):
            raise ValueError(f"budget: expected a whole number of at least 1, or None, got {budget!r}")
        make_kernel(kernel, gamma, degree, coef0)
        check_rate(learning_rate)
        super().__init__()
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.learning_rate = learning_rate
        self.fit_intercept = fit_intercept
        self.support: list[tuple[sparse.Vector, float]] = []
        self.bias = 0.0

    def score_one(self, x: Features) -> float:
        """Compute Σᵢ αᵢ·K(xᵢ, x) + b.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        return self._score(dict(sparse.checked(x)))

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does; return its α, 0 if it was not stored."""
        sign = sign_of(y)
        w = example_weight(w)
        entries = dict(sparse.checked(x))
        a = self._score(entries)
        if w == 0:
            return 0.0
        alpha = sign * rate_at(self.learning_rate, self.n_updates) * w if sign * a <= 0 else 0.0
        self.n_mistakes += self.decide(a) != (sign > 0)
        if alpha:
            self._keep({name: value for name, value in entries.items() if value}, alpha)
            self.n_updates += 1
        return alpha

    def _score(self, x: sparse.Vector) -> float:
        kernel = self._kernel()
        score = self.bias
        for kept, alpha in self.support:  # `sum` of floats differs between Python 3.11 and 3.12
            score += alpha * kernel(kept, x)
        return score

    def _kernel(self) -> Kernel:
        return make_kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _keep(self, x: sparse.Vector, alpha: float) -> None:
        self.support.append((x, alpha))
        if self.budget is not None and len(self.support) > self.budget:
            del self.support[0]
        if self.fit_intercept:
            self.bias += alpha

    def _terms(self, x: Features) -> Iterator[Term]:
        kernel, entries = self._kernel(), dict(sparse.checked(x))
        for number, (kept, alpha) in enumerate(self.support):
            yield f"support {number}", kernel(kept, entries), alpha
        yield "Intercept", 1.0, self.bias
