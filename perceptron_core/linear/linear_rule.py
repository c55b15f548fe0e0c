"""The compiled half of two-class learners with weights.

A rule learns from an `Example` and sees no Python object for a feature. River's half is `BinaryClassifier`: a
learner inherits from its rule, then from it. `linear_rule.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any, Final, Self

from perceptron_core.linear import column_properties, restored
from perceptron_core.validation import example_weight, sign_of
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.feature_index import FeatureIndex
from perceptron_core.weights.index import HashedIndex
from perceptron_core.weights.tables import WeightTable

LINEAR_STATE: Final = {"weights": restored.columns, "bias": restored.number, **restored.COUNTS}
"""The state that learning changes."""


class LinearRule:
    """The base of two-class linear learners: decides by the sign of w·x + b.

    An algorithm adds `learn_at`.

    Parameters
    ----------
    fit_intercept
        Whether b is learned.

    Attributes
    ----------
    bias : float
        b.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made.

    """

    hash_bits = None  # type: int | None
    """Features are integers below 2**hash_bits, each with a slot for good; None: any names."""

    table: WeightTable
    weight_column: Column
    bias: float
    fit_intercept: bool
    n_mistakes: int
    n_updates: int

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = bool(fit_intercept)
        self.n_mistakes = 0
        self.n_updates = 0
        self._clear()

    weights = column_properties.first_nonzero(
        "weight_column",
        "Non-zero weights by feature. Computed when asked for; setting them starts from nothing learned.",
    )

    def score(self, x: Example) -> float:
        """Compute the activation a = w·x + b."""
        return self.weight_column.dot(x, self.bias)

    def fires(self, score: float) -> bool:
        """Return the class at a score."""
        return score > 0

    def learn(self, x: Example, sign: int, w: float) -> float:
        """Learn an example of class y = `sign` and weight w > 0; return the step made, 0 if none was."""
        return self.learn_at(x, sign, w, self.score(x))

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example as `learn` does, whose score is a: `score` gave it, and nothing changed since."""
        raise NotImplementedError

    def add(self, x: Example, step: float) -> None:
        """Add step·x to w and step to b; a weight that becomes 0 is not kept."""
        self.table.allocate(x)
        if self.weight_column.add(x, step):
            self.table.drop_zero_rows(x)
        if self.fit_intercept:
            self.bias += step

    def resolve(self, x: Any) -> Example:
        """Look the features of `x` up, as `WeightTable.resolve` does."""
        if self.table is None:  # what was never set, when compiled
            raise AttributeError(f"{type(self).__name__}.__init__ must call super().__init__()")
        return self.table.resolve(x)

    def decide(self, score: float) -> bool:
        """Return the class at a score."""
        return self.fires(score)

    def score_one(self, x: Any) -> float:
        """Compute the signed score of `x`, summed from the bias in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        example = self.resolve(x)
        score = self.score(example)
        self.table.release(example)
        return score

    def predict_one(self, x: Any, **_: Any) -> bool:
        """Predict the class of `x`. Raises `FeatureError` as `score_one` does."""
        example = self.resolve(x)
        fires = self.fires(self.score(example))
        self.table.release(example)
        return fires

    def update_one(self, x: Any, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does.

        Returns the step s made, in units of `x`; 0 if nothing was written.
        """
        sign, weight = sign_of(y), example_weight(w)
        example = self.resolve(x)
        step = self.learn(example, sign, weight) if weight > 0 else 0.0
        self.table.release(example)
        return step

    def predict_learn(self, x: Any, y: Any, w: float = 1.0) -> tuple[float, float]:
        """Score one example, then learn from it; see `BinaryClassifier.predict_learn`."""
        sign, weight = sign_of(y), example_weight(w)
        example = self.resolve(x)
        score = self.score(example)
        step = self.learn_at(example, sign, weight, score) if weight > 0 else 0.0
        self.table.release(example)
        return score, step

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example; see `BinaryClassifier.learn_one`."""
        sign, weight = sign_of(y), example_weight(w)
        example = self.resolve(x)
        if weight > 0:
            self.learn(example, sign, weight)
        self.table.release(example)

    def hashed(self, bits: int) -> Self:
        """Make an untrained learner of the same parameters whose features are integers below 2**bits.

        It is what a `HashedClassifier` learns with, which also copies it and writes it down.
        """
        learner: Self = self.clone()
        learner.hash_bits = bits
        learner._clear()
        return learner

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Make a model of the same parameters; with `include_attributes`, with all that was learned."""
        return restored.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored.reduce(self)

    def _clear(self) -> None:
        """Start with nothing learned."""
        weights = Column()
        self.table = self._table_of(weights)
        self.weight_column = weights
        self.bias = 0.0

    def _restart(self) -> None:
        """Forget all features; in place, since a call under way may have an example that points there."""
        if self.table.is_fixed is (self.hash_bits is None):  # a copy that was told its bits since
            self._clear()
        else:
            self.table.clear()

    def _table_of(self, *columns: Column) -> WeightTable:
        index = FeatureIndex() if self.hash_bits is None else HashedIndex(self.hash_bits)
        return WeightTable(index, *columns)


def undo_additive(self: LinearRule, x: Any, step: float) -> None:
    """Take back an update that `update_one` made on `x`, whatever was learned since.

    The weights are a sum of steps times examples, so an update leaves by subtraction: exact
    wherever the sums are (counts, binary features), else to rounding. Counts stay.
    """
    example = self.resolve(x)
    if step != 0:
        self.add(example, -step)
    self.table.release(example)


class ClassVote(LinearRule):
    """Answers with one class's log-odds from an example that has all classes' log-odds; learns nothing."""

    STATE = restored.COUNTS
    hash_bits = 1

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def score(self, x: Example) -> float:
        """Return the log-odds of the class; 0 if the class is not known yet."""
        return x.values[self.number] if self.number < x.n else 0.0

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:  # noqa: ARG002  as other rules
        """Count a mistake."""
        self.n_mistakes += (a > 0) != (sign > 0)
        return 0.0
