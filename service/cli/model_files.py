"""Model files on the command line: read a model with its settings, and write one."""

from __future__ import annotations

from pathlib import Path

from service.cli.output import report_warning
from service.models.made_with import settings_for
from service.models.model_file import ModelFile, read_model_file
from service.settings.load import Loaded


def load_model_file(path: Path, loaded: Loaded, *, makes_model: bool = True) -> tuple[ModelFile, Loaded]:
    """Read a model file; return it, and the settings with those in it.

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
            f"{path} has no settings beside the model: --classes, --text, "
            "--ngrams, … must be those it was made with"
        )
    return file, settings_for(file, loaded, makes_model=makes_model)
