"""Process the messages of a file in batches, and report refused ones on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from service.cli.output import Rejections, report_warning
from service.clock import SYSTEM_CLOCK
from service.datasets.input_files import InputFiles
from service.datasets.rows import rejection_of_row
from service.messages.dead_letter import MESSAGE, REASON
from service.messages.rejection import Rejection
from service.stream import Output, Record

BATCH_RECORDS: Final = 256
"""Messages processed at a time; what comes slowly, from a pipe, is processed as it comes."""

Process = Callable[[Sequence[Record], int | None], Iterable[tuple[int, Output]]]
"""Processes a batch at a time; returns the dead letters, each with the position of its record."""


def process_in_batches(records: Iterable[Record], files: InputFiles, process: Process) -> None:
    """Process every record of files. If they have times, these are bounded by the clock, as `serve` does it.

    Parameters
    ----------
    records, files
        The records, and the files that they are read from.
    process
        Receives each batch, and the time.

    Raises
    ------
    InputFileError
        There is no record, or a file cannot be read to its end.

    """
    batch: list[Record] = []
    rejections = Rejections()

    def flush() -> None:
        nonlocal batch
        records, batch = batch, []
        now_ms = int(SYSTEM_CLOCK.time() * 1000) if files.are_timed else None
        for position, letter in process(records, now_ms):
            record, headers = records[position], dict(letter.headers)
            rejection = Rejection(headers[REASON].decode(), headers[MESSAGE].decode())
            rejections.report(f"{files.place(record)}: {rejection_of_row(record.value, rejection)}")

    files.before_wait(flush)
    for record in records:
        batch.append(record)
        if len(batch) >= BATCH_RECORDS:
            flush()
    flush()
    for name, n_early in files.unsorted():
        report_warning(
            f"{name}: {n_early} rows are earlier than one before them; each file is taken in its own order, "
            "as a topic is",
            hint="if the rows are to come in the order of their times, sort the file by them",
        )
