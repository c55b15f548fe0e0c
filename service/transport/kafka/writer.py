"""The writer of one partition: adds what it commits to the transactions of its member."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from service.errors import OwnershipLost, ServiceError, TransactionFailed
from service.stream import Output, Writer, topics_of
from service.transport.kafka.errors import hinted
from service.transport.kafka.transactions import Part, Transactions


class KafkaWriter(Writer):
    """The writer of one partition of one group, through whichever client.

    It is fenced by the group's generation, which goes with the offsets: the group refuses those of a member
    that it has put out.

    Parameters
    ----------
    transactions
        Commit what it begins, together with what other writers have begun.
    partition, where
        The partition, as a number and as messages name it.
    owns_transactions
        Whether to close them with the writer.
    still_owner
        Asks the group whether this member owns the partition still, and this is its newest writer.
    check_topics
        Raises `TopicMissing` for topics that do not exist.

    """

    def __init__(
        self,
        transactions: Transactions,
        *,
        partition: int,
        where: str,
        owns_transactions: bool = False,
        still_owner: Callable[[KafkaWriter], bool] = lambda _: False,
        check_topics: Callable[[set[str]], None] = lambda _: None,
    ) -> None:
        self._transactions = transactions
        self._partition = partition
        self._where = where
        self._owns_transactions = owns_transactions
        self._still_owner = still_owner
        self._check_topics = check_topics
        self._found_topics: set[str] = set()
        self._part: Part | None = None
        self._ended: ServiceError | None = None
        """Makes the error that has ended this writer."""

    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Add `outputs` and `offsets` to the next transaction; see `Writer.begin`."""
        self.finish()
        if self._ended is not None:
            raise self._ended.copied()
        if not outputs and not offsets:
            return
        topics = topics_of(outputs)
        try:
            # Once per writer: a deleted one only ever shows as a timeout.
            self._check_topics(topics - self._found_topics)
        except ServiceError as error:
            raise self._end(error) from error.__cause__
        self._found_topics |= topics
        places = {(topic, self._partition): offset for topic, offset in offsets.items()}
        self._part = Part(self._partition, outputs, places, compress)
        self._transactions.add(self._part)

    def finish(self) -> None:
        """Wait for the end of the transaction with what was begun; see `Writer.finish`."""
        if self._part is None:
            return
        part, self._part = self._part, None
        try:
            self._transactions.finish(part)
        except ServiceError as error:
            raise self._end(error) from error.__cause__

    def _end(self, error: ServiceError) -> ServiceError:
        """Use the writer no more; return what it raises from now on."""
        # The broker has ended the transaction for taking too long: that fences, too.
        if isinstance(error, OwnershipLost) and self._still_owner(self):
            error = hinted(TransactionFailed, str(error))
        self._ended = error.copied()
        return self._ended.copied()

    def supersede(self) -> None:
        """Yield to a newer writer of the same partition in this process."""
        self._end_quietly(OwnershipLost(f"{self._where}: a newer writer has taken over"))

    def close(self) -> None:
        """Let what was begun end; see `Writer.close`."""
        self._end_quietly(TransactionFailed(f"{self._where}: the writer is closed", hint="make a new one"))
        if self._owns_transactions:
            self._transactions.close()

    def _end_quietly(self, error: ServiceError) -> None:
        with suppress(ServiceError):  # then it is not committed, as far as anybody knows
            self.finish()
        self._ended = self._ended or error
