"""Settings of windows by key: what is counted of earlier events of the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field, field_validator

from service.messages.paths import parse_path
from service.settings.declaration import Table
from service.settings.forms import Names

EVENT, LABEL = "@event", "@label"
"""Stand in `of` for the events themselves, and for their labels."""
SINCE: Final = "seconds_since_last"
"""The aggregate that has no span."""
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
_MOST_SPANS: Final = 8
_MOST_FEATURES: Final = 256


def check_path(path: str) -> str:
    """Return a path. Raises `PathError`."""
    parse_path(path)
    return path


def span_ms(span: str) -> int:
    """Return the milliseconds of a span.

    >>> span_ms("90s"), span_ms("1d")
    (90000, 86400000)
    """
    found = _SPAN.fullmatch(span)
    if found is None or (length := int(found[1]) * _UNITS_MS[found[2]]) > _LONGEST_MS:
        wanted = "a number and s, m, h, d or w, such as 10m; 3660d at most"
        raise ValueError(f"{span!r} is not a span: expected {wanted}")
    return length


class WindowSettings(Table):
    """A window by key."""

    by: Annotated[str, AfterValidator(check_path)] = Field(min_length=1)
    """Where the key is: a path, or the name of a derived feature."""
    over: Names = Field(min_length=1, max_length=_MOST_SPANS)
    """Spans of event time, such as `10m`."""
    of: Mapping[str, Names] = Field(min_length=1)
    """What is aggregated, each with its aggregates: paths, names of derived features, `@event`, `@label`."""
    max_keys: int = Field(100_000, ge=1, le=10_000_000)

    @field_validator("over")
    @classmethod
    def _check_spans(cls, spans: tuple[str, ...]) -> tuple[str, ...]:
        lengths: dict[int, str] = {}
        for span in spans:
            if (other := lengths.setdefault(span_ms(span), span)) is not span:
                raise ValueError(f"{other!r} and {span!r} are the same span")
        return spans

    @field_validator("of")
    @classmethod
    def _check_aggregates(cls, of: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        for what, names in of.items():
            known = {EVENT: _OF_EVENT, LABEL: _OF_LABEL}.get(what, _OF_FIELD)
            if what.startswith("@") and known is _OF_FIELD:
                raise ValueError(f"there is no {what}; there are {EVENT}, {LABEL} and paths")
            if known is _OF_FIELD:
                check_path(what)
            if unknown := {*names} - {*known}:
                raise ValueError(f"{what}: no aggregate {min(unknown)!r}; there are {', '.join(known)}")
            if not names or len({*names}) < len(names):
                raise ValueError(f"{what}: expected names of aggregates, each once: {', '.join(known)}")
        return of

    def numbers(self) -> list[str]:
        """List what is counted, added up and so on: all but what is only told apart."""
        return [
            what for what, names in self.of.items() if what not in {EVENT, LABEL} and {*names} != {"distinct"}
        ]

    def hashed(self) -> list[str]:
        """List that of which different values are counted."""
        return [what for what, names in self.of.items() if "distinct" in names]

    def feature_name(self, what: str, aggregate: str, span: str) -> str:
        """Return the name of a feature."""
        parts = (what.removeprefix("@"), aggregate, *(() if aggregate == SINCE else (span,)), "by", self.by)
        return "_".join(parts)

    def feature_names(self) -> Iterator[str]:
        """Yield the names of all features."""
        for what, aggregates in self.of.items():
            for aggregate in aggregates:
                for span in self.over[:1] if aggregate == SINCE else self.over:
                    yield self.feature_name(what, aggregate, span)


def check_windows(windows: tuple[WindowSettings, ...]) -> tuple[WindowSettings, ...]:
    """Return windows whose features are not too many, each made once. Raises ValueError."""
    names = [name for window in windows for name in window.feature_names()]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise ValueError(f"{twice!r} is made twice")
    if len(names) > _MOST_FEATURES:
        raise ValueError(f"{len(names)} features are made; {_MOST_FEATURES} at most")
    return windows
