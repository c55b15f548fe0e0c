"""Run one of CapyMOA's learners, in an environment that has capymoa and a JVM.

    PYTHONPATH=benchmarks python benchmarks/peers/capymoa_learners.py NAME < stream.json

The stream and what is printed are those of benchmarks/anchors.py. MOA has to know columns, classes and the
values of categories before the first event: they are taken from the whole stream. A missing value is NaN.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from capymoa import classifier
from capymoa.core import Instance, LabeledInstance
from capymoa.stream import Schema
from prequential import judge_stdin

_CLASS = "class of the event"
LEARNERS: dict[str, Callable[[Any], Any]] = {
    "ARF30": lambda schema: classifier.AdaptiveRandomForestClassifier(schema, ensemble_size=30),
    "SRP30": lambda schema: classifier.StreamingRandomPatches(schema, ensemble_size=30),
    "kNN": lambda schema: classifier.KNN(schema, k=10, window_size=1_000),
    "SGBT": classifier.StreamingGradientBoostedTrees,
}
"""With CapyMOA's defaults but for the number of trees and of neighbours."""


class Learner:
    """One of CapyMOA's classifiers, with the methods of River's."""

    def __init__(self, name: str, examples: Sequence[tuple[dict[str, Any], Any]]) -> None:
        self._labels = sorted({y for _, y in examples}, key=repr)
        self._columns = [*dict.fromkeys(column for x, _ in examples for column in x)]
        values = {
            column: sorted({str(x[column]) for x, _ in examples if isinstance(x.get(column), str | bool)})
            for column in self._columns
        }
        self._partitions = {
            column: {value: float(number) for number, value in enumerate(known)}
            for column, known in values.items()
            if known
        }
        categories = {column: [*places] for column, places in self._partitions.items()}
        categories[_CLASS] = [*map(str, range(len(self._labels)))]
        self._schema = Schema.from_custom([*self._columns, _CLASS], _CLASS, categories)
        self._learner = LEARNERS[name](self._schema)

    def predict_proba_one(self, x: dict[str, Any], /) -> dict[Any, float]:
        """Return the share of votes of each class; none before anything was learned."""
        votes = self._learner.predict_proba(Instance.from_array(self._schema, self._row(x)))
        total = 0.0 if votes is None else float(np.sum(votes))
        if votes is None or not 0 < total < np.inf:
            return {}
        return {label: float(vote) / total for label, vote in zip(self._labels, votes, strict=False)}

    def learn_one(self, x: dict[str, Any], y: Any, /) -> None:  # noqa: ANN401 - a class
        """Learn one example."""
        number = self._labels.index(y)
        self._learner.train(LabeledInstance.from_array(self._schema, self._row(x), number))

    def _row(self, x: dict[str, Any]) -> Any:  # noqa: ANN401 - an array
        return np.array([self._number(column, x.get(column)) for column in self._columns])

    def _number(self, column: str, value: Any) -> float:  # noqa: ANN401 - of an event
        if value is None:
            return float("nan")
        places = self._partitions.get(column)
        return places[str(value)] if places else float(value)


if __name__ == "__main__":
    judge_stdin(lambda examples: Learner(sys.argv[1], examples))
