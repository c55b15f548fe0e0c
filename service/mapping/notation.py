"""Read numbers and times in human formats: `1.234,50`, `01.02.2026 00:01:43`.

`events.decimal` and `events.time_format` set the formats, for all fields or by name. Texts of a number are
replaced by the number, texts of a time by seconds since 1970; other texts are unchanged.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from itertools import product
from math import isfinite
from typing import Any, Final

from service.formats.topics import Reader
from service.mapping.feature_step import NOTHING, Skip, skipping
from service.messages.paths import parse_path
from service.settings.mapping import EVERYTHING, EventSettings, LabelSettings, is_of_record

_NUMBERS: Final = {
    sign: re.compile(
        rf"[+-]?(?!0\d)(?:\d{{1,3}}(?:[{groups}'\u00a0\u202f ]\d{{3}})+|\d{{1,300}})(?:\{sign}\d{{1,300}})?"
        r"(?:[eE][+-]?\d{1,3})?",
        re.ASCII,
    )
    for sign, groups in ((".", ","), (",", "."))
}
"""Patterns of numbers by decimal sign; thousands may be separated."""
_DATES: Final = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y")
_CLOCKS: Final = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M:%S", "T%H:%M:%S.%f")
_TIME_FORMATS: Final = [date + clock + zone for date, clock, zone in product(_DATES, _CLOCKS, ("", "%z"))]
_LIKE_TIME: Final = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d", re.ASCII)
PLAIN_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
"""A text that is a number in JSON; 007 is a code, not a number."""
_MAX_EXACT_INTEGER: Final = 1 << 53
"""Beyond it, a float stands for several integers."""


class Notation:
    """Converts texts of records that are numbers or times.

    Parameters
    ----------
    settings
        Provides the formats, and the fields of ids, texts, labels and tenants, which are unchanged.

    """

    def __init__(self, settings: LabelSettings) -> None:
        self._decimals, self._formats = dict[str, str](), dict(settings.time_format)
        paths = [settings.label or "label"]
        if isinstance(settings, EventSettings):
            self._decimals = dict(settings.decimal)
            paths += [*(settings.text or ("text",)), *filter(None, [settings.tenant])]
        if not is_of_record(settings.id):
            paths.append(settings.id or "id")
        self._skip = skipping(use for path in paths for use in parse_path(path).uses if use)
        self._max_chars = 1 + max(map(len, (*self._decimals, *self._formats)), default=0)

    @classmethod
    def of(cls, settings: LabelSettings) -> Notation | None:
        """Return the notation of the settings; None if they set no format."""
        decimal = isinstance(settings, EventSettings) and settings.decimal
        return cls(settings) if decimal or settings.time_format else None

    @classmethod
    def reading(cls, settings: LabelSettings, read: Reader) -> Reader:
        """Return a reader whose documents have numbers in place of texts, where the settings specify it."""
        notation = cls.of(settings)
        return read if notation is None else lambda value: notation.document(read(value))

    def document(self, value: object) -> object:
        """Return a document with numbers in place of texts."""
        return self._read(value, self._skip, "", "")

    def value(self, name: str, text: str, path: str = "") -> str | float:
        """Return the number or time of a text in the field of this name or path; else the text."""
        sign = _named(self._decimals, path, name)
        if sign and (number := read_number(text, sign)) is not None:
            return number
        form = _named(self._formats, path, name)
        seconds = read_time(text, form) if form else None
        return text if seconds is None else seconds

    def _read(self, value: Any, skip: Skip, path: str, name: str) -> Any:  # noqa: ANN401 - any document
        if isinstance(value, str):
            return self.value(name, value, path)
        if isinstance(value, list):
            return [self._read(each, skip, path, name) for each in value]
        if not isinstance(value, dict):
            return value
        values = {}
        for key, each in value.items():
            below = skip.get(key, NOTHING)
            start = key[: self._max_chars]  # no setting has a longer path
            inner = f"{path}.{start}"[: self._max_chars] if path else start
            values[key] = each if below is None else self._read(each, below, inner, key)
        return values


def _named(given: Mapping[str, str], path: str, name: str) -> str | None:
    return given.get(path) or given.get(name) or given.get(EVERYTHING)


def read_number(text: str, decimal: str) -> float | None:
    """Return a number with this decimal sign; None if the text is not a finite number.

    >>> [read_number(text, ",") for text in ("9,91", "1.234,50", "-12", "007", "9.91", "abc")]
    [9.91, 1234.5, -12, None, None, None]
    >>> [read_number(text, ",") for text in (" 5 ", "1e5", "-2,5E-1", "1e400")]
    [5, 100000, -0.25, None]
    >>> read_number("1,234.50", ".")
    1234.5
    """
    if not _NUMBERS[decimal].fullmatch(text := text.strip()):
        return None
    number = float(re.sub(rf"[^\d+{decimal}eE-]", "", text).replace(decimal, "."))
    return plain_number(number) if isfinite(number) else None


def plain_number(number: float) -> float:
    """Return whole numbers as integers. NaN and infinity stay: the decoder rejects them."""
    exact = isfinite(number) and number.is_integer() and abs(number) < _MAX_EXACT_INTEGER
    return int(number) if exact else number


def read_time(text: str, form: str) -> float | None:
    """Return a time in a `datetime.strptime` format as seconds since 1970; None if the text does not match.

    Without a zone, it is UTC.

    >>> read_time("01.02.2026 00:01:43", "%d.%m.%Y %H:%M:%S"), read_time("soon", "%d.%m.%Y")
    (1769904103.0, None)
    """
    try:
        time = datetime.strptime(text, form)  # noqa: DTZ007 - with a zone below
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def guess_decimal(texts: Collection[str]) -> str | None:
    """Return the decimal sign with which all texts are numbers; None if they already are, or no sign fits.

    With `1,234` both signs are possible: then it is the point, as numbers with three decimals are rare.

    >>> (
    ...     guess_decimal(["9,91", "10"]),
    ...     guess_decimal(["1,234.50"]),
    ...     guess_decimal(["3DS"]),
    ...     guess_decimal(["9.91"]),
    ... )
    (',', '.', None, None)
    """
    fits = [sign for sign in _NUMBERS if all(read_number(text, sign) is not None for text in texts)]
    return next((sign for sign in fits if not all(map(PLAIN_NUMBER.fullmatch, texts))), None)


def guess_time_format(texts: Collection[str]) -> str | None:
    """Return the first common time format that all texts have; None if there is none.

    >>> (
    ...     guess_time_format(["01.02.2026 00:01:43"]),
    ...     guess_time_format(["12/31/2026"]),
    ...     guess_time_format(["3DS"]),
    ... )
    ('%d.%m.%Y %H:%M:%S', '%m/%d/%Y', None)
    """
    if not all(map(_LIKE_TIME.match, texts)):
        return None
    return next(
        (form for form in _TIME_FORMATS if all(read_time(text, form) is not None for text in texts)), None
    )


_FEW_NUMBERS: Final = 3
_MAX_LOOKED_AT: Final = 20
"""How many texts of a feature are checked for numbers and times."""
_MAX_FEATURES: Final = 1000


class DataWarnings:
    """Warns once per feature of texts that are numbers or times, and of words among numbers.

    Parameters
    ----------
    warn
        Called with the name, a description of the texts, and a hint: none contains a text, as logs may
        have none.

    """

    def __init__(self, warn: Callable[[str, str, str], None]) -> None:
        self._warn = warn
        self._counts: dict[tuple[str, bool], int] = {}
        """Number of checked values by feature, and whether they are texts; up to a few."""

    def note(self, name: str, value: object) -> None:
        """Check the value of a feature."""
        is_text = isinstance(value, str)
        most = _MAX_LOOKED_AT if is_text else _FEW_NUMBERS
        count = self._counts.get((name, is_text), 0 if len(self._counts) < _MAX_FEATURES else most)
        if count < most:
            self._counts[name, is_text] = count + 1
            warning, hint = self._warning(name, value) if isinstance(value, str) else ("", "")
            if warning:
                self._counts[name, True] = most
                self._warn(name, warning, hint)

    def _warning(self, name: str, text: str) -> tuple[str, str]:
        """Return what is suspicious about a text, and a hint; two empty texts if it is not."""
        option, is_among = shlex.quote(name), self._counts.get((name, False), 0) >= _FEW_NUMBERS
        if text[:1].isdigit() or text[:1] in "+-":
            is_plain = (is_among or "." in text) and PLAIN_NUMBER.fullmatch(text)  # else it may be a code
            if sign := "." if is_plain else guess_decimal([text]):
                how = f"events.decimal, such as --events-decimal {option}={sign}"
                return "numbers as strings", f"read them as numbers: {how}"
            if form := guess_time_format([text]):
                how = f"events.time_format, such as --events-time-format {option}={shlex.quote(form)}"
                return "times as strings", f"read them as times: {how}"
        if is_among:
            return "strings among its numbers", "if it means that there is none, list it in events.missing"
        return "", ""
