"""Make single learners of this project, and River's, for the kind of a stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from river import feature_extraction, forest, linear_model, naive_bayes, neighbors, preprocessing, tree

from perceptron_core import (
    AROW,
    SCW,
    BayesianLogistic,
    CoinBetting,
    MulticlassAROW,
    MulticlassNormalizedAdaGrad,
    MulticlassPassiveAggressive,
    MulticlassPerceptron,
    NormalizedAdaGrad,
    PassiveAggressive,
    Perceptron,
)

from .prequential import Model
from .streams import Kind

Makers = dict[str, Callable[[], Model]]
Features = dict[Any, float]

_OURS: Makers = {
    "Perceptron()": Perceptron,
    "PassiveAggressive()": PassiveAggressive,
    "AROW()": AROW,
    "AROW(forgetting)": lambda: AROW(forgetting=0.995, intercept_forgetting=0.95),
    "SCW()": SCW,
    "NormalizedAdaGrad()": NormalizedAdaGrad,
    "CoinBetting()": CoinBetting,
    "BayesianLogistic()": BayesianLogistic,
    "BayesianLogistic(forgetting)": lambda: BayesianLogistic(forgetting=0.995, intercept_forgetting=0.95),
}
_OURS_SEVERAL: Makers = {
    "MulticlassPerceptron()": MulticlassPerceptron,
    "MulticlassPassiveAggressive()": MulticlassPassiveAggressive,
    "MulticlassAROW()": MulticlassAROW,
    "MulticlassNormalizedAdaGrad()": MulticlassNormalizedAdaGrad,
}


def words(text: str) -> Features:
    """Return the set of lower-cased words."""
    return dict.fromkeys(re.findall("[a-z0-9]+", text.lower()), 1.0)


def words_and_pairs(text: str) -> Features:
    """Return the set of lower-cased words and pairs of neighbours, of unit length."""
    found = re.findall("[a-z0-9]+", text.lower())
    features = dict.fromkeys([*found, *map(" ".join, pairwise(found))])
    return dict.fromkeys(features, max(len(features), 1) ** -0.5)


def character_4grams(text: str) -> Features:
    """Return the set of character 4-grams, of unit length."""
    features = dict.fromkeys(text[at : at + 4] for at in range(len(text) - 3))
    return dict.fromkeys(features, max(len(features), 1) ** -0.5)


class _OnText:
    """A learner of this package on features of a text."""

    def __init__(self, features: Callable[[str], Features], learner: Model) -> None:
        self._features, self._learner = features, learner

    def predict_one(self, x: dict[str, str], /) -> Any:  # noqa: ANN401 - a class
        return self._learner.predict_one(self._features(x["text"]))

    def learn_one(self, x: dict[str, str], y: Any, /) -> None:  # noqa: ANN401 - as above
        self._learner.learn_one(self._features(x["text"]), y)


class _Standardised:
    """A learner of this package on numbers standardised as the stream goes, each event by those up to it."""

    def __init__(self, learner: Model) -> None:
        self._scaler, self._learner = preprocessing.StandardScaler(), learner

    def predict_one(self, x: Features, /) -> Any:  # noqa: ANN401 - as above
        self._scaler.learn_one(x)  # needs no label
        return self._learner.predict_one(self._scaler.transform_one(x))

    def learn_one(self, x: Features, y: Any, /) -> None:  # noqa: ANN401 - as above
        self._learner.learn_one(self._scaler.transform_one(x), y)


def ours(kind: Kind) -> Makers:
    """Return our single learners, with fixed parameters, on the features that suit the kind."""
    return dict(_ours(kind))


def _ours(kind: Kind) -> Iterator[tuple[str, Callable[[], Model]]]:
    learners = _OURS_SEVERAL if kind is Kind.SEVERAL_CLASSES else _OURS
    for name, make in learners.items():
        if kind is Kind.TEXT:
            for features in (words, words_and_pairs, character_4grams):
                described = features.__name__.replace("_", " ")
                yield f"{name} on {described}", partial(_made, partial(_OnText, features), make)
        else:
            yield name, make
        if kind in {Kind.NUMBERS, Kind.SEVERAL_CLASSES}:
            yield f"{name} standardised", partial(_made, _Standardised, make)


_TREES: Makers = {
    "adaptive random forest": lambda: forest.ARFClassifier(seed=1),
    "Hoeffding tree": tree.HoeffdingTreeClassifier,
}
_LINEAR: Makers = {
    "perceptron": linear_model.Perceptron,
    "logistic regression": linear_model.LogisticRegression,
    "passive-aggressive": linear_model.PAClassifier,
    "ALMA": linear_model.ALMAClassifier,
}
_KNN: Makers = {"KNN": neighbors.KNNClassifier}


def river(kind: Kind) -> Makers:
    """Return River's classifiers with its own defaults, behind the transformer that suits the kind.

    Trees take numbers as they are: a scale that moves would move under their splits.
    """
    if kind is Kind.SEVERAL_CLASSES:
        scaled = _KNN | {"softmax regression": linear_model.SoftmaxRegression}
        return _behind(preprocessing.StandardScaler, scaled) | _TREES
    if kind is Kind.NUMBERS:
        return _behind(preprocessing.StandardScaler, _LINEAR | _KNN) | _TREES
    makers = _LINEAR | _KNN | _TREES | {"naive Bayes": naive_bayes.BernoulliNB}
    if kind is Kind.TEXT:
        return _behind(lambda: feature_extraction.BagOfWords(on="text"), makers)
    return makers


def forests(examples: Sequence[tuple[Features, Any]]) -> Makers:
    """Return River's forests, of ten trees by default; Mondrian trees take numbers alone."""
    makers: Makers = {"River ARF": lambda: forest.ARFClassifier(seed=1)}
    if all(isinstance(value, int | float) for x, _ in examples for value in x.values()):
        makers["River AMF"] = lambda: forest.AMFClassifier(seed=1)
    return makers


def _behind(transformer: Callable[[], Any], makers: Makers) -> Makers:
    return {name: partial(_made, lambda model: transformer() | model, make) for name, make in makers.items()}


def _made(wrap: Callable[[Model], Model], make: Callable[[], Model]) -> Model:
    return wrap(make())
