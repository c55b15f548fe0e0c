"""One partition at work. In: its records, batch by batch. Out: one transaction per batch."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from service.metrics import Metrics
from service.processor import Processor
from service.transport.base import Output, Record, Writer


class Task:
    """Owns one partition: its processor and the writer that alone may write for it."""

    def __init__(self, partition: int, processor: Processor, writer: Writer, metrics: Metrics) -> None:
        self._partition = partition
        self._processor = processor
        self._writer = writer
        self._metrics = metrics
        metrics.publish(partition, processor)

    def advance(self, records: Sequence[Record]) -> None:
        """Process a batch and commit it: outputs and offsets in one transaction.

        Raises
        ------
        TransportError
            Nothing of the batch was written, as far as is known; this task must not go on.

        """
        outputs: list[Output] = []
        duration = self._metrics.process_duration
        for record in records:
            began = perf_counter()
            outputs.extend(self._processor.process(record))
            duration.observe(perf_counter() - began)
        self._writer.commit(outputs, {record.topic: record.offset + 1 for record in records})
        self._metrics.publish(self._partition, self._processor)

    def close(self) -> None:
        """Let the partition go."""
        self._writer.close()
        self._metrics.withdraw(self._partition)
