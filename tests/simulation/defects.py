"""Defects that were once in the service, or might have been, to be put back: the simulation must find each.

Each is a generator that changes the service, yields while the change is in force, and takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from unittest import mock

from service.checkpoints.log import CheckpointLog
from service.errors import TransactionFailed
from service.loop import record_queue as inbox
from service.loop import recovery, task, tasks
from service.partition import label_join as labels
from service.partition import processor
from tests.simulation.transport import SimulatedConsumer, SimulatedTransport

DEFECTS = {}


def defect(change):
    """Put a defect into the catalogue, under the name of its function."""
    DEFECTS[change.__name__.replace("_", "-")] = contextmanager(change)
    return change


def defect_put_back(name):
    """Return a context in which the service has the defect; none for ""."""
    return DEFECTS[name]() if name else nullcontext()


@defect
def recovery_forgets_the_last_batch():
    """What was committed last is done once more: the progress is read one record short."""
    whole = CheckpointLog.progress_after

    def short(log: CheckpointLog, sequence: int) -> Sequence:
        return whole(log, sequence)[:-1]

    with mock.patch.object(CheckpointLog, "progress_after", short):
        yield


@defect
def recovery_learns_topic_after_topic():
    """Batches are learned again in another order than they were learned in."""
    with mock.patch.object(recovery, "in_step", chain.from_iterable):
        yield


@defect
def failed_commits_are_ignored():
    """A transaction that was rolled back passes for committed, as kafka-python's once could."""
    made = task.Task.__init__

    class Careless:
        def __init__(self, writer):
            self._writer = writer

        def commit(self, outputs, offsets):
            try:
                self._writer.commit(outputs, offsets)
            except TransactionFailed:
                self._writer._is_broken = False

        def close(self):
            self._writer.close()

    def make(self, partition, restored, writer, **given):
        made(self, partition, restored, Careless(writer), **given)

    with mock.patch.object(task.Task, "__init__", make):
        yield


@defect
def state_is_read_before_the_writer_fences():
    """A new owner reads the checkpoints first and fences its predecessor later, who may commit meanwhile."""
    opened = tasks.Tasks._open

    class Late:
        def __init__(self, consumer, partition):
            self._make = lambda: consumer.writer(partition)
            self._writer = None

        def commit(self, outputs, offsets):
            self._writer = self._writer or self._make()
            self._writer.commit(outputs, offsets)

        def close(self):
            pass

    class Consumer:
        def __init__(self, consumer):
            self._consumer = consumer

        def __getattr__(self, name):
            return getattr(self._consumer, name)

        def writer(self, partition):
            return Late(self._consumer, partition)

    def open_late(self, partition):
        real, self._consumer = self._consumer, Consumer(self._consumer)
        try:
            return opened(self, partition)
        finally:
            self._consumer = real

    with mock.patch.object(tasks.Tasks, "_open", open_late):
        yield


@defect
def records_of_a_failed_batch_stay_in_the_inbox():
    """After a failure the records that wait are kept, and come once more with the rewind."""
    forget = inbox.RecordQueues.forget

    def keep(self, partition):
        waiting = self._partitions.get(partition)
        forget(self, partition)
        self.kept = getattr(self, "kept", {}) | ({partition: waiting.by_topic} if waiting else {})

    opened = inbox.RecordQueues.open

    def open_with_kept(self, partition, *given):
        opened(self, partition, *given)
        for topic, records in getattr(self, "kept", {}).pop(partition, {}).items():
            self._partitions[partition].by_topic[topic].extend(records)

    with (
        mock.patch.object(inbox.RecordQueues, "forget", keep),
        mock.patch.object(inbox.RecordQueues, "open", open_with_kept),
    ):
        yield


@defect
def an_empty_checkpoint_log_starts_from_zero():
    """Nobody asks whether the group has committed anything before, or the topic has held anything."""
    with mock.patch.object(recovery, "refuse_emptied"):
        yield


@defect
def input_that_is_gone_is_passed_over():
    """Whoever reads goes on at the first record there is, whichever was meant to be next."""
    start = SimulatedConsumer.start

    def start_somewhere(self, partition, offsets):
        logs = {topic: self._broker.logs[topic, partition] for topic in offsets}
        start(self, partition, {topic: max(offset, logs[topic].start) for topic, offset in offsets.items()})

    with (
        mock.patch.object(recovery, "unread_losses", return_value=[]),
        mock.patch.object(SimulatedConsumer, "start", start_somewhere),
    ):
        yield


@defect
def recovery_bounds_event_times_by_its_own_clock():
    """A record that was too far ahead when it was refused is learned when it comes again."""
    whole = CheckpointLog.progress_after

    def later(log: CheckpointLog, sequence: int) -> Sequence:
        return [each._replace(now_ms=each.now_ms + 1500) for each in whole(log, sequence)]

    with mock.patch.object(CheckpointLog, "progress_after", later):
        yield


@defect
def labels_do_not_grow_with_the_events():
    """Partitions that are added to the events have none of the labels beside them."""
    add = SimulatedTransport.add_partitions

    def forget(self, partitions):
        add(self, {topic: count for topic, count in partitions.items() if topic != "labels"})

    with mock.patch.object(SimulatedTransport, "add_partitions", forget):
        yield


@defect
def events_expire_a_millisecond_early():
    """The label join is off by one: what is as old as the timeout is let go."""
    made = labels.LabelJoin.__init__

    def make(self, timeout_seconds, *given, **more):
        made(self, timeout_seconds, *given, **more)
        self._timeout_ms -= 1

    with mock.patch.object(labels.LabelJoin, "__init__", make):
        yield


@defect
def what_has_waited_is_not_restored():
    """A process that was restored times nothing out that an earlier one has kept."""
    restore = labels.LabelJoin.restore

    def forgetful(self, state):
        restore(self, state)
        self._waiting.clear()

    with mock.patch.object(labels.LabelJoin, "restore", forgetful):
        yield


@defect
def events_that_come_late_do_not_wait_for_those_before():
    """Whatever is over is settled, also behind an event whose time is not: a restored process would not."""
    overdue = labels.LabelJoin.overdue

    def all_that_is_over(self, timestamp_ms):
        yield from overdue(self, timestamp_ms)
        for event_id in list(self._waiting) if timestamp_ms > self._now_ms else ():
            kept = self.examples[event_id]
            if kept.truth is None and kept.timestamp_ms < timestamp_ms - self._timeout_ms:
                yield event_id, kept

    with mock.patch.object(labels.LabelJoin, "overdue", all_that_is_over):
        yield


@defect
def early_labels_are_not_restored():
    """A label that waits for its event is lost with the process."""
    restore = labels.LabelJoin.restore

    def forgetful(self, state):
        restore(self, {**state, "early": []})

    with mock.patch.object(labels.LabelJoin, "restore", forgetful):
        yield


@defect
def steps_are_not_restored():
    """What an example did to the weights is forgotten with the process: a corrected label undoes nothing."""
    restore = labels.LabelJoin.restore

    def forgetful(self, state):
        restore(self, state)
        self.forget_steps()

    with mock.patch.object(labels.LabelJoin, "restore", forgetful):
        yield


@defect
def predictions_are_made_after_learning():
    """An event with its label is learned before it is predicted."""
    receive = processor.Processor._receive_event

    def peek(self, event, timestamp_ms):
        if event.truth is not None and self.join.examples.get(event.id) is None:
            x = self._extractor.extract(event.features, event.text, event.tenant)
            self.learner.learn(x, event.truth)
        return receive(self, event, timestamp_ms)

    with mock.patch.object(processor.Processor, "_receive_event", peek):
        yield


@defect
def topics_are_taken_in_the_order_of_their_arrival():
    """Labels are not merged with events by time, but taken behind them."""
    with (
        mock.patch.object(inbox, "in_step", chain.from_iterable),
        mock.patch.object(recovery, "in_step", chain.from_iterable),
    ):
        yield


def _lets_go(is_enough):
    """Return a context in which records wait for another topic until it `is_enough`, and no longer."""
    reached = inbox.RecordQueues._reached

    def impatient(self, batches, max_records, look):
        found = reached(self, batches, max_records, look)
        for partition, waiting in self._partitions.items():
            if is_enough(waiting, look.keywords["now"]):
                found[partition] = {*found.get(partition, ()), *waiting.empty_topics()}
        return found

    return mock.patch.object(inbox.RecordQueues, "_reached", impatient)


@defect
def records_are_let_go_after_a_while():
    """Patience with the other topic ends, although it holds earlier records: 5 s once, half a second here."""
    with _lets_go(
        lambda waiting, now: waiting.blocked_since is not None and now - waiting.blocked_since >= 0.5
    ):
        yield


@defect
def records_are_let_go_when_many_wait():
    """There is room for so many that wait, and no more: 20,000 once, 10 here."""
    with _lets_go(lambda waiting, _: len(waiting) >= 10):
        yield


@defect
def a_step_is_lost_when_a_snapshot_is_due():
    """The snapshot is made of the state before the batch, and passes for the one after it."""
    commit = task.Task._commit_snapshot
    process = task.Task._process

    def before(self, *given):
        self.state_before = self._processor.state()
        return process(self, *given)

    def stale(self, outputs=(), **given):
        if not outputs:
            commit(self, outputs)
            return
        with mock.patch.object(self._processor, "state", return_value=self.state_before):
            commit(self, outputs, **given)

    with (
        mock.patch.object(task.Task, "_process", before),
        mock.patch.object(task.Task, "_commit_snapshot", stale),
    ):
        yield
