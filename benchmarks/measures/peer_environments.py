"""Where the peers live that cannot share an environment with the project: they pin other releases."""

from __future__ import annotations

import sys
from pathlib import Path

from .base import Unavailable


def own() -> Path:
    """Return the interpreter that the project itself runs in."""
    return Path(sys.executable)


def quix() -> Path:
    """Return the interpreter of Quix Streams, which `make bench` installs beside our own environment."""
    python = Path(sys.prefix).parent / "quix" / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"no Quix Streams at {python}; `make bench` installs it")
    return python
