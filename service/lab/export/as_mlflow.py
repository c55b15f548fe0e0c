"""The format `mlflow`: a folder with the `pyfunc` flavour of MLflow, for any model file.

It holds the model file as it is; `_load_pyfunc`, which MLflow calls, reads it with this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perceptron_core import LearnerError
from service.errors import ConfigurationError, ServiceError
from service.formats.extra import need
from service.messages.features import FeatureExtractor, RawFeatures
from service.messages.labels import Vocabulary
from service.models.made_with import settings_for
from service.models.model_file import read_model_file
from service.models.probability import assessment
from service.models.registry import learner_of
from service.partition.factory import make_extractor
from service.settings.load import Settings, load_settings
from service.version import version

_TEXT = "text"


def export(path: Path, settings: Settings, output: Path) -> None:
    """Write the model file at `path` as a folder that `mlflow.pyfunc.load_model` reads.

    Raises
    ------
    ConfigurationError
        MLflow is not installed, or the model has features of tenants.
    ServiceError
        The folder is there already, or cannot be written.

    """
    need("mlflow", "--format mlflow", "mlflow")
    if settings.events.tenant:
        raise ConfigurationError(
            "--format mlflow: a model with features of tenants is not exported",
            hint="`perceptron predict` takes it",
        )
    if output.exists():
        raise ServiceError(f"{output}: is there already", hint="--output names a folder that is not there")
    from mlflow import pyfunc  # noqa: PLC0415 - an extra

    requirements = [f"online-perceptron=={version()}"]
    try:
        pyfunc.save_model(output, loader_module=__name__, data_path=str(path), pip_requirements=requirements)
    except OSError as error:
        raise ServiceError(f"{output}: cannot be written: {error.strerror}") from None


def _load_pyfunc(path: str) -> Predictor:
    """Read the model file that MLflow has kept."""
    file = read_model_file(Path(path))
    return Predictor(file.model, settings_for(file, load_settings({}), makes_model=False).settings)


class Predictor:
    """Predicts rows of a data frame: a column is a feature, `text` the text; what is missing is none."""

    def __init__(self, model: Any, settings: Settings) -> None:  # noqa: ANN401 - any of perceptron_core's
        self._learner = learner_of(model)
        self._extractor: FeatureExtractor | RawFeatures = make_extractor(settings)
        self._vocabulary = Vocabulary(settings.classes)

    def predict(self, rows: Any, params: Any = None) -> Any:  # noqa: ANN401, ARG002 - what MLflow gives
        """Return a data frame: label, score and, where the model has one, probability.

        Raises
        ------
        ValueError
            A value is none that the model takes.

        """
        import pandas as pd  # noqa: PLC0415 - takes long to import

        found = [
            self._answer({str(name): value for name, value in row.items() if pd.notna(value)})
            for row in rows.to_dict("records")
        ]
        return pd.DataFrame(found, index=rows.index).drop(columns="id", errors="ignore")

    def _answer(self, features: dict[str, Any]) -> dict[str, Any]:
        text = features.pop(_TEXT, None)
        try:
            predicted, score = self._learner.assess(self._extractor.extract(features, text))
        except LearnerError as error:
            raise ValueError(str(error)) from None
        label = self._vocabulary.spell(predicted, self._vocabulary.first_spelling())
        return assessment("", label, predicted, score, has_log_odds=self._learner.has_log_odds)
