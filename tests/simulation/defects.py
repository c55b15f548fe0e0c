"""Defects that were once in the service, or might have been, to be put back: the simulation must find each.

Each is a generator that changes the service, yields while the change is in force, and takes it back.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, nullcontext
from itertools import chain
from unittest import mock

from perceptron_core import DamagedError
from perceptron_core.formats.packed import PackedLater, PackedMapping
from service.checkpoints.log import CheckpointLog
from service.checkpoints.snapshot import StoredSnapshot
from service.errors import TransactionFailed
from service.loop import queues, restore, snapshots, task
from service.loop.tasks import Tasks
from service.partition import factory
from service.partition.label_join import LabelJoin
from service.partition.parts import kinds
from service.partition.parts.decisions import Decisions
from service.partition.parts.kinds import with_changes
from service.partition.parts.windows import Windows, take_all
from service.partition.processor import Processor
from service.stream.batches import RecordBatch
from service.stream.protocol import Writer
from tests.simulation.transport import SimulatedConsumer, SimulatedTransport, Transactions

DEFECTS = {}


def defect(change):
    """Put a defect into the catalogue, under the name of its function."""
    DEFECTS[change.__name__.replace("_", "-")] = contextmanager(change)
    return change


def replacing(place, attribute):
    """Put a stand-in for an attribute into the catalogue: a class, or a function that gets it first."""
    original = getattr(place, attribute)

    def put(stand_in):
        def called(*given, **named):
            return stand_in(original, *given, **named)

        made = stand_in if isinstance(stand_in, type) else called
        name = re.sub("_|(?<!^)(?=[A-Z])", "-", stand_in.__name__).lower()
        DEFECTS[name] = lambda: mock.patch.object(place, attribute, made)
        return stand_in

    return put


def defect_put_back(name):
    """Return a context in which the service has the defect; none for ""."""
    return DEFECTS[name]() if name else nullcontext()


@replacing(CheckpointLog, "progress_after")
def recovery_forgets_the_last_batch(whole, log, sequence):
    """What was committed last is done once more: the progress is read one record short."""
    return whole(log, sequence)[:-1]


@defect
def recovery_learns_topic_after_topic():
    """Batches are learned again in another order than they were learned in."""
    with mock.patch.object(restore, "merge_by_time", _one_after_the_other):
        yield


@defect
def failed_commits_are_ignored():
    """A transaction that was rolled back passes for committed, as kafka-python's once could."""
    made = task.TaskWriter.__init__

    class Careless(Writer):
        def __init__(self, writer):
            self._writer = writer

        def begin(self, outputs, offsets, **given):
            self._writer.begin(outputs, offsets, **given)

        def finish(self):
            try:
                self._writer.finish()
            except TransactionFailed:
                self._writer._is_broken = False

        def close(self):
            self._writer.close()

    def make(self, writers, health):
        made(self, {partition: Careless(writer) for partition, writer in writers.items()}, health)

    with mock.patch.object(task.TaskWriter, "__init__", make):
        yield


@replacing(task.Task, "process")
def counts_are_published_before_they_are_committed(process, self, records):
    """What a batch has counted is shown while its commit is under way."""
    process(self, records)
    self._publish(self._state())


@defect
def state_is_read_before_the_former_owner_has_ended():
    """A new owner reads the checkpoints while a transaction of its predecessor may still be committed."""
    with mock.patch.object(SimulatedConsumer, "_settle"):
        yield


@replacing(Tasks, "_leave")
def a_partition_that_was_revoked_while_it_opened_goes_on(leave, self, partitions):
    """What is restored when the partition has gone, and perhaps come back, is believed all the same."""
    openings, self._openings = self._openings, {}
    try:
        return leave(self, partitions)
    finally:
        self._openings = openings


@defect
def records_of_a_failed_batch_stay_in_the_queues():
    """After a failure the records that wait are kept, and come once more with the rewind."""
    forget = queues.RecordQueues.forget

    def keep(self, partition):
        waiting = self._tasks.get(partition)
        forget(self, partition)
        self.kept = getattr(self, "kept", {}) | ({partition: waiting.by_partition} if waiting else {})

    opened = queues.RecordQueues.open

    def open_with_kept(self, partition, *given):
        opened(self, partition, *given)
        for place, records in getattr(self, "kept", {}).pop(partition, {}).items():
            self._tasks[partition].by_partition[place] = records

    with (
        mock.patch.object(queues.RecordQueues, "forget", keep),
        mock.patch.object(queues.RecordQueues, "open", open_with_kept),
    ):
        yield


@defect
def an_empty_checkpoint_log_starts_from_zero():
    """No one asks whether the group has committed anything before, or the topic has held anything."""
    with mock.patch.object(restore, "reject_emptied"):
        yield


@defect
def input_that_is_gone_is_passed_over():
    """Whoever reads continues at the first record there is, whichever was meant to be next."""
    start = SimulatedConsumer.start

    def start_somewhere(self, partition, offsets):
        logs = {topic: self._broker.logs[topic, partition] for topic in offsets}
        start(self, partition, {topic: max(offset, logs[topic].start) for topic, offset in offsets.items()})

    with (
        mock.patch.object(restore, "unread_losses", return_value=[]),
        mock.patch.object(SimulatedConsumer, "start", start_somewhere),
    ):
        yield


@replacing(CheckpointLog, "progress_after")
def recovery_bounds_event_times_by_its_own_clock(whole, log, sequence):
    """A record that was too far ahead when it was rejected is learned when it comes again."""
    return [each._replace(processing_time_ms=each.processing_time_ms + 1500) for each in whole(log, sequence)]


@replacing(SimulatedTransport, "add_partitions")
def labels_do_not_grow_with_the_events(add, self, partitions):
    """Partitions that are added to the events have none of the labels alongside them."""
    add(self, {topic: count for topic, count in partitions.items() if topic != "labels"})


@replacing(kinds, "LabelJoin")
class EventsExpireAMillisecondEarly(LabelJoin):
    """The label join is off by one: what is as old as the timeout is let go."""

    def __init__(self, timeout_seconds, *given, **more):
        super().__init__(timeout_seconds, *given, **more)
        self._timeout_ms -= 1


@replacing(kinds, "LabelJoin")
class WhatHasWaitedIsNotRestored(LabelJoin):
    """A process that was restored times nothing out that an earlier one has kept."""

    def restore(self, state):
        super().restore(state)
        self._waiting.clear()


@replacing(kinds, "LabelJoin")
class EventsThatComeLateDoNotWaitForThoseBefore(LabelJoin):
    """Whatever is over is settled, also after an event whose time is not: a restored process would not."""

    def overdue(self, timestamp_ms):
        yield from super().overdue(timestamp_ms)
        for kept in list(self._waiting) if timestamp_ms > self._now_ms else ():
            if kept.truth is None and kept.timestamp_ms < timestamp_ms - self._timeout_ms:
                yield kept


@replacing(kinds, "LabelJoin")
class EarlyLabelsAreNotRestored(LabelJoin):
    """A label that waits for its event is lost with the process."""

    def restore(self, state):
        super().restore({**state, "early": []})


@replacing(kinds, "LabelJoin")
class StepsAreNotRestored(LabelJoin):
    """What an example did to the weights is forgotten with the process: a corrected label undoes nothing."""

    def restore(self, state):
        super().restore(state)
        self.forget_steps()


@replacing(factory, "Processor")
class PredictionsAreMadeAfterLearning(Processor):
    """An event with its label is learned before it is predicted."""

    def __init__(self, *given, uses_fast_path):
        super().__init__(*given, uses_fast_path=False)

    def _receive_event(self, event, timestamp_ms):
        if event.truth is not None and self.join.examples.get(event.id) is None:
            x = self._extractor.extract(event.features, event.text, event.tenant)
            self.learner.learn(x, event.truth)
        return super()._receive_event(event, timestamp_ms)


@defect
def topics_are_taken_in_the_order_of_their_arrival():
    """Labels are not merged with events by time, but taken after them."""
    with (
        mock.patch.object(queues, "merge_by_time", _one_after_the_other),
        mock.patch.object(restore, "merge_by_time", _one_after_the_other),
    ):
        yield


def _one_after_the_other(batches):
    """Join batches instead of merging them."""
    return RecordBatch(chain.from_iterable(batches))


def _lets_go(is_enough):
    """Return a context in which records wait for another topic until it `is_enough`, and no longer."""
    extend = queues.RecordQueues._extend

    def impatient(self, batches, left, *given):
        extend(self, batches, left, *given)
        for number, batch in batches.items():
            waiting = self._filled[number]
            if is_enough(waiting, given[-1]):
                batch.extend(waiting.take(left, waiting.empty_partitions(), batch))

    return mock.patch.object(queues.RecordQueues, "_extend", impatient)


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
    begin = snapshots.Snapshots.begin
    process = task.Task._predict_and_learn
    before = {}

    class Stale:
        def __init__(self, processor, state):
            self._processor = processor
            self.state = lambda: state

        def __getattr__(self, name):
            return getattr(self._processor, name)

    def note(self, *given):
        before[id(self._processor)] = self._processor.state()
        return process(self, *given)

    def stale(self, sequence, offsets, processor, **given):
        state = before.pop(id(processor), None)
        begin(self, sequence, offsets, processor if state is None else Stale(processor, state), **given)

    with (
        mock.patch.object(task.Task, "_predict_and_learn", note),
        mock.patch.object(snapshots.Snapshots, "begin", stale),
    ):
        yield


@replacing(snapshots.Snapshots, "committed")
def a_snapshot_counts_before_its_last_chunk(committed, self):
    """What lies before it is deleted once its first chunk is committed: a crash leaves nothing to restore."""
    going = self._under_way
    if going is not None and going.size_bytes and going.log_offset not in self._offsets:
        self._offsets.append(going.log_offset)
        self._delete_old()
    return committed(self)


@defect
def a_chain_with_a_hole_is_restored_as_if_whole():
    """Increments that cannot be read are left out, and those after them taken."""
    read_own = StoredSnapshot.read_own

    def is_sound(each):
        try:
            read_own(each)
        except DamagedError:
            return False
        return True

    def with_hole(self):
        *before, newest = self._chain()
        found = [read_own(each)[0] for each in [*filter(is_sound, before), newest]]
        return found[-1]._replace(state=with_changes([each.state for each in found])) if before else found[0]

    with mock.patch.object(StoredSnapshot, "read", with_hole):
        yield


@replacing(snapshots.Snapshots, "committed")
def increments_count_among_the_snapshots_that_are_kept(committed, self):
    """What lies before the oldest of them is deleted, and with it the whole one that they need."""
    done = self._under_way
    is_complete = committed(self)
    if is_complete and done.chain is not None:
        self._offsets.append(done.log_offset)
        self._delete_old()
    return is_complete


@replacing(factory, "Processor")
class ASnapshotIsOfWhatWasLearnedWhileItWasPacked(Processor):
    """It is packed of the state itself, and not of a copy."""

    def state(self):
        packed = super().state
        return PackedMapping([PackedLater(1, lambda: packed().iter_chunks())])


@replacing(Windows, "restore")
def windows_begin_anew_in_a_restored_partition(whole, self, state):
    """What earlier events of a key were like is not in the snapshot."""
    whole(self, None)


@replacing(factory, "Processor")
class BudgetsBeginAnewInARestoredPartition(Processor):
    """What was decided is not in the snapshot."""

    def restore(self, state):
        super().restore({name: part for name, part in state.items() if name != Decisions.name})


@replacing(Windows, "features")
def an_event_lies_in_its_own_window(put, self, found, event, timestamp_ms):
    """It is counted before its features are made."""
    take_all(self._windows, event.windowed, timestamp_ms)
    put(self, found, event, timestamp_ms)


@replacing(Windows, "on_label")
def corrected_labels_count_twice_in_windows(counted, self, example, _, truth):
    """The one before is not taken back."""
    counted(self, example, None, truth)


@defect
def offsets_are_handed_over_without_a_generation():
    """A member that the group has put out commits nevertheless."""
    with mock.patch.object(Transactions, "_check"):
        yield


@defect
def a_failure_is_told_to_one_partition_of_many():
    """The others take for committed what was rolled back with it."""
    with mock.patch.object(
        Transactions, "_fail", lambda self, parts, error: setattr(parts[0], "failure", error)
    ):
        yield


@defect
def what_an_open_transaction_hides_is_not_missed():
    """A new owner waits for stable offsets, and not for the end of what was written to its log."""
    take_over = SimulatedConsumer.take_over

    with mock.patch.object(
        SimulatedConsumer, "take_over", lambda self, partitions, log="": take_over(self, partitions)
    ):
        yield
