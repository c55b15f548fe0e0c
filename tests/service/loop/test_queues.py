"""Topics read together are taken in step, in batches as large and as frequent as the model allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TransportUnavailable
from service.loop.queues import BATCH_BYTES, BatchSize, BatchTime, RecordQueues
from service.stream.batches import RecordBatch, merge_by_time
from service.stream.protocol import Record
from tests.service.building import settings

EVENTS, LABELS = "events", "labels"
MANY = 10_000
UNHEARD = {}


def records(topic, *times, partition=0):
    found = [Record(topic, partition, offset, time, None, b"") for offset, time in enumerate(times)]
    return RecordBatch(found)


class Rest:
    """A stream's responses about how much is left, and the times it was asked."""

    def __init__(self, **left):
        self.left = {(EVENTS, 0): 0, (LABELS, 0): 0} | {(topic, 0): n for topic, n in left.items()}
        self.asked = []

    def __call__(self, partitions):
        self.asked.append(sorted(partitions))
        return {partition: self.left[partition] for partition in partitions}


def away(_):
    raise TransportUnavailable("labels[0] does not answer")


def queues_of(*polled, topics=(EVENTS, LABELS)):
    made = RecordQueues(topics)
    made.open(0, [0])
    for each in polled:
        made.add(0, RecordBatch(each))
    return made


def taken(made, ask, *, limit=MANY, now=0.0, lag=UNHEARD):
    return [(each.topic, each.timestamp_ms) for each in made.next_batches(limit, ask, lag, now).get(0, ())]


times = st.lists(st.integers(0, 20), max_size=30)


@given(times, times, st.integers(1, 40), st.data())
def test_backlog_polled_in_any_order_is_merged_as_one(one, other, limit, data):
    coming = {EVENTS: records(EVENTS, *one), LABELS: records(LABELS, *other)}
    expected, made, found = list(merge_by_time(coming.values())), queues_of(), []
    now = 0.0
    while any(coming.values()) or made:
        topic = data.draw(st.sampled_from([topic for topic in coming if coming[topic]] or [EVENTS]))
        n = data.draw(st.integers(1, 10))
        polled, coming[topic] = coming[topic][:n], coming[topic][n:]
        made.add(0, polled)
        now += data.draw(st.sampled_from([0.0, 0.05, 1.0]))
        left = {(topic, 0): len(rest) for topic, rest in coming.items()}
        found += made.next_batches(
            limit, lambda partitions, left=left: {p: left[p] for p in partitions}, {}, now
        ).get(0, [])
    assert found == expected


def test_record_waits_regardless_of_queue_length_and_time():
    made = queues_of(records(EVENTS, *range(MANY)))
    assert taken(made, Rest(labels=1), now=0.0) == []
    assert taken(made, Rest(labels=1), now=3600.0) == []


def test_record_waits_for_a_topic_of_unknown_end():
    made = queues_of(records(EVENTS, 1))
    assert taken(made, away, now=0.0) == []
    assert taken(made, Rest(), now=0.9) == [], "it is asked again after a second"
    assert taken(made, Rest(), now=1.0) == [(EVENTS, 1)]


def test_end_is_requested_again_when_the_response_is_old():
    made, rest = queues_of(), Rest()
    for now in (0.0, 0.05, 0.1):
        made.add(0, records(EVENTS, 1))
        assert taken(made, rest, now=now) == [(EVENTS, 1)]
    assert rest.asked == [[(LABELS, 0)], [(LABELS, 0)]]


def test_end_is_requested_again_when_more_records_came():
    made, rest = queues_of(records(EVENTS, 1)), Rest()
    taken(made, rest)
    made.add(0, records(LABELS, 1))
    made.add(0, records(EVENTS, 1))
    rest.left[LABELS, 0] = 5
    assert taken(made, rest) == [(EVENTS, 1), (LABELS, 1)]
    made.add(0, records(EVENTS, 2))
    assert taken(made, rest) == []
    assert rest.asked.count([(LABELS, 0)]) == 2


def test_lag_known_before_the_request_is_ignored():
    """An open transaction, say: more is written, and none of it may be read."""
    made, rest, lag = queues_of(records(EVENTS, 1)), Rest(), {(LABELS, 0): 7}
    assert taken(made, rest, lag=lag) == [(EVENTS, 1)]
    made.add(0, records(EVENTS, 2))
    assert taken(made, rest, lag=lag) == [(EVENTS, 2)]
    assert len(rest.asked) == 1


def test_no_end_is_requested_while_known_records_remain():
    made, rest = queues_of(records(EVENTS, *range(10))), Rest(labels=5)
    for time in range(4):
        taken(made, rest)
        made.add(0, RecordBatch([Record(LABELS, 0, time, time, None, b"")]))
    assert rest.asked == [[(LABELS, 0)]]


def test_full_batch_requests_no_end():
    made, rest = queues_of(records(EVENTS, 1, 2, 3), records(LABELS, 9)), Rest(labels=5)
    assert taken(made, rest, limit=2) == [(EVENTS, 1), (EVENTS, 2)]
    assert rest.asked == []


def test_single_topic_never_waits():
    made = queues_of(records(EVENTS, 5, 1), topics=(EVENTS,))
    assert taken(made, away) == [(EVENTS, 5), (EVENTS, 1)]
    assert made.to_pause(1) == frozenset()


def test_topic_far_ahead_is_held_until_half_processed():
    made = queues_of(records(EVENTS, *range(MANY)))
    assert made.to_pause(5) == {(EVENTS, 0)}
    made.add(0, records(LABELS, *range(MANY)))
    taken(made, Rest(labels=1), limit=MANY - 2)
    assert made.to_pause(5) == {(EVENTS, 0)}
    taken(made, Rest(labels=1), limit=4)
    assert made.to_pause(5) == frozenset()


def test_topic_of_large_records_is_held_sooner():
    large = RecordBatch([Record(EVENTS, 0, n, n, None, bytes(1_048_576)) for n in range(16)])
    assert queues_of(large[:15]).to_pause(5) == frozenset()
    assert queues_of(large).to_pause(5) == {(EVENTS, 0)}


@given(times, times, st.integers(1, 5))
def test_full_queues_always_yield_a_batch(one, other, limit):
    """Or else a topic that is held and one that is waited for would wait for each other."""
    made = queues_of(records(EVENTS, *one), records(LABELS, *other))
    if one and other:
        assert taken(made, Rest(events=1, labels=1), limit=limit)


def test_blocking_topic_is_named_after_a_while():
    made = queues_of(records(EVENTS, 1))
    taken(made, Rest(labels=1), now=10.0)
    assert made.blocked(since=9.9) == []
    taken(made, Rest(labels=1), now=20.0)
    assert made.blocked(since=10.0) == [(LABELS, 0)]
    made.add(0, records(LABELS, 2))
    taken(made, Rest(), now=21.0)
    assert made.blocked(since=21.0) == []


def test_partition_waits_for_no_topic_while_polls_are_full():
    made = queues_of(records(EVENTS, 1))
    taken(made, Rest(labels=1), now=10.0)
    made.note_full_poll(now=15.0)
    assert made.blocked(since=14.0) == []
    assert made.blocked(since=15.0) == [(LABELS, 0)]


def test_partition_that_waits_for_labels_does_not_delay_others():
    made = queues_of(records(EVENTS, 1))
    made.open(1, [1])
    made.add(1, records(EVENTS, 9, partition=1))
    assert list(
        made.next_batches(MANY, lambda partitions: {(t, p): int(p == 0) for t, p in partitions}, {}, 0.0)
    ) == [1]


def test_forgotten_partition_ignores_records():
    made = queues_of(records(EVENTS, 1))
    made.forget(0)
    made.add(0, records(EVENTS, 1))
    assert (len(made), taken(made, Rest())) == (0, [])


def test_reopened_partition_forgets_its_known_end():
    made = queues_of(records(EVENTS, 1))
    assert taken(made, Rest()) == [(EVENTS, 1)]
    made.open(0, [0])
    made.add(0, records(EVENTS, 1))
    assert taken(made, Rest(labels=3)) == []


def test_large_records_of_two_topics_end_batches_before_16_mib():
    large = RecordBatch([Record(EVENTS, 0, n, n, None, bytes(1_048_576)) for n in range(20)])
    made = queues_of(large, records(LABELS, *range(100)))
    batch = made.next_batches(MANY, Rest(), UNHEARD, 0.0)[0]
    assert (len(batch), sum(len(each.value) for each in batch)) == (30, 15 * 1_048_576)


def test_record_larger_than_a_batch_limit_is_its_own_batch():
    made = queues_of([Record(EVENTS, 0, 0, 0, None, bytes(BATCH_BYTES + 1))], records(LABELS, 1))
    assert taken(made, Rest()) == [(EVENTS, 0)]


def test_partitions_without_records_are_next_in_turn():
    made = RecordQueues((EVENTS,))
    for partition in range(3):
        made.open(partition, [partition])
        made.add(partition, records(EVENTS, *range(5), partition=partition))
    batches = [made.next_batches(7, away, UNHEARD, 0.0) for _ in range(3)]
    assert [{p: len(b) for p, b in each.items()} for each in batches] == [{0: 5, 1: 2}, {2: 5, 1: 2}, {1: 1}]


def test_partition_left_out_of_full_batch_is_not_blocked():
    made = RecordQueues((EVENTS, LABELS))
    for partition in range(2):
        made.open(partition, [partition])
        made.add(partition, records(EVENTS, 1, 2, partition=partition))
    made.next_batches(2, lambda partitions: dict.fromkeys(partitions, 0), UNHEARD, 0.0)
    assert made.blocked(MANY) == []


def test_size_of_polls_accounts_for_waiting_records():
    made = queues_of(topics=(EVENTS,))
    assert (made.n_to_poll(5), made.n_to_poll(MANY)) == (5, 1024)  # if records are as large as most are not
    made.add(0, records(EVENTS, *range(10)))
    assert (made.n_to_poll(10), made.n_to_poll(MANY)) == (1, 8000)
    assert queues_of(records(EVENTS, 1, 2)).n_to_poll(2) == 1000  # of two topics, the other may have many
    made.next_batches(10, away, UNHEARD, 0.0)
    made.add(0, RecordBatch([Record(EVENTS, 0, n, n, None, bytes(1_048_576)) for n in range(10)]))
    assert made.n_to_poll(MANY) == 5


# How large a batch is


def after(size, seconds_each, batches=20):
    """Process full batches; return how long the last one took."""
    seconds = 0.0
    for _ in range(batches):
        seconds = size.records * seconds_each
        size.observe(size.records, seconds)
    return seconds


@pytest.mark.parametrize(
    ("interval_seconds", "seconds_each", "expected_seconds"),
    [(0.2, 1e-6, 0.2), (0.2, 5e-4, 0.2), (0.001, 1e-5, 0.02), (3600, 1e-5, 1.0)],
)
def test_full_batches_take_a_commit_interval_within_bounds(interval_seconds, seconds_each, expected_seconds):
    size = BatchSize(settings(commit_interval_seconds=interval_seconds))
    assert after(size, seconds_each) == pytest.approx(expected_seconds, rel=0.05)


def test_batches_and_queues_of_each_partition_keep_to_the_setting():
    size = BatchSize(settings(max_batch_records=50))
    after(size, seconds_each=1e-6)
    size.observe(3, 0.001)  # which says nothing of a full one
    assert (size.records, size.waiting(200)) == (50, 10_000)
    size.observe(3, 1000.0)
    assert size.records == 25
    assert BatchSize(settings()).waiting(200) == 20_000


# When a batch is due


@pytest.mark.parametrize(
    ("waits", "due"),
    [
        ([(10.25, False)], 10.5),  # one interval after the batch before
        ([(20.0, False)], 10.5),  # after a pause, at once
        ([(20.0, True), (20.25, True)], 20.5),  # one interval after the first record, if more comes
        ([(20.0, True), (20.25, False)], 10.5),
    ],
)
def test_batch_is_due_one_interval_after_batch_or_first_record(waits, due):
    batches = BatchTime(0.5)
    batches.batch_taken(10.0)
    for now, more_comes in waits:
        batches.wait(now, more_comes=more_comes)
    assert batches.due == due


@pytest.mark.parametrize(("commit_seconds", "due"), [(0.125, 990.375), (4.0, 990.25)])
def test_batch_is_taken_earlier_by_half_an_interval_at_most(commit_seconds, due):
    batches = BatchTime(0.5)
    for n in range(1, 100):
        batches.batch_taken(10.0 * n)
        batches.batch_committed(10.0 * n + commit_seconds)
    batches.wait(990.0, more_comes=True)
    assert batches.due == pytest.approx(due, abs=1e-3)
