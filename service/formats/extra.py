"""Packages that only some formats need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from service.errors import ConfigurationError

_PACKAGES: Final = {"google.protobuf": "protobuf", "grpc_tools": "grpcio-tools"}
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
