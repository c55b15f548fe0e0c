"""A classifier that needs no choosing. In: events as they are. Out: classes and their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, Final

from river import base

from perceptron_core.auto.rule import AutoRule
from perceptron_core.base import cloning
from perceptron_core.base.multiclass import check_classes, checked_label
from perceptron_core.base.update import Label
from perceptron_core.logistic import logistic
from perceptron_core.validation import example_weight

_MOST_BITS: Final = 26
_MOST_COLUMNS: Final = 256
_SMALLEST: Final = 1e-100
"""Of a probability of one class of several, so that some are left."""


class AutoClassifier(AutoRule, base.Classifier):
    """Learns any event with many learners, and mixes their answers."""

    def __init__(
        self,
        classes: Sequence[Label] | None = None,
        seed: int = 1,
        hash_bits: int = 18,
        max_columns: int = 64,
    ) -> None:
        if not 1 <= hash_bits <= _MOST_BITS:
            raise ValueError(f"hash_bits must be from 1 to {_MOST_BITS}, not {hash_bits!r}")
        if not 0 <= max_columns <= _MOST_COLUMNS:
            raise ValueError(f"max_columns must be from 0 to {_MOST_COLUMNS}, not {max_columns!r}")
        self.classes = None if classes is None else check_classes(classes)
        self.seed = int(seed)
        self.hash_bits = hash_bits
        self.max_columns = max_columns
        self.start(hash_bits, self.seed, max_columns, self.classes or ())

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: Any, **_: Any) -> Any:
        """Predict the class of `x`: None before any class is known. Raises `FeatureError`."""
        number = self.number_of_class(x)
        return None if number < 0 else self.labels[number]

    def predict_proba_one(self, x: Any, **_: Any) -> dict[Any, float]:
        """Return the probability of each class. Raises `FeatureError`."""
        return self.probabilities(self.log_odds(x))

    def probabilities(self, log_odds: Sequence[float]) -> dict[Any, float]:
        """Return the probability of each class, given its log-odds."""
        powers = [max(logistic(each), _SMALLEST) for each in log_odds]
        total = 0.0
        for power in powers:  # `sum` of floats differs between Python 3.11 and 3.12
            total += power
        return {label: p / total for label, p in zip(self.labels, powers, strict=True)}

    @staticmethod
    def decide(log_odds: Sequence[float]) -> int:
        """Return the number of the class with the highest log-odds, the first of them at a tie."""
        return max(range(len(log_odds)), key=log_odds.__getitem__)

    def relative_log_odds(self, log_odds: Sequence[float], number: int) -> float:
        """Return the log-odds of the probability that `probabilities` returns for a class."""
        p = self.probabilities(log_odds)[self.labels[number]]
        return log(max(p, _SMALLEST)) - log(max(1.0 - p, _SMALLEST))

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example."""
        self.learn(x, self.check_label(y), example_weight(w))

    def check_label(self, label: Any) -> Label:
        """Return a label as it is kept. Raises `LabelError` for one that is none of `classes`."""
        return checked_label(label, self.numbers, self.classes)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """Make a model of the same parameters; with `include_attributes`, with all that was learned."""
        return cloning.clone(self, new_params, include_attributes=include_attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return cloning.reduce(self)
