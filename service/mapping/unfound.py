"""Watch which of the places that settings name have nothing in the first records: they may be misspelt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
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

    def warn(self) -> None:
        """Warn of each, once."""
        for named in self._waiting if self._n_events else ():
            _warn(named, self._n_events)
        self._waiting.clear()


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
    paths = {"text": settings.text, "vectors": settings.vectors, "windows": sorted(counted - derived.keys())}
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
