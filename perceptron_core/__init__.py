"""Learning only: deterministic functions of their inputs. No I/O, no clock, no Kafka, no Pydantic."""

from perceptron_core.errors import DamagedError, FeatureError, LabelError, LearnerError
from perceptron_core.perceptron import Perceptron
from perceptron_core.serialisation import from_bytes, to_bytes
from perceptron_core.version import __version__

__all__ = [
    "DamagedError",
    "FeatureError",
    "LabelError",
    "LearnerError",
    "Perceptron",
    "__version__",
    "from_bytes",
    "to_bytes",
]
