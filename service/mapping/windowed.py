"""Find the inputs of windows by key in documents: keys, numbers and hashes of values."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import isfinite, nan
from typing import Any, Final, NamedTuple

from perceptron_core.validation import MAX_MAGNITUDE
from service.messages.decoder import WindowInput
from service.messages.paths import Find, Keys, parse_path
from service.messages.rejection import Reason, Rejection
from service.settings.parts import WindowSettings
from service.stream.protocol import Record

_HASH_BYTES: Final = 8
_MAX_CACHED_LENGTH: Final = 64
"""Longest text in characters whose hash is cached: a lookup takes a tenth of the time."""
_log = logging.getLogger(__name__)


class Field(NamedTuple):
    """A field that a window aggregates."""

    name: str
    """The path of the field, or the name of a derived feature."""
    find: Find | None
    """Finds the value in a document; None for a derived feature."""
    is_counted: bool
    """Whether values are only counted, so that they need not be numbers."""
    key: str | None = None
    """The name in the document, if the path is a single name."""


class WindowedFields:
    """The fields that windows by key aggregate.

    Parameters
    ----------
    windows
        The settings of the windows.
    derived
        Names of derived features, which are not paths.
    is_missing
        Returns whether a value stands for a missing value; None: no value does.

    """

    def __init__(
        self,
        windows: Sequence[WindowSettings],
        derived: Collection[str],
        is_missing: Callable[[object], bool] | None,
    ) -> None:
        self._is_missing = is_missing
        self.uses: frozenset[Keys] = frozenset()
        """The locations that are read."""
        self._windows: list[tuple[Field, list[Field], list[Field]]] = []
        self._waits_for_records = True
        """Whether it is still unknown if records have the keys of the windows."""
        for window in windows:
            counted = {what for what, names in window.of.items() if {*names} <= {"count", "distinct"}}
            key, *others = (
                self._field(name, derived, counted)
                for name in (window.by, *window.numbers(), *window.hashed())
            )
            n = len(window.numbers())
            self._windows.append((key, others[:n], others[n:]))

    def _field(self, name: str, derived: Collection[str], counted: Collection[str]) -> Field:
        if name in derived:
            return Field(name, None, name in counted)
        path = parse_path(name)
        self.uses |= path.uses
        key = path.keys[0] if path.keys and len(path.keys) == 1 else None
        return Field(name, path.find, name in counted, key)

    def read(
        self, features: Mapping[str, Any], document: object, record: Record | None
    ) -> tuple[WindowInput, ...]:
        """Return the inputs of each window, given the features by name and the document.

        Raises `Rejection` and `PathError`.
        """
        inputs: list[WindowInput] = []
        for key, of_numbers, of_hashes in self._windows:
            value = self._value(key, features, document)
            text = "" if value is None else key_text(value, key.name)
            if not text:
                inputs.append((0, [], []))
                continue
            if self._waits_for_records and record is not None:
                self._compare(text, key.name, record)
            numbers = [self._number(field, features, document) for field in of_numbers]
            hashes = [self._hash(field, features, document) for field in of_hashes]
            inputs.append((hash_of(text), numbers, hashes))
        return tuple(inputs)

    def _value(self, field: Field, features: Mapping[str, Any], document: object) -> Any:  # noqa: ANN401 - any value
        if field.find is None:
            return features.get(field.name)
        if field.key is not None and type(document) is dict:
            value = document.get(field.key)
        else:
            value = field.find(document)
        return None if self._is_missing is not None and self._is_missing(value) else value

    def _number(self, field: Field, features: Mapping[str, Any], document: object) -> float:
        value = self._value(field, features, document)
        if type(value) is float and -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE and not field.is_counted:
            return value
        if value is None:
            return nan
        if field.is_counted:
            return 1.0
        if not isinstance(value, (int, float)):
            raise Rejection(Reason.INVALID_TYPE, f"{field.name} (events.windows): expected a number")
        if not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
            raise Rejection(Reason.OUT_OF_RANGE, f"{field.name} (events.windows): too large, or not finite")
        return float(value)

    def _hash(self, field: Field, features: Mapping[str, Any], document: object) -> int:
        value = self._value(field, features, document)
        return 0 if value is None else hash_of(key_text(value, field.name))

    def _compare(self, text: str, by: str, record: Record) -> None:
        """Warn once if records in several partitions do not have the window's key as their key."""
        if record.partition > 0:  # partition 0 may be the only one
            self._waits_for_records = False
            if record.key != text.encode(errors="replace"):
                _warn_of_keys(by)


@lru_cache(maxsize=64)
def _warn_of_keys(by: str) -> None:
    what = "records have another key, so the events of one value may be in several partitions"
    _log.warning(f"events.windows: by = %r: {what}: each partition counts only its own events", by)


def written(value: object, location: str) -> str:
    """Format a scalar as in JSON; a text without quotes.

    >>> [written(value, "tags") for value in ("red", True, 7, 2.5)]
    ['red', 'true', '7', '2.5']

    Raises
    ------
    Rejection
        A number is not finite; the message names the field.

    """
    if isinstance(value, float) and not isfinite(value):
        raise Rejection(Reason.NOT_FINITE, f"{location}: expected a finite number")
    return str(value).lower() if isinstance(value, bool) else str(value)


def key_text(value: object, name: str) -> str:
    """Format a key or another scalar as text; 7, 7.0 and "7" are the same.

    Raises
    ------
    Rejection
        The value is an object, a list or not finite.

    """
    if isinstance(value, str):
        return value
    where = f"{name} (events.windows)"
    if not isinstance(value, (bool, int, float)):
        raise Rejection(Reason.INVALID_TYPE, f"{where}: expected a string or a number")
    text = written(value, where)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else text


def hash_of(text: str) -> int:
    """Return a signed 64-bit hash, never 0."""
    return _remembered(text) if len(text) <= _MAX_CACHED_LENGTH else _digest(text)


def _digest(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


_remembered = lru_cache(maxsize=1 << 16)(_digest)
