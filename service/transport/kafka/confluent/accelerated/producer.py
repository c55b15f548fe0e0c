"""A producer that makes no object of an output."""

from __future__ import annotations

from collections.abc import Sequence

from service.batches import OutputBatch
from service.stream import Output
from service.transport.kafka.confluent.accelerated.handles import entry_points
from service.transport.kafka.confluent.accelerated.librdkafka import (  # type: ignore[import-not-found] # compiled
    OutputSender,
)
from service.transport.kafka.confluent.producer import BulkProducer
from service.transport.kafka.confluent.questions import Questions


class BatchProducer(BulkProducer):
    """A producer that enqueues batches of outputs in librdkafka."""

    _sender: OutputSender | None = None

    def __init__(self, cluster: Questions, **options: object) -> None:
        super().__init__(cluster, **options)  # type: ignore[arg-type]
        addresses = entry_points(self._client)
        if addresses is not None:
            self._sender = OutputSender(self._client, addresses)

    def _send_all(self, outputs: Sequence[Output], deadline: float) -> None:
        """Send in bulk, unless the last commit has failed: then each record is to say why.

        No batch is enqueued before the one ahead of it is acknowledged. librdkafka (2.16) has one batch of a
        partition under way at a time anyway; while the next one waits, its thread asks without a pause
        whether it may go.
        """
        if (
            self._sender is None
            or not isinstance(outputs, OutputBatch)
            or self._transactional_id in self._failed
        ):
            super()._send_all(outputs, deadline)
            return
        sent = 0
        while sent < len(outputs):
            sent = self._sender.send(outputs, sent, self._batch_bytes, self._produce)
            self._flush(outputs, deadline)

    def drop(self) -> None:
        """Close at once; see `Producer.drop`."""
        super().drop()
        if self._sender is not None:
            self._sender.close()
