"""The `perceptron` command: runs the package `service` beside this file, whatever else has that name."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> None:
    """Run the command; a folder `service` on PYTHONPATH is not in its way."""
    spec = spec_from_file_location("service", Path(__file__).with_name("service") / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules["service"] = module_from_spec(spec)
    spec.loader.exec_module(package)
    from service.cli import main as run  # noqa: PLC0415 - of the package that was just imported

    run()
