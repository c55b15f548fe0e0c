"""Extract features by name from documents of objects, lists and scalars.

Nested objects make names with dots, `a.b`. Below a list every scalar is a category, `tags=x`, however deep
it is there: its place in the list would be of no use to a linear model. Null is no feature. The places that
other settings use are a tree: they are no features of an object that is taken whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any, Final, NamedTuple

from service.messages.features import VectorNames
from service.messages.paths import Find, Keys, find_at
from service.messages.rejection import Reason, Rejection
from service.settings.mapping import feature_path

Skip = Mapping[str, Any]
"""Names that are skipped: each with those to skip below it, or with None where that is all of it."""

NOTHING: Final[Skip] = {}


def skipping(places: Iterable[Keys], below: Keys = ()) -> Skip:
    """Return the tree of those places that lie below one.

    >>> skipping([("id",), ("card", "number"), ("card",), ("order", "id")])
    {'id': None, 'card': None, 'order': {'id': None}}
    >>> skipping([("id",), ("order", "id")], below=("order",))
    {'id': None}
    """
    tree: dict[str, Any] = {}
    for place in sorted(places, key=len):
        if len(place) > len(below) and place[: len(below)] == below:
            _plant(tree, place[len(below) :])
    return tree


def _plant(tree: dict[str, Any], keys: Keys) -> None:
    *outer, last = keys
    for key in outer:
        inner = tree.setdefault(key, {})
        if inner is None:
            return  # all of it is skipped
        tree = inner
    tree[last] = None


def first_other(document: object, known: Skip) -> str:
    """Return the path of the first field of a document that is not in a tree; empty if there is none.

    >>> first_other({"id": 7, "order": {"total": 9, "color": "red"}}, {"id": None, "order": {"total": None}})
    'order.color'
    """
    if isinstance(document, list):
        return next(filter(None, (first_other(each, known) for each in document)), "")
    if not isinstance(document, dict):
        return ""
    for key, value in document.items():
        below = known.get(key, NOTHING)
        if below is None:
            continue
        if key not in known:
            return str(key)
        if inner := first_other(value, below):
            return f"{key}.{inner}"
    return ""


Missing = frozenset[float | str]

_SCALARS: Final = frozenset({float, int, str, bool})
_log = logging.getLogger(__name__)


class Features:
    """The features of one event, collected value by value.

    Parameters
    ----------
    max_name_chars
        Most characters of the names that nested values make. Each name carries those of all objects around
        it: without a limit, they would take the square of the message's length.
    missing
        Values that make no features.

    """

    __slots__ = ("_max_name_chars", "_missing", "found", "name_chars")

    def __init__(self, max_name_chars: int, missing: Missing = frozenset()) -> None:
        self.found: dict[str, Any] = {}
        self.name_chars = 0
        self._max_name_chars = max_name_chars
        self._missing = missing

    def add(self, value: object, name: str, prefix: str, skip: Skip) -> None:
        """Add the features of a value: one of this name, those of an object, or categories.

        Raises
        ------
        Rejection
            Two fields make one feature, or names are too long.

        """
        if isinstance(value, dict):
            self._add_fields(value, prefix, skip)
        elif isinstance(value, list):
            self._add_categories(value, name, skip)
        elif value is not None:
            self._put(name, value)

    def takes_array(self, names: VectorNames, numbers: Sequence[float]) -> bool:
        """Count the names of a vector, and return True, if its numbers, none NaN, are features as such."""
        is_there = not self._missing or self._missing.isdisjoint(numbers)
        is_array = is_there and names.are_new(self.found)
        if is_array and names.names:
            self._count_chars(len(names.names) * len(names.names[-1]), names.names[0])
        return is_array

    def add_numbers(self, names: VectorNames, values: Sequence[float]) -> None:
        """Add a feature for each number. Raises `Rejection`."""
        if not self._missing and self.takes_array(names, values):
            self.found.update(zip(names.names, values, strict=True))
        else:
            for name, value in zip(names.names, values, strict=True):
                self.add(value, name, "", NOTHING)

    def is_missing(self, value: object) -> bool:
        """Return whether a scalar means that there is none; NaN does where its name does."""
        if type(value) is float and value != value:  # noqa: PLR0124 - NaN alone
            return "NaN" in self._missing
        is_scalar = isinstance(value, (int, float, str)) and type(value) is not bool
        return is_scalar and value in self._missing

    def _add_fields(self, fields: Mapping[str, Any], prefix: str, skip: Skip) -> None:
        for key, value in fields.items():
            below = skip.get(key, NOTHING)
            if below is not None:
                name = prefix + key
                self.add(value, name, f"{name}.", below)

    def _add_categories(self, value: object, name: str, skip: Skip) -> None:
        """Add a category for each scalar below a list."""
        if isinstance(value, list):
            for each in value:
                self._add_categories(each, name, skip)
        elif isinstance(value, dict):
            for key, each in value.items():
                below = skip.get(key, NOTHING)
                if below is not None:
                    self._add_categories(each, f"{name}.{key}", below)
        elif value is not None and not (self._missing and self.is_missing(value)):
            if type(value) is float or type(value) is int:
                _warn_of_numbers(name)
            self._put(f"{name}={written(value, name)}", 1.0)

    def _put(self, name: str, value: object) -> None:
        if self._missing and self.is_missing(value):
            return
        known = self.found.setdefault(name, value)
        if known is not value and known != value:
            raise Rejection(Reason.INVALID_TYPE, f"{name}: two fields of this name have different values")
        self._count_chars(len(name), name)

    def _count_chars(self, count: int, name: str) -> None:
        self.name_chars += count
        if self.name_chars > self._max_name_chars:
            limit = f"more than {self._max_name_chars} characters"
            raise Rejection(Reason.TOO_LARGE, f"{name[:80]}: the names of all features have {limit}")


@lru_cache(maxsize=64)
def _warn_of_numbers(name: str) -> None:
    """Warn, once, of a list of numbers that becomes categories."""
    what = "the numbers of a list become categories, as %s=7"
    _log.warning(f"%s: {what}; events.vectors = [%r] makes numbers of them", name, name, name)


def written(value: object, place: str) -> str:
    """Write a scalar as JSON does, a text without quotes.

    >>> [written(value, "tags") for value in ("red", True, 7, 2.5)]
    ['red', 'true', '7', '2.5']

    Raises
    ------
    Rejection
        It is a number that is not finite; the message names the place.

    """
    if isinstance(value, float) and not isfinite(value):
        raise Rejection(Reason.NOT_FINITE, f"{place}: expected a finite number")
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Source(NamedTuple):
    """Where features come from."""

    find: Find
    name: str
    """Of the value, if it is one feature."""
    prefix: str
    """In front of the names in it, if it is an object."""
    skip: Skip
    """Fields of an object that make no features."""
    path: str
    """In front of the names in an object, in messages."""
    is_object: bool = False
    """Whether it must be one."""
    keys: Keys = ()
    """The names that lead to it, where it may be a single feature."""


class FeatureMap:
    """Makes the features of documents.

    Parameters
    ----------
    entries
        Paths; `*` for the whole document, `a.*` for all below `a`, named from there.
    left_out
        Places that make no features where an object around them is taken.
    max_name_chars, missing
        As of `Features`.

    """

    def __init__(
        self,
        entries: Sequence[str],
        left_out: Collection[Keys],
        max_name_chars: int,
        missing: Missing = frozenset(),
    ) -> None:
        self._max_name_chars = max_name_chars
        self._missing = missing
        self._plain = frozenset[type]() if missing else _SCALARS
        """Types of values that are features as they are."""
        self.entries = entries
        self.uses = frozenset(place for entry in entries for place in _uses(entry))
        """Places that are looked at; the empty one is the whole document."""
        self._sources = [_source(entry, {*left_out, *self.uses}) for entry in entries]
        self._others = [source for source in self._sources if not source.keys]
        self._holders = _by_holder(source for source in self._sources if source.keys)

    def make(self, document: object) -> Features:
        """Make the features of a document. Raises `Rejection` and `PathError`."""
        features = Features(self._max_name_chars, self._missing)
        found, plain = features.found, self._plain
        for find, fields in self._holders:
            holder = find(document)
            if not isinstance(holder, dict):
                continue
            get = holder.get
            for key, name, source in fields:
                value = get(key)
                if type(value) in plain:
                    found[name] = value
                elif value is not None:
                    _add(features, value, source)
        for source in self._others:
            _add(features, source.find(document), source)
        return features

    def finds_anything(self, document: object) -> bool:
        """Return whether any path leads to something, be it an empty object. Raises `PathError`."""
        is_missing = Features(self._max_name_chars, self._missing).is_missing
        return any(_is_something(source.find(document), source.skip, is_missing) for source in self._sources)

    def path_of(self, name: str, document: object) -> str:
        """Return the path in the document that a feature comes from."""
        for source in self._sources:
            features = Features(self._max_name_chars)
            _add(features, source.find(document), source)
            if name in features.found:
                return source.path + name
        return name


def _by_holder(fields: Iterable[_Source]) -> list[tuple[Find, list[tuple[str, str, _Source]]]]:
    """Group fields by the object that holds them, with the function that finds it."""
    holders: dict[Keys, list[tuple[str, str, _Source]]] = {}
    for source in fields:
        *outer, key = source.keys
        holders.setdefault(tuple(outer), []).append((key, source.name, source))
    return [(find_at(keys), found) for keys, found in holders.items()]


def _add(features: Features, value: object, source: _Source) -> None:
    if source.is_object and not isinstance(value, (dict, type(None))):
        raise Rejection(Reason.INVALID_TYPE, f"{source.name} (events.features): expected an object")
    features.add(value, source.name, source.prefix, source.skip)


def _is_something(value: object, skip: Skip, is_missing: Callable[[object], bool]) -> bool:
    """Return whether there is anything in a value besides nulls, missing values and skipped fields."""
    if not isinstance(value, dict) or not value:
        return value is not None and not is_missing(value)
    below = ((each, skip.get(key, NOTHING)) for key, each in value.items())
    return any(_is_something(each, inner, is_missing) for each, inner in below if inner is not None)


def _uses(entry: str) -> Iterable[Keys]:
    path, _ = feature_path(entry)
    return {()} if path is None else path.uses


def _source(entry: str, left_out: Collection[Keys]) -> _Source:
    path, is_object = feature_path(entry)
    if path is None:
        return _Source(find_at(()), entry, "", skipping(left_out), "", is_object=True)
    if path.keys is None:  # an object that an expression has made: its names are chosen there
        return _Source(path.find, entry, "", NOTHING, "")
    name = ".".join(path.keys)
    skip = skipping(left_out, below=path.keys)
    if is_object:
        return _Source(path.find, entry, "", skip, f"{name}.", is_object=True)
    return _Source(path.find, name, f"{name}.", skip, "", keys=path.keys)
