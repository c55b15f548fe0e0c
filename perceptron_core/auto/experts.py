"""Which learners `AutoClassifier` is made of. In: nothing. Out: learners, each on one map, and mixers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from perceptron_core.auto.ensemble import Ensemble
from perceptron_core.auto.layout import (
    BINNED,
    FOURIER,
    GRAMS,
    LINEAR,
    PAIRED,
    SQUASHED,
    WIDE,
    WORDS,
)
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.binary.arow import AROW
from perceptron_core.binary.bayesian_logistic import BayesianLogistic
from perceptron_core.binary.coin_betting import CoinBetting
from perceptron_core.binary.logistic_regression import LogisticRegression
from perceptron_core.binary.normalized_adagrad import NormalizedAdaGrad
from perceptron_core.binary.scw import SCW
from perceptron_core.mixing.mixer import Mixer

MIXTURES: Final = ("mixture that forgets", "mixture")
"""Names of the mixers' answers."""
N_MIXERS: Final = len(MIXTURES)
_BITS: Final = 8
"""Of the tables at first; they grow with the slots of their maps."""
_OF_MARGINS: Final = 4.0
"""Log-odds of a score of 1 of a learner that is not logistic."""


class Expert(NamedTuple):
    """A learner on a map."""

    name: str
    rule: LinearRule
    map_number: int
    factor: float = 1.0
    is_favourite: bool = False


def mixers() -> list[Mixer]:
    """Make the mixers of an ensemble."""
    return [Mixer(0.1, 0.999), Mixer(0.02, 1.0)]


def discount(groups: Sequence[str]) -> float:
    """Return by how much older mistakes count less with each event, for these groups of maps."""
    return 0.999 if "dense" in groups else 0.9997


def join(ensemble: Ensemble, group: str) -> None:
    """Add the learners of a group to an ensemble."""
    made = dense() if group == "dense" else sparse(WORDS if group == "words" else GRAMS, group)
    weight = 1.0 / len(made) if group == "dense" else 0.5 / len(made)
    for expert in made:
        ensemble.join(
            expert.name,
            expert.rule.hashed(_BITS),
            expert.map_number,
            expert.factor,
            weight,
            expert.is_favourite,
        )


def sparse(map_number: int, group: str) -> list[Expert]:
    """Make the learners of a map of sparse features."""
    return [
        Expert(f"{group}: NormalizedAdaGrad(epsilon=0.01)", NormalizedAdaGrad(), map_number),
        Expert(
            f"{group}: NormalizedAdaGrad(epsilon=0.0001)",
            NormalizedAdaGrad(epsilon=1e-4, margin=8.0),
            map_number,
        ),
        Expert(f"{group}: CoinBetting", CoinBetting(), map_number),
        Expert(
            f"{group}: NormalizedAdaGrad(hinge)",
            NormalizedAdaGrad(loss="hinge", margin=1.0),
            map_number,
            _OF_MARGINS,
        ),
        Expert(f"{group}: SCW", SCW(), map_number, _OF_MARGINS),
        Expert(f"{group}: AROW(1)", AROW(), map_number, _OF_MARGINS, group == "words"),
        Expert(f"{group}: AROW(10)", AROW(10.0), map_number, _OF_MARGINS),
    ]


def dense() -> list[Expert]:
    """Make the learners of dense numbers."""
    return [
        Expert("linear: LogisticRegression", LogisticRegression(), LINEAR, is_favourite=True),
        Expert("linear: BayesianLogistic", BayesianLogistic(), LINEAR, is_favourite=True),
        Expert("squashed: BayesianLogistic", BayesianLogistic(), SQUASHED),
        Expert("bins: BayesianLogistic", BayesianLogistic(), BINNED),
        Expert("bins: BayesianLogistic(forgetting)", BayesianLogistic(0.995, 0.95), BINNED),
        Expert("fourier: NormalizedAdaGrad", NormalizedAdaGrad(), FOURIER),
        Expert("fourier: AROW", AROW(1.0, 0.995, 0.95), FOURIER, _OF_MARGINS),
        Expert("pairs: NormalizedAdaGrad", NormalizedAdaGrad(), PAIRED),
        Expert("wide fourier: NormalizedAdaGrad", NormalizedAdaGrad(), WIDE),
    ]
