"""librdkafka's producer: transactions of records sent in bulk.

A commit that librdkafka reports has happened, and every step has a time limit.
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

from service.stream.kafka.confluent.admin_requests import ADMIN_REQUEST_SECONDS, LIBRDKAFKA_LOG, AdminRequests
from service.stream.kafka.confluent.errors import FOREIGN, hides_fatal_error, translated
from service.stream.kafka.confluent.messages import produce_each
from service.stream.kafka.errors import GenerationChanged
from service.stream.kafka.limits import (
    CLIENT_LIMIT,
    CONNECT_TIMEOUT_SECONDS,
    MOMENT_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    ClientOptions,
    seconds_left,
    transaction_request_seconds,
)
from service.stream.kafka.transactions import BackgroundCall
from service.stream.protocol import Output, TopicPartition

PATIENCE_SECONDS: Final = 0.3
"""How long a step may take before the coordinator is queried: longer than usual, shorter than an outage."""
# Words in librdkafka's log for a broken connection or an unanswered request; and for a failed connection
# attempt, when no request was under way.
_FAILURES: Final = frozenset({"FAIL", "REQTMOUT"})
_NEVER_CONNECTED: Final = "Connect to"


class ConnectionLog:
    """A logger of one client that notes failures of its connections.

    librdkafka (2.16) repeats the requests under way there, and reports that only in its log. It reports the
    same failure once in 30 s, so a noted failure is never reset.

    Attributes
    ----------
    has_failure : bool
        Whether a connection has broken or could not be opened.
    has_broken : bool
        Whether a connection has broken: a request may have been under way.

    """

    def __init__(self) -> None:
        self.has_failure = self.has_broken = False

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line, as `logging.Logger.log` does."""
        if words[0] in _FAILURES:
            self.has_failure = True
            self.has_broken |= _NEVER_CONNECTED not in words[-1]
        LIBRDKAFKA_LOG.log(level, form, *words)


def coordinator_answers(cluster: AdminRequests, group: str) -> bool:
    """Return whether a group's coordinator answers a new client. Called on any thread."""
    client = cluster.client(AdminClient, {})
    try:
        futures = client.describe_consumer_groups([group], request_timeout=ADMIN_REQUEST_SECONDS)
        futures[group].result(MOMENT_SECONDS)
    except (TimeoutError, *FOREIGN):
        return False
    return True


def do_step(step: Callable[[float], None], deadline: float) -> None:
    """Run a step with a time limit; after it, the step gets a grace period."""
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
    """Run a step on a thread; abandon it if the coordinator answers others and not this client.

    An abandoned step ends with its client: the next producer with the transactional id fences it.

    Parameters
    ----------
    step
        The step.
    deadline
        Time of `time.monotonic`.
    has_failure
        Returns whether a connection of the client has failed; otherwise brokers are only slow.
    answers
        Returns whether the coordinator answers others.
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


# Errors of records that were purged because another record failed the transaction.
_PURGED: Final = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001 - published so


class BulkProducer:
    """A producer whose steps all end: with success, with an error, or at the deadline.

    Parameters
    ----------
    cluster
        The cluster, which makes the client.
    options
        Timeouts of deliveries and transactions, and the size of batches.
    transactional_id
        The id of the transactions; without an id there are none.
    compress
        Whether to compress batches.
    failed
        The transactional ids whose last commit failed: the next commit requests a report for each record,
        since otherwise librdkafka does not report why one was not delivered.
    coordinator_answers
        Returns whether the coordinator of the group whose offsets are committed answers others.

    """

    def __init__(
        self,
        cluster: AdminRequests,
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
            # Longer than the deadline of a call: the client is dropped before its records expire.
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
        """Why the first record was rejected, if known; the other records are purged without a reason."""
        return next((failure for failure in self._failures if failure.code() not in _PURGED), None)

    @property
    def needs_replacement(self) -> bool:
        """Whether a connection broke; see `Producer.needs_replacement`."""
        self.serve()
        return self._log.has_broken

    def _has_failure(self) -> bool:
        """Return whether a connection has failed."""
        self.serve()
        return self._log.has_failure

    def init_transactions(self) -> None:
        """Fence the previous producer; see `Producer.init_transactions`."""
        self._open_client.init_transactions(CONNECT_TIMEOUT_SECONDS)

    def send_outputs(self, outputs: Sequence[Output], deadline: float) -> None:
        """Write `outputs` and wait until all are acknowledged."""
        produce_each(self._open_client.produce, outputs)
        self._flush(outputs, deadline)

    def _flush(self, outputs: Sequence[Output], deadline: float) -> None:
        """Wait for all acknowledgements; after a failed connection, request the topics' leaders meanwhile.

        librdkafka (2.16) itself requests them once a second, and needs two responses: at the first it only
        removes the partitions from a broker that is gone.
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
        """Commit `outputs` and `offsets` in one transaction; see `Producer.transact`.

        The steps, in this order:

        1. send, and wait until every record is acknowledged;
        2. add the offsets to the transaction, fenced by the group's generation;
        3. commit.

        A transaction rejected for its generation is aborted: otherwise a new producer would find it open, and
        librdkafka retries only half a second later.
        """
        name = self._transactional_id
        next_offsets = [ClientPartition(*partition, offset, name) for partition, offset in offsets.items()]
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
        """Add the group's next offsets to the transaction; wait longer if the last attempt has failed."""
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
        """Find the fatal error of a call that failed without reporting it: `abort_transaction` raises it."""
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
        """Raise the error of the rejected record that failed the transaction."""
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
        """Poll the client while nothing is sent: otherwise its log lines would pile up."""
        if self._client is not None:
            with suppress(*FOREIGN):
                self._client.poll(0)

    def drop(self) -> None:
        """Close at once, without sending or waiting. Idempotent.

        The broker aborts the open transaction when the next producer with this transactional id starts, or at
        its timeout.
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
        # The compression that every client can read without further packages.
        "compression.type": "gzip" if compress else "none",
        # Every call flushes; until then librdkafka should not send half-filled batches.
        "linger.ms": 500,
        # The caller has all records in memory already: back-pressure would not help.
        "queue.buffering.max.messages": 0,
        "queue.buffering.max.kbytes": 2_147_483_647,
        # A callback for each delivered record would take longer than producing it.
        "delivery.report.only.error": True,
    }


def _transaction_options(
    transactional_id: str, transaction_timeout_seconds: float, timeout_seconds: float
) -> dict[str, object]:
    timeout_ms = int(transaction_timeout_seconds * 1000)
    response_ms = int(transaction_request_seconds(timeout_seconds) * 1000)
    return {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
        # librdkafka requires at most the transaction's timeout.
        "socket.timeout.ms": min(timeout_ms, response_ms),
        # Otherwise the log would not show broken connections. Idle connections close without a line.
        "log.connection.close": True,
    }
