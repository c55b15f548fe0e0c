"""Paths into documents: compile JMESPaths to functions, find the fields that they use; parse event times.

A document is the result of a reader: dictionaries, lists, texts, numbers, booleans, None. A path of names is
followed without the library, in a tenth of the time.

A time is a text in ISO 8601 or a number, whose magnitude decides its unit: seconds below 1e11 (until the year
5138), milliseconds below 1e14 (from 1973 on), microseconds below 1e17, else nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

Keys = tuple[str, ...]
"""A location in a document: the names that lead there."""

Find = Callable[[object], Any]

_PLAIN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_SECONDS_BELOW: Final = 1e11
_MILLISECONDS_BELOW: Final = 1e14
_MICROSECONDS_BELOW: Final = 1e17
"""Magnitudes that decide the unit of a number."""
_MAX_DEPTH: Final = 200
"""Largest number of names in a path; values are nested less deeply."""
_MAX_LENGTH: Final = 10_000
"""Longest expression, in characters, that is not only names with dots."""
_PROJECTIONS: Final = frozenset(
    {"projection", "value_projection", "filter_projection", "flatten", "index_expression", "pipe"}
)
"""Nodes whose first child alone is evaluated on the document itself."""


class PathError(ValueError):
    """An expression that is not a JMESPath, or one that fails on a document."""


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled JMESPath."""

    expression: str
    keys: Keys | None
    """The names that lead to the value; None for any other expression."""
    uses: frozenset[Keys]
    """The locations of the document that the value depends on, everything below them included."""
    find: Find
    """Returns the value in a document, None if there is none. Raises `PathError`."""


@lru_cache(maxsize=256)
def parse_path(expression: str) -> Path:
    """Parse a JMESPath.

    >>> path = parse_path("order.total")
    >>> path.find({"order": {"total": 9.5}}), path.keys
    (9.5, ('order', 'total'))
    >>> path = parse_path("order.status == 'paid'")
    >>> path.find({"order": {"status": "open"}}), path.keys, sorted(path.uses)
    (False, None, [('order', 'status')])

    Raises
    ------
    PathError
        It is not a JMESPath (the message has the position), or is nested too deeply.

    """
    try:
        return _parsed(expression)
    except RecursionError:
        raise PathError("nested too deeply") from None


def _parsed(expression: str) -> Path:
    if _PLAIN.fullmatch(expression):
        keys = tuple(expression.split("."))
        if len(keys) > _MAX_DEPTH:
            raise RecursionError
        return Path(expression, keys, frozenset({keys}), find_at(keys))
    if len(expression) > _MAX_LENGTH:
        raise PathError(f"longer than {_MAX_LENGTH:,} characters")
    import jmespath  # noqa: PLC0415 - most services and commands need none
    from jmespath.exceptions import JMESPathError  # noqa: PLC0415

    try:
        parsed = jmespath.compile(expression)
        _check_functions(parsed.parsed)
    except JMESPathError as error:
        arithmetic = "; JMESPath has no arithmetic: use events.derive" if "/" in expression else ""
        raise PathError(_complaint(error) + arithmetic) from None
    tree = parsed.parsed
    if keys_or_none := _keys(tree):
        return Path(expression, keys_or_none, frozenset({keys_or_none}), find_at(keys_or_none))
    return Path(expression, None, frozenset(_uses(tree)), _search(expression, parsed.search))


def find_at(keys: Keys) -> Find:
    """Return a function that follows names; values other than objects have none."""
    if not keys:
        return lambda document: document
    *outer, key = keys
    if not outer:
        return lambda document: document.get(key) if isinstance(document, dict) else None
    find_holder = find_at(tuple(outer))

    def find(document: object) -> Any:  # noqa: ANN401 - any value
        holder = find_holder(document)
        return holder.get(key) if isinstance(holder, dict) else None

    return find


def _search(expression: str, search: Find) -> Find:
    def find(document: object) -> Any:  # noqa: ANN401 - any document
        try:
            return search(document)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise PathError(f"{expression}: {_failure(error)}") from None

    return find


def _failure(error: Any) -> str:  # noqa: ANN401 - the library has no types
    """Describe why an expression fails on a document, without the document's values."""
    if hasattr(error, "expected_types"):
        expected = " or ".join(error.expected_types).replace("array-", "array of ")
        return f"{error.function_name}(): expected {expected}, got {error.actual_type}"
    return "expected values that it can compare and compute with, got others"


def _complaint(error: Any) -> str:  # noqa: ANN401 - the library has no types
    """Describe what is wrong with an expression, and at which character."""
    if (position := getattr(error, "lex_position", None)) is None:
        return f"not JMESPath: {str(error).partition(chr(10))[0]}"
    what = f"unexpected {str(error.token_value)!r}" if error.token_value else "it ends early"
    if isinstance(error.token_value, int):
        what = f"unexpected {error.token_value} (write a number in backticks: `{error.token_value}`)"
    return f"not JMESPath at character {position + 1}: {what}"


def _check_functions(node: Mapping[str, Any]) -> None:
    """Raise for a function that does not exist, or has another number of arguments."""
    from jmespath.exceptions import JMESPathTypeError  # noqa: PLC0415 - see above
    from jmespath.functions import Functions  # noqa: PLC0415

    if node["type"] == "function_expression":
        with suppress(JMESPathTypeError):  # types depend on the document
            Functions().call_function(node["value"], [None for _ in node["children"]])
    for child in _children(node):
        _check_functions(child)


def _children(node: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the child nodes; those of a slice would be its bounds, which are numbers."""
    return () if node["type"] == "slice" else node["children"]


def _keys(node: Mapping[str, Any]) -> Keys | None:
    """Return the names of a node that consists only of names; else None."""
    if node["type"] == "field":
        return (node["value"],)
    if node["type"] != "subexpression":
        return None
    parts = [_keys(child) for child in node["children"]]
    return None if None in parts else tuple(name for part in parts for name in part or ())


def _uses(node: Mapping[str, Any]) -> Iterator[Keys]:
    """Yield the locations that a node reads; the empty one is the whole document."""
    if (keys := _keys(node)) is not None:
        yield keys
    elif node["type"] in {"current", "identity", "slice"}:
        yield ()
    elif node["type"] in _PROJECTIONS or node["type"] == "subexpression":
        yield from _uses(node["children"][0])
    else:
        for child in _children(node):
            yield from _uses(child)


def event_time_ms(value: object) -> int:
    """Return a time in milliseconds, rounded down.

    >>> [event_time_ms(value) for value in (1700000000, 1700000000.5, 1700000000000, 1700000000000000)]
    [1700000000000, 1700000000500, 1700000000000, 1700000000000]
    >>> event_time_ms("2023-11-14T23:13:20.25+01:00")
    1700000000250

    Raises
    ------
    ValueError
        It is not a time; the message says why.

    """
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("expected seconds, milliseconds or ISO 8601")  # noqa: TRY004 - as all that is not a time
    if value - value != 0:
        raise ValueError(f"expected a time, got {value}")
    size = abs(value)
    if size < _SECONDS_BELOW:
        return int(value * 1000 // 1)
    return int(
        value // (1 if size < _MILLISECONDS_BELOW else 1000 if size < _MICROSECONDS_BELOW else 1_000_000)
    )


def _of_text(text: str) -> int:
    try:
        time = datetime.fromisoformat(f"{text[:-1]}Z" if text.endswith("z") else text)
    except ValueError:
        expected = "expected ISO 8601 (hours 00 to 23, seconds 00 to 59); other times need a time_format"
        raise ValueError(f"{expected}, numbers as strings to_number(PATH), got {text[:40]!r}") from None
    if time.tzinfo is None:
        raise ValueError(f"expected a time zone, such as Z or +01:00, got {text[:40]!r}")
    return (time - EPOCH) // _MILLISECOND
