"""Make what an event of another schema is judged by: named values, vectors, and what windows count of it.

In this order: the paths of `events.features`, the lists of numbers of `events.vectors`, the function of the
user's own that `events.hook` names, the expressions of `events.derive`, the inputs of windows.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from perceptron_core.validation import MAX_MAGNITUDE
from service.expressions.compiler import compile_expression
from service.expressions.functions import NoValue
from service.mapping.features import NOTHING, FeatureMap, Features, Missing
from service.mapping.windowed import WindowedFields
from service.messages.decoder import WindowInput
from service.messages.features import VectorFeatures, VectorNames, listed_values
from service.messages.paths import Keys, Path, parse_path
from service.messages.rejection import Reason, Rejection
from service.settings.code import import_code, with_version
from service.settings.mapping import EventSettings
from service.stream.protocol import Record


class MadeFeatures(NamedTuple):
    """What a step has made of an event's document."""

    features: Features
    vectors: VectorFeatures | None
    """The vectors behind those features, where they need no check."""
    text: str | None
    """The text that a hook returns; None if it returns none."""


class FeatureStep:
    """Makes the features of events as the settings say.

    Parameters
    ----------
    settings
        Of the events.
    others
        Places that are no features where an object around them is taken.
    max_name_chars
        Most characters of the names that nested features of an event make, together.

    """

    def __init__(self, settings: EventSettings, others: Collection[Keys], max_name_chars: int) -> None:
        missing = frozenset(settings.missing)
        paths = [parse_path(path) for path in settings.vectors]
        self.vectors = Vectors(paths) if paths else None
        """How long vectors are: a part of the state of the partition whose records are read."""
        self._packs = not (settings.hook or settings.derive)  # which may look at the numbers, or replace them
        excluded = {keys for path in settings.exclude if (keys := parse_path(path).keys)}
        used = {*others, *excluded, *(place for path in paths for place in path.uses)}
        entries = settings.features or (() if settings.format == "text" else ("features.*",))
        self._map = FeatureMap(entries, used, max_name_chars, missing)
        self._hook = Hook(settings.hook) if settings.hook else None
        self._derived = Derived(settings.derive, missing) if settings.derive else None
        derived = [name for name, _ in settings.derive]
        self._windows = WindowedFields(settings.windows, derived, missing) if settings.windows else None
        made = (self._map, self._derived, self._windows)
        self.uses = frozenset(used).union(*(each.uses for each in made if each is not None))
        """Places that are looked at."""
        self.entries = entries
        self.path_of = self._map.path_of

    def make(self, document: object) -> MadeFeatures:
        """Make the features of an event. Raises `Rejection` and `PathError`."""
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
        """Return what each window counts; None without windows. Raises `Rejection` and `PathError`."""
        return self._windows.read(features.found, document, record) if self._windows else None

    def is_empty(self, document: object) -> bool:
        """Return whether a document has nothing that could become a feature. Raises `PathError`."""
        return self._hook is None and not self._map.finds_anything(document)


class Vectors:
    """The vectors of events.

    Parameters
    ----------
    paths
        Where they are.

    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._are_distinct = len({path.expression for path in paths}) == len(paths)
        self._names: dict[str, VectorNames] = {}
        """By path."""
        self._several: tuple[list[VectorNames], VectorNames] = ([], VectorNames(()))
        """Names of an event's vectors, and all of them together."""
        self._lengths: dict[str, int] = {}
        self._new: dict[str, int] = {}
        """Lengths of an event that is not accepted yet."""

    def add(self, features: Features, document: object) -> None:
        """Add the features of a document. Raises `Rejection`, and `PathError`."""
        self._new = {}
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                self._add(features, self._names_of(path.expression, values), values)

    def pack(self, features: Features, document: object) -> VectorFeatures | None:
        """Return the vectors of a document as arrays, which stand behind the features that it is given.

        None where `add` has to judge: values are missing, or are no numbers, or two features are alike.
        Raises as `add` does.
        """
        self._new, name_chars = {}, features.name_chars
        names, vectors = [], []
        for path in self._paths:
            values = path.find(document)
            if values is not None:
                names.append(self._names_of(path.expression, values))
                vector = listed_values(names[-1].names, values) if self._are_distinct else None
                if vector is None or not features.takes_array(names[-1], values):
                    features.name_chars = name_chars
                    return None
                vectors.append(vector)
        return VectorFeatures(features.found, self._together(names), tuple(vectors)) if any(vectors) else None

    def _together(self, names: list[VectorNames]) -> VectorNames:
        if len(names) == 1:
            return names[0]
        if self._several[0] != names:
            self._several = names, VectorNames(name for each in names for name in each.names)
        return self._several[1]

    def _names_of(self, path: str, values: object) -> VectorNames:
        """Return the names of a list's numbers. Raises `Rejection` if it is none, or of another length."""
        if not isinstance(values, list):
            raise Rejection(Reason.INVALID_TYPE, f"{path} (events.vectors): expected a list of numbers")
        count = len(values)
        length = self._lengths.get(path)
        if length is None:
            self._new[path] = length = count
        if count != length:
            message = f"{path} (events.vectors): {count} numbers, the first list had {length}"
            raise Rejection(Reason.INVALID_TYPE, message)
        names = self._names.get(path)
        if names is None or len(names.names) != count:
            names = self._names[path] = VectorNames(f"{path}[{n}]" for n in range(count))
        return names

    def _add(self, features: Features, names: VectorNames, values: list[Any]) -> None:
        try:
            sum(values)
        except (TypeError, OverflowError):  # the latter of an integer beyond every double
            self._add_some(features, dict(zip(names.names, values, strict=True)))
        else:
            features.add_numbers(names, values)

    @staticmethod
    def _add_some(features: Features, values: Mapping[str, Any]) -> None:
        """Add the numbers of a list in which some are missing."""
        for name, value in values.items():
            if not (isinstance(value, (int, float, type(None))) or features.is_missing(value)):
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.vectors): expected a number")
            features.add(value, name, "", {})

    def accept(self) -> None:
        """Keep the lengths of the event that was added last: it is valid."""
        if self._new:
            self._lengths |= self._new

    def follow(self, stream: Vectors) -> None:
        """Expect the lengths of a stream's events, from now on, and what they come to be."""
        self._lengths = stream._lengths

    def state(self) -> dict[str, int]:
        """Return how many numbers the lists have, by path."""
        return dict(self._lengths)

    def restore(self, state: Mapping[str, int] | None) -> None:
        """Restore what `state` returned; None from a snapshot that was made without vectors."""
        self._lengths = dict(state or {})


class Derived:
    """Derived features, in their order.

    Parameters
    ----------
    expressions
        Names with expressions.
    missing
        Values of fields that mean that there is none.

    """

    def __init__(self, expressions: Sequence[tuple[str, str]], missing: Missing) -> None:
        is_missing = Features(0, missing).is_missing if missing else lambda _: False
        names = [name for name, _ in expressions]
        made = [
            (name, compile_expression(text, names[:n], is_missing))
            for n, (name, text) in enumerate(expressions)
        ]
        self.uses = frozenset(place for _, each in made for place in each.uses)
        self._made = [(name, each.evaluate) for name, each in made]

    def add(self, features: Features, document: object) -> None:
        """Add them; one of a feature's name takes its place. Raises `Rejection`."""
        found = features.found
        for name, evaluate in self._made:
            try:
                value = evaluate(found, document)
                if not isinstance(value, (str, list, dict)):
                    value = value if -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE else None
            except (NoValue, ArithmeticError):
                value = None
            except (TypeError, ValueError) as error:
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.derive): {error}") from None
            if value is None or isinstance(value, (list, dict)):
                found.pop(name, None)
                features.add(value, name, f"{name}.", NOTHING)
            else:
                found[name] = value


_RESULT = "expected a dictionary of features, or a tuple of it and a text"


class Hook:
    """A function from a record to features, or to features and a text.

    Parameters
    ----------
    setting
        Names it, perhaps with its version.

    Raises
    ------
    ConfigurationError
        It cannot be imported, or has another version.

    """

    def __init__(self, setting: str) -> None:
        self.place = with_version(setting).partition(" ")[0]
        self._call = import_code("events.hook", self.place, "")

    def add(self, features: Features, document: object) -> str | None:
        """Add the features of a record, and return its text; None if there is none.

        Raises `Rejection` where the function raises, or returns something else.
        """
        try:
            found = self._call(document)
        except MemoryError:  # no fault of the record
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rpartition('/')[2]}:{where.lineno}, in {where.name}"
            raise self._rejection(f"{type(error).__name__}: {error} ({place})") from None
        made, text = found if isinstance(found, tuple) and len(found) == 2 else (found, None)  # noqa: PLR2004
        if not isinstance(made, Mapping) or not isinstance(text, (str, type(None))):
            raise self._rejection(f"{_RESULT}, not {type(found).__name__}")
        for name, value in made.items():
            if not isinstance(name, str):
                raise self._rejection(f"a feature's name is no text: {name!r:.50}")
            features.found.pop(name, None)
            try:
                features.add(value, name, f"{name}.", NOTHING)
            except RecursionError:
                raise self._rejection("what it returned is nested too deeply") from None
        return text

    def _rejection(self, what: str) -> Rejection:
        return Rejection(Reason.HOOK_ERROR, f"{self.place} (events.hook): {what}")
