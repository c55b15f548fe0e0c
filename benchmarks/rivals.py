"""Learners of others and single ones of this project, set up for the kind of a stream."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from prequential import Condition
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
_VW: Final = """
import collections, json, sys, vowpalwabbit
given = json.load(sys.stdin)
for setting in given["settings"]:
    vw, waiting, wrong = vowpalwabbit.Workspace("-b 22 --quiet " + setting), collections.deque(), []
    for features, positive, comes in zip(given["features"], given["labels"], given["labelled"]):
        example = vw.parse(features)
        vw.predict(example)
        wrong.append((example.get_simplelabel_prediction() > 0) != positive)
        vw.finish_example(example)
        waiting.append(("1 " if positive else "-1 ") + features if comes else None)
        if len(waiting) > given["delay"] and (due := waiting.popleft()):
            example = vw.parse(due)
            vw.learn(example)
            vw.finish_example(example)
    print(json.dumps([setting, wrong]), flush=True)
"""


def words(text: str) -> Features:
    """Return the set of lower-cased words."""
    return dict.fromkeys(re.findall("[a-z0-9]+", text.lower()), 1.0)


def words_and_pairs(text: str) -> Features:
    """Return the set of lower-cased words and pairs of neighbours, of unit length."""
    found = re.findall("[a-z0-9]+", text.lower())
    features = dict.fromkeys([*found, *map(" ".join, itertools.pairwise(found))])
    return dict.fromkeys(features, max(len(features), 1) ** -0.5)


def character_4grams(text: str) -> Features:
    """Return the set of character 4-grams, of unit length."""
    features = dict.fromkeys(text[at : at + 4] for at in range(len(text) - 3))
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


class _Standardised(_On):
    """A learner on numbers standardised as the stream goes, each event by those up to it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._scaler: Any = preprocessing.StandardScaler()
        super().__init__(self._scaler.transform_one, make)

    def predict_one(self, x: Any, /) -> Any:  # noqa: ANN401 - as above
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
    scaled = {f"{name} standardised": partial(_Standardised, make) for name, make in learners.items()}
    return learners if kind is Kind.BINARY else learners | scaled


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


def vowpal_wabbit(
    python: str, kind: Kind, examples: Examples, condition: Condition, labelled: Sequence[bool]
) -> dict[str, list[bool]]:
    """Return for each of 24 settings and each event whether the prediction was wrong.

    The settings are every choice of loss (hinge, logistic), step (VW's own at four rates, coin betting, FTRL)
    and features (as they are; with pairs), with 2^22 weights. A score of 0 is negative.
    """
    names: dict[object, int] = {}
    pairs = "--ngram 2" if kind is Kind.TEXT else "--interactions ::"
    steps = ("-l 0.5", "-l 2", "-l 10", "-l 40", "--coin", "--ftrl")
    settings = itertools.product(("hinge", "logistic"), steps, ("", pairs))

    def shown(x: dict[Any, Any]) -> str:
        if kind is Kind.TEXT:
            return "| " + " ".join(re.findall("[a-z0-9]+", x["text"].lower()))
        numbered = (f"f{names.setdefault(k, len(names))}:{float(v)!r}" for k, v in x.items())
        return "| " + " ".join(numbered)

    given = {
        "settings": [
            f"--loss_function {loss} {step} {features}".rstrip() for loss, step, features in settings
        ],
        "features": [shown(x) for x, _ in examples],
        "labels": [y for _, y in examples],
        "labelled": labelled,
        "delay": condition.delay,
    }
    done = subprocess.run(
        [python, "-c", _VW], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())
