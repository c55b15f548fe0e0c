"""The version of the distribution. In: one line of the core. Out: its text, without importing the core."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path


def version() -> str:
    """Read the version; to import the package it stands in takes a second."""
    found = importlib.util.find_spec("perceptron_core")
    assert found is not None
    assert found.origin is not None
    stated: str = runpy.run_path(str(Path(found.origin).with_name("version.py")))["__version__"]
    return stated
