"""Learning only: deterministic functions of their inputs. No I/O, no clock, no Kafka, no Pydantic."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from perceptron_core.arow import AROW
from perceptron_core.assessment import Assessment, hold_out, perceptron_test
from perceptron_core.averaged_multiclass_perceptron import AveragedMulticlassPerceptron
from perceptron_core.averaged_perceptron import AveragedPerceptron
from perceptron_core.batch_perceptron import BatchPerceptron
from perceptron_core.entries import COMPILED
from perceptron_core.errors import DamagedError, FeatureError, LabelError, LearnerError
from perceptron_core.geometry import Hyperplane, margin, radius, signed_distances
from perceptron_core.hashed_classifier import HashedClassifier
from perceptron_core.kernel_perceptron import KernelPerceptron
from perceptron_core.learning_curve import Epoch, Training
from perceptron_core.margin_perceptron import MarginPerceptron
from perceptron_core.multiclass_arow import MulticlassAROW
from perceptron_core.multiclass_passive_aggressive import MulticlassPassiveAggressive
from perceptron_core.multiclass_perceptron import MulticlassPerceptron
from perceptron_core.passive_aggressive import PassiveAggressive
from perceptron_core.perceptron import Perceptron
from perceptron_core.scw import SCW
from perceptron_core.separability import (
    MinimumLengthSolution,
    Separability,
    linear_separability,
    minimum_length_solution,
)
from perceptron_core.serialisation import from_bytes, to_bytes
from perceptron_core.text import Rows, TextHasher
from perceptron_core.theory import (
    MistakeBound,
    OnlineMistakeBound,
    hinge_loss,
    mistake_bound,
    perceptron_criterion,
)
from perceptron_core.training import perceptron_train
from perceptron_core.version import __version__
from perceptron_core.voted_perceptron import VotedPerceptron

if TYPE_CHECKING:
    from perceptron_core.structured import StructuredPerceptron

__all__ = [
    "AROW",
    "COMPILED",
    "SCW",
    "Assessment",
    "AveragedMulticlassPerceptron",
    "AveragedPerceptron",
    "BatchPerceptron",
    "DamagedError",
    "Epoch",
    "FeatureError",
    "HashedClassifier",
    "Hyperplane",
    "KernelPerceptron",
    "LabelError",
    "LearnerError",
    "MarginPerceptron",
    "MinimumLengthSolution",
    "MistakeBound",
    "MulticlassAROW",
    "MulticlassPassiveAggressive",
    "MulticlassPerceptron",
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
    """Import what brings NumPy along only when it is asked for."""
    if name != "StructuredPerceptron":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = import_module("perceptron_core.structured").StructuredPerceptron
    return found
