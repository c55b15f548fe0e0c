"""The format `js`: a linear model as one script that reads events and texts as the service does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from service.lab.export.as_c import filled
from service.lab.export.as_json import description, written
from service.lab.export.code_points import Range, word_ranges
from service.lab.export.linear import LinearModel
from service.version import version

_TEMPLATE: Final = Path(__file__).with_name("template.js")


def export(model: LinearModel) -> bytes:
    """Write a model down.

    Raises
    ------
    ConfigurationError
        Its texts are cut in a way that JavaScript cannot.

    """
    values = {
        "LEARNER": model.learner,
        "VERSION": version(),
        "LABELS": written(list(model.labels)),
        "BIASES": written(list(model.biases)),
        "THRESHOLD": written(model.threshold),
        "POSITIVE_AT_THRESHOLD": written(model.positive_at_threshold),
        "LOG_ODDS": written(model.has_log_odds),
        "SETTINGS": written(description(model)["features"]),
        "WORD": _pattern(word_ranges(model, "js")),
        "MODEL": _entries((name, list(row)) for name, row in model.weights.items()),
        "SCALES": _entries(model.scales.items()),
    }
    return filled(_TEMPLATE, values)


def _entries(items: Iterable[tuple[object, object]]) -> str:
    return "\n".join(f"    [{written(name)}, {written(value)}]," for name, value in items)


def _pattern(ranges: list[Range]) -> str:
    """Return a regular expression that finds runs of these characters."""
    members = "".join(f"\\u{{{first:x}}}-\\u{{{last:x}}}" for first, last in ranges)
    return f"/[{members}]+/gu"
