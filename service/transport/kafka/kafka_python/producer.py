"""kafka-python's producer, with the deadlines and the certainty that it lacks.

A commit either has happened or raises an error; it never waits without end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafka import KafkaProducer, Serializer
from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    StaleMetadata,
    TransactionAbortedError,
    UnknownError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from service.errors import TransactionFailed, TransportError, TransportUnavailable
from service.partitioner import partition_for_key
from service.stream import Output, Place
from service.transport.kafka.errors import hinted
from service.transport.kafka.kafka_python.connections import Connections
from service.transport.kafka.kafka_python.errors import translate
from service.transport.kafka.limits import (
    CLIENT_LIMIT,
    MOMENT_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    seconds_left,
)

# After a commit, the broker is busy with the transaction's markers for some milliseconds, and answers the
# first request of the next one with "concurrent transactions, try again": the default would wait 100.
_RETRY_MILLISECONDS: Final = 5
_NO_VALUE: Final = object()


class NullableSerializer(Serializer):  # type: ignore[misc] # kafka-python has no types
    """Writes records with neither key nor value, which kafka-python refuses to send.

    The protocol has such records, and the dead letters of those that other clients send have to be written.
    """

    def serialize(self, topic: str, headers: object, data: object) -> object:  # noqa: ARG002 - as the client calls it
        """Return the bytes of a value."""
        return None if data is _NO_VALUE else data


class DeadlineProducer(KafkaProducer):  # type: ignore[misc] # kafka-python has no types
    """A `KafkaProducer` whose every step ends: with success, with an error, or at its deadline.

    It rests on attributes that kafka-python does not publish; see `private`.
    """

    connections: Connections
    """Set by `Cluster.open`."""

    _n_ended_before: int | None = None

    @property
    def is_worn(self) -> bool:
        """Whether a connection broke since the first transaction, or one failed; see `Producer.is_worn`."""
        return self._n_ended_before not in {None, self.connections.n_ended}

    def send_outputs(self, outputs: Iterable[Output], deadline: float) -> None:
        """Write `outputs` and see each of them acknowledged."""
        sent = self._hand_over(outputs)
        # A batch that had to be split counts as an unknown error here, and one whose answer came while the
        # process was frozen as a late one; what was sent knows better.
        with contextlib.suppress(UnknownError, KafkaTimeoutError):
            self.flush(timeout=seconds_left(deadline))
        for future in sent:
            # flush() only logs what failed: an unchecked batch is records lost without a word.
            future.get(timeout=max(MOMENT_SECONDS, seconds_left(deadline)))

    def _hand_over(self, outputs: Iterable[Output]) -> Sequence[Any]:
        """Give records to the client; return futures that are done once all records are acknowledged."""
        return [self.send(**self._arguments(output)) for output in outputs]

    def _arguments(self, output: Output) -> dict[str, object]:
        topic, key, value, headers, partition, timestamp_ms = output
        count = self._n_partitions(topic)
        chosen = partition_for_key(key, count) if partition is None else partition
        if not 0 <= chosen < count:
            raise StaleMetadata(f"{topic} has no partition {chosen} yet")
        return {
            "topic": topic,
            "value": _NO_VALUE if value is None else value,
            "key": key,
            "headers": list(headers),
            "partition": chosen,
            "timestamp_ms": timestamp_ms,
        }

    def _n_partitions(self, topic: str) -> int:
        return len(self.partitions_for(topic))

    def transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[Place, int],
        group_metadata: Any,  # noqa: ANN401 - kafka-python has no types
        *,
        deadline: float,
        where: str,
    ) -> None:
        """Commit `outputs` and `offsets` as one; see `Producer.transact`."""
        name = self.config["transactional_id"]
        next_offsets = {
            TopicPartition(*place): OffsetAndMetadata(offset, name, -1) for place, offset in offsets.items()
        }
        try:
            self._transact(outputs, next_offsets, group_metadata, deadline)
        except Exception as error:  # noqa: BLE001 - raised again, translated
            self._n_ended_before = -1
            failure = translate(self._reason or error, where)
            silent = self.connections.silent_brokers()
            if isinstance(failure, TransportUnavailable) and silent:
                failure = hinted(TransportUnavailable, f"{failure}; no answer from {', '.join(silent)}")
            # What it did not expect, kafka-python reports as a bare KafkaError: it ended the transaction.
            if type(failure) is TransportError and isinstance(error, KafkaError):
                failure = hinted(TransactionFailed, str(failure))
            try:
                raise failure from error
            finally:
                del failure  # its traceback leads to this frame, and to those of all who wait

    def _transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[Any, Any],
        group_metadata: Any,  # noqa: ANN401 - kafka-python has no types
        deadline: float,
    ) -> None:
        """Commit the transaction in steps, in this order.

        1. hand the offsets to the transaction, fenced by the group's generation;
        2. send, and see every record acknowledged, and the offsets;
        3. commit, and make sure that it was this transaction.

        Step 3 alone would not do. When a batch fails while a commit flushes it (INVALID_PRODUCER_EPOCH,
        OUT_OF_ORDER_SEQUENCE), the client requests a new epoch, which aborts the transaction at the broker,
        then finds no transaction to end and reports success. So nothing may be in flight when the commit
        begins (2), and an epoch that has changed meanwhile means that the transaction is gone (3). The
        offsets go first because the broker accepts them while the records are still being packed.
        """
        transaction = self._transaction_manager
        epoch = transaction.producer_id_and_epoch
        if self._n_ended_before is None:
            self._n_ended_before = self.connections.n_ended
        self.begin_transaction()
        handed = transaction.send_offsets_to_transaction(offsets, group_metadata) if offsets else None
        self._sender.wakeup()
        self.send_outputs(outputs, deadline)
        if handed is not None:
            self._await(handed, deadline)
        self._await(transaction.begin_commit(), deadline)
        if transaction.producer_id_and_epoch != epoch:
            raise TransactionAbortedError("the producer's epoch changed during the transaction")

    def _await(self, result: Any, deadline: float) -> None:  # noqa: ANN401 - kafka-python has no types
        """Wait as send_offsets_to_transaction() and commit_transaction() do, but with a time limit."""
        self._sender.wakeup()
        if not any(result.wait(timeout_ms=1000 * each) for each in (seconds_left(deadline), MOMENT_SECONDS)):
            raise KafkaTimeoutError("no answer to a step of the commit")

    @property
    def _reason(self) -> Exception | None:
        """The error that stopped the transactions, where an exception only says that one did."""
        found = self._transaction_manager.last_error if self._transaction_manager else None
        return found if isinstance(found, KafkaError) else None

    def drop(self) -> None:
        """Close at once: nothing more is sent, nothing is waited for.

        `close(timeout=0)` would first flush, and raise when that fails. The broker ends the open
        transaction when the next producer of this transactional id begins, or in time.
        """
        self._unregister_cleanup()
        self._closed = True
        self._sender.force_close()


def producer_options(
    timeout_seconds: float, batch_bytes: int, *, compress: bool = False
) -> dict[str, object]:
    """Return the options of producers that have to have finished, or failed, after `timeout_seconds`."""
    return {
        "value_serializer": NullableSerializer(),
        "max_request_size": CLIENT_LIMIT.uncompressed_bytes if compress else CLIENT_LIMIT.n_bytes,
        "allow_auto_create_topics": False,
        "metrics_enabled": False,
        # As large as the topics allow: each batch is a request and its answer.
        "batch_size": batch_bytes,
        # What every client that comes with Python alone can read.
        "compression_type": "gzip" if compress else None,
        "max_block_ms": int(timeout_seconds * 1000),
        # Longer than the deadline of a commit: expiry inside the client is untidy, we drop it before.
        "delivery_timeout_ms": int((timeout_seconds + REQUEST_TIMEOUT_SECONDS) * 2000),
        "retry_backoff_ms": _RETRY_MILLISECONDS,
        # Every call flushes; until then the sender's thread should not take half-filled batches.
        "linger_ms": 1000,
    }
