"""The transactions of one partition: commit outputs and offsets together, or raise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any

from service.errors import (
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream import Output, Writer, topics_of
from service.transport.kafka.background_call import BackgroundCall
from service.transport.kafka.cluster import Producer
from service.transport.kafka.errors import hinted


class KafkaWriter(Writer):
    """The writer of one partition of one group, through whichever client.

    It is fenced twice: by its transactional id, which the next owner's writer takes over and thereby
    ends this one's open transaction at once, and by the group's generation, which goes with the offsets.

    Parameters
    ----------
    open_producer
        Opens the producer, which fences the one before it; its argument is `compress`.
    partition, where
        The partition, as a number and as messages name it.
    commit_timeout_seconds
        How long a commit may take.
    group_metadata
        Returns this member's present generation. A writer that commits no offsets needs none of these.
    still_owner
        Asks the group whether this member owns the partition still, and this is its newest writer.
    check_topics
        Raises `TopicMissing` for topics that do not exist.

    """

    def __init__(
        self,
        open_producer: Callable[..., Producer],
        *,
        partition: int,
        where: str,
        commit_timeout_seconds: float,
        group_metadata: Callable[[], Any] = lambda: None,
        still_owner: Callable[[KafkaWriter], bool] = lambda _: False,
        check_topics: Callable[[set[str]], None] = lambda _: None,
    ) -> None:
        self._open_producer = open_producer
        self._compresses = False
        self._producer: Producer | None = open_producer(compress=False)
        self._partition = partition
        self._where = where
        self._group_metadata = group_metadata
        self._still_owner = still_owner
        self._check_topics = check_topics
        self._found_topics: set[str] = set()
        self._commit_timeout_seconds = commit_timeout_seconds
        self._under_way: BackgroundCall | None = None
        self._topics: Collection[str] = ()
        """Of what is under way."""
        self._ended = _raised_again(
            TransactionFailed(f"{where}: the writer is closed", hint="make a new one")
        )

    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Let a thread commit `outputs` and `offsets`; see `Writer.begin`.

        What asks the group's member, whose clients belong to this thread, is done here.
        """
        self.finish()
        if self._producer is None:
            raise self._ended()
        if not outputs and not offsets:
            return
        self._topics = topics_of(outputs)
        self._look_for(self._topics)
        places = {(topic, self._partition): offset for topic, offset in offsets.items()}
        with self._ending_on_error():
            producer = self._producer_for(compress=compress)
            deadline = monotonic() + self._commit_timeout_seconds
            transact = partial(
                producer.transact,
                outputs,
                places,
                self._group_metadata(),
                deadline=deadline,
                where=self._where,
            )
            self._under_way = BackgroundCall(transact, deadline)

    def finish(self) -> None:
        """Wait for the thread that commits, if one does; see `Writer.finish`."""
        if self._under_way is None:
            return
        with self._ending_on_error():
            try:
                self._under_way.result()
            except TimeoutError as error:
                reason = f"{self._where}: the client does not end the transaction"
                raise hinted(TransportUnavailable, reason) from error
            self._under_way = None

    @property
    def is_committing(self) -> bool:
        """Whether the thread commits now; any thread may ask."""
        under_way = self._under_way
        return under_way is not None and under_way.is_running

    @contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        """Drop the producer after any error in the block, and say again why it was dropped.

        It is not repaired: what it believes about its transaction is then worth nothing, and a new one makes
        a clean start of it.
        """
        try:
            yield
        except MessageTooLarge as error:
            self._end(_placed(error, self._topics))
            raise self._ended() from error.__cause__
        except ServiceError as error:
            self._end(error)
            raise self._ended() from error.__cause__
        except BaseException:  # Ctrl-C in the middle of a transaction, which waits for nothing
            self._under_way = None
            self.close()
            raise

    def _producer_for(self, *, compress: bool) -> Producer:
        """Return the producer; a new one after any trouble, and to compress or not to.

        A request that the client has repeated may still be delivered, and would then belong to the next
        transaction (KIP-890). The new producer's epoch makes the broker refuse it.

        A client compresses all that it writes or nothing. To compress always would make small records
        dearer by a third; another producer takes 30 to 60 ms.
        """
        assert self._producer is not None
        if compress != self._compresses or self._producer.is_worn:
            self._producer.drop()
            self._producer = self._open_producer(compress=compress)
            self._compresses = compress
        return self._producer

    def _look_for(self, topics: set[str]) -> None:
        """Make sure that the topics exist, once per writer: a deleted one only ever shows as a timeout."""
        self._check_topics(topics - self._found_topics)
        self._found_topics |= topics

    def _end(self, error: ServiceError) -> None:
        self.close()
        # The broker has ended the transaction for taking too long: that fences, too.
        if isinstance(error, OwnershipLost) and self._still_owner(self):
            error = hinted(TransactionFailed, str(error))
        self._ended = _raised_again(error)

    def supersede(self) -> None:
        """Yield to a newer writer of the same partition in this process."""
        self._ended = _raised_again(OwnershipLost(f"{self._where}: a newer writer has taken over"))
        self.close()

    def close(self) -> None:
        """Drop the producer; an open transaction ends with the next writer, or in time."""
        if self._under_way is not None:
            self._under_way.wait()
            self._under_way = None
        if self._producer is not None:
            self._producer.drop()
            self._producer = None


def _raised_again(error: ServiceError) -> Callable[[], ServiceError]:
    """Return what makes the same error; itself, it would keep the frames of all that it has passed."""
    return partial(type(error), *error.lines, hint=error.hint)


def _placed(error: MessageTooLarge, topics: Collection[str]) -> MessageTooLarge:
    """Say which topics the records were for, as clients do not say for which one the record was."""
    names = ", ".join(sorted(topics))
    which = f"one of the topics {names}" if len(topics) > 1 else f"the topic {names}"
    return MessageTooLarge(
        f"{error}; the record was for {which}",
        hint="raise `max.message.bytes` of that topic, or send smaller messages",
    )
