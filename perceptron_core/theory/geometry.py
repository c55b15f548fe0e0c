"""The geometry of linear models: distances to the hyperplane, margin, radius."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from perceptron_core import sparse_vectors as sparse
from perceptron_core.linear.binary import Features
from perceptron_core.validation import sign_of

Example = tuple[Features, Any]
"""Features and label: True/False, 1/0 or 1/−1."""

Examples = Iterable[Example]


class LinearModel(Protocol):
    """A model that decides by the sign of w·x + b; a `threshold` θ, if it has one, counts as a bias of −θ."""

    @property
    def weights(self) -> Mapping[Any, float]:
        """Weights by feature; a missing one is 0."""

    @property
    def bias(self) -> float:
        """The bias b."""


@dataclass(frozen=True, slots=True)
class Hyperplane:
    """The set w·x + b = 0; w is orthogonal to it and points to the positive side.

    Examples
    --------
    >>> from perceptron_core import Hyperplane
    >>> Hyperplane({"x": 2.0}, bias=-1.0).score_one({"x": 3.0})
    5.0

    """

    weights: Mapping[Any, float] = field(default_factory=dict)
    bias: float = 0.0

    @classmethod
    def of(cls, model: LinearModel) -> Hyperplane:
        """Return the hyperplane on which `model` decides, its threshold folded into the bias."""
        return cls(model.weights, model.bias - getattr(model, "threshold", 0.0))

    def score_one(self, x: Features) -> float:
        """Compute w·x + b. Raises `FeatureError` for an invalid value."""
        return sparse.dot(self.weights, x, self.bias)

    def predict_one(self, x: Features) -> bool:
        """Return whether `x` lies on the positive side."""
        return self.score_one(x) > 0

    def norm(self, *, with_bias: bool = False) -> float:
        """Compute ‖w‖, or ‖(w, b)‖: the length of the augmented vector."""
        return math.hypot(*self.weights.values(), self.bias if with_bias else 0.0)


def signed_distances(model: LinearModel, examples: Examples) -> list[float]:
    """Compute y(w·x + b)/‖w‖ for each example: its distance from the hyperplane, negative for a mistake.

    Raises
    ------
    ValueError
        All weights are 0: there is no hyperplane.

    References
    ----------
    Daumé III, H. (2017). A Course in Machine Learning, section 4.5.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, signed_distances
    >>> signed_distances(Hyperplane({"x": 3.0, "y": 4.0}), [({"x": 5.0}, True), ({"y": 5.0}, False)])
    [3.0, -4.0]

    """
    plane = Hyperplane.of(model)
    norm = plane.norm()
    if not norm:
        raise ValueError("all weights are 0, so there is no hyperplane")
    return [sign_of(y) * plane.score_one(x) / norm for x, y in examples]


def margin(model: LinearModel, examples: Examples) -> float:
    """Compute the geometric margin min y(w·x + b)/‖w‖ of a model on a set of examples.

    It is positive if and only if the model separates the set; without examples it is inf.

    Raises
    ------
    ValueError
        All weights are 0: there is no hyperplane.

    References
    ----------
    Daumé III, H. (2017). A Course in Machine Learning, section 4.5, equation 4.8.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, margin
    >>> margin(Hyperplane({"x": 2.0}, bias=-2.0), [({"x": 3.0}, True), ({"x": 0.5}, False)])
    0.5

    """
    return min(signed_distances(model, examples), default=math.inf)


def radius(examples: Examples, *, fit_intercept: bool = False) -> float:
    """Compute R = max ‖x‖, or max ‖(x, 1)‖ for a model with an intercept; 0 for no examples.

    Examples
    --------
    >>> from perceptron_core import radius
    >>> radius([({"x": 3.0, "y": 4.0}, True), ({"x": 1.0}, False)])
    5.0

    """
    constant = 1.0 if fit_intercept else 0.0
    return max((math.hypot(*map(float, x.values()), constant) for x, _ in examples), default=0.0)
