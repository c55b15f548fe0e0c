"""Settings of windows by key: what is counted of earlier events of the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from service.messages.paths import PathError, parse_path
from service.settings.declaration import parse_tables

EVENT, LABEL = "@event", "@label"
"""Stand in `of` for the events themselves, and for their labels."""
SINCE: Final = "seconds_since_last"
"""The aggregate that has no span."""
MOST_KEYS: Final = 10_000_000
_OF_EVENT: Final = ("count", SINCE)
_OF_LABEL: Final = ("rate",)
_OF_FIELD: Final = ("count", "sum", "mean", "min", "max", "std", "distinct")
_UNITS_MS: Final[Mapping[str, int]] = {
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
}
_SPAN: Final = re.compile(r"([1-9]\d{0,8})([smhdw])", re.ASCII)
_LONGEST_MS: Final = 10 * 366 * 86_400_000
_MOST_WINDOWS = _MOST_SPANS = 8
_MOST_FEATURES: Final = 256
_NAMES: Final = ("by", "over", "of", "max_keys")


class WindowSettings(NamedTuple):
    """A window by key."""

    by: str
    """Where the key is: a path, or the name of a derived feature."""
    over: tuple[str, ...]
    """Spans of event time, such as `10m`."""
    of: tuple[tuple[str, tuple[str, ...]], ...]
    """What is aggregated, each with its aggregates: paths, names of derived features, `@event`, `@label`."""
    max_keys: int = 100_000

    def numbers(self) -> list[str]:
        """List what is counted, added up and so on: all but what is only told apart."""
        return [what for what, names in self.of if what not in {EVENT, LABEL} and {*names} != {"distinct"}]

    def hashed(self) -> list[str]:
        """List that of which different values are counted."""
        return [what for what, names in self.of if "distinct" in names]

    def feature_name(self, what: str, aggregate: str, span: str) -> str:
        """Return the name of a feature."""
        parts = (what.removeprefix("@"), aggregate, *(() if aggregate == SINCE else (span,)), "by", self.by)
        return "_".join(parts)

    def feature_names(self) -> Iterator[str]:
        """Yield the names of all features."""
        for what, aggregates in self.of:
            for aggregate in aggregates:
                for span in self.over[:1] if aggregate == SINCE else self.over:
                    yield self.feature_name(what, aggregate, span)


def span_ms(span: str) -> int:
    """Return the milliseconds of a span.

    >>> span_ms("90s"), span_ms("1d")
    (90000, 86400000)
    """
    found = _SPAN.fullmatch(span)
    if found is None or (length := int(found[1]) * _UNITS_MS[found[2]]) > _LONGEST_MS:
        wanted = "a number and s, m, h, d or w, such as 10m; 3660d at most"
        raise ValueError(f"{span!r} is no span: expected {wanted}")
    return length


def parse_windows(value: object) -> object:
    """Turn tables into `WindowSettings`.

    >>> parse_windows([{"by": "card", "over": ["1h"], "of": {"amount": "sum"}}])
    (WindowSettings(by='card', over=('1h',), of=(('amount', ('sum',)),), max_keys=100000),)

    Raises
    ------
    ValueError
        A table is no window; the message says which and why.

    """
    wanted = "[[events.windows]] with by, over and of"
    found = parse_tables(value, _window, most=_MOST_WINDOWS, wanted=wanted)
    names = [name for window in found for name in window.feature_names()]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise ValueError(f"{twice!r} is made twice")
    if len(names) > _MOST_FEATURES:
        raise ValueError(f"{len(names)} features are made; {_MOST_FEATURES} at most")
    return tuple(found)


def _window(table: object) -> WindowSettings:
    if isinstance(table, Sequence) and not isinstance(table, str):  # as a snapshot or a model file has it
        table = dict(zip(_NAMES, table, strict=False))
    if not isinstance(table, Mapping):
        raise ValueError("expected a table with by, over and of")  # noqa: TRY004 - as all that is wrong
    if other := next((name for name in table if name not in _NAMES), None):
        raise ValueError(f"{other}: there is no such setting; there are {', '.join(_NAMES)}")
    if missing := next((name for name in _NAMES[:3] if not table.get(name)), None):
        raise ValueError(f"{missing} is missing")
    by = table["by"]
    if not isinstance(by, str):
        raise ValueError("by: expected a path")  # noqa: TRY004
    _check_path("by", by)
    return WindowSettings(by, _spans(table["over"]), _aggregates(table["of"]), _max_keys(table))


def _check_path(name: str, path: str) -> None:
    try:
        parse_path(path)
    except PathError as error:
        raise ValueError(f"{name}: {error}") from None


def _max_keys(table: Mapping[str, object]) -> int:
    most = table.get("max_keys", WindowSettings._field_defaults["max_keys"])
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_KEYS:
        raise ValueError(f"max_keys: expected a whole number from 1 to {MOST_KEYS:,}")
    return most


def _texts(value: object, name: str) -> tuple[str, ...]:
    found = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found) or not found:
        raise ValueError(f"{name}: expected texts, such as {'1h,1d' if name == 'over' else 'sum,mean'}")
    return tuple(found)


def _spans(value: object) -> tuple[str, ...]:
    spans = _texts(value, "over")
    if len(spans) > _MOST_SPANS:
        raise ValueError(f"over: there are {len(spans)} spans; {_MOST_SPANS} at most")
    lengths: dict[int, str] = {}
    for span in spans:
        try:
            length = span_ms(span)
        except ValueError as error:
            raise ValueError(f"over: {error}") from None
        if length in lengths:
            raise ValueError(f"over: {lengths[length]!r} and {span!r} are the same span")
        lengths[length] = span
    return spans


def _aggregates(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = value if isinstance(value, Mapping) else _as_table(value)
    if table is None or not all(isinstance(what, str) for what in table):
        raise ValueError("of: expected a table of paths and aggregates")
    return tuple((what, _aggregates_of(what, given)) for what, given in table.items())


def _as_table(value: object) -> Mapping[Any, object] | None:
    """Return pairs as a table, as a snapshot or a model file has them; None if they are none."""
    try:
        return dict(value)  # type: ignore[call-overload, no-any-return] # or not
    except (TypeError, ValueError):
        return None


def _aggregates_of(what: str, given: object) -> tuple[str, ...]:
    names = _texts(given, f"of.{what}")
    known = {EVENT: _OF_EVENT, LABEL: _OF_LABEL}.get(what, _OF_FIELD)
    if what.startswith("@") and known is _OF_FIELD:
        raise ValueError(f"of: there is no {what}; there are {EVENT}, {LABEL} and paths")
    if known is _OF_FIELD:
        _check_path(f"of.{what}", what)
    for n, name in enumerate(names):
        if name not in known:
            raise ValueError(f"of.{what}: there is no aggregate {name!r}; there are {', '.join(known)}")
        if name in names[:n]:
            raise ValueError(f"of.{what}: {name!r} is named twice")
    return names
