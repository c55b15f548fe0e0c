"""Feed the messages of a file to processors in batches, and print refused ones on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from service.cli.app import report
from service.datasets.files import Source
from service.datasets.rows import complaint_of
from service.messages.dead_letter import MESSAGE, REASON
from service.stream import Output, Record

BATCH_RECORDS: Final = 256
"""Messages processed at a time; what comes slowly, from a pipe, is processed as it comes."""
_REJECTIONS_SHOWN: Final = 3

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
        self._rejected = 0

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
            self._show_rejection(batch[position], letter)

    def _show_rejection(self, record: Record, letter: Output) -> None:
        self._rejected += 1
        if self._rejected <= _REJECTIONS_SHOWN:
            headers = dict(letter.headers)
            reason, message = headers[REASON].decode(), complaint_of(record.value, headers[MESSAGE].decode())
            report("rejected", "yellow", f"{self._source.name}:{record.offset}: {reason}: {message}")
        elif self._rejected == _REJECTIONS_SHOWN + 1:
            report("rejected", "yellow", "more; the summary counts them by reason")
