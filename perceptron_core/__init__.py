"""Learning only: deterministic functions of their inputs. No I/O, no clock, no Kafka, no Pydantic."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.auto.standalone import CharacterNaiveBayes, HoeffdingForest, NearestNeighbors
from perceptron_core.formats.model_bytes import from_bytes, to_bytes
from perceptron_core.linear.arow import AROW, MulticlassAROW
from perceptron_core.linear.averaged import AveragedMulticlassPerceptron, AveragedPerceptron
from perceptron_core.linear.bayesian_logistic import BayesianLogistic
from perceptron_core.linear.coin_betting import CoinBetting
from perceptron_core.linear.kernel import KernelPerceptron
from perceptron_core.linear.logistic_regression import LogisticRegression
from perceptron_core.linear.normalized_adagrad import MulticlassNormalizedAdaGrad, NormalizedAdaGrad
from perceptron_core.linear.passive_aggressive import MulticlassPassiveAggressive, PassiveAggressive
from perceptron_core.linear.perceptron import MarginPerceptron, MulticlassPerceptron, Perceptron
from perceptron_core.linear.scw import SCW
from perceptron_core.linear.voted import VotedPerceptron
from perceptron_core.mixing.mixture import Mixture
from perceptron_core.text.hasher import Rows, TextHasher
from perceptron_core.theory.geometry import Hyperplane, margin, radius, signed_distances
from perceptron_core.theory.mistake_bound import (
    MistakeBound,
    OnlineMistakeBound,
    hinge_loss,
    mistake_bound,
    perceptron_criterion,
)
from perceptron_core.theory.separability import (
    MinimumLengthSolution,
    Separability,
    linear_separability,
    minimum_length_solution,
)
from perceptron_core.training.batch_perceptron import BatchPerceptron
from perceptron_core.training.epochs import (
    Assessment,
    Epoch,
    Training,
    hold_out,
    perceptron_test,
    perceptron_train,
)
from perceptron_core.validation import DamagedError, FeatureError, LabelError, LearnerError
from perceptron_core.version import __version__
from perceptron_core.weights.example import COMPILED

if TYPE_CHECKING:
    from perceptron_core.structured.perceptron import StructuredPerceptron

__all__ = [
    "AROW",
    "COMPILED",
    "SCW",
    "Assessment",
    "AutoClassifier",
    "AveragedMulticlassPerceptron",
    "AveragedPerceptron",
    "BatchPerceptron",
    "BayesianLogistic",
    "CharacterNaiveBayes",
    "CoinBetting",
    "DamagedError",
    "Epoch",
    "FeatureError",
    "HashedClassifier",
    "HoeffdingForest",
    "Hyperplane",
    "KernelPerceptron",
    "LabelError",
    "LearnerError",
    "LogisticRegression",
    "MarginPerceptron",
    "MinimumLengthSolution",
    "MistakeBound",
    "Mixture",
    "MulticlassAROW",
    "MulticlassNormalizedAdaGrad",
    "MulticlassPassiveAggressive",
    "MulticlassPerceptron",
    "NearestNeighbors",
    "NormalizedAdaGrad",
    "OnlineMistakeBound",
    "PassiveAggressive",
    "Perceptron",
    "Rows",
    "Separability",
    "StructuredPerceptron",
    "TextHasher",
    "Training",
    "VotedPerceptron",
    "__version__",
    "from_bytes",
    "hinge_loss",
    "hold_out",
    "linear_separability",
    "margin",
    "minimum_length_solution",
    "mistake_bound",
    "perceptron_criterion",
    "perceptron_test",
    "perceptron_train",
    "radius",
    "signed_distances",
    "to_bytes",
]


def __getattr__(name: str) -> Any:
    """Import names that need NumPy only on access."""
    if name != "StructuredPerceptron":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loaded = globals()[name] = import_module("perceptron_core.structured.perceptron").StructuredPerceptron
    return loaded
