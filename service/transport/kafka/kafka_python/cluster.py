"""The address and options of a cluster, and clients of kafka-python for it."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any, Final, TypeVar

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, KafkaTimeoutError, UnknownTopicOrPartitionError
from kafka.structs import TopicPartition

from service.transport.kafka.errors import away, no_tls, unresolved
from service.transport.kafka.kafka_python.connections import (
    REFUSED,
    UNRESOLVED,
    Connections,
    PlainSelector,
)
from service.transport.kafka.kafka_python.errors import translate
from service.transport.kafka.kafka_python.messages import RecordConsumer
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
    "selector": PlainSelector,
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
Client = TypeVar("Client")


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
            connections.append(Connections(failures, **settings))
            return connections[-1]

        try:
            client: Any = make(kafka_client=connect, **{**self._options, **options})
        except (KafkaError, OSError, RuntimeError, ValueError) as error:
            reason = failures.get(REFUSED, error)
            for connection in connections:
                # The constructor that failed leaves its thread and sockets to nobody.
                with contextlib.suppress(Exception):
                    connection.close()
            if isinstance(reason, KafkaTimeoutError):
                is_unresolved = failures.keys() == {UNRESOLVED}
                raise (unresolved if is_unresolved else away)(self.name) from error
            if isinstance(reason, ssl.SSLError):
                raise no_tls(self.name, getattr(reason, "verify_message", str(reason))) from error
            raise translate(reason, self.name) from error
        client.connections = connections[-1]
        return client  # type: ignore[no-any-return] # what `make` made

    def open_consumer(self, **options: object) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a consumer that sees committed records only."""
        return self.open(RecordConsumer, **{**_CONSUMER_OPTIONS, **options})

    def open_admin(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a client for questions about topics and groups."""
        return self.open(KafkaAdminClient)


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
