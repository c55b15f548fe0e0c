"""Model files on the command line: read a model with its settings, and write one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perceptron_core import AutoClassifier
from service.cli.output import report_warning
from service.errors import ConfigurationError
from service.messages.labels import BINARY
from service.models.made_with import settings_for
from service.models.model_file import read_model_file
from service.settings.load import Loaded


def load_model_file(path: Path, loaded: Loaded, *, makes_model: bool = True) -> tuple[Any, Loaded]:
    """Read a model file; return its model, and the settings with those of the file.

    `makes_model` says whether another model is made with them.

    Raises
    ------
    ConfigurationError
        A setting that was given contradicts the file, or the file names code that would make the model.
    InputFileError
        The file cannot be read.

    """
    file = read_model_file(path)
    if file.settings is None:
        report_warning(
            f"{path} was written by a release that kept no settings with a model: --classes, --text, "
            "--ngrams, … must be those it was made with"
        )
    return file.model, settings_for(file, loaded, makes_model=makes_model)


def refuse_other_classes(path: Path, model: Any, classes: Sequence[str]) -> None:  # noqa: ANN401 - any of perceptron_core's
    """Refuse a model of another number of classes than the settings name. Raises `ConfigurationError`."""
    if not _fits(model, classes):
        raise ConfigurationError(
            f"classes: {', '.join(classes) or 'two'}; the model of {path}: {type(model).__name__}",
            hint="more than two names in --classes go with a multiclass model, two or none with the others",
        )


def _fits(model: Any, classes: Sequence[str]) -> bool:  # noqa: ANN401 - any of perceptron_core's
    """Return whether a model has as many classes as the settings name."""
    if isinstance(model, AutoClassifier):
        return set(model.labels) == (set(classes) if len(classes) > BINARY else {False, True})
    return hasattr(model, "scores_one" if len(classes) > BINARY else "score_one")
