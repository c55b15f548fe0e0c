"""Clients of confluent-kafka for a cluster, and administrative requests to its brokers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from math import inf
from time import monotonic, sleep
from typing import Final, Protocol, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from service.errors import AccessDenied, ServiceError, TransportUnavailable
from service.stream.kafka.confluent.errors import meaning_of, translate, translated
from service.stream.kafka.errors import no_tls, unknown_host, unreachable
from service.stream.kafka.limits import (
    CONNECT_TIMEOUT_SECONDS,
    METADATA_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    seconds_left,
)

# The logger of librdkafka's lines; `service.logs` sets its level.
LIBRDKAFKA_LOG: Final = logging.getLogger("confluent_kafka")
_OPTIONS: Final[dict[str, object]] = {
    "socket.timeout.ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    # With the default of 10 s, a service would wait long after its broker is back.
    "reconnect.backoff.max.ms": 1000,
    # A frozen broker accepts connections, and does not answer.
    "socket.connection.setup.timeout.ms": int(CONNECT_TIMEOUT_SECONDS * 1000),
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": int(METADATA_SECONDS * 1000),
    # A service may be idle for hours; closed idle connections are not errors.
    "log.connection.close": False,
}
# When no broker is left, librdkafka (2.16) starts again from the first addresses, but keeps asking the
# coordinators that it knew before: a transaction's step then never returns, whatever its time limit. Only a
# consumer finds its coordinator again; other clients are replaced after any error.
_NEVER_BEGINS_AGAIN: Final[dict[str, object]] = {"metadata.recovery.strategy": "none"}
_CONSUMER_OPTIONS: Final[dict[str, object]] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # The only way to learn that only transaction markers follow the last record.
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    # A fetch should not delay the first records; by default it may wait for half a second.
    "fetch.wait.max.ms": 100,
    # When enough records of a partition are queued, the client pauses fetching it for this time; by default
    # for a second, while the queue is processed in less.
    "fetch.queue.backoff.ms": 10,
}
NO_GROUP: Final = "online-perceptron-reader"
"""librdkafka requires a group name even for a consumer that never joins one."""
ADMIN_REQUEST_SECONDS: Final = REQUEST_TIMEOUT_SECONDS + 5
"""librdkafka's own timeout of a request: longer than the timeout of `AdminRequests.ask`."""
# A broken connection counts as a rejection after this time without a response; it doubles with each attempt.
_FIRST_PATIENCE_SECONDS: Final = 0.2
# Asking for all topics would be expensive on a large cluster.
_ANY_TOPIC: Final = "__consumer_offsets"
# How long one wait for a response takes; rejections are checked in between.
_CHECK_INTERVAL_SECONDS: Final = 0.02
# How long to wait before asking again a broker that answered "not now", or whose connection broke.
_AGAIN_SECONDS: Final = 0.1
# A connection that broke, or that a busy broker accepted slowly, is made again within milliseconds.
_BREAK_SECONDS: Final = 1.0
_NO_LEADER: Final[int] = KafkaError._NOENT  # noqa: SLF001 - the name it is published under
_ALL_DOWN: Final[int] = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - the name it is published under
_BROKEN: Final[int] = KafkaError._TRANSPORT  # noqa: SLF001 - the name it is published under
_UNRESOLVED: Final[int] = KafkaError._RESOLVE  # noqa: SLF001 - the name it is published under
Result = TypeVar("Result")
Subject = TypeVar("Subject")


class Log(Protocol):
    """The destination of a client's log lines, such as a `logging.Logger`."""

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line; its words begin with the facility that wrote it."""


class _Asking(threading.local):
    """The administrative client of one thread, and its errors: a failure affects only that thread."""

    def __init__(self) -> None:
        self.client: AdminClient | None = None
        self.errors: list[KafkaError] = []


class AdminRequests:
    """The options of every client of a cluster, and an administrative client for each thread.

    Parameters
    ----------
    bootstrap_servers
        `host:port` of one or more brokers.
    client_options
        librdkafka's options for every client: security, mostly.

    Raises
    ------
    TransportUnavailable
        No broker answers.
    AccessDenied, ConfigurationError
        See their docstrings.

    """

    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        self.name = f"kafka://{','.join(bootstrap_servers)}"
        servers = ",".join(bootstrap_servers)
        self._options = {**_OPTIONS, "bootstrap.servers": servers, **client_options}
        self._asking = _Asking()
        self._is_closed = False
        self._greet(self.admin)

    def addresses(self) -> list[str]:
        """Return the addresses of the brokers."""
        with translated(self.name):
            metadata = self.admin.list_topics(_ANY_TOPIC, timeout=REQUEST_TIMEOUT_SECONDS)
        hosts = [
            (f"[{broker.host}]" if ":" in broker.host else broker.host, broker.port)
            for broker in metadata.brokers.values()
        ]
        return [f"{host}:{port}" for host, port in hosts]

    def _greet(self, admin: AdminClient) -> None:
        """Wait for any response, as librdkafka makes clients without a connection.

        Uses the oldest request: `describe_cluster` (2.16) aborts the process if the response has no broker,
        as after a broker was frozen.
        """
        deadline, patience_seconds = monotonic() + CONNECT_TIMEOUT_SECONDS, _FIRST_PATIENCE_SECONDS
        while True:
            try:
                with translated(self.name):
                    admin.list_topics(_ANY_TOPIC, timeout=patience_seconds)
            except ServiceError as error:
                self._heed(patient=True)
                if monotonic() > deadline:
                    raise self._silence() from error
                sleep(_CHECK_INTERVAL_SECONDS)  # the error may be immediate, repeatedly
                patience_seconds = min(2 * patience_seconds, seconds_left(deadline))
            else:
                return

    def _silence(self) -> TransportUnavailable:
        """Return the error for a cluster that did not answer, with the client's errors, if any."""
        met = [error for error in self._asking.errors if error.code() != _ALL_DOWN]
        if met and all(each.code() == _UNRESOLVED for each in met):
            return unknown_host(self.name)
        return unreachable(f"{self.name} ({met[-1].str()})" if met else self.name)

    @property
    def admin(self) -> AdminClient:
        """The administrative client, mostly used by `ask`.

        It is replaced after any error: addresses may have changed, and after a broker was frozen, librdkafka
        (2.16) keeps asking with an outdated leader epoch.
        """
        if self._is_closed:
            raise RuntimeError("the transport is closed")
        self.serve()
        asking = self._asking
        if asking.client is None or asking.errors:
            asking.client = self.client(AdminClient, {"error_cb": asking.errors.append})
            asking.errors.clear()
        return asking.client

    def ask(
        self,
        question: Callable[..., Mapping[Subject, Future[Result]]],
        subjects: object,
        where: str,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        **options: object,
    ) -> dict[Subject, Result]:
        """Send a request of `AdminClient`; return the response for each subject.

        If a broker answers "not now", as during an election of a leader, the request is repeated for as long
        as a request may take; if no connection can be made, for a second. When another broker takes over,
        librdkafka keeps waiting for the one that is gone: so a new client asks again. A client without
        a response is dropped at once: librdkafka (2.16) aborts the process when a group's coordinator returns
        to a request whose timeout (`ADMIN_REQUEST_SECONDS`) is over.

        Parameters
        ----------
        question
            A method of `AdminClient` that returns a future for each subject.
        subjects, options
            Its further arguments.
        where
            The format that names a subject in messages.
        timeout_seconds
            How long to wait for the responses.

        """
        started = monotonic()
        patience_seconds = _BREAK_SECONDS
        while True:
            grace_end = monotonic() + patience_seconds
            with translated(self.name):
                futures = question(self.admin, subjects, request_timeout=ADMIN_REQUEST_SECONDS, **options)
            try:
                return {
                    subject: self._await(future, started + timeout_seconds, grace_end, where.format(subject))
                    for subject, future in futures.items()
                }
            except (TransportUnavailable, AccessDenied) as error:
                self._asking.client = None
                if monotonic() - started >= min(timeout_seconds, _patience_seconds(error)):
                    raise
            patience_seconds *= 2
            sleep(_AGAIN_SECONDS)

    def _await(self, future: Future[Result], deadline: float, grace_end: float, where: str) -> Result:
        """Wait for a response until the deadline, or until no broker can give it.

        After `grace_end`, any broken connection ends the wait: it may be the connection of the response.
        """
        while not wait([future], _CHECK_INTERVAL_SECONDS).done:
            self._heed(patient=False)
            now = monotonic()
            if now > deadline:
                raise unreachable(where)
            if now > grace_end and self._asking.errors:
                raise unreachable(where) from KafkaException(KafkaError(_BROKEN))
        with translated(where):
            return future.result()

    def _heed(self, *, patient: bool) -> None:
        """Raise an error of the client after which no response will come."""
        self.serve()
        for error in self._asking.errors:
            if meaning_of(error) is AccessDenied:
                raise translate(error, self.name)
            if patient and _is_about_tls(error):
                raise no_tls(self.name, error.str())
            if error.code() == _ALL_DOWN and not patient:
                raise unreachable(self.name) from KafkaException(error)

    def serve(self) -> None:
        """Poll the administrative client: otherwise its log lines would pile up."""
        if self._asking.client is not None:
            self._asking.client.poll(0)

    def offsets(
        self,
        partitions: Sequence[ClientPartition],
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> dict[tuple[str, int], int]:
        """Return first or end offsets by topic and partition."""
        offsets = self.ask(
            AdminClient.list_offsets,
            dict.fromkeys(partitions, which),
            "{0.topic}[{0.partition}]",
            timeout_seconds=timeout_seconds,
            isolation_level=isolation,
        )
        return {(partition.topic, partition.partition): each.offset for partition, each in offsets.items()}

    def client(self, make: type[Result], options: Mapping[str, object], log: Log = LIBRDKAFKA_LOG) -> Result:
        """Return an administrative client, a producer, or a consumer of committed records.

        It logs to `log`.
        """
        common = {**self._options, **(_CONSUMER_OPTIONS if make is Consumer else _NEVER_BEGINS_AGAIN)}
        with translated(self.name):
            return make({**common, **options}, logger=log)  # type: ignore[call-arg]

    def close(self) -> None:
        """Close the administrative client. Idempotent."""
        self._is_closed = True
        self._asking.client = None


def _patience_seconds(error: ServiceError) -> float:
    """Return how long to retry: without a limit if a broker answered with a transient error."""
    cause = error.__cause__
    if not isinstance(error, TransportUnavailable) or not isinstance(cause, KafkaException):
        return 0.0
    code = cause.args[0].code()
    if code == _ALL_DOWN:
        return _BREAK_SECONDS
    return inf if code > KafkaError.NO_ERROR or code in (_NO_LEADER, _BROKEN) else 0.0


def _is_about_tls(error: KafkaError) -> bool:
    """Return whether a handshake was rejected, by this side or, with an alert, by the broker."""
    return error.code() == KafkaError._SSL or "SSL alert number" in error.str()  # noqa: SLF001
