"""Convert cells of text to numbers, booleans, categories and labels, and rows to JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, Final

_LARGEST_EXACT_INTEGER: Final = 1 << 53  # beyond it, a float stands for several integers
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def label_value(text: str, classes: Collection[str] = ()) -> object:
    """Read a label: a class name stays as it is, numbers and booleans become values; None if empty.

    >>> [label_value(text, {"ham"}) for text in ("+1", "0", "True", "ham", "")]
    [1, 0, True, 'ham', None]
    """
    text = text.strip()
    return text if text in classes else cell_value(text) if text else None


def cell_value(cell: str) -> object:
    """Read a cell: a number, a boolean, else a category.

    >>> [cell_value(cell) for cell in ("7", "2.50", "1e3", "true", "red", "1_000")]
    [7, 2.5, 1000, True, 'red', '1_000']
    """
    try:
        number = float(cell)
    except ValueError:
        return {"true": True, "false": False}.get(cell.strip().lower(), cell)
    return cell if "_" in cell else plain_number(number)  # Python reads 1_000 as a number; no one else does


def plain_number(number: float) -> float:
    """Write whole numbers without a fraction. NaN and infinity stay, for decoding to refuse."""
    exact = math.isfinite(number) and number.is_integer() and abs(number) < _LARGEST_EXACT_INTEGER
    return int(number) if exact else number


def encode_event(fields: Mapping[str, Any]) -> bytes:
    """Write a row's fields as JSON; an event without a label has none. Raises `UnicodeEncodeError`."""
    if fields.get("label", "") is None:
        fields = {name: value for name, value in fields.items() if name != "label"}
    return _encode(fields).encode()
