"""Outputs to librdkafka, without a Python object for each. In: a batch of outputs. Out: messages to be sent.

Only the compiled form of this module, `output_sender.pyx`, can do so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from confluent_kafka import Producer

from service.batches.output_batch import OutputBatch
from service.stream import Output


class OutputSender(Protocol):
    """Sends batches of outputs through one producer."""

    def send(self, outputs: OutputBatch, produce: Callable[[Output], None]) -> None:
        """Hand outputs over to the producer; those with headers or a time through `produce`.

        The outputs of a partition stay in their order. A message that cannot be delivered is not reported:
        librdkafka refuses to commit the transaction it belongs to, and does not say why.

        Raises
        ------
        KafkaException
            The producer refuses one of them.

        """

    def close(self) -> None:
        """Release the producer. Idempotent."""


def open_output_sender(client: Producer) -> OutputSender | None:  # noqa: ARG001 - the compiled form does
    """Make the sender of a producer; None for a release of confluent-kafka that is not known."""
    return None
