"""The simulated stream in memory: logs, transactions, group members and owners.

It knows nothing of faults: those are decided where a process calls it (see `transport`).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from service.stream.partitioner import partition_for_key
from service.stream.protocol import Record


class Log:
    """One partition of one topic; offsets may have gaps, as transactions leave them in Kafka."""

    def __init__(self):
        self.records = []
        """All that ever was appended: what is deleted is only out of reach."""
        self.offsets = []
        self.start = 0
        self.end = 0
        self.holds = {}
        """Where undecided transactions have begun to write, by process."""

    @property
    def stable_end(self):
        """How far readers of committed records see."""
        return min(self.holds.values(), default=self.end)

    def append(self, record):
        """Append a record made for offset `end`."""
        self.records.append(record)
        self.offsets.append(self.end)
        self.end += 1

    def skip(self, count):
        """Leave a gap: a transaction's marker, or records of one that was aborted."""
        self.end += count

    def delete_before(self, offset):
        """Put what lies before `offset` out of reach."""
        self.start = min(max(self.start, offset), self.end)

    def between(self, start, end):
        """Return the records from `start` on, before `end`, deleted or not."""
        return self.records[bisect_left(self.offsets, start) : bisect_left(self.offsets, end)]

    def read(self, start, end, limit=None):
        """Return the records that are still there from `start` on, before `end`."""
        first = bisect_left(self.offsets, max(start, self.start))
        last = bisect_left(self.offsets, end)
        return self.records[first : last if limit is None else min(last, first + limit)]


@dataclass(slots=True)
class Transaction:
    """What a writer wants to be written, or has written: its part of the transaction of a process."""

    partition: int
    outputs: list
    offsets: dict
    known_ends: dict
    """How far its process knew each input to reach when it took the batch, by topic and partition."""
    process: str
    at_seconds: float = 0.0


@dataclass(slots=True)
class Member:
    """One process in the group."""

    id: int
    process: object
    silent_since: float | None = None
    """When its process crashed or froze."""


@dataclass(slots=True)
class Group:
    """Who has which partitions, and what was committed for them."""

    members: dict[int, Member] = field(default_factory=dict)
    owners: dict[int, int | None] = field(default_factory=dict)
    plan: dict[int, int] = field(default_factory=dict)
    undecided: dict[str, list[Transaction]] = field(default_factory=dict)
    """Parts of transactions whose offsets were handed over and whose end is under way, by process."""
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    version: int = 0
    """Of members, owners and plan: another one with each change."""


class Broker:
    """Topics and the one group that reads them.

    Parameters
    ----------
    clock, random
        The time, and chance.
    session_seconds
        How long a silent member stays a member.
    leaves_gaps
        Whether transactions take offsets of their own, as in Kafka.

    """

    def __init__(self, clock, random, *, session_seconds, leaves_gaps):
        self.clock = clock
        self.random = random
        self.session_seconds = session_seconds
        self.leaves_gaps = leaves_gaps
        self.topics: dict[str, int] = {}
        self.logs: dict[tuple[str, int], Log] = {}
        self.group = Group()
        self.leading = ""
        self.is_alone = False
        """Whether one member has all partitions: the one that the group gives partition 0."""
        self.transactions: list[Transaction] = []
        """All that were committed, in order."""
        self.p_late = 0.3
        """How often the partitions hear of a commit later than the group does."""
        self.rebalances = 0
        self._last_member = 0

    def create(self, topic, partitions):
        """Create a topic, or give it more partitions."""
        for partition in range(self.topics.get(topic, 0), partitions):
            self.logs[topic, partition] = Log()
        self.topics[topic] = max(partitions, self.topics.get(topic, 0))

    def append(self, topic, partition, key, value, headers, timestamp_ms):
        """Append one record."""
        log = self.logs[topic, partition]
        if timestamp_ms is None:
            timestamp_ms = int(self.clock.time() * 1000)
        log.append(Record(topic, partition, log.end, timestamp_ms, key, value, headers))

    # Members

    def join(self, process):
        """Return the id of a new member."""
        self._last_member += 1
        self.group.members[self._last_member] = Member(self._last_member, process)
        self.rebalance()
        return self._last_member

    def leave(self, member_id):
        """Let a member go; what it owned is free."""
        if self.group.members.pop(member_id, None) is not None:
            owners = self.group.owners
            for partition in [p for p, owner in owners.items() if owner == member_id]:
                owners[partition] = None
            self.rebalance()

    def let_silent_go(self):
        """Let the members go that have been silent for longer than a session."""
        now = self.clock.monotonic()
        for member in [*self.group.members.values()]:
            if member.silent_since is not None and now - member.silent_since > self.session_seconds:
                self.leave(member.id)

    def rebalance(self, *, shuffled=False):
        """Assign all partitions again: evenly, moving as few as possible unless `shuffled`."""
        self.rebalances += 1
        group = self.group
        group.version += 1
        members = [*group.members]
        partitions = [0] if self.is_alone else [*range(self.topics[self.leading])]
        if shuffled:
            self.random.shuffle(partitions)
            self.random.shuffle(members)
        plan: dict[int, int] = {}
        if members:
            most, load = -(-len(partitions) // len(members)), dict.fromkeys(members, 0)
            for partition in partitions:
                owner = group.owners.setdefault(partition, None)
                if not shuffled and owner in load and load[owner] < most:
                    plan[partition] = owner
                    load[owner] += 1
            for partition in partitions:
                if partition not in plan:
                    owner = min(members, key=load.__getitem__)
                    plan[partition] = owner
                    load[owner] += 1
        group.plan = plan

    def owned_by(self, member_id):
        """Return the partitions that a member holds."""
        return self._all_of(p for p, owner in self.group.owners.items() if owner == member_id)

    def planned_for(self, member_id):
        """Return the partitions that it is to have."""
        return self._all_of(p for p, owner in self.group.plan.items() if owner == member_id)

    def _all_of(self, partitions):
        found = frozenset(partitions)
        return frozenset(range(self.topics[self.leading])) if found and self.is_alone else found

    def take_free(self, member_id):
        """Return a member what is free and planned for it."""
        owners = self.group.owners
        for partition, planned in self.group.plan.items():
            if planned == member_id and owners.get(partition) is None:
                owners[partition] = member_id
                self.group.version += 1

    def release(self, member_id, partitions):
        """Free partitions that a member has handed over."""
        for partition in partitions:
            if self.group.owners.get(partition) == member_id:
                self.group.owners[partition] = None
                self.group.version += 1

    # Transactions

    def write(self, process, parts):
        """Let a process write the outputs of a transaction: readers stop there until it is decided."""
        for part in parts:
            for output in part.outputs:
                log = self._log_of(output)
                log.holds.setdefault(process, log.end)

    def hand_over(self, process, parts):
        """Let a process hand the offsets over: from now on the transaction may be committed at any time."""
        self.group.undecided[process] = parts

    def deciders(self, partition, topic=""):
        """Return the processes that have undecided transactions there."""
        found = [
            process
            for process, parts in self.group.undecided.items()
            if any(part.partition == partition for part in parts)
        ]
        return [*found, *(self.logs[topic, partition].holds if topic else ())]

    def undecided(self):
        """Return the processes that have transactions which are not over."""
        found = dict.fromkeys(self.group.undecided)
        for log in self.logs.values():
            found |= dict.fromkeys(log.holds)
        return [*found]

    def decide(self, process):
        """Let chance decide a process's transaction whose end is under way; others are aborted."""
        parts = self.group.undecided.get(process)
        if parts is not None:
            if self.random.random() < 0.5:
                self.commit(process, parts)
            else:
                self.abort(process, parts)
        else:
            self._release_holds(process)

    def decide_all(self):
        """Let all transactions end, and those to come at once."""
        self.p_late = 0.0
        for process in self.undecided():
            self.decide(process)

    def commit(self, process, parts):
        """Commit a transaction."""
        self.group.undecided.pop(process, None)
        for part in parts:
            self.apply(part)
        if self.random.random() >= self.p_late:
            self._release_holds(process)

    def _release_holds(self, process):
        for log in self.logs.values():
            log.holds.pop(process, None)

    def _log_of(self, output):
        partition = output.partition
        if partition is None:
            partition = partition_for_key(output.key, self.topics[output.topic])
        return self.logs[output.topic, partition]

    def apply(self, transaction):
        """Commit a part of a transaction."""
        transaction.at_seconds = self.clock.monotonic()
        touched = {}
        written = []
        for output in transaction.outputs:
            partition = output.partition
            if partition is None:
                partition = partition_for_key(output.key, self.topics[output.topic])
            self.append(
                output.topic, partition, output.key, output.value, output.headers, output.timestamp_ms
            )
            log = self.logs[output.topic, partition]
            written.append(log.records[-1])
            touched[output.topic, partition] = log
        if self.leaves_gaps:
            for log in touched.values():
                log.skip(1)
        transaction.outputs = written
        self.group.committed |= transaction.offsets
        self.transactions.append(transaction)

    def abort(self, process, parts):
        """Abort a transaction: nothing of it can be read, but its offsets are spent."""
        self.group.undecided.pop(process, None)
        if self.leaves_gaps:
            for part in parts:
                for output in part.outputs:
                    self._log_of(output).skip(1)
        self._release_holds(process)
