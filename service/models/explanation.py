"""Explanations of predictions: what each feature of an event added to the score.

A linear score is the sum of weight times value, and these products are its explanation. The score of a
mixture of linear learners is also a sum over features. For any other model, the contribution of a feature is
how much the score falls without it; such contributions do not add up to the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import ConfigDict, with_config

from perceptron_core.auto.explanation import OTHER_CLASSES
from perceptron_core.linear.declarations import Term
from perceptron_core.mixing.mixture import ExpertStatus
from service.messages.features import X
from service.messages.labels import TrueLabel
from service.models.learner import Learner, MixtureStatus

_MAX_LEFT_OUT: Final = 100
"""Most features that are left out one by one: each needs another prediction."""
_MAX_REPEATED: Final = 200_000
"""Most features of all these predictions together, since the loop waits for them."""


class Method(StrEnum):
    """What a contribution is."""

    WEIGHTS = "weights"
    MIXTURE = "mixture"
    LEAVING_OUT = "leaving_out"


@with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
@dataclass(frozen=True)
class FeatureContribution:
    """What one feature added to the score."""

    feature: str
    value: float | None
    """Null if the feature is not a number of the event, such as a word."""
    weight: float | None
    """Null if the model does not have exactly one weight for the feature."""
    contribution: float
    known: bool | None
    """Whether the model has learned anything about the feature; null if unknown."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A score, decomposed into contributions."""

    method: Method
    contributions: list[FeatureContribution]
    """Sorted by absolute value, the largest first."""
    bias: float | None
    features_not_examined: int = 0
    leader: str | None = None
    """For a mixture: the mixture or expert that made the prediction."""
    experts: Sequence[ExpertStatus] = ()
    """For a mixture: its experts."""

    def fields(self) -> dict[str, Any]:
        """Return the fields that an explanation has in addition to a prediction."""
        return {
            "method": self.method,
            "bias": self.bias,
            "contributions": [
                vars(each) | {"value": None if each.value is None else float(each.value)}
                for each in self.contributions
            ],
            "features_not_examined": self.features_not_examined,
            "leader": self.leader,
            "experts": [
                {name: value for name, value in expert._asdict().items() if name != "weights"}
                for expert in self.experts
            ],
        }


def decide(learner: Learner, x: X, predicted: TrueLabel, score: float) -> Decision:
    """Decompose the score of `x` for the predicted class."""
    if (mixture := learner.mixture) is not None:
        return _of_mixture(learner, mixture, x, predicted, score)
    terms = learner.terms(x, predicted)
    if terms is None:
        most = min(_MAX_LEFT_OUT, _MAX_REPEATED // max(1, len(x)))
        examined = sorted(x.items(), key=lambda item: -abs(item[1]))[:most]
        contributions = [
            FeatureContribution(
                str(name), value, None, score - learner.score(_without(x, name), predicted), None
            )
            for name, value in examined
        ]
        return Decision(Method.LEAVING_OUT, _ranked(contributions), None, len(x) - len(examined))
    *features, (_, _, bias) = terms
    known = _known(learner, x, terms)
    summands = [
        FeatureContribution(str(name), value, weight, value * weight, name in known)
        for name, value, weight in features
    ]
    return Decision(Method.WEIGHTS, _ranked(summands), bias)


def _known(learner: Learner, x: X, terms: Sequence[Term]) -> set[object]:
    """Return the features that have a weight; with several classes, for any class."""
    of_classes = [terms, *(learner.terms(x, label) or () for label in learner.classes)]
    return {name for each in of_classes for name, _, weight in each if weight}


def _of_mixture(
    learner: Learner, mixture: MixtureStatus, x: X, predicted: TrueLabel, score: float
) -> Decision:
    """Decompose a mixture's log-odds; with several classes, the other classes are one term."""
    terms, intercept = learner.explain(x, predicted)
    contributions = [
        FeatureContribution(name, value, None, added, bool(added) if mixture.is_mixed else None)
        for name, value, added in terms
    ]
    if not isinstance(predicted, bool):
        total = intercept
        for each in contributions:
            total += each.contribution
        contributions.append(FeatureContribution(OTHER_CLASSES, None, None, score - total, None))
    return Decision(
        Method.MIXTURE, _ranked(contributions), intercept, leader=mixture.leader, experts=mixture.experts
    )


def _without(x: X, left_out: object) -> X:
    return {name: value for name, value in x.items() if name != left_out}


def _ranked(contributions: list[FeatureContribution]) -> list[FeatureContribution]:
    return sorted(contributions, key=lambda each: (-abs(each.contribution), each.feature))
