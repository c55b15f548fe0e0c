"""Learners of others and single ones of this project, set up for the kind of a stream."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from data import character_4grams, words
from river import feature_extraction, forest, linear_model, naive_bayes, neighbors, preprocessing, tree
from streams import Examples, Kind

import perceptron_core as ours

Makers = dict[str, Callable[[], Any]]
Features = dict[Any, float]

_OURS: Final[Makers] = {
    "Perceptron()": ours.Perceptron,
    "PassiveAggressive()": ours.PassiveAggressive,
    "AROW()": ours.AROW,
    "AROW(forgetting)": lambda: ours.AROW(forgetting=0.995, intercept_forgetting=0.95),
    "SCW()": ours.SCW,
    "NormalizedAdaGrad()": ours.NormalizedAdaGrad,
    "CoinBetting()": ours.CoinBetting,
    "BayesianLogistic()": ours.BayesianLogistic,
    "BayesianLogistic(forgetting)": lambda: ours.BayesianLogistic(
        forgetting=0.995, intercept_forgetting=0.95
    ),
}
_OURS_SEVERAL: Final[Makers] = {
    "MulticlassPerceptron()": ours.MulticlassPerceptron,
    "MulticlassPassiveAggressive()": ours.MulticlassPassiveAggressive,
    "MulticlassAROW()": ours.MulticlassAROW,
    "MulticlassNormalizedAdaGrad()": ours.MulticlassNormalizedAdaGrad,
}
_TREES: Final[Makers] = {
    "adaptive random forest": lambda: forest.ARFClassifier(seed=1),
    "Hoeffding tree": tree.HoeffdingTreeClassifier,
}
_LINEAR: Final[Makers] = {
    "perceptron": linear_model.Perceptron,
    "logistic regression": linear_model.LogisticRegression,
    "passive-aggressive": linear_model.PAClassifier,
    "ALMA": linear_model.ALMAClassifier,
}
_KNN: Final[Makers] = {"KNN": neighbors.KNNClassifier}


def words_and_pairs(text: str) -> Features:
    """Return the set of lower-cased words and pairs of neighbours, of unit length."""
    found = re.findall("[a-z0-9]+", text.lower())
    features = dict.fromkeys([*found, *map(" ".join, itertools.pairwise(found))])
    return dict.fromkeys(features, max(len(features), 1) ** -0.5)


def _of_text(features: Callable[[str], Features], x: dict[str, str]) -> Features:
    return features(x["text"])


class _On:
    """A learner of this package on what a function makes of an event."""

    def __init__(self, features: Callable[[Any], Features], make: Callable[[], Any]) -> None:
        self._features, self._learner = features, make()

    def predict_one(self, x: Any, /) -> Any:  # noqa: ANN401 - a class
        return self._learner.predict_one(self._features(x))

    def learn_one(self, x: Any, y: Any, /) -> None:  # noqa: ANN401 - as above
        self._learner.learn_one(self._features(x), y)


class Standardised(_On):
    """A learner on numbers standardised as the stream goes, each event by those up to it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._scaler: Any = preprocessing.StandardScaler()
        super().__init__(self._scaler.transform_one, make)

    def predict_one(self, x: Any, /) -> Any:  # noqa: ANN401 - as above
        """Predict an event by what is known up to it."""
        self._scaler.learn_one(x)  # needs no label
        return super().predict_one(x)


def singles(kind: Kind) -> Makers:
    """Return our single learners, with fixed parameters, on the features that suit the kind."""
    learners = _OURS_SEVERAL if kind is Kind.SEVERAL_CLASSES else _OURS
    if kind is Kind.TEXT:
        return {
            f"{name} on {features.__name__.replace('_', ' ')}": partial(
                _On, partial(_of_text, features), make
            )
            for name, make in learners.items()
            for features in (words, words_and_pairs, character_4grams)
        }
    scaled = {f"{name} standardised": partial(Standardised, make) for name, make in learners.items()}
    return learners if kind is Kind.BINARY else learners | scaled


def river(kind: Kind) -> Makers:
    """Return River's classifiers with its own defaults, after the transformer that suits the kind.

    Trees take numbers as they are: a scale that moves would move under their splits.
    """
    if kind is Kind.SEVERAL_CLASSES:
        scaled = _KNN | {"softmax regression": linear_model.SoftmaxRegression}
        return _behind(preprocessing.StandardScaler, scaled) | _TREES
    if kind is Kind.NUMBERS:
        return _behind(preprocessing.StandardScaler, _LINEAR | _KNN) | _TREES
    makers = _LINEAR | _KNN | _TREES | {"naive Bayes": naive_bayes.BernoulliNB}
    return _behind(lambda: feature_extraction.BagOfWords(on="text"), makers) if kind is Kind.TEXT else makers


def forests(examples: Examples) -> Makers:
    """Return River's forests, of ten trees by default; Mondrian trees take numbers alone."""
    makers: Makers = {"River ARF": lambda: forest.ARFClassifier(seed=1)}
    if all(isinstance(value, int | float) for x, _ in examples for value in x.values()):
        makers["River AMF"] = lambda: forest.AMFClassifier(seed=1)
    return makers


def _behind(transformer: Callable[[], Any], makers: Makers) -> Makers:
    return {name: partial(_made, transformer, make) for name, make in makers.items()}


def _made(transformer: Callable[[], Any], make: Callable[[], Any]) -> Any:  # noqa: ANN401 - a pipeline
    return transformer() | make()
