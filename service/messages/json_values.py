"""Read JSON into plain values; a defect is a rejection whose sentence does not depend on the JSON library.

An object that names a key twice is rejected: programs differ in which of the two values they use.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from service.errors import TABLES
from service.messages.rejection import Reason, Rejection

try:
    from service.messages.json_keys import has_as_many_keys  # type: ignore[import-not-found]
except ImportError:  # nothing is compiled
    has_as_many_keys = None

REASONS: Final = {sentence: Reason(name) for sentence, name in TABLES["reasons"].items()}
"""The reasons of some errors of Pydantic, by type, and of pydantic-core's JSON reader, by sentence."""


def read_text(value: bytes) -> str:
    """Read text in UTF-8. Raises `Rejection`."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Rejection(Reason.INVALID_UTF8, f"byte {error.start} is not UTF-8") from None


def read_value(value: bytes) -> Any:  # noqa: ANN401 - any value
    """Read a JSON value. Raises `Rejection`."""
    try:
        document = from_json(value)
    except ValueError as error:
        read_text(value)  # raises for other bytes than UTF-8
        sentence, _, position = str(error).rpartition(" at line ")
        where, what = position.replace(" column", ", column"), TABLES["json"].get(sentence, "expected JSON")
        raise Rejection(REASONS.get(sentence, Reason.INVALID_JSON), f"line {where}: {what}") from None
    check_keys(value, document)
    return document


def read_json(value: bytes) -> dict[str, Any]:
    """Read a JSON object. Raises `Rejection`."""
    document = read_value(value)
    if not isinstance(document, dict):
        raise Rejection(Reason.NOT_AN_OBJECT, "expected a JSON object")
    return document


def check_keys(value: bytes, document: object) -> None:
    """Raise `Rejection` if an object in `value`, from which `document` was read, names a key twice."""
    if has_as_many_keys is None or not has_as_many_keys(value, document):
        json.loads(value, object_pairs_hook=unique_keys, parse_int=str)


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of these keys and values. Raises `Rejection` if a key occurs twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise Rejection(Reason.INVALID_JSON, f"expected each key of an object once, got {twice!r} twice")
    return made


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first repeated name; None if all differ.

    >>> first_repeated(["a", "b", "b", "a"]), first_repeated("abc")
    ('b', None)
    """
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def number_of_text(text: str) -> float:
    """Return the number of a text. Raises `ValueError`, also for `1_000` and `٣`, which only Python reads."""
    if "_" in text or not text.isascii():
        raise ValueError("expected the digits 0 to 9")
    return float(text)
