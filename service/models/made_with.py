"""The settings that a model file was made with, which those given must not contradict.

The file's settings stand in the place of the defaults. What was given on the command line, in the environment
or in a file of settings must agree with them: a model that learned under other settings is another model.
A model file makes built-in models only: any other name is code, which runs if the user names it.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from perceptron_core import AutoClassifier
from service.errors import ConfigurationError, InputFileError
from service.messages.labels import BINARY
from service.models.model_file import ModelFile
from service.models.registry import BUILT_IN
from service.settings.fields import HASH_KEY, MAPPING, OF_MODEL_FILES, OF_MODELS, defaults, fingerprint
from service.settings.forms import reasons, written
from service.settings.load import DEFAULT, Loaded, Settings

_OF_RECORDS: Final = frozenset(MAPPING) - frozenset(OF_MODELS)
"""Settings that may differ: a file of examples has its ids and labels elsewhere than the stream."""


def made_with(settings: Settings) -> dict[str, Any]:
    """List the settings that a model depends on, as a file holds them."""
    return fingerprint(settings, OF_MODEL_FILES)


def settings_for(file: ModelFile, loaded: Loaded, *, makes_model: bool) -> Loaded:
    """Return the settings that go with a model file; those given, where the file knows none.

    `makes_model` says whether a model is made with them, beside the one in the file.

    Raises
    ------
    ConfigurationError
        A setting that was given differs from the file's, or the file names code; the message names it.
    InputFileError
        The file's settings are none of this release.

    """
    if file.settings is None:
        return loaded
    known = {
        name: value for name, value in file.settings.items() if name in OF_MODEL_FILES and name != HASH_KEY
    }
    given = defaults() | made_with(loaded.settings)
    for name, value in known.items():
        origin = _origin(name, loaded)
        if origin == DEFAULT or given[name] == value or name in _OF_RECORDS:
            continue
        if name == "classes" and not value:
            continue  # classes that had no names get those given
        raise ConfigurationError(
            f"{name}: {file.path} was made with {written(value)}, the {origin} says {written(given[name])}",
            hint="leave it out: the file knows what its model was made with",
        )
    found = in_place_of_defaults(known, str(file.path), loaded, makes_model=makes_model)
    _check_key(file.path, file.settings.get(HASH_KEY, ""), found)
    return found


def _check_key(path: Path, fingerprint: str, loaded: Loaded) -> None:
    given = made_with(loaded.settings).get(HASH_KEY, "")
    if given != fingerprint:
        raise ConfigurationError(
            f"{HASH_KEY}: {path} was made with {fingerprint or 'none'}, "
            f"the {loaded.origins[HASH_KEY]} says {given or 'none'}",
            hint="set PERCEPTRON_HASH_KEY to the secret that the model was made with, if there was one",
        )


def in_place_of_defaults(
    known: Mapping[str, Any], source: str, loaded: Loaded, *, makes_model: bool = True
) -> Loaded:
    """Return the settings with those of `source` where none was given.

    Raises
    ------
    ConfigurationError
        A model is made with them, and `source` names code.
    InputFileError
        They are none of this release.

    """
    unset = {
        name: value
        for name, value in known.items()
        if name != HASH_KEY and _origin(name, loaded) == DEFAULT  # of the key, only a fingerprint is known
    }
    values = {name: getattr(loaded.settings, name) for name in Settings.model_fields}
    for name, value in unset.items():
        table, _, entry = name.rpartition(".")
        values |= {table: {**dict(values[table]), entry: value}} if table else {name: value}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        why = "; ".join(reasons(error))
        raise InputFileError(f"{source}: its settings are not this release's: {why}") from None
    if makes_model and "model" in unset and settings.model not in BUILT_IN:
        raise ConfigurationError(
            f"model: {source} was made with {settings.model}, which is no built-in model but names code, and "
            "code runs only if you name it",
            hint=f"--model {shlex.quote(settings.model)}, if you trust it",
        )
    if unset.get("events.hook"):
        raise ConfigurationError(
            f"events.hook: {source} was made with {settings.events.hook}: code runs only if you name it",
            hint=f"--features {shlex.quote(settings.events.hook)}, if you trust it",
        )
    origins = {**loaded.origins, **dict.fromkeys(unset, source)}
    return dataclasses.replace(loaded, settings=settings, origins=origins)


def _origin(name: str, loaded: Loaded) -> str:
    """Return where a setting came from; of a table, where its first entry did."""
    own: Mapping[str, str] = {
        key: origin for key, origin in loaded.origins.items() if key.startswith(f"{name}.")
    }
    return next((origin for origin in own.values() if origin != DEFAULT), loaded.origins.get(name, DEFAULT))


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
