"""How a number that several lanes learn is mixed. In: shifts, and how much each counts. Out: new numbers.

All that decides what a mixed model is stands here; `layouts` says which number is of which kind.

With s_k the shift of lane k since the base, c_k the updates it is made of, and g_k the precision it gained
with them, over the lanes that updated a coordinate whose base has the precision P:

- `Mean`: Σ s_k·(1 + c_k) / (1 + Σ c_k). Between the sum of the shifts and their mean weighted by counts:
  where each lane made few updates, these hardly overlap.
- `ConfidentMean`: Σ s_k·(P + κ·g_k) / (P + κ·Σ g_k). With κ = 1 it is the product of normal distributions;
  the larger κ, the nearer to the mean weighted by precisions. κ grows with the features of an example,
  which a lane moves together.
- `Precision`: P + Σ g_k.

The shift of a lane alone comes out as it is, to the bit.

References
----------
McDonald, R., Hall, K. and Mann, G. (2010). Distributed training strategies for the structured perceptron.
Human Language Technologies (NAACL). The mean weighted by the updates of each.

Zinkevich, M., Weimer, M., Smola, A. and Li, L. (2010). Parallelized stochastic gradient descent. Advances in
Neural Information Processing Systems 23. The plain mean.

`kinds.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Final

BY_NOTHING: Final = 0
BY_COUNT: Final = 1
BY_GAIN: Final = 2
"""What a shift is weighted by: nothing, updates, or the gain in precision that comes with it."""

_LARGEST_PRECISION: Final = 1e100
_OVERLAP_OF_FEATURES: Final = 0.7
"""κ for each feature of an example."""


class Kind:
    """A sum: the shifts of all lanes add up."""

    weighed_by: int

    def __init__(self) -> None:
        self.weighed_by = BY_NOTHING

    def shift(self, value: float, base: float) -> float:
        """Compute what a lane contributes, whose number is `value`."""
        return value - base

    def is_changed(self, value: float, base: float) -> bool:
        """Return whether a lane updated its number."""
        return value != base

    def absent(self, value: float) -> float:  # noqa: ARG002  no shift
        """Return the contribution of a lane that made none."""
        return 0.0

    def total(self, total: float, shift: float) -> float:
        """Add a contribution to those of the lanes before."""
        return total + shift

    def mixed(self, total: float, weighted: float, weight: float, precision: float, kappa: float) -> float:  # noqa: ARG002
        """Compute what the contributions are mixed to.

        `weighted` is the sum of the shifts times their weights, `weight` the sum of these; `precision` is the
        base's.
        """
        return total

    def rebased(self, base: float, mixed: float) -> float:
        """Compute the new base."""
        return base + mixed

    def moved(self, value: float, old: float, new: float, own: float) -> float:
        """Compute a lane's number on the new base: with what it did not contribute to it."""
        return new + ((value - old) - own)


class Amount(Kind):
    """A sum of what is never negative."""

    def rebased(self, base: float, mixed: float) -> float:
        """Compute the new base."""
        return max(0.0, base + mixed)

    def moved(self, value: float, old: float, new: float, own: float) -> float:
        """Compute a lane's number on the new base."""
        return max(0.0, new + ((value - old) - own))


class Mean(Kind):
    """A mean weighted by updates."""

    def __init__(self) -> None:
        self.weighed_by = BY_COUNT

    def mixed(self, total: float, weighted: float, weight: float, precision: float, kappa: float) -> float:  # noqa: ARG002
        """Compute Σ s·(1 + c) / (1 + Σ c)."""
        return pooled(total, weighted, weight, 1.0, 1.0)


class ConfidentMean(Kind):
    """A mean weighted by precisions, which is the next number."""

    def __init__(self) -> None:
        self.weighed_by = BY_GAIN

    def mixed(self, total: float, weighted: float, weight: float, precision: float, kappa: float) -> float:
        """Compute Σ s·(P + κ·g) / (P + κ·Σ g)."""
        return pooled(total, weighted, weight, precision, kappa)


class Precision(Kind):
    """A variance of at most 1, whose inverses add up. Contributed and kept as base is 1/σ − 1."""

    def shift(self, value: float, base: float) -> float:
        """Compute the gain in precision."""
        return _excess(value) - base

    def is_changed(self, value: float, base: float) -> bool:
        """Return whether a lane updated its variance."""
        return _excess(value) != base

    def rebased(self, base: float, mixed: float) -> float:
        """Compute the new base, that of a variance of at most 1."""
        return min(max(0.0, base + mixed), _LARGEST_PRECISION)

    def moved(self, value: float, old: float, new: float, own: float) -> float:
        """Compute a lane's variance on the new base."""
        return 1.0 / (1.0 + max(0.0, new + ((_excess(value) - old) - own)))


class Maximum(Kind):
    """The largest that any lane has seen."""

    def shift(self, value: float, base: float) -> float:  # noqa: ARG002  the number itself
        """Return the number itself."""
        return value

    def is_changed(self, value: float, base: float) -> bool:
        """Return whether a lane has seen a larger one."""
        return value > base

    def total(self, total: float, shift: float) -> float:
        """Return the larger one."""
        return max(total, shift)

    def rebased(self, base: float, mixed: float) -> float:
        """Compute the new base."""
        return max(base, mixed)

    def moved(self, value: float, old: float, new: float, own: float) -> float:  # noqa: ARG002
        """Return the larger of a lane's number and the base."""
        return max(value, new)


class Average(Mean):
    """A number that follows from others with time, and is taken over: the mean of the lanes' own.

    It changes in all lanes without updates, so shifts would count the same change several times.
    """

    def shift(self, value: float, base: float) -> float:  # noqa: ARG002  the number itself
        """Return the number itself."""
        return value

    def is_changed(self, value: float, base: float) -> bool:  # noqa: ARG002  others say so
        """Return False: time is no update."""
        return False

    def absent(self, value: float) -> float:
        """Return the number: what a lane did not contribute, it gives up."""
        return value

    def mixed(self, total: float, weighted: float, weight: float, precision: float, kappa: float) -> float:  # noqa: ARG002
        """Compute Σ v·c / Σ c."""
        return pooled(total, weighted, weight, 0.0, 1.0)

    def rebased(self, base: float, mixed: float) -> float:  # noqa: ARG002  replaced
        """Return what was mixed."""
        return mixed

    def moved(self, value: float, old: float, new: float, own: float) -> float:  # noqa: ARG002
        """Compute a lane's number on the new base."""
        return new + (value - own)


def pooled(total: float, weighted: float, weight: float, prior: float, kappa: float) -> float:
    """Compute (prior·Σs + κ·Σw·s) / (prior + κ·Σw); Σs if the weights do not matter, as of one lane."""
    if weighted == total * weight or prior + kappa * weight <= 0:
        return total
    return (prior * total + kappa * weighted) / (prior + kappa * weight)


def kappa_of(n_features: float) -> float:
    """Return κ for examples of so many features."""
    return max(1.0, _OVERLAP_OF_FEATURES * n_features)


def _excess(variance: float) -> float:
    """Compute 1/σ − 1."""
    return 1.0 / max(variance, 1.0 / _LARGEST_PRECISION) - 1.0


SUM: Final = Kind()
AMOUNT: Final = Amount()
MEAN: Final = Mean()
CONFIDENT_MEAN: Final = ConfidentMean()
PRECISION: Final = Precision()
MAXIMUM: Final = Maximum()
AVERAGE: Final = Average()
