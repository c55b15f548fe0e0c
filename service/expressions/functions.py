"""The functions of expressions: deterministic, without I/O, in time linear in what they are given."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import Any, Final, NamedTuple

from perceptron_core.elementary import log, log1p
from service.messages.paths import event_time_ms

NUMBER, TEXT, TRUTH, ANY = "number", "text", "truth", "any"
"""Kinds of values; what a field has is known only when a record comes."""

_LONGEST_CROSS: Final = 1000
_HOUR_MS: Final = 3_600_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAY_OF_EPOCH: Final = 3
_URL: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#@]*@)?(\[[^\]/]*\]|[^/?#:]*)(?::\d*)?([^?#]*)"
)
_MOST_REMEMBERED: Final = 4096
_LONGEST_REMEMBERED: Final = 256
"""Texts and days that are remembered, and characters of a text."""


class NoValue(Exception):
    """Something that an expression needs is missing: there is no feature."""


class Function(NamedTuple):
    """A function of expressions."""

    call: Callable[..., Any]
    takes: tuple[str, ...]
    """Kinds of its arguments; the last one's may come again if there may be `more`."""
    gives: str
    more: bool = False
    check: Callable[..., Any] = lambda *_: None
    """Raises as `call` does for arguments that no record can make right; those not known yet are None."""


def _number(value: Any) -> float:  # noqa: ANN401 - any value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise NoValue from None
    if not isfinite(number) or (isinstance(value, str) and "_" in value):
        raise NoValue
    return number


def _log(value: float) -> float:
    if value <= 0:
        raise NoValue
    return log(value)


def _log1p(value: float) -> float:
    if value <= -1:
        raise NoValue
    return log1p(value)


def _hour(value: Any) -> int:  # noqa: ANN401
    return event_time_ms(value) // _HOUR_MS % 24


def _weekday(value: Any) -> int:  # noqa: ANN401
    return (event_time_ms(value) // (24 * _HOUR_MS) + _WEEKDAY_OF_EPOCH) % 7


def _day(value: Any) -> int:  # noqa: ANN401
    return _day_of_month(event_time_ms(value) // (24 * _HOUR_MS))


@lru_cache(maxsize=_MOST_REMEMBERED)
def _day_of_month(days: int) -> int:
    return (_EPOCH + timedelta(days=days)).day


def _contains(value: Any, part: Any) -> bool:  # noqa: ANN401
    if isinstance(value, str) and not isinstance(part, str):
        raise TypeError("contains: a text holds texts alone")
    return part in value


def _remembering(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Remember what is found in short texts: to look it up takes a third of the time."""
    remembered = lru_cache(maxsize=_MOST_REMEMBERED)(find)
    return lambda text: (remembered if len(text) <= _LONGEST_REMEMBERED else find)(text)


@_remembering
def _url(text: str) -> tuple[str, str]:
    found = _URL.match(text)
    return (found[1].lower(), found[2]) if found else ("", text.partition("?")[0].partition("#")[0])


def _host(text: str) -> str:
    host: str = _url(text)[0]
    if not host:
        raise NoValue
    return host


@_remembering
def _domain(text: str) -> str:
    """Return what stands behind the @ of a mail address; of a URL, the last two labels of its host."""
    host = _url(text)[0]
    if not host and "@" in text:
        return text.rpartition("@")[2].rstrip("> ").lower()
    return ".".join((host or text.lower()).split(".")[-2:])


def _check_edges(_value: float | None, *edges: float | None) -> None:
    known = [edge for edge in edges if edge is not None]
    if known != sorted(known):
        raise ValueError("bucket: its edges do not ascend")


@lru_cache(maxsize=256)
def _ranges(*edges: float) -> tuple[str, ...]:
    _check_edges(None, *edges)
    shown = [f"{edge:g}" for edge in edges]
    between = (f"{low}..{high}" for low, high in pairwise(shown))
    return (f"<{shown[0]}", *between, f">={shown[-1]}")


def _check_times(*values: Any) -> None:  # noqa: ANN401
    for value in values:
        if value is not None:
            event_time_ms(value)


def _cross(*values: Any) -> str:  # noqa: ANN401
    try:
        crossed = "×".join([value if isinstance(value, str) else f"{value:g}" for value in values])
    except TypeError:
        raise TypeError("cross: expected texts and numbers") from None
    if len(crossed) > _LONGEST_CROSS:
        raise ValueError(f"cross: longer than {_LONGEST_CROSS:,} characters")
    return crossed


FUNCTIONS: Final[Mapping[str, Function]] = {
    "number": Function(_number, (ANY,), NUMBER),
    "log": Function(_log, (NUMBER,), NUMBER),
    "log1p": Function(_log1p, (NUMBER,), NUMBER),
    "abs": Function(abs, (NUMBER,), NUMBER),
    "min": Function(min, (NUMBER, NUMBER), NUMBER, more=True),
    "max": Function(max, (NUMBER, NUMBER), NUMBER, more=True),
    "length": Function(len, (ANY,), NUMBER),
    "lower": Function(str.lower, (TEXT,), TEXT),
    "contains": Function(_contains, (ANY, ANY), TRUTH),
    "hour": Function(_hour, (ANY,), NUMBER),
    "weekday": Function(_weekday, (ANY,), NUMBER),
    "day": Function(_day, (ANY,), NUMBER),
    "seconds_between": Function(
        lambda start, end: (event_time_ms(end) - event_time_ms(start)) / 1000,
        *((ANY, ANY), NUMBER),
        check=_check_times,
    ),
    "domain": Function(_domain, (TEXT,), TEXT),
    "host": Function(_host, (TEXT,), TEXT),
    "path": Function(lambda text: _url(text)[1], (TEXT,), TEXT),
    "bucket": Function(
        lambda value, *edges: _ranges(*edges)[bisect_right(edges, value)],
        *((NUMBER, NUMBER), TEXT),
        more=True,
        check=_check_edges,
    ),
    "cross": Function(_cross, (ANY, ANY), TEXT, more=True),
}
"""By name. Beside them there are `default(x, y)` and `field('name')`, which are no functions of values."""
