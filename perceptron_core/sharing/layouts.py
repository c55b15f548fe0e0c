"""What is mixed of each learner. In: a learner. Out: its shared columns, in blocks.

A learner whose class has no layout cannot be mixed. `kinds` says what the kinds do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.base.update import Label
from perceptron_core.binary.arow import AROW
from perceptron_core.binary.averaged import AveragedPerceptron
from perceptron_core.binary.bayesian_logistic import BayesianLogistic
from perceptron_core.binary.coin_betting import CoinBetting
from perceptron_core.binary.logistic_regression import LogisticRegression
from perceptron_core.binary.margin import MarginPerceptron
from perceptron_core.binary.normalized_adagrad import NormalizedAdaGrad
from perceptron_core.binary.passive_aggressive import PassiveAggressive
from perceptron_core.binary.perceptron import Perceptron
from perceptron_core.binary.scw import SCW
from perceptron_core.multiclass.arow import MulticlassAROW
from perceptron_core.multiclass.averaged import AveragedMulticlassPerceptron
from perceptron_core.multiclass.normalized_adagrad import MulticlassNormalizedAdaGrad
from perceptron_core.multiclass.passive_aggressive import MulticlassPassiveAggressive
from perceptron_core.multiclass.perceptron import MulticlassPerceptron
from perceptron_core.sharing.columns import SharedAttribute, SharedCell, SharedColumn, SharedCount
from perceptron_core.sharing.derived_columns import (
    BiasGradient,
    Gradients,
    MeanBias,
    MeanBiasOfClass,
    MeanWeights,
    MeanWeightsOfClass,
    ScaledWeights,
    ScalesOfClasses,
)
from perceptron_core.sharing.kinds import (
    AMOUNT,
    AVERAGE,
    CONFIDENT_MEAN,
    CONFIDENT_MEAN_OF_SCW,
    COUNT_MEAN,
    MAXIMUM,
    MEAN,
    MEAN_AMOUNT,
    MEAN_PRECISION,
    PRECISION,
    SUM,
    Kind,
)

Make = Callable[[Kind, Any, int], SharedColumn]


class Part(NamedTuple):
    """A number of a learner: of each feature, or of the learner as a whole."""

    kind: Kind
    make: Make
    """Finds it in a learner; of several classes, in that of a number."""


class Layout(NamedTuple):
    """The numbers of a learner that are mixed, those of each feature and those of the learner as a whole."""

    of_rows: Sequence[Part] = ()
    of_learner: Sequence[Part] = ()
    of_class_rows: Sequence[Part] = ()
    of_class: Sequence[Part] = ()

    def parts(self, label: Label, of: int) -> Sequence[Part]:
        """Return those of a block; its label is None if it is of no class."""
        if label is None:
            return self.of_learner if of else self.of_rows
        return self.of_class if of else self.of_class_rows

    def kinds(self, label: Label, of: int) -> list[Kind]:
        """Return the kinds of the columns of a block."""
        return [part.kind for part in self.parts(label, of)]


def column(kind: Kind, name: str) -> Part:
    """Name a column of a learner."""
    return Part(kind, lambda kind, learner, _: SharedColumn(kind, getattr(learner, name)))


def attribute(kind: Kind, name: str) -> Part:
    """Name a number of a learner as a whole."""
    return Part(kind, lambda kind, learner, _: SharedAttribute(kind, learner, name))


def count(name: str) -> Part:
    """Name a count of a learner as a whole."""
    return Part(AMOUNT, lambda kind, learner, _: SharedCount(kind, learner, name))


def column_of_class(kind: Kind, name: str) -> Part:
    """Name a list of columns, by class."""
    return Part(kind, lambda kind, learner, number: SharedColumn(kind, getattr(learner, name)[number]))


def cell_of_class(kind: Kind, name: str) -> Part:
    """Name a column whose slots are classes."""
    return Part(kind, lambda kind, learner, number: SharedCell(kind, learner, name, number))


_WEIGHTS: Final = Layout([column(MEAN, "weight_column")], [attribute(MEAN, "bias")])
_AVERAGED: Final = Layout(
    [column(MEAN, "weight_column"), Part(AVERAGE, lambda kind, rule, _: MeanWeights(kind, rule))],
    [attribute(MEAN, "current_bias"), Part(AVERAGE, lambda kind, rule, _: MeanBias(kind, rule))],
)
_NORMALIZED_ADAGRAD: Final = Layout(
    [
        column(MAXIMUM, "scale_column"),
        Part(MEAN, lambda kind, rule, _: ScaledWeights(kind, rule.weight_column, rule.scale_column)),
        column(MEAN_AMOUNT, "square_column"),
    ],
    [
        attribute(MEAN, "bias"),
        attribute(MEAN_AMOUNT, "bias_square"),
        attribute(AMOUNT, "squared_sum"),
        count("n_examples"),
    ],
)
_COIN_BETTING: Final = Layout(
    [
        column(MAXIMUM, "bound_column"),
        column(AMOUNT, "size_column"),
        column(MEAN_AMOUNT, "reward_column"),
        Part(SUM, lambda kind, rule, _: Gradients(kind, rule)),
    ],
    [
        attribute(MAXIMUM, "bias_bound"),
        attribute(AMOUNT, "bias_size"),
        attribute(MEAN_AMOUNT, "bias_reward"),
        Part(SUM, lambda kind, rule, _: BiasGradient(kind, rule)),
    ],
)
_WEIGHTS_BY_CLASS: Final = Layout(
    of_class_rows=[column_of_class(MEAN, "weight_columns")], of_class=[cell_of_class(MEAN, "biases")]
)
_AVERAGED_BY_CLASS: Final = Layout(
    of_class_rows=[
        column_of_class(MEAN, "weight_columns"),
        Part(
            AVERAGE,
            lambda kind, rule, k: MeanWeightsOfClass(
                kind, rule, rule.weight_columns[k], rule.late_columns[k]
            ),
        ),
    ],
    of_class=[
        cell_of_class(MEAN, "biases"),
        Part(AVERAGE, MeanBiasOfClass),
    ],
)
_AROW_BY_CLASS: Final = Layout(
    of_class_rows=[
        column_of_class(CONFIDENT_MEAN, "weight_columns"),
        column_of_class(PRECISION, "variance_columns"),
    ],
    of_class=[cell_of_class(CONFIDENT_MEAN, "biases"), cell_of_class(PRECISION, "bias_variances")],
)
_NORMALIZED_ADAGRAD_BY_CLASS: Final = Layout(
    of_rows=[Part(MAXIMUM, lambda kind, rule, _: ScalesOfClasses(kind, rule))],
    of_learner=[attribute(AMOUNT, "squared_sum"), count("n_examples")],
    of_class_rows=[
        Part(MEAN, lambda kind, rule, k: ScaledWeights(kind, rule.weight_columns[k], rule.scale_column)),
        column_of_class(MEAN_AMOUNT, "square_columns"),
    ],
    of_class=[cell_of_class(MEAN, "biases"), cell_of_class(MEAN_AMOUNT, "bias_squares")],
)


def confident(mean: Kind, forgets: bool, intercept_forgets: bool) -> Layout:
    """Return the layout of a learner with variances; those of features or of the intercept may grow."""
    kinds = (mean, PRECISION), (COUNT_MEAN, MEAN_PRECISION)
    of_weights, of_variances = kinds[forgets]
    of_bias, of_bias_variance = kinds[intercept_forgets]
    return Layout(
        [column(of_weights, "weight_column"), column(of_variances, "variance_column")],
        [attribute(of_bias, "bias"), attribute(of_bias_variance, "bias_variance")],
    )


_LAYOUTS: Final[dict[type, Layout]] = {
    AveragedMulticlassPerceptron: _AVERAGED_BY_CLASS,
    AveragedPerceptron: _AVERAGED,
    CoinBetting: _COIN_BETTING,
    LogisticRegression: _WEIGHTS,
    MarginPerceptron: _WEIGHTS,
    MulticlassAROW: _AROW_BY_CLASS,
    MulticlassNormalizedAdaGrad: _NORMALIZED_ADAGRAD_BY_CLASS,
    MulticlassPassiveAggressive: _WEIGHTS_BY_CLASS,
    MulticlassPerceptron: _WEIGHTS_BY_CLASS,
    NormalizedAdaGrad: _NORMALIZED_ADAGRAD,
    PassiveAggressive: _WEIGHTS,
    Perceptron: _WEIGHTS,
}
_CONFIDENT: Final[dict[type, Kind]] = {
    AROW: CONFIDENT_MEAN,
    BayesianLogistic: CONFIDENT_MEAN,
    SCW: CONFIDENT_MEAN_OF_SCW,
}
"""Learners with variances, which are mixed otherwise where these may grow."""

_FORGETTING: Final = {
    (False, False): "",
    (True, False): "(forgetting)",
    (False, True): "(intercept_forgetting)",
    (True, True): "(forgetting, intercept_forgetting)",
}
LAYOUTS: Final = {cls.__name__: layout for cls, layout in _LAYOUTS.items()} | {
    cls.__name__ + suffix: confident(mean, *forgets)
    for cls, mean in _CONFIDENT.items()
    for forgets, suffix in _FORGETTING.items()
}
"""By name, which says the class and what else matters."""


def name_of_layout(learner: Any) -> str:
    """Return which of `LAYOUTS` a learner has. Raises TypeError, naming its class, if it cannot be mixed."""
    cls = type(learner)
    if getattr(learner, "full", False):
        raise TypeError(
            f"{cls.__name__}(full=True) cannot be shared: its covariances do not add up by feature"
        )
    if cls in _CONFIDENT:
        return cls.__name__ + _FORGETTING[learner.forgetting < 1, learner.intercept_forgetting < 1]
    if cls not in _LAYOUTS:
        names = sorted(known.__name__ for known in (AutoClassifier, *_LAYOUTS, *_CONFIDENT))
        whose = "" if cls.__module__.startswith("perceptron_core.") else f"{cls.__module__}."
        raise TypeError(f"{whose}{cls.__name__} cannot be shared; those that can are {', '.join(names)}")
    return cls.__name__
