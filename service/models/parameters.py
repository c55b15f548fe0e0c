"""Check the types of parameters of built-in models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

_NUMBERS: Final = frozenset({"float", "int", "Rate"})


def check_types(factory: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Raise TypeError for an unknown parameter, or another type than declared, such as text for a number."""
    declared = inspect.signature(factory).parameters
    for name, value in params.items():
        if name not in declared:
            raise TypeError(f"it has no parameter {name!r}")
        kind, or_none, _ = str(declared[name].annotation).partition(" | None")
        if or_none and value is None:
            continue
        if kind in _NUMBERS and not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if kind == "bool" and not isinstance(value, int):
            raise TypeError(f"{name} must be true or false, not {value!r}")
        if kind.startswith("Sequence") and not isinstance(value, (list, tuple)):
            raise TypeError(f"{name} must be a list, not {value!r}")
