"""Learning only: deterministic functions of their inputs. No I/O, no clock, no Kafka, no Pydantic."""

from perceptron_core.assessment import Assessment, hold_out, perceptron_test
from perceptron_core.averaged_multiclass_perceptron import AveragedMulticlassPerceptron
from perceptron_core.batch_perceptron import BatchPerceptron
from perceptron_core.errors import DamagedError, FeatureError, LabelError, LearnerError
from perceptron_core.geometry import Hyperplane, margin, radius, signed_distances
from perceptron_core.learning_curve import Epoch, Training
from perceptron_core.multiclass_arow import MulticlassAROW
from perceptron_core.multiclass_passive_aggressive import MulticlassPassiveAggressive
from perceptron_core.multiclass_perceptron import MulticlassPerceptron
from perceptron_core.perceptron import Perceptron
from perceptron_core.separability import (
    MinimumLengthSolution,
    Separability,
    linear_separability,
    minimum_length_solution,
)
from perceptron_core.serialisation import from_bytes, to_bytes
from perceptron_core.structured import StructuredPerceptron
from perceptron_core.theory import (
    MistakeBound,
    OnlineMistakeBound,
    hinge_loss,
    mistake_bound,
    perceptron_criterion,
)
from perceptron_core.training import perceptron_train
from perceptron_core.version import __version__

__all__ = [
    "Assessment",
    "AveragedMulticlassPerceptron",
    "BatchPerceptron",
    "DamagedError",
    "Epoch",
    "FeatureError",
    "Hyperplane",
    "LabelError",
    "LearnerError",
    "MinimumLengthSolution",
    "MistakeBound",
    "MulticlassAROW",
    "MulticlassPassiveAggressive",
    "MulticlassPerceptron",
    "OnlineMistakeBound",
    "Perceptron",
    "Separability",
    "StructuredPerceptron",
    "Training",
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
