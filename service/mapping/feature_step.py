"""Make the features of an event of another schema: named values, vectors, and the inputs of windows.

In this order: the paths of `events.features`, the lists of numbers of `events.vectors`, the user's function
of `events.hook`, the expressions of `events.derive`, the inputs of windows.

Nested objects make names with dots, `a.b`. Every scalar below a list is a category, `tags=x`, at any depth:
its position in the list would be useless to a linear model. Null makes no feature. Fields that other settings
use form a tree, and are left out of objects that are used as a whole.
"""

from __future__ import annotations

import logging
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.validation import MAX_MAGNITUDE
from service.expressions import NoValue, compile_expression
from service.logs import is_to_warn
from service.mapping.windowed import WindowedFields, written
from service.messages.decoder import WindowInput
from service.messages.features import VectorFeatures, VectorNames, listed_values
from service.messages.paths import Find, Keys, Path, find_at, parse_path
from service.messages.rejection import Reason, Rejection
from service.settings.code import import_code, with_version
from service.settings.mapping import EventSettings, feature_path
from service.stream.protocol import Record

Skip = Mapping[str, Any]
"""Names to skip: each with the names to skip below it, or with None to skip all of it."""

NOTHING: Final[Skip] = {}


def skipping(paths: Iterable[Keys], below: Keys = ()) -> Skip:
    """Return the tree of the locations below a location.

    >>> skipping([("id",), ("card", "number"), ("card",), ("order", "id")])
    {'id': None, 'card': None, 'order': {'id': None}}
    >>> skipping([("id",), ("order", "id")], below=("order",))
    {'id': None}
    """
    tree: dict[str, Any] = {}
    for keys in sorted(paths, key=len):
        if len(keys) > len(below) and keys[: len(below)] == below:
            _insert(tree, keys[len(below) :])
    return tree


def _insert(tree: dict[str, Any], keys: Keys) -> None:
    *outer, last = keys
    for key in outer:
        inner = tree.setdefault(key, {})
        if inner is None:
            return  # the whole object is skipped
        tree = inner
    tree[last] = None


def first_other(document: object, known: Skip) -> str:
    """Return the path of a document's first field that is not in a tree; empty if there is none.

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
        Largest total length of the names of nested values. Each name contains those of all enclosing objects:
        without a limit, they could take the square of the message's length.
    missing
        Values that stand for a missing value.

    """

    __slots__ = ("_max_name_chars", "_missing", "name_chars", "values")

    def __init__(self, max_name_chars: int, missing: Missing = frozenset()) -> None:
        self.values: dict[str, Any] = {}
        self.name_chars = 0
        self._max_name_chars = max_name_chars
        self._missing = missing

    def add(self, value: object, name: str, prefix: str, skip: Skip) -> None:
        """Add the features of a value: one feature, a feature for each field of an object, or categories.

        Raises
        ------
        Rejection
            Two fields make the same feature, or names are too long.

        """
        if isinstance(value, dict):
            self._add_fields(value, prefix, skip)
        elif isinstance(value, list):
            self._add_categories(value, name, skip)
        elif value is not None:
            self._put(name, value)

    def count_array(self, names: VectorNames, numbers: Sequence[float]) -> bool:
        """Count the names of a vector whose numbers all are features, unchanged; return whether it is one."""
        is_there = not self._missing or self._missing.isdisjoint(numbers)
        is_array = is_there and names.are_new(self.values)
        if is_array and names.names:
            self._count_chars(len(names.names) * len(names.names[-1]), names.names[0])
        return is_array

    def add_numbers(self, names: VectorNames, values: Sequence[float]) -> None:
        """Add a feature for each number. Raises `Rejection`."""
        if not self._missing and self.count_array(names, values):
            self.values.update(zip(names.names, values, strict=True))
        else:
            for name, value in zip(names.names, values, strict=True):
                self.add(value, name, "", NOTHING)

    def is_missing(self, value: object) -> bool:
        """Return whether a scalar stands for a missing value; NaN does if the name NaN does."""
        if type(value) is float and value != value:  # noqa: PLR0124 - NaN alone
            return "NaN" in self._missing
        is_scalar = isinstance(value, (int, float, str)) and type(value) is not bool
        return is_scalar and value in self._missing

    def _add_fields(self, fields: Mapping[str, Any], prefix: str, skip: Skip) -> None:
        for key, value in fields.items():
            below = skip.get(key, NOTHING)
            if below is not None and value is not None:
                name = prefix + key
                if isinstance(value, (dict, list)):
                    self._count_chars(len(name), name)
                self.add(value, name, f"{name}.", below)

    def _add_categories(self, value: object, name: str, skip: Skip, among: str = "") -> None:
        """Add a category for each scalar below a list; `among` is the list of the enclosing objects."""
        if isinstance(value, list):
            for each in value:
                self._add_categories(each, name, skip, among)
        elif isinstance(value, dict):
            for key, each in value.items():
                below = skip.get(key, NOTHING)
                if below is not None and each is not None:
                    self._count_chars(len(name), name)
                    self._add_categories(each, f"{name}.{key}", below, among or name)
        elif value is not None and not (self._missing and self.is_missing(value)):
            if type(value) is float or type(value) is int:
                _warn_of_numbers(name, among)
            self._put(f"{name}={written(value, name)}", 1.0)

    def _put(self, name: str, value: object) -> None:
        self._count_chars(len(name), name)
        if self._missing and self.is_missing(value):
            return
        known = self.values.setdefault(name, value)
        if known is not value and known != value:
            raise Rejection(Reason.INVALID_TYPE, f"{name}: two fields have this name and different values")

    def _count_chars(self, count: int, name: str) -> None:
        self.name_chars += count
        if self.name_chars > self._max_name_chars:
            limit = f"more than {self._max_name_chars} characters"
            raise Rejection(Reason.TOO_LARGE, f"{name[:80]}: the feature names of one event have {limit}")


def _warn_of_numbers(name: str, among: str) -> None:
    """Warn of numbers in a list, or in a list's objects, that become categories."""
    if not is_to_warn(name):
        return
    what = f"numbers of a list become categories such as {name}=7"
    instead = f"events.vectors = [{name!r}] keeps them as numbers"
    if among:
        added_up = f"sum({among}[]{name.removeprefix(among)})"
        instead = f"events.exclude = [{name!r}] excludes them, the feature {added_up} sums them"
    _log.warning("%s: %s; %s", name, what, instead)


class _Source(NamedTuple):
    """The source of features in a document."""

    find: Find
    name: str
    """Name of the feature if the value is a scalar."""
    prefix: str
    """Prefix of the names if the value is an object."""
    skip: Skip
    """Fields of the object to skip."""
    path: str
    """Prefix of the names of an object's fields in messages."""
    is_object: bool = False
    """Whether the value must be an object."""
    keys: Keys = ()
    """The names that lead to the value, if it may be a single feature."""


class FeatureMap:
    """Makes the features of documents.

    Parameters
    ----------
    entries
        Paths; `*` for the whole document, `a.*` for all fields below `a`, with names relative to it.
    left_out
        Locations to skip in enclosing objects.
    max_name_chars, missing
        As in `Features`.

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
        """Types of values that are features without conversion."""
        self.entries = entries
        self.uses = frozenset(keys for entry in entries for keys in _uses(entry))
        """The locations that are read; the empty one is the whole document."""
        below: defaultdict[Keys, list[Keys]] = defaultdict(list)
        for keys in {*left_out, *self.uses}:
            for n in range(len(keys)):
                below[keys[:n]].append(keys)
        self._sources = [_source(entry, below) for entry in entries]
        self._others = [source for source in self._sources if not source.keys]
        self._holders = _by_holder(source for source in self._sources if source.keys)

    def make(self, document: object) -> Features:
        """Return the features of a document. Raises `Rejection` and `PathError`."""
        features = Features(self._max_name_chars, self._missing)
        values, plain = features.values, self._plain
        for find, fields in self._holders:
            holder = find(document)
            if not isinstance(holder, dict):
                continue
            get = holder.get
            for key, name, source in fields:
                value = get(key)
                if type(value) in plain:
                    values[name] = value
                elif value is not None:
                    _add(features, value, source)
        for source in self._others:
            _add(features, source.find(document), source)
        return features

    def finds_anything(self, document: object) -> bool:
        """Return whether any path has a value, even an empty object. Raises `PathError`."""
        is_missing = Features(self._max_name_chars, self._missing).is_missing
        return any(_is_something(source.find(document), source.skip, is_missing) for source in self._sources)

    def path_of(self, name: str, document: object) -> str:
        """Return the path of a feature's field in the document."""
        for source in self._sources:
            features = Features(self._max_name_chars)
            _add(features, source.find(document), source)
            if name in features.values:
                return source.path + name
        return name


def _by_holder(fields: Iterable[_Source]) -> list[tuple[Find, list[tuple[str, str, _Source]]]]:
    """Group fields by their enclosing object, with the function that finds the object."""
    holders: dict[Keys, list[tuple[str, str, _Source]]] = {}
    for source in fields:
        *outer, key = source.keys
        holders.setdefault(tuple(outer), []).append((key, source.name, source))
    return [(find_at(keys), paths) for keys, paths in holders.items()]


def _add(features: Features, value: object, source: _Source) -> None:
    if source.is_object and not isinstance(value, (dict, type(None))):
        raise Rejection(Reason.INVALID_TYPE, f"{source.name} (events.features): expected an object")
    features.add(value, source.name, source.prefix, source.skip)


def _is_something(value: object, skip: Skip, is_missing: Callable[[object], bool]) -> bool:
    """Return whether a value contains more than nulls, missing values and skipped fields."""
    if not isinstance(value, dict) or not value:
        return value is not None and not is_missing(value)
    below = ((each, skip.get(key, NOTHING)) for key, each in value.items())
    return any(_is_something(each, inner, is_missing) for each, inner in below if inner is not None)


def _uses(entry: str) -> Iterable[Keys]:
    path, _ = feature_path(entry)
    return {()} if path is None else path.uses


def _source(entry: str, left_out: Mapping[Keys, Collection[Keys]]) -> _Source:
    """Return the source of an entry's features, given the locations to skip by the object they lie in."""
    path, is_object = feature_path(entry)
    if path is None:
        skip = skipping(left_out.get((), ()))
        return _Source(find_at(()), entry, "", skip, "", is_object=True)
    if path.keys is None:  # an object made by an expression, which also chooses its names
        return _Source(path.find, entry, "", NOTHING, "")
    name = ".".join(path.keys)
    skip = skipping(left_out.get(path.keys, ()), below=path.keys)
    if is_object:
        return _Source(path.find, entry, "", skip, f"{name}.", is_object=True)
    return _Source(path.find, name, f"{name}.", skip, "", keys=path.keys)


class MadeFeatures(NamedTuple):
    """The features made from an event's document."""

    features: Features
    vectors: VectorFeatures | None
    """The vectors that follow the features, if they need no check."""
    text: str | None
    """The text returned by a hook, if any."""


class FeatureStep:
    """Makes the features of events, according to the settings.

    Parameters
    ----------
    settings
        The settings `events`.
    others
        Locations used by other settings, which are skipped in enclosing objects.
    max_name_chars
        Largest total length of the names of an event's nested features.

    """

    def __init__(self, settings: EventSettings, others: Collection[Keys], max_name_chars: int) -> None:
        missing = frozenset(settings.missing)
        paths = [parse_path(path) for path in settings.vectors]
        self.vectors = Vectors(paths) if paths else None
        """The lengths of vectors: part of the state of the partition whose records are read."""
        self._packs = not (settings.hook or settings.derive)  # these may read the numbers or replace them
        excluded = {keys for path in settings.exclude if (keys := parse_path(path).keys)}
        used = {*others, *excluded, *(keys for path in paths for keys in path.uses)}
        entries = settings.features or (() if settings.format == "text" else ("features.*",))
        self._map = FeatureMap(entries, used, max_name_chars, missing)
        self._hook = Hook(settings.hook) if settings.hook else None
        self._derived = Derived(settings.derive, missing) if settings.derive else None
        derived = [name for name, _ in settings.derive]
        is_missing = Features(0, missing).is_missing if missing else None
        windows = settings.windows
        self._windows = WindowedFields(windows, derived, is_missing) if windows else None
        made = (self._map, self._derived, self._windows)
        self.uses = frozenset(used).union(*(each.uses for each in made if each is not None))
        """The locations that are read."""
        self.entries = entries
        self.path_of = self._map.path_of

    def make(self, document: object) -> MadeFeatures:
        """Return the features of an event. Raises `Rejection` and `PathError`."""
        features, packed = self._map.make(document), None
        if self.vectors is not None:
            packed = self.vectors.pack(features, document) if self._packs else None
            if packed is None:
                self.vectors.add(features, document)
        text = None if self._hook is None else self._hook.add(features, document)
        if self._derived is not None:
            self._derived.add(features, document)
        return MadeFeatures(features, packed, text)

    def windowed(
        self, features: Features, document: object, record: Record | None
    ) -> tuple[WindowInput, ...] | None:
        """Return the inputs of each window; None without windows. Raises `Rejection` and `PathError`."""
        return self._windows.read(features.values, document, record) if self._windows else None

    def is_empty(self, document: object) -> bool:
        """Return whether a document has no value for any feature. Raises `PathError`."""
        return self._hook is None and not self._map.finds_anything(document)


class Vectors:
    """The vectors of events.

    Parameters
    ----------
    paths
        The paths of the vectors.

    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._are_distinct = len({path.expression for path in paths}) == len(paths)
        self._names: dict[str, VectorNames] = {}
        """Number of values by path."""
        self._several: tuple[list[VectorNames], VectorNames] = ([], VectorNames(()))
        """Names of each of an event's vectors, and of all together."""
        self._lengths: dict[str, int] = {}
        self._new: dict[str, int] = {}
        """Lengths in an event that is not accepted yet."""

    def add(self, features: Features, document: object) -> None:
        """Add the vectors of a document as features. Raises `Rejection` and `PathError`."""
        self._new = {}
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                self._add(features, self._names_of(path.expression, values), values)

    def pack(self, features: Features, document: object) -> VectorFeatures | None:
        """Return the features followed by the vectors of a document in arrays.

        None if `add` must handle them: values are missing or not numbers, or two features have the same name.
        Raises as `add` does.
        """
        self._new, name_chars = {}, features.name_chars
        names, vectors = [], []
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                names.append(self._names_of(path.expression, values))
                vector = listed_values(names[-1].names, values) if self._are_distinct else None
                if vector is None or not features.count_array(names[-1], values):
                    features.name_chars = name_chars
                    return None
                vectors.append(vector)
        if not any(vectors):
            return None
        return VectorFeatures(features.values, self._concatenated(names), tuple(vectors))

    def _concatenated(self, names: list[VectorNames]) -> VectorNames:
        if len(names) == 1:
            return names[0]
        if self._several[0] != names:
            self._several = names, VectorNames(name for each in names for name in each.names)
        return self._several[1]

    def _names_of(self, path: str, values: object) -> VectorNames:
        """Return the names of a list's numbers. Raises `Rejection` unless it is a list of known length."""
        if not isinstance(values, list):
            raise Rejection(Reason.INVALID_TYPE, f"{path} (events.vectors): expected a list of numbers")
        count = len(values)
        length = self._lengths.get(path)
        if length is None:
            self._new[path] = length = count
        if count != length:
            message = f"{path} (events.vectors): expected {length} numbers as in the first list, got {count}"
            raise Rejection(Reason.INVALID_TYPE, message)
        names = self._names.get(path)
        if names is None or len(names.names) != count:
            names = self._names[path] = VectorNames(f"{path}[{n}]" for n in range(count))
        return names

    def _add(self, features: Features, names: VectorNames, values: list[Any]) -> None:
        try:
            sum(values)
        except (TypeError, OverflowError):  # OverflowError: an integer too large for a double
            self._add_some(features, dict(zip(names.names, values, strict=True)))
        else:
            features.add_numbers(names, values)

    @staticmethod
    def _add_some(features: Features, values: Mapping[str, Any]) -> None:
        """Add the numbers of a list with missing values."""
        for name, value in values.items():
            if not (isinstance(value, (int, float, type(None))) or features.is_missing(value)):
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.vectors): expected a number")
            features.add(value, name, "", {})

    def accept(self) -> None:
        """Keep the lengths of the last event, which was accepted."""
        if self._new:
            self._lengths |= self._new

    def follow(self, stream: Vectors) -> None:
        """Share the lengths of a stream's events, present and future."""
        self._lengths = stream._lengths

    def state(self) -> dict[str, int]:
        """Return the lengths of the vectors by path."""
        return dict(self._lengths)

    def restore(self, state: Mapping[str, int] | None) -> None:
        """Restore a state; None is from a snapshot without vectors."""
        self._lengths = dict(state or {})


class Derived:
    """The derived features, in order.

    Parameters
    ----------
    expressions
        Names and expressions.
    missing
        Values that stand for a missing value.

    """

    def __init__(self, expressions: Sequence[tuple[str, str]], missing: Missing) -> None:
        is_missing = Features(0, missing).is_missing if missing else lambda _: False
        made, earlier = [], set[str]()
        for name, text in expressions:
            made.append((name, compile_expression(text, earlier, is_missing)))
            earlier.add(name)
        self.uses = frozenset(keys for _, each in made for keys in each.uses)
        self._made = [(name, each.evaluate) for name, each in made]

    def add(self, features: Features, document: object) -> None:
        """Add the derived features; one with the name of another feature replaces it. Raises `Rejection`."""
        values = features.values
        for name, evaluate in self._made:
            try:
                value = evaluate(values, document)
                if not isinstance(value, (str, list, dict)):
                    value = value if -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE else None
            except (NoValue, ArithmeticError):
                value = None
            except (TypeError, ValueError) as error:
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.derive): {error}") from None
            if value is None or isinstance(value, (list, dict)):
                values.pop(name, None)
                features.add(value, name, f"{name}.", NOTHING)
            else:
                values[name] = value


_RESULT = "expected a dictionary of features, or a tuple of it and a text"


class Hook:
    """A function from a record to features, or to features and a text.

    Parameters
    ----------
    setting
        The function, optionally with its version.

    Raises
    ------
    ConfigurationError
        The function cannot be imported, or has another version.

    """

    def __init__(self, setting: str) -> None:
        self.reference = with_version(setting).partition(" ")[0]
        self._call = import_code("events.hook", self.reference, "")

    def add(self, features: Features, document: object) -> str | None:
        """Add the features of a record, and return its text, if any.

        Raises `Rejection` if the function raises or returns another type.
        """
        try:
            result = self._call(document)
        except MemoryError:  # not the fault of the record
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
            where = traceback.extract_tb(error.__traceback__)[-1]
            location = f"{where.filename.rpartition('/')[2]}:{where.lineno}, in {where.name}"
            raise self._rejection(f"{type(error).__name__}: {error} ({location})") from None
        made, text = result if isinstance(result, tuple) and len(result) == 2 else (result, None)  # noqa: PLR2004
        if not isinstance(made, Mapping) or not isinstance(text, (str, type(None))):
            raise self._rejection(f"{_RESULT}, not {type(result).__name__}")
        for name, value in made.items():
            if not isinstance(name, str):
                raise self._rejection(f"expected a string as feature name, got {name!r:.50}")
            features.values.pop(name, None)
            try:
                features.add(value, name, f"{name}.", NOTHING)
            except RecursionError:
                raise self._rejection("the result is nested too deeply") from None
        return text

    def _rejection(self, what: str) -> Rejection:
        return Rejection(Reason.HOOK_ERROR, f"{self.reference} (events.hook): {what}")
