"""What becomes of a batch reaches whoever waits for it, however the client sends it."""

import threading

import pytest
from kafka.errors import (
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
)
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.record.memory_records import MemoryRecords
from kafka.structs import TopicPartition

from service.records import Output

pytest.importorskip("service.transport.kafka.kafka_python.accelerated.records", reason="it is compiled")

from service.transport.kafka.kafka_python.accelerated.records import written_batches

from service.transport.kafka.kafka_python.accelerated.producer import WrittenBatch, hand_over

PLACE = TopicPartition("predictions", 2)
N_RECORDS = 5


@pytest.fixture
def accumulator():
    return RecordAccumulator(batch_size=1 << 20)


def queued(accumulator):
    outputs = [
        Output(PLACE.topic, b"key", b"%d" % number, (), PLACE.partition) for number in range(N_RECORDS)
    ]
    limits = {"batch_bytes": 1 << 20, "most_bytes": 1 << 20}
    ((_, writer),) = written_batches(outputs, lambda _: PLACE.partition + 1, now_ms=0, **limits)
    return hand_over(accumulator, PLACE, writer)


def split(accumulator, batch):
    """Split a batch as the sender does when the broker finds it too large; return the new ones, in order."""
    if batch in accumulator._batches[PLACE]:
        accumulator._batches[PLACE].remove(batch)  # the sender has taken it
    batch.records.close()
    count = accumulator.split_and_reenqueue(batch)
    accumulator.deallocate(batch)
    return list(accumulator._batches[PLACE])[:count]


def values(batch):
    batch.records.close()
    return [record.value for each in MemoryRecords(batch.records.buffer()) for record in each]


def test_a_batch_that_ends_its_wait_when_it_is_acknowledged(accumulator):
    batch = queued(accumulator)
    batch.complete(100, -1)
    batch.get(10)


def test_a_batch_is_flushed_with_the_clients_own(accumulator):
    batch = queued(accumulator)
    assert accumulator._incomplete.all() == [batch]
    assert accumulator.has_undrained()


def test_a_batch_that_fails_raises_what_its_first_record_failed_with(accumulator):
    batch = queued(accumulator)
    failures = [NotLeaderForPartitionError("record 0"), KafkaError("another record")]
    batch.complete_exceptionally(NotLeaderForPartitionError("batch"), lambda index: failures[min(index, 1)])
    with pytest.raises(NotLeaderForPartitionError, match="record 0"):
        batch.get(10)


def test_a_batch_without_an_answer_is_a_timeout(accumulator):
    batch = queued(accumulator)
    with pytest.raises(KafkaTimeoutError, match="record_count=5"):
        batch.get(0)


def test_a_batch_of_a_producer_that_is_dropped_fails(accumulator):
    batch = queued(accumulator)
    accumulator.abort_incomplete_batches()
    with pytest.raises(IllegalStateError, match="closed forcefully"):
        batch.get(10)


def test_a_closed_accumulator_takes_no_batch(accumulator):
    accumulator.close()
    with pytest.raises(IllegalStateError):
        queued(accumulator)
    assert not accumulator._appends_in_progress.get()
    assert not accumulator.has_incomplete


def test_a_split_keeps_all_records_in_their_order(accumulator):
    parts = split(accumulator, queued(accumulator))
    assert [values(part) for part in parts] == [[b"0", b"1", b"2"], [b"3", b"4"]]


def test_a_split_batch_is_settled_when_all_its_parts_are(accumulator):
    batch = queued(accumulator)
    for part in split(accumulator, batch):
        part.complete(0, -1)
    batch.get(10)


@pytest.mark.parametrize("failing", [0, 1])
def test_of_a_split_batch_each_part_that_fails_is_noticed(accumulator, failing):
    batch = queued(accumulator)
    for number, part in enumerate(split(accumulator, batch)):
        if number == failing:
            error = MessageSizeTooLargeError(f"part {number}")
            part.complete_exceptionally(error, lambda _, error=error: error)
        else:
            part.complete(0, -1)
    with pytest.raises(MessageSizeTooLargeError, match=f"part {failing}"):
        batch.get(10)


@pytest.mark.parametrize("failing", range(4))
def test_of_a_batch_split_twice_each_part_that_fails_is_noticed(accumulator, failing):
    batch = queued(accumulator)
    halves = split(accumulator, batch)
    parts = [part for half in halves for part in split(accumulator, half)]
    assert [value for part in parts for value in values(part)] == [b"%d" % k for k in range(N_RECORDS)]
    for number, part in enumerate(parts):
        if number == failing:
            part.abort(MessageSizeTooLargeError(f"part {number}"))
        else:
            part.complete(0, -1)
    with pytest.raises(MessageSizeTooLargeError, match=f"part {failing}"):
        batch.get(10)


def test_of_a_split_batch_a_part_without_an_answer_is_a_timeout(accumulator):
    batch = queued(accumulator)
    split(accumulator, batch)[0].complete(0, -1)
    with pytest.raises(KafkaTimeoutError):
        batch.get(0)


def test_who_waits_for_a_batch_goes_on_to_wait_for_its_parts(accumulator):
    batch = queued(accumulator)
    failures = []

    def wait():
        try:
            batch.get(10)
        except MessageSizeTooLargeError as error:
            failures.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    first, second = split(accumulator, batch)
    first.complete(0, -1)
    assert waiter.is_alive()
    second.abort(MessageSizeTooLargeError("the second part"))
    waiter.join(10)
    assert [str(error) for error in failures] == [str(MessageSizeTooLargeError("the second part"))]


def test_a_batch_makes_no_futures_of_its_records_unless_it_is_split(accumulator):
    batch = queued(accumulator)
    batch.complete(0, -1)
    batch.get(10)
    assert "_record_futures" not in vars(batch)


def test_a_batch_is_one_of_the_clients(accumulator):
    batch = queued(accumulator)
    assert isinstance(batch, WrittenBatch)
    assert (batch.topic_partition, batch.record_count) == (PLACE, N_RECORDS)


def test_what_queues_a_batch_still_is_what_queues_records():
    touched = {"_appends_in_progress", "_tp_lock", "_closed", "_batches", "_incomplete"}
    assert touched <= set(RecordAccumulator.append.__code__.co_names)


def test_a_split_still_binds_the_records_futures_to_the_new_batches():
    assert {"_record_futures", "rebind"} <= set(RecordAccumulator.split_and_reenqueue.__code__.co_names)
