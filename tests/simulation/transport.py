"""The simulated stream as one process sees it: `Transport`, `Consumer` and `Writer` of the service.

Each call goes by way of the process, where the simulation may let it crash, freeze, fail or go astray.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.errors import (
    ConfigurationError,
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportUnavailable,
)
from service.stream.batches import RecordBatch
from service.stream.protocol import NO_LIMIT, Writer
from tests.simulation.broker import Transaction


class SimulatedTransport:
    """`Transport`, for one life of one process."""

    def __init__(self, life, broker):
        self._life = life
        self._broker = broker

    @property
    def offsets_are_dense(self):
        return not self._broker.leaves_gaps

    def ensure_topics(self, partitions, *, create=True, keep_forever=False):
        self._life.before("ensure_topics")
        for topic, count in partitions.items():
            if topic not in self._broker.topics:
                if not create:
                    raise TopicMissing(topic)
                self._broker.create(topic, count)
        self._life.after("ensure_topics")

    def partition_count(self, topic):
        self._life.before("partition_count")
        if topic not in self._broker.topics:
            raise TopicMissing(topic)
        return self._broker.topics[topic]

    def topics(self):
        return [*self._broker.topics]

    def add_partitions(self, partitions):
        self._life.before("add_partitions")
        for topic, count in partitions.items():
            if topic not in self._broker.topics:
                raise TopicMissing(topic)
            self._broker.create(topic, count)
        self._life.after("add_partitions")

    def record_limit(self, topic):  # nothing here is too large, so it takes no step of the story
        del topic
        return NO_LIMIT

    def topic_id(self, topic):
        return topic

    def bounds(self, topic, partition):
        self._life.before("bounds")
        log = self._broker.logs[topic, partition]
        return log.start, log.stable_end

    def bounds_of(self, partitions):
        return {each: self.bounds(*each) for each in partitions}

    def read_partitions(self, topic, ranges):
        for partition, (start, end) in ranges.items():
            yield from self.read(topic, partition, start, end)

    def read(self, topic, partition, start=0, end=None):
        self._life.before("read")
        log = self._broker.logs[topic, partition]
        records = log.read(start, log.stable_end if end is None else min(end, log.stable_end))
        stops_at = self._life.breaks_off(len(records))
        if stops_at is None:
            return iter(records)
        return self._broken_off(records[:stops_at])

    def _broken_off(self, records):
        yield from records
        self._life.broken()

    def committed(self, group, topics, partition):
        self._life.before("committed")
        committed = self._broker.group.committed
        return {topic: committed[topic, partition] for topic in topics if (topic, partition) in committed}

    def produce(self, outputs):
        raise NotImplementedError

    def delete_before(self, topic, partition, offset):
        self._life.before("delete_before")
        self._broker.logs[topic, partition].delete_before(offset)
        self._life.after("delete_before")

    def join(self, group, topics, assignee, owner_topic=""):
        self._life.before("join")
        counts = {self._broker.topics[topic] for topic in topics}
        if len(counts) > 1:
            raise ConfigurationError(f"{topics} differ in their partitions")
        assert bool(owner_topic) == self._broker.is_alone
        return SimulatedConsumer(self._life, self._broker, topics, assignee)

    def close(self):
        pass


class SimulatedConsumer:
    """`Consumer`: a member of the broker's group."""

    def __init__(self, life, broker, topics, assignee):
        self._life = life
        self._broker = broker
        self._random = broker.random
        self._topics = topics
        self._assignee = assignee
        self._assigned = frozenset()
        self._positions = {}
        self.known_ends = {}
        self._told_ends = {}
        self._is_settled = False
        self._is_closed = False
        self._seen_version = -1
        self.transactions = Transactions(life, broker, self)
        self.id = broker.join(life)
        life.member_id = self.id

    @property
    def told_ends(self):
        """How far the process knows each source to reach, from what it was told."""
        return self._told_ends

    def poll(self, timeout_seconds, max_records, hold=frozenset()):
        self._life.before("poll")
        self._broker.let_silent_go()
        if self._follow():
            return {}
        records = self._fetch(max_records, hold)
        if not records:
            self._life.idle(timeout_seconds)
        return records

    def _follow(self):
        """Follow the group; return whether partitions came or went."""
        broker, before = self._broker, self._assigned
        if self._seen_version == broker.group.version:
            return False
        version = broker.group.version  # what changes while the assignee is notified is seen the next time
        if self.id not in broker.group.members:
            self._lose(self._assigned)
            self.id = self._life.member_id = broker.join(self._life)
        self._lose(self._assigned - broker.owned_by(self.id))
        owned = broker.owned_by(self.id)
        going = owned - broker.planned_for(self.id)
        if known := going & self._assigned:
            self._life.note(f"hands over {sorted(known)}")
            self._assignee.partitions_revoked(known)
            self._forget(known)
        broker.release(self.id, going)  # of its own only: it may have frozen meanwhile and lost them
        if self.id in broker.group.members:
            broker.take_free(self.id)
        owned = broker.owned_by(self.id)
        self._is_settled = owned == broker.planned_for(self.id)
        if fresh := owned - self._assigned:
            self._life.note(f"assigned {sorted(fresh)}")
            self._assigned |= fresh
            self._assignee.partitions_assigned(fresh)
        if owned == self._assigned and self.id in broker.group.members:
            self._seen_version = version
        return self._assigned != before

    def _lose(self, partitions):
        if partitions:
            self._life.note(f"lost {sorted(partitions)}")
            self._forget(partitions)
            self._assignee.partitions_lost(partitions)

    def _forget(self, partitions):
        self._assigned -= partitions
        for source in [source for source in self._positions if source[1] in partitions]:
            del self._positions[source]
            self.known_ends.pop(source, None)

    def _fetch(self, max_records, hold):
        """Let chance decide which sources answer first, and with how much."""
        life, taken, left = self._life, {}, max_records
        for source in life.order_of_sources(self._positions):
            if source in hold:
                continue
            log = self._broker.logs[source]
            self.known_ends[source] = log.end
            position = self._positions[source]
            if not log.start <= position <= log.end:
                if taken:
                    break  # those come first, and the bad news with the next call
                self._stop_delivering(source[1])
                raise OffsetOutOfRange(f"{source}@{position}", partition=source[1])
            limit = life.share(left)
            records = log.read(position, log.end, limit)
            # At the end of what is there, the client also passes over a transaction's marker.
            self._positions[source] = records[-1].offset + 1 if len(records) == limit else log.end
            if records:
                taken[source] = records
                left -= len(records)
                if left <= 0:
                    break
        merged = {}
        for topic in self._topics:
            for (name, partition), records in taken.items():
                if name == topic:
                    merged.setdefault(partition, RecordBatch()).extend(records)
        return merged

    def _stop_delivering(self, partition):
        for topic in self._topics:
            self._positions.pop((topic, partition), None)

    def start(self, partition, offsets):
        self._life.before("start")
        self._require(partition)
        self._life.note(f"restored {partition}, continues at {dict(offsets)}")
        for topic in self._topics:
            log = self._broker.logs[topic, partition]
            self._positions[topic, partition] = offsets.get(topic, log.start)
            self._told_ends.pop((topic, partition), None)
            self.known_ends.pop((topic, partition), None)

    def take_over(self, partitions, log=""):
        for partition in partitions:
            self._require(partition)
        self._life.before("take_over")
        if self.id not in self._broker.group.members:
            raise OwnershipLost(f"the group continues without {self._life.name}")
        for partition in [0] if self._broker.is_alone else partitions:
            self._settle(partition, log)
        committed = self._broker.group.committed
        return {
            partition: {topic: at for (topic, p), at in committed.items() if p == partition}
            for partition in partitions
        }

    def writer(self, partition):
        self._life.before("writer")
        self._require(partition)
        self.transactions.renew()
        writer = SimulatedWriter(self._life, self, partition)
        self._life.after("writer")
        return writer

    def _settle(self, partition, log=""):
        """Wait for a former owner's transaction: in vain, or until it was fenced or its time is over."""
        while others := self._broker.deciders(partition, log):
            if self._life.may_give_up():
                raise TransportUnavailable(f"a transaction of partition {partition} has not ended")
            self._broker.decide(others[0])

    def send(self):
        self.transactions.send()

    def appender(self, partition):
        raise NotImplementedError

    def _require(self, partition):
        if partition not in self._assigned:
            raise OwnershipLost(f"partition {partition} is not assigned to {self._life.name}")

    def positions(self, partition):
        return {topic: at for (topic, p), at in self._positions.items() if p == partition}

    def lag(self):
        told = {source: self.known_ends[source] for source in self._positions if source in self.known_ends}
        self._told_ends |= {source: max(end, self._told_ends.get(source, 0)) for source, end in told.items()}
        return {source: max(0, end - self._positions[source]) for source, end in told.items()}

    def remaining(self, partitions):
        self._life.before("remaining")
        told = {source: self._broker.logs[source].end for source in partitions if source in self._positions}
        self._told_ends |= told
        return {source: max(0, end - self._positions[source]) for source, end in told.items()}

    def has_joined(self):
        return self._is_settled

    def at_end(self):
        self._life.before("at_end")
        started = {partition for _, partition in self._positions}
        if not self._is_settled or started != self._assigned or self.id not in self._broker.group.members:
            return False
        return all(at >= self._broker.logs[source].end for source, at in self._positions.items())

    def close(self):
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self._lose(self._assigned - self._broker.owned_by(self.id))
            if self._assigned:
                self._assignee.partitions_revoked(self._assigned)
        finally:
            self._broker.leave(self.id)


@dataclass(eq=False)
class Part:
    """What one writer has begun, and what came of it."""

    transaction: Transaction
    failure: ServiceError | None = None


class Transactions:
    """The transactions of one process: of all that its writers have begun, or, by chance, of some of it."""

    def __init__(self, life, broker, consumer):
        self._life = life
        self._broker = broker
        self._consumer = consumer
        self._added = []
        self._sent = []

    def add(self, part):
        self._added.append(part)

    def renew(self):
        """See that nothing of this process is undecided."""
        self.wait()
        self._broker.decide(self._life.name)

    def send(self):
        """Begin a transaction, whose fate chance decides now or not before it is asked about."""
        self.wait()
        self._sent, self._added = self._added, []
        if self._life.chance(0.5):
            self.wait()

    def finish(self, part):
        if part in self._added:
            self.send()
        if part in self._sent:
            self.wait()
        failure, part.failure = part.failure, None
        if failure is not None:
            raise failure

    def wait(self):
        """Let what was sent come to its end; `finish` raises what failed."""
        parts, self._sent = self._sent, []
        is_one = self._broker.is_alone or self._life.chance(0.8)
        together = [parts] if is_one else [[part] for part in parts]
        for group in filter(None, together):
            self._broker.decide(self._life.name)
            try:
                transactions = [part.transaction for part in group]
                self._commit([merged(transactions)] if self._broker.is_alone else transactions)
            except ServiceError as error:
                self._fail(group, error)

    def _commit(self, transactions):
        life = self._life
        life.before("commit")
        self._broker.write(life.name, transactions)
        self._check(transactions)
        self._broker.hand_over(life.name, transactions)
        life.commit(transactions)
        life.after("commit")

    def _fail(self, parts, error):
        for part in parts:
            part.failure = error

    def _check(self, transactions):
        """Reject the offsets of a member that the group has put out."""
        if self._consumer.id not in self._broker.group.members:
            self._life.fenced([each.partition for each in transactions])
            if self._life.chance(0.5):  # else its end comes with the next producer, or in time
                self._broker.decide(self._life.name)
            raise OwnershipLost(f"{self._life.name} is no member")


def merged(transactions):
    """Return what the writers of one task have begun as one transaction: the first one has the outputs."""
    first, *others = transactions
    assert not any(each.outputs for each in others)
    for each in others:
        first.offsets |= each.offsets
        first.known_ends |= each.known_ends
    return first


class SimulatedWriter(Writer):
    """`Writer`, until it fails or another one takes its place."""

    def __init__(self, life, consumer, partition):
        self._life = life
        self._consumer = consumer
        self._partition = partition
        self._is_broken = False
        self._part = None

    def begin(self, outputs, offsets, *, compress=False):
        assert self._part is None
        ends = self._consumer.told_ends
        known_ends = {source: end for source, end in ends.items() if source[1] == self._partition}
        offsets = {(topic, self._partition): offset for topic, offset in offsets.items()}
        transaction = Transaction(self._partition, [*outputs], offsets, known_ends, self._life.name)
        if self._is_broken:
            raise TransactionFailed("this writer has failed before")
        self._part = Part(transaction)
        self._consumer.transactions.add(self._part)

    def finish(self):
        if self._part is not None:
            part, self._part = self._part, None
            self._is_broken = True
            self._consumer.transactions.finish(part)
            self._is_broken = False

    def close(self):
        pass
