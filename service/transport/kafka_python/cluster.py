"""How to reach a Kafka cluster. In: addresses and options. Out: clients of kafka-python that answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError, KafkaTimeoutError, UnknownTopicOrPartitionError
from kafka.net.compat import KafkaNetClient

from service.errors import TransportUnavailable
from service.transport.kafka_python.errors import HINTS, translate

# A cluster that has not answered by then is reported as away. A first connection takes milliseconds.
CONNECT_TIMEOUT_SECONDS: Final = 5.0
# An unanswered request ends its connection after this; a frozen broker is noticed by it.
REQUEST_TIMEOUT_SECONDS: Final = 10.0
_OPTIONS: Final[dict[str, object]] = {
    "client_id": "online-perceptron",
    "request_timeout_ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    "bootstrap_timeout_ms": int(CONNECT_TIMEOUT_SECONDS * 1000),
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

        def connect(**settings: object) -> Any:  # noqa: ANN401 - kafka-python has no types
            connections.append(KafkaNetClient(**settings))
            return connections[-1]

        try:
            return make(kafka_client=connect, **{**self._options, **options})
        except (KafkaError, OSError, RuntimeError, ValueError) as error:
            reason = next(filter(None, map(_refusal, connections)), error)
            for connection in connections:
                # The constructor that failed leaves its thread and sockets to nobody.
                with contextlib.suppress(Exception):
                    connection.close()
            if isinstance(reason, KafkaTimeoutError):
                message = f"{self.name} does not answer"
                raise TransportUnavailable(message, hint=HINTS[TransportUnavailable]) from error
            raise translate(reason, self.name) from error

    def open_consumer(self, **options: object) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a consumer that sees committed records only."""
        return self.open(KafkaConsumer, **{**_CONSUMER_OPTIONS, **options})

    def open_admin(self) -> Any:  # noqa: ANN401 - kafka-python has no types
        """Make a client for questions about topics and groups."""
        return self.open(KafkaAdminClient)


def learn_topics(consumer: Any, topics: Iterable[str]) -> None:  # noqa: ANN401 - kafka-python has no types
    """Make a consumer that has just subscribed, or been assigned to, `topics` find their leaders.

    It asks for them by itself, but forgets it when the answer to an earlier question, before it knew
    these topics, comes in between: then it knows no partitions for five minutes.
    """
    for topic in topics:
        if not consumer.partitions_for_topic(topic):
            raise UnknownTopicOrPartitionError(topic)


def _refusal(connection: Any) -> Exception | None:  # noqa: ANN401 - kafka-python has no types
    """Find out whether a broker has refused us; the client itself only ever says that time was up."""
    manager = connection._manager  # noqa: SLF001 - nothing public tells it
    nodes = [broker.node_id for broker in manager.cluster.bootstrap_brokers()]
    return next(filter(None, map(manager.auth_failure, nodes)), None)
