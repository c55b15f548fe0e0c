"""The final summary of a run, and the format of tables and numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from service.messages.labels import Vocabulary
from service.models.learner import Learner, MixtureStatus
from service.partition.parts.counters import LABELS
from service.partition.parts.quality import MAX_CLASSES
from service.redaction import one_line

_WEIGHTS_SHOWN: Final = 8
_LARGE: Final = 1e7
_CLASS_HEAD: Final = ("class", "labelled", "precision", "recall", "F1", "specificity", "MCC")
_COUNTS: Final = ("events", "examples", "labelled", "unlabelled", *LABELS, "epochs")
_OF_TRAINING: Final = ("training_error", "held_out_error", "best_epoch", "stopped")
RANKING: Final = ("auc", "average_precision")
BASELINES: Final = {"majority_class": "always majority", "last_label": "always last label"}
"""The baselines, which predict without features."""
_TITLES: Final = {
    "auc": "area under ROC",
    "best_epoch": "best epoch",
    "cost_of_labels": "cost of the labels",
    "expected_calibration_error": "calibration error",
    "held_out_error": "held-out error",
    "stopped": "ended because",
}
"""Labels of entries with a less clear name."""


def summary_text(
    summary: Mapping[str, Any], learner: Learner | None = None, classes: Sequence[str] = ()
) -> str:
    """Format a summary: counts, error, confusion matrix and the largest weights."""
    known = {**summary}
    if summary.get("labelled") == 0:
        known["error_rate"] = f"{'unknown':>12}: no event has a label"
    if "events_per_second" in summary:
        known["events_per_second"] = round(summary["events_per_second"])
    lines = facts(known, *_COUNTS, "mistakes", "updates", "error_rate", *_OF_TRAINING)
    for name, each in summary.get("baselines", {}).items():
        lines.append(f"  {BASELINES[name]:<18} {each['error_rate']:>12.4f}")
    lines += facts(known, *RANKING, "log_loss", "expected_calibration_error", "rejected")
    lines += _parts(summary["rejected_by_reason"])
    labels = summary.get("labels", {})
    lines += facts({"labels": sum(labels.values()) if labels else None}, "labels") + _parts(labels)
    lines += facts(known, "skipped", "drifts", "cost", "cost_of_labels", "events_per_second")
    lines += confusion_table(summary.get("confusion", {})) + class_table(summary.get("classes", {}))
    lines += decisions_table(summary.get("decisions", {}))
    if learner is not None:
        lines += experts_table(learner.mixture) if learner.mixture is not None else []
        lines += largest_weights(learner, classes)
    return "\n".join(lines)


def _parts(counts: Mapping[str, int]) -> list[str]:
    return [f"  {name:<18} {count:>12,}" for name, count in counts.items()]


def facts(summary: Mapping[str, Any], *names: str) -> list[str]:
    """Format the named entries that exist, one per line: counts, ratios and words."""
    known = {name: summary[name] for name in names if summary.get(name) is not None}
    return [f"{_TITLES.get(name, name.replace('_', ' ')):<20} {_shown(each)}" for name, each in known.items()]


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{_cell(value):>12}"


def decisions_table(decisions: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List decisions: how often each was taken, its results by labels, and its present threshold."""
    columns = ("decided", "labelled", "precision", "recall", "false_positive_rate", "threshold")
    head = ["decisions", *(each.replace("_rate", "").replace("_", " ") for each in columns), ""]
    rows = [
        [one_line(name), *(_cell(each[column]) for column in columns), _remark(each)]
        for name, each in decisions.items()
    ]
    return ["", table([head, *rows], left=1)] if rows else []


def _remark(decision: Mapping[str, Any]) -> str:
    return decision["undecided"] or ("exhausted" if decision["exhausted"] else "")


def _cell(value: float | None) -> str:
    return count_text(value) if isinstance(value, int) else number_text(value)


def experts_table(mixture: MixtureStatus) -> list[str]:
    """List the experts of a mixture: the weight of each in the leader's prediction, and its mistakes."""
    head = (f"experts; the {mixture.leader} leads", "weight", "mistakes")
    rows = [(name, f"{weight:+.3f}", f"{mistakes:,}") for name, weight, mistakes, *_ in mixture.experts]
    return ["", table([head, *rows], left=1)] if rows else []


def largest_weights(learner: Learner, classes: Sequence[str]) -> list[str]:
    """List the largest weights; the sign shows which of the `classes` a feature favours."""
    known = learner.weights()
    if known is None:
        return []
    weights, bias = known
    ranked = sorted(weights.items(), key=lambda item: (-abs(item[1]), str(item[0])))[:_WEIGHTS_SHOWN]
    rows = [(f"  {one_line(str(name))}", f"{number_text(weight, '+'):>12}") for name, weight in ranked]
    if isinstance(bias, Mapping):
        favoured, shown = "the class named", ", ".join(f"{name}: {value:+g}" for name, value in bias.items())
    else:
        favoured, shown = Vocabulary(classes).name(truth=True), f"{bias:+g}"
    meaning = one_line(f"(positive ones favour {favoured}); bias {shown}")
    title = f"largest of {len(weights):,} weights {meaning}"
    return ["", title, *table(rows, left=1).splitlines()]


def class_table(classes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Format the `ClassMetrics` of each class, of many classes only the most frequent."""
    majority = sorted(classes, key=lambda name: -classes[name]["labelled"])[:MAX_CLASSES]
    rows = [(one_line(name), *map(_cell, classes[name].values())) for name in sorted(majority)]
    left_out = len(classes) - len(rows)
    more = [f"{left_out:,} rarer classes: --format json has all"] if left_out else []
    return ["", table([_CLASS_HEAD, *rows]), *more] if rows else []


def confusion_table(confusion: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Format the confusion matrix; empty without predictions."""
    names = [one_line(name) for name in confusion]
    rows = [
        [truth, *map(count_text, row.values())] for truth, row in zip(names, confusion.values(), strict=True)
    ]
    return ["", table([["truth \\ predicted", *names], *rows], left=1)] if rows else []


_SIZES: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))
ABSENT: Final = "-"
"""Shown for a missing value."""


def table(rows: Sequence[Sequence[str]], left: int = 0) -> str:
    """Align cells by column, the first `left` columns to the left; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def count_text(count: int | None) -> str:
    """Format a count.

    >>> count_text(1234567), count_text(None)
    ('1,234,567', '-')
    """
    return ABSENT if count is None else f"{count:,}"


def counted(count: int, nouns: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "dead letters"), counted(2000, "records")
    ('1 dead letter', '2,000 records')
    """
    return f"{count_text(count)} {nouns.removesuffix('s') if count == 1 else nouns}"


def number_text(number: float | None, sign: str = "") -> str:
    """Format a number with four decimals, or a large one with four digits; `sign` is "+" to show each sign.

    >>> number_text(0.5), number_text(0.5, "+"), number_text(-2e99), number_text(None)
    ('0.5000', '+0.5000', '-2e+99', '-')
    """
    if number is None:
        return ABSENT
    return format(number, sign + (".4f" if abs(number) < _LARGE else ".4g"))


def size_text(size_bytes: int) -> str:
    """Format a size in its largest decimal unit.

    >>> size_text(999), size_text(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    for length, unit in _SIZES:
        if size_bytes >= length:
            return f"{size_bytes / length:.1f} {unit}"
    return f"{size_bytes} bytes"


def duration_text(seconds: float) -> str:
    """Format a duration in its largest unit.

    >>> duration_text(59.9), duration_text(3599), duration_text(100_000)
    ('59 s', '59 min', '1 d')
    """
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds) // 1:.0f} s"


def time_text(timestamp_ms: int) -> str:
    """Format a time in ISO 8601, in UTC.

    >>> time_text(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    try:
        time = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a producer may set any time
        return f"{timestamp_ms} ms"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bytes_field(name: str, value: bytes | None) -> dict[str, str | None]:
    r"""Return bytes as a JSON field: text if they are UTF-8, else base64 under another name.

    >>> bytes_field("key", b"a"), bytes_field("key", b"\xff")
    ({'key': 'a'}, {'key_base64': '/w=='})
    """
    try:
        return {name: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value or b"").decode()}
