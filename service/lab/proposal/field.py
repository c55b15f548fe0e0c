"""The fields of some records, and what their values have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

MISSING: Final = frozenset({"", "?", "na", "n/a", "nan", "null", "none", "-"})
"""Texts, in lower case, that mean that a value is missing."""
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
"""A text that is a number: 007 is a code."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORDS_OF_TEXT: Final = 3
_SHORTEST_TEXT: Final = 40
_TEXT_DISTINCT_RATIO: Final = 0.3
"""Of texts: categories repeat."""
_VECTOR_LENGTH: Final = 2


def path_of(keys: Sequence[str]) -> str:
    """Return the JMESPath that leads to a field.

    >>> path_of(["order", "user-id"])
    'order."user-id"'
    """
    return ".".join(key if _PLAIN.fullmatch(key) else json.dumps(key) for key in keys)


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case.

    >>> sorted(words_of("amountRefunded_EUR"))
    ['amount', 'eur', 'refunded']
    """
    return frozenset(word.lower() for word in _WORD.findall(name))


@dataclass
class Field:
    """A field of several records.

    Parameters
    ----------
    keys
        The names that lead to it.
    n_records
        How many records there are.
    values
        By number of the record, without those that are null.

    """

    keys: tuple[str, ...]
    n_records: int
    values: dict[int, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Its JMESPath."""
        return path_of(self.keys)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its own name, in lower case."""
        return words_of(self.keys[-1])

    @cached_property
    def name(self) -> str:
        """Its own name, in lower case and without other characters than letters and digits."""
        return re.sub(r"[^a-z0-9]", "", self.keys[-1].lower())

    @cached_property
    def known(self) -> Mapping[int, Any]:
        """The values that do not say that they are missing."""
        return {
            n: value
            for n, value in self.values.items()
            if not (isinstance(value, str) and value.strip().lower() in MISSING)
        }

    @cached_property
    def distinct(self) -> Sequence[Any]:
        """Each known value once."""
        return [*{json.dumps(value, sort_keys=True): value for value in self.known.values()}.values()]

    @property
    def is_unique(self) -> bool:
        """Whether each record has another value."""
        return len(self.distinct) == self.n_records

    @property
    def is_scalar(self) -> bool:
        """Whether no value is a list."""
        return bool(self.known) and not any(isinstance(value, list) for value in self.known.values())

    @cached_property
    def are_numbers(self) -> bool:
        """Whether all known values are numbers, or texts that are."""
        return self.is_scalar and all(
            _NUMBER.fullmatch(value) is not None if isinstance(value, str) else _is_number(value)
            for value in self.known.values()
        )

    @property
    def are_texts_of_numbers(self) -> bool:
        """Whether some numbers are text, or a text says that one is missing."""
        return self.are_numbers and any(isinstance(value, str) for value in self.values.values())

    @cached_property
    def n_words(self) -> float:
        """Words of a text on average, if they are texts and no categories; else 0."""
        texts = [value for value in self.known.values() if isinstance(value, str)]
        if not texts or len(texts) < len(self.known) or self.are_numbers:
            return 0.0
        words = sum(len(text.split()) for text in texts) / len(texts)
        is_long = words >= _WORDS_OF_TEXT or (words > 1 and max(map(len, texts)) >= _SHORTEST_TEXT)
        return words if is_long and len(self.distinct) >= _TEXT_DISTINCT_RATIO * len(texts) else 0.0

    @cached_property
    def vector_length(self) -> int:
        """How many numbers each value is a list of; 0 if it is none, or they differ."""
        values = [*self.known.values()]
        lengths = {len(value) for value in values if isinstance(value, list) and all(map(_is_number, value))}
        is_vector = len(lengths) == 1 and all(isinstance(value, list) for value in values)
        length = lengths.pop() if is_vector else 0
        return length if length >= _VECTOR_LENGTH else 0


def fields_of(documents: Sequence[Mapping[str, Any]]) -> list[Field]:
    """Return the fields of records; what lies in objects has a path, what lies in a list is its own."""
    found: dict[tuple[str, ...], Field] = {}
    for number, document in enumerate(documents):
        for keys, value in _leaves(document):
            here = found.setdefault(keys, Field(keys, len(documents)))
            if value is not None:
                here.values[number] = value
    holders = {each.keys[:end] for each in found.values() for end in range(1, len(each.keys))}
    return [each for each in found.values() if each.keys not in holders or each.values]


def _leaves(
    document: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    items: Iterable[tuple[str, Any]] = document.items()
    for name, value in items:
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
