"""How to reach a Kafka cluster. In: addresses and options. Out: clients of kafka-python that answer."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from kafka.admin import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    KafkaError,
    KafkaTimeoutError,
    SaslAuthenticationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.structs import TopicPartition

from service.transport.kafka.errors import away, no_tls, unresolved
from service.transport.kafka.kafka_python.errors import translate
from service.transport.kafka.kafka_python.fetched_records import RecordConsumer
from service.transport.kafka.limits import (
    CONNECT_TIMEOUT_SECONDS,
    METADATA_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    seconds_left,
)

_OPTIONS: Final[dict[str, object]] = {
    "request_timeout_ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    "bootstrap_timeout_ms": int(CONNECT_TIMEOUT_SECONDS * 1000),
    "metadata_max_age_ms": int(METADATA_SECONDS * 1000),
    # The default of 30 s would let a service sleep long after its broker is back.
    "reconnect_backoff_max_ms": 1000,
}
_CONSUMER_OPTIONS: Final[dict[str, object]] = {
    "allow_auto_create_topics": False,
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
    # Nothing reads the client's own metrics, and they cost time for each record.
    "metrics_enabled": False,
}
_LEADER_WAIT_SECONDS: Final = 0.05
_REFUSALS: Final = (AuthorizationError, SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""A broker that ends in the middle of a handshake has refused nothing."""
_NO_ADDRESS: Final = "DNS Resolution failure"
"""What kafka-python says of a name without an address, in a `KafkaConnectionError` like any other."""
_REFUSED: Final = "refused"
_UNRESOLVED: Final = "unresolved"
Client = TypeVar("Client")


class _ConnectionManager(KafkaConnectionManager):  # type: ignore[misc] # kafka-python has no types
    """kafka-python's connections, which also keep why they failed: refused logins and certificates, lookups.

    The client itself tries again until its time is up, and then says no more than that. What is more, it
    throws away an answer that comes together with the end of the connection, as a refusal does.
    """

    def __init__(self, network: NetworkSelector, failures: dict[str, Exception], **settings: object) -> None:
        super().__init__(network, **settings)
        self._failures = failures
        self.n_ended = 0
        """Grows when a connection ends, for whatever reason."""

    def get_connection(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        connection = super().get_connection(*node, **options)
        if not connection.init_future.is_done:
            connection.init_future.add_errback(self._note)
            connection.close_future.add_both(self._count_end)
        return connection

    def _count_end(self, _: object) -> None:
        self.n_ended += 1

    def _note(self, error: Exception) -> None:
        reason = _tls_failure(error) or error
        self._failures[_sort(reason)] = reason

    async def _build_transport(self, *node: object, **options: object) -> Any:  # noqa: ANN401 - no types
        transport = await super()._build_transport(*node, **options)
        receive = transport._sock_recv  # noqa: SLF001 - nothing public reaches it

        def receive_all() -> tuple[bytes, Exception | None]:
            received, error = receive()
            return received, None if received else error  # the end is still there to be found next time

        transport._sock_recv = receive_all  # noqa: SLF001
        return transport


class Cluster:
    """The addresses of a cluster and the options that each of its clients gets.

    Parameters
    ----------
    bootstrap_servers
        `host:port` of one or more brokers.
    client_options
        kafka-python's options for every client: security, mostly.

    """

    def __init__(self, bootstrap_servers: Sequence[str], client_options: Mapping[str, object]) -> None:
        self.name = f"kafka://{','.join(bootstrap_servers)}"
        self._options = {**_OPTIONS, "bootstrap_servers": list(bootstrap_servers), **client_options}

    def open(self, make: Callable[..., Client], **options: object) -> Client:
        """Make a client that has reached the cluster.

        Raises
        ------
        TransportUnavailable
            No broker answers.
        AccessRefused, ConfigurationError
            As their names say.

        """
        connections: list[Any] = []
        failures: dict[str, Exception] = {}

        def connect(**settings: object) -> Any:  # noqa: ANN401 - kafka-python has no types
            network = NetworkSelector(**settings)
            manager = _ConnectionManager(network, failures, **settings)
            connections.append(KafkaNetClient(net=network, manager=manager, **settings))
            return connections[-1]

        try:
            return make(kafka_client=connect, **{**self._options, **options})
        except (KafkaError, OSError, RuntimeError, ValueError) as error:
            reason = failures.get(_REFUSED, error)
            for connection in connections:
                # The constructor that failed leaves its thread and sockets to nobody.
                with contextlib.suppress(Exception):
                    connection.close()
            if isinstance(reason, KafkaTimeoutError):
                is_unresolved = failures.keys() == {_UNRESOLVED}
                raise (unresolved if is_unresolved else away)(self.name) from error
            if isinstance(reason, ssl.SSLError):
                raise no_tls(self.name, getattr(reason, "verify_message", str(reason))) from error
            raise translate(reason, self.name) from error

    def open_consumer(self, **options: object) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a consumer that sees committed records only."""
        return self.open(RecordConsumer, **{**_CONSUMER_OPTIONS, **options})

    def open_admin(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a client for questions about topics and groups."""
        return self.open(KafkaAdminClient)


def _sort(failure: Exception) -> str:
    """Return of which sort a failure is: of each the last one is kept."""
    if isinstance(failure, (*_REFUSALS, ssl.SSLError)):
        return _REFUSED
    return _UNRESOLVED if _NO_ADDRESS in str(failure) else "other"


def _tls_failure(error: Exception) -> ssl.SSLError | None:
    """Find what was wrong with the handshake; the client wraps it, or only says it in words."""
    for each in (error.__context__, *error.args):
        if isinstance(each, ssl.SSLError) and not isinstance(each, _BROKEN_OFF):
            return each
    return None


def end_offsets(
    consumer: Any,  # noqa: ANN401 - kafka-python has no types
    places: Sequence[TopicPartition],
    within_seconds: float,
) -> Mapping[TopicPartition, int]:
    """Ask where partitions end, also such as are new or have no leader at the moment.

    Of these the client asks nothing, and fails with a KeyError in the end. Raises `KafkaTimeoutError` if
    `within_seconds` were not enough for all attempts together.
    """
    deadline = monotonic() + within_seconds
    while True:
        try:
            ends: Mapping[TopicPartition, int] = consumer.end_offsets(
                places, timeout_ms=seconds_left(deadline) * 1000
            )
        except KeyError as error:
            if monotonic() >= deadline:
                raise KafkaTimeoutError(f"{error.args[0]}: no leader is known") from error
        else:
            return ends
        sleep(_LEADER_WAIT_SECONDS)


def learn_topics(consumer: Any, topics: Iterable[str]) -> None:  # noqa: ANN401 - kafka-python has no types
    """Make a consumer that has just subscribed, or been assigned to, `topics` find their leaders.

    It asks for them by itself, but forgets it when the answer to an earlier question, before it knew
    these topics, comes in between: then it knows no partitions for five minutes.
    """
    for topic in topics:
        if not consumer.partitions_for_topic(topic):
            raise UnknownTopicOrPartitionError(topic)


def committed_offsets(client: Any, topics: Sequence[str], partition: int) -> dict[str, int]:  # noqa: ANN401 - no types
    """Ask for the committed offsets of the client's group, by topic."""
    found = {
        topic: client.committed(TopicPartition(topic, partition), timeout_ms=REQUEST_TIMEOUT_SECONDS * 1000)
        for topic in topics
    }
    return {topic: offset for topic, offset in found.items() if offset is not None}
