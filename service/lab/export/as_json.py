"""The format `json`: all of a linear model, to be computed with in any language (docs/guides/export.md)."""

from __future__ import annotations

import json
from typing import Any, Final

from service.lab.export.linear import LinearModel
from service.settings.names import FEATURE_SETTINGS
from service.version import version

FORMAT: Final = "online-perceptron-linear"
VERSION: Final = 1


def description(model: LinearModel) -> dict[str, Any]:
    """Return all of a model in plain values."""
    has_one_score = len(model.biases) == 1
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"online-perceptron {version()}",
        "learner": model.learner,
        "labels": list(model.labels),
        "threshold": model.threshold if has_one_score else None,
        "label_at_threshold": model.labels[model.positive_at_threshold] if has_one_score else None,
        "score_is_log_odds": model.has_log_odds,
        "features": {name: getattr(model.settings, name) for name in (*FEATURE_SETTINGS, "hash_bits")},
        "bias": list(model.biases),
        "weights": {str(name): list(row) for name, row in model.weights.items()},
        "scales": {str(name): scale for name, scale in model.scales.items()},
    }


def export(model: LinearModel) -> bytes:
    """Write a model down, a feature on each line."""
    entries = (f" {written(key)}: {_laid_out(value)}" for key, value in description(model).items())
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def written(value: object) -> str:
    """Write a value as JSON, in ASCII, and so that it can stand in a script of a web page."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _laid_out(value: object) -> str:
    if not isinstance(value, dict) or not value:
        return written(value)
    return "{\n" + ",\n".join(f"  {written(key)}: {written(each)}" for key, each in value.items()) + "\n }"
