"""Enqueue outputs in librdkafka without a Python object for each.

Only the compiled form of this module, `output_sender.pyx`, does this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from confluent_kafka import Producer

from service.batches import OutputBatch
from service.stream import Output


class OutputSender(Protocol):
    """Sends batches of outputs through one producer."""

    def send(
        self, outputs: OutputBatch, first: int, batch_bytes: int, produce: Callable[[Output], None]
    ) -> int:
        """Enqueue outputs from `first` on at the producer, as many as are one batch; return how far it came.

        Those that have headers, a timestamp, a partition of their own or no key are given to `produce`. The
        outputs of a partition stay in their order. A message that cannot be delivered is not reported:
        librdkafka refuses to commit the transaction it belongs to, and does not say why.

        Raises
        ------
        KafkaException
            The producer refuses one of them.

        """

    def close(self) -> None:
        """Release the producer. Idempotent."""


def open_output_sender(client: Producer) -> OutputSender | None:  # noqa: ARG001 - the compiled form does
    """Return the sender of a producer; None for the published way."""
    return None
