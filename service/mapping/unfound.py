"""Watch which of the places that settings name have nothing in the first records: they may be misspelt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from service.messages.paths import PathError, parse_path
from service.settings.mapping import EventSettings, feature_path

_RECORDS: Final = 1000
"""After so many nothing is watched any more."""
_log = logging.getLogger(__name__)
_Find = Callable[[object, Mapping[str, Any]], object]


class Unfound:
    """The paths and derived names that no event had so far.

    Parameters
    ----------
    settings
        Name them.

    """

    def __init__(self, settings: EventSettings) -> None:
        self._waiting = dict(_named(settings))
        self._n_events = 0

    def note(self, document: object, found: Mapping[str, Any]) -> bool:
        """Look at an event and its features; return whether the next one is to be looked at as well."""
        self._n_events += 1
        for named, find in [*self._waiting.items()]:
            with suppress(PathError):  # there is something, though of another type
                if find(document, found) is None:
                    continue
            del self._waiting[named]
        if self._n_events == _RECORDS:
            self.warn()
        return bool(self._waiting)

    def found(self) -> tuple[int, Collection[str]]:
        """Return how many events were looked at, and what none of them had."""
        return self._n_events, self._waiting.keys()

    def warn(self) -> None:
        """Warn of each, once."""
        warn_of_unfound([self.found()])
        self._waiting.clear()


def warn_of_unfound(found: Iterable[tuple[int, Collection[str]]]) -> None:
    """Warn of what no event had, given `Unfound.found` of those of each partition."""
    if seen := [(n_events, waiting) for n_events, waiting in found if n_events]:
        for named in seen[0][1]:
            if all(named in waiting for _, waiting in seen):
                _warn(named, sum(n_events for n_events, _ in seen))


@lru_cache(maxsize=256)
def _warn(named: str, n_events: int) -> None:
    """Warn, once for all partitions."""
    _log.warning("%s: in none of %s records; is it spelled so?", named, f"{n_events:,}")


def _named(settings: EventSettings) -> Iterable[tuple[str, _Find]]:
    derived = dict(settings.derive)
    for entry in settings.features:
        if (path := feature_path(entry)[0]) is not None:
            yield f"events.features: {entry}", _in_document(path.expression)
    counted = {name for each in settings.windows for name in (each.by, *each.numbers(), *each.hashed())}
    paths = {
        "text": settings.text,
        "exclude": settings.exclude,
        "vectors": settings.vectors,
        "windows": sorted(counted - derived.keys()),
    }
    for setting, expressions in paths.items():
        for expression in expressions:
            yield f"events.{setting}: {expression}", _in_document(expression)
    for name in derived:
        yield f"events.derive: {name}", _in_features(name)


def _in_document(expression: str) -> _Find:
    find = parse_path(expression).find
    return lambda document, _: find(document)


def _in_features(name: str) -> _Find:
    return lambda _, found: found.get(name)
