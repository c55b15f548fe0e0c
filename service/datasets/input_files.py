"""Files as the input topics of a service: rows are records, and two files are merged by their times.

Each file keeps its own order, as a topic does. Of the rows that are next, the earliest comes first; of
equally early ones, the event.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from heapq import merge
from operator import attrgetter
from types import TracebackType
from typing import Final, Self

from service.datasets.files import Source
from service.datasets.rows import BadRow, TimedRow
from service.errors import InputFileError
from service.messages.event_times import event_time_ms
from service.messages.paths import PathError, parse_path
from service.stream import Record

_NO_TIME_MS: Final = -1
"""As Kafka has it: a record without a time is refused."""
_event_time: Final = attrgetter("timestamp_ms")


def field_of(message: bytes, name: str) -> object:
    """Find a field of a message, or else of its features, or by a path; None if there is none."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    features = fields.get("features")
    for named in (fields, features):
        if isinstance(named, dict) and name in named:
            return named[name]
    with suppress(PathError):
        return parse_path(name).find(fields)
    return None


def time_of(message: bytes, timestamp: str) -> int:
    """Return the time of a row in milliseconds. Raises ValueError, which names the place."""
    found = message.time if isinstance(message, TimedRow) else field_of(message, timestamp)
    if found is None or found == "":
        raise ValueError(f"{timestamp}: there is no time")
    try:
        time_ms = event_time_ms(found)
    except ValueError as error:
        raise ValueError(f"{timestamp}: {error}") from None
    if time_ms < 0:
        raise ValueError(f"{timestamp}: it is before 1970")
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
        Where rows have their time; without it, time stands still.

    Attributes
    ----------
    n_early : int
        Rows so far that are earlier than one before them.

    """

    def __init__(self, source: Source, topic: str, timestamp: str = "") -> None:
        self.source = source
        self.topic = topic
        self.timestamp = timestamp
        self.n_early = 0

    def __iter__(self) -> Iterator[Record]:
        """Yield the records; the offset of each is its line. Raises `InputFileError` if there is none."""
        source, latest_ms, record = self.source, 0, None
        for message in source:
            record = self._record(message, source.line)
            self.n_early += _NO_TIME_MS < record.timestamp_ms < latest_ms
            latest_ms = max(latest_ms, record.timestamp_ms)
            yield record
        if record is None:
            raise InputFileError(f"{source.name}: there is no record")

    def _record(self, message: bytes, line: int) -> Record:
        time_ms = 0
        if self.timestamp:
            try:
                time_ms = time_of(message, self.timestamp)
            except ValueError as error:
                time_ms = _NO_TIME_MS
                message = message if isinstance(message, BadRow) else BadRow(message, str(error))
        return Record(self.topic, 0, line, time_ms, None, message)


class InputFiles:
    """One file of events, and perhaps one of labels; a context manager that closes them.

    Parameters
    ----------
    files
        The files, that of the events first.

    """

    def __init__(self, *files: TopicFile) -> None:
        self._files = files
        self._sources = {file.topic: file.source for file in files}

    @property
    def name(self) -> str:
        """The name of the events' file."""
        return self._files[0].source.name

    @property
    def label_name(self) -> str:
        """The name of the labels' file; empty if there is none."""
        return self._files[1].source.name if len(self._files) > 1 else ""

    @property
    def are_timed(self) -> bool:
        """Whether records have times of their own."""
        return any(file.timestamp for file in self._files)

    @property
    def size_bytes(self) -> int | None:
        """Size of all files together; None if one has no end yet."""
        sizes = [source.size_bytes for source in self._sources.values()]
        return None if None in sizes else sum(filter(None, sizes))

    @property
    def bytes_read(self) -> int:
        """How much of `size_bytes` has been read."""
        return sum(source.bytes_read for source in self._sources.values())

    @property
    def line(self) -> int:
        """How many lines have been read."""
        return sum(source.line for source in self._sources.values())

    def place(self, record: Record) -> str:
        """Return where a record was, as ``file:line``."""
        return f"{self._sources[record.topic].name}:{record.offset}"

    def before_wait(self, call: Callable[[], None]) -> None:
        """Register `call` as `Source.before_wait` does."""
        for source in self._sources.values():
            source.before_wait(call)

    def unsorted(self) -> Sequence[tuple[str, int]]:
        """Return the names of files with rows earlier than one before them, and how many those are."""
        return [(file.source.name, file.n_early) for file in self._files if file.n_early]

    def __iter__(self) -> Iterator[Record]:
        """Yield the records. Raises `InputFileError` as `Source`, and if a file has none."""
        return iter(self._files[0]) if len(self._files) == 1 else merge(*self._files, key=_event_time)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as stack:
            for source in self._sources.values():
                stack.callback(source.close)
