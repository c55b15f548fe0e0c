"""Create the topics of a Kafka cluster, and check that they keep their records."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import monotonic, sleep

from service.errors import AccessRefused, ConfigurationError
from service.stream import RecordLimit
from service.transport.kafka.cluster import KafkaCluster
from service.transport.kafka.errors import missing
from service.transport.kafka.limits import (
    KEEP_FOREVER,
    MAX_MESSAGE_BYTES,
    METADATA_SECONDS,
    SETTLE_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    TopicLimits,
)

_log = logging.getLogger(__name__)


class KafkaTopics:
    """The topic methods of a `Transport`, through whichever client.

    Parameters
    ----------
    cluster
        Where the topics are.
    limits
        Receives the limits of the topics.

    """

    def __init__(self, cluster: KafkaCluster, limits: TopicLimits) -> None:
        self._cluster = cluster
        self._limits = limits
        self._known_topics: set[str] = set()

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Make sure that each topic exists; see `Transport.ensure_topics`."""
        absent = {topic: wanted for topic, wanted in partitions.items() if self._count(topic) is None}
        if absent and not create:
            raise missing(next(iter(absent)), self._cluster.name)
        if absent:
            self._create_soon(absent, KEEP_FOREVER if keep_forever else {})
            for topic, count in absent.items():
                _log.info("created topic %r with %d partitions", topic, count)
        if keep_forever:
            for topic in partitions.keys() - absent.keys():
                self._keep_forever(topic, may_change=create)

    def _create_soon(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics; where every broker is fenced, as one that just started, ask again for a while."""
        deadline = monotonic() + TOPIC_TIMEOUT_SECONDS
        while True:
            try:
                self._cluster.create_topics(partitions, options)
            except ConfigurationError as error:
                if "brokers are currently fenced" not in str(error) or monotonic() > deadline:
                    raise
                sleep(SETTLE_SECONDS / 10)
            else:
                return

    def _keep_forever(self, topic: str, *, may_change: bool) -> None:
        """Make sure that an existing topic loses no record by age, size or compaction."""
        found = self._cluster.topic_options(topic, KEEP_FOREVER)
        if not found:
            _log.warning(
                "topic %r: its options cannot be read; make sure that it is never emptied: %s",
                *(topic, _written(KEEP_FOREVER)),
            )
        wrong = {name: value for name, value in found.items() if value != KEEP_FOREVER[name]}
        if not wrong:
            return
        wanted = {name: KEEP_FOREVER[name] for name in wrong}
        refusal = ConfigurationError(
            f"topic {topic!r} would lose records that are needed: it has {_written(wrong)}",
            hint=f"set {_written(wanted)} on the topic, or allow it to be changed with `create_topics`",
        )
        if not may_change:
            raise refusal
        try:
            self._cluster.set_topic_options(topic, wanted)
        except AccessRefused as error:
            raise refusal from error
        _log.warning(
            "topic %r had %s and would have lost records; set to %s",
            *(topic, _written(wrong), _written(wanted)),
        )
        if not _soon(lambda: self._cluster.topic_options(topic, wanted) == wanted):
            _log.warning("topic %r: the cluster does not show the options that were set yet", topic)

    def add_partitions(self, partitions: Mapping[str, int]) -> None:
        """Add partitions to topics; see `Transport.add_partitions`."""
        for topic, wanted in partitions.items():
            if self.partition_count(topic) >= wanted:
                continue
            try:
                self._cluster.add_partitions(topic, wanted)
            except ConfigurationError:
                if not self._has_grown(topic, wanted):
                    raise

    def _has_grown(self, topic: str, wanted: int) -> bool:
        """Return whether another process was faster."""
        return _soon(lambda: self.partition_count(topic) >= wanted)

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`; see `Transport.partition_count`."""
        count = self._count(topic)
        if count is None:
            raise missing(topic, self._cluster.name)
        return count

    def _count(self, topic: str) -> int | None:
        """Ask the cluster; None if it has no such topic."""
        found = self._cluster.describe(topic)
        if found is None:
            return None
        self._known_topics.add(topic)
        return found.n_partitions

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be; see `Transport.record_limit`."""
        value = self._cluster.topic_options(topic, [MAX_MESSAGE_BYTES]).get(MAX_MESSAGE_BYTES)
        return self._limits.note(topic, int(value) if value else None)

    def topic_id(self, topic: str) -> str:
        """Return the topic's UUID; empty for brokers before 2.8, which give none."""
        found = self._cluster.describe(topic)
        if found is None:
            raise missing(topic, self._cluster.name)
        return found.id.hex if found.id.int else ""

    def _check_topics(self, topics: set[str]) -> None:
        """Refuse topics that do not exist: the clients wait for them to appear, and then say timeout."""
        self._find_topics(topics - self._known_topics)

    def _find_topics(self, topics: set[str]) -> None:
        for topic in topics:
            self.partition_count(topic)


def _soon(happens: Callable[[], bool]) -> bool:
    """Wait until the broker knows of a change; return whether it did within `METADATA_SECONDS`."""
    deadline = monotonic() + METADATA_SECONDS
    while not happens():
        if monotonic() > deadline:
            return False
        sleep(SETTLE_SECONDS / 100)
    return True


def _written(options: Mapping[str, str]) -> str:
    """Return topic options in the form of a command line."""
    return ", ".join(f"{name}={value}" for name, value in options.items())
