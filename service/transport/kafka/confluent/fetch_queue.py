"""What a consumer fetches, without a Python object for each message. In: a client. Out: batches of records.

Only the compiled form of this module, `fetch_queue.pyx`, can do so: it takes the messages of the client's
partitions from a queue of librdkafka's to which they are forwarded. What else there is to serve, such as
rebalances, stays with the client, and wakes a thread that waits for messages.
"""

from __future__ import annotations

from typing import Protocol

from confluent_kafka import Consumer

from service.batches.record_batch import RecordBatch
from service.stream import Place
from service.transport.kafka.confluent.messages import ErrorFields


class FetchQueue(Protocol):
    """A queue to which a consumer's partitions are forwarded."""

    def forward(self, places: list[Place]) -> None:
        """Have what is fetched of these places come here.

        To be called before they are assigned, and again and again after: librdkafka ends this where it stops
        fetching, which it does later than the call that makes it stop.
        """

    def take(
        self,
        most: int,
        wait_seconds: float,
        taken: dict[Place, RecordBatch],
        begun: set[int],
        told: list[ErrorFields],
    ) -> int:
        """Add the records that are there to `taken`, and errors to `told`; return how many messages came.

        Wait for the first one only, and end the wait when the client has something to serve. Records of
        partitions that are not in `begun` are thrown away.

        Parameters
        ----------
        most
            How many messages to take.
        wait_seconds
            How long to wait for the first one.
        taken, told
            Where records and errors go.
        begun
            The partitions that were started.

        """

    def close(self) -> None:
        """Throw away what was fetched; call this before the client is closed. Idempotent."""


def open_fetch_queue(client: Consumer) -> FetchQueue | None:  # noqa: ARG001 - the compiled form does
    """Make the queue of a consumer; None for a release of confluent-kafka that is not known."""
    return None
