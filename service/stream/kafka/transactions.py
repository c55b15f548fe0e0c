"""The transactions of one member, which commit the outputs and offsets of its writers together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from math import inf
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final

from service.errors import (
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    StorageFull,
    TransactionFailed,
    TransportUnavailable,
    raise_first,
)
from service.stream.batches import OutputBatch
from service.stream.kafka.cluster import Producer
from service.stream.kafka.errors import GenerationChanged, with_hint
from service.stream.kafka.limits import MOMENT_SECONDS, ClientOptions, seconds_left
from service.stream.protocol import Output, TopicPartition, Writer, topics_of

_GRACE_SECONDS: Final = 3 * MOMENT_SECONDS
"""How long a call may exceed its deadline, as each of its steps gets a grace period."""


class BackgroundCall:
    """Runs a call on a thread, and abandons it if it does not end by a deadline.

    librdkafka (2.16) was seen never to return from `send_offsets_to_transaction` when its broker was killed
    at that moment. Such a thread remains, with its client, until the process ends.

    Parameters
    ----------
    call
        The function to run.
    deadline
        Time of `time.monotonic`.

    """

    def __init__(self, call: Callable[[], None], deadline: float) -> None:
        self._call = call
        self._deadline = deadline
        self._failures: list[BaseException] = []
        self._is_given_up = False
        self._thread = Thread(target=self._run, name="commit", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            self._failures.append(error)

    def ends_within(self, seconds: float) -> bool:
        """Wait for at most `seconds`; return whether the call has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def wait(self) -> bool:
        """Wait for the end of the call; return whether it has ended.

        A call whose deadline passed while the process was frozen gets a grace period.
        """
        if not self._is_given_up:
            self._thread.join(seconds_left(self._deadline + _GRACE_SECONDS))
            self._thread.join(MOMENT_SECONDS)
            self._is_given_up = self._thread.is_alive()
        return not self._thread.is_alive()

    def result(self) -> None:
        """Wait for the end of the call.

        Raises
        ------
        TimeoutError
            It has not ended.
        BaseException
            The error of the call.

        """
        if not self.wait():
            raise TimeoutError
        raise_first(self._failures)


class KafkaWriter(Writer):
    """The writer of one partition of one group, with either client.

    It is fenced by the group's generation, which is sent with the offsets: the group rejects offsets of a
    removed member.

    Parameters
    ----------
    transactions
        Commits its outputs and offsets, together with the outputs and offsets of other writers.
    partition, where
        The number of the partition, and its name in messages.
    owns_transactions
        Whether to close the transactions with the writer.
    still_owner
        Asks the group whether this member still owns the partition, and this is its newest writer.
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
        self._part: TransactionPart | None = None
        self._ended: ServiceError | None = None
        """The error that ended this writer."""

    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Add `outputs` and `offsets` to the next transaction; see `Writer.begin`."""
        self.finish()
        if self._ended is not None:
            raise self._ended.copied()
        if not outputs and not offsets:
            return
        topics = topics_of(outputs)
        try:
            # Once per writer: a deleted topic would only show as a timeout.
            self._check_topics(topics - self._found_topics)
        except ServiceError as error:
            raise self._end(error) from error.__cause__
        self._found_topics |= topics
        partitions = {(topic, self._partition): offset for topic, offset in offsets.items()}
        self._part = TransactionPart(self._partition, outputs, partitions, compress)
        self._transactions.add(self._part)

    def finish(self) -> None:
        """Wait for the end of the transaction; see `Writer.finish`."""
        if self._part is None:
            return
        part, self._part = self._part, None
        try:
            self._transactions.finish(part)
        except ServiceError as error:
            raise self._end(error) from error.__cause__

    def _end(self, error: ServiceError) -> ServiceError:
        """End the writer; return the error that it raises from now on."""
        # A broker that aborts a transaction for taking too long fences the producer, too.
        if isinstance(error, OwnershipLost) and self._still_owner(self):
            error = with_hint(TransactionFailed, str(error))
        self._ended = error.copied()
        return self._ended.copied()

    def supersede(self) -> None:
        """End this writer in favour of a newer writer of the same partition in this process."""
        self._end_quietly(OwnershipLost(f"{self._where}: a newer writer has taken over"))

    def close(self) -> None:
        """Wait for the commit that was begun; see `Writer.close`."""
        self._end_quietly(TransactionFailed(f"{self._where}: the writer is closed", hint="open a new one"))
        if self._owns_transactions:
            self._transactions.close()

    def _end_quietly(self, error: ServiceError) -> None:
        with suppress(ServiceError):  # then the outcome is unknown
            self.finish()
        self._ended = self._ended or error


_ASK_AGAIN_SECONDS: Final = 0.01
_SHARING_SECONDS: Final = 2.0
"""How long to wait for a rebalance before the transaction fails, and how often to retry sending the offsets
meanwhile."""
_NAMED: Final = 4
"""How many partitions a message lists."""
_OF_THE_STREAM: Final = (StorageFull, TransportUnavailable)
"""Errors that no single partition causes."""


@dataclass(eq=False, slots=True)
class TransactionPart:
    """One writer's part of a transaction, and its result."""

    partition: int
    outputs: Sequence[Output]
    offsets: Mapping[TopicPartition, int]
    compress: bool
    errors: list[ServiceError] = field(default_factory=list)


class Transactions:
    """Commits parts of several partitions in one transaction, on a separate thread.

    A failed transaction fails for all its partitions. If one of them may be the cause, each partition uses
    separate transactions until it has committed.

    Offsets are sent with the group's present generation, and the group rejects those of a removed member. If
    the generation changes while this member keeps its partitions, the same parts are sent again without a
    failure.

    Parameters
    ----------
    open_producer
        Opens the producer, which ends a transaction that the previous one left undecided; its arguments are
        the options and `compress`.
    topic
        The leading topic, for messages.
    options
        Timeouts of transactions after a failure.
    first_options
        Timeouts of transactions before any failure.
    has_own_id
        Whether the transactional id is unique to this process. Otherwise a reopened producer may fence its
        successor.
    group_metadata
        Returns this member's present generation; raises `OwnershipLost` if it has none.

    """

    def __init__(
        self,
        open_producer: Callable[..., Producer],
        *,
        topic: str,
        options: ClientOptions,
        first_options: ClientOptions | None = None,
        has_own_id: bool = True,
        group_metadata: Callable[[], Any] = lambda: None,
    ) -> None:
        self._open_producer = open_producer
        self._topic = topic
        self._failed_options = options
        self._options = self._first_options = first_options or options
        self._has_own_id = has_own_id
        self._group_metadata = group_metadata
        self._are_one = bool(options.owner_topic)
        """Whether parts are always committed together, even after a failure."""
        self._producer: Producer | None = None
        self._compresses = False
        self._added: list[TransactionPart] = []
        self._sent: list[TransactionPart] = []
        self._under_way: BackgroundCall | None = None
        self._rejected: list[tuple[Sequence[TransactionPart], ServiceError]] = []
        """Groups of parts to send again because the generation changed."""
        self._apart: set[int] = set()
        """Partitions that use separate transactions until they commit."""

    def add(self, part: TransactionPart) -> None:
        """Add a part to the next transaction."""
        self._added.append(part)

    def renew(self) -> None:
        """After a failure, open a new producer, so that nothing is undecided. Raises `ServiceError`."""
        self.wait()
        self._ready(compress=self._compresses)

    def send(self) -> None:
        """Wait for the last transaction, then begin one with the added parts."""
        self.wait()
        self._sent, self._added = self._added, []
        if self._sent:
            self._start([list(parts) for _, parts in groupby(sorted(self._sent, key=self._set), self._set)])

    def _start(self, groups: Sequence[Sequence[TransactionPart]]) -> None:
        """Commit groups of parts on a thread; first ask the member, on its own thread, for its generation."""
        try:
            metadata = self._group_metadata()
        except ServiceError as error:
            for parts in groups:
                self._fail(parts, error)
            return
        deadline = monotonic() + self._options.commit_timeout_seconds * len(groups)
        self._under_way = BackgroundCall(partial(self._commit_each, groups, metadata, self._sent), deadline)

    def _set(self, part: TransactionPart) -> tuple[int, bool]:
        """Return the key that parts of one transaction share."""
        return (part.partition if part.partition in self._apart else -1, part.compress)

    def finish(self, part: TransactionPart) -> None:
        """Wait for the end of a part's transaction, and begin it if necessary. Raises `ServiceError`."""
        if part in self._added:
            self.send()
        if part in self._sent:
            self.wait()
        raise_first(part.errors)

    def wait(self) -> None:
        """Wait for the end of the transaction under way, if any.

        Parts that were rejected for their generation are sent again for a while, with the present one.
        """
        until = inf
        while self._under_way is not None:
            self._await_call(self._under_way)
            rejected, self._rejected = self._rejected, []
            if rejected and monotonic() < until:
                until = min(until, monotonic() + _SHARING_SECONDS)
                sleep(_ASK_AGAIN_SECONDS)
                self._start([parts for parts, _ in rejected])
            else:
                for parts, error in rejected:
                    self._fail(parts, error)
        self._sent = []

    def _await_call(self, call: BackgroundCall) -> None:
        self._under_way = None
        try:
            call.result()
        except TimeoutError as stuck:
            sent, self._sent = self._sent, []
            error = with_hint(
                TransportUnavailable, f"{self._where(sent)}: the client did not end the transaction"
            )
            error.__cause__ = stuck
            self._fail(sent, error)
        except BaseException:  # Ctrl-C during a transaction: do not wait for it
            self.drop()
            raise

    def _commit_each(
        self, groups: Iterable[Sequence[TransactionPart]], metadata: object, sent: Sequence[TransactionPart]
    ) -> None:
        """Commit each group of the `sent` parts; stop if the call was abandoned meanwhile."""
        for parts in groups:
            try:
                self._commit(parts, metadata)
            except ServiceError as error:
                if self._sent is not sent:
                    return
                if isinstance(error, GenerationChanged):
                    self._rejected.append((parts, error))
                else:
                    self._fail(parts, error)
            else:
                self._apart.difference_update(part.partition for part in parts)
                self._options = self._first_options

    def _commit(self, parts: Sequence[TransactionPart], metadata: Any) -> None:  # noqa: ANN401 - the client's
        self._ready(compress=parts[0].compress).transact(
            _joined(parts),
            dict(chain.from_iterable(each.offsets.items() for each in parts)),
            metadata,
            deadline=monotonic() + self._options.commit_timeout_seconds,
            where=self._where(parts),
        )

    def _fail(self, parts: Sequence[TransactionPart], error: ServiceError) -> None:
        """Drop the producer after an error, and set the error of each part.

        The producer is not reused: its idea of the transaction may be wrong, and a new producer aborts the
        transaction. It is opened at once if the stream answers, because until then readers of committed
        records stop at the aborted outputs.
        """
        self.drop()
        self._options = self._failed_options
        is_one = len(parts) == 1 or self._are_one
        if not (is_one or isinstance(error, _OF_THE_STREAM)):
            self._apart.update(part.partition for part in parts)
        if isinstance(error, MessageTooLarge):
            error = _placed(error, topics_of(parts[0].outputs)) if is_one else _of_one(error)
        for part in parts:
            part.errors.append(error)
        if self._has_own_id and not isinstance(error, _OF_THE_STREAM):
            with suppress(ServiceError):
                self._ready(compress=self._compresses)

    def _ready(self, *, compress: bool) -> Producer:
        """Return the producer: a new one after an error, or to turn compression on or off.

        A request that the client has repeated may still be delivered, and would then affect the next
        transaction (KIP-890). The new producer's epoch makes the broker reject it.

        A producer compresses everything or nothing. Compression would make small records cost a third more; a
        new producer takes 30 to 60 ms.
        """
        if self._producer is not None and (compress != self._compresses or self._producer.needs_replacement):
            self.drop()
        if self._producer is None:
            self._producer = self._open_producer(self._options, compress=compress)
            self._compresses = compress
        return self._producer

    def drop(self) -> None:
        """Drop the producer; the next one, or a timeout, ends an open transaction. Idempotent."""
        if self._producer is not None:
            self._producer.drop()
            self._producer = None

    def close(self) -> None:
        """Wait for the transaction under way, then drop the producer. Idempotent."""
        self.wait()
        self.drop()

    def _where(self, parts: Sequence[TransactionPart]) -> str:
        numbers = sorted(part.partition for part in parts)
        more = "" if len(numbers) <= _NAMED else f" and {len(numbers) - _NAMED} more"
        return f"{self._topic}[{','.join(map(str, numbers[:_NAMED]))}{more}]"


def _joined(parts: Sequence[TransactionPart]) -> Sequence[Output]:
    """Return the outputs of all parts, in order."""
    if len(parts) == 1:
        return parts[0].outputs
    outputs = OutputBatch()
    for part in parts:
        outputs.extend(part.outputs)
    return outputs


def _of_one(error: MessageTooLarge) -> TransactionFailed:
    """Return the error for several partitions, one of which has a record that is too large."""
    return with_hint(TransactionFailed, f"{error}; committing each partition separately from now on")


def _placed(error: MessageTooLarge, topics: Collection[str]) -> MessageTooLarge:
    """Add the topics of the records to the error, as clients do not report the record's topic."""
    names = ", ".join(sorted(topics))
    which = f"one of the topics {names}" if len(topics) > 1 else f"the topic {names}"
    placed = MessageTooLarge(
        f"{error}; the record was for {which}",
        hint="raise `max.message.bytes` of that topic, or send smaller messages",
    )
    placed.__cause__ = error.__cause__
    return placed
