"""Files as the input topics of a service: rows are records, and several files are merged by event time.

Each file keeps its order, as a topic does. The earliest next row of all files comes first; at equal times, an
event before a label. A file that is sent repeatedly as a live stream gets new ids in each round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from heapq import merge
from operator import attrgetter
from typing import Any, Final

from pydantic_core import to_json

from service.errors import ConfigurationError, InputFileError
from service.files.rows import BadRow, CutLine, TimedRow, UntimedRow, rejection_of_row
from service.files.sources import Source
from service.files.text_files import NDJSON
from service.mapping.notation import Notation
from service.messages.dead_letter import MESSAGE, REASON
from service.messages.json_values import read_json
from service.messages.paths import PathError, event_time_ms, parse_path
from service.messages.rejection import Rejection
from service.settings.fields import Settings
from service.settings.mapping import EventSettings, LabelSettings, is_of_record
from service.stream.protocol import Output, Record

NO_TIME_MS: Final = -1
"""Kafka's timestamp of a record without a time, which is rejected."""
_MAX_LINES: Final = 1 << 40
"""Largest number of lines of a file: an offset is the file's number times this, plus the line."""
_event_time: Final = attrgetter("timestamp_ms")


def field_of(message: bytes, name: str) -> object:
    """Return a field of a message, or else of its features, or at a path; None if there is none."""
    fields = _fields(message)
    features = fields.get("features")
    for named in (fields, features):
        if isinstance(named, dict) and name in named:
            return named[name]
    with suppress(PathError):
        return parse_path(name).find(fields)
    return None


def time_of(message: bytes, timestamp: str, notation: Notation | None = None) -> int:
    """Return the time of a row in milliseconds. Raises `ValueError` with the field."""
    time = message.time if isinstance(message, TimedRow) else field_of(message, timestamp)
    if notation is not None and isinstance(time, str):
        time = notation.value(timestamp.rpartition(".")[2], time, timestamp)
    if time is None or time == "":
        raise ValueError(f"{timestamp}: missing")
    try:
        time_ms = event_time_ms(time)
    except ValueError as error:
        raise ValueError(f"{timestamp}: {error}") from None
    if time_ms < 0:
        raise ValueError(f"{timestamp}: expected a time from 1970")
    return time_ms


class TopicFile:
    """A file whose rows are the records of a topic.

    Parameters
    ----------
    source
        The file.
    topic
        The topic.
    timestamp
        The field of the event time; without it, time does not advance.

    Attributes
    ----------
    n_early : int
        Number of rows so far that are earlier than a preceding row.
    number : int
        The number of the file among those of its topic, which is part of the offsets.

    """

    def __init__(self, source: Source, topic: str, timestamp: str = "") -> None:
        self.source = source
        self.topic = topic
        self.timestamp = timestamp
        self.n_early = self.number = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield the records, with offsets that contain the line. Raises `InputFileError` if there is none."""
        source, latest_ms, record = self.source, 0, None
        for message in source:
            record = self._record(message, source.line, latest_ms)
            self.n_early += NO_TIME_MS < record.timestamp_ms < latest_ms
            latest_ms = max(latest_ms, record.timestamp_ms)
            yield record
        if record is None:
            raise InputFileError(f"{source.name}: empty")

    def _record(self, message: bytes, line: int, latest_ms: int) -> Record:
        """Return a row as a record; one without a valid time has the time of a preceding row."""
        time_ms = latest_ms
        if self.timestamp and not isinstance(message, (BadRow, CutLine)):
            try:
                time_ms = time_of(message, self.timestamp, self.source.columns.notation)
            except ValueError as error:
                time_ms, message = NO_TIME_MS, UntimedRow(message, str(error))
        return Record(self.topic, 0, self.number * _MAX_LINES + line, time_ms, None, message)


class InputFiles(AbstractContextManager["InputFiles"]):
    """Files of events, and optionally one of labels; a context manager that closes them.

    Parameters
    ----------
    files
        The files, first of events, then of labels.

    """

    def __init__(self, *files: TopicFile) -> None:
        self._files = files
        self._sources = [file.source for file in files]
        self._of_topic: defaultdict[str, list[Source]] = defaultdict(list)
        for file in files:
            file.number = len(self._of_topic[file.topic])
            self._of_topic[file.topic].append(file.source)

    @property
    def name(self) -> str:
        """The name of the first file of events."""
        return self._files[0].source.name

    @property
    def label_name(self) -> str:
        """The name of the labels' file; empty if there is none."""
        last = self._files[-1]
        return last.source.name if last.topic != self._files[0].topic else ""

    @property
    def are_timed(self) -> bool:
        """Whether records have event times."""
        return any(file.timestamp for file in self._files)

    def location_of(self, record: Record) -> str:
        """Return the origin of a record as ``file:line``."""
        number, line = divmod(record.offset, _MAX_LINES)
        return f"{self._of_topic[record.topic][number].name}:{line}"

    def complaint(self, record: Record, dead_letter: Output) -> str:
        """Return the origin of a record, and why it became this dead letter."""
        headers = dict(dead_letter.headers)
        rejection = Rejection(headers[REASON].decode(), headers[MESSAGE].decode())
        return f"{self.location_of(record)}: {rejection_of_row(record.value, rejection)}"

    def before_wait(self, call: Callable[[], None]) -> None:
        """Register `call` as `Source.before_wait` does."""
        for source in self._sources:
            source.before_wait(call)

    def unsorted(self) -> Sequence[tuple[str, int]]:
        """Return the names of files with rows out of time order, and the number of these rows."""
        return [(file.source.name, file.n_early) for file in self._files if file.n_early]

    def __iter__(self) -> Iterator[Record]:
        """Yield the records. Raises `InputFileError` as `Source`, and if a file has none."""
        return iter(self._files[0]) if len(self._files) == 1 else merge(*self._files, key=_event_time)

    def __exit__(self, *exception: object) -> None:
        with ExitStack() as stack:
            for source in self._sources:
                stack.callback(source.close)


def mapping_of(table: LabelSettings) -> EventSettings | None:
    """Return the mapping of columns, for labels in the form of that for events; None without one."""
    if isinstance(table, EventSettings) or not table.maps_fields:
        return table if isinstance(table, EventSettings) and table.maps_fields else None
    return EventSettings(
        id=table.id or "id", label=table.label or "label", timestamp=table.timestamp, where=table.where
    )


def check_mappable(source: Source, table: LabelSettings) -> None:
    """Reject a mapping of rows that are native events. Raises `ConfigurationError`."""
    is_text = table.format == "text" and source.format is not NDJSON
    if is_text or (table.maps_fields and not source.format.has_fields):
        raise ConfigurationError(
            f"{source.name}: {table.table()}.* cannot map {source.format}, whose rows are native events",
            hint="omit the mapping, or set --input-format ndjson",
        )


def check_joinable(settings: Settings) -> None:
    """Reject a file of labels without a separate labels topic, or ids that files do not have.

    Raises `ConfigurationError`.
    """
    if settings.labels_topic in {"", settings.events_topic}:
        raise ConfigurationError(
            f"--labels: labels_topic is {settings.labels_topic!r}: labels have no separate topic",
            hint="omit --labels, as the rows of FILE have the labels; or set labels_topic",
        )
    for table in (settings.events, settings.labels):
        if is_of_record(table.id):
            raise ConfigurationError(
                f"{table.table()}.id is {table.id}: rows of files have no keys, headers or offsets",
                hint=f"name the id column with --{table.table()}-id",
            )


def named_anew(message: bytes, keys: Sequence[str], suffix: str) -> bytes:
    """Append a suffix to the id of a message, so that a repeated row is a new event.

    A message without an id there is returned unchanged, and decoding rejects it.

    >>> named_anew(b'{"order":{"id":7}}', ["order", "id"], "@2")
    b'{"order":{"id":"7@2"}}'
    """
    fields = _fields(message)
    holder: Any = fields
    for key in keys[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else {}
    known = holder.get(keys[-1]) if isinstance(holder, dict) else None
    if not isinstance(known, (str, int)):
        return message
    holder[keys[-1]] = f"{known}{suffix}"
    return to_json(fields, inf_nan_mode="constants")


def _fields(message: bytes) -> dict[str, Any]:
    """Return the fields of a message; empty if it is not a JSON object."""
    try:
        return read_json(message)
    except Rejection:
        return {}
