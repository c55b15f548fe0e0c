"""Feed the messages of a file to processors in batches, and print refused ones on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from service.cli.output import Rejections
from service.datasets.bad_rows import complaint_of
from service.datasets.files import Source
from service.messages.dead_letter import MESSAGE, REASON
from service.stream import Output, Record

BATCH_RECORDS: Final = 256
"""Messages processed at a time; what comes slowly, from a pipe, is processed as it comes."""

Process = Callable[[Sequence[Record]], Iterable[tuple[int, Output]]]
"""Processes a batch; returns the dead letters, each with the position of its record."""


class FileBatches:
    """The batches of one file.

    Parameters
    ----------
    source
        The file that the messages are read from.
    topic
        Where the records stand as if they had been read from there.
    process
        Receives each batch.

    """

    def __init__(self, source: Source, topic: str, process: Process) -> None:
        self._source = source
        self._topic = topic
        self._process_batch = process
        self._batch: list[Record] = []
        """Not processed yet; a record's offset is its line in the file."""
        self._rejections = Rejections()

    def feed(self, messages: Iterable[bytes]) -> None:
        """Process every message; event time stands still, as a file has none."""
        self._source.before_wait(self._process)
        for value in messages:
            self._batch.append(Record(self._topic, 0, self._source.line, 0, None, value))
            if len(self._batch) >= BATCH_RECORDS:
                self._process()
        self._process()

    def _process(self) -> None:
        batch, self._batch = self._batch, []
        for position, letter in self._process_batch(batch):
            record, headers = batch[position], dict(letter.headers)
            complaint = complaint_of(record.value, headers[MESSAGE].decode())
            place = f"{self._source.name}:{record.offset}"
            self._rejections.report(f"{place}: {headers[REASON].decode()}: {complaint}")
