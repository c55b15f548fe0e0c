"""kafka-python's producer, made reliable: a commit either has happened or raises an error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kafka import KafkaProducer, Serializer
from kafka.errors import KafkaError, KafkaTimeoutError, StaleMetadata, TransactionAbortedError, UnknownError
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as ClientPartition

from service.errors import TransactionFailed, TransportError
from service.stream.batches import OutputBatch
from service.stream.kafka.errors import with_hint
from service.stream.kafka.kafka_python.errors import translate
from service.stream.kafka.kafka_python.private import producer_epoch
from service.stream.kafka.limits import CLIENT_LIMIT, MOMENT_SECONDS, REQUEST_TIMEOUT_SECONDS, seconds_left
from service.stream.partitioner import partition_for_key
from service.stream.protocol import Output, TopicPartition

# After a commit, the broker writes the transaction's markers for some milliseconds, and answers the next
# transaction's first request with "concurrent transactions, try again": the default would wait 100 ms.
_RETRY_MILLISECONDS: Final = 5
_NO_VALUE: Final = object()


class NullableSerializer(Serializer):  # type: ignore[misc] # kafka-python has no types
    """Serializes records with neither key nor value, which kafka-python does not send.

    Other clients can send such records, and their dead letters must be written.
    """

    def serialize(self, topic: str, headers: object, data: object) -> object:  # noqa: ARG002 - as the client calls it
        """Return the bytes of a value."""
        return None if data is _NO_VALUE else data


class DeadlineProducer(KafkaProducer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaProducer` that has either committed or raised an error."""

    n_ended: Callable[[], int]
    """Returns how many connections have ended; set by `KafkaPythonCluster.open_producer`."""
    _n_ended_before: int | None = None
    _is_dropped = False

    @property
    def needs_replacement(self) -> bool:
        """Whether a connection broke since the first transaction, or one failed; see `Producer`."""
        return self._n_ended_before not in {None, self.n_ended()}

    def send_outputs(self, outputs: Iterable[Output], deadline: float) -> None:
        """Write `outputs` and wait until all are acknowledged."""
        counts: dict[str, int] = {}
        sent = []
        batch = outputs if isinstance(outputs, OutputBatch) else OutputBatch(outputs)
        for k in range(len(batch)):
            topic, key, value, headers, partition, timestamp_ms = batch.fields(k)
            if topic not in counts:
                counts[topic] = len(self.partitions_for(topic))
            chosen = partition_for_key(key, counts[topic]) if partition is None else partition
            if not 0 <= chosen < counts[topic]:
                raise StaleMetadata(f"{topic}: partition {chosen} does not exist yet")
            given = _NO_VALUE if value is None else value
            sent.append(self.send(topic, given, key, list(headers), chosen, timestamp_ms))
        # flush() reports a split batch as an unknown error, and a response that arrived during a freeze as a
        # timeout; the futures have the true results.
        with contextlib.suppress(UnknownError, KafkaTimeoutError):
            self.flush(timeout=seconds_left(deadline))
        # flush() only logs failures: without this check, records could be lost silently.
        for future in sent:
            if not future.succeeded():
                future.get(timeout=max(MOMENT_SECONDS, seconds_left(deadline)))

    def transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[TopicPartition, int],
        group_metadata: Any,  # noqa: ANN401 - kafka-python has no types
        *,
        deadline: float,
        where: str,
    ) -> None:
        """Commit `outputs` and `offsets` in one transaction; see `Producer.transact`."""
        name = self.config["transactional_id"]
        next_offsets = {
            ClientPartition(*each): OffsetAndMetadata(offset, name, -1) for each, offset in offsets.items()
        }
        try:
            self._transact(outputs, next_offsets, group_metadata, deadline)
        except Exception as error:  # noqa: BLE001 - raised again, translated
            self._n_ended_before = -1
            failure = translate(error, where)
            # kafka-python reports unexpected errors as a bare KafkaError, and has then ended the transaction.
            if type(failure) is TransportError and isinstance(error, KafkaError):
                failure = with_hint(TransactionFailed, str(failure))
            try:
                raise failure from error
            finally:
                del failure  # its traceback refers to this frame, and to those of all waiting callers

    def _transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[Any, Any],
        group_metadata: Any,  # noqa: ANN401 - kafka-python has no types
        deadline: float,
    ) -> None:
        """Commit the transaction in steps, in this order.

        1. send, and wait until every record is acknowledged;
        2. add the offsets to the transaction, fenced by the group's generation;
        3. commit, and check that it was this transaction.

        Step 3 would not suffice: no batch may be in flight when the commit begins, as its failure may stay
        unnoticed (see `private.producer_epoch`).

        Steps 2 and 3 have no time limit. `Transactions` abandons a producer that exceeds its deadline.
        """
        epoch = producer_epoch(self)
        if self._n_ended_before is None:
            self._n_ended_before = self.n_ended()
        self.begin_transaction()
        self.send_outputs(outputs, deadline)
        if offsets:
            self.send_offsets_to_transaction(offsets, group_metadata)
        self.commit_transaction()
        if producer_epoch(self) != epoch:
            raise TransactionAbortedError("the producer's epoch changed during the transaction")

    def flush(self, timeout: float | None = None) -> None:
        """Send the queued records; do nothing once the producer is dropped."""
        if not self._is_dropped:
            super().flush(timeout)

    def drop(self) -> None:
        """Close at once, without sending or waiting.

        The client's own `close` flushes first, and does not close if that fails. The broker aborts the open
        transaction when the next producer with this transactional id starts, or at its timeout.
        """
        self._is_dropped = True
        self.close(timeout=0)


def producer_options(
    timeout_seconds: float, batch_bytes: int, *, compress: bool = False
) -> dict[str, object]:
    """Return the options of producers whose calls must succeed or fail within `timeout_seconds`."""
    return {
        "value_serializer": NullableSerializer(),
        "max_request_size": CLIENT_LIMIT.uncompressed_bytes if compress else CLIENT_LIMIT.n_bytes,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        # As large as the topics allow: each batch is a request and its response.
        "batch_size": batch_bytes,
        # The compression that every client can read without further packages.
        "compression_type": "gzip" if compress else None,
        # Longer than the deadline of a commit: the client is dropped before its records expire.
        "delivery_timeout_ms": int((timeout_seconds + REQUEST_TIMEOUT_SECONDS) * 2000),
        "retry_backoff_ms": _RETRY_MILLISECONDS,
        # Every call flushes; until then the sender should not send half-filled batches.
        "linger_ms": 1000,
    }
