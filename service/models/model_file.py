"""Read model files, and write them completely or not at all; merge the settings in them with given settings.

A file's settings replace the defaults. Settings from the command line, the environment or a settings file
must agree with them: a model that learned with other settings is another model. Only built-in models are
made from the name in a file; any other name is code, which runs only if the user names it.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from perceptron_core import AutoClassifier, DamagedError, HashedClassifier, Mixture, from_bytes, to_bytes
from perceptron_core.formats.model_bytes import settings_of
from perceptron_core.linear.multiclass import MulticlassClassifier
from perceptron_core.mixing.mixture import name_of
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.messages.labels import BINARY
from service.models.core import kind_of
from service.models.learner import Learner
from service.models.registry import BUILT_IN, built_in
from service.settings.declaration import reasons, written
from service.settings.fields import HASH_KEY, MAPPING, OF_MODEL_FILES, OF_MODELS, defaults, fingerprint
from service.settings.load import DEFAULT, Loaded, Settings

_PRIVATE: Final = 0o600
_OF_RECORDS: Final = frozenset(MAPPING) - frozenset(OF_MODELS)
"""Settings that may differ: a file of examples has its ids and labels elsewhere than the stream."""


class ModelKind(NamedTuple):
    """A model's class, parameters and classes, without what it has learned."""

    name: str
    """Name of its class."""
    parameters: dict[str, Any]

    @classmethod
    def of(cls, model: Any) -> ModelKind:  # noqa: ANN401 - any of perceptron_core's models
        """Describe a model of `perceptron_core`, whatever kind of weight table it has."""
        if isinstance(model, HashedClassifier):
            model = model.classifier
        parameters = model._get_params()  # noqa: SLF001 - River's name for it
        if isinstance(model, Mixture):
            parameters |= {"experts": tuple(map(name_of, model.experts))}
        return cls(type(model).__name__, parameters)

    def difference(self, other: ModelKind) -> str:
        """Return the first difference, with the value of this model first; empty if there is none."""
        if self.name != other.name:
            return f"a {self.name}, not a {other.name}"
        for name, value in self.parameters.items():
            if value != other.parameters[name]:
                return f"{name}={value!r}, not {name}={other.parameters[name]!r}"
        return ""


def reject_pickle(learner: Learner) -> None:
    """Reject a learner whose model has no file format. Raises `ConfigurationError`."""
    if not learner.has_files:
        raise ConfigurationError(
            "model: River models cannot be saved to files, which would be pickles: unsafe to read",
            hint="choose a built-in model; River models are saved only in signed checkpoints",
        )


class ModelFile(NamedTuple):
    """The contents of a model file."""

    path: Path
    model: Any
    settings: dict[str, Any] | None
    """The settings under which the model was made; None in a file that was written without them."""


def read_model_file(path: Path) -> ModelFile:
    """Read a file that `checkpoint export`, `replay --save` or `train --save` wrote.

    Raises
    ------
    InputFileError
        The file is missing, or is not a valid model.

    """
    hint = "choose a file written by `perceptron checkpoint export`, `replay --save` or `train --save`"
    try:
        content = path.read_bytes()
        file = ModelFile(path, from_bytes(content), settings_of(content))
        _reject_other(file)
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}", hint=hint) from None
    except DamagedError as error:
        raise InputFileError(f"{path}: {error}", hint=hint) from None
    return file


def _reject_other(file: ModelFile) -> None:
    """Reject a model that is not the one in the file's settings. A name of code may stand for any model."""
    settings, kind = file.settings or {}, kind_of(file.model)
    if built_in(settings.get("model"), settings.get("classes")) not in {None, kind}:
        name = settings["model"]
        raise DamagedError(f"expected {name} as in its settings, got a {kind.__name__}")


def write_model_file(path: Path, learner: Learner, made_with: Mapping[str, Any]) -> int:
    """Write a model and the settings it was made with; return the size in bytes.

    Raises
    ------
    ServiceError
        The file cannot be written.

    """
    content = to_bytes(from_bytes(learner.dump()), made_with)
    write_atomically(path, content)
    return len(content)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that, whatever happens, it has the old or the new content and never half of it.

    Only the owner may read a new file, as a model may hold words of private texts. A replaced file keeps its
    permissions.

    Raises
    ------
    ServiceError
        The file cannot be written.

    """
    path = path.resolve()  # so that a link stays a link
    if path.exists() and not path.is_file():
        raise ServiceError(f"{path}: cannot be written: not a regular file", hint="choose a regular file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # in its folder: no rename crosses disks
    try:
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as file:
                _take_over_rights(path, file.fileno())
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except OSError as error:
        raise ServiceError(
            f"{path}: cannot be written: {error.strerror}",
            hint="check the folder, its permissions and its free space",
        ) from None


def _take_over_rights(path: Path, descriptor: int) -> None:
    """Copy owner (as far as allowed) and permissions of the replaced file to the new one."""
    if not path.exists() or not hasattr(os, "fchown"):
        return
    status = path.stat()
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _sync_directory(directory: Path) -> None:
    """Make the new name durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def made_with(settings: Settings) -> dict[str, Any]:
    """Return the settings that a model depends on, in the form of a model file."""
    return fingerprint(settings, OF_MODEL_FILES)


def settings_for(file: ModelFile, loaded: Loaded, *, makes_model: bool) -> Loaded:
    """Return the settings for a model file: the file's settings, or the given ones if the file has none.

    `makes_model` is whether another model is made with them.

    Raises
    ------
    ConfigurationError
        A given setting differs from the file's, or the file names code; the message names the setting.
    InputFileError
        This release does not know the file's settings.

    """
    if file.settings is None:
        return loaded
    known = {
        name: value for name, value in file.settings.items() if name in OF_MODEL_FILES and name != HASH_KEY
    }
    given = defaults() | made_with(loaded.settings)
    for name, value in known.items():
        origin = origin_of(name, loaded)
        if origin == DEFAULT or given[name] == value or name in _OF_RECORDS:
            continue
        if name == "classes" and not value:
            continue  # unnamed classes get the given names
        raise ConfigurationError(
            f"{name}: expected {written(value)} as in {file.path}, got {written(given[name])} ({origin})",
            hint="omit it: the file has this setting",
        )
    settings = completed_settings(known, str(file.path), loaded, makes_model=makes_model)
    _check_key(file.path, file.settings.get(HASH_KEY, ""), settings)
    return settings


def _check_key(path: Path, fingerprint: str, loaded: Loaded) -> None:
    given = made_with(loaded.settings).get(HASH_KEY, "")
    if given != fingerprint:
        raise ConfigurationError(
            f"{HASH_KEY}: expected {fingerprint or 'none'} as in {path}, got "
            f"{given or 'none'} ({loaded.origins[HASH_KEY]})",
            hint="set PERCEPTRON_HASH_KEY to the secret that the model was made with, or unset it",
        )


def completed_settings(
    known: Mapping[str, Any], source: str, loaded: Loaded, *, makes_model: bool = True
) -> Loaded:
    """Return the given settings, completed with the settings of `source`.

    Raises
    ------
    ConfigurationError
        A model is made with them, and `source` names code.
    InputFileError
        This release does not know the settings.

    """
    unset = {
        name: value
        for name, value in known.items()
        if name != HASH_KEY and origin_of(name, loaded) == DEFAULT  # only a fingerprint of the key is known
    }
    values = {name: getattr(loaded.settings, name) for name in Settings.model_fields}
    for name, value in unset.items():
        table, _, entry = name.rpartition(".")
        values |= {table: {**dict(values[table]), entry: value}} if table else {name: value}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        why = "; ".join(reasons(error))
        raise InputFileError(f"{source}: this release does not accept its settings: {why}") from None
    if makes_model and "model" in unset and settings.model not in BUILT_IN:
        raise ConfigurationError(
            f"model: {source} was made with {settings.model}, which is code: code runs only if you name it",
            hint=f"--model {shlex.quote(settings.model)}, if you trust it",
        )
    if unset.get("events.hook"):
        raise ConfigurationError(
            f"events.hook: {source} was made with {settings.events.hook}: code runs only if you name it",
            hint=f"--features {shlex.quote(settings.events.hook)}, if you trust it",
        )
    origins = {**loaded.origins, **dict.fromkeys(unset, source)}
    return dataclasses.replace(loaded, settings=settings, origins=origins)


def origin_of(name: str, loaded: Loaded) -> str:
    """Return the source of a setting; for a table, the source of its first entry."""
    own: Mapping[str, str] = {
        key: origin for key, origin in loaded.origins.items() if key.startswith(f"{name}.")
    }
    return next((origin for origin in own.values() if origin != DEFAULT), loaded.origins.get(name, DEFAULT))


def reject_other_classes(path: Path, model: Any, classes: Sequence[str]) -> None:  # noqa: ANN401 - any of perceptron_core's
    """Reject a model whose number of classes differs from the settings. Raises `ConfigurationError`."""
    if not _fits(model, classes):
        raise ConfigurationError(
            f"classes: {', '.join(classes) or 'two'}; the model of {path}: {type(model).__name__}",
            hint="give a multiclass model more than two names in --classes, other models two or none",
        )


def _fits(model: Any, classes: Sequence[str]) -> bool:  # noqa: ANN401 - any of perceptron_core's
    """Return whether a model has as many classes as the settings name."""
    if isinstance(model, AutoClassifier):
        return set(model.labels) == (set(classes) if len(classes) > BINARY else {False, True})
    if len(classes) <= BINARY and isinstance(model, MulticlassClassifier):
        return set(model.classes or ()) == {False, True}
    return hasattr(model, "scores_one" if len(classes) > BINARY else "score_one")
