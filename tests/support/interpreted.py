"""A second `perceptron_core` alongside the installed one, whose modules all run interpreted."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

import perceptron_core


def interpreted_core(folder: Path) -> ModuleType:
    """Import the sources of the installed core from a copy in `folder` that nothing compiled lies in."""
    source = Path(perceptron_core.__file__).parent
    shutil.copytree(source, folder / "perceptron_core", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    installed = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_core(name)}
    sys.path.insert(0, str(folder))
    try:
        core = importlib.import_module("perceptron_core")
        # Some modules are imported when asked for, from what is then there.
        for name in core.__all__:
            getattr(core, name)
        importlib.import_module("perceptron_core.formats.model_changes")
        core.to_bytes(core.StructuredPerceptron())
        return core
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if _is_core(name)]:
            del sys.modules[name]
        sys.modules |= installed


def _is_core(name: str) -> bool:
    return name == "perceptron_core" or name.startswith("perceptron_core.")
