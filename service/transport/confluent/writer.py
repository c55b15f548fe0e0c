"""One partition's transactions. In: outputs and offsets. Out: both committed, or an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from confluent_kafka import TopicPartition

from service.errors import OwnershipLost, ServiceError, TransactionFailed
from service.transport.base import Output
from service.transport.confluent.errors import FOREIGN, as_exception, translate
from service.transport.confluent.producer import BulkProducer
from service.transport.kafka import HINTS


class ConfluentWriter:
    """The transactional producer of one partition of one group.

    It is fenced twice: by its transactional id, which the next owner's writer takes over and thereby
    ends our open transaction at once, and by the group's generation, which goes with the offsets.

    Parameters
    ----------
    producer
        A producer with the partition's transactional id, its transactions initialised.
    partition, where
        The partition, as a number and as messages name it.
    group_metadata
        Gives this member's present generation.
    still_owner
        Asks the group whether this member owns the partition still, and this is its newest writer.
    check_topics
        Raises `TopicMissing` for topics that do not exist.
    commit_timeout_seconds
        What a commit may take.

    """

    def __init__(
        self,
        producer: BulkProducer,
        *,
        partition: int,
        where: str,
        group_metadata: Callable[[], Any],
        still_owner: Callable[[ConfluentWriter], bool],
        check_topics: Callable[[set[str]], None],
        commit_timeout_seconds: float,
    ) -> None:
        self._producer: BulkProducer | None = producer
        self._partition = partition
        self._where = where
        self._group_metadata = group_metadata
        self._still_owner = still_owner
        self._check_topics = check_topics
        self._found_topics: set[str] = set()
        self._commit_timeout_seconds = commit_timeout_seconds
        self._ended: ServiceError = TransactionFailed(f"{where}: the writer is closed", hint="make a new one")

    def commit(self, outputs: Sequence[Output], offsets: Mapping[str, int]) -> None:
        """Write `outputs` and the group's next offsets as one; see `Writer.commit`.

        After any error the producer is dropped, not repaired: a new one makes a clean start.
        """
        if self._producer is None:
            raise type(self._ended)(str(self._ended), hint=self._ended.hint)
        if not outputs and not offsets:
            return
        self._look_for({output.topic for output in outputs})
        positions = [TopicPartition(topic, self._partition, offset) for topic, offset in offsets.items()]
        deadline = monotonic() + self._commit_timeout_seconds
        try:
            self._producer.transact(outputs, positions, self._group_metadata(), deadline)
        except FOREIGN as error:
            self._fail(error)
            raise self._ended from as_exception(error)
        except BaseException:  # Ctrl-C in the middle of a transaction
            self.close()
            raise

    def _look_for(self, topics: set[str]) -> None:
        """Make sure that the topics exist, each writer anew: a deleted one only ever shows as a timeout."""
        self._check_topics(topics - self._found_topics)
        self._found_topics |= topics

    def _fail(self, error: object) -> None:
        failure = translate(error, self._where)
        self.close()
        # The broker has ended our transaction for taking too long: that fences, too.
        if isinstance(failure, OwnershipLost) and self._still_owner(self):
            failure = TransactionFailed(str(failure), hint=HINTS[TransactionFailed])
        self._ended = failure

    def supersede(self) -> None:
        """Give way to a newer writer of the same partition in this process."""
        self._ended = OwnershipLost(f"{self._where}: a newer writer has taken over")
        self.close()

    def serve(self) -> None:
        """Let the producer tell what it has to tell, while there is nothing to commit."""
        if self._producer is not None:
            self._producer.serve()

    def close(self) -> None:
        """Drop the producer; an open transaction ends with the next writer, or in time."""
        if self._producer is not None:
            self._producer.drop()
            self._producer = None
