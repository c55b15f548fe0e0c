"""Import the code that settings name, check that optional packages are installed, look up removed names."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from service.errors import ConfigurationError


def import_code(setting: str, reference: str, hint: str) -> Any:  # noqa: ANN401 - whatever is there
    """Import the function or class that a setting names as `package.module:name` or `path/to/file.py:name`.

    Raises `ConfigurationError`, with the hint, if it cannot be imported.
    """
    location, _, name = reference.rpartition(":")
    try:
        imported = getattr(_import_module(location), name)
    except (Exception, SystemExit) as error:
        reason = (
            str(error) if isinstance(error, (ImportError, OSError)) else f"{type(error).__name__}: {error}"
        )
        raise ConfigurationError(f"{setting}: cannot import {reference!r}: {reason}", hint=hint) from error
    if not callable(imported):
        raise ConfigurationError(f"{setting}: {reference!r} is not a function or class", hint=hint)
    return imported


def with_version(hook: str) -> str:
    """Return a hook, if given, with the version that its function or module declares, if any.

    Raises `ConfigurationError` if it cannot be imported, or has another version than given.
    """
    if not hook:
        return hook
    reference, _, wanted = hook.partition(" ")
    code = import_code("events.hook", reference, "a function: package.module:name or path/to/file.py:name")
    module = sys.modules.get(getattr(code, "__module__", ""))
    version = getattr(code, "__version__", "") or getattr(module, "__version__", "")
    if wanted and wanted != str(version):
        version = version or "none"
        raise ConfigurationError(f"events.hook: {reference}: expected version {wanted}, got {version}")
    return f"{reference} {version}".strip()


def _import_module(location: str) -> ModuleType:
    if not location.endswith(".py"):
        return importlib.import_module(location)
    path = Path(location)
    # A unique name, by which pickles refer to the classes of the file.
    name = f"perceptron_model_{path.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path.absolute()):
        return known  # once for all partitions, as another import would make different classes
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where a function finds its module, which may declare the version
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_PACKAGES: Final = {"google.protobuf": "protobuf"}
"""Packages whose name differs from the name of the module."""


def need(module: str, what: str, extra: str = "schemas") -> None:
    """Raise `ConfigurationError` if a module of an extra is not installed.

    Parameters
    ----------
    module
        The module.
    what
        What needs the module: the subject of the error message.
    extra
        The extra that installs it.

    """
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # for its parent package
        spec = None
    if spec is None:
        raise ConfigurationError.needs(what, _PACKAGES.get(module, module), extra)


def instead_of(name: str) -> str:
    """Return what `removed.toml` recommends instead of a setting, option or command; empty if nothing.

    >>> instead_of("kafka.group.id")
    'group is the name of the consumer group'
    >>> len({instead_of(name) for name in ("--kafka-acks", "PERCEPTRON_KAFKA__ACKS", "acks")})
    1
    >>> instead_of("kafka.aks")
    ''
    """
    plain = re.sub(r"[._-]+", "_", name.lower()).strip("_")
    removed = tomllib.loads(Path(__file__).with_name("removed.toml").read_text(encoding="utf-8"))
    return str(removed.get(plain.removeprefix("perceptron_").removeprefix("kafka_"), ""))
