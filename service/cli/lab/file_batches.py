"""Process the messages of a file in batches, and report refused ones on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from service.cli.output import Rejections
from service.datasets.files import Source
from service.datasets.rows import complaint_of
from service.errors import InputFileError
from service.messages.dead_letter import MESSAGE, REASON
from service.stream import Output, Record

BATCH_RECORDS: Final = 256
"""Messages processed at a time; what comes slowly, from a pipe, is processed as it comes."""

Process = Callable[[Sequence[Record]], Iterable[tuple[int, Output]]]
"""Processes a batch; returns the dead letters, each with the position of its record."""


def process_in_batches(messages: Iterable[bytes], source: Source, topic: str, process: Process) -> None:
    """Process every message of a file; event time stands still, as a file has none.

    Parameters
    ----------
    messages, source
        The messages, and the file that they are read from.
    topic
        The topic that their records are taken to be of; a record's offset is its line in the file.
    process
        Receives each batch.

    Raises
    ------
    InputFileError
        There is no message, or the file cannot be read to its end.

    """
    batch: list[Record] = []
    rejections = Rejections()

    def flush() -> None:
        nonlocal batch
        records, batch = batch, []
        for position, letter in process(records):
            record, headers = records[position], dict(letter.headers)
            complaint = complaint_of(record.value, headers[MESSAGE].decode())
            place = f"{source.name}:{record.offset}"
            rejections.report(f"{place}: {headers[REASON].decode()}: {complaint}")

    source.before_wait(flush)
    n_records = 0
    for n_records, value in enumerate(messages, start=1):  # noqa: B007 - their count
        batch.append(Record(topic, 0, source.line, 0, None, value))
        if len(batch) >= BATCH_RECORDS:
            flush()
    flush()
    if not n_records:
        raise InputFileError(f"{source.name}: there is no record")
