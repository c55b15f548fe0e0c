"""How to reach a Kafka cluster. In: addresses and options. Out: clients of confluent-kafka, and answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Final, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from service.errors import AccessRefused, ServiceError
from service.transport.confluent.errors import meaning_of, translate, translated
from service.transport.kafka import CONNECT_TIMEOUT_SECONDS, REQUEST_TIMEOUT_SECONDS, away, no_tls

# librdkafka's own lines; `service.logs` decides who hears them.
_LIBRDKAFKA_LOG: Final = logging.getLogger("confluent_kafka")
_OPTIONS: Final[dict[str, object]] = {
    "socket.timeout.ms": int(REQUEST_TIMEOUT_SECONDS * 1000),
    # The default of 10 s would let a service sleep long after its broker is back.
    "reconnect.backoff.max.ms": 1000,
    "allow.auto.create.topics": False,
    # A service behind one partition after the other is idle for hours; that is no error.
    "log.connection.close": False,
}
_CONSUMER_OPTIONS: Final[dict[str, object]] = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # The only way to learn that what follows the last record are transaction markers.
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    # Soon after start-up the first records come in; by default a fetch may wait for half a second.
    "fetch.wait.max.ms": 100,
}
# How long one look for an answer takes; refusals are noticed in between.
_LOOK_SECONDS: Final = 0.02
Answer = TypeVar("Answer")


class Cluster:
    """The addresses of a cluster, the options that each of its clients gets, and a client for questions.

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
        self._trouble: list[KafkaError] = []
        self._admin: AdminClient | None = self._open(AdminClient, {"error_cb": self._trouble.append})
        self._greet()

    def _greet(self) -> None:
        """Wait for any answer: clients of librdkafka are made without asking whether anybody is there."""
        hello = self.admin.describe_cluster(request_timeout=CONNECT_TIMEOUT_SECONDS)
        deadline = monotonic() + CONNECT_TIMEOUT_SECONDS
        while not hello.done() and monotonic() < deadline:
            self.admin.poll(_LOOK_SECONDS)
            for each in self._trouble:
                if meaning_of(each) is AccessRefused:
                    raise translate(each, self.name)
                if _is_about_tls(each):
                    raise no_tls(self.name, each.str())
        try:
            self.answer(hello, self.name)
        except ServiceError as error:
            told = [each.str() for each in self._trouble if each.code() != KafkaError._ALL_BROKERS_DOWN]  # noqa: SLF001
            raise away(f"{self.name} ({told[-1]})" if told else self.name) from error

    @property
    def admin(self) -> AdminClient:
        """The client for questions; its answers are futures, to be given to `answer`."""
        if self._admin is None:
            raise RuntimeError("the transport is closed")
        return self._admin

    def answer(self, future: Future[Answer], where: str) -> Answer:
        """Wait for an answer; librdkafka gives up by itself when it takes too long."""
        with translated(where):
            answer = future.result(2 * REQUEST_TIMEOUT_SECONDS)
        self.serve()
        return answer

    def serve(self) -> None:
        """Take what the client for questions has to tell: its log lines would pile up."""
        if self._admin is not None:
            self._trouble.clear()
            self._admin.poll(0)

    def offsets(
        self,
        places: Sequence[TopicPartition],
        which: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[tuple[str, int], int]:
        """Ask where partitions begin or end, by topic and partition."""
        asked = self.admin.list_offsets(
            dict.fromkeys(places, which),
            isolation_level=isolation,
            request_timeout=REQUEST_TIMEOUT_SECONDS,
        )
        return {
            (place.topic, place.partition): self.answer(found, f"{place.topic}[{place.partition}]").offset
            for place, found in asked.items()
        }

    def open_consumer(self, group: str, options: Mapping[str, object]) -> Consumer:
        """Make a consumer that sees committed records only."""
        return self._open(Consumer, {**_CONSUMER_OPTIONS, "group.id": group, **options})

    def open_producer(self, options: Mapping[str, object]) -> Producer:
        """Make a producer."""
        return self._open(Producer, options)

    def _open(self, make: type[Answer], options: Mapping[str, object]) -> Answer:
        with translated(self.name):
            return make({**self._options, **options}, logger=_LIBRDKAFKA_LOG)  # type: ignore[call-arg]

    def close(self) -> None:
        """Let the client for questions go. Idempotent."""
        self._admin = None


def _is_about_tls(error: KafkaError) -> bool:
    """Tell whether a handshake was refused, by us or, with an alert, by the broker."""
    return error.code() == KafkaError._SSL or "SSL alert number" in error.str()  # noqa: SLF001
