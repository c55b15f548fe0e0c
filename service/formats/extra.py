"""Packages that only some formats need. In: the name of one. Out: nothing, or what to install."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from service.errors import ConfigurationError

_PACKAGES: Final = {"fastavro": "fastavro", "google.protobuf": "protobuf", "grpc_tools": "grpcio-tools"}


def need(module: str, what: str) -> None:
    """Raise `ConfigurationError` if a module of the extra is not installed.

    Parameters
    ----------
    module
        What is imported.
    what
        What needs it: the beginning of the sentence.

    """
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the package that it is in
        found = None
    if found is None:
        raise ConfigurationError(
            f"{what} needs the package {_PACKAGES[module]}, which is not installed",
            hint="install it: pip install 'online-perceptron[schemas]'",
        )
