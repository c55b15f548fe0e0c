"""Write records and read them again, to check this folder against the installed release."""

from __future__ import annotations

from typing import Final

from kafka.producer.record_accumulator import RecordAccumulator
from kafka.record.memory_records import MemoryRecords
from kafka.structs import TopicPartition

from service.records import Output, Record
from service.transport.kafka.kafka_python.accelerated.producer import hand_over
from service.transport.kafka.kafka_python.accelerated.record_consumer import FetchedRecords, joined
from service.transport.kafka.kafka_python.accelerated.records import (  # type: ignore[import-not-found] # compiled
    written_batches,
)

_PLACE: Final = TopicPartition("trial", 0)
_TIME_MS: Final = 1
_BATCH_BYTES: Final = 1024


def trial_failure() -> str | None:
    """Return why records that were written are not read as they were; None if they are."""
    written = [Output("trial", b"key", b"%d" % n, (("name", b"header"),), 0, _TIME_MS) for n in range(3)]
    try:
        read = _read_again(written)
    except Exception as error:  # noqa: BLE001 - whatever a changed class raises
        return f"a trial of its batches fails: {error!r}"
    expected = [
        Record("trial", 0, n, _TIME_MS, each.key, each.value, each.headers) for n, each in enumerate(written)
    ]
    return None if read == expected else "a trial of its batches gives other records"


def _read_again(written: list[Output]) -> list[Record]:
    ((_, writer),) = written_batches(
        written, lambda _: 1, batch_bytes=_BATCH_BYTES, most_bytes=_BATCH_BYTES, now_ms=_TIME_MS
    )
    batch = hand_over(RecordAccumulator(batch_size=_BATCH_BYTES), _PLACE, writer)
    batch.records.close()
    return [*joined([*FetchedRecords(0, _PLACE, MemoryRecords(batch.records.buffer())).take()])]
