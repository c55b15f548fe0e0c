"""The fast half of two-class learners. In: examples, by name or as entries. Out: scores, steps, updates.

A rule learns from `Entries` and sees no Python object for a feature. River's half of a learner inherits
from it: see `linear`. `binary_rule.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Any

from perceptron_core.validation import example_weight, sign_of
from perceptron_core.weights.example import Column, Entries
from perceptron_core.weights.weight_table import Slots


class BinaryRule:
    """What decides between False and True by the sign of a score, and learns.

    An algorithm adds `score` and `learn_at`.

    Attributes
    ----------
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update.
    n_updates : int
        Updates made.

    """

    slots: Slots
    n_mistakes: int
    n_updates: int

    def score(self, x: Entries) -> float:
        """Compute the signed score."""
        raise NotImplementedError

    def fires(self, score: float) -> bool:
        """Return the class at a score."""
        return score > 0

    def learn(self, x: Entries, sign: int, w: float) -> float:
        """Learn an example of class y = `sign` and weight w > 0; give the step made, 0 if none was."""
        return self.learn_at(x, sign, w, self.score(x))

    def learn_at(self, x: Entries, sign: int, w: float, a: float) -> float:
        """Learn an example as `learn` does, whose score is a: `score` gave it, and nothing changed since."""
        raise NotImplementedError

    def resolve(self, x: Any) -> Entries:
        """Look the features of `x` up, as `Slots.resolve` does."""
        if self.slots is None:  # what was never set, when compiled
            raise AttributeError(f"{type(self).__name__}.__init__ has not called that of its base class")
        return self.slots.resolve(x)

    def decide(self, score: float) -> bool:
        """Return the class at a score."""
        return self.fires(score)

    def score_one(self, x: Any) -> float:
        """Compute the signed score of `x`, summed from the bias in the order of `x`.

        Raises `FeatureError` for a value that is not finite or is larger than 1e100.
        """
        entries = self.resolve(x)
        score = self.score(entries)
        self.slots.release(entries)
        return score

    def predict_one(self, x: Any, **_: Any) -> bool:
        """Predict the class of `x`. Raises `FeatureError` as `score_one` does."""
        entries = self.resolve(x)
        fires = self.fires(self.score(entries))
        self.slots.release(entries)
        return fires

    def update_one(self, x: Any, y: Any, w: float = 1.0) -> float:
        """Learn from one example as `learn_one` does, and tell what it did.

        Returns the step s made, in units of `x`; 0 if nothing was written.
        """
        sign, weight = sign_of(y), example_weight(w)
        entries = self.resolve(x)
        step = self.learn(entries, sign, weight) if weight > 0 else 0.0
        self.slots.release(entries)
        return step

    def predict_learn(self, x: Any, y: Any, w: float = 1.0) -> tuple[float, float]:
        """Score one example, then learn from it; see `BinaryClassifier.predict_learn`."""
        sign, weight = sign_of(y), example_weight(w)
        entries = self.resolve(x)
        score = self.score(entries)
        step = self.learn_at(entries, sign, weight, score) if weight > 0 else 0.0
        self.slots.release(entries)
        return score, step

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example; see `BinaryClassifier.learn_one`."""
        sign, weight = sign_of(y), example_weight(w)
        entries = self.resolve(x)
        if weight > 0:
            self.learn(entries, sign, weight)
        self.slots.release(entries)


class LinearRule(BinaryRule):
    """Decides by the sign of w·x + b."""

    fit_intercept: bool
    bias: float
    weight_column: Column

    def score(self, x: Entries) -> float:
        """Compute the activation a = w·x + b."""
        return self.weight_column.dot(x, self.bias)


class AdditiveRule(LinearRule):
    """A linear rule whose updates add a multiple of the example to the weights."""

    def add(self, x: Entries, step: float) -> None:
        """Add step·x to w and step to b; a weight that becomes 0 is not kept."""
        self.slots.allocate(x)
        if self.weight_column.add(x, step):
            self.slots.drop_zero_rows(x)
        if self.fit_intercept:
            self.bias += step

    def undo_one(self, x: Any, step: float) -> None:
        """Take back an update that `update_one` made on `x`, whatever was learned since.

        The weights are a sum of steps times examples, so an update leaves by subtraction: exact
        wherever the sums are (counts, binary features), else to rounding. Counts stay.
        """
        entries = self.resolve(x)
        if step != 0:
            self.add(entries, -step)
        self.slots.release(entries)
