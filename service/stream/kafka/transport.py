"""A Kafka cluster as a stream, with either client."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from time import monotonic, sleep, time
from typing import Final, TypeVar
from weakref import WeakSet

from service.errors import AccessDenied, ConfigurationError, TopicMissing
from service.stream.kafka.cluster import Bound, KafkaCluster, Producer, TopicDescription
from service.stream.kafka.errors import missing_topic, unreachable
from service.stream.kafka.limits import (
    AGE_OPTIONS,
    KEEP_FOREVER,
    MAX_MESSAGE_BYTES,
    METADATA_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    SETTLE_SECONDS,
    TOPIC_TIMEOUT_SECONDS,
    ClientOptions,
    TopicLimits,
)
from service.stream.kafka.member import KafkaMember
from service.stream.protocol import (
    Assignee,
    Consumer,
    Output,
    Record,
    RecordLimit,
    TopicPartition,
    check_copartitioned,
    topics_of,
)

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


class KafkaTopics:
    """The topic methods of a `Transport`, with either client.

    Parameters
    ----------
    cluster
        The cluster of the topics.
    limits
        Receives the limits of the topics.

    """

    def __init__(self, cluster: KafkaCluster, limits: TopicLimits) -> None:
        self._cluster = cluster
        self._limits = limits
        self._known_topics: dict[str, float] = {}
        """When (monotonic seconds) each topic was found."""
        self._aged: set[str] = set()
        """The topics whose age limit was compared with a record."""

    def ensure_topics(
        self, partitions: Mapping[str, int], *, create: bool = True, keep_forever: bool = False
    ) -> None:
        """Create missing topics; see `Transport.ensure_topics`."""
        absent = {topic: wanted for topic, wanted in partitions.items() if not self._has(topic)}
        if absent and not create:
            raise missing_topic(next(iter(absent)), self._cluster.name)
        if absent:
            self._create_soon(absent, KEEP_FOREVER if keep_forever else {})
            for topic, count in absent.items():
                self._known_topics[topic] = monotonic()
                _log.info("created topic %r with %d partitions", topic, count)
        if keep_forever:
            for topic in partitions.keys() - absent.keys():
                self._retain_all_records(topic, may_change=create)

    def _create_soon(self, partitions: Mapping[str, int], options: Mapping[str, str]) -> None:
        """Create topics; retry for a while if all brokers are fenced, as right after their start."""
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

    def _retain_all_records(self, topic: str, *, may_change: bool) -> None:
        """Make an existing topic keep its records, whatever their age and size, without compaction."""
        options = self._ask([topic], lambda: self._cluster.topic_options(topic, KEEP_FOREVER))
        if not options:
            _log.warning(
                "topic %r: unreadable options; make sure that its retention is unlimited: %s",
                *(topic, _written(KEEP_FOREVER)),
            )
        wrong = {name: value for name, value in options.items() if value != KEEP_FOREVER[name]}
        if not wrong:
            return
        wanted = {name: KEEP_FOREVER[name] for name in wrong}
        rejection = ConfigurationError(
            f"topic {topic!r} would delete required records: it has {_written(wrong)}",
            hint=f"set {_written(wanted)} on the topic, or let `create_topics` change it",
        )
        if not may_change:
            raise rejection
        try:
            self._cluster.set_topic_options(topic, wanted)
        except AccessDenied as error:
            raise rejection from error
        _log.warning(
            "topic %r had %s and would have deleted required records; changed to %s",
            *(topic, _written(wrong), _written(wanted)),
        )
        if not _wait_until(lambda: self._cluster.topic_options(topic, wanted) == wanted):
            _log.warning("topic %r: the cluster does not show the new options yet", topic)

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
        """Return whether another process added the partitions."""
        return _wait_until(lambda: self.partition_count(topic) >= wanted)

    def topics(self) -> Collection[str]:
        """List the names of the topics, except for internal topics, which begin with two underscores."""
        return [topic for topic in self._cluster.topics() if not topic.startswith("__")]

    def partition_count(self, topic: str) -> int:
        """Count the partitions of `topic`; see `Transport.partition_count`."""
        return self._describe(topic).n_partitions

    def _has(self, topic: str) -> bool:
        try:
            self._describe(topic)
        except TopicMissing:
            return False
        return True

    def _describe(self, topic: str) -> TopicDescription:
        """Describe a topic. Raises `TopicMissing`."""

        def describe() -> TopicDescription:
            if (description := self._cluster.describe(topic)) is None:
                raise missing_topic(topic, self._cluster.name)
            return description

        description = self._ask([topic], describe)
        self._known_topics.setdefault(topic, monotonic())
        return description

    def _ask(self, topics: Collection[str], ask: Callable[[], Result]) -> Result:
        """Ask about topics; retry for a while if one is new, as some brokers may not know it yet."""
        while True:
            try:
                return ask()
            except TopicMissing:
                oldest = monotonic() - METADATA_SECONDS
                if all(self._known_topics.get(topic, oldest) <= oldest for topic in topics):
                    raise
            sleep(SETTLE_SECONDS / 10)

    def record_limit(self, topic: str) -> RecordLimit:
        """Return how large a record of `topic` may be; see `Transport.record_limit`."""
        options = self._ask([topic], lambda: self._cluster.topic_options(topic, [MAX_MESSAGE_BYTES]))
        value = options.get(MAX_MESSAGE_BYTES)
        return self._limits.note_limit(topic, int(value) if value else None)

    def warn_of_age(self, outputs: Iterable[Output]) -> None:
        """Warn if a topic may delete the first record with a time at once, because of its age."""
        for topic, time_ms in ((each.topic, each.timestamp_ms or 0) for each in outputs):
            if time_ms <= 0 or topic in self._aged:
                continue
            self._aged.add(topic)
            options = self._ask([topic], partial(self._cluster.topic_options, topic, AGE_OPTIONS))
            kept_ms, kind = (options.get(name) for name in AGE_OPTIONS)
            if kind != "LogAppendTime" and 0 <= int(kept_ms or -1) < time() * 1000 - time_ms:
                what = "records older than retention.ms=%s may be deleted before they are read; set it to -1"
                _log.warning(f"topic %r: {what}", topic, kept_ms)

    def topic_id(self, topic: str) -> str:
        """Return the topic's UUID; empty for brokers before 2.8, which have none."""
        uuid = self._describe(topic).id
        return uuid.hex if uuid.int else ""

    def _check_topics(self, topics: set[str]) -> None:
        """Raise `TopicMissing` unless the topics exist: clients would wait for them until a timeout."""
        self._find_topics(topics - self._known_topics.keys())

    def _find_topics(self, topics: set[str]) -> None:
        for topic in topics:
            self.partition_count(topic)


def _wait_until(happens: Callable[[], bool]) -> bool:
    """Wait until the broker shows a change; return whether it did within `METADATA_SECONDS`."""
    deadline = monotonic() + METADATA_SECONDS
    while not happens():
        if monotonic() > deadline:
            return False
        sleep(SETTLE_SECONDS / 100)
    return True


def _written(options: Mapping[str, str]) -> str:
    """Return topic options in the form of a command line."""
    return ", ".join(f"{name}={value}" for name, value in options.items())


_READ_WAIT_SECONDS: Final = 0.1


class KafkaTransport(KafkaTopics):
    """A stream in an Apache Kafka cluster (2.5 or newer).

    Parameters
    ----------
    cluster
        The cluster, through one of the clients; closed with the transport.
    options
        The options of its members and producers.

    """

    def __init__(self, cluster: KafkaCluster, options: ClientOptions) -> None:
        self._options = options
        # One thread may drop the producer while another one uses it.
        self._lock = threading.RLock()
        self._producer: Producer | None = None
        self._reads: WeakSet[Generator[Record]] = WeakSet()
        """The reads that may not have ended."""
        self._members: WeakSet[KafkaMember] = WeakSet()
        super().__init__(cluster, options.limits)

    @property
    def offsets_are_dense(self) -> bool:
        """Return False: transaction markers and aborted records take offsets, too."""
        return False

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset and the offset after the last committed record; see `Transport.bounds`."""
        return self.bounds_of([(topic, partition)])[topic, partition]

    def bounds_of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return the bounds of several partitions; see `Transport.bounds_of`."""
        topics = {topic for topic, _ in partitions}
        self._check_topics(topics)
        first = self._ask(topics, lambda: self._cluster.offsets_at(partitions, Bound.FIRST))
        ends = self._committed_ends(partitions)
        return {partition: (first[partition], ends[partition]) for partition in partitions}

    def first_at(self, topic: str, partition: int, time_ms: int) -> int:
        """Return the offset of the first record at or after a time; see `Transport.first_at`."""
        end = self.bounds(topic, partition)[1]
        offset = self._cluster.offsets_at([(topic, partition)], time_ms)[topic, partition]
        return end if offset < 0 else offset

    def _committed_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends that a reader of committed records sees.

        A commit returns a little before its markers reach the partitions, so wait a moment for records that
        are not visible yet. They may also belong to a transaction that stays open.
        """
        written = self._cluster.offsets_at(partitions, Bound.WRITTEN)
        deadline = monotonic() + SETTLE_SECONDS
        while True:
            ends = self._cluster.offsets_at(partitions, Bound.COMMITTED)
            if all(ends[each] >= written[each] for each in partitions) or monotonic() >= deadline:
                return ends
            sleep(SETTLE_SECONDS / 100)

    def read(self, topic: str, partition: int, start: int = 0, end: int | None = None) -> Iterator[Record]:
        """Yield committed records; see `Transport.read`. The transport's `close` ends it."""
        first, present_end = self.bounds(topic, partition)
        start, stop = max(start, first), present_end if end is None else min(end, present_end)
        return self.read_partitions(topic, {partition: (start, stop)})

    def read_partitions(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Record]:
        """Yield the records of several partitions, with one reader; see `Transport.read_partitions`."""
        wanted = {partition: bounds for partition, bounds in ranges.items() if bounds[0] < bounds[1]}
        records = self._read(topic, wanted)
        self._reads.add(records)
        return records

    def _read(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Generator[Record]:
        """Read until each position has passed its end: the last offsets may be transaction markers."""
        if not ranges:
            return
        starts = {partition: start for partition, (start, _) in ranges.items()}
        with closing(self._cluster.open_reader(topic, starts)) as reader:
            ends = {partition: end for partition, (_, end) in ranges.items()}
            positions: dict[int, int | None] = {}
            last_progress = monotonic()
            while ends:
                for record in reader.poll(_READ_WAIT_SECONDS):
                    if record.offset < ends.get(record.partition, 0):
                        yield record
                        last_progress = monotonic()
                before, positions = positions, {each: reader.position(each) for each in ends}
                ends = {each: end for each, end in ends.items() if (positions[each] or 0) < end}
                if positions != before:
                    last_progress = monotonic()
                elif monotonic() - last_progress > REQUEST_TIMEOUT_SECONDS:
                    partition = next(iter(ends))
                    raise unreachable(f"{topic}[{partition}]@{positions[partition]}: {self._cluster.name}")

    def committed(self, group: str, topics: Sequence[str], partition: int) -> dict[str, int]:
        """Return a group's committed next offsets by topic; see `Transport.committed`."""
        offsets = self._cluster.committed(group, topics, [partition])
        if partition not in offsets:
            raise unreachable(f"{self._cluster.name}: the offsets of the group {group!r}")
        return dict(offsets[partition])

    def produce(self, outputs: Sequence[Output]) -> None:
        """Write `outputs` and wait until the broker has acknowledged each; not atomic."""
        if not outputs:
            return
        topics = topics_of(outputs)
        self._check_topics(topics)
        self.warn_of_age(outputs)
        with self._lock:
            if self._producer is None:
                for topic in topics:
                    self.record_limit(topic)
                self._producer = self._cluster.open_producer(self._options)
            deadline = monotonic() + self._options.commit_timeout_seconds
            try:
                with self._cluster.translated(self._cluster.name):
                    self._producer.send_outputs(outputs, deadline)
            except BaseException:
                # Unsent records must not be sent later, after a retry by the caller.
                self._drop_producer()
                raise

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before `offset`; see `Transport.delete_before`."""
        self._cluster.delete_before(topic, partition, offset)

    def join(self, group: str, topics: Sequence[str], assignee: Assignee, owner_topic: str = "") -> Consumer:
        """Join `group`; see `Transport.join`."""
        check_copartitioned({topic: self.partition_count(topic) for topic in topics})
        options = replace(self._options, owner_topic=owner_topic)
        member = self._cluster.member(self._cluster, group, topics, assignee, options, self._find_topics)
        self._members.add(member)
        return member

    def close(self) -> None:
        """Release everything, unfinished reads included. Idempotent."""
        # At the end of the process, the client of a read might wait for a thread that is gone.
        for records in tuple(self._reads):
            with suppress(ValueError):  # another thread is reading; the read ends there
                records.close()
        for member in tuple(self._members):
            member.abandon()
        with self._lock:
            self._drop_producer()
            self._cluster.close()

    def _drop_producer(self) -> None:
        if self._producer is not None:
            self._producer.drop()
            self._producer = None
