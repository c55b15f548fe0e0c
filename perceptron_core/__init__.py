"""Learning only: deterministic functions of their inputs. No I/O, no clock, no Kafka, no Pydantic."""

from perceptron_core.errors import FeatureError, LabelError, LearnerError
from perceptron_core.perceptron import Perceptron
from perceptron_core.version import __version__

__all__ = ["FeatureError", "LabelError", "LearnerError", "Perceptron", "__version__"]
