"""Make messages from records of other schemas, according to the settings.

The result is validated like messages of the native schema. A rejection names the path.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from pydantic import ValidationError

from service.formats.topics import Reader
from service.logs import is_to_warn
from service.mapping.feature_step import FeatureStep, Vectors, first_other, skipping
from service.mapping.notation import DataWarnings
from service.mapping.texts import text_of_html
from service.mapping.windowed import written
from service.messages.decoder import Incoming, check_fields, native_message, rejection_of_fields
from service.messages.features import VectorFeatures
from service.messages.labels import LabelValue, TrueLabel, UnknownLabelError, Vocabulary
from service.messages.paths import Find, Keys, Path, PathError, event_time_ms, parse_path
from service.messages.rejection import RECORD_TIME, Reason, Rejection, Skipped
from service.messages.schema import check_input
from service.settings.mapping import (
    HEADER,
    KEY,
    OFFSET,
    EventSettings,
    LabelSettings,
    feature_path,
    is_of_record,
)
from service.stream.protocol import Record

_RECORDS: Final = 1000
"""Events after which mapped fields are no longer watched."""
_RECORDS_OF_TEXTS: Final = 100
"""Events whose texts are checked; of later events, each 64th."""
_log = logging.getLogger(__name__)
_Find = Callable[[object, Mapping[str, Any]], object]


class FieldWatch:
    """The paths and derived features that no event has had yet.

    Parameters
    ----------
    settings
        Provides the paths and derived features.

    """

    def __init__(self, settings: EventSettings) -> None:
        self._waiting = dict(_named(settings))
        self._n_events = 0
        self._data_warnings = DataWarnings(_warn_of_text)

    def note(self, document: object, features: Mapping[str, Any]) -> None:
        """Check an event and its features."""
        self._n_events += 1
        if self._n_events <= _RECORDS_OF_TEXTS or not self._n_events % 64:
            for name, value in features.items():
                self._data_warnings.note(name, value)
        for named, find in [*self._waiting.items()]:
            with suppress(PathError):  # there is a value, of another type
                if find(document, features) is None:
                    continue
            del self._waiting[named]
        if self._n_events == _RECORDS:
            warn_of_missing_fields([self.missing()])
            self._waiting.clear()

    def missing(self) -> tuple[int, Collection[str]]:
        """Return how many events were checked, and the fields that none of them had."""
        return self._n_events, self._waiting.keys()


def warn_of_missing_fields(missing: Iterable[tuple[int, Collection[str]]]) -> None:
    """Warn once of fields that no event had, given `FieldWatch.missing` of each partition."""
    if seen := [(n_events, waiting) for n_events, waiting in missing if n_events]:
        for named in seen[0][1]:
            if all(named in waiting for _, waiting in seen) and is_to_warn(named):
                n_events = f"{sum(n_events for n_events, _ in seen):,}"
                _log.warning("%s: not found in the first %s records: check the spelling", named, n_events)


def _warn_of_text(name: str, what: str, hint: str) -> None:
    """Warn once for all partitions."""
    if is_to_warn(name):
        _log.warning("the feature %r has %s: each string becomes a category; %s", name, what, hint)


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
    if settings.tenant:
        yield f"events.tenant: {settings.tenant}", _in_document(settings.tenant)
    for expression in settings.exclude:
        yield f"events.exclude: {expression}", _in_lists(parse_path(expression).keys or ())
    for name in derived:
        yield f"events.derive: {name}", _in_features(name)


def _in_document(expression: str) -> _Find:
    """Return a function that finds a value; it warns of a plain path that crosses a list."""
    path = parse_path(expression)
    find, below_lists = path.find, _in_lists(path.keys or ())

    def found(document: object, features: Mapping[str, Any]) -> object:
        value = find(document)
        if value is None and path.keys:
            value = below_lists(document, features)
            if value is not None and is_to_warn(expression):
                _log.warning("%s: crosses a list: write [] after the list, as in items[].price", expression)
        return value

    return found


def _in_lists(keys: Sequence[str]) -> _Find:
    """Return a function that follows names, also in the objects of lists."""

    def find(document: object, depth: int = 0) -> object:
        if isinstance(document, list):
            return next((value for each in document if (value := find(each, depth)) is not None), None)
        if depth == len(keys):
            return document
        return find(document.get(keys[depth]), depth + 1) if isinstance(document, dict) else None

    return lambda document, _: find(document)


def _in_features(name: str) -> _Find:
    return lambda _, features: features.get(name)


FindId = Callable[[object, Record | None], object]
"""Finds the id of a message; None if there is none. Raises `Rejection` and `PathError`."""


def id_finder(location: str) -> FindId:
    """Return a function that finds an id at a path or in a part of the record.

    A message without a record, such as one posted over HTTP, gets a generated id if the record should have
    it.
    """
    if not is_of_record(location):
        find = parse_path(location).find

        def in_document(document: object, _: Record | None) -> object:
            value = find(document)
            return str(value) if type(value) is int else value

        return in_document

    def in_record(_: object, record: Record | None) -> object:
        return uuid4().hex if record is None else _of_record(location, record)

    return in_record


def _of_record(location: str, record: Record) -> str | None:
    if location == OFFSET:
        return f"{record.topic}-{record.partition}-{record.offset}"
    value = record.key if location == KEY else dict(record.headers).get(location.removeprefix(HEADER))
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        raise Rejection(Reason.INVALID_ID, f"{location}: byte {error.start} is not UTF-8") from None


_WHOLE: Final = "@"
_MAX_TENANT_LENGTH: Final = 256
"""Longest tenant in characters, as of ids: each feature's name contains it."""


class Mapper:
    """Reads the records of one topic as messages: id, label and time; a subclass reads more.

    Parameters
    ----------
    settings
        Paths of the fields; the defaults are the native schema.
    vocabulary
        The accepted label values.
    read_value
        Reads the value of a record as a document.
    label
        The path of the label.

    """

    vectors: Vectors | None = None
    """The lengths of vectors: part of the state of the partition whose records are read."""

    def __init__(
        self, settings: LabelSettings, vocabulary: Vocabulary, read_value: Reader, label: Path | None
    ) -> None:
        self._vocabulary = vocabulary
        self._read_value = read_value
        self._table = settings.table()
        self._where = parse_path(settings.where).find if settings.where else None
        self._id = settings.id or "id"
        self._find_id = id_finder(self._id)
        self._label = label
        self._time = parse_path(settings.timestamp) if settings.timestamp else None
        in_document = None if is_of_record(self._id) else parse_path(self._id)
        paths = filter(None, (in_document, self._label, self._time))
        self.uses = frozenset(keys for path in paths for keys in path.uses)
        """The locations of id, label and time in a document."""

    @property
    def maps_time(self) -> bool:
        """Whether messages contain their event time."""
        return self._time is not None

    def time_location(self) -> str:
        """Return the name of the event time, for messages."""
        return f"{self._time.expression} ({self._table}.timestamp)" if self._time else RECORD_TIME

    def missing_fields(self) -> tuple[int, Collection[str]]:
        """Return how many events were checked, and the mapped fields that none of them had."""
        return 0, ()

    def decode(self, value: bytes, record: Record | None) -> Incoming:
        """Read a message. Raises `Rejection`, and `Skipped` if `where` is false or null."""
        document = self._read_value(value)
        if self._where is not None:
            self._filter(document, self._where)
        return self.read(document, record, len(value))

    def _filter(self, document: object, where: Find) -> None:
        name = f"{self._table}.where"
        try:
            result = where(document)
        except PathError as error:
            raise Rejection(Reason.INVALID_TYPE, f"{name}: {error}") from None
        if result is None or result is False:
            raise Skipped(f"{name}: false or null for this record")

    def read(self, document: object, record: Record | None, message_bytes: int) -> Incoming:
        """Read a message from the document of a value of `message_bytes` bytes. Raises `Rejection`."""
        raise NotImplementedError

    def _time_ms(self, document: object) -> int | None:
        """Return the event time; None if it is the record's. Raises `Rejection` and `PathError`."""
        if self._time is None:
            return None
        time = self._time.find(document)
        if time is None:
            raise Rejection(Reason.MISSING_FIELD, f"{self.time_location()}: missing")
        try:
            return event_time_ms(time)
        except ValueError as error:
            raise Rejection(Reason.INVALID_TYPE, f"{self.time_location()}: {error}") from None

    def _rejection(self, error: PathError | ValidationError, document: object) -> Rejection:
        """Return the rejection of a document without a valid message."""
        if isinstance(error, PathError):
            return Rejection(Reason.INVALID_TYPE, str(error))
        errors = error.errors(include_url=False)
        if any(each["loc"] == ("id",) and each["input"] is None for each in errors):
            return Rejection(Reason.MISSING_FIELD, f"{self._location('id')}: missing")
        if any(each["loc"] == ("id",) and isinstance(each["input"], float) for each in errors):
            what = "expected a string or a whole number, got a fraction: write 8 or '8', not 8.0"
            return Rejection(Reason.INVALID_ID, f"{self._location('id')}: {what}")
        return rejection_of_fields(errors, lambda location: self._path_of(location, document))

    def _truth(self, label: LabelValue) -> TrueLabel:
        try:
            return self._vocabulary.truth(label)
        except UnknownLabelError as error:
            raise Rejection(Reason.UNKNOWN_LABEL, f"{self._location('label')}: {error}") from None

    def _path_of(self, location: Sequence[int | str], document: object) -> str:  # noqa: ARG002 - of events
        """Return the path in the document of a location in the fields."""
        return self._location(str(location[0]))

    def _location(self, field: str) -> str:
        path = self._id if field == "id" else self._label.expression if self._label else field
        return f"{path} ({self._table}.{field})"

    def _reject_others(self, document: object, known: Mapping[str, Any]) -> None:
        if other := first_other(document, known):
            message = f"{other}: unknown field, and {self._table}.unknown_fields is reject"
            raise Rejection(Reason.UNKNOWN_FIELD, message)


def _known(settings: LabelSettings, uses: frozenset[Keys]) -> Mapping[str, Any] | None:
    """Return the allowed fields; None if any are allowed."""
    if settings.where:
        uses |= parse_path(settings.where).uses
    return skipping(uses) if settings.unknown_fields == "reject" and () not in uses else None


class NativeMapper(Mapper):
    """Reads documents with the fields of the native schema; null is a missing value."""

    def __init__(self, settings: LabelSettings, vocabulary: Vocabulary, read_value: Reader) -> None:
        super().__init__(settings, vocabulary, read_value, None)

    def read(self, document: object, _record: Record | None, message_bytes: int) -> Incoming:
        """Read an event or a label. Raises `Rejection`."""
        return native_message(check_fields(document), self._vocabulary, message_bytes)


class LabelMapper(Mapper):
    """Reads documents as labels."""

    def __init__(self, settings: LabelSettings, vocabulary: Vocabulary, read_value: Reader) -> None:
        label = parse_path(settings.label or (_WHOLE if settings.format == "text" else "label"))
        super().__init__(settings, vocabulary, read_value, label)
        self._find_label = label.find
        self._is_text = settings.format == "text"
        self._known = _known(settings, self.uses)

    def read(self, document: object, record: Record | None, message_bytes: int) -> Incoming:
        """Read a label. Raises `Rejection`."""
        if self._known is not None:
            self._reject_others(document, self._known)
        try:
            fields = {"id": self._find_id(document, record), "label": self._find_label(document)}
            checked = check_input(fields)
            timestamp_ms = self._time_ms(document)
        except (PathError, ValidationError) as error:
            raise self._rejection(error, document) from None
        label = checked["label"]
        if label is None:
            raise Rejection(Reason.MISSING_FIELD, f"{self._location('label')}: missing")
        if self._is_text:
            label = self._vocabulary.value_of_text(label)
        made = Incoming(checked["id"], None, None, label, self._truth(label), message_bytes)
        made.timestamp_ms = timestamp_ms
        return made


class EventMapper(Mapper):
    """Reads documents as events.

    Parameters
    ----------
    settings, vocabulary, read_value
        As in `Mapper`.
    max_name_chars
        Largest total length of the names of an event's nested features.
    asks_only
        Whether events are only predicted: their labels are not read, and times may be missing.

    """

    def __init__(
        self,
        settings: EventSettings,
        vocabulary: Vocabulary,
        read_value: Reader,
        max_name_chars: int,
        *,
        asks_only: bool = False,
    ) -> None:
        is_text = settings.format == "text"
        label = None if is_text else parse_path(settings.label or "label")
        super().__init__(settings, vocabulary, read_value, label)
        self._texts = [parse_path(path) for path in settings.text or (_WHOLE if is_text else "text",)]
        self._tenant = parse_path(settings.tenant) if settings.tenant else None
        others = [*self._texts, self._tenant] if self._tenant else self._texts
        used = self.uses | {keys for path in others for keys in path.uses}
        self._step = FeatureStep(settings, used, max_name_chars)
        self.vectors = self._step.vectors
        self._keeps_lengths = not asks_only
        self._plain = text_of_html if settings.text_format == "html" else None
        self._known = _known(settings, used | self._step.uses)
        self._find_label = None if label is None or asks_only else label.find
        self._asks_only = asks_only
        self.watched = None if asks_only or is_text else FieldWatch(settings)
        """The fields that no event has had yet, and warnings of strings; None if they are not watched."""

    def read(self, document: object, record: Record | None, message_bytes: int) -> Incoming:
        """Read an event. Raises `Rejection`."""
        if self._known is not None:
            self._reject_others(document, self._known)
        try:
            features, packed, text = self._step.make(document)
            fields = {
                "id": self._find_id_asked(document, record),
                "features": features.values,
                "text": self._text(document) if text is None else text,
                "label": self._find_label(document) if self._find_label else None,
            }
            checked = check_input(fields)
            timestamp_ms = self._time_ms(document) if self._time else None
            windowed = self._step.windowed(features, document, record)
            tenant = _tenant_of(self._tenant, document) if self._tenant else None
            values, text, label = checked["features"], checked["text"], checked["label"]
            if packed is not None:
                values = VectorFeatures(values, packed.names, packed.vectors)
            has_any = values or text is not None or (windowed and any(key for key, _, _ in windowed))
            if not has_any and self._step.is_empty(document):
                raise self._without_features_rejection()
        except (PathError, ValidationError) as error:
            raise self._rejection(error, document) from None
        truth = None if label is None else self._truth(label)
        if self.vectors is not None and self._keeps_lengths:
            self.vectors.accept()
        if self.watched is not None:
            self.watched.note(document, features.values)
        n_bytes = max(message_bytes, features.name_chars)
        made = Incoming(checked["id"], values, text, label, truth, n_bytes)
        made.timestamp_ms, made.tenant, made.windowed = timestamp_ms, tenant, windowed
        return made

    def missing_fields(self) -> tuple[int, Collection[str]]:
        """Return how many events were checked, and the mapped fields that none of them had."""
        return (0, ()) if self.watched is None else self.watched.missing()

    def _find_id_asked(self, document: object, record: Record | None) -> object:
        """Return the id; an event that is only predicted may lack one and gets a number."""
        event_id = self._find_id(document, record)
        return str(record.offset) if event_id is None and self._asks_only and record is not None else event_id

    def _time_ms(self, document: object) -> int | None:
        """Return the event time; an event that is only predicted need not have one."""
        if self._asks_only and self._time is not None and self._time.find(document) is None:
            return None
        return super()._time_ms(document)

    def _text(self, document: object) -> str | None:
        """Join the texts of an event; None if it has none."""
        lines: list[str] = []
        for path in self._texts:
            value = path.find(document)
            if isinstance(value, str):
                lines.append(value)
            elif value is not None:
                lines.extend(_lines(value, path))
        if self._plain is not None:
            lines = [self._plain(line) for line in lines]
        return "\n".join(lines) if lines else None

    def _path_of(self, location: Sequence[int | str], document: object) -> str:
        if location[0] == "features" and len(location) > 1:
            return self._step.path_of(str(location[1]), document)
        return self._location(str(location[0]))

    def _without_features_rejection(self) -> Rejection:
        paths = ", ".join((*(path.expression for path in self._texts), *self._step.entries))
        how = "labels alone belong on a labels topic, or come with the event again"
        message = f"{paths} (events.text, events.features): all are missing; {how}"
        return Rejection(Reason.MISSING_FIELD, message)


def _tenant_of(path: Path, document: object) -> str | None:
    """Return the tenant of an event; None if it has none. Raises `Rejection` and `PathError`."""
    value = path.find(document)
    if value is None:
        return None
    where = f"{path.expression} (events.tenant)"
    if isinstance(value, (dict, list, bool)) or value == "":
        raise Rejection(Reason.INVALID_TYPE, f"{where}: expected a non-empty string or a number")
    tenant = written(value, where)
    if isinstance(value, float) and value.is_integer():
        tenant = str(int(value))  # in JSON, 5 and 5.0 are the same number
    if len(tenant) > _MAX_TENANT_LENGTH:
        raise Rejection(Reason.TOO_LARGE, f"{where}: longer than {_MAX_TENANT_LENGTH} characters")
    return tenant


def _lines(value: object, path: Path) -> list[str]:
    """Return the texts of a value: a text, or a list of texts and numbers. Raises `Rejection`."""
    lines = value if isinstance(value, list) else [value]
    where = f"{path.expression} (events.text)"
    if any(isinstance(each, (dict, list)) for each in lines):
        raise Rejection(Reason.INVALID_TYPE, f"{where}: expected a string or a list of strings")
    return [written(each, where) for each in lines if each is not None]
