"""Read model files, and write them whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError, HashedClassifier, Mixture, from_bytes, to_bytes
from perceptron_core.formats.model_bytes import settings_of
from perceptron_core.mixing.mixture import name_of
from service.errors import ConfigurationError, InputFileError, ServiceError
from service.models.kinds import kind_of
from service.models.learner import Learner
from service.models.registry import built_in
from service.models.river import RiverLearner

_PRIVATE: Final = 0o600


class ModelKind(NamedTuple):
    """What a model is, before it has learned anything."""

    name: str
    """Its class."""
    parameters: dict[str, Any]

    @classmethod
    def of(cls, model: Any) -> ModelKind:  # noqa: ANN401 - any of perceptron_core's models
        """Describe a model of `perceptron_core`; where its weights are kept makes it no other."""
        if isinstance(model, HashedClassifier):
            model = model.classifier
        parameters = model._get_params()  # noqa: SLF001 - River's name for it
        if isinstance(model, Mixture):
            parameters |= {"experts": tuple(map(name_of, model.experts))}
        return cls(type(model).__name__, parameters)

    def difference(self, other: ModelKind) -> str:
        """Name the first difference, this one's side first; empty if there is none."""
        if self.name != other.name:
            return f"a {self.name}, not a {other.name}"
        for name, value in self.parameters.items():
            if value != other.parameters[name]:
                return f"{name}={value!r}, not {name}={other.parameters[name]!r}"
        return ""


def refuse_pickle(learner: Learner) -> None:
    """Refuse a learner whose model has no file format. Raises `ConfigurationError`."""
    if isinstance(learner, RiverLearner):
        raise ConfigurationError(
            "model: a River model can only be written down as a pickle, and reading a pickle runs whatever "
            "code somebody put into it: there are no model files for it",
            hint="use a built-in model; a River model stays, signed, in the checkpoints of its own service",
        )


class ModelFile(NamedTuple):
    """What a model file holds."""

    path: Path
    model: Any
    settings: dict[str, Any] | None
    """The settings under which the model was made; None in a file that was written without them."""


def read_model_file(path: Path) -> ModelFile:
    """Read a file that `checkpoint export`, `replay --save` or `train --save` wrote.

    Raises
    ------
    InputFileError
        There is no such file, or no sound model in it.

    """
    hint = "`perceptron checkpoint export`, `replay --save` and `train --save` write model files"
    try:
        content = path.read_bytes()
        file = ModelFile(path, from_bytes(content), settings_of(content))
        _refuse_other(file)
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}", hint=hint) from None
    except DamagedError as error:
        raise InputFileError(f"{path}: {error}", hint=hint) from None
    return file


def _refuse_other(file: ModelFile) -> None:
    """Refuse a model that is none of what the settings beside it name. A name of code may mean any."""
    settings, found = file.settings or {}, kind_of(file.model)
    if built_in(settings.get("model"), settings.get("classes")) not in {None, found}:
        name = settings["model"]
        raise DamagedError(f"this perceptron-model is a {found.__name__}, and its settings name {name}")


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
    """Write a file so that, whatever happens, it is the old one or the new one and never half of it.

    A new file is for its owner alone: a model may hold words of private texts. An old one's rights are kept.

    Raises
    ------
    ServiceError
        The file cannot be written.

    """
    path = path.resolve()  # so that a link stays one
    if path.exists() and not path.is_file():
        raise ServiceError(f"{path}: cannot be written: it is no regular file", hint="name a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # beside it: a rename crosses no disks
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
            f"{path}: cannot be written: {error.strerror}", hint="check the folder, its rights and its space"
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
    """Make the new name survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
