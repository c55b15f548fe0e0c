"""Unpickle objects of earlier releases, whose modules have moved.

Pickles (River models, pipelines) name classes and functions by module.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Final

_MOVED: Final = {
    "arow": "binary.arow",
    "averaged_multiclass_perceptron": "multiclass.averaged",
    "averaged_perceptron": "binary.averaged",
    "copies": "base.cloning",
    "entries": "weights.example",
    "hashed_classifier": "arrays.hashed_classifier",
    "kernel_perceptron": "binary.kernel",
    "kernels": "binary.kernels",
    "margin_perceptron": "binary.margin",
    "multiclass_arow": "multiclass.arow",
    "multiclass_passive_aggressive": "multiclass.passive_aggressive",
    "multiclass_perceptron": "multiclass.perceptron",
    "passive_aggressive": "binary.passive_aggressive",
    "perceptron": "binary.perceptron",
    "scw": "binary.scw",
    "structured": "structured.perceptron",
    "tables": "structured.averaged_table",
    "text": "text.hasher",
    "voted_perceptron": "binary.voted",
}
"""Of release 0.1.0; both names are below `perceptron_core`."""


def unpickle(data: bytes) -> Any:
    """Read a pickle of this release or of an earlier one.

    Like `pickle.loads`, it runs whatever code is in it: only for bytes that are known to be one's own.
    Raises whatever `pickle.loads` raises.
    """
    return _Unpickler(io.BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        package, _, module = module_name.partition(".")
        if package == "perceptron_core" and module in _MOVED:
            module_name = f"{package}.{_MOVED[module]}"
        return super().find_class(module_name, global_name)
