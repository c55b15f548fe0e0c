"""The compiled half of two-class learners with weights.

A rule learns from an `Example`, without Python objects for features. River's half is `BinaryClassifier`: a
learner inherits from its rule, then from `BinaryClassifier`. `linear_rule.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any, Final, Self

from perceptron_core.linear import column_properties, restored
from perceptron_core.validation import example_weight, sign_of
from perceptron_core.weights.example import Column, Example
from perceptron_core.weights.index import FeatureIndex, HashedIndex
from perceptron_core.weights.tables import WeightTable

LINEAR_STATE: Final = {"weights": restored.columns, "bias": restored.number, **restored.COUNTS}
"""The state of every linear learner."""


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
        Examples that were misclassified before their update.
    n_updates : int
        Updates made.

    """

    hash_bits = None  # type: int | None
    """Features are integers below 2**hash_bits, each with a permanent slot; None: any names."""

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
        "Non-zero weights by feature. Computed when asked for; assigning them resets the model.",
    )

    def score(self, x: Example) -> float:
        """Compute the activation a = w·x + b."""
        return self.weight_column.dot(x, self.bias)

    def predicts_true(self, score: float) -> bool:
        """Return the class at a score."""
        return score > 0

    def learn(self, x: Example, sign: int, w: float) -> float:
        """Learn an example of class y = `sign` and weight w > 0; return the step, 0 if there was none."""
        return self.learn_at(x, sign, w, self.score(x))

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:
        """Learn an example as `learn` does, whose score a was just computed by `score`."""
        raise NotImplementedError

    def add(self, x: Example, step: float) -> None:
        """Add step·x to w and step to b; a weight that becomes 0 is dropped."""
        self.table.begin_update(x)
        if self.weight_column.add(x, step):
            self.table.drop_zero_rows(x)
        if self.fit_intercept:
            self.bias += step

    def resolve(self, x: Any) -> Example:
        """Look up the features of `x`; see `WeightTable.resolve`."""
        if self.table is None:  # an unset attribute, when compiled
            raise AttributeError(f"{type(self).__name__}.__init__ must call super().__init__()")
        return self.table.resolve(x)

    def decide(self, score: float) -> bool:
        """Return the class at a score."""
        return self.predicts_true(score)

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
        predicted = self.predicts_true(self.score(example))
        self.table.release(example)
        return predicted

    def update_one(self, x: Any, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does.

        Returns the step, in units of `x`; 0 if nothing changed.
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
        """Return an untrained learner with the same parameters whose features are integers below 2**bits.

        A `HashedClassifier` uses it to learn, and also copies and saves it.
        """
        learner: Self = self.clone()
        learner.hash_bits = bits
        learner._clear()
        return learner

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Return a model with the same parameters; with `include_attributes`, also the learned state."""
        return restored.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return restored.reduce(self)

    def _clear(self) -> None:
        """Reset to the untrained state."""
        weights = Column()
        self.table = self._table_of(weights)
        self.weight_column = weights
        self.bias = 0.0

    def _restart(self) -> None:
        """Reset all features in place, since a running call may have an example that points to them."""
        if self.table.is_fixed is (self.hash_bits is None):  # a copy whose bits were set later
            self._clear()
        else:
            self.table.clear()

    def _table_of(self, *columns: Column) -> WeightTable:
        index = FeatureIndex() if self.hash_bits is None else HashedIndex(self.hash_bits)
        return WeightTable(index, *columns)


def undo_additive(self: LinearRule, x: Any, step: float) -> None:
    """Undo an update that `update_one` made on `x`, even if others followed.

    The weights are a sum of steps times examples, so the update is subtracted: exactly if sums are exact
    (counts, binary features), otherwise up to rounding. `n_updates` and `n_mistakes` do not change.
    """
    example = self.resolve(x)
    if step != 0:
        self.add(example, -step)
    self.table.release(example)


class ClassVote(LinearRule):
    """Predicts one class's log-odds from an example of all classes' log-odds, without learning."""

    STATE = restored.COUNTS
    hash_bits = 1

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def score(self, x: Example) -> float:
        """Return the log-odds of the class; 0 if the class is unknown."""
        return x.values[self.number] if self.number < x.n else 0.0

    def learn_at(self, x: Example, sign: int, w: float, a: float) -> float:  # noqa: ARG002  as other rules
        """Count a mistake."""
        self.n_mistakes += (a > 0) != (sign > 0)
        return 0.0
