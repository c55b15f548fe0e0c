"""Write outputs as batches of kafka-python's accumulator, without an object for each record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from time import monotonic, time
from typing import Any, Final

from kafka.errors import IllegalStateError, KafkaTimeoutError
from kafka.producer.future import FutureRecordMetadata
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.record.memory_records import MemoryRecordsBuilder
from kafka.structs import TopicPartition

from service.stream import Output
from service.transport.kafka.kafka_python.accelerated.records import (  # type: ignore[import-not-found] # compiled
    RecordWriter,
    written_batches,
)
from service.transport.kafka.kafka_python.producer import DeadlineProducer
from service.transport.kafka.limits import MOMENT_SECONDS, seconds_left

_FORMAT: Final = 2


class BatchProducer(DeadlineProducer):
    """A producer that gives its client whole batches.

    Of records, the client makes a future each, which takes far longer.
    """

    def __init__(self, *, max_request_size: int, **options: object) -> None:
        # That of one record. Of a request, which may have several batches, it stays what it is.
        self._most_bytes = max_request_size
        super().__init__(**options)

    def _hand_over(self, outputs: Iterable[Output]) -> Sequence[Any]:
        return [
            hand_over(self._accumulator, self._begin(*place), writer)
            for place, writer in written_batches(
                outputs,
                self._n_partitions,
                batch_bytes=self.config["batch_size"],
                most_bytes=self._most_bytes,
                now_ms=int(time() * 1000),
            )
        ]

    def _begin(self, topic: str, partition: int) -> TopicPartition:
        """Note that the transaction will write to a partition."""
        place = TopicPartition(topic, partition)
        if self._transaction_manager is not None and self._transaction_manager.is_transactional():
            self._transaction_manager.maybe_add_partition_to_transaction(place)
        return place


class WrittenBatch(ProducerBatch):  # type: ignore[misc] # kafka-python has no types
    """A batch with one future, instead of one for each record, unless it is split.

    The client compresses it, writes its header with the producer's id, epoch and sequence, sends it, again if
    need be, and splits it.
    """

    def __init__(self, place: TopicPartition, records: MemoryRecordsBuilder) -> None:
        super().__init__(place, records)
        del self._record_futures  # an empty list; the property below stands behind it

    @cached_property
    def _record_futures(self) -> list[Any]:
        """What the client binds to the new batches when it splits this one, and asks for only then."""
        return [
            FutureRecordMetadata(self.produce_future, index, None, None, -1, -1, -1)
            for index in range(self.record_count)
        ]

    def get(self, timeout: float) -> None:
        """Wait until all records are acknowledged, or raise the client's error for the first that was not.

        A split ends the wait for the batch, which is not done then and never will be.
        """
        deadline = monotonic() + timeout
        if not self.produce_future.wait(timeout):
            raise KafkaTimeoutError(f"{self} was not acknowledged in time")
        if self.produce_future.is_done:
            _, _, exception_of = self.produce_future.value
            if exception_of is not None:
                raise exception_of(0)
            return
        for future in self._record_futures:
            future.get(timeout=max(MOMENT_SECONDS, seconds_left(deadline)))


def hand_over(accumulator: RecordAccumulator, place: TopicPartition, writer: RecordWriter) -> WrittenBatch:
    """Queue what was written to be sent, as `RecordAccumulator.append` queues records."""
    batch = WrittenBatch(place, builder_of(writer, accumulator.config))
    accumulator._appends_in_progress.increment()  # noqa: SLF001 - nothing public takes a whole batch
    try:
        with accumulator._tp_lock(place):  # noqa: SLF001
            if accumulator._closed:  # noqa: SLF001
                raise IllegalStateError("RecordAccumulator is closed")
            accumulator._batches[place].append(batch)  # noqa: SLF001
            accumulator._incomplete.add(batch)  # noqa: SLF001
    finally:
        accumulator._appends_in_progress.decrement()  # noqa: SLF001
    return batch


def builder_of(writer: RecordWriter, options: dict[str, Any]) -> MemoryRecordsBuilder:
    """Return a builder as if it had been given the records one by one."""
    records = MemoryRecordsBuilder(_FORMAT, options["compression_attrs"], options["batch_size"])
    records._next_offset = writer.n_records  # noqa: SLF001
    builder = records._builder  # noqa: SLF001
    builder._buffer = writer.buffer  # noqa: SLF001
    builder._num_records = writer.n_records  # noqa: SLF001
    builder._last_offset = writer.n_records - 1  # noqa: SLF001
    builder._first_timestamp = writer.first_timestamp  # noqa: SLF001
    builder._max_timestamp = writer.max_timestamp  # noqa: SLF001
    return records
