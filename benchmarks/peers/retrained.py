"""Run a batch learner that is retrained on all past events, in an environment with lightgbm and scikit-learn.

    PYTHONPATH=benchmarks python benchmarks/peers/retrained.py LightGBM < stream.json

The stream and what is printed are those of benchmarks/anchors.py. Each learner is retrained at 50, 100, 200,
400 … labels, and every 1,000 labels except "LightGBM, doubling". "LightGBM, slower" has more trees with a
smaller learning rate and smaller leaves; the other two have LightGBM's default parameters.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from prequential import judge_stdin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union

_DOUBLED = {50 << k for k in range(20)}
_EVERY = 1000
_SLOWER = {"n_estimators": 300, "learning_rate": 0.05, "min_child_samples": 5, "colsample_bytree": 0.7}


class Tables:
    """LightGBM with the methods of River's classifiers; categories are numbered as they come."""

    def __init__(self, name: str) -> None:
        self._is_regular = not name.endswith("doubling")
        self._parameters = _SLOWER if name.endswith("slower") else {}
        self._codes: dict[str, dict[Any, int]] = {}
        self._events: list[dict[str, Any]] = []
        self._labels: list[Any] = []
        self._names: list[str] = []
        self._model: Any = None

    def predict_proba_one(self, x: dict[str, Any], /) -> dict[Any, float]:
        """Return the probabilities of the classes; none before the first training."""
        if self._model is None:
            return {}
        chances = self._model.predict_proba(self._table([x]))[0]
        return dict(zip(self._model.classes_.tolist(), chances.tolist(), strict=True))

    def learn_one(self, x: dict[str, Any], y: Any, /) -> None:  # noqa: ANN401 - a class
        """Keep an event, and retrain when it is time."""
        self._events.append(x)
        self._labels.append(y)
        n = len(self._events)
        if (n in _DOUBLED or (self._is_regular and n % _EVERY == 0)) and len({*self._labels}) > 1:
            self._model = self._trained()

    def _table(self, events: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - an array, or texts
        return np.array([[self._number(name, x.get(name, np.nan)) for name in self._names] for x in events])

    def _number(self, name: str, value: Any) -> float:  # noqa: ANN401 - of an event
        if isinstance(value, str | bool):
            codes = self._codes.setdefault(name, {})
            value = codes.setdefault(value, len(codes))
        return float(value)

    def _trained(self) -> Any:  # noqa: ANN401 - of another package
        self._names = sorted({name for x in self._events for name in x})
        table = self._table(self._events)
        kinds = [k for k, name in enumerate(self._names) if name in self._codes]
        model = LGBMClassifier(n_jobs=1, verbose=-1, random_state=1, **self._parameters)
        return model.fit(table, self._labels, categorical_feature=kinds)


class Texts(Tables):
    """Logistic regression on TF-IDF of words, pairs of words and 3- to 5-grams of characters."""

    def _table(self, events: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - as above
        return [x["text"] for x in events]

    def _trained(self) -> Any:  # noqa: ANN401 - as above
        words, grams = (
            TfidfVectorizer(ngram_range=(1, 2)),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
        )
        model = make_pipeline(make_union(words, grams), LogisticRegression(C=100, max_iter=1000))
        return model.fit(self._table(self._events), self._labels)


if __name__ == "__main__":
    judge_stdin(lambda _: (Texts if sys.argv[1] == "TF-IDF" else Tables)(sys.argv[1]))
