"""Clients of confluent-kafka for a cluster, and questions to its brokers."""

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

from service.errors import AccessRefused, ServiceError, TransportUnavailable
from service.stream.kafka.confluent.errors import meaning_of, translate, translated
from service.stream.kafka.errors import away, no_tls, unresolved
from service.stream.kafka.limits import (
    CONNECT_TIMEOUT_SECONDS,
    METADATA_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    seconds_left,
)

# librdkafka's own lines; `service.logs` decides their level.
LIBRDKAFKA_LOG: Final = logging.getLogger("confluent_kafka")
_OPTIONS: Final[dict[str, object]] = {
    "socket.timeout.ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    # The default of 10 s would let a service sleep long after its broker is back.
    "reconnect.backoff.max.ms": 1000,
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": int(METADATA_SECONDS * 1000),
    # A service behind one partition after the other is idle for hours; that is not an error.
    "log.connection.close": False,
}
# When no broker is left, librdkafka (2.16) begins again from the first addresses, but keeps asking the
# coordinators it knew before: a transaction's step then never returns, whatever its time limit. Only a
# consumer knows its coordinator otherwise; of the others we make new ones after any trouble.
_NEVER_BEGINS_AGAIN: Final[dict[str, object]] = {"metadata.recovery.strategy": "none"}
_CONSUMER_OPTIONS: Final[dict[str, object]] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # The only way to learn that what follows the last record are transaction markers.
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    # Soon after start-up the first records come in; by default a fetch may wait for half a second.
    "fetch.wait.max.ms": 100,
    # When enough of a partition is here, the client fetches no more of it for so long; by default for a
    # second, and what is here is processed in less.
    "fetch.queue.backoff.ms": 10,
}
NO_GROUP: Final = "online-perceptron-reader"
"""librdkafka wants a group's name even of a consumer that never joins one."""
QUESTION_SECONDS: Final = REQUEST_TIMEOUT_SECONDS + 5
"""When librdkafka ends a question by itself: later than `Questions.ask` does."""
# A refusal is noticed once no one has answered for so long; each time it is twice as long.
_FIRST_PATIENCE_SECONDS: Final = 0.2
# To ask for all of them would be much for a large cluster.
_ANY_TOPIC: Final = "__consumer_offsets"
# How long one wait for an answer takes; refusals are noticed in between.
_LOOK_SECONDS: Final = 0.02
# How long a broker that says "not now", or to which the connection broke, is left alone.
_AGAIN_SECONDS: Final = 0.1
# A connection that breaks, or that a busy broker is slow to take, is made again within milliseconds.
_BREAK_SECONDS: Final = 1.0
_NO_LEADER: Final[int] = KafkaError._NOENT  # noqa: SLF001 - the name it is published under
_ALL_DOWN: Final[int] = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - the name it is published under
_BROKEN: Final[int] = KafkaError._TRANSPORT  # noqa: SLF001 - the name it is published under
_UNRESOLVED: Final[int] = KafkaError._RESOLVE  # noqa: SLF001 - the name it is published under
Answer = TypeVar("Answer")
Subject = TypeVar("Subject")


class Log(Protocol):
    """The destination of a client's log lines, such as a `logging.Logger`."""

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line: its words begin with the facility that it comes from."""


class _Asking(threading.local):
    """The client for questions of one thread, and what it has met: one that fails is no other thread's."""

    def __init__(self) -> None:
        self.client: AdminClient | None = None
        self.errors: list[KafkaError] = []


class Questions:
    """The options that each client of a cluster gets, and a client for the questions of each thread.

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
    AccessRefused, ConfigurationError
        As their names say.

    """

    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        self.name = f"kafka://{','.join(bootstrap_servers)}"
        servers = ",".join(bootstrap_servers)
        self._options = {**_OPTIONS, "bootstrap.servers": servers, **client_options}
        self._asking = _Asking()
        self._is_closed = False
        self._greet(self.admin)

    def addresses(self) -> list[str]:
        """Ask for the addresses of the brokers."""
        with translated(self.name):
            found = self.admin.list_topics(_ANY_TOPIC, timeout=REQUEST_TIMEOUT_SECONDS)
        hosts = [
            (f"[{each.host}]" if ":" in each.host else each.host, each.port)
            for each in found.brokers.values()
        ]
        return [f"{host}:{port}" for host, port in hosts]

    def _greet(self, admin: AdminClient) -> None:
        """Wait for any answer: clients of librdkafka are made without asking whether anybody is there.

        By the oldest of all questions: `describe_cluster` (2.16) aborts the process if the answer names no
        broker, as that of a broker that was frozen does.
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
                sleep(_LOOK_SECONDS)  # it may say so at once, again and again
                patience_seconds = min(2 * patience_seconds, seconds_left(deadline))
            else:
                return

    def _silence(self) -> TransportUnavailable:
        """Make the error for a cluster that gave no answer; say what the client has met, if anything."""
        met = [each for each in self._asking.errors if each.code() != _ALL_DOWN]
        if met and all(each.code() == _UNRESOLVED for each in met):
            return unresolved(self.name)
        return away(f"{self.name} ({met[-1].str()})" if met else self.name)

    @property
    def admin(self) -> AdminClient:
        """The client for questions, most of which go through `ask`.

        After any trouble it is a new one: the addresses may be others now, and of a broker that was frozen
        librdkafka (2.16) keeps asking with a leader's epoch that is over.
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
        question: Callable[..., Mapping[Subject, Future[Answer]]],
        subjects: object,
        where: str,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        **options: object,
    ) -> dict[Subject, Answer]:
        """Ask one of `AdminClient`'s questions; return the answer for each subject.

        A broker that says "not now", as while it chooses a leader, is queried again for as long as a request
        may take; one to which no connection can be had, for a second. When another broker takes over what is
        asked about, librdkafka keeps waiting for the one that is gone: a new client asks again. A client
        that gave no answer is dropped at once: librdkafka (2.16) aborts the process when a group's
        coordinator comes back to a question whose own time (`QUESTION_SECONDS`) is over.

        Parameters
        ----------
        question
            A method of `AdminClient` that gives a future for each subject.
        subjects, options
            Its further arguments.
        where
            How messages name a subject: a format.
        timeout_seconds
            How long to wait for the answers.

        """
        started = monotonic()
        patience_seconds = _BREAK_SECONDS
        while True:
            grace_end = monotonic() + patience_seconds
            with translated(self.name):
                answers = question(self.admin, subjects, request_timeout=QUESTION_SECONDS, **options)
            try:
                return {
                    subject: self._await(future, started + timeout_seconds, grace_end, where.format(subject))
                    for subject, future in answers.items()
                }
            except (TransportUnavailable, AccessRefused) as error:
                self._asking.client = None
                if monotonic() - started >= min(timeout_seconds, _patience_seconds(error)):
                    raise
            patience_seconds *= 2
            sleep(_AGAIN_SECONDS)

    def _await(self, future: Future[Answer], deadline: float, grace_end: float, where: str) -> Answer:
        """Wait for an answer until the deadline, or until no broker is there to give it.

        After `grace_end`, a broken connection is reason enough to give up: it may be that of the answer.
        """
        while not wait([future], _LOOK_SECONDS).done:
            self._heed(patient=False)
            now = monotonic()
            if now > deadline:
                raise away(where)
            if now > grace_end and self._asking.errors:
                raise away(where) from KafkaException(KafkaError(_BROKEN))
        with translated(where):
            return future.result()

    def _heed(self, *, patient: bool) -> None:
        """Raise what the client for questions has met, if no answer will come after it."""
        self.serve()
        for error in self._asking.errors:
            if meaning_of(error) is AccessRefused:
                raise translate(error, self.name)
            if patient and _is_about_tls(error):
                raise no_tls(self.name, error.str())
            if error.code() == _ALL_DOWN and not patient:
                raise away(self.name) from KafkaException(error)

    def serve(self) -> None:
        """Poll the client for questions, or its log lines would pile up."""
        if self._asking.client is not None:
            self._asking.client.poll(0)

    def offsets(
        self,
        places: Sequence[ClientPartition],
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> dict[tuple[str, int], int]:
        """Ask where partitions begin or end, by topic and partition."""
        found = self.ask(
            AdminClient.list_offsets,
            dict.fromkeys(places, which),
            "{0.topic}[{0.partition}]",
            timeout_seconds=timeout_seconds,
            isolation_level=isolation,
        )
        return {(place.topic, place.partition): each.offset for place, each in found.items()}

    def client(self, make: type[Answer], options: Mapping[str, object], log: Log = LIBRDKAFKA_LOG) -> Answer:
        """Make a client for questions, a producer, or a consumer that sees committed records only.

        It writes its log lines to `log`.
        """
        common = {**self._options, **(_CONSUMER_OPTIONS if make is Consumer else _NEVER_BEGINS_AGAIN)}
        with translated(self.name):
            return make({**common, **options}, logger=log)  # type: ignore[call-arg]

    def close(self) -> None:
        """Close the client for questions. Idempotent."""
        self._is_closed = True
        self._asking.client = None


def _patience_seconds(error: ServiceError) -> float:
    """Return how long to ask again: as long as may be if a broker has answered with an error that passes."""
    cause = error.__cause__
    if not isinstance(error, TransportUnavailable) or not isinstance(cause, KafkaException):
        return 0.0
    code = cause.args[0].code()
    if code == _ALL_DOWN:
        return _BREAK_SECONDS
    return inf if code > KafkaError.NO_ERROR or code in (_NO_LEADER, _BROKEN) else 0.0


def _is_about_tls(error: KafkaError) -> bool:
    """Return whether a handshake was refused, by this side or, with an alert, by the broker."""
    return error.code() == KafkaError._SSL or "SSL alert number" in error.str()  # noqa: SLF001
