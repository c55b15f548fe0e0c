"""A classifier that needs no choosing. In: events as they are. Out: classes and calibrated probabilities."""

from __future__ import annotations

from typing import Any

from river import base

from perceptron_core.auto.rule import AutoRule
from perceptron_core.logistic import logistic
from perceptron_core.validation import example_weight


class AutoClassifier(AutoRule, base.Classifier):
    """Learns any event with many learners, and mixes their answers."""

    def __init__(self, seed: int = 1, hash_bits: int = 18, max_columns: int = 64) -> None:
        self.seed = seed
        self.hash_bits = hash_bits
        self.max_columns = max_columns
        self.start(hash_bits, seed, max_columns)

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: Any, **_: Any) -> Any:
        """Predict the class of `x`: None before any class is known. Raises `FeatureError`."""
        number = self.decision_of(x)
        return None if number < 0 else self.labels[number]

    def predict_proba_one(self, x: Any, **_: Any) -> dict[Any, float]:
        """Return the probability of each class. Raises `FeatureError`."""
        odds = self.log_odds(x)
        if self.is_binary:
            p = logistic(odds[1])
            return {False: 1.0 - p, True: p}
        powers = [logistic(each) for each in odds]
        total = 0.0
        for power in powers:  # `sum` of floats differs between Python 3.11 and 3.12
            total += power
        return {label: p / total for label, p in zip(self.labels, powers, strict=True)}

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example."""
        self.learn(x, y, example_weight(w))
