"""The constructor of classifiers that are one part of `AutoClassifier`, drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perceptron_core.auto.auto_classifier import MOST_COLUMNS, AutoClassifier, check_whole
from perceptron_core.auto.plan import Plan
from perceptron_core.base.multiclass import check_classes
from perceptron_core.base.update import Label


class Seeded(AutoClassifier):
    """A classifier of the one part that its plan names."""

    PLAN: ClassVar[Plan]

    def __init__(self, classes: Sequence[Label] | None = None, seed: int = 1, max_columns: int = 64) -> None:
        check_whole("seed", seed, -(2**63), 2**63)
        check_whole("max_columns", max_columns, 0, MOST_COLUMNS)
        self.classes = None if classes is None else check_classes(classes)
        self.seed = seed
        self.max_columns = max_columns
        self.start(1, self.seed, max_columns, self.classes or (), self.PLAN)
