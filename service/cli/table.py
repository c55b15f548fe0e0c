"""Format columns, counts, sizes, ages, times and bytes for people and for JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))
_KILOBYTE: Final = 1000
ABSENT: Final = "-"
"""Stands where there is nothing to show."""


def table(rows: Sequence[Sequence[str]]) -> str:
    """Align cells to the right, column by column; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def weight_rows(weights: Sequence[tuple[str, float]]) -> list[str]:
    """Lay out named weights, a line each."""
    width = max((len(name) for name, _ in weights), default=0)
    return [f"  {name:<{width}} {weight:>+12.4f}" for name, weight in weights]


def count_text(count: int | None) -> str:
    """Write a count.

    >>> count_text(1234567), count_text(None)
    ('1,234,567', '-')
    """
    return ABSENT if count is None else f"{count:,}"


def ratio_text(ratio: float | None) -> str:
    """Write a share or another figure with four places.

    >>> ratio_text(0.5), ratio_text(None)
    ('0.5000', '-')
    """
    return ABSENT if ratio is None else f"{ratio:.4f}"


def duration_text(seconds: float) -> str:
    """Write a duration in its largest unit.

    >>> duration_text(59.9), duration_text(3599), duration_text(100_000)
    ('59 s', '59 min', '1 d')
    """
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds) // 1:.0f} s"


def size_text(size_bytes: int) -> str:
    """Write a size.

    >>> size_text(999), size_text(1_250_000)
    ('999 B', '1.2 MB')
    """
    if size_bytes < _KILOBYTE:
        return f"{size_bytes} B"
    if size_bytes < _KILOBYTE**2:
        return f"{size_bytes / _KILOBYTE:.1f} kB"
    return f"{size_bytes / _KILOBYTE**2:.1f} MB"


def time_text(timestamp_ms: int) -> str:
    """Write a time as ISO 8601, in UTC.

    >>> time_text(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    try:
        time = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a producer may set any time
        return f"{timestamp_ms} ms"
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bytes_field(name: str, value: bytes | None) -> dict[str, str | None]:
    r"""Return bytes as a field of JSON: text where they are UTF-8, else base64 under another name.

    >>> bytes_field("key", b"a"), bytes_field("key", b"\xff")
    ({'key': 'a'}, {'key_base64': '/w=='})
    """
    try:
        return {name: None if value is None else value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value or b"").decode()}
