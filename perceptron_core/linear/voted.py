"""The voted perceptron."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from river import base

from perceptron_core import sparse_vectors as sparse
from perceptron_core.linear import restored
from perceptron_core.linear.binary import BinaryClassifier, Features
from perceptron_core.linear.declarations import OF_STEP, Term
from perceptron_core.validation import example_weight, sign_of


class Survivor:
    """A weight vector that survived `count` examples, as the difference from its predecessor."""

    __slots__ = ("bias", "count", "weights")

    def __init__(self, weights: sparse.Vector, bias: float, count: int) -> None:
        self.weights = weights
        self.bias = bias
        self.count = count


def _survivors(values: Any) -> list[Survivor]:
    """Return survivors from their saved numbers."""
    return [Survivor(restored.numbers(w), restored.number(b), restored.count(n)) for w, b, n in values]


class VotedPerceptron(BinaryClassifier):
    """Perceptron that predicts by a vote of all its weight vectors, weighted by survival counts.

    It learns as the perceptron does: if y·(w·x + b) ≤ 0, w ← w + y·x and b ← b + y. Each weight vector k is
    stored with its survival count cₖ, the number of examples after which it was current. The prediction is
    the sign of the vote

        Σₖ cₖ·sign(wₖ·x + bₖ) / Σₖ cₖ

    A vector with a score of exactly 0 abstains. Each vector is stored as the difference from its predecessor,
    which is one example, so that memory grows with the mistakes.

    Parameters
    ----------
    max_survivors
        Largest number of vectors. Beyond it, the vector with the smallest survival count is dropped, the
        oldest of several, but never the current one. With None all are stored, and the time of a prediction
        grows with the number of updates.
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    survivors : list
        Oldest first; each with `weights` and `bias`, as differences from the predecessor, and `count`. Do not
        modify.
    current_weights : dict
        The weights of the current vector. Do not modify.
    current_bias : float
        b of the current vector.
    n_mistakes : int
        Examples that the vote misclassified before their update.
    n_updates : int
        Updates made.

    Notes
    -----
    The weight of an example is a factor of its update; an example of weight 0 does not count as survival. The
    probability of True is its share of the votes, where abstentions count half.

    References
    ----------
    Freund, Y. and Schapire, R. (1999). Large margin classification using the perceptron algorithm.
    Machine Learning 37(3), figure 1.

    Examples
    --------
    >>> from perceptron_core import VotedPerceptron
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | VotedPerceptron(max_survivors=50)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.40%

    """

    NAME = "voted-perceptron"
    WEIGHT = OF_STEP
    STATE: ClassVar = {
        "survivors": _survivors,
        "current_weights": restored.numbers,
        "current_bias": restored.number,
        **restored.COUNTS,
    }
    VARIANTS = ({"max_survivors": 5}, {"max_survivors": 1}, {"fit_intercept": False})

    def __init__(self, max_survivors: int | None = None, fit_intercept: bool = True) -> None:
        if max_survivors is not None and not (isinstance(max_survivors, int) and max_survivors >= 1):
            raise ValueError(f"max_survivors: expected None or at least 1, got {max_survivors!r}")
        super().__init__()
        self.max_survivors = max_survivors
        self.fit_intercept = fit_intercept
        self.survivors: list[Survivor] = []
        self.current_weights: sparse.Vector = {}
        self.current_bias = 0.0

    def score_one(self, x: Features) -> float:
        """Return the vote, from −1 to 1. Raises `FeatureError` as other learners do."""
        return self._vote(dict(sparse.checked(x)))

    def predict_proba_one(self, x: Features, **_: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the share of the votes for each class. Raises `FeatureError` as `score_one` does."""
        p = (1.0 + self.score_one(x)) / 2.0
        return {False: 1.0 - p, True: p}

    def update_one(self, x: Features, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does; return the step, 0 if the current vector survives."""
        sign = sign_of(y)
        w = example_weight(w)
        entries = dict(sparse.checked(x))
        if w == 0:
            return 0.0
        self.n_mistakes += self.decide(self._vote(entries)) != (sign > 0)
        if sign * sparse.dot(self.current_weights, entries, self.current_bias) > 0:
            self.survivors[-1].count += 1
            return 0.0
        step = sign * w
        self._succeed(entries, step)
        self.n_updates += 1
        return step

    def _succeed(self, x: sparse.Vector, step: float) -> None:
        """Add a new vector with the difference step·x from the current one."""
        difference: sparse.Vector = {}
        sparse.add(difference, x, step)
        sparse.add(self.current_weights, x, step)
        bias_step = step if self.fit_intercept else 0.0
        self.current_bias += bias_step
        self.survivors.append(Survivor(difference, bias_step, 1))
        if self.max_survivors is not None and len(self.survivors) > self.max_survivors:
            self._dismiss_one()

    def _dismiss_one(self) -> None:
        """Drop the vector with the smallest survival count; merge its difference into the next vector."""
        former = range(len(self.survivors) - 1)
        leaving = min(former, key=lambda index: self.survivors[index].count)
        gone = self.survivors.pop(leaving)
        following = self.survivors[leaving]
        sparse.add(gone.weights, following.weights, 1.0)
        following.weights = gone.weights
        following.bias += gone.bias

    def _activations(self, x: sparse.Vector) -> Iterator[tuple[float, int]]:
        """Yield each vector's score and survival count."""
        a = 0.0
        for survivor in self.survivors:
            a = sparse.dot(survivor.weights, x, a + survivor.bias)
            yield a, survivor.count

    def _vote(self, x: sparse.Vector) -> float:
        votes = total = 0
        for a, count in self._activations(x):
            votes += count if a > 0 else -count if a < 0 else 0
            total += count
        return votes / total if total else 0.0

    def _terms(self, x: Features) -> Iterator[Term]:
        total = sum(survivor.count for survivor in self.survivors)
        for number, (a, count) in enumerate(self._activations(x)):
            yield f"survivor {number}", (a > 0) - (a < 0), count / total

    def _read_state(self, read: restored.Read) -> dict[str, Any]:
        return super()._read_state(read) | {
            "survivors": [(s.weights, s.bias, s.count) for s in self.survivors]
        }

    def _set_state(self, state: Mapping[str, Any]) -> None:
        super()._set_state(state)
        if not self.survivors and (self.current_weights or self.current_bias):
            raise ValueError("the current vector has no survivor")
