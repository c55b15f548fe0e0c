"""Import functions and classes that settings name, and check that packages of extras are installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from service.errors import ConfigurationError


def import_code(setting: str, place: str, hint: str) -> Any:  # noqa: ANN401 - whatever is there
    """Return what a setting names as `package.module:name` or `path/to/file.py:name`, to be called.

    Raises `ConfigurationError`, with the hint, if it cannot be imported.
    """
    location, _, name = place.rpartition(":")
    try:
        found = getattr(_import_module(location), name)
    except (Exception, SystemExit) as error:
        reason = (
            str(error) if isinstance(error, (ImportError, OSError)) else f"{type(error).__name__}: {error}"
        )
        raise ConfigurationError(f"{setting}: cannot import {place!r}: {reason}", hint=hint) from error
    if not callable(found):
        raise ConfigurationError(f"{setting}: {place!r} is not a function or class", hint=hint)
    return found


def with_version(hook: str) -> str:
    """Return a hook, if there is one, with the version of its function or module, where either declares one.

    Raises `ConfigurationError` if it cannot be imported, or is said to have another version.
    """
    if not hook:
        return hook
    place, _, wanted = hook.partition(" ")
    found = import_code("events.hook", place, "a function: package.module:name or path/to/file.py:name")
    module = sys.modules.get(getattr(found, "__module__", ""))
    version = getattr(found, "__version__", "") or getattr(module, "__version__", "")
    if wanted and wanted != str(version):
        raise ConfigurationError(f"events.hook: {place}: expected version {wanted}, got {version or 'none'}")
    return f"{place} {version}".strip()


def _import_module(location: str) -> ModuleType:
    if not location.endswith(".py"):
        return importlib.import_module(location)
    path = Path(location)
    # A name that no other module has: a pickle refers to the classes of the file by it.
    name = f"perceptron_model_{path.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(path.absolute()):
        return known  # once for all partitions: another import would make other classes
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a function's own module, as its version says
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


_PACKAGES: Final = {"google.protobuf": "protobuf"}
"""Packages whose name differs from that of their module."""


def need(module: str, what: str, extra: str = "schemas") -> None:
    """Raise `ConfigurationError` if a module of an extra is not installed.

    Parameters
    ----------
    module
        What is imported.
    what
        What needs it: the beginning of the sentence.
    extra
        Which installs it.

    """
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the package that it is in
        found = None
    if found is None:
        raise ConfigurationError(
            f"{what} needs the package {_PACKAGES.get(module, module)}, which is not installed",
            hint=f"install it: pip install 'online-perceptron[{extra}]'",
        )
