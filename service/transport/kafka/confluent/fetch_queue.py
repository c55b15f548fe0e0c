"""Fetch batches of records without a Python object for each message.

Only the compiled form of this module, `fetch_queue.pyx`, does this: it forwards the client's partitions to a
queue of librdkafka and reads their messages from there. Other events, such as rebalances, stay in the
client's own queue, and wake a thread that waits for messages.
"""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import Consumer

from service.batches import RecordBatch
from service.stream import Place
from service.transport.kafka.confluent.messages import ErrorFields


class FetchQueue(Protocol):
    """A queue to which a consumer's partitions are forwarded."""

    def forward(self, places: list[Place]) -> None:
        """Forward the messages that are fetched from these partitions to this queue.

        Call this before the partitions are assigned, and repeatedly afterwards: librdkafka ends forwarding
        when it stops fetching, which is later than the call that makes it stop.
        """

    def poll(
        self,
        most: int,
        wait_seconds: float,
        taken: dict[Place, RecordBatch],
        begun: set[int],
        errors: list[ErrorFields],
    ) -> int:
        """Add fetched records to `taken` and errors to `errors`; return the number of messages.

        Wait for the first message only, and no longer than until the client has an event to serve. Discard
        records of partitions that are not in `begun`.

        Parameters
        ----------
        most
            The largest number of messages.
        wait_seconds
            How long to wait for the first one.
        taken, errors
            Where records and errors go.
        begun
            The partitions that were started.

        """

    def close(self) -> None:
        """Discard fetched messages; call this before the client is closed. Idempotent."""


def open_fetch_queue(client: Consumer) -> FetchQueue | None:  # noqa: ARG001 - the compiled form does
    """Return the queue of a consumer; None for the published way."""
    return None
