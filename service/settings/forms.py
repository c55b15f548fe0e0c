"""Parse the text forms of settings, from whatever source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite

from pydantic import BaseModel, ValidationError


def split_names(value: object) -> object:
    """Turn ``"ham, spam"`` into ``["ham", "spam"]``."""
    return (
        [name.strip() for name in value.split(",")]
        if isinstance(value, str) and value.strip()
        else value or ()
    )


def split_paths(value: object) -> object:
    """Split text at its commas, those inside brackets and quotes left out.

    >>> split_paths("subject, join(', ', tags), body")
    ['subject', "join(', ', tags)", 'body']
    """
    if not isinstance(value, str):
        return value or ()
    pieces, open_brackets, quote, start = [], 0, "", 0
    for position, sign in enumerate(value):
        if quote:
            quote = "" if sign == quote and value[position - 1] != "\\" else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in "([{":
            open_brackets += 1
        elif sign in ")]}":
            open_brackets -= 1
        elif sign == "," and not open_brackets:
            pieces.append(value[start:position].strip())
            start = position + 1
    return [piece for piece in (*pieces, value[start:].strip()) if piece]


def split_pairs(value: object) -> object:
    """Turn a table, which may be written as JSON, into pairs of names and texts."""
    found = parse_object(value)
    return tuple(found.items()) if isinstance(found, Mapping) else found or ()


def split_values(value: object) -> object:
    """Split text at its commas into numbers and texts; NaN is a text, as no number equals it.

    >>> split_values("-9999,NaN,"), split_values([-1, float("nan")])
    ([-9999.0, 'NaN', ''], [-1, 'NaN'])
    """
    if isinstance(value, str):
        return [_number_or_text(each.strip()) for each in value.split(",")] if value else ()
    return ["NaN" if each != each else each for each in value] if isinstance(value, list) else value or ()  # noqa: PLR0124


def _number_or_text(text: str) -> float | str:
    try:
        return float(text) if isfinite(float(text)) else text
    except ValueError:
        return text


def parse_ngrams(value: object) -> object:
    """Turn ``"2"``, ``2`` and ``"1-3"`` into (2, 2), (2, 2) and (1, 3)."""
    shortest, _, longest = str(value).strip().partition("-")
    if isinstance(value, (int, str)) and not shortest.strip().isdecimal():
        raise ValueError("expected N or MIN-MAX, such as 2 or 1-3")
    return (shortest, longest or shortest) if isinstance(value, (int, str)) else value


def parse_object(value: object) -> object:
    """Read a value written as a JSON object, as an environment variable holds it."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value or "{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON object: {error}") from None


def parse_batch(value: object) -> object:
    """Turn ``"auto"`` into None; raises `ValueError` for other text that is not a whole number."""
    if isinstance(value, str) and value != "auto" and not value.strip().isdecimal():
        raise ValueError("expected a whole number, or auto")
    return None if value == "auto" else value


def reasons(error: ValidationError) -> list[str]:
    """Return why settings cannot be used: each by its name, without its value, which may be a secret."""
    found = error.errors(include_url=False, include_input=False)
    return [f"{'.'.join(map(str, each['loc']))} {reason(each['msg'])}" for each in found]


def reason(message: str) -> str:
    """Return a message of Pydantic as the end of a sentence about a setting."""
    found = message.removeprefix("Value error, ").replace("Input should be", "must be")
    found = found.replace("Extra inputs are not permitted", "there is no such setting")
    return found[:1].lower() + found[1:]


def lower(value: object) -> object:
    """Turn text into lower case."""
    return value.lower() if isinstance(value, str) else value


def written(value: object) -> str:
    """Return a value as a user writes it, or as Python does where that is the same to the eye.

    >>> [written(value) for value in (("ham", "spam"), (1, 2), (3, 3), (), "words")]
    ['ham,spam', '1-2', '3', 'none', "'words'"]
    """
    if not isinstance(value, (tuple, list)):
        return repr(value)
    if all(isinstance(each, int) for each in value):
        return "-".join(map(str, dict.fromkeys(value))) or "none"
    return ",".join(map(str, value))


def as_label(value: object) -> object:
    """Write a label value that is no text as JSON does: ``False`` as ``"false"``."""
    return json.dumps(value) if isinstance(value, (bool, int)) else value


def setting_values(settings: BaseModel) -> Mapping[str, object]:
    """List every setting's value under its dotted name, secrets still wrapped."""
    values: dict[str, object] = {}
    for name, value in settings:
        nested = dict(value) if isinstance(value, (BaseModel, dict)) else {}
        values |= {f"{name}.{key}": inner for key, inner in nested.items()} or {name: value}
    return values
