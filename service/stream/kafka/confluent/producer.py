"""librdkafka's producer: transactions of records sent in bulk.

Nothing has to be added to make a commit certain: a commit that librdkafka reports has happened, and every
step takes a time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from service.stream.kafka.confluent.errors import FOREIGN, hides_fatal_error, translated
from service.stream.kafka.confluent.messages import produce_each
from service.stream.kafka.confluent.questions import LIBRDKAFKA_LOG, QUESTION_SECONDS, Questions
from service.stream.kafka.errors import GenerationChanged
from service.stream.kafka.limits import (
    CLIENT_LIMIT,
    MOMENT_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    ClientOptions,
    seconds_left,
    transaction_request_seconds,
)
from service.stream.kafka.transactions import BackgroundCall
from service.stream.protocol import Output, TopicPartition

PATIENCE_SECONDS: Final = 0.3
"""How long a step may take before the coordinator is queried: longer than usual, short for an outage."""
# What librdkafka's log says when a connection has broken, or a request was not answered in time; and when no
# connection came about, so that no request was under way.
_FAILURES: Final = frozenset({"FAIL", "REQTMOUT"})
_NEVER_CONNECTED: Final = "Connect to"


class ConnectionLog:
    """A logger for one client, which notes failures of its connections.

    librdkafka (2.16) repeats what was under way there, and tells of it in no other way. Of the same failure
    it reports once in 30 s, so a noted failure is not forgotten.

    Attributes
    ----------
    has_failure : bool
        Whether a connection has broken or did not come about.
    has_broken : bool
        Whether one has broken: a request may have been under way.

    """

    def __init__(self) -> None:
        self.has_failure = self.has_broken = False

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line, as `logging.Logger.log` does."""
        if words[0] in _FAILURES:
            self.has_failure = True
            self.has_broken |= _NEVER_CONNECTED not in words[-1]
        LIBRDKAFKA_LOG.log(level, form, *words)


def coordinator_answers(cluster: Questions, group: str) -> bool:
    """Return whether a group's coordinator answers a client that knew none before; any thread may ask."""
    client = cluster.client(AdminClient, {})
    try:
        futures = client.describe_consumer_groups([group], request_timeout=QUESTION_SECONDS)
        futures[group].result(MOMENT_SECONDS)
    except (TimeoutError, *FOREIGN):
        return False
    return True


def do_step(step: Callable[[float], None], deadline: float) -> None:
    """Run a step that takes a time limit; one that was not done in time continues for a moment."""
    try:
        step(seconds_left(deadline))
    except KafkaException as error:
        if error.args[0].code() != KafkaError._TIMED_OUT:  # noqa: SLF001 - published so
            raise
        step(MOMENT_SECONDS)


def do_with_coordinator(
    step: Callable[[], None],
    deadline: float,
    *,
    has_failure: Callable[[], bool],
    answers: Callable[[], bool],
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Run a step on a thread of its own; give it up when the coordinator answers others and not this client.

    A step that is given up ends with its client: the next producer of the transactional id fences it.

    Parameters
    ----------
    step
        What to do.
    deadline
        By `time.monotonic`.
    has_failure
        Whether a connection of the client has failed; if none has, brokers are just slow.
    answers
        Whether the coordinator answers others.
    patience_seconds
        How long the step may take before the coordinator is queried, and again once it has answered.

    Raises
    ------
    KafkaException
        The step is stuck.

    """
    call = BackgroundCall(step, deadline)
    while not call.ends_within(patience_seconds) and seconds_left(deadline):
        if has_failure() and answers() and not call.ends_within(patience_seconds):
            reason = "the group's coordinator has changed, and the client has not found it yet"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, reason))  # noqa: SLF001 - published so
    call.result()


# What becomes of records that were not refused, in a transaction that another one has failed.
_PURGED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001 - published so


class BulkProducer:
    """A producer whose every step ends: with success, with an error, or at its deadline.

    Parameters
    ----------
    cluster
        Where the client comes from.
    options
        How long deliveries and transactions may take, and how large batches may be.
    transactional_id
        Whose transactions they are. Without an id there are none.
    compress
        Whether to compress batches.
    failed
        The transactional ids whose last commit failed: their next one asks about each record, since
        librdkafka does not say otherwise why one was not delivered.
    coordinator_answers
        Asks whether the coordinator of the group whose offsets are committed answers others.

    """

    def __init__(
        self,
        cluster: Questions,
        options: ClientOptions,
        *,
        transactional_id: str = "",
        compress: bool = False,
        failed: set[str] | None = None,
        coordinator_answers: Callable[[], bool] = lambda: False,
    ) -> None:
        self._failures: list[KafkaError] = []
        self._log = ConnectionLog()
        given = _options(options.limits.batch_bytes, compress=compress) | {"on_delivery": self._note}
        seconds = options.commit_timeout_seconds
        if transactional_id:
            given |= _transaction_options(transactional_id, options.transaction_timeout_seconds, seconds)
        else:
            # Longer than the deadline of a call: expiry inside the client is untidy, we drop it before.
            given["delivery.timeout.ms"] = int((seconds + REQUEST_TIMEOUT_SECONDS) * 2000)
        self._transactional_id = transactional_id
        self._failed = set() if failed is None else failed
        self._coordinator_answers = coordinator_answers
        self._client: Producer | None = cluster.client(Producer, given, self._log)

    def _note(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failures.append(error)

    @property
    def _reason(self) -> KafkaError | None:
        """Why the first record was refused, as far as is known; the others are purged, without a reason."""
        return next((each for each in self._failures if each.code() not in _PURGED), None)

    @property
    def is_worn(self) -> bool:
        """Whether a connection broke; see `Producer.is_worn`."""
        self.serve()
        return self._log.has_broken

    def _has_failure(self) -> bool:
        """Return whether a connection has failed."""
        self.serve()
        return self._log.has_failure

    def init_transactions(self) -> None:
        """Fence the previous producer; see `Producer.init_transactions`."""
        self._open_client.init_transactions(REQUEST_TIMEOUT_SECONDS)

    def send_outputs(self, outputs: Sequence[Output], deadline: float) -> None:
        """Write `outputs` and see each of them acknowledged."""
        produce_each(self._open_client.produce, outputs)
        self._flush(outputs, deadline)

    def _flush(self, outputs: Sequence[Output], deadline: float) -> None:
        """Wait for all acknowledgements; once a connection has failed, ask who leads the topics meanwhile.

        librdkafka (2.16) asks once a second by itself, and needs two answers: at the first it only takes the
        partitions from a broker that is gone.
        """
        client = self._open_client
        while left := client.flush(min(PATIENCE_SECONDS, seconds_left(deadline))):
            if not seconds_left(deadline):
                left = client.flush(MOMENT_SECONDS)
                break
            for topic in {output.topic for output in outputs} if self._has_failure() else ():
                with suppress(*FOREIGN):
                    client.list_topics(topic, PATIENCE_SECONDS)
        if self._failures:
            raise KafkaException(self._reason or self._failures[0])
        if left:
            reason = f"{left} records were not acknowledged in time"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, reason))  # noqa: SLF001 - published so

    def transact(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[TopicPartition, int],
        group_metadata: Any,  # noqa: ANN401 - opaque
        *,
        deadline: float,
        where: str,
    ) -> None:
        """Commit `outputs` and `offsets` as one; see `Producer.transact`.

        The steps, in this order:

        1. send, and see every record acknowledged;
        2. hand the offsets to the transaction, fenced by the group's generation;
        3. commit.

        What is refused for its generation is aborted: a new producer would find the transaction open, and
        librdkafka asks only half a second later whether that has changed.
        """
        name = self._transactional_id
        next_offsets = [ClientPartition(*place, offset, name) for place, offset in offsets.items()]
        client = self._open_client
        try:
            with translated(where), self._noting_failure(), self._asking_for_lost_error():
                client.begin_transaction()
                self._send_in_transaction(outputs, deadline)
                if next_offsets:
                    self._hand_over(next_offsets, group_metadata, deadline)
                do_step(client.commit_transaction, deadline)
        except GenerationChanged:
            try:
                do_step(client.abort_transaction, deadline)
            except FOREIGN:
                self._log.has_broken = True
            else:
                self._failed.discard(name)
            raise

    def _hand_over(
        self,
        offsets: Sequence[ClientPartition],
        group_metadata: Any,  # noqa: ANN401 - opaque
        deadline: float,
    ) -> None:
        """Hand the group's next offsets to the transaction; be patient if the last one has failed already."""
        has_failed = self._transactional_id in self._failed
        step = partial(self._open_client.send_offsets_to_transaction, offsets, group_metadata)
        do_with_coordinator(
            partial(do_step, step, deadline),
            deadline,
            has_failure=self._has_failure,
            answers=self._coordinator_answers,
            patience_seconds=seconds_left(deadline) / 3 if has_failed else PATIENCE_SECONDS,
        )

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Note whether the transaction in the block fails."""
        try:
            yield
        except BaseException:
            self._failed.add(self._transactional_id)
            raise
        self._failed.discard(self._transactional_id)

    @contextmanager
    def _asking_for_lost_error(self) -> Iterator[None]:
        """Ask which fatal error has failed a call that does not say so: `abort_transaction` raises it."""
        try:
            yield
        except (SystemError, KafkaException) as error:
            if hides_fatal_error(error):
                self._open_client.abort_transaction(MOMENT_SECONDS)
            raise

    def _send_in_transaction(self, outputs: Sequence[Output], deadline: float) -> None:
        try:
            self.send_outputs(outputs, deadline)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._STATE:  # noqa: SLF001 - published so
                self._raise_reason(deadline)
            raise

    def _raise_reason(self, deadline: float) -> None:
        """Raise the error that failed the transaction: no more records are accepted, as one was refused."""
        client, until = self._open_client, monotonic() + MOMENT_SECONDS
        while (why := self._reason) is None and (left := seconds_left(until)):
            client.poll(left)
        if why is not None:
            raise KafkaException(why)
        do_step(client.commit_transaction, deadline)

    @property
    def _open_client(self) -> Producer:
        if self._client is None:
            raise RuntimeError("the producer is closed")
        return self._client

    def serve(self) -> None:
        """Poll the client while nothing is sent, or its log lines would pile up."""
        if self._client is not None:
            with suppress(*FOREIGN):
                self._client.poll(0)

    def drop(self) -> None:
        """Close at once: nothing more is sent, nothing is waited for. Idempotent.

        The broker ends the open transaction when the next producer of this transactional id begins, or in
        time.
        """
        if self._client is not None:
            with suppress(*FOREIGN):
                self._client.purge(blocking=False)
                self._client.poll(0)
            self._client = None  # the last reference: librdkafka ends its threads


def _options(batch_bytes: int, *, compress: bool) -> dict[str, object]:
    return {
        "enable.idempotence": True,
        # Kafka's default partitioner: `partition_for_key`.
        "partitioner": "murmur2_random",
        "message.max.bytes": CLIENT_LIMIT.uncompressed_bytes if compress else CLIENT_LIMIT.n_bytes,
        "batch.size": batch_bytes,
        # What every client that comes with Python alone can read.
        "compression.type": "gzip" if compress else "none",
        # Every call flushes; until then the broker's thread should not take half-filled batches.
        "linger.ms": 500,
        # The caller has all records in memory already: there is nothing to push back.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2_147_483_647,
        # A call into Python for each record that went well would take longer than to produce it.
        "delivery.report.only.error": True,
    }


def _transaction_options(
    transactional_id: str, transaction_timeout_seconds: float, timeout_seconds: float
) -> dict[str, object]:
    timeout_ms = int(transaction_timeout_seconds * 1000)
    answer_ms = int(transaction_request_seconds(timeout_seconds) * 1000)
    return {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
        # librdkafka wants it to be no longer than the transaction's.
        "socket.timeout.ms": min(timeout_ms, answer_ms),
        # Else the log would not show a connection that breaks. An idle one ends without a line.
        "log.connection.close": True,
    }
