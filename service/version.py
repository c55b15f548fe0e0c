"""The version of the distribution, and the form of a version."""

from __future__ import annotations

import importlib.util
import runpy
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path


def version() -> str:
    """Read the version without an import of the core, which takes a second."""
    stated: str = runpy.run_path(str(_core() / "version.py"))["__version__"]
    return stated


def is_compiled() -> bool:
    """Return whether an import of the core would find machine code: `perceptron_core.COMPILED`."""
    spec = PathFinder.find_spec("perceptron_core.validation", [str(_core())])
    return spec is not None and isinstance(spec.loader, ExtensionFileLoader)


def _core() -> Path:
    spec = importlib.util.find_spec("perceptron_core")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
