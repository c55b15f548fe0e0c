"""The ways in which a number that several lanes learn is mixed.

All that decides what a mixed model is stands here; a learner's `SHARED` says which number is of which kind.

With s_k the shift of lane k since the base, c_k the updates it is made of, and g_k the precision gained with
them, over the lanes that updated a coordinate whose base has the precision P, a shift is mixed to

    θ·Σ s_k + (1 − θ)·Σ c_k·s_k / Σ c_k

between the sum of the shifts and their mean weighted by updates. Where the base is sure, all lanes have moved
a little from the same place, and the moves add; where a round brings much, all have moved to about the same
new place, and the moves are averaged. The sum alone overshoots, the mean alone is slow.

- `Mean`: θ = 1 / (1 + Σ c_k), rounded to a whole number if all s_k are whole.
- `ConfidentMean`: θ = P / (P + κ·Σ g_k). κ = 1 would make normal distributions multiply, if the features of
  an example were independent; an update moves all of them for one error.
- `Precision`: P + Σ g_k.
- `CountMean` and `MeanPrecision`, of learners that forget, where a gain may be negative: θ = 0, and P plus
  the mean of the g_k.

The shift of a lane alone comes out as it is, to the bit. docs/decisions.md has what was measured.

References
----------
McDonald, R., Hall, K. and Mann, G. (2010). Distributed training strategies for the structured perceptron.
Human Language Technologies (NAACL). The mean weighted by the updates of each lane.

Zinkevich, M., Weimer, M., Smola, A. and Li, L. (2010). Parallelized stochastic gradient descent. Advances in
Neural Information Processing Systems 23. The plain mean.

`kinds.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, inf
from typing import Final

BY_NOTHING: Final = 0
BY_COUNT: Final = 1
BY_LANE: Final = 2
"""What a shift is weighted by in a mean: nothing, as there is none; its updates; or every lane alike."""

_LARGEST_PRECISION: Final = 1e100


class Kind:
    """A sum: the shifts of all lanes add up."""

    weighed_by: int
    keeps_whole: bool
    is_signed: bool

    lowest: float

    def __init__(self, *, is_amount: bool = False) -> None:
        self.weighed_by = BY_NOTHING
        self.keeps_whole = False
        """Whether whole shifts are mixed to a whole one."""
        self.is_signed = not is_amount
        """Whether its shifts measure how far a lane is from the base."""
        self.lowest = 0.0 if is_amount else -inf
        """What a lane's number and the base are at least."""

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

    def mixed(self, total: float, weighted: float, weight: float, precision: float, gain: float) -> float:  # noqa: ARG002
        """Compute what the contributions are mixed to.

        `weighted` is the sum of the shifts times their weights, `weight` the sum of these; `precision` is the
        base's, and `gain` what all lanes add to it.
        """
        return total

    def rebased(self, base: float, mixed: float) -> float:
        """Compute the new base."""
        return max(self.lowest, base + mixed)

    def moved(self, value: float, old: float, new: float, own: float) -> float:
        """Compute a lane's number on the new base: with what it did not contribute to it."""
        return max(self.lowest, new + ((value - old) - own))


class CountMean(Kind):
    """A mean weighted by updates."""

    def __init__(self, *, is_amount: bool = False) -> None:
        super().__init__(is_amount=is_amount)
        self.weighed_by = BY_COUNT

    def mixed(self, total: float, weighted: float, weight: float, precision: float, gain: float) -> float:  # noqa: ARG002
        """Compute what the contributions are mixed to, with θ = 0."""
        return pooled(total, weighted, weight, 0.0)


class Mean(CountMean):
    """Between sum and mean, by the number of updates; whole where all shifts are.

    Weights of the perceptron on counts are whole, and its ties (a = 0) are part of its rule.
    """

    def __init__(self, *, is_amount: bool = False) -> None:
        super().__init__(is_amount=is_amount)
        self.keeps_whole = True

    def mixed(self, total: float, weighted: float, weight: float, precision: float, gain: float) -> float:  # noqa: ARG002
        """Compute what the contributions are mixed to, with θ = 1 / (1 + Σ c)."""
        return pooled(total, weighted, weight, 1.0 / (1.0 + weight))


class ConfidentMean(CountMean):
    """Between sum and mean, by the gain in precision; the next number is the variance."""

    kappa: float

    def __init__(self, kappa: float) -> None:
        super().__init__()
        self.kappa = kappa

    def mixed(self, total: float, weighted: float, weight: float, precision: float, gain: float) -> float:
        """Compute what the contributions are mixed to, with θ = P / (P + κ·Σ g)."""
        return pooled(total, weighted, weight, precision / (precision + self.kappa * max(0.0, gain)))


class Precision(Kind):
    """A variance of at most 1, whose inverses add up. Contributed and kept as base is 1/σ − 1."""

    def __init__(self) -> None:
        super().__init__()
        self.is_signed = False

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


class MeanPrecision(Precision):
    """A variance of at most 1, whose inverse's gains are averaged."""

    def __init__(self) -> None:
        super().__init__()
        self.weighed_by = BY_LANE

    def mixed(self, total: float, weighted: float, weight: float, precision: float, gain: float) -> float:  # noqa: ARG002
        """Compute the mean of the gains."""
        return pooled(total, weighted, weight, 0.0)


class Maximum(Kind):
    """The largest that any lane has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.is_signed = False

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


class Average(CountMean):
    """A number that follows from others with time, and is taken over: the mean of the lanes' own.

    It changes in all lanes without updates, so shifts would count the same change several times. A lane
    contributes it with an update of what it follows from.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_signed = False

    def shift(self, value: float, base: float) -> float:  # noqa: ARG002  the number itself
        """Return the number itself."""
        return value

    def is_changed(self, value: float, base: float) -> bool:  # noqa: ARG002  others say so
        """Return False: time is no update."""
        return False

    def absent(self, value: float) -> float:
        """Return the number: what a lane did not contribute, it gives up."""
        return value

    def rebased(self, base: float, mixed: float) -> float:  # noqa: ARG002  replaced
        """Return what was mixed."""
        return mixed

    def moved(self, value: float, old: float, new: float, own: float) -> float:  # noqa: ARG002
        """Compute a lane's number on the new base."""
        return new + (value - own)


def pooled(total: float, weighted: float, weight: float, theta: float) -> float:
    """Compute θ·Σs + (1 − θ)·Σw·s / Σw; Σs if the weights do not matter, as of one lane."""
    if weighted == total * weight or weight == 0:
        return total
    return theta * total + (1.0 - theta) * (weighted / weight)


def nearest_whole(number: float) -> float:
    """Round to the nearest whole number, from a half away from 0."""
    return float(floor(number + 0.5)) if number >= 0 else -float(floor(0.5 - number))


def _excess(variance: float) -> float:
    """Compute 1/σ − 1."""
    return 1.0 / max(variance, 1.0 / _LARGEST_PRECISION) - 1.0


KINDS: Final[Mapping[str, Kind]] = {
    "amount": Kind(is_amount=True),
    "average": Average(),
    "confident mean": ConfidentMean(10.0),
    "confident mean of SCW": ConfidentMean(60.0),  # whose variances fall faster
    "count": Kind(is_amount=True),
    "count mean": CountMean(),
    "maximum": Maximum(),
    "mean": Mean(),
    "mean amount": Mean(is_amount=True),
    "mean precision": MeanPrecision(),
    "precision": Precision(),
    "sum": Kind(),
}
"""By the names that layouts use."""
